"""What a threshold does: how often an empty cell is shown, and, with the counts of another release, what it hides and costs.

Advice never comes from raw counts, since a threshold that was chosen by them would tell of them. It comes from the spec alone, or from
the published counts of a release that stands in for the truth (`like`). For a raw count n and an error E of known law,
a cell of the base is shown if n + E >= t; it is then off by |E|, else, counted as nothing, by n. Sums over the law are exact; for
reconciled tables the law is that of the estimate before it is made non-negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.releases import Plan, base_error_law
from noisegate.workload.noised import BaseCounts

Floats = NDArray[np.float64]

#: The shares of empty cells that may be shown for which a threshold is proposed.
SPURIOUS = (0.05, 0.01, 0.001, 0.0001)
#: Distinct counts at most that the costs are worked out for; larger ones are taken together.
_MOST_COUNTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdOutlook:
    """One threshold of the base: None shows all cells.

    `spurious` is the share of empty cells that noise carries over it. With counts that stand in for the truth `false_rows` is how many rows that
    makes, `hidden` the share of events in cells that are not shown, and `error` the mean distance of a cell from the truth,
    one that is not shown being counted as nothing. `chosen` is the spec's own, `best` the one with the least such error.
    """

    threshold: int | None
    spurious: float
    false_rows: float | None = None
    hidden: float | None = None
    error: float | None = None
    chosen: bool = False
    best: bool = False

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "threshold": self.threshold,
            "spurious": self.spurious,
            "false_rows": self.false_rows,
            "hidden": self.hidden,
            "expected_absolute": self.error,
            "chosen": self.chosen,
            "best": self.best,
        }


def compared_thresholds(plan: Plan, counts: BaseCounts | None, /) -> tuple[ThresholdOutlook, ...]:
    """Thresholds side by side, the lowest first: the spec's, those that few empty cells pass, and with `counts` the one with the least error.

    Nothing where zeros are kept, or where a part of a series is planned: no single table is cut there.
    """
    if plan.spec.privacy.zeros == "keep" or plan.series is not None:
        return ()
    law = _Steps.of(plan)
    own = plan.base.least
    levels = {own, *(law.least(share) for share in SPURIOUS)}
    best: int | None = None
    if counts is not None:
        tried = [None, *range(1, law.least(SPURIOUS[-1]) + 1)]
        best = min(tried, key=lambda level: law.costs(plan, counts, level)[1])
        levels.add(best)
    found = []
    for level in sorted(levels, key=lambda one: one or 0):
        hidden, error = (None, None) if counts is None else law.costs(plan, counts, level)
        spurious = law.passing(level)
        empty = None if counts is None else plan.base.cells - len(counts.cells)
        found.append(
            ThresholdOutlook(
                threshold=level,
                spurious=spurious,
                false_rows=None if empty is None else empty * spurious,
                hidden=hidden,
                error=error,
                chosen=level == own,
                best=counts is not None and level == best,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Steps:
    """The law of the error of a cell of the base, on a lattice: `above[k]` is P(E >= value[k]), `far[k]` that of E[|E|; E >= value[k]]."""

    values: Floats
    above: Floats
    far: Floats

    @classmethod
    def of(cls, plan: Plan, /) -> _Steps:
        unit, mass = base_error_law(plan).tabulated()
        both = np.concatenate([mass[:0:-1], mass])
        both = both / both.sum()
        values = unit * np.arange(1.0 - len(mass), len(mass))
        return cls(
            values=values,
            above=np.append(np.cumsum(both[::-1])[::-1], 0.0),
            far=np.append(np.cumsum((both * np.abs(values))[::-1])[::-1], 0.0),
        )

    def passing(self, level: int | None, /) -> float:
        """The chance that an empty cell is shown."""
        return 1.0 if level is None else float(self.above[np.searchsorted(self.values, level)])

    def least(self, share: float, /) -> int:
        """The least threshold, from 1 on, that at most this share of empty cells passes."""
        place = int(np.argmax(self.above[:-1] <= share))
        return max(1, int(self.values[place]))

    def costs(self, plan: Plan, counts: BaseCounts, level: int | None, /) -> tuple[float, float]:
        """The share of events in cells that are not shown, and the mean distance of a cell from the truth."""
        many, times = _tallied(counts.raw_counts)
        every, often = np.append(0.0, many), np.append(plan.base.cells - len(counts.cells), times)
        if level is None:
            return 0.0, float(self.far[0])
        places = np.searchsorted(self.values, level - every)
        shown, far = self.above[places], self.far[places]
        lost = often * every * (1 - shown)
        total = float((often * every).sum())
        return float(lost.sum()) / total if total else 0.0, float(
            (often * far + lost).sum()
        ) / plan.base.cells


def _tallied(counts: NDArray[np.int64], /) -> tuple[Floats, Floats]:
    """The distinct counts and how often each is there."""
    values, times = np.unique(counts, return_counts=True)
    if len(values) <= _MOST_COUNTS:
        return values.astype(np.float64), times.astype(np.float64)
    edges = np.linspace(0, len(values), _MOST_COUNTS + 1).astype(np.int64)[:-1]
    sums = np.add.reduceat(times.astype(np.float64), edges)
    return np.add.reduceat(values * times.astype(np.float64), edges) / sums, sums
