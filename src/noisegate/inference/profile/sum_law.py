"""Laws of sums of counts and of errors, independent and shared, and intervals from them.

A sum of few cells has the convolution of their laws, worked out by a fast Fourier transform on the integers.
What many cells have in common (an intensity that is not known for certain) is a normal shift of all of them
together, multiplied into the transform. A sum of very many cells is described by three cumulants and the
Cornish-Fisher expansion, whose error is of the order of the square of the skewness.

Intervals hold whole numbers, at least the level, with equal tails as far as whole numbers allow: numbers at the ends that
the level does not need are left out, the less likely end first. Where the lower tail would start at zero there is none, and
all that the level leaves lies above: the convention of `core.linked`.

Intensities are products of multipliers: the place's, the hour's, the day's and those of pairs. Each is known up to a relative
variance. Cells with a common multiplier err together, so in a sum of n of them that error grows with n and not
with its root. Leaving it out is what makes totals of missing cells look surer than they are.

Multipliers of which little was seen hang on what such multipliers are like in general. If that is wrong, it is wrong for
all of them at once; so that part of their error is one error, common to all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.errors import SpecError
from noisegate.inference.linked.problem import NegativeBinomial, compact
from noisegate.laws import (
    LatticeLaw,
    RoundedGaussian,
    Tabulated,
)
from noisegate.margins import ErrorLaw, characteristic

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
    mean: Floats, variance: Floats, third: Floats, /, *, level: float, fourth: Floats | float = 0.0
) -> tuple[Ints, Ints]:
    """Intervals of sums with these means, variances, third central moments and fourth cumulants, rounded outward."""
    tail = (1 - checked_level(level)) / 2
    low = np.floor(quantile(mean, variance, third, tail, fourth=fourth) + 0.5)
    clipped = low <= 0
    high = np.where(
        clipped,
        quantile(mean, variance, third, 1 - 2 * tail, fourth=fourth),
        quantile(mean, variance, third, 1 - tail, fourth=fourth),
    )
    low = np.maximum(low, 0).astype(np.int64)
    return low, np.maximum(np.ceil(high - 0.5).astype(np.int64), low)


#: The excess kurtosis of one Laplace noise; no sum of noises has a larger one.
_MOST_KURTOSIS = 3.0


def quantile(
    mean: Floats, variance: Floats, third: Floats, share: float, /, *, fourth: Floats | float = 0.0
) -> Floats:
    """The share of sums with such cumulants that lies below this, by Cornish and Fisher.

    One Laplace noise is within 0.49 standard deviations half of the time and within 2.12 in 95 of 100: a normal law has 0.67 and 1.96.
    """
    sd = np.sqrt(np.maximum(variance, 0.0))
    skewness = np.where(sd > 0, third / np.maximum(sd, 1e-9) ** 3, 0.0)
    kurtosis = np.where(sd > 0, fourth / np.maximum(sd, 1e-9) ** 4, 0.0)
    z = float(special.ndtri(share))
    away = z + np.clip(skewness, -1.0, 1.0) * (z * z - 1) / 6
    return np.asarray(mean + sd * (away + np.clip(kurtosis, 0.0, _MOST_KURTOSIS) * (z**3 - 3 * z) / 24))


def checked_level(level: float, /) -> float:
    """`level`, once it is known to lie between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1, such as 0.95")
    return float(level)


#: Wider than this a normal law is as good, and a table of the law is long.
_WIDEST_SD = 300.0
_COMBINATION_REACH_SDS = 32.0
_FOLDS = 8
_LEAST_LOG = -60.0


def lattice_law(error: ErrorLaw, /) -> LatticeLaw:
    """The law of a rounded error as a law of noise: what `ErrorLaw` describes, on the integers.

    The rounding is to one of the two neighbouring integers, by the fraction (see `core.margins.error`).

    Examples
    --------
    >>> from noisegate.laws import DiscreteLaplace
    >>> from noisegate.margins import ErrorTerm
    >>> law = lattice_law(ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=2, law=DiscreteLaplace(1.4)),)))
    >>> round(law.variance, 6) == round(2 * DiscreteLaplace(1.4).variance, 6)
    True
    """
    only = error.terms[0] if len(error.terms) == 1 else None
    if only is not None and only.coefficient == 1 and only.copies == 1 and isinstance(only.law, LatticeLaw):
        return only.law
    sd = error.standard_deviation
    if sd > _WIDEST_SD:
        return RoundedGaussian(sd)
    half = 1 << math.ceil(math.log2(_COMBINATION_REACH_SDS * sd + 64))
    t = math.pi * np.arange(half + 1) / half
    if all(term.law.lattice and float(term.coefficient).is_integer() for term in error.terms):
        folded = _phi(error, t)
    else:
        folded = sum(
            (
                _phi(error, shifted) * np.sinc(shifted / (2 * math.pi)) ** 2
                for m in range(-_FOLDS, _FOLDS + 1)
                for shifted in [t + 2 * math.pi * m]
            ),
            start=np.zeros_like(t),
        )
    mass = np.maximum(np.fft.irfft(folded)[: half + 1], 0.0)
    kept = max(1, int(np.flatnonzero(mass > 1e-15 * mass.max())[-1]) + 1)
    logs = np.maximum(np.log(np.maximum(mass[:kept], 1e-300)), _LEAST_LOG)
    return Tabulated.symmetric(logs)


def _phi(
    error: ErrorLaw, t: np.ndarray[tuple[int], np.dtype[np.float64]], /
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    product = np.ones_like(t)
    for term in error.terms:
        product *= characteristic(term.law, term.coefficient * t) ** term.copies
    return product


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedError:
    """For each effect the level of every cell, and how far one standard deviation of the effect moves the cell.

    `common` is the same for the one error of all that is little seen: the standard deviation of a sum is the sum of these.
    `joint` is what a posterior variance under the prior already holds of all of this together.
    """

    codes: tuple[NDArray[np.integer], ...]
    moves: tuple[NDArray[np.float32], ...]
    common: Floats
    joint: Floats

    @classmethod
    def of(
        cls,
        effects: Sequence[Ints],
        /,
        *,
        own: Sequence[Floats],
        common: Sequence[Floats],
        prior: NegativeBinomial,
        variance: Floats,
    ) -> SharedError:
        """From the relative variances of each level of each effect, and the posterior variance of each cell."""
        # The posterior mean moves with the log of the intensity by its variance, less what the shape absorbs.
        slope = variance / (1 + prior.mean / prior.shape)
        alone = [levels[codes] for codes, levels in zip(effects, own, strict=True)]
        together = np.zeros(len(slope))
        for codes, levels in zip(effects, common, strict=True):
            together += levels[codes]
        return cls(
            codes=tuple(codes.astype(np.min_scalar_type(int(codes.max(initial=0)))) for codes in effects),
            moves=tuple((slope * np.sqrt(spread)).astype(np.float32) for spread in alone),
            common=slope * np.sqrt(together),
            joint=slope**2 * sum(alone, start=together),
        )

    def beside(self, moves: Floats, /) -> SharedError:
        """The same with one more error that all cells have in common, which moves each of them by so much."""
        if not moves.any():
            return self
        none = np.zeros(len(moves), np.uint8)
        return replace(self, codes=(*self.codes, none), moves=(*self.moves, moves.astype(np.float32)))

    def without_sums(self) -> SharedError:
        """The same, once somebody else has what is common and joint."""
        return replace(self, common=np.zeros(0), joint=np.zeros(0))

    @classmethod
    def none(cls, cells: int, /) -> SharedError:
        """Nothing that cells would err together by."""
        return cls(codes=(), moves=(), common=np.zeros(cells), joint=np.zeros(cells))

    def variance(self, cells: Ints, groups: Ints, /, *, size: int) -> Floats:
        """What effects add to the variance of the sum of each of `size` groups of cells."""
        found = np.zeros(size)
        for codes, moves in zip(self.codes, self.moves, strict=True):
            levels = int(codes.max(initial=0)) + 1
            keys = groups * levels + codes[cells]
            if size * levels <= 4 * len(keys) + 1_000_000:
                sums = np.bincount(keys, weights=moves[cells], minlength=size * levels)
                found += (sums.reshape(size, levels) ** 2).sum(axis=1)
            else:
                distinct, place = compact(keys)
                sums = np.bincount(place, weights=moves[cells])
                found += np.bincount(distinct // levels, weights=sums**2, minlength=size)
        return found
