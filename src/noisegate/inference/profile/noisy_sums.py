"""Noisy sums over cells, as margins give them: known but for the noise, or only not to be above it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: What is known of a sum, but for the noise: its value, or that it is not above it.
EQUAL, AT_MOST = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisySums:
    """Sums over cells: `seen[code]` with noise of `variance[code]`; a code of -1 is in none.

    `side` says of each sum whether it is `EQUAL` to what was seen or `AT_MOST` that. Cells with a code in `less`
    count against the sum: what was seen is the sum less these.
    """

    codes: Ints
    seen: Floats
    variance: Floats
    side: NDArray[np.int8]
    less: Ints | None = None

    @property
    def equal(self) -> Bools:
        """Which sums are known but for the noise."""
        return np.asarray(self.side == EQUAL)

    def of_cells(self, cells: Bools, /) -> NoisySums:
        """The same sums, with codes for some of the cells only."""
        return replace(self, codes=self.codes[cells], less=None if self.less is None else self.less[cells])

    def settled(self, mean: Floats, /) -> NoisySums:
        """The same with expected counts for cells that count against sums, each total of them uncertain by as much again."""
        if self.less is None:
            return self
        inside = self.less >= 0
        extra = np.bincount(self.less[inside], weights=mean[inside], minlength=len(self.seen))
        return replace(self, seen=self.seen + extra, variance=self.variance + extra**2, less=None)

    def speaks(self, expected: Floats, /) -> Bools:
        """Which sums say something against these expected ones: a bound only where it is crossed."""
        return np.asarray(self.equal | (expected > self.seen))

    def logs(self, expected: Floats, variance: Floats, /) -> Floats:
        """Log-likelihoods of sums (rows) with these expected values and variances, noise not counted: normal laws."""
        width = variance + self.variance[:, None]
        gap = (self.seen[:, None] - expected) / np.sqrt(width)
        known = -0.5 * gap**2 - 0.5 * np.log(width)
        return np.where(self.equal[:, None], known, special.log_ndtr(gap))
