"""Laws on finitely many integers, given by their probabilities, and convolutions of lattice laws.

Convolutions are plain sums of positive products (no FFT, whose error is relative to the largest
term): each probability keeps its relative precision. Tails below e^{-250} are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisegate.errors import SpecError
from noisegate.laws._law import Floats, Ints, LatticeLaw, whole
from noisegate.laws.entropy import as_rng

_CUT_NATS = 250.0
_MOST_POINTS = 1 << 15


@dataclass(frozen=True, eq=False)
class Tabulated(LatticeLaw):
    """P(first + i) = exp(logp[i])."""

    first: int
    logp: Floats
    name = "tabulated"

    def __post_init__(self) -> None:
        logp = np.array(self.logp, dtype=float)
        if logp.ndim != 1 or logp.size == 0 or np.isnan(logp).any():
            raise SpecError("a tabulated law needs a list of log-probabilities.")
        # Numbers that sum to one up to rounding are made to sum to one.
        logp -= np.logaddexp.reduce(logp)
        object.__setattr__(self, "logp", logp)

    @classmethod
    def symmetric(cls, half: Floats, /) -> Self:
        """The law with log P(k) = half[|k|]."""
        return cls(1 - len(half), np.concatenate([half[:0:-1], half]))

    @property
    def _values(self) -> Floats:
        return self.first + np.arange(len(self.logp), dtype=float)

    @property
    def mean(self) -> float:
        """Expected value."""
        return float(np.exp(self.logp) @ self._values)

    @property
    def variance(self) -> float:
        """Expected squared distance from the mean."""
        return float(np.exp(self.logp) @ (self._values - self.mean) ** 2)

    def logpmf(self, k: ArrayLike, /) -> Floats:
        """Log-probability of each `k`."""
        value = np.asarray(k, float)
        place = value - self.first
        inside = (place == np.rint(place)) & (place >= 0) & (place < len(self.logp))
        return np.where(inside, self.logp[np.where(inside, place, 0).astype(np.int64)], -np.inf)

    def logcdf(self, x: ArrayLike, /) -> Floats:
        """log P(X <= x)."""
        return _look_up(np.logaddexp.accumulate(self.logp), np.floor(np.asarray(x, float)) - self.first)

    def logsf(self, x: ArrayLike, /) -> Floats:
        """log P(X > x)."""
        last = self.first + len(self.logp) - 1
        return _look_up(np.logaddexp.accumulate(self.logp[::-1]), last - np.floor(np.asarray(x, float)) - 1)

    def reach(self, nats: float, /) -> int:
        """How far out the law must be looked at: its ends."""
        del nats
        return max(abs(self.first), abs(self.first + len(self.logp) - 1))

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` draws."""
        return power(self, n)

    def difference(self) -> LatticeLaw:
        """The law of X - Y for two independent draws."""
        return convolve([self, Tabulated(1 - self.first - len(self.logp), self.logp[::-1])])

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation."""
        cumulative = np.exp(np.minimum(np.logaddexp.accumulate(self.logp), 0.0))
        place = np.searchsorted(cumulative, as_rng(rng).random(size), side="right")
        return self.first + np.minimum(place, len(self.logp) - 1)


def tabulate(law: LatticeLaw, /) -> Tabulated:
    """`law` on the integers where its probability is above e^{-250}."""
    if isinstance(law, Tabulated):
        return law
    half = min(law.reach(_CUT_NATS), _MOST_POINTS // 2)
    values = np.arange(-half, half + 1)
    logp = law.logpmf(values)
    edge = max(float(law.logsf(half)), float(law.logcdf(-half - 1)))
    if edge > -40:
        raise SpecError(
            f"sums of {law.name} noise are worked out for laws within {_MOST_POINTS // 2} of zero; this one is "
            "wider. Use discrete-laplace or gaussian, whose sums have a closed form."
        )
    return _trimmed(-half, logp)


def convolve(laws: Sequence[LatticeLaw], /) -> Tabulated:
    """The law of a sum of independent draws, one from each of `laws`."""
    total = Tabulated(0, np.zeros(1))
    for law in laws:
        total = _convolve_two(total, tabulate(law))
    return total


def power(law: LatticeLaw, n: int, /) -> LatticeLaw:
    """The law of a sum of `n` draws from `law`, by repeated doubling."""
    left = whole(n, what="n", least=1)
    if left == 1:
        return law
    total, step = None, tabulate(law)
    while True:
        if left & 1:
            total = step if total is None else _convolve_two(total, step)
        left >>= 1
        if not left:
            return total if total is not None else step
        step = _convolve_two(step, step)


def _convolve_two(a: Tabulated, b: Tabulated, /) -> Tabulated:
    mass = np.convolve(np.exp(a.logp), np.exp(b.logp))
    seen = mass > 0
    logp = np.full(mass.shape, -np.inf)
    np.log(mass, out=logp, where=seen)
    return _trimmed(a.first + b.first, logp)


def _trimmed(first: int, logp: Floats, /) -> Tabulated:
    """The table without ends that are below e^{-250}."""
    kept = np.flatnonzero(logp > -_CUT_NATS)
    low, high = int(kept[0]), int(kept[-1])
    return Tabulated(first + low, logp[low : high + 1])


def _look_up(cumulative: Floats, place: Floats, /) -> Floats:
    """`cumulative[place]`, minus infinity below the table and 0 above it, never above 0."""
    inside = np.clip(place, 0, len(cumulative) - 1).astype(np.int64)
    found = np.where(place < 0, -np.inf, np.minimum(cumulative[inside], 0.0))
    return np.where(place >= len(cumulative) - 1, 0.0, found)
