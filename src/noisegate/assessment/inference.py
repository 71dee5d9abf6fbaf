"""What the cells of the base were (MATH 4), for an attacker who knows little and for one who has looked at all tables.

The *minimal* one takes each day by itself and knows only the levels of the totals that were published; with no
totals, nothing. The *informed* one learns from all tables which place is busy when, and how alike days are.

An attacker has the evidence in the tables and beliefs about how counts vary; what follows is the estimate of
every cell, and of what is suppressed in each table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.evidence import AttackEvidence
from noisegate.errors import DataError, SpecError
from noisegate.inference import (
    Bools,
    CellEstimates,
    Flat,
    Layout,
    Posterior,
    Prior,
    Problem,
    ShownTotals,
    SumEstimates,
    crossed,
    fit_levels,
    fit_prior,
    infer,
)
from noisegate.mechanisms import describe
from noisegate.tables import Table

Report = Callable[[str], None]
Attacker = Literal["minimal", "informed"]
Ints = NDArray[np.int64]

#: Values of a dimension that set its groups apart (a mode, a direction); with more it is a row.
_FEW_VALUES = 12


def believe(attacker: Attacker, problem: Problem, layout: Layout, report: Report, /) -> Prior:
    """What `attacker` makes of the tables before looking at single cells of the base, whose dimensions are `layout`."""
    report("learning how counts vary")
    roles = _Roles.of(layout)

    def progress(done: int, most: int) -> None:
        report(f"learning how counts vary ({done} of at most {most} rounds)")

    if attacker == "minimal":
        return fit_levels(problem, groups=roles.group_and_day, progress=progress)
    if not roles.effects:
        return Flat()
    return fit_prior(problem, effects=roles.effects, groups=roles.group, progress=progress).prior


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Roles:
    """What each dimension is to a prior, as codes for every cell.

    Dates are days, times of day are columns, the dimension with the most values is the row; dimensions of
    few values (a mode, a direction) are groups that share nothing, and any other one splits rows.
    """

    effects: tuple[Ints, ...]
    group: Ints
    group_and_day: Ints

    @classmethod
    def of(cls, layout: Layout, /) -> _Roles:
        codes = np.stack(layout.decode(np.arange(layout.size)))
        sizes = list(layout.labels.values())
        day = next((j for j, name in enumerate(layout.names) if name in layout.days), None)
        column = next((j for j, name in enumerate(layout.names) if name in layout.times), None)
        rest = sorted((j for j in range(len(sizes)) if j not in (day, column)), key=lambda j: -sizes[j])
        if column is None and len(rest) > 1:
            column = rest.pop(1)
        rows = [j for k, j in enumerate(rest) if k == 0 or sizes[j] > _FEW_VALUES]
        group = _joined(codes, [j for j in rest if j not in rows], sizes)
        row = _within(group, _joined(codes, rows, sizes))
        days = group if day is None else _within(group, codes[day])
        effects: tuple[Ints, ...] = (row,) if rows else ()
        if day is not None or column is not None:
            effects = crossed(
                row=row,
                column=_within(group, codes[column]) if column is not None else group,
                day=None if day is None else days,
            )
        return cls(effects=effects, group=group, group_and_day=days)


def _joined(codes: Ints, which: Sequence[int], sizes: Sequence[int], /) -> Ints:
    """One code for the combination of some dimensions."""
    joined = np.zeros(codes.shape[1], dtype=np.int64)
    for j in sorted(which):
        joined = joined * sizes[j] + codes[j]
    return joined


def _within(group: Ints, codes: Ints, /) -> Ints:
    return group * (int(codes.max(initial=0)) + 1) + codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Inference:
    """What can be known about every cell of the base.

    Attributes
    ----------
    posterior
        Of every cell of the base, in its order.
    prior
        What the attacker believed beforehand: a law of each cell, or the posterior that learns a profile part by part.
    totals
        For each table with suppressed rows, what they add up to; by the table's name.
    """

    evidence: AttackEvidence
    attacker: Attacker
    posterior: CellEstimates
    prior: Prior | Posterior
    totals: dict[str, SumEstimates] = field(default_factory=dict)

    @property
    def cells(self) -> Table:
        """The base on its domain."""
        return self.evidence.cells

    def alone(self) -> CellEstimates:
        """The estimate of every cell under the same beliefs from its own record alone, without margins and couplings."""
        level = self.posterior.level
        if isinstance(self.prior, Posterior):
            return self.evidence.placed(self.prior.alone(level))
        problem = self.evidence.known.problem(linked=False)
        return self.evidence.placed(infer(problem, prior=self.prior, level=level))

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`: how the posteriors in `cells.parquet` were made."""
        posterior = self.posterior
        return {
            "attacker": self.attacker,
            "level": posterior.level,
            "cells": posterior.cells,
            "suppressed": int(self.evidence.suppressed.sum()),
            "structural_zeros": 0 if self.evidence.zero is None else int(self.evidence.zero.sum()),
            "mechanisms": {
                seen.cells.name: describe(seen.mechanism)
                for seen in (self.evidence.base, *(seen for _, seen in self.evidence.margins))
            },
            "left_out": [{"table": name, "reason": reason} for name, reason in self.evidence.left_out],
            "couplings": len(self.evidence.couplings),
            "assumes": list(self.evidence.assumes),
            "exact_cells": int(posterior.exact.sum()),
            "sweeps": posterior.iterations,
            "unsettled": posterior.unsettled,
            "suppressed_totals": {
                name: {
                    "mean": float(one.mean[0]),
                    "sd": float(one.sd[0]),
                    "interval": [int(one.low[0]), int(one.high[0])],
                }
                for name, one in self.totals.items()
            },
        }

    def __repr__(self) -> str:
        hidden = int(self.evidence.suppressed.sum())
        return (
            f"What is known of {self.posterior.cells:,} cells of {self.cells.name}, {hidden:,} of them suppressed, "
            f"to somebody {self.attacker}; see .posterior and .totals"
        )


def infer_cells(
    evidence: AttackEvidence, /, *, attacker: Attacker = "informed", level: float = 0.95, report: Report
) -> Inference:
    """The posterior of every cell of the base.

    Raises
    ------
    SpecError
        For an attacker that there is not.
    DataError
        If there are too many cells, or the tables contradict each other.
    """
    if attacker not in get_args(Attacker):
        raise SpecError.for_choice("--attacker", found=attacker, allowed=get_args(Attacker))
    if evidence.cells.size > limits.current().inferred_cells:
        raise DataError(
            f"{evidence.cells.name} has {evidence.cells.size:,} possible cells, inference takes at most "
            f"{limits.current().inferred_cells:,}; assess one mode or a few days at a time."
        )
    if attacker == "informed" and evidence.released:
        return _by_profile(evidence, level, report)
    problem = evidence.known.problem()
    prior = believe(attacker, problem, evidence.known.layout, report)
    report("inferring cells")
    posterior = infer(
        problem,
        prior=prior,
        level=level,
        progress=lambda done, whole: report(f"inferring cells ({done / whole:.0%})"),
    )
    report("adding up suppressed cells")
    totals = {}
    if attacker == "informed" and not isinstance(prior, Flat):
        shown = ShownTotals(evidence=evidence.known)
        for name, which in _asked(evidence).items():
            cells = np.flatnonzero(which)
            totals[name] = shown.hidden_sum(
                cells, posterior.mean[cells], posterior.sd[cells] ** 2, level=level
            )
    return Inference(
        evidence=evidence,
        attacker=attacker,
        posterior=evidence.placed(posterior),
        prior=prior,
        totals=totals,
    )


def _by_profile(evidence: AttackEvidence, level: float, report: Report, /) -> Inference:
    """What the engine says that answers queries: the same cells, the same sums."""
    known = Posterior(
        evidence=evidence.known,
        report=lambda _, done, whole: report(f"inferring cells ({done} of {whole} parts)"),
    )
    posterior = known.cells(level)
    report("adding up suppressed cells")
    totals = {}
    for name, which in _asked(evidence).items():
        cells = np.flatnonzero(which)
        totals[name] = known.sums(cells, np.zeros(len(cells), np.int64), size=1, level=level)
    return Inference(
        evidence=evidence,
        attacker="informed",
        posterior=evidence.placed(posterior),
        prior=known,
        totals=totals,
    )


def _asked(evidence: AttackEvidence, /) -> dict[str, Bools]:
    """For each table with suppressed rows the cells that these hold, as the engine numbers them.

    Only where margins tell: many small cells add up to what no prior knows. And only for an informed
    attacker, who knows how unsure the means of cells are: a sum of many depends on little else.
    """
    known = evidence.known
    if not known.margins:
        return {}
    every = np.arange(known.layout.size)
    hidden = np.isnan(known.base.values)
    asked = {known.base.name: hidden if known.zero is None else hidden & ~known.zero}
    margins = {margin.name: margin for margin in known.margins}
    for _, seen in evidence.margins:
        margin = margins[seen.cells.name]
        rows = margin.where.of(every)
        asked[margin.name] = (rows >= 0) & ~margin.shown(rows)
    return {name: which for name, which in asked.items() if which.any()}
