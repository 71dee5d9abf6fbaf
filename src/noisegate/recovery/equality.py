"""Evidence that two series record the same raw counts, not merely similar ones.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special, stats

from noisegate.laws import DiscreteLaplace, Floats, Ints

#: Scales of noise that are tried, spaced by the square root of two.
_SCALES = tuple(0.5 * math.sqrt(2) ** i for i in range(10))
#: The share of moments at which one count may be off by some passengers.
_OFF = 0.03
_DRIFT_SIZE, _GROWTH_SIZE = 1e-4, 1e-4
_LEAST_DRIFT, _LEAST_GROWTH = 0.2, 0.15


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
    """

    log_evidence: float
    moments: int
    unmatched: int
    spread: float
    poisson_spread: float
    doubt: str | None


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
    return Equality(
        log_evidence=float(special.logsumexp(each)) - math.log(len(_SCALES)),
        moments=n,
        unmatched=int(np.sum(lonely > _clearly_above(cut))),
        spread=math.sqrt(float(np.mean(gap**2))) if n else 0.0,
        poisson_spread=math.sqrt(float(np.mean(total))) if n else 0.0,
        doubt=_doubt(gap, total),
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
        return np.log((1 - _OFF) * inside + _OFF / (np.minimum(total, most) + 1))


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
    s = np.rint(total)
    smaller = np.rint((s - away) / 2)
    split = (
        special.gammaln(s + 1)
        - special.gammaln(smaller + 1)
        - special.gammaln(s - smaller + 1)
        - s * math.log(2)
    )
    allowed = 1 - 2 * special.betainc(s - least + 1, float(least), 0.5) if least > 0 else np.ones_like(s)
    split = split - np.log(np.clip(allowed, 1e-12, 1.0))
    wide = away > np.sqrt(total)
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
    growth = stats.spearmanr(np.abs(gap), total, alternative="greater")
    if growth.pvalue < _GROWTH_SIZE and growth.statistic > _LEAST_GROWTH:
        return f"differences grow with the count (rank correlation {growth.statistic:.2f})"
    limit = 4 * float(np.median(np.abs(gap - np.median(gap)))) + 1
    core = gap[np.abs(gap - np.median(gap)) <= limit]
    drift, sd = float(core.mean()), float(core.std())
    z = abs(drift) / max(sd, 1e-9) * math.sqrt(len(core))
    if 2 * special.ndtr(-z) < _DRIFT_SIZE and abs(drift) > _LEAST_DRIFT * sd:
        return f"one side is larger throughout, by {abs(drift):.2f} on average"
    return None
