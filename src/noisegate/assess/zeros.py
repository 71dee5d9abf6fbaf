"""The zero rule: empty cells get noise like any other, or stay empty.

A margin with noise of its own that does not publish a total says, without looking at the base, that all base
cells of that total are small. If zeros are perturbed, each of these cells is published with at least the
chance q that noise alone passes the cut: an empty one with q, any other with more. So too few published
ones among them mean that zeros are kept. About q times as many mean that zeros are perturbed, if that
is more than the odd small group could explain.

A margin that was derived from the base, or reconciled with it, says nothing: what is suppressed there was
decided together with the base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import stats

from noisegate.assess.card import Card
from noisegate.assess.couplings import least_published
from noisegate.assess.loss import Zeros
from noisegate.assess.margins import MarginRows
from noisegate.core.recovery import NoiseFit
from noisegate.core.recovery import zero_rule as weigh
from noisegate.tables import Link

#: The chance of a wrong verdict that is accepted.
_SIZE = 0.01
#: So many published cells must be expected before they can be told from the odd small group.
_ENOUGH = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroRule:
    """What is known about empty cells, from what, and how it was told."""

    rule: Zeros | None
    source: Literal["tables", "card"] | None
    statement: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def zero_rule(rows: Sequence[MarginRows], fit: NoiseFit | None, /, *, card: Card | None) -> ZeroRule:
    """The zero rule of the base, from the tables if they tell, else from the card.

    Parameters
    ----------
    rows
        The margins that have noise of their own.
    fit
        The recovered noise of the base.
    """
    told = _from_tables(rows, fit)
    if told.rule is None and card is not None and card.zeros in ("keep", "perturb"):
        rule: Zeros = "keep" if card.zeros == "keep" else "perturb"
        return ZeroRule(rule=rule, source="card", statement="the card says so", numbers=told.numbers)
    return told


def _from_tables(rows: Sequence[MarginRows], fit: NoiseFit | None, /) -> ZeroRule:
    usable = [one for one in rows if one.pieces is None and not one.link.unlisted]
    if fit is None or fit.law == "none":
        return ZeroRule(rule=None, source=None, statement="the noise of the base is not known")
    if not usable:
        return ZeroRule(
            rule=None, source=None, statement="no margin with noise of its own says which cells are small"
        )
    best = max(usable, key=lambda one: _small_cells(one.link)[0])
    cells, published = _small_cells(best.link)
    return _verdict(cells, published, fit, best.link)


def _small_cells(link: Link, /) -> tuple[int, int]:
    """How many base cells add to totals that the margin does not publish, and how many of them are published."""
    silent = ~link.published & link.comparable
    return int(link.members[silent].sum()), int(link.shown[silent].sum())


def _verdict(cells: int, published: int, fit: NoiseFit, link: Link, /) -> ZeroRule:
    least = least_published(link.base)
    if not np.isfinite(least):
        return ZeroRule(
            rule=None, source=None, statement="small counts are not cut, so empty cells do not stand out"
        )
    weighed = weigh(published, cells, law=fit.noise, threshold=least, size=_SIZE)
    p_few = float(stats.poisson.cdf(published, weighed.expected))
    seen = f"{published:,} of {cells:,} cells whose total in {link.margin.name} is too small to be published"
    expected = f"{weighed.expected:,.2g} expected if zeros are perturbed"
    numbers = {"cells": cells, "published": published, "expected": weighed.expected, "p_few": p_few}
    if p_few < _SIZE:
        said = f"only {seen} are published, at least {expected} (p = {p_few:.2g})"
        return ZeroRule(rule="keep", source="tables", statement=said, numbers=numbers)
    if weighed.verdict == "perturbed" and weighed.expected >= _ENOUGH:
        said = f"{seen} are published, {expected}"
        return ZeroRule(rule="perturb", source="tables", statement=said, numbers=numbers)
    said = f"{seen} are published, {expected}, which decides nothing"
    return ZeroRule(rule=None, source=None, statement=said, numbers=numbers)
