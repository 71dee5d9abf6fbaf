"""The zero rule, tested from the data: empty cells get noise like any other, or stay empty.

A cell that is known to be empty is published only if zeros are perturbed and the noise alone passes
the cut, with chance q. Among M such cells M q published ones are expected, or none if zeros are kept.
Where M q is small the data cannot tell, and the answer says so.

A margin with noise of its own that does not publish a total says, without looking at the base, that all base
cells of that total are small. If zeros are perturbed, each of these cells is published with at least the
chance q that noise alone passes the cut: an empty one with q, any other with more. So too few published
ones among them mean that zeros are kept. About q times as many mean that zeros are perturbed, if that
is more than the odd small group could explain.

A margin that was derived from the base, or reconciled with it, says nothing: what is suppressed there was
decided together with the base.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.errors import SpecError
from noisegate.laws import Law
from noisegate.mechanisms import Zeros
from noisegate.recovery.couplings import least_published
from noisegate.recovery.margin_rows import MarginRows
from noisegate.recovery.outcome import NoiseFit
from noisegate.tables import Card, Kind, MarginLink

Verdict = Literal["perturbed", "kept", "cannot tell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroTest:
    """What empty cells say about the zero rule.

    Attributes
    ----------
    verdict
        "perturbed", "kept" or "cannot tell".
    chance
        q, with which the noise alone passes the cut.
    expected
        How many of the empty cells would be published if zeros are perturbed.
    p_none
        The chance of seeing none of them if zeros are perturbed.
    p_many
        The chance of seeing as many as were seen, or more, if zeros are perturbed.
    statement
        In words.
    """

    verdict: Verdict
    chance: float
    expected: float
    p_none: float
    p_many: float
    statement: str


def weigh_zeros(published: int, cells: int, /, *, law: Law, threshold: float, size: float = 0.01) -> ZeroTest:
    """Decide from `cells` empty cells, of which `published` appear in the table.

    Parameters
    ----------
    published
        How many of the empty cells are published.
    cells
        How many cells are known to be empty in the raw data.
    law
        The noise, as recovered or as stated.
    threshold
        The least published value.
    size
        The chance of a wrong verdict that is accepted.

    Assumes
    -------
    The cells are empty for a reason that does not depend on what was published (no service there).

    Examples
    --------
    >>> from noisegate.laws import RoundedLaplace
    >>> weigh_zeros(0, 100_000, law=RoundedLaplace(1.4), threshold=18).verdict
    'cannot tell'
    """
    if cells < 0 or not 0 <= published <= cells:
        raise SpecError.for_value("published empty cells", found=published, allowed=f"from 0 to {cells}")
    if not 0 < size < 1:
        raise SpecError.for_value("size", found=size, allowed="between 0 and 1")
    least = threshold - 1 if law.lattice else threshold
    q = float(math.exp(float(law.logsf(least))))
    p_none = math.exp(cells * math.log1p(-q)) if q < 1 else 0.0
    p_many = float(special.bdtrc(published - 1, cells, q)) if published > 0 else 1.0
    verdict, statement = _decide(published, cells, q, p_none=p_none, p_many=p_many, size=size)
    return ZeroTest(
        verdict=verdict, chance=q, expected=cells * q, p_none=p_none, p_many=p_many, statement=statement
    )


def _decide(
    published: int, cells: int, q: float, /, *, p_none: float, p_many: float, size: float
) -> tuple[Verdict, str]:
    expected = f"{cells} empty cells, each published with chance {q:.2g} if zeros are perturbed"
    if published == 0 and p_none < size:
        return "kept", f"Zeros are kept: none of {expected}, was published (p = {p_none:.2g})."
    if published == 0:
        needed = math.ceil(math.log(size) / math.log1p(-q)) if 0 < q < 1 else 0
        return "cannot tell", (
            f"Cannot tell whether zeros are perturbed: none of {expected}, was published, which happens with "
            f"chance {p_none:.2g} anyway; {needed} empty cells would be needed."
        )
    if p_many < size:
        return "cannot tell", (
            f"Cannot tell whether zeros are perturbed: {published} of {expected}, were published, more than noise "
            f"alone makes (p = {p_many:.2g}), so they were not empty."
        )
    return "perturbed", f"Zeros are perturbed: {published} of {expected}, were published."


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

    def or_as_stated(self, card: Card | None, /) -> ZeroRule:
        """The rule as the card states it, where the tables do not tell."""
        if self.rule is not None or card is None or card.zeros not in ("keep", "perturb"):
            return self
        rule: Zeros = "keep" if card.zeros == "keep" else "perturb"
        return ZeroRule(rule=rule, source="card", statement="the card says so", numbers=self.numbers)


def zero_rule(rows: Sequence[MarginRows], fit: NoiseFit | None, /) -> ZeroRule:
    """The zero rule of the base, as far as the tables tell.

    Parameters
    ----------
    rows
        The margins that have noise of their own.
    fit
        The recovered noise of the base.
    """
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


def _small_cells(link: MarginLink, /) -> tuple[int, int]:
    """How many base cells add to totals that the margin does not publish, and how many of them are published.

    A time of day that the margin never shows is one at which it publishes nothing: the grid of times is
    public, whatever the base shows there.
    """
    silent = ~link.published & link.comparable
    cells, published = int(link.members[silent].sum()), int(link.shown[silent].sum())
    if len(link.base.domain.blocks) > 1:  # Stated by a card, which leaves no time out.
        return cells, published
    entries = link.base.entries(link.base.cells)
    maps = link.map.entry_maps()
    for place, onto in maps:
        unseen = (onto < 0) & _times(link, place)
        if unseen.any():
            rest = [(p, m) for p, m in maps if p != place]
            inside = np.logical_and.reduce([unseen[entries[place]], *(m[entries[p]] >= 0 for p, m in rest)])
            published += int(inside.sum())
            sizes = dict(enumerate(link.base.shape)) | {p: int((m >= 0).sum()) for p, m in rest}
            cells += int(unseen.sum()) * math.prod(size for p, size in sizes.items() if p != place)
    return cells, published


def _times(link: MarginLink, place: int, /) -> NDArray[np.bool_]:
    """Which entries of an axis of the base are known times of day."""
    axis = link.base.axes[place]
    dimension = link.base.dimensions[axis.dimensions[0]]
    if len(axis.dimensions) > 1 or dimension.kind is not Kind.TIME:
        return np.zeros(axis.size, dtype=bool)
    return np.asarray(~dimension.unknown[axis.entries[0]])


def _verdict(cells: int, published: int, fit: NoiseFit, link: MarginLink, /) -> ZeroRule:
    least = least_published(link.base)
    if not np.isfinite(least):
        return ZeroRule(
            rule=None, source=None, statement="small counts are not cut, so empty cells do not stand out"
        )
    if not cells:
        statement = f"{link.margin.name} publishes all its totals, so no cell is known to be empty"
        return ZeroRule(rule=None, source=None, statement=statement)
    weighed = weigh_zeros(published, cells, law=fit.noise, threshold=least, size=_SIZE)
    p_few = float(special.pdtr(published, weighed.expected))
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
