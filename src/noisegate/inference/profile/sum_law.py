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

*What shown rows and the laws of cells say of a sum together* is a law of two kinds: rows that are as the law has them, and rows that are nothing like it.
The laws of the hidden cells of some rows give them M up to a variance W, and may be off by a variance D besides; the rows say L, up to noise N. M has heard the rows: before, the law said less or more by W / N of what L - M is now.
If the rows are as the law has them, their sum is the mean of both words, each as sure as it is. If they are nothing like it (a stop closed, a strike), the law has no word, and the sum is L up to N. How likely that is the distance tells,
if such rows lie anywhere, by a Cauchy law, and others as far as both words let them.

Few cells. A sum of few cells may have several humps: nobody, one vehicle, two. The convolution of the laws of its cells has them, but has each cell for itself, as if what one has too much no other lacked. The chance of each sum is then
the convolution, moved and made wider by what the law may be off by, times a normal window around M: that which has the variance of both words together (for normal laws it is that exactly).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.errors import SpecError
from noisegate.inference.linked.problem import NegativeBinomial
from noisegate.laws import (
    LatticeLaw,
    RoundedGaussian,
    Tabulated,
)
from noisegate.margins import ErrorLaw, characteristic
from noisegate.tables import paired

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: A normal shift is cut at so many standard deviations.
_REACH_SDS = 9.0
#: How far rows that are nothing like the law lie from it, in standard deviations. At 1.5 and 6, on the same worlds as the share of such rows (`hidden`), interval scores of fixed counts are 7.4 and 6.6, all else is the same to 0.2 points.
_FAR_APART = 3.0
#: Quantiles of two laws are found by so many halvings, between normal scores of this size; cumulants tell them up to the second one.
_HALVINGS, _SCORE, _FURTHEST = 30, 9.0, 3.0
#: Noise of less excess kurtosis than this is taken as normal.
_NO_KURTOSIS = 0.02
#: Laws are tilted by this at most, and have no chances below this at their ends.
_STEEPEST, _LEAST_MASS = 8.0, 1e-10
#: Rows that are less likely apart than this are not.
_LEAST_CHANCE = 1e-6
#: Laws that are off by more or less, in standard deviations of what they may be off by, and how likely each is.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


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


def sum_law(
    lows: Sequence[int], masses: Sequence[Floats], /, *, shared_variance: float = 0.0, shift: float = 0.0
) -> SumLaw:
    """The law of a sum of independent counts, moved as a whole by a rounded normal shift, which is `shift` on average.

    Count i is `lows[i] + k` with probability `masses[i][k]`.

    Examples
    --------
    >>> law = sum_law([0, 3], [np.array([0.5, 0.5]), np.array([0.5, 0.5])])
    >>> law.first, law.mass.round(3).tolist()
    (3, [0.25, 0.5, 0.25])
    """
    moves = shared_variance > 0
    spread = math.ceil(_REACH_SDS * math.sqrt(shared_variance) + abs(shift)) if moves else 0
    points = sum(len(mass) - 1 for mass in masses) + 1 + 2 * spread
    size = 1 << max(1, math.ceil(math.log2(points)))
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for mass in masses:
        product *= np.fft.rfft(mass, size)
    if spread:
        away = (np.arange(-spread, spread + 1) - shift) / math.sqrt(shared_variance)
        bell = np.exp(-0.5 * (away**2 - (away**2).min()))
        product *= np.fft.rfft(bell / bell.sum(), size)
    mass = np.maximum(np.fft.irfft(product, size)[:points], 0.0)
    return SumLaw(first=sum(lows) - spread, mass=mass / mass.sum())


def cumulant_intervals(
    mean: Floats, variance: Floats, third: Floats, /, *, level: float, fourth: Floats | float = 0.0
) -> tuple[Ints, Ints]:
    """Intervals of sums with these means, variances, third central moments and fourth cumulants, rounded outward."""
    return outward_intervals(lambda share: quantile(mean, variance, third, share, fourth=fourth), level=level)


def outward_intervals(at: Callable[[float], Floats], /, *, level: float) -> tuple[Ints, Ints]:
    """Intervals of sums whose quantiles `at` gives, rounded outward; where the lower tail would start at zero there is none.

    Of three numbers one at an end that a high level does not need is left out: tails are as equal as so few numbers allow. (An end of a half interval is no tail.)
    """
    tail = (1 - checked_level(level)) / 2
    low = np.floor(at(tail) + 0.5)
    high = np.where(low <= 0, at(1 - 2 * tail), at(1 - tail))
    low = np.maximum(low, 0).astype(np.int64)
    high = np.maximum(np.ceil(high - 0.5).astype(np.int64), low)
    for share in _LARGER_TAILS if tail <= _SMALL_TAIL else ():
        three = (high - low == 2) & (low > 0)
        if not three.any():
            break
        # More may lie below, and less above; or the other way round.
        up = three & (at(2 * tail * share) > low + 0.5) & (at(1 - 2 * tail * (1 - share)) <= high + 0.5)
        down = three & (at(1 - 2 * tail * share) < high - 0.5) & (at(2 * tail * (1 - share)) >= low - 0.5)
        low, high = low + up, high - (down & ~up)
    return low, high


#: Tails of at most this may be as unequal as these shares of what lies outside.
_SMALL_TAIL, _LARGER_TAILS = 0.05, (0.6, 0.7, 0.8, 0.9, 0.97)


#: The excess kurtosis of one Laplace noise is 3, and no sum of noises has a larger one; that of errors whose width is unsure may be, and from 8 on the expansion is no law.
_MOST_KURTOSIS = 5.0


def quantile(
    mean: Floats, variance: Floats, third: Floats, share: float, /, *, fourth: Floats | float = 0.0
) -> Floats:
    """The share of sums with such cumulants that lies below this, by Cornish and Fisher.

    One Laplace noise is within 0.49 standard deviations half of the time and within 2.12 in 95 of 100: a normal law has 0.67 and 1.96.
    """
    return at_score(mean, variance, third, float(special.ndtri(share)), fourth=fourth)


def at_score(
    mean: Floats, variance: Floats, third: Floats, z: Floats | float, /, *, fourth: Floats | float = 0.0
) -> Floats:
    """The same for the share of a normal law that lies below `z` standard deviations."""
    sd = np.sqrt(np.maximum(variance, 0.0))
    skewness = np.where(sd > 0, third / np.maximum(sd, 1e-9) ** 3, 0.0)
    kurtosis = np.where(sd > 0, fourth / np.maximum(sd, 1e-9) ** 4, 0.0)
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

    def beside(self, moves: Floats, /, *, within: bool = False) -> SharedError:
        """The same with one more error that all cells have in common, which moves each of them by so much; `within` says that their variances hold it already."""
        if not moves.any():
            return self
        none = np.zeros(len(moves), np.uint8)
        return replace(
            self,
            codes=(*self.codes, none),
            moves=(*self.moves, moves.astype(np.float32)),
            joint=self.joint + moves**2 if within else self.joint,
        )

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
        # All cells in their order need not be looked up.
        row = bool((np.diff(cells) == 1).all())
        for every, moved in zip(self.codes, self.moves, strict=True):
            whole = row and len(cells) == len(every)
            codes, moves = (every, moved) if whole else (every[cells], moved[cells])
            levels = int(every.max(initial=0)) + 1
            if size * levels <= 4 * len(codes):
                keys = codes if size == 1 else groups * levels + codes
                sums = np.bincount(keys, weights=moves, minlength=size * levels)
                found += (sums.reshape(size, levels) ** 2).sum(axis=1)
            else:
                group, _, place = paired(groups, codes.astype(np.int64), levels)
                sums = np.bincount(place, weights=moves, minlength=len(group))
                found += np.bincount(group, weights=sums**2, minlength=size)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """What rows and laws say of sums: where sums lie if rows are as the law has them (`near`, from the means of cells) and how unsure that is (`sure`), and the same if they are not (`far`, `loose`), with the `chance` of it.

    `law` is the weight of the law where it has a word. `width`, `off` and `noise` are the variances of the laws of cells before they heard the rows, of what they are off by besides, and of the rows.
    """

    near: Floats
    sure: Floats
    far: Floats
    loose: Floats
    chance: Floats
    law: Floats
    width: Floats
    off: Floats

    @classmethod
    def none(cls, size: int, /) -> Beside:
        """No word of any row."""
        return cls(**{one.name: np.zeros(size) for one in fields(cls)})

    @classmethod
    def of(
        cls,
        away: Floats,
        width: Floats,
        off: Floats,
        noise: Floats,
        /,
        *,
        rare: Floats | float,
        alike: Floats | float = 0.0,
    ) -> Beside:
        """Where rows have noise of their own: rows say `away` more than the means of cells, and a share `rare` of them is nothing like the law beforehand.

        `alike` is what both words are off by alike, if the law was told by the rows: neither tells it of the other.
        """
        off, noise = np.maximum(off - alike, 0.0), np.maximum(noise - alike, 1e-12)
        both = width + off + noise
        chance = chance_apart((away * (width + noise) / noise) ** 2 / both, rare)
        law = noise / both
        return cls(
            near=away * off / both,
            sure=(1 - law) * noise + alike,
            far=away,
            loose=noise + alike,
            chance=chance,
            law=law,
            width=width,
            off=off,
        )

    @classmethod
    def of_one_estimate(cls, away: Floats, width: Floats, off: Floats, noise: Floats, /) -> Beside:
        """Where all tables are sums of one estimate, which was made non-negative: the rows may be what is off, and move nothing."""
        # What the means are further from rows than noise lets them be, the law is off by; and more, as they follow rows already.
        both = width + off + noise
        more = np.maximum(away**2 - noise, 0.0) * (both / noise) ** 2
        law = noise / (both + more)
        sure = noise * (1 - law) + (away * more / (both + more)) ** 2
        none = np.zeros(len(away))
        return cls(near=none, sure=sure, far=none, loose=sure, chance=none, law=law, width=width, off=off)

    def where(self, mine: Bools, other: Beside, /) -> Beside:
        """Some of these, and the others of another."""
        return Beside(
            **{
                one.name: np.where(mine, getattr(self, one.name), getattr(other, one.name))
                for one in fields(self)
            }
        )

    @property
    def moved(self) -> Floats:
        """How far sums lie from the means of cells on average."""
        return np.asarray(self.near + self.chance * (self.far - self.near))

    @property
    def variance(self) -> Floats:
        """How unsure sums are, whatever rows are like."""
        apart = self.chance * (1 - self.chance) * (self.far - self.near) ** 2
        return np.asarray((1 - self.chance) * self.sure + self.chance * self.loose + apart)


def chance_apart(squares: Floats, rare: Floats | float, /) -> Floats:
    """How likely rows are nothing like the law, by the squares of how many standard deviations they are from it."""
    apart = rare / (np.pi * _FAR_APART * (1 + squares / _FAR_APART**2))
    near = (1 - rare) * np.exp(-0.5 * np.minimum(squares, 700.0)) / np.sqrt(2 * np.pi)
    return np.asarray(apart / (apart + near))


def quantile_of_two(
    near: tuple[Floats, Floats, Floats, Floats], far: Floats, loose: Floats, chance: Floats, share: float, /
) -> Floats:
    """The share of sums that lies below this: by a law with four such cumulants, or, with a chance, by a normal law."""
    found = at_score(*near[:3], float(special.ndtri(share)), fourth=near[3])
    two = np.flatnonzero((chance > _LEAST_CHANCE) & (loose > 0))
    if not two.size:
        return found
    mean, variance, third, fourth = (one[two] for one in near)
    sd, wide = np.sqrt(np.maximum(variance, 1e-12)), np.sqrt(loose[two])

    def at(z: Floats) -> Floats:
        # Further out than this cumulants tell nothing.
        inner = np.clip(z, -_FURTHEST, _FURTHEST)
        return at_score(mean, variance, third, inner, fourth=fourth) + (z - inner) * sd

    high = _SCORE + (np.abs(far[two] - mean) + _SCORE * wide) / sd
    low = -high
    for _ in range(_HALVINGS):
        z = (low + high) / 2
        other = special.ndtr((at(z) - far[two]) / wide)
        above = (1 - chance[two]) * special.ndtr(z) + chance[two] * other > share
        low, high = np.where(above, low, z), np.where(above, z, high)
    found[two] = at((low + high) / 2)
    return found


def law_of_few(
    lows: Sequence[int], masses: Sequence[Floats], /, *, beside: Beside, group: int, kurtosis: float = 0.0
) -> SumLaw:
    """The law of what few cells add up to, from the law of each and from what is said of their sum.

    Count i is `lows[i] + k` with probability `masses[i][k]`. What rows say has noise of this excess kurtosis.
    """
    alone = sum_law(lows, masses)
    # Further out there is nothing but what the transform rounds, which a tilt would blow up.
    kept = np.flatnonzero(alone.mass > _LEAST_MASS)
    first, mass = alone.first + int(kept[0]), alone.mass[kept[0] : kept[-1] + 1]
    mean, logs = alone.mean, np.log(np.maximum(mass, _LEAST_MASS**2))
    sums = np.arange(first, first + len(mass), dtype=np.float64)
    width = max(float(mass @ (sums - mean) ** 2), 1e-9)
    near, sure, off = (float(one[group]) for one in (beside.near, beside.sure, beside.off))
    # Laws that are off by more or less may each be right; rows take away what all of them together are wider than both words.
    each = with_means(logs, sums - mean, _moved(mean, _NODES * math.sqrt(off)))
    both = special.logsumexp(each + _LOG_WEIGHTS[:, None], axis=0)
    both += _window((sums - mean) ** 2 * max(1 / max(sure, 1e-9) - 1 / (width + off), 0.0), kurtosis)
    both = with_means(both, sums - mean, _moved(mean, np.array([near])))[0]
    return _mixed(first, special.softmax(both), mean, beside, group)


def _window(squares: Floats, kurtosis: float, /) -> Floats:
    """The log-density of noise at so many squared standard deviations: that of Student's law with its kurtosis, which is normal without any."""
    if kurtosis < _NO_KURTOSIS:
        return -0.5 * squares
    freedom = 4 + 6 / kurtosis
    return np.asarray(-0.5 * (freedom + 1) * np.log1p(squares / (freedom - 2)))


def _mixed(first: int, mass: Floats, mean: float, beside: Beside, group: int, /) -> SumLaw:
    """The law of a sum, with the chance that its rows are nothing like it: then it may lie where the law has nothing."""
    chance, sd = float(beside.chance[group]), math.sqrt(max(float(beside.loose[group]), 1e-9))
    if chance < _LEAST_CHANCE:
        return SumLaw(first=first, mass=mass)
    at = mean + float(beside.far[group])
    low = min(first, max(math.floor(at - _SCORE * sd), 0))
    high = max(first + len(mass), math.ceil(at + _SCORE * sd) + 1)
    other = special.softmax(-0.5 * ((np.arange(low, high) - at) / sd) ** 2)
    other *= chance
    other[first - low : first - low + len(mass)] += (1 - chance) * mass
    return SumLaw(first=low, mass=other)


def _moved(mean: float, by: Floats, /) -> Floats:
    """By how much a mean of counts moves if it moves by so much, or down by as large a share: there are no less than none."""
    return np.where(by > 0, by, mean * np.expm1(np.minimum(by, 0.0) / max(mean, 1e-9)))


def with_means(logs: Floats, at: Floats | Ints, means: Floats, /, *, steepest: float = _STEEPEST) -> Floats:
    """Log-chances of some numbers, or a row of them for each mean, tilted until they have these means, or as near to them as tilts up to the steepest let them."""
    low, high = np.full(len(means), -steepest), np.full(len(means), steepest)
    for _ in range(_HALVINGS):
        tilt = (low + high) / 2
        tilted = logs + tilt[:, None] * at
        mass = np.exp(tilted - tilted.max(axis=1, keepdims=True))
        short = mass @ at < means * mass.sum(axis=1)
        low, high = np.where(short, tilt, low), np.where(short, high, tilt)
    return np.asarray(special.log_softmax(logs + low[:, None] * at, axis=1))
