"""What the cells of the base were: posteriors over all tables that are linked (MATH 4).

An attacker has the evidence in the tables and beliefs about how counts vary; what follows is the estimate of
every cell, and of what is suppressed in each table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from noisegate.assessment.attackers import Attacker, Report, believe
from noisegate.assessment.evidence import Evidence
from noisegate.errors import DataError, SpecError
from noisegate.inference.linked.inference import infer
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.prior import Flat, Prior
from noisegate.inference.linked.problem import Problem
from noisegate.inference.linked.totals import SumEstimates, estimate_all_sums
from noisegate.mechanisms.mechanism import describe
from noisegate.reading.cells import Cells

#: Beyond so many cells, memory would not be bounded.
MOST_CELLS = 12_000_000


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
    posterior: CellEstimates
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
    prior = believe(attacker, problem, evidence.cells, report)
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
        totals=_totals(problem, evidence, prior, level) if attacker == "informed" else {},
    )


def _totals(problem: Problem, evidence: Evidence, prior: Prior, level: float, /) -> dict[str, SumEstimates]:
    """What the suppressed rows of each table add up to.

    Only where margins tell: many small cells add up to what no prior knows. And only for an informed
    attacker, who knows how unsure the means of cells are: a sum of many depends on little else.
    """
    if not evidence.margins or isinstance(prior, Flat):
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
