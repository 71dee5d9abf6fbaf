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

from noisegate.core.laws._law import Floats, Ints
from noisegate.core.recovery.equality import Equality, compare
from noisegate.errors import DataError, SpecError

Singles = NDArray[np.float32]

# A pair is looked at closely when two Poisson counts would be so close with chance 3e-5.
_SIGMAS = 4.0
_FEWEST_MOMENTS = 8
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
        for a, b in _close(cube, first, second, lag, cut):
            early, late = _aligned(cube, a, b, lag)
            found = compare(early, late, cut=cut)
            key = (min(a, b), max(a, b))
            beaten = key in best and best[key].equality.log_evidence >= found.log_evidence
            if found.log_evidence > needed and not beaten:
                best[key] = CoupledSeries(first=a, second=b, lag=lag, needed=needed, equality=found)
    return tuple(sorted(best.values(), key=lambda p: -p.equality.log_evidence))


def _close(cube: Floats, first: Ints, second: Ints, lag: int, cut: float, /) -> Iterator[tuple[int, int]]:
    """Pairs at one lag whose square roots are closer than those of two Poisson counts."""
    bins = cube.shape[2] - lag
    early = _roots(cube[first, :, :bins], cut)
    late = _roots(cube[second, :, lag:], cut)
    for start in range(0, len(first), _BLOCK):
        root, there = early[0][start : start + _BLOCK], early[1][start : start + _BLOCK]
        moments = there @ late[1].T
        square = (root**2) @ late[1].T + there @ (late[0] ** 2).T - 2 * (root @ late[0].T)
        near = (moments >= _FEWEST_MOMENTS) & (square / 2 < _low_quantile(moments))
        for i, j in np.argwhere(near):
            a, b = int(first[start + i]), int(second[j])
            if a != b and (lag > 0 or a < b or not _also(a, b, first, second)):
                yield a, b


def _also(a: int, b: int, first: Ints, second: Ints, /) -> bool:
    """Whether the same two series are compared the other way round as well."""
    return bool(np.isin(b, first)) and bool(np.isin(a, second))


def _roots(values: Floats, cut: float, /) -> tuple[Singles, Singles]:
    """Twice the square roots, whose differences have variance 2 for Poisson counts, and where they are.

    Values near the cut are left out: suppression makes them alike.
    """
    flat = values.reshape(len(values), -1)
    least = cut + 1.5 * math.sqrt(max(cut, 0.0)) if math.isfinite(cut) else 0.0
    there = np.nan_to_num(flat, nan=-1.0) >= max(least, 1.0)
    root = 2 * np.sqrt(np.where(there, flat, 0.0))
    return root.astype(np.float32), there.astype(np.float32)


def _low_quantile(freedom: Singles, /) -> Singles:
    """The lower quantile of chi-square at `_SIGMAS` (Wilson and Hilferty)."""
    n = np.maximum(freedom, 1)
    return np.asarray(n * np.maximum(1 - 2 / (9 * n) - _SIGMAS * np.sqrt(2 / (9 * n)), 0.0) ** 3)


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
