"""Pairs of series that record the same raw counts, and the evidence that they do.

Take two values x and y of one moment, with sum s and difference r. If they are counts of different
events, however alike their intensities, they differ at least like Poisson counts: given s, the
difference is that of a fair binomial split of s, or wider. If they are one count with two noises, r
follows the law of the noise and does not care how large s is. The evidence is the likelihood ratio

    Π P(r | one count, noise of scale b) / P(r | s, two counts),   averaged over a range of b.

Its expectation is at most one whenever the counts are different, so by Markov's inequality it exceeds
N/α with chance at most α/N: dividing α by the number N of comparisons keeps false alarms below α, with
no approximation for extremes. Three details keep that true.

* Suppression squeezes differences near the cut: both values are at least t, so |r| <= s - 2t. Both
  laws are conditioned on that.
* Different counts may vary more than Poisson ones. Beyond one standard deviation the two-counts
  probability is that of the normal law whose variance suits r best, so extra spread never helps.
* A large value whose partner is suppressed speaks against equality and is counted in full.

That two series are closer than different counts does not make them equal. With a share s of common events the variance of r
grows with the count c like 2 (1 - s) c. So equality is weighed once more, against a share of 96 %: same noise, and a variance
that grows so. "Published twice" needs evidence against that, and a test that would have found such a share in nine worlds of
ten (`told`); evidence for it is a `doubt`.

All pairs of series at all lags are compared roughly by matrix products, and those that are closer
than two counts could be are weighed by `equality.compare`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from noisegate.errors import DataError, SpecError
from noisegate.laws import DiscreteLaplace, Floats, Ints
from noisegate.recovery.ranks import rank_correlation

#: Scales of noise that are tried, spaced by the square root of two.
_SCALES = tuple(0.5 * math.sqrt(2) ** i for i in range(10))
#: The share of moments at which one count may be off by some passengers.
_OFF = 0.03
_DRIFT_SIZE, _GROWTH_SIZE = 1e-4, 1e-4
_LEAST_DRIFT, _LEAST_GROWTH = 0.2, 0.15
#: The share of common events that must be told from equality, with which log-odds, and how likely it must be found.
_SHARED, _ODDS, _POWER = 0.96, 4.0, 0.9
_TRIALS, _MOST_MOMENTS, _POWER_MOMENTS = 100, 4_000, 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Equality:
    """How two series compare.

    Attributes
    ----------
    log_evidence
        Log of the likelihood ratio of one count against two; natural logarithm.
    moments
        At how many moments both are published.
    unmatched
        At how many a clearly larger value has a suppressed partner.
    spread
        Root mean square difference.
    poisson_spread
        What it would be at least for two different counts.
    doubt
        Why the counts may be close but not equal; None if nothing speaks against it.
    log_odds
        Of equal counts against series that share 96 % of their events.
    power
        The chance that such series would have been told from equal ones.
    """

    log_evidence: float
    moments: int
    unmatched: int
    spread: float
    poisson_spread: float
    doubt: str | None
    log_odds: float = 0.0
    power: float = 0.0

    @property
    def told(self) -> bool:
        """Whether equal counts are told from series that share 96 % of their events."""
        return self.doubt is None and self.log_odds >= _ODDS and self.power >= _POWER


def compare(first: Floats, second: Floats, /, *, cut: float) -> Equality:
    """Weigh the evidence that two series, not-a-number where suppressed, record the same counts."""
    both = ~np.isnan(first) & ~np.isnan(second)
    alone = np.isnan(first) != np.isnan(second)
    lonely = np.fmax(first[alone], second[alone])
    total, gap = (first + second)[both], (second - first)[both]
    away = np.abs(np.rint(gap)).astype(np.int64)
    least = math.ceil(cut) if math.isfinite(cut) else 0
    most = np.maximum(np.rint(total).astype(np.int64) - 2 * least, away)
    log_two = _log_two_counts(away, total, least=least)
    each = [
        float(np.sum(_noise(b).log_chance(away, most, total) - log_two))
        + float(np.sum(_log_unmatched(lonely, cut=cut, noise=_noise(b))))
        for b in _SCALES
    ]
    n = len(gap)
    doubt, odds, power = _doubt(gap, total), 0.0, 0.0
    if doubt is None:
        odds, power = against_sharing(gap, total / 2)
        if odds <= -_ODDS:
            doubt = f"differences grow with the count, as they do if about {_SHARED:.0%} of the events are the same"
    return Equality(
        log_evidence=float(special.logsumexp(each)) - math.log(len(_SCALES)),
        moments=n,
        unmatched=int(np.sum(lonely > _clearly_above(cut))),
        spread=math.sqrt(float(np.mean(gap**2))) if n else 0.0,
        poisson_spread=math.sqrt(float(np.mean(total))) if n else 0.0,
        doubt=doubt,
        log_odds=odds,
        power=power,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """The difference r of two noises of one scale, given whether it is odd or even.

    `near[k]` is P(|r| = k, one sign), `within[k]` is P(|r| <= k), both given the parity of k, and
    `beyond[k]` is P(r > k), for k up to where nothing is left.
    """

    near: Floats
    within: Floats
    beyond: Floats

    def log_chance(self, away: Ints, most: Ints, total: Floats, /) -> Floats:
        """log P(|r| = away, one sign) given that |r| <= most, with some moments off."""
        last = len(self.near) - 1
        inside = np.where(away <= last, self.near[np.minimum(away, last)], 0.0)
        inside = inside / self.within[np.where(most > last, last - (most - last) % 2, most)]
        return np.log((1 - _OFF) * inside + _OFF / (np.clip(total, 0, most) + 1))


@cache
def _noise(scale: float, /) -> _Noise:
    law = DiscreteLaplace(scale).sum_of(2)
    reach = 2 * math.ceil(30 * scale)
    mass = np.exp(law.logpmf(np.arange(reach + 1)))
    both = np.where(np.arange(reach + 1) == 0, 1.0, 2.0) * mass
    within = np.empty(reach + 1)
    for parity in (0, 1):
        within[parity::2] = np.cumsum(both[parity::2])
    total = np.where(
        np.arange(reach + 1) % 2 == 0, within[reach - reach % 2], within[reach - (reach + 1) % 2]
    )
    return _Noise(near=mass / total, within=within / total, beyond=np.exp(law.logsf(np.arange(reach + 1))))


def _log_two_counts(away: Ints, total: Floats, /, *, least: int) -> Floats:
    """log P(|r| = away | s) for two counts, as likely as two counts can make it."""
    # Noise takes values below zero where all are shown; counts that differ by so much add up to it at least.
    s = np.maximum(np.rint(total), away)
    smaller = np.rint((s - away) / 2)
    split = (
        special.gammaln(s + 1)
        - special.gammaln(smaller + 1)
        - special.gammaln(s - smaller + 1)
        - s * math.log(2)
    )
    allowed = 1 - 2 * special.betainc(s - least + 1, float(least), 0.5) if least > 0 else np.ones_like(s)
    split = split - np.log(np.clip(allowed, 1e-12, 1.0))
    wide = away > np.sqrt(s)
    spread_out = math.log(2) - 0.5 * math.log(2 * math.pi * math.e) - np.log(np.where(wide, away, 1.0))
    return np.asarray(np.where(wide, np.maximum(split, spread_out), split))


def _log_unmatched(value: Floats, /, *, cut: float, noise: _Noise) -> Floats:
    """log of the chance, if equal, that the partner of a value clearly above the cut was suppressed."""
    clear = value[value > _clearly_above(cut)] - cut
    place = np.minimum(np.floor(clear).astype(np.int64), len(noise.beyond) - 1)
    return np.log((1 - _OFF) * noise.beyond[place] + _OFF)


def _clearly_above(cut: float, /) -> float:
    return cut + 3 * math.sqrt(max(cut, 1.0)) if math.isfinite(cut) else math.inf


def _doubt(gap: Floats, total: Floats, /) -> str | None:
    """Why two close series may still not be equal counts."""
    if len(gap) < 12 or np.ptp(gap) == 0 or np.ptp(total) == 0:
        return None
    growth = rank_correlation(np.abs(gap), total)
    if growth.above < _GROWTH_SIZE and growth.value > _LEAST_GROWTH:
        return f"differences grow with the count (rank correlation {growth.value:.2f})"
    limit = 4 * float(np.median(np.abs(gap - np.median(gap)))) + 1
    core = gap[np.abs(gap - np.median(gap)) <= limit]
    drift, sd = float(core.mean()), float(core.std())
    z = abs(drift) / max(sd, 1e-9) * math.sqrt(len(core))
    if 2 * special.ndtr(-z) < _DRIFT_SIZE and abs(drift) > _LEAST_DRIFT * sd:
        return f"one side is larger throughout, by {abs(drift):.2f} on average"
    return None


def against_sharing(gap: Floats, count: Floats, /, *, share: float = _SHARED) -> tuple[float, float]:
    """The log-odds of equal counts against a `share` of common events, and the chance that such would have been found.

    Parameters
    ----------
    gap, count
        Differences, and the mean of the two values at each moment.
    """
    if len(gap) < 3:
        return 0.0, 0.0
    rng = np.random.default_rng(len(gap))
    chosen = rng.permutation(len(gap))[:_MOST_MOMENTS]
    gap, count = gap[chosen], np.maximum(count[chosen], 0.0)
    grown = (1 - share) * count / 2
    scale = max(float(np.sqrt(np.mean(np.minimum(gap**2, 9 * np.median(gap**2) + 9))) / 2), 0.3)
    grid = scale * np.exp(np.linspace(-2.5, 0.7, 33))
    plain, shared = _profile(gap[None], grid, 0 * grown), _profile(gap[None], grid, grown)
    noise = float(grid[int(np.argmax(shared[0]))])
    odds = float(plain.max() - shared.max())
    gap, count, grown = gap[:_POWER_MOMENTS], count[:_POWER_MOMENTS], grown[:_POWER_MOMENTS]
    drawn = np.rint(
        rng.laplace(scale=noise, size=(2, _TRIALS, len(gap))).sum(axis=0)
        + rng.normal(size=(_TRIALS, len(gap))) * np.sqrt(2 * (1 - share) * count)
    )
    found = _profile(drawn, grid, grown).max(axis=1) - _profile(drawn, grid, 0 * grown).max(axis=1)
    return odds, float(np.mean(found > 0))


def _profile(gaps: Floats, grid: Floats, grown: Floats, /) -> Floats:
    """The log-likelihood of each row of differences for each scale of noise, where variances grow by four times `grown`."""
    found = np.empty((len(gaps), len(grid)))
    wide = _OFF / (2 * np.abs(gaps).max(axis=1, keepdims=True) + 1)
    for place, scale in enumerate(grid.tolist()):
        width = np.sqrt(scale**2 + 1 / 24 + grown)
        u = np.abs(gaps) / width
        found[:, place] = np.log((1 - _OFF) * (1 + u) * np.exp(-u) / (4 * width) + wide).sum(axis=1)
    return found


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
    copies = _Copies.of(cube, first, second)
    best: dict[tuple[int, int], CoupledSeries] = {}
    for lag in lags:
        for a, b in _close(cube, copies.only(first), copies.only(second), lag, cut=cut, needed=needed):
            early, late = _aligned(cube, a, b, lag)
            found = compare(early, late, cut=cut)
            key = (min(a, b), max(a, b))
            beaten = key in best and best[key].equality.log_evidence >= found.log_evidence
            if found.log_evidence > needed and not beaten:
                best[key] = CoupledSeries(first=a, second=b, lag=lag, needed=needed, equality=found)
    found_pairs = sorted(best.values(), key=lambda p: -p.equality.log_evidence)
    more = copies.paired(cube, found_pairs, cut=cut, needed=needed) if 0 in lags else ()
    return tuple(sorted([*found_pairs, *more], key=lambda p: -p.equality.log_evidence))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Copies:
    """Series that are the same value by value: one of them stands for all, or n of them would make n² pairs.

    `of_series` is, for each series, the number of the one that stands for it: its own for all others. A copy may come
    first and second just where the one that stands for it may.
    """

    of_series: Ints
    both_ways: NDArray[np.bool_]

    @classmethod
    def of(cls, cube: Floats, first: Ints, second: Ints, /) -> Self:
        number = np.arange(len(cube))
        leads, follows = np.isin(number, first), np.isin(number, second)
        seen: dict[tuple[bytes, bool, bool], int] = {}
        stands = [
            seen.setdefault((cube[i].tobytes(), bool(leads[i]), bool(follows[i])), i) for i in number.tolist()
        ]
        return cls(of_series=np.asarray(stands, dtype=np.int64), both_ways=leads & follows)

    def only(self, numbers: Ints, /) -> Ints:
        return np.asarray(numbers[self.of_series[numbers] == numbers])

    def paired(
        self, cube: Floats, found: Sequence[CoupledSeries], /, *, cut: float, needed: float
    ) -> Iterator[CoupledSeries]:
        """Each copy with the one that stands for it; with that one's best partner where they cannot be a pair."""
        partners: dict[int, CoupledSeries] = {}
        for pair in found:
            partners.setdefault(pair.first, pair)
            partners.setdefault(pair.second, pair)
        alone: dict[int, Equality] = {}
        for copy in np.flatnonzero(self.of_series != np.arange(len(cube))).tolist():
            one = int(self.of_series[copy])
            if self.both_ways[one]:
                if one not in alone:
                    alone[one] = compare(*_aligned(cube, one, one, 0), cut=cut)
                if alone[one].log_evidence > needed:
                    yield CoupledSeries(first=one, second=copy, lag=0, needed=needed, equality=alone[one])
            elif one in partners:
                pair = partners[one]
                yield replace(pair, first=copy) if pair.first == one else replace(pair, second=copy)


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
