"""How a table on a lattice was rounded, and whether its totals stand as counted: one likelihood of all totals and their parts.

Given what is shown of the parts, their raw counts are as likely as counts nearby are in the table and as their rounding makes them; the
raw total is their sum. Each account of the parts (to the nearest, at random, up, down, noise before rounding) is weighed beside
each account of the totals (rounded likewise, as counted, with noise of their own). What is proven of a count must hold under every account that has weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr

from noisegate.inference import with_means
from noisegate.laws import BoundedUniform, DiscreteGaussian, DiscreteLaplace, LatticeLaw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Totals = Literal["rounded", "exact", "noise"]
_Kind = TypeVar("_Kind", bound=str)

#: Shown values of 0, 1, ... times the base have laws of their own, from the last on one for all.
CLASSES = 6
_STEPS = 8
#: How likely each account of the parts is beforehand; `small-up` shows whatever is not 0 as one base at least. Rounding at random is the custom with base 3
#: and known with base 5. Residuals of a few hundred totals hardly tell little noise before rounding from rounding at random, so that this decides.
_USUAL = {
    "nearest-rounding": 0.68,
    "small-up": 0.05,
    "random-rounding": 0.20,
    "rounding-up": 0.02,
    "rounding-down": 0.03,
    "noise": 0.01,
}
_USUAL_OF = {
    3: {**_USUAL, "nearest-rounding": 0.19, "random-rounding": 0.70, "noise": 0.005},
    5: {**_USUAL, "nearest-rounding": 0.56, "random-rounding": 0.33, "noise": 0.005},
}
#: How far the mean of what rounding took from counts of one small class may be from what the table's own values say, in bases (one standard deviation): a lump of
#: raw counts between two multiples is not seen. Of 144 tables of four laws (two-humped, parties, lognormal, Poisson) 2 are named wrongly, with 90 and 95 %; at half of this 1, with 99 %,
#: at twice none, and 5 more are left open.
_LUMPS = 1 / 6
#: Of so many large counts that vary by a base more than so many values are shown.
_MANY_LARGE, _FEW_VALUES = 40, 3
#: Of at least so many totals, so unlikely by chance are totals that agree too well with their parts.
_FEWEST_EVEN, _EVEN = 10, 1e-4
#: Tilted further than this, only one count is left.
_STEEPEST = 4.0
#: No total tells more about such means than one that is off by so many standard deviations.
_MOST_OFF = 4.0
#: That totals which are no multiples of the base have noise, where their parts were only rounded, and where these have noise.
_NOISY_TOTALS, _BOTH_NOISY = 0.12, 0.6
#: The share of totals that may be off for reasons of their own.
_OFF = 0.002
#: Sums of more parts than the first are left out if so many others are there, and of more than the third, or wider than the fourth, in any case: what is off
#: in the law of one part adds up. So much work is done at once and in all.
_FEW_PARTS, _ENOUGH, _MOST_PARTS, _WIDEST, _AT_ONCE, _MOST_WORK = 12, 40, 50, 20_000, 1 << 20, 1 << 19
_MOST_SUMS, _TINY = 1_600, 1e-300
#: Sums are weighed in stages that end after so many, and accounts that are behind by so many log units are dropped between them.
_STAGE_ENDS, _BEHIND = (40, 240, _MOST_SUMS), 30.0
#: What was weighed is kept for so many families of sums, and so many of them with an account each.
_FAMILIES, _KEPT = 256, 8_192


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundedSums:
    """Totals beside the parts that are shown.

    Attributes
    ----------
    residual
        Each total minus its parts as shown.
    classes
        How many parts are shown as 0, 1, ... times the base; (n, CLASSES).
    rounded_parts
        Whether parts are on the lattice; otherwise they are what they are.
    lattice_totals
        Whether all totals are multiples of the base.
    often
        How often 0, 1, ... times the base are shown in the table of the parts, from the last on together; all 0 if parts are large.
    few_values
        Whether large parts show so few values that their remainders cannot be spread evenly.
    """

    residual: Ints
    classes: Ints
    rounded_parts: bool
    lattice_totals: bool
    often: Ints = field(default_factory=lambda: np.zeros(_STEPS, np.int64))
    few_values: bool = False

    @classmethod
    def of_large(cls, residual: Ints, parts: Ints, /) -> RoundedSums:
        """Of multiples of the base that are all large, so many in each sum."""
        classes = np.zeros((residual.size, CLASSES), np.int64)
        classes[:, -1] = parts
        return cls(residual=residual, classes=classes, rounded_parts=True, lattice_totals=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundingWeights:
    """How likely each account is.

    Attributes
    ----------
    parts
        Of how the table was rounded.
    totals
        Of each group of sums: whether totals are rounded likewise, as counted, or have noise of their own.
    n
        How many sums tell.
    """

    parts: Mapping[str, float]
    totals: tuple[Mapping[Totals, float], ...]
    n: int


def how_often(values: NDArray[np.generic], base: int, /) -> Ints:
    """How often 0, 1, ... times the base are among the values, from the last on together."""
    steps = np.minimum(np.abs(np.asarray(values, np.float64)) // base, _STEPS - 1).astype(np.int64)
    return np.bincount(steps, minlength=_STEPS).astype(np.int64)


def has_few_values(values: NDArray[np.generic], base: int, /) -> bool:
    """Whether many values are large and show hardly any that differ: counts that hardly vary have one remainder each, and spread tells nothing of their rounding."""
    large = np.abs(np.asarray(values, np.float64)) // base
    large = large[large >= CLASSES - 1]
    return large.size >= _MANY_LARGE and np.unique(large).size <= _FEW_VALUES


def weigh_rounding(base: int, sums: Sequence[RoundedSums], /) -> RoundingWeights:
    """The probability of each account of a table whose values are multiples of the base, and of totals.

    Some sums are weighed first: an account that falls behind by far is not weighed further. One that is true falls that far behind
    another in one of e**_BEHIND samples at most, whatever the sample.
    """
    found = [_usable(one, base) for one in sums]
    usual = _USUAL_OF.get(base, _USUAL)
    accounts = _accounts(base)
    before = np.array([math.log(usual[name] * share) for name, share, _ in accounts])
    tried: list[list[dict[Totals, float]]] = [[] for _ in accounts]
    whole, left = before.copy(), np.arange(len(accounts))
    for stage in range(len(_STAGE_ENDS)):
        for place in left.tolist():
            tried[place] = [_of_totals(one, base, place, stage) for one in found]
            whole[place] = before[place] + sum(map(_together, tried[place]))
        left = left[whole[left] > whole[left].max() - _BEHIND]
    if any(one.few_values for one in found) or _too_even(found, base, int(left[whole[left].argmax()])):
        return RoundingWeights(
            parts=dict(sorted(usual.items(), key=lambda one: -one[1])),
            totals=tuple({} for _ in found),
            n=sum(one.residual.size for one in found),
        )
    logs: dict[str, list[float]] = {name: [whole[left].max() - _BEHIND] for name, _, _ in accounts}
    by_totals: list[dict[Totals, list[float]]] = [{} for _ in found]
    for place in left.tolist():
        logs[accounts[place][0]].append(float(whole[place]))
        for mine, one in zip(by_totals, tried[place], strict=True):
            for kind, log in one.items():
                mine.setdefault(kind, []).append(float(whole[place]) - _together(one) + log)
    return RoundingWeights(
        parts=_chances(logs),
        totals=tuple(map(_chances, by_totals)),
        n=sum(one.residual.size for one in found),
    )


def _too_even(sums: Sequence[RoundedSums], base: int, place: int, /) -> bool:
    """Whether totals are far nearer to their parts than the likeliest account makes them: counts that hardly vary have few remainders, and no account is told by spread."""
    squares, free = 0.0, 0
    for one in sums:
        if one.rounded_parts and one.residual.size:
            laws, _ = _fitted_laws(one, base, place)
            mean, variance = (np.array(side) for side in zip(*map(_moments, laws), strict=True))
            spread = np.maximum(one.classes @ variance, 1.0)
            squares += float(((one.residual - one.classes @ mean) ** 2 / spread).sum())
            free += max(one.residual.size - int(one.classes.any(axis=0).sum()), 0)
    return free >= _FEWEST_EVEN and float(chdtr(free, squares)) < _EVEN


def _together(logs: Mapping[Totals, float], /) -> float:
    return float(np.logaddexp.reduce(list(logs.values()))) if logs else 0.0


def _chances(logs: Mapping[_Kind, Sequence[float]], /) -> dict[_Kind, float]:
    """From log-probabilities of all that has a name, the likeliest name first."""
    joint = {name: float(np.logaddexp.reduce(list(several))) for name, several in logs.items()}
    total = float(np.logaddexp.reduce(list(joint.values()))) if joint else 0.0
    return dict(
        sorted(((name, math.exp(log - total)) for name, log in joint.items()), key=lambda one: -one[1])
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shows:
    """P(shown - raw = e), for e from -far to far, of counts that are not small; and whether counts above 0 are shown as one base at least."""

    chances: Floats
    small_up: bool = False

    @property
    def far(self) -> int:
        return self.chances.size // 2


@lru_cache(maxsize=64)
def _accounts(base: int, /) -> tuple[tuple[str, float, _Shows], ...]:
    """Every account of the parts: its name, its share among those of the name, and what it shows."""
    return tuple(_each_account(base))


def _each_account(base: int, /) -> Iterator[tuple[str, float, _Shows]]:
    away = np.arange(-base, base + 1)
    near = (2 * np.abs(away) < base) + 0.5 * (2 * np.abs(away) == base)
    yield "nearest-rounding", 1.0, _Shows(near)
    yield "small-up", 1.0, _Shows(near, small_up=True)
    yield "random-rounding", 1.0, _Shows(1 - np.abs(away) / base)
    yield "rounding-up", 1.0, _Shows(((away >= 0) & (away < base)).astype(float))
    yield "rounding-down", 1.0, _Shows(((away <= 0) & (away > -base)).astype(float))
    spreads = [max(1.0, base / 8) * 2**step for step in range(5)]
    laws = [law for sd in spreads for law in (DiscreteGaussian(sd), DiscreteLaplace(sd / math.sqrt(2)))]
    for law in laws:
        yield "noise", 1 / len(laws), _Shows(np.convolve(_pmf(law), near))


def _pmf(law: LatticeLaw, /) -> Floats:
    far = law.reach(20.0)
    found = np.exp(law.logpmf(np.arange(-far, far + 1)))
    return np.asarray(found / found.sum())


@lru_cache(maxsize=256)
def _part_laws(base: int, place: int, how_often: tuple[int, ...], /) -> list[Floats]:
    """For each class of shown values the law of raw - shown, from -far to far."""
    shows, often = _accounts(base)[place][2], np.array(how_often)
    away = np.arange(-shows.far, shows.far + 1)
    found = []
    for step in range(CLASSES):
        value = step * base
        raw = value + away
        chances = shows.chances[::-1].copy()
        if shows.small_up:
            small = (raw >= 1) & (2 * raw < 3 * base)
            chances = np.where(small, float(step == 1), np.where(raw == 0, float(step == 0), chances))
        if step < CLASSES - 1 and often.any():
            chances = chances * _density(raw, often, base)
            if step == 0:
                chances = _with_empty(chances, raw, int(often[0]))
        total = chances.sum()
        found.append(chances / total if total > 0 else np.eye(1, raw.size, shows.far).ravel())
    return found


def _density(raw: Ints, often: Ints, base: int, /) -> Floats:
    """How often raw counts are about these, from how often multiples of the base are shown: log-linear between them."""
    logs = np.log((often + 0.5) / base)
    slope = float(np.clip(logs[2] - logs[1], -3.0, 3.0))
    place = raw / base
    inner = np.interp(place, np.arange(1, 7), logs[1:7])
    return np.where(raw < 0, 0.0, np.exp(np.where(place < 1, logs[1] - slope * (1 - place), inner)))


def _with_empty(chances: Floats, raw: Ints, shown: int, /) -> Floats:
    """With as many counts of 0 as are shown as 0 beyond what small counts explain."""
    others = float(chances[raw != 0].sum())
    return np.where(raw == 0, np.maximum(chances, shown - others), chances)


@lru_cache(maxsize=_FAMILIES)
def _usable(sums: RoundedSums, base: int, /) -> RoundedSums:
    """Those of few parts, as many as are worth the work."""
    parts = sums.classes.sum(axis=1)
    most_parts = _FEW_PARTS if (parts <= _FEW_PARTS).sum() >= _ENOUGH else _MOST_PARTS
    keep = np.flatnonzero((parts <= most_parts) & (parts * base <= _WIDEST))
    if keep.size:
        most = max(_MOST_WORK // _length(base, int(parts[keep].max()), sums.residual[keep]), 20)
        most = min(most, _MOST_SUMS)
        keep = keep[:: -(-keep.size // most)]
    return replace(sums, residual=sums.residual[keep], classes=sums.classes[keep])


def _of_totals(sums: RoundedSums, base: int, place: int, stage: int, /) -> dict[Totals, float]:
    """The log-likelihood of the residuals up to a stage under each account of the totals, with how likely that is beforehand."""
    if not sums.residual.size:
        return {}
    name, _, shows = _accounts(base)[place]
    logs = _logs_to(sums, base, place, stage)
    found: dict[Totals, list[float]] = {}
    for (kind, share, _), log in zip(_total_laws(sums, name, shows), logs, strict=True):
        found.setdefault(kind, []).append(math.log(share) + log)
    return {kind: float(np.logaddexp.reduce(several)) for kind, several in found.items()}


def _total_laws(sums: RoundedSums, name: str, shows: _Shows, /) -> list[tuple[Totals, float, Floats]]:
    """The accounts of the totals where the parts have one: its name, how likely it is beforehand, and the law of what is added."""
    if not sums.rounded_parts:
        return [("rounded", 1.0, shows.chances)]
    noisy = _BOTH_NOISY if name == "noise" else _NOISY_TOTALS
    if sums.lattice_totals:
        return [("rounded", 1.0, shows.chances), ("exact", 1 - noisy, np.ones(1))]
    return [("exact", 1 - noisy, np.ones(1)), *(("noise", noisy / len(_NOISES), one) for one in _NOISES)]


@lru_cache(maxsize=_KEPT)
def _logs_to(sums: RoundedSums, base: int, place: int, stage: int, /) -> Floats:
    """The log-likelihood of the residuals up to a stage, for each law of the totals; a sum between two tables is weighed once for both."""
    every = np.arange(sums.residual.size)
    begin, end = (0 if stage == 0 else _STAGE_ENDS[stage - 1]), _STAGE_ENDS[stage]
    mine = every[_in_turn(every.size)[begin:end]]
    name, _, shows = _accounts(base)[place]
    added = [law for _, _, law in _total_laws(sums, name, shows)]
    laws, fee = _fitted_laws(sums, base, place)
    earlier = _logs_to(sums, base, place, stage - 1) if stage else np.full(len(added), fee)
    if not mine.size:
        return earlier
    largest = float(np.abs(sums.residual).max())
    some = replace(sums, residual=sums.residual[mine], classes=sums.classes[mine])
    return earlier + _log_likelihoods(some, laws, added, largest=largest)


@lru_cache(maxsize=_KEPT)
def _fitted_laws(sums: RoundedSums, base: int, place: int, /) -> tuple[list[Floats], float]:
    """The laws of parts with the means that the sums tell of small counts, and the log of what so much freedom costs.

    What is shown hardly tells how raw counts lie between two multiples of the base, and a mean that is off by a little in each part is off by much in a sum: without
    this the account with the nearer mean wins, whatever the spread says. Gaussian, around what the table's own values say.
    """
    if not sums.rounded_parts:
        return [np.ones(1)] * CLASSES, 0.0
    laws = _part_laws(base, place, tuple(sums.often.tolist()))
    mean, variance = (np.array(side) for side in zip(*map(_moments, laws), strict=True))
    name, _, shows = _accounts(base)[place]
    own = next(_moments(law / law.sum()) for _, _, law in _total_laws(sums, name, shows))
    free = np.flatnonzero((variance[:-1] > 0) & sums.classes[:, :-1].any(axis=0))
    if not free.size or not sums.often.any():
        return laws, 0.0
    spread = np.sqrt(np.maximum(sums.classes @ variance + own[1], variance.max()))
    off = (sums.residual - sums.classes @ mean - own[0]) / spread
    parts = sums.classes[:, free] / spread[:, None] * (_LUMPS * base)
    told = np.eye(free.size) + parts.T @ parts
    shift = np.linalg.solve(told, parts.T @ np.clip(off, -_MOST_OFF, _MOST_OFF))
    fee = -0.5 * float(shift @ shift) - 0.5 * float(np.linalg.slogdet(told)[1])
    moved, by = list(laws), shift * _LUMPS * base
    some = np.array([laws[which] for which in free])
    away = np.arange(some.shape[1]) - some.shape[1] // 2
    tilted = with_means(np.log(some + _TINY), away, mean[free] + by, steepest=_STEEPEST)
    for which, law in zip(free.tolist(), np.exp(tilted), strict=True):
        moved[which] = law
    return moved, fee


def _moments(law: Floats, /) -> tuple[float, float]:
    """Mean and variance of a law that is centred on 0."""
    away = np.arange(law.size) - law.size // 2
    mean = float(away @ law)
    return mean, float((away - mean) ** 2 @ law)


@lru_cache(maxsize=64)
def _in_turn(size: int, /) -> Ints:
    """All places in an order whose beginning is spread over them: neighbours are much alike."""
    return np.random.default_rng(size).permutation(size)


def _noises() -> list[Floats]:
    """Laws of noise that totals may have."""
    spreads = [0.5 * math.sqrt(2.0) ** step for step in range(10)]
    laws: list[LatticeLaw] = [
        law for sd in spreads for law in (DiscreteGaussian(sd), DiscreteLaplace(sd / math.sqrt(2)))
    ]
    return [_pmf(law) for law in (*laws, *(BoundedUniform(float(width)) for width in range(1, 8)))]


_NOISES = _noises()


def _log_likelihoods(
    sums: RoundedSums, laws: Sequence[Floats], totals: Sequence[Floats], /, *, largest: float
) -> Floats:
    """Of residuals up to the `largest` that are sums of parts' laws and one law of the total, for each of the latter."""
    rows, which = np.unique(sums.classes, axis=0, return_inverse=True)
    variance = max(float(((np.arange(law.size) - law.size // 2) ** 2 * law).sum()) for law in laws)
    spread = math.sqrt(variance * int(rows.sum(axis=1).max()))
    far = max(law.size // 2 for law in totals)
    width = max(2 * far, *(law.size for law in laws))
    length = 1 << int(2 * max(10 * spread, largest) + 4 * width).bit_length()
    # Whole powers of a number are the same by any branch of its logarithm.
    spectra = np.log(np.array([_spectrum(law, length) for law in laws]) + _TINY)
    after = np.array([np.pad(law, far - law.size // 2) for law in totals])
    wide = _OFF / (8 * width + 4 * largest)
    found = np.zeros(len(totals))
    at_once = max(_AT_ONCE // length, 1)
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        product = np.exp(some @ spectra)
        chances = np.fft.irfft(product, length, axis=1)
        here = np.flatnonzero((which.ravel() >= start) & (which.ravel() < start + len(some)))
        around = (sums.residual[here][:, None] - np.arange(-far, far + 1)[None, :]) % length
        at = chances[(which.ravel()[here] - start)[:, None], around] @ after.T
        found += np.log((1 - _OFF) * np.maximum(at, 0.0) + wide).sum(axis=0)
    return found


def _spectrum(law: Floats, length: int, /) -> NDArray[np.complex128]:
    """Of a law that is centred on 0."""
    around = np.zeros(length)
    np.add.at(around, np.arange(-(law.size // 2), law.size - law.size // 2) % length, law)
    return np.asarray(np.fft.rfft(around))


def _length(base: int, parts: int, residual: Ints, /) -> int:
    return (
        1
        << int(
            2 * max(10 * base * math.sqrt(parts), float(np.abs(residual).max(initial=0))) + 8 * base
        ).bit_length()
    )
