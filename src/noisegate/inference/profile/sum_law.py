"""Laws of sums of independent counts, and intervals from them.

A sum of few cells has the convolution of their laws, worked out by a fast Fourier transform on the integers.
What many cells have in common (an intensity that is not known for certain) is a normal shift of all of them
together, multiplied into the transform. A sum of very many cells is described by three cumulants and the
Cornish-Fisher expansion, whose error is of the order of the square of the skewness.

Intervals hold whole numbers, at least the level, with equal tails as far as whole numbers allow: numbers at the ends that
the level does not need are left out, the less likely end first. Where the lower tail would start at zero there is none, and
all that the level leaves lies above: the convention of `core.linked`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.errors import SpecError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A normal shift is cut at so many standard deviations.
_REACH_SDS = 9.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumLaw:
    """P(sum = first + k) = mass[k]."""

    first: int
    mass: Floats

    @property
    def mean(self) -> float:
        """Expected sum."""
        return float(self.first + self.mass @ np.arange(len(self.mass)))

    def interval(self, level: float, /) -> tuple[int, int]:
        """The whole numbers from low to high that hold at least `level`; never below zero."""
        tail = (1 - checked_level(level)) / 2
        below = np.cumsum(self.mass)
        low = self.first + int(np.searchsorted(below, tail))
        rest = tail if low > 0 else 2 * tail
        above = np.cumsum(self.mass[::-1])
        high = self.first + len(self.mass) - 1 - int(np.searchsorted(above, rest, side="right"))
        return self._trimmed(max(low, 0), max(high, low, 0), 1 - level)

    def _trimmed(self, low: int, high: int, outside: float, /) -> tuple[int, int]:
        """The interval without the numbers at its ends that may be outside as well."""
        first, last = low - self.first, high - self.first
        left = outside - float(self.mass[last + 1 :].sum())
        if low > 0:
            left -= float(self.mass[:first].sum())
        while first < last:
            upper = low == 0 or self.mass[last] <= self.mass[first]
            least = float(self.mass[last if upper else first])
            if least > left:
                break
            left -= least
            first, last = (first, last - 1) if upper else (first + 1, last)
        return first + self.first, last + self.first


def sum_law(lows: Sequence[int], masses: Sequence[Floats], /, *, shared_variance: float = 0.0) -> SumLaw:
    """The law of a sum of independent counts, moved as a whole by a rounded normal shift.

    Count i is `lows[i] + k` with probability `masses[i][k]`.

    Examples
    --------
    >>> law = sum_law([0, 3], [np.array([0.5, 0.5]), np.array([0.5, 0.5])])
    >>> law.first, law.mass.round(3).tolist()
    (3, [0.25, 0.5, 0.25])
    """
    spread = math.ceil(_REACH_SDS * math.sqrt(shared_variance)) if shared_variance > 0 else 0
    points = sum(len(mass) - 1 for mass in masses) + 1 + 2 * spread
    size = 1 << max(1, math.ceil(math.log2(points)))
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for mass in masses:
        product *= np.fft.rfft(mass, size)
    if spread:
        shift = np.arange(-spread, spread + 1) / math.sqrt(shared_variance)
        bell = np.exp(-0.5 * shift**2)
        product *= np.fft.rfft(bell / bell.sum(), size)
    mass = np.maximum(np.fft.irfft(product, size)[:points], 0.0)
    return SumLaw(first=sum(lows) - spread, mass=mass / mass.sum())


def cumulant_intervals(
    mean: Floats, variance: Floats, third: Floats, /, *, level: float
) -> tuple[Ints, Ints]:
    """Intervals of sums with these means, variances and third central moments, rounded outward."""
    tail = (1 - checked_level(level)) / 2
    low = np.floor(_quantile(mean, variance, third, tail) + 0.5)
    clipped = low <= 0
    high = np.where(
        clipped,
        _quantile(mean, variance, third, 1 - 2 * tail),
        _quantile(mean, variance, third, 1 - tail),
    )
    low = np.maximum(low, 0).astype(np.int64)
    return low, np.maximum(np.ceil(high - 0.5).astype(np.int64), low)


def _quantile(mean: Floats, variance: Floats, third: Floats, share: float, /) -> Floats:
    sd = np.sqrt(np.maximum(variance, 0.0))
    skewness = np.where(sd > 0, third / np.maximum(sd, 1e-9) ** 3, 0.0)
    z = float(special.ndtri(share))
    return np.asarray(mean + sd * (z + np.clip(skewness, -1.0, 1.0) * (z * z - 1) / 6))


def checked_level(level: float, /) -> float:
    """`level`, once it is known to lie between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1, such as 0.95")
    return float(level)
