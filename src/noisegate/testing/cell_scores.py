"""How well posteriors of cells did where the truth is known.

A count is a whole number, so an interval that must hold at least half may have to hold nine
tenths: coverage above the level is then no fault. Two numbers tell caution from the grain of the
integers. `claimed` is what the posteriors give their own intervals. `fair` counts the integers at
the ends in part, so that exactly the level is claimed; honest posteriors reach the level itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference import Bools, CellEstimates, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Averages over some cells; quarters are those by posterior mean, the least quarter first.

    `error` is the mean absolute error of posterior means, `width` the mean of high - low. What
    needs whole marginals (`claimed`, `fair`, `fair_quarters`) is None where they were not kept.
    """

    level: float
    cells: int
    coverage: float
    quarters: tuple[float, ...]
    error: float
    width: float
    claimed: float | None = None
    fair: float | None = None
    fair_quarters: tuple[float, ...] | None = None

    @classmethod
    def of(cls, posterior: CellEstimates, counts: Ints, /, *, cells: Bools | None = None) -> Self:
        """The score of `posterior` on `cells` (all of them if not given) whose truth is `counts`."""
        chosen = np.arange(posterior.cells) if cells is None else np.flatnonzero(cells)
        if len(counts) != posterior.cells or not chosen.size:
            raise SpecError("a score needs the true count of every cell, and at least one cell.")
        order = chosen[np.argsort(posterior.mean[chosen], kind="stable")]
        inside = (counts >= posterior.low) & (counts <= posterior.high)
        kept = posterior.pmfs is not None
        middle = _within(posterior, counts) if kept else np.zeros(posterior.cells)
        return cls(
            level=posterior.level,
            cells=len(chosen),
            coverage=float(inside[chosen].mean()),
            quarters=_quarters(inside, order),
            error=float(np.abs(posterior.mean - counts)[chosen].mean()),
            width=float((posterior.high - posterior.low)[chosen].mean()),
            claimed=float(_claims(posterior)[chosen].mean()) if kept else None,
            fair=float(middle[chosen].mean()) if kept else None,
            fair_quarters=_quarters(middle, order) if kept else None,
        )


def _quarters(values: Floats | Bools, order: Ints, /) -> tuple[float, ...]:
    return tuple(float(values[part].mean()) for part in np.array_split(order, 4) if part.size)


def _below(posterior: CellEstimates, counts: Ints, /) -> Floats:
    """The probability that each posterior gives to counts below `counts`."""
    pmfs = posterior.pmfs
    assert pmfs is not None
    sums = np.concatenate([[0.0], np.cumsum(pmfs.p)])
    place = np.clip(counts - pmfs.low, 0, pmfs.sizes)
    return np.asarray(sums[pmfs.start[:-1] + place] - sums[pmfs.start[:-1]])


def _claims(posterior: CellEstimates, /) -> Floats:
    """The probability that each posterior gives to its own interval."""
    return _below(posterior, posterior.high + 1) - _below(posterior, posterior.low)


def _within(posterior: CellEstimates, counts: Ints, /) -> Floats:
    """How much of each true count lies in the middle of its posterior, which holds exactly the level."""
    tail = (1 - posterior.level) / 2
    low, high = _below(posterior, counts), _below(posterior, counts + 1)
    inside = np.minimum(high, 1 - tail) - np.maximum(low, tail)
    return np.asarray(np.clip(inside / np.maximum(high - low, 1e-300), 0.0, 1.0))
