"""How much sharper a raw count is known from two records of it than from one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noisegate.errors import DataError, SpecError
from noisegate.laws import ContinuousLaw, Floats, Ints, LatticeLaw, Law

_REACH_SDS = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharpening:
    """What one record and both records say about each raw count.

    Attributes
    ----------
    sd_one, sd_both
        Posterior standard deviation of the count from the first value, and from both.
    width_one, width_both
        How many whole numbers the interval at `level` holds.
    level
        The chance with which an interval holds the count.
    """

    sd_one: Floats
    sd_both: Floats
    width_one: Ints
    width_both: Ints
    level: float

    @property
    def gain(self) -> float:
        """How many times sharper both records are than one: the ratio of root mean squares."""
        both = float(np.sqrt(np.mean(self.sd_both**2)))
        one = float(np.sqrt(np.mean(self.sd_one**2)))
        return one / both if both > 0 else np.inf


def sharpen(
    first: ArrayLike, second: ArrayLike, /, *, laws: tuple[Law, Law], level: float = 0.95
) -> Sharpening:
    """Compare what is known of each count from `first` alone with what is known from both values.

    Parameters
    ----------
    first, second
        Two published values of each count.
    laws
        The noise of either value.

    Assumes
    -------
    A flat prior over the whole numbers from 0 on.

    Examples
    --------
    >>> from noisegate.laws import RoundedLaplace
    >>> found = sharpen([88, 33], [86, 32], laws=(RoundedLaplace(1.4), RoundedLaplace(1.4)))
    >>> found.width_one.tolist(), found.width_both.tolist()
    ([9, 9], [5, 6])
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if x.ndim != 1 or x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError("coupled values must be two lists of the same length, none of them missing.")
    if not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1")
    reach = int(np.ceil(_REACH_SDS * max(np.sqrt(law.variance) for law in laws))) + 1
    # Far above zero only the difference of the two values matters.
    key = np.column_stack([np.minimum(x, reach + x % 1), y - x])
    unique, row = np.unique(key, axis=0, return_inverse=True)
    offset = np.arange(-reach, reach + 1)
    low = np.floor(unique[:, :1])
    count = low + offset
    one = _log_chance(laws[0], unique[:, :1] - count)
    one = np.where(count >= 0, one, -np.inf)
    both = one + _log_chance(laws[1], unique[:, :1] + unique[:, 1:] - count)
    both = np.where(np.isfinite(both).any(axis=1, keepdims=True), both, one)
    sd_one, width_one = _summary(one, offset, level)
    sd_both, width_both = _summary(both, offset, level)
    return Sharpening(
        sd_one=sd_one[row],
        sd_both=sd_both[row],
        width_one=width_one[row],
        width_both=width_both[row],
        level=level,
    )


def _log_chance(law: Law, noise: Floats, /) -> Floats:
    if isinstance(law, LatticeLaw):
        return law.logpmf(noise)
    if isinstance(law, ContinuousLaw):
        return law.logpdf(noise)
    raise SpecError(f"{type(law).__name__} has neither probabilities nor a density.")


def _summary(log_weight: Floats, offset: Ints, level: float, /) -> tuple[Floats, Ints]:
    """Standard deviation and number of whole numbers in the equal-tailed interval, row by row."""
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ offset
    sd = np.sqrt(np.maximum(weight @ offset**2 - mean**2, 0.0))
    below = np.cumsum(weight, axis=1)
    low = (below < (1 - level) / 2).sum(axis=1)
    high = (below < (1 + level) / 2 - 1e-12).sum(axis=1)
    return sd, (high - low + 1).astype(np.int64)
