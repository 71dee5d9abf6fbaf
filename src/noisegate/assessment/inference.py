"""What the cells of the base were (MATH 4), for an attacker who knows little and for one who has looked at all tables.

The *minimal* one takes each day by itself and knows only the levels of the totals that were published; with no
totals, nothing. The *informed* one learns from all tables which place is busy when, and how alike days are.

An attacker has the evidence in the tables and beliefs about how counts vary; what follows is the estimate of
every cell, and of what is suppressed in each table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from noisegate import limits
from noisegate.assessment.evidence import AttackEvidence
from noisegate.assessment.looked import LookedAt
from noisegate.errors import DataError, SpecError
from noisegate.inference import Attacker, Bools, CellEstimates, Engine, SumEstimates, engine_for
from noisegate.mechanisms import describe
from noisegate.tables import Table

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Inference:
    """What can be known about every cell of the base.

    Attributes
    ----------
    posterior
        Of every cell of the base, in its order.
    engine
        What knows the cells and any sum of them, by the numbers of its evidence.
    totals
        For each table with suppressed rows, what they add up to; by the table's name.
    looked
        Which cells were looked at, if there are too many for all; the posterior of others is what is known without looking.
    """

    evidence: AttackEvidence
    attacker: Attacker
    posterior: CellEstimates
    engine: Engine
    totals: dict[str, SumEstimates] = field(default_factory=dict)
    looked: LookedAt | None = None

    @property
    def hidden(self) -> Bools:
        """Suppressed cells of the base that were looked at."""
        return self.evidence.suppressed if self.looked is None else self.looked.hidden

    @property
    def cells(self) -> Table:
        """The base on its domain."""
        return self.evidence.cells

    def alone(self) -> CellEstimates:
        """The estimate of every cell under the same beliefs from its own record alone, without margins and couplings."""
        return self.evidence.placed(self.engine.alone(self.posterior.level))

    def hidden_sum(self, chosen: Mapping[int, int], /) -> SumEstimates | None:
        """What suppressed cells of the base with some values add up to: the same as `totals`; None if no margin tells, or nobody who knows sums asks."""
        if self.cells.name not in self.totals:
            return None
        if not chosen:
            return self.totals[self.cells.name]
        cells = np.flatnonzero(self.evidence.suppressed)
        for which, code in chosen.items():
            cells = cells[self.cells.domain.label_codes(which, cells) == code]
        place = self.evidence.place
        numbers = cells if place is None else place[cells][place[cells] >= 0]
        return self.engine.sums(numbers, np.zeros(len(numbers), np.int64), size=1, level=self.posterior.level)

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`: how the posteriors in `cells.parquet` were made."""
        posterior = self.posterior
        return {
            "attacker": self.attacker,
            "level": posterior.level,
            "cells": posterior.cells,
            "looked_at": None if self.looked is None else self.looked.to_json(),
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
                    "status": "estimate" if one.told[0] else "withdrawn",
                }
                for name, one in self.totals.items()
            },
            "fit": [check.to_json() for check in self.engine.checks] if self.engine.knows_sums else [],
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
    engine = engine_for(
        evidence.known,
        attacker=attacker,
        report=lambda what, done, whole: report(f"{what} ({done / max(whole, 1):.0%})"),
    )
    posterior = engine.cells(level)
    report("adding up suppressed cells")
    totals = {}
    for name, which in _asked(evidence).items() if engine.knows_sums else ():
        cells = np.flatnonzero(which)
        totals[name] = engine.sums(cells, np.zeros(len(cells), np.int64), size=1, level=level)
    posterior, looked = evidence.placed(posterior), None
    if engine.looked_at is not None:
        looked = LookedAt.of(evidence, engine.looked_at)
        looked.fill(posterior, evidence.base.values, evidence.known.base.noise)
    return Inference(
        evidence=evidence,
        attacker=attacker,
        posterior=posterior,
        engine=engine,
        totals=totals,
        looked=looked,
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
