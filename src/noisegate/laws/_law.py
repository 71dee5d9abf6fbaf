"""What every noise law offers.

A law is a frozen value. Everything is in log space, and the tail that is small is the one that
is computed (`logsf` on the right, `logcdf` on the left), never one minus the other, so that
probabilities keep their relative precision far out. Arrays in, arrays of the same shape out.

All laws here but one are symmetric about zero and describe noise that does not depend on the
count it is added to. The exception is random rounding: `at(count)` gives its law for one count.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws.entropy import Entropy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Law(ABC):
    """The law of the noise that is added to one count."""

    name: ClassVar[str]
    lattice: ClassVar[bool]

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected value."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Expected squared distance from the mean."""

    @abstractmethod
    def logcdf(self, x: ArrayLike, /) -> Floats:
        """log P(X <= x)."""

    @abstractmethod
    def logsf(self, x: ArrayLike, /) -> Floats:
        """log P(X > x)."""

    @abstractmethod
    def sum_of(self, n: int, /) -> Law:
        """The law of a sum of `n` independent draws."""

    @abstractmethod
    def difference(self) -> Law:
        """The law of X - Y for two independent draws; for a symmetric law, that of X + Y."""

    @abstractmethod
    def sample(self, size: int, /, *, rng: np.random.Generator) -> NDArray[Any]:
        """`size` draws for a simulation; not for publishing."""

    def loss_bound(self, shift: int, /) -> float:
        """The largest log-ratio of the law to itself moved by `shift`; infinite if there is none."""
        del shift
        return math.inf

    def at(self, count: int, /) -> Law:
        """The law of the noise on a raw count of `count`."""
        del count
        return self

    def alike(self, counts: Ints, /) -> Ints:
        """For each raw count one whose noise has the same law: that of `at` for both."""
        return np.zeros_like(counts)

    def log_between(self, low: ArrayLike, high: ArrayLike, /) -> Floats:
        """log P(low < X <= high), from whichever tail is the smaller one."""
        lo, hi = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
        right = lo >= self.mean
        big = np.where(right, self.logsf(lo), self.logcdf(hi))
        small = np.where(right, self.logsf(hi), self.logcdf(lo))
        return log_subtract(big, small)


class ContinuousLaw(Law):
    """A law with a density on the real line, symmetric about zero."""

    lattice = False

    @abstractmethod
    def logpdf(self, x: ArrayLike, /) -> Floats:
        """Log-density at `x`."""

    @abstractmethod
    def _log_tail(self, x: Floats, /) -> Floats:
        """log P(X > x) for x >= 0."""

    @abstractmethod
    def rounded(self) -> LatticeLaw:
        """The law of a draw rounded to the nearest integer."""

    @abstractmethod
    def sum_of(self, n: int, /) -> ContinuousLaw:
        """The law of a sum of `n` independent draws."""

    def difference(self) -> ContinuousLaw:
        """The law of X - Y for two independent draws."""
        return self.sum_of(2)

    @property
    def mean(self) -> float:
        """Zero, by symmetry."""
        return 0.0

    def logsf(self, x: ArrayLike, /) -> Floats:
        """log P(X > x)."""
        value = np.asarray(x, float)
        tail = self._log_tail(np.abs(value))
        return np.where(value >= 0, tail, np.log1p(-np.exp(tail)))

    def logcdf(self, x: ArrayLike, /) -> Floats:
        """log P(X <= x)."""
        return self.logsf(-np.asarray(x, float))


class LatticeLaw(Law):
    """A law on the integers. `logpmf` of anything but an integer is minus infinity."""

    lattice = True

    @abstractmethod
    def logpmf(self, k: ArrayLike, /) -> Floats:
        """Log-probability of each `k`."""

    @abstractmethod
    def reach(self, nats: float, /) -> int:
        """A `k` such that P(|X| > k) < exp(-nats): how far out the law must be looked at."""

    def rounded(self) -> LatticeLaw:
        """The law itself: integers stay."""
        return self

    @abstractmethod
    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` independent draws."""

    def difference(self) -> LatticeLaw:
        """The law of X - Y for two independent draws."""
        return self.sum_of(2)

    def draw(self, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` draws for publishing, exact to the bound in docs/proofs/exact-noise.md."""
        del size, entropy
        raise SpecError(
            f"{self.name} noise cannot be published; choose discrete-laplace, discrete-gaussian, "
            "rounded-laplace or uniform."
        )


class SymmetricLatticeLaw(LatticeLaw):
    """A law on the integers with P(k) = P(-k)."""

    @property
    def mean(self) -> float:
        """Zero, by symmetry."""
        return 0.0

    @abstractmethod
    def _logpmf_at(self, k: Floats, /) -> Floats:
        """Log-probability of the integers `k` >= 0."""

    @abstractmethod
    def _log_tail(self, k: Floats, /) -> Floats:
        """log P(X > k) for integers k >= 0."""

    def logpmf(self, k: ArrayLike, /) -> Floats:
        """Log-probability of each `k`."""
        value = np.asarray(k, float)
        return np.where(value == np.rint(value), self._logpmf_at(np.abs(np.rint(value))), -np.inf)

    def logsf(self, x: ArrayLike, /) -> Floats:
        """log P(X > x)."""
        value = np.floor(np.asarray(x, float))
        tail = self._log_tail(np.where(value >= 0, value, -value - 1))
        return np.where(value >= 0, tail, np.log1p(-np.exp(tail)))

    def logcdf(self, x: ArrayLike, /) -> Floats:
        """log P(X <= x), as the chance of the mirrored tail."""
        return self.logsf(-np.floor(np.asarray(x, float)) - 1)


def log_subtract(big: ArrayLike, small: ArrayLike, /) -> Floats:
    """log(e^big - e^small) for big >= small, minus infinity where they are equal."""
    upper, lower = np.asarray(big, float), np.asarray(small, float)
    live = (upper > lower) & np.isfinite(upper)
    gap = np.where(live & np.isfinite(lower), lower - np.where(live, upper, 0.0), -np.inf)
    gap = np.where(live, gap, -1.0)
    near = gap > -math.log(2)
    inside = np.where(
        near,
        np.log(-np.expm1(np.where(near, gap, -1.0))),
        np.log1p(-np.exp(np.where(near, -1.0, gap))),
    )
    return np.where(live, np.where(live, upper, 0.0) + inside, -np.inf)


#: The largest scale or threshold that is worked with: beyond, a float no longer tells one count from the next.
LARGEST = 10**15


def positive_scale(scale: float, /, *, what: str = "scale") -> float:
    """`scale` as a float, once it is known to be finite and above zero."""
    try:
        value = float(scale)
    except (TypeError, ValueError, OverflowError):
        raise SpecError.for_value(what, found=str(scale)[:40], allowed="a number above 0") from None
    if not (math.isfinite(value) and value > 0):
        raise SpecError.for_value(what, found=scale, allowed="a finite number above 0")
    if value > LARGEST:
        raise SpecError.for_value(what, found=value, allowed="at most 10^15")
    return value


def whole(value: float, /, *, what: str, least: int) -> int:
    """`value` as an int, once it is known to be a whole number of at least `least`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value != int(value) or value < least:
        raise SpecError.for_value(what, found=value, allowed=f"a whole number of at least {least}")
    return int(value)
