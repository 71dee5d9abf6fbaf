"""Laws of cells number by number, kept in little memory, and moved in place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled

#: Ends of laws that hold less than this are not kept.
_TRIM = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptLaws:
    """Laws of cells number by number, in single precision; `mean`, `variance` and `third` are central moments."""

    mean: Floats
    variance: Floats
    third: Floats
    low: NDArray[np.int32]
    start: Ints
    mass: NDArray[np.float32]

    @classmethod
    def of(cls, estimates: CellEstimates, /) -> KeptLaws:
        """The laws that were kept with estimates."""
        assert estimates.pmfs is not None
        pmfs = estimates.pmfs.trimmed(_TRIM)
        offset = np.arange(len(pmfs.p)) - np.repeat(pmfs.start[:-1], pmfs.sizes)
        away = offset + np.repeat(pmfs.low - estimates.mean, pmfs.sizes)
        return cls(
            mean=estimates.mean,
            variance=estimates.sd**2,
            third=np.add.reduceat(pmfs.p * away**3, pmfs.start[:-1]),
            low=pmfs.low.astype(np.int32),
            start=pmfs.start,
            mass=pmfs.p.astype(np.float32),
        )

    def copied(self) -> KeptLaws:
        """The same, free to be moved."""
        return replace(
            self,
            mean=self.mean.copy(),
            variance=self.variance.copy(),
            third=self.third.copy(),
            mass=self.mass.copy(),
        )

    def tilt(self, cells: Ints, tilts: Floats, /) -> None:
        """Take the laws of some cells times exp(tilt * count), each with its own tilt, in place."""
        flat = np.ones(1)
        _move(cells, tilts, flat, self.low, self.start, self.mass, self.mean, self.variance, self.third)

    def weigh(self, cells: Ints, weights: Floats, /) -> KeptLaws:
        """The laws of some cells times a weight of each count, the last one for all larger ones, in place; itself."""
        none = np.zeros(len(cells))
        _move(cells, none, weights, self.low, self.start, self.mass, self.mean, self.variance, self.third)
        return self

    def pmfs(self, cells: Ints, /) -> Pmfs:
        """The laws of some cells."""
        first, sizes = self.start[cells], np.diff(self.start)[cells]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(first - start[:-1], sizes) + np.arange(start[-1])
        return Pmfs(low=self.low[cells].astype(np.int64), start=start, p=self.mass[places].astype(np.float64))


@compiled
def _move(
    cells: Ints,
    tilts: Floats,
    weights: Floats,
    low: NDArray[np.int32],
    start: Ints,
    mass: NDArray[np.float32],
    mean: Floats,
    variance: Floats,
    third: Floats,
) -> None:
    """Tilt and weigh laws in place, with their moments; a law that would vanish stays as it is."""
    for i in range(len(cells)):
        cell, tilt = cells[i], tilts[i]
        a, b = start[cell], start[cell + 1]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(a, b):
            d = float(k - a)
            w = mass[k] * np.exp(tilt * (d - (b - 1 - a if tilt > 0 else 0)))
            w *= weights[min(low[cell] + k - a, len(weights) - 1)]
            s0 += w
            s1 += w * d
            s2 += w * d * d
            s3 += w * d * d * d
        if s0 < 1e-30:
            continue
        for k in range(a, b):
            w = mass[k] * np.exp(tilt * (float(k - a) - (b - 1 - a if tilt > 0 else 0)))
            mass[k] = w * weights[min(low[cell] + k - a, len(weights) - 1)] / s0
        m = s1 / s0
        mean[cell] = low[cell] + m
        variance[cell] = max(s2 / s0 - m * m, 0.0)
        third[cell] = s3 / s0 - 3 * m * s2 / s0 + 2 * m * m * m


@compiled
def added(low: Ints, start: Ints, p: Floats, size: int, /) -> Floats:
    """How many of many laws' cells are expected to hold 0, 1, ... size - 1 (or more)."""
    found = np.zeros(size)
    for i in range(len(low)):
        for k in range(start[i], start[i + 1]):
            found[min(low[i] + k - start[i], size - 1)] += p[k]
    return found
