"""Pairs of series that record the same raw counts at a constant lag: closed services.

All pairs of series at all lags are compared roughly by matrix products, and those that are closer
than two counts could be are weighed by `equality.compare`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import DataError, SpecError
from noisegate.laws import Floats, Ints
from noisegate.recovery.equality import Equality, compare

Singles = NDArray[np.float32]

# A pair is looked at closely when its rough evidence is this share of what is needed. The rough one
# leaves out values near the cut, so it may fall short of the true one.
_ROUGHLY = 1 / 3
_CLOSEST = 0.02
_BLOCK = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CoupledSeries:
    """Two series, by number, that record the same counts, the second `lag` bins later."""

    first: int
    second: int
    lag: int
    needed: float
    equality: Equality


def find_pairs(
    counts: ArrayLike,
    /,
    *,
    cut: float,
    lags: Sequence[int] = tuple(range(9)),
    firsts: ArrayLike | None = None,
    seconds: ArrayLike | None = None,
    false_alarm: float = 0.01,
) -> tuple[CoupledSeries, ...]:
    """Pairs of series that record the same raw counts at a constant lag, strongest evidence first.

    Parameters
    ----------
    counts
        Published values, indexed by series, day and bin; not-a-number where suppressed.
    cut
        The least published value.
    lags
        By how many bins, within a day, the second series may follow the first.
    firsts, seconds
        Numbers of the series that may come first (tap-on) and second (tap-off); all if not given.
    false_alarm
        The chance of reporting anything at all when no two series record the same counts.

    Guarantee
    ---------
    The evidence of a reported pair exceeds (number of pairs and lags compared) / `false_alarm`. A pair
    may still carry a `doubt`: counts that are close, yet not equal.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> raw = rng.poisson(60, size=(3, 7, 40)).astype(float)
    >>> raw[2, :, 2:] = raw[0, :, :-2]
    >>> found = find_pairs(raw + np.rint(rng.laplace(scale=1.4, size=raw.shape)), cut=18)
    >>> [(p.first, p.second, p.lag) for p in found]
    [(0, 2, 2)]
    """
    cube = _cube(counts, lags)
    if not 0 < false_alarm < 1:
        raise SpecError.for_value("false_alarm", found=false_alarm, allowed="between 0 and 1")
    first, second = _numbers(firsts, len(cube)), _numbers(seconds, len(cube))
    needed = math.log(max(_comparisons(first, second, lags), 1) / false_alarm)
    best: dict[tuple[int, int], CoupledSeries] = {}
    for lag in lags:
        for a, b in _close(cube, first, second, lag, cut=cut, needed=needed):
            early, late = _aligned(cube, a, b, lag)
            found = compare(early, late, cut=cut)
            key = (min(a, b), max(a, b))
            beaten = key in best and best[key].equality.log_evidence >= found.log_evidence
            if found.log_evidence > needed and not beaten:
                best[key] = CoupledSeries(first=a, second=b, lag=lag, needed=needed, equality=found)
    return tuple(sorted(best.values(), key=lambda p: -p.equality.log_evidence))


def _close(
    cube: Floats, first: Ints, second: Ints, lag: int, /, *, cut: float, needed: float
) -> Iterator[tuple[int, int]]:
    """Pairs at one lag that are closer than two Poisson counts wherever the first is well above the cut.

    Only the first value decides which moments are looked at, so suppression cannot make two series
    look alike. A suppressed second value is put where it is closest, just below the cut.
    """
    bins = cube.shape[2] - lag
    early, there = _roots(cube[first, :, :bins], cut)
    late, _ = _roots(cube[second, :, lag:], cut)
    late_square = (late**2).T
    for start in range(0, len(first), _BLOCK):
        root, here = early[start : start + _BLOCK], there[start : start + _BLOCK]
        own = here * root
        square = (own * root).sum(axis=1, keepdims=True) - 2 * (own @ late.T) + here @ late_square
        moments = here.sum(axis=1, keepdims=True)
        for i, j in np.argwhere(_rough_evidence(moments, square) > _ROUGHLY * needed):
            a, b = int(first[start + i]), int(second[j])
            if a != b and (lag > 0 or a < b or not _also(a, b, first, second)):
                yield a, b


def _also(a: int, b: int, first: Ints, second: Ints, /) -> bool:
    """Whether the same two series are compared the other way round as well."""
    return bool(np.isin(b, first)) and bool(np.isin(a, second))


def _roots(values: Floats, cut: float, /) -> tuple[Singles, Singles]:
    """Twice the square roots, whose differences have variance 2 for Poisson counts.

    And where, as ones and zeros, the values are well above the cut.
    """
    flat = values.reshape(len(values), -1)
    low = max(cut, 0.0) if math.isfinite(cut) else 0.0
    filled = np.maximum(np.where(np.isnan(flat), low - 1, flat), 0.0)
    high = filled >= max(low + 1.5 * math.sqrt(low), 1.0)
    return (2 * np.sqrt(filled)).astype(np.float32), high.astype(np.float32)


def _rough_evidence(moments: Singles, square: Singles, /) -> Singles:
    """The log-likelihood ratio of the best normal law of differences against one of variance 2."""
    ratio = np.clip(square / np.maximum(2 * moments, 1), _CLOSEST, 1.0)
    return np.asarray(moments / 2 * (ratio - 1 - np.log(ratio)))


def _aligned(cube: Floats, a: int, b: int, lag: int, /) -> tuple[Floats, Floats]:
    bins = cube.shape[2] - lag
    return cube[a, :, :bins].ravel(), cube[b, :, lag:].ravel()


def _comparisons(first: Ints, second: Ints, lags: Sequence[int], /) -> int:
    same = len(np.intersect1d(first, second))
    ordered = len(first) * len(second) - same
    return sum(ordered - (same * (same - 1) // 2 if lag == 0 else 0) for lag in lags)


def _cube(counts: ArrayLike, lags: Sequence[int], /) -> Floats:
    cube = np.asarray(counts, dtype=float)
    if cube.ndim != 3:
        raise DataError(f"counts must be indexed by series, day and bin, found {cube.ndim} dimensions.")
    if np.isinf(cube).any():
        raise DataError("counts must be finite, or not-a-number where suppressed.")
    if any(lag < 0 or lag >= cube.shape[2] for lag in lags):
        raise SpecError.for_value("lags", found=list(lags), allowed=f"from 0 to {cube.shape[2] - 1} bins")
    return cube


def _numbers(chosen: ArrayLike | None, series: int, /) -> Ints:
    if chosen is None:
        return np.arange(series)
    numbers = np.unique(np.asarray(chosen, dtype=np.int64))
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= series):
        raise SpecError.for_value("series numbers", found=f"up to {numbers[-1]}", allowed=f"below {series}")
    return numbers
