"""What can be known about each cell, how well that did where the truth is known, and the report's own calculation.

A count is a whole number, so an interval that must hold at least half may have to hold nine
tenths: coverage above the level is then no fault. Two numbers tell caution from the grain of the
integers. `claimed` is what the posteriors give their own intervals. `fair` counts the integers at
the ends in part, so that exactly the level is claimed; honest posteriors reach the level itself.

The total less the published members is the suppressed count plus a sum of noises, whose law is
known in closed form. The published members are taken as real numbers about which nothing else
is known; `infer` takes them as the integers they are, which moves the answer by a few
hundredths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Bools, Floats, Ints, contradiction
from noisegate.laws import ContinuousLaw, LatticeLaw, Law, compiled
from noisegate.mechanisms import Mechanism


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


_NATS = 40.0


def from_residual(
    residual: float, /, *, noise: Law, suppressed_by: Mechanism | None = None, level: float = 0.95
) -> CellEstimates:
    """The posterior of one count z, given that `residual` is z plus a draw of `noise`.

    Parameters
    ----------
    noise
        The law of all the noises in the residual: for a total and two published members with
        the same law, `law.sum_of(3)`.
    suppressed_by
        The mechanism that suppressed the cell itself, which is evidence too; None ignores it.

    Notes
    -----
    *Assumes* a flat prior on the integers from 0. Exact up to e^{-40}.

    Examples
    --------
    >>> from noisegate.laws import Laplace
    >>> cell = from_residual(18, noise=Laplace(1.4).sum_of(3))
    >>> round(float(cell.mean[0]), 2)
    18.0
    """
    reach = 1.0
    while float(noise.logsf(reach)) > -_NATS:
        reach *= 1.25
    counts = np.arange(max(int(residual + reach) + 2, 1))
    if isinstance(noise, LatticeLaw):
        logs = noise.logpmf(residual - counts)
    else:
        logs = cast("ContinuousLaw", noise).logpdf(residual - counts)
    if suppressed_by is not None:
        logs = logs + suppressed_by.log_likelihood(np.nan, counts)
    if not logs.max() > -np.inf:
        raise contradiction()
    p = np.exp(logs - logs.max())
    pmfs = Pmfs(low=np.zeros(1, dtype=np.int64), start=np.array([0, len(p)], dtype=np.int64), p=p / p.sum())
    return CellEstimates.from_pmfs(pmfs, level=level, keep=True)
