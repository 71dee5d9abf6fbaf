"""What the cells of the base were: posteriors over all tables that are linked (MATH 4).

An attacker has the evidence in the tables and beliefs about how counts vary; what follows is the estimate of
every cell, and of what is suppressed in each table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noisegate.assess.evidence import Evidence
from noisegate.core.linked import (
    Flat,
    Posterior,
    Prior,
    Problem,
    SumEstimates,
    crossed,
    estimate_all_sums,
    fit_prior,
    infer,
)
from noisegate.core.mechanism import describe
from noisegate.errors import DataError, SpecError
from noisegate.tables import Cells, Kind

Report = Callable[[str], None]
Attacker = Literal["minimal", "informed"]
Ints = NDArray[np.int64]

#: Beyond so many cells, memory would not be bounded.
MOST_CELLS = 12_000_000
#: Values of a dimension that set its groups apart (a mode, a direction); with more it is a row.
_FEW_VALUES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inference:
    """What can be known about every cell of the base.

    Attributes
    ----------
    posterior
        Of every cell of the base, in its order.
    prior
        What the attacker believed beforehand.
    totals
        For each table with suppressed rows, what they add up to; by the table's name.
    """

    evidence: Evidence
    attacker: Attacker
    posterior: Posterior
    prior: Prior
    totals: dict[str, SumEstimates] = field(default_factory=dict)

    @property
    def cells(self) -> Cells:
        """The base on its domain."""
        return self.evidence.cells

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


def infer_cells(
    evidence: Evidence, /, *, attacker: Attacker = "informed", level: float = 0.95, report: Report
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
    if evidence.cells.size > MOST_CELLS:
        raise DataError(
            f"{evidence.cells.name} has {evidence.cells.size:,} possible cells, inference takes at most "
            f"{MOST_CELLS:,}; assess one mode or a few days at a time."
        )
    problem = evidence.problem()
    prior: Prior = Flat()
    if attacker == "informed":
        prior = learn(problem, evidence, report)
    report("inferring cells")
    posterior = infer(
        problem,
        prior=prior,
        level=level,
        progress=lambda done, whole: report(f"inferring cells ({done / whole:.0%})"),
    )
    report("adding up suppressed cells")
    return Inference(
        evidence=evidence,
        attacker=attacker,
        posterior=posterior,
        prior=prior,
        totals=_totals(problem, evidence, prior, level),
    )


def learn(problem: Problem, evidence: Evidence, report: Report, /) -> Prior:
    """The informed attacker's prior, fitted to the tables."""
    report("learning how counts vary")
    effects, groups = _effects(evidence.cells)
    if not effects:
        return Flat()
    return fit_prior(
        problem,
        effects=effects,
        groups=groups,
        progress=lambda done, most: report(f"learning how counts vary ({done} of at most {most} rounds)"),
    ).prior


def _effects(cells: Cells, /) -> tuple[tuple[Ints, ...], Ints]:
    """Codes for the effects of the prior, and for groups that share nothing.

    Dates are days, times of day are columns, the dimension with the most values is the row; dimensions of
    few values (a mode, a direction) are groups, and any other one splits rows.
    """
    codes = cells.codes(np.arange(cells.size)).astype(np.int64)
    sizes = [dimension.size for dimension in cells.dimensions]
    kinds = [dimension.kind for dimension in cells.dimensions]
    day = kinds.index(Kind.DATE) if Kind.DATE in kinds else None
    column = kinds.index(Kind.TIME) if Kind.TIME in kinds else None
    rest = sorted((j for j in range(len(sizes)) if j not in (day, column)), key=lambda j: -sizes[j])
    if column is None and len(rest) > 1:
        column = rest.pop(1)
    rows = [j for k, j in enumerate(rest) if k == 0 or sizes[j] > _FEW_VALUES]
    group = _joined(codes, [j for j in rest if j not in rows], sizes)
    row = _joined(codes, rows, sizes)
    if day is None and column is None:
        return ((_within(group, row),) if rows else ()), group
    effects = crossed(
        row=_within(group, row),
        column=_within(group, codes[column] if column is not None else np.zeros_like(row)),
        day=None if day is None else _within(group, codes[day]),
    )
    return effects, group


def _joined(codes: Ints, which: Sequence[int], sizes: Sequence[int], /) -> Ints:
    """One code for the combination of some dimensions."""
    joined = np.zeros(codes.shape[1], dtype=np.int64)
    for j in sorted(which):
        joined = joined * sizes[j] + codes[j]
    return joined


def _within(group: Ints, codes: Ints, /) -> Ints:
    return group * (int(codes.max(initial=0)) + 1) + codes


def _totals(problem: Problem, evidence: Evidence, prior: Prior, level: float, /) -> dict[str, SumEstimates]:
    """What the suppressed rows of each table add up to.

    Only where margins tell: many small cells add up to what no prior knows. And only with a prior that was
    learnt: a flat one says far too much about the sum of many cells.
    """
    if isinstance(prior, Flat) or not evidence.margins:
        return {}
    asked = {evidence.cells.name: evidence.suppressed}
    for rows, seen in evidence.margins:
        hidden = np.isnan(seen.values)
        groups = rows.link.groups()
        if hidden.any():
            asked[seen.cells.name] = (groups >= 0) & hidden[groups]
    asked = {name: which for name, which in asked.items() if which.any()}
    codes = [np.where(which, 0, -1) for which in asked.values()]
    return dict(zip(asked, estimate_all_sums(problem, codes, prior=prior, level=level), strict=True))
