"""How well an attack really did, for the custodian: its estimates against the raw counts.

The baseline has the same prior and ignores the margins and couplings. What is better than that is what the
linked tables gave away, beyond the obvious.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inference import Inference, Report
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.words import share
from noisegate.inference import CellEstimates
from noisegate.tables import Kind
from noisegate.workload import Truth

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Bools = NDArray[np.bool_]

#: Dimensions of at most so many values are shown value by value.
_FEW_VALUES = 12

WORDS: Mapping[str, Words] = {
    "attack-score": Words(
        says="How well suppressed cells were inferred, measured on the raw counts.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """How well the attack really did."""
    return about_score(facts.score)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The score among some suppressed cells."""

    name: str
    cells: int
    coverage: float
    width: float
    error: float
    baseline_error: float

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "cells": self.cells,
            "coverage": self.coverage,
            "mean_width": self.width,
            "mean_absolute_error": self.error,
            "baseline_mean_absolute_error": self.baseline_error,
            "ratio": self.error / self.baseline_error if self.baseline_error else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackScore:
    """How well the attack did on suppressed cells: all of them, those that hold somebody, and by group.

    Attributes
    ----------
    linked
        Whether margins or couplings had anything to say; if not, the baseline is the attack itself.
    pinned_right
        Of the cells said to hold somebody and known to within 2, the share whose interval holds the raw count.
    present_right
        Of the cells shown to hold somebody with more than 99 %, the share that does.
    outside
        The share of events that are in no cell of the base.
    """

    level: float
    linked: bool
    rows: tuple[Row, ...]
    pinned_right: float | None
    present_right: float | None
    outside: float

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "level": self.level,
            "suppressed": {row.name: row.to_json() for row in self.rows},
            "pinned_right": self.pinned_right,
            "present_right": self.present_right,
            "events_outside": self.outside,
        }


def score(inference: Inference, truth: Truth, /, *, report: Report) -> AttackScore:
    """The real success of an attack."""
    report("scoring the attack")
    evidence, posterior = inference.evidence, inference.posterior
    baseline = inference.alone() if evidence.linked else posterior
    hidden = inference.hidden
    groups = {"all": hidden, "non-empty": hidden & (truth.counts > 0)}
    for name, which in _groups(inference):
        groups[name] = hidden & which
    rows = tuple(
        _row(name, which, posterior, baseline, truth) for name, which in groups.items() if which.any()
    )
    inside = (truth.counts >= posterior.low) & (truth.counts <= posterior.high)
    pinned = hidden & (posterior.low > 0) & (posterior.high - posterior.low <= 2)
    present = hidden & (posterior.p_zero < 0.01)
    return AttackScore(
        level=posterior.level,
        linked=evidence.linked,
        rows=rows,
        pinned_right=float(inside[pinned].mean()) if pinned.any() else None,
        present_right=float((truth.counts[present] > 0).mean()) if present.any() else None,
        outside=truth.outside / max(truth.events, 1),
    )


def _row(name: str, which: Bools, posterior: CellEstimates, baseline: CellEstimates, truth: Truth, /) -> Row:
    counts = truth.counts[which]
    inside = (counts >= posterior.low[which]) & (counts <= posterior.high[which])
    return Row(
        name=name,
        cells=int(which.sum()),
        coverage=float(inside.mean()),
        width=float((posterior.high - posterior.low)[which].mean()),
        error=float(np.abs(posterior.mean[which] - counts).mean()),
        baseline_error=float(np.abs(baseline.mean[which] - counts).mean()),
    )


def _groups(inference: Inference, /) -> list[tuple[str, Bools]]:
    """The cells of each value of the first dimension with few values that is no date or time: the mode."""
    cells = inference.cells
    for j, dimension in enumerate(cells.dimensions):
        if dimension.kind in (Kind.TEXT, Kind.NUMBER) and 1 < dimension.size <= _FEW_VALUES:
            codes = cells.codes(np.arange(cells.size))[j]
            return [(f"{dimension.name}={label}", codes == k) for k, label in enumerate(dimension.labels)]
    return []


def about_score(score: AttackScore | None, /) -> list[Result]:
    """How well the attack really did."""
    if score is None:
        return []
    if not score.rows:
        title = "against the raw counts: no cell is suppressed, so that there was nothing to infer"
        return [Check(id="attack-score", outcome="known", title=title, numbers=score.to_json())]
    whole = score.rows[0]
    gain = 1 - whole.error / whole.baseline_error if whole.baseline_error else 0.0
    better = f"{gain:.1%} closer" if gain >= 0 else f"{-gain:.1%} further off"
    said = f"mean error {whole.error:.2f}"
    if score.linked:
        said = f"estimates are {better} than without the margins ({said} against {whole.baseline_error:.2f})"
    return [
        Check(
            id="attack-score",
            outcome="known",
            title=(
                f"against the raw counts: {score.level:.0%} intervals hold {whole.coverage:.1%} of {whole.cells:,} "
                f"suppressed cells, {said}"
            ),
            numbers=score.to_json(),
        )
    ]


def show(assessment: Assessment, /) -> Exhibit | None:
    """How well the attack did, where the raw counts are known."""
    if assessment.score is None or not assessment.score.rows:
        return None
    keys = ("mean_width", "mean_absolute_error", "baseline_mean_absolute_error")
    rows = []
    for row in assessment.score.rows:
        one = row.to_json()
        rows.append((row.name.replace("=", " "), row.cells, share(row.coverage), *(one[key] for key in keys)))
    columns = ("suppressed cells", "number", "covered", "mean width", "mean error", "without margins")
    return Exhibit(section="cells", grids=(Grid.of("The attack against the raw counts", columns, rows),))
