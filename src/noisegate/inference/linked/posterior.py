"""What can be known about each cell, and about sums of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.laws import compiled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellEstimates:
    """The estimate of every cell.

    `low` and `high` bound the interval of integers, which holds at least `level`. It has equal
    tails: less than (1 - level) / 2 lies below `low` and no more than that above `high`. Where
    that makes `low` zero there is no lower tail, and all of 1 - level may lie above `high`. At
    level 1 they are the ends of the support.
    `exact` says which cells were solved without approximation. `iterations` is the largest
    number of sweeps any part took (0 if none was needed), `change` the largest move in the last
    sweep of any part (see `Schedule.tolerance`), `unsettled` the number of cells in parts that
    had not converged when the limit on sweeps was reached.
    """

    level: float
    mean: Floats
    sd: Floats
    mode: Ints
    low: Ints
    high: Ints
    p_zero: Floats
    exact: Bools
    iterations: int = 0
    change: float = 0.0
    unsettled: int = 0
    pmfs: Pmfs | None = None

    @property
    def converged(self) -> bool:
        """Whether every part settled."""
        return self.unsettled == 0

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.mean)

    def marginal(self, cell: int, /) -> tuple[Ints, Floats]:
        """The counts that `cell` can have and their probabilities; needs `keep=True`."""
        if self.pmfs is None:
            raise SpecError("marginals were not kept; ask for them with keep=True.")
        p = self.pmfs.one(cell)
        return self.pmfs.low[cell] + np.arange(len(p)), p

    @classmethod
    def from_pmfs(cls, pmfs: Pmfs, /, *, level: float, keep: bool = False, exact: bool = True) -> Self:
        """Summaries of distributions that are given in full."""
        result = cls.empty(pmfs.count, level=level)
        result.write(np.arange(pmfs.count), pmfs, exact=exact)
        return replace(result, pmfs=pmfs) if keep else result

    @classmethod
    def empty(cls, cells: int, /, *, level: float) -> Self:
        """All cells at zero for certain: what structural zeros are, and where the rest is written."""
        whole = check_level(level)
        return cls(
            level=whole,
            mean=np.zeros(cells),
            sd=np.zeros(cells),
            mode=np.zeros(cells, dtype=np.int64),
            low=np.zeros(cells, dtype=np.int64),
            high=np.zeros(cells, dtype=np.int64),
            p_zero=np.ones(cells),
            exact=np.ones(cells, dtype=bool),
        )

    @property
    def arrays(self) -> tuple[Floats | Ints | Bools, ...]:
        """Everything that there is one of for each cell."""
        return self.mean, self.sd, self.mode, self.low, self.high, self.p_zero, self.exact

    def judged(self, *, iterations: int, change: float, unsettled: int) -> Self:
        """The same with how the distributions were found."""
        return replace(self, iterations=iterations, change=change, unsettled=unsettled)

    def write(self, cells: Ints, pmfs: Pmfs, /, *, exact: bool | Bools) -> None:
        """Fill in the estimates of `cells` from their distributions."""
        arrays = (self.mean, self.sd, self.mode, self.low, self.high, self.p_zero)
        _summarise(cells, pmfs.low, pmfs.start, pmfs.p, (1 - self.level) / 2, *arrays)
        self.exact[cells] = exact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumEstimates:
    """The estimate of every sum asked for; intervals are those of a normal law, rounded outward.

    Where `withdrawn`, the tables do not tell: `low` and `high` are bounds, and `mean` is what a learnt law gives that has not stood its trial.
    """

    level: float
    mean: Floats
    sd: Floats
    low: Ints
    high: Ints
    withdrawn: Bools | None = None

    def __post_init__(self) -> None:
        if self.withdrawn is None:
            object.__setattr__(self, "withdrawn", np.zeros(len(self.mean), bool))

    @property
    def told(self) -> Bools:
        """Which sums the tables tell."""
        assert self.withdrawn is not None
        return ~self.withdrawn

    def within(self, low: Ints, high: Ints, /) -> SumEstimates:
        """The same where sums are known to lie between these ends."""
        return replace(
            self,
            mean=np.clip(self.mean, low, high),
            sd=np.where(low < high, self.sd, 0.0),
            low=np.clip(self.low, low, high),
            high=np.clip(self.high, low, high),
            withdrawn=~self.told & (low < high),
        )


def check_level(level: float, /) -> float:
    """`level`, once it is known to lie above 0 and at most at 1."""
    if not 0 < level <= 1:
        raise SpecError.for_value("level", found=level, allowed="above 0 and at most 1")
    return float(level)


@compiled
def _summarise(
    cells: Ints,
    first: Ints,
    start: Ints,
    p: Floats,
    tail: float,
    mean: Floats,
    sd: Floats,
    mode: Ints,
    low: Ints,
    high: Ints,
    p_zero: Floats,
    /,
) -> None:
    for i in range(len(cells)):
        cell, a, b = cells[i], start[i], start[i + 1]
        best, total, square = a, 0.0, 0.0
        for k in range(a, b):
            total += p[k] * (k - a)
            if p[k] > p[best] * (1 + 1e-12):
                best = k
        for k in range(a, b):
            square += p[k] * (k - a - total) ** 2
        mean[cell] = first[i] + total
        sd[cell] = np.sqrt(square)
        mode[cell] = first[i] + best - a
        k, below = a, p[a]
        while k < b - 1 and (below < tail or below == 0.0):
            k += 1
            below += p[k]
        low[cell] = first[i] + k - a
        rest = tail if low[cell] > 0 else 2 * tail
        k, above = b - 1, p[b - 1]
        while k > a and (above <= rest or above == 0.0):
            k -= 1
            above += p[k]
        high[cell] = first[i] + k - a
        p_zero[cell] = p[a] if first[i] == 0 else 0.0
