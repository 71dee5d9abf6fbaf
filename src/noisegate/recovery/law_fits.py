"""The law of one noise: families of laws beside the residuals, each with its evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import BoundedUniform, LatticeLaw, make_law
from noisegate.recovery.free_law import WIDEST, FreeLaws
from noisegate.recovery.noise_sums import NoiseSums, half_of, mass_information
from noisegate.recovery.stopped_laws import stopped_laws

Floats = NDArray[np.float64]

#: A law that is cut off where less than this is beyond is no rival: no sample of a usual size tells it from the whole law.
_MATTERS = 0.0005
#: Of the weight of laws with a bound, the share of free ones; unbounded laws that are cut off have the rest.
_FREE = 0.6
#: A free law that is behind by so much is not followed to wider bounds.
_HOPELESS = 12.0
#: Bounds that offices choose, and the factor by which these vary.
_USUAL_BOUND, _BOUNDS_VARY = 2.7, 0.5
#: Scales that offices choose for laws without a bound, how fast they grow rarer beyond, in log-scale, and how rare they are at most. Gaussian noise with a
#: standard deviation below 1.3 promises little and is not in use, while p-tables have such spreads, and from sums of three nobody tells the two apart. Where it
#: starts decides. 3,000 sums of three, 100 worlds each with seeds from 30,000 on, called bounded at 1.5 with a slope of 0.08, and at 1.8 with 0.15: Gaussian
#: noise of 1.2 in 36 and 49, of 1.42 in 1 and 6, of 1.5 in 2 and 6; p-tables within ±3 with a spread of 1.17 in 85 and 81, of 1.45 in 18 and 44. Whoever
#: knows that last table to the last digit names it in 24 where Gaussian noise of 1.42 is called bounded in 2.
_SCALES = {"laplace": (0.8, 30.0), "gaussian": (1.5, 30.0)}
_FALLS = {"laplace": 0.18, "gaussian": 0.08}
_RAREST = 4.5
#: Half the width, in log-scale, over which the bend of a likelihood is measured.
_NEAR = 0.02
#: The laws of each unbounded family: rounded after the draw, or drawn among whole numbers. Of Gaussian noise both are the same but for
#: one twelfth in the variance.
_MEMBERS = {"laplace": ("rounded-laplace", "discrete-laplace"), "gaussian": ("discrete-gaussian",)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawFit:
    """One law beside the residuals.

    Attributes
    ----------
    family
        `laplace`, `gaussian`, `uniform`, `bounded`, or `stopped-laplace` and `stopped-gaussian`, which fall off like these and stop.
    law
        The law of the family that fits best, by its name; empty for a free pmf.
    scale
        Scale, standard deviation, or largest value.
    half
        P(0), P(1), ... of one noise.
    log_likelihood
        At the best values of all parameters.
    log_evidence
        The likelihood averaged over what the parameters may be beforehand, by Laplace's method.
    variance
        Of each of P(0), P(1), ...: how far off they may be; empty where the scale alone says so.
    """

    family: str
    law: str
    scale: float
    half: Floats
    log_likelihood: float
    log_evidence: float
    variance: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def sd(self) -> float:
        """The standard deviation of one noise."""
        return math.sqrt(2 * float(np.arange(self.half.size) ** 2 @ self.half))


def fit_laws(free: FreeLaws, /, *, stopped: bool = True) -> list[LawFit]:
    """Every family at its best; with `stopped` laws that fall off like unbounded ones and stop among them."""
    sums = free.sums
    fits = [_of_family(family, sums) for family in _MEMBERS]
    fits.append(_uniform(sums))
    others = [_bounded(free, fits[:2]), *(_stopped(one, sums) for one in fits[: 2 * stopped])]
    return [*fits, *(one for one in others if one is not None)]


def _uniform(sums: NoiseSums, /) -> LawFit:
    """Uniform noise of the likeliest width, with the evidence of all widths."""
    least = max(sums.least_bound, 1)
    laws = {width: half_of(BoundedUniform(float(width))) for width in range(least, least + 25)}
    logs = {width: sums.log_likelihood(law) for width, law in laws.items()}
    weighed = {width: log + _log_bound(width) for width, log in logs.items()}
    width = max(weighed, key=weighed.__getitem__)
    return LawFit(
        family="uniform",
        law="uniform",
        scale=float(width),
        half=laws[width],
        log_likelihood=logs[width],
        log_evidence=float(np.logaddexp.reduce(list(weighed.values()))),
    )


def _bounded(free: FreeLaws, unbounded: Sequence[LawFit], /) -> LawFit | None:
    """Laws with a largest value, free or unbounded ones cut off where that leaves out a mass that matters, as one family."""
    likely = max(unbounded, key=lambda one: one.log_likelihood)
    sums, found = free.sums, list[LawFit]()
    for bound in range(max(sums.least_bound, 1), WIDEST):
        cut_off = float(2 * likely.half[bound + 1 :].sum())
        if found and cut_off < _MATTERS:
            break
        half, log = free.of(bound)
        around = _Around.of(sums, half)
        evidence = log + around.log_volume + _log_bound(bound) + math.log(_FREE)
        found.append(
            LawFit(
                family="bounded",
                law="",
                scale=float(bound),
                half=half,
                log_likelihood=log,
                log_evidence=evidence,
                variance=around.variance,
            )
        )
        found += [_cut_off(one, sums, bound) for one in unbounded]
        if evidence < max(one.log_evidence for one in found) - _HOPELESS:
            break
    return _averaged(found) if found else None


def _cut_off(fit: LawFit, sums: NoiseSums, bound: int, /) -> LawFit:
    """An unbounded law cut off at a bound, at its best scale."""
    grid = fit.scale * np.exp(np.linspace(-0.1, 0.6, 8))
    laws = [half_of(_law(fit.law, float(scale)), most=bound) for scale in grid]
    logs = np.array([sums.log_likelihood(law) for law in laws])
    place = int(np.argmax(logs))
    evidence = _log_integral(fit.family, grid, logs) + _log_bound(bound) + math.log((1 - _FREE) / 2)
    weights = np.exp(logs - logs[place])
    apart = (np.array(laws) - laws[place]) ** 2
    return LawFit(
        family="bounded",
        law="",
        scale=float(bound),
        half=laws[place],
        log_likelihood=float(logs[place]),
        log_evidence=evidence,
        variance=weights @ apart / weights.sum(),
    )


def _stopped(fit: LawFit, sums: NoiseSums, /) -> LawFit | None:
    """Laws that fall off like an unbounded one and stop far out, as one family; None if nothing between what was seen and what matters is left."""
    found = []
    for one in stopped_laws(fit.law, fit.scale, sums):
        width = 0.5 * math.log(2 * math.pi / one.bend)
        usual = float(_log_scale(fit.family, np.array([one.scale]))[0])
        found.append(
            LawFit(
                family=f"stopped-{fit.family}",
                law="",
                scale=float(one.bound),
                half=one.half,
                log_likelihood=one.log_likelihood,
                log_evidence=one.log_likelihood + width + usual + math.log(one.share),
                variance=np.zeros(one.half.size),
            )
        )
    return _averaged(found) if found else None


def _averaged(fits: Sequence[LawFit], /) -> LawFit:
    """The best of these with the evidence of all and the mean of their laws, each by its evidence: sharper than a free law alone."""
    best = max(fits, key=lambda one: one.log_evidence)
    logs = np.array([one.log_evidence for one in fits])
    total = float(np.logaddexp.reduce(logs))
    longest = max(one.half.size for one in fits)
    laws = np.array([np.pad(one.half, (0, longest - one.half.size)) for one in fits])
    within = np.array([np.pad(one.variance, (0, longest - one.half.size)) for one in fits])
    weights = np.exp(logs - total)
    half = weights @ laws
    variance = weights @ (within + (laws - half) ** 2)
    mean = half[: best.half.size] / (half[0] + 2 * half[1 : best.half.size].sum())
    return replace(best, half=mean, log_evidence=total, variance=variance[: best.half.size])


def _log_bound(bound: int, /) -> float:
    """How likely a law of bounded noise has this bound beforehand: offices perturb by two to five, seldom by much more."""
    tried = np.arange(1, WIDEST)
    usual = np.exp(-0.5 * ((np.log(tried) - math.log(_USUAL_BOUND)) / _BOUNDS_VARY) ** 2) / tried
    near = math.exp(-0.5 * ((math.log(bound) - math.log(_USUAL_BOUND)) / _BOUNDS_VARY) ** 2) / bound
    return math.log(0.85 * near / float(usual.sum()) + 0.15 / (bound * (bound + 1)))


def _log_scale(family: str, scale: Floats, /) -> Floats:
    """The density of the log-scale of an unbounded law beforehand: even between two ends, falling off beyond them."""
    low, high = np.log(_SCALES[family])
    falls = _FALLS[family]
    beyond = np.maximum(np.maximum(low - np.log(scale), np.log(scale) - high), 0.0)
    fee = np.minimum(0.5 * (beyond / falls) ** 2, _RAREST)
    return np.asarray(-fee - math.log(high - low + falls * math.sqrt(2 * math.pi)))


def unusual(fit: LawFit, /) -> float:
    """By how many units the scale of an unbounded law is less likely beforehand than a usual one."""
    low, _ = _SCALES[fit.family]
    usual, mine = _log_scale(fit.family, np.array([low, fit.scale]))
    return float(usual - mine)


def _log_integral(family: str, scales: Floats, logs: Floats, /) -> float:
    """The likelihood over an even grid of log-scales, averaged over what the scale may be beforehand.

    Where the peak is narrower than the grid, by the parabola through its top.
    """
    weighed = logs + _log_scale(family, scales)
    step = math.log(scales[1] / scales[0])
    top = int(np.argmax(weighed))
    if 0 < top < len(scales) - 1:
        bend = -(weighed[top - 1] - 2 * weighed[top] + weighed[top + 1]) / step**2
        slope = (weighed[top + 1] - weighed[top - 1]) / (2 * step)
        if bend * step**2 > 1:
            return float(weighed[top] + slope**2 / (2 * bend) + 0.5 * math.log(2 * math.pi / bend))
    return float(np.logaddexp.reduce(weighed) + math.log(step))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Around:
    """How sharply residuals fix a free law around its best, beside what laws with its bound may be beforehand.

    Beforehand it falls from 0 on, and so is a mixture of uniform laws up to 0, 1, 2, ..., whose weights are anything. Laplace's method, with that
    prior as a normal law of the masses at 1, 2, ... from 0: what the residuals leave open costs nothing.

    Attributes
    ----------
    log_volume
        What the likelihood loses when it is averaged over what the law may be beforehand.
    variance
        Of P(0), P(1), ...
    """

    log_volume: float
    variance: Floats

    @classmethod
    def of(cls, sums: NoiseSums, half: Floats, /) -> _Around:
        information, bound = mass_information(sums, half), half.size - 1
        steps = np.arange(bound + 1)
        uniform = np.triu(np.ones((bound + 1, bound + 1)))[1:] * 2 / (2 * steps + 1)
        parts = bound + 1
        weights = (np.eye(parts) - 1 / parts) / (parts * (parts + 1))
        prior = uniform @ weights @ uniform.T
        away = 2 * half[1:] - uniform.mean(axis=1)
        shrunk = np.eye(bound) + information @ prior
        _, size = np.linalg.slogdet(shrunk)
        log_volume = -0.5 * float(size + away @ np.linalg.solve(shrunk, information @ away))
        spread = prior @ np.linalg.inv(shrunk)
        variance = np.concatenate([[spread.sum()], np.diag(spread) / 4])
        return cls(log_volume=log_volume, variance=np.maximum(variance, 0.0))


def _law(name: str, scale: float, /) -> LatticeLaw:
    law = make_law(name, scale=scale)
    assert isinstance(law, LatticeLaw)
    return law


def _of_family(family: str, sums: NoiseSums, /) -> LawFit:
    """The likeliest law of a family with the evidence of all, each as likely as the others beforehand."""
    fits = [_best_scale(family, name, sums) for name in _MEMBERS[family]]
    logs = [one.log_evidence for one in fits]
    best = max(fits, key=lambda one: one.log_evidence)
    return replace(best, log_evidence=float(np.logaddexp.reduce(logs)) - math.log(len(fits)))


def _best_scale(family: str, name: str, sums: NoiseSums, /) -> LawFit:
    """The likeliest scale, by a grid and a golden section."""
    grid = sums.spread * np.exp(np.linspace(-2.0, 1.0, 25))
    logs = [sums.log_likelihood(half_of(_law(name, float(s)))) for s in grid]
    place = int(np.argmax(logs))
    low, high = math.log(grid[max(place - 1, 0)]), math.log(grid[min(place + 1, grid.size - 1)])
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(20):
        left, right = high - golden * (high - low), low + golden * (high - low)
        sides = [sums.log_likelihood(half_of(_law(name, math.exp(one)))) for one in (left, right)]
        low, high = (low, right) if sides[0] > sides[1] else (left, high)
    scale = math.exp((low + high) / 2)
    half = half_of(_law(name, scale))
    around = scale * np.exp(np.array([-_NEAR, 0.0, _NEAR]))
    sides = [sums.log_likelihood(half_of(_law(name, float(one)))) for one in around]
    weighed = np.array(sides) + _log_scale(family, around)
    bend = max(-(weighed[0] - 2 * weighed[1] + weighed[2]) / _NEAR**2, 1.0)
    return LawFit(
        family=family,
        law=name,
        scale=scale,
        half=half,
        log_likelihood=sides[1],
        log_evidence=float(weighed[1] + 0.5 * math.log(2 * math.pi / bend)),
    )
