"""What sums of cells are together: differences, ratios and ranks, from draws of all of them at once.

Two sums of one release share cells, totals and an uncertain prior, so the interval of their difference is not that of two strangers. Draws of
whole tables know it. A sum that the tables do not tell (`withdrawn`) has bounds only, and so has whatever is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.inference import SumEstimates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans:
    """An estimate and an interval for each of some quantities; where `withdrawn`, `low` and `high` are bounds and the estimate says nothing."""

    estimate: Floats
    low: Floats
    high: Floats
    withdrawn: Bools

    def take(self, which: Ints, /) -> Spans:
        """Some of the quantities, in this order."""
        return Spans(
            estimate=self.estimate[which],
            low=self.low[which],
            high=self.high[which],
            withdrawn=self.withdrawn[which],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointSums:
    """Draws of some sums together: one row a draw, one column a sum.

    Attributes
    ----------
    draws
        Sums of the same tables stand in one row.
    low, high, withdrawn
        The interval of each sum by itself, and whether it is only bounds.

    Examples
    --------
    >>> both = JointSums.of(np.array([[3, 1], [5, 3], [4, 2]]), low=np.array([3, 1]), high=np.array([5, 3]))
    >>> gap = both.difference(np.array([0]), np.array([1]), level=0.9)
    >>> gap.low.tolist(), gap.high.tolist()
    ([2.0], [2.0])
    """

    draws: Floats
    low: Floats
    high: Floats
    withdrawn: Bools

    @classmethod
    def of(
        cls, draws: NDArray[Any], /, *, low: Ints, high: Ints, withdrawn: Bools | None = None
    ) -> JointSums:
        """From draws of any kind of number and the interval of each sum."""
        none = np.zeros(len(low), bool)
        return cls(
            draws=np.asarray(draws, np.float64),
            low=low.astype(np.float64),
            high=high.astype(np.float64),
            withdrawn=none if withdrawn is None else withdrawn,
        )

    @classmethod
    def matched(cls, draws: NDArray[Any], known: SumEstimates, /) -> JointSums:
        """Draws whose every sum has the mean and the standard deviation that are known of it; what sums have in common is theirs.

        Sums under shown totals are known without a prior, and draws of tables follow only as far as single cells let them: so a
        difference is as sure as its two sums, and as what they share makes it.
        """
        drawn = np.asarray(draws, np.float64)
        middle, spread = drawn.mean(axis=0), drawn.std(axis=0)
        scale = np.divide(known.sd, spread, out=np.ones(len(spread)), where=spread > 0)
        # Whole numbers again: rounded up as often as they are nearer to it, alike in all sums of a draw.
        up = ((np.arange(len(drawn)) + 0.5) / len(drawn))[:, None]
        moved = np.maximum(np.floor(known.mean + (drawn - middle) * scale + up), 0.0)
        return cls.of(moved, low=known.low, high=known.high, withdrawn=withdrawn_of(known, len(spread)))

    def beside(self, other: JointSums, /) -> JointSums:
        """These sums and those of another release, whose noise has nothing to do with them."""
        if len(self.draws) != len(other.draws):
            raise SpecError("sums of two releases are drawn equally often.")
        return JointSums(
            draws=np.concatenate([self.draws, other.draws], axis=1),
            low=np.concatenate([self.low, other.low]),
            high=np.concatenate([self.high, other.high]),
            withdrawn=np.concatenate([self.withdrawn, other.withdrawn]),
        )

    def difference(self, first: Ints, second: Ints, /, *, level: float) -> Spans:
        """The first less the second, pair by pair."""
        found = spans(self.draws[:, first] - self.draws[:, second], level=level)
        told = ~(self.withdrawn[first] | self.withdrawn[second])
        low, high = self.low[first] - self.high[second], self.high[first] - self.low[second]
        return _or_bounds(found, told, low, high)

    def ratio(self, first: Ints, second: Ints, /, *, level: float) -> Spans:
        """The first for each of the second, pair by pair.

        A draw in which the second is 0 has no ratio: it may be anything, and stands below all others at the lower end and above all at the
        upper one.
        """
        above, below = self.draws[:, first], self.draws[:, second]
        none = below <= 0
        some = np.divide(above, below, out=np.zeros(above.shape), where=~none)
        low = _quantile(np.where(none, 0.0, some), (1 - level) / 2, upper=False)
        high = _quantile(np.where(none, np.inf, some), (1 + level) / 2, upper=True)
        middle = _quantile(np.where(none, np.inf, some), 0.5, upper=True)
        found = Spans(estimate=middle, low=low, high=high, withdrawn=np.zeros(len(first), bool))
        told = ~(self.withdrawn[first] | self.withdrawn[second])
        return _or_bounds(
            found,
            told,
            _divided(self.low[first], self.high[second], 0.0),
            _divided(self.high[first], self.low[second], np.inf),
        )

    def ranks(self, *, level: float) -> Spans:
        """The rank of each sum among all of them, 1 for the largest; sums that are equal share the better rank."""
        ranked = np.array([_ranks(row) for row in self.draws], np.float64).reshape(self.draws.shape)
        found = spans(ranked, level=level)
        if not self.withdrawn.any():
            return found
        # Who is surely above each, and who surely is not: by the bounds of each sum alone.
        best = 1 + (self.low[None, :] > self.high[:, None]).sum(axis=1)
        worst = len(self.low) - (self.high[None, :] < self.low[:, None]).sum(axis=1)
        return _or_bounds(
            found, np.zeros(len(self.low), bool), best.astype(np.float64), worst.astype(np.float64)
        )


def withdrawn_of(estimates: Any, size: int, /) -> Bools:
    """Which estimates of an engine are withdrawn: their ends are bounds, and nothing else is known."""
    found = getattr(estimates, "withdrawn", None)
    return np.zeros(size, bool) if found is None else np.asarray(found, bool)


def joint_sums(
    tables: Iterable[NDArray[Any]],
    cells: Ints,
    groups: Ints,
    /,
    *,
    size: int,
    weights: Floats | None = None,
) -> Floats:
    """Sums of the cells of each of `size` groups in each of some drawn tables: one row a table."""
    rows = [
        np.bincount(
            groups, weights=table[cells] if weights is None else weights * table[cells], minlength=size
        )
        for table in tables
    ]
    return np.asarray(rows, np.float64).reshape(len(rows), size)


def spans(draws: Floats, /, *, level: float) -> Spans:
    """The mean of each column and its interval with equal tails."""
    return Spans(
        estimate=draws.mean(axis=0),
        low=_quantile(draws, (1 - level) / 2, upper=False),
        high=_quantile(draws, (1 + level) / 2, upper=True),
        withdrawn=np.zeros(draws.shape[1], bool),
    )


def _quantile(draws: Floats, share: float, /, *, upper: bool) -> Floats:
    """A draw of each column that so large a share lies below; outward where it falls between two draws.

    A further draw is equally likely to fall into each of the gaps between n draws, of which there are n + 1.
    """
    count = len(draws)
    place = share * (count + 1) - 1
    at = int(np.ceil(place - 1e-9)) if upper else int(np.floor(place + 1e-9))
    return np.asarray(np.sort(draws, axis=0)[min(max(at, 0), count - 1)])


def _ranks(values: Floats, /) -> Ints:
    return 1 + len(values) - np.searchsorted(np.sort(values), values, side="right")


def _divided(above: Floats, below: Floats, otherwise: float, /) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(len(above), otherwise), where=below > 0))


def _or_bounds(found: Spans, told: Bools, low: Floats, high: Floats, /) -> Spans:
    """What was found where the tables tell, and bounds elsewhere."""
    middle = np.where(np.isfinite(high), (low + np.where(np.isfinite(high), high, 0)) / 2, low)
    return Spans(
        estimate=np.where(told, found.estimate, middle),
        low=np.where(told, found.low, low),
        high=np.where(told, found.high, high),
        withdrawn=~told,
    )
