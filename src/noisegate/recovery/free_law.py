"""Laws of noise that assume no family: a free symmetric pmf up to a bound, and how far out bounded laws are excluded.

No finite sample proves that a law is unbounded. What it can do is exclude every bounded law up to some D*: truncated, uniform or
free ones. An epsilon that is worked out for an unbounded law is conditional on it, and D* with the mass that the unbounded law
has beyond it says how strong that condition is (MATH 8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import BoundedUniform, LatticeLaw, make_law

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A law is excluded when it loses by so many units of log-likelihood.
LOSES = 3.0
_ITERATIONS, _SETTLED, _NEVER = 400, 0.02, 1e-13
#: Identities with more noises than this say little about the law of one.
_MOST_NOISES = 24
#: A bounded law is looked for up to this bound.
_WIDEST = 60
#: What is off for other reasons can be off by this much at least.
_FAR = 40
#: A law that is cut off where less than this is beyond is no rival: no sample of a usual size tells it from the whole law.
_MATTERS = 0.0005
#: Of the weight of laws with a bound, the share of free ones; unbounded laws that are cut off have the rest.
_FREE = 0.6
#: A free law that is behind by so much is not followed to wider bounds.
_HOPELESS = 12.0
#: Bounds that offices choose, and the factor by which these vary.
_USUAL_BOUND, _BOUNDS_VARY = 2.7, 0.5
#: Scales that offices choose for laws without a bound, and how fast they grow rarer beyond, in log-scale. Gaussian noise with a standard
#: deviation of one or less promises next to nothing, and is hardly used.
_SCALES = {"laplace": (0.7, 50.0), "gaussian": (1.6, 100.0)}
_FALLS = 0.18
#: Half the width, in log-scale, over which the bend of a likelihood is measured.
_NEAR = 0.02
#: The laws of each unbounded family: rounded after the draw, or drawn among whole numbers. Of Gaussian noise both are the same but for
#: one twelfth in the variance.
_MEMBERS = {"laplace": ("rounded-laplace", "discrete-laplace"), "gaussian": ("discrete-gaussian",)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseSums:
    """Residuals, each a sum of several independent noises of one symmetric law.

    Attributes
    ----------
    groups
        For each number of noises, the residuals (by distance from 0) and how often each occurs.
    n
        How many residuals.
    off
        Whether a few may be off for other reasons, as pairs of counts can that do not hold quite the same people.
    """

    groups: tuple[tuple[int, Ints, Ints], ...]
    n: int
    off: bool = False

    @classmethod
    def of(cls, residual: Ints, noises: Ints, /, *, off: bool = False) -> NoiseSums:
        """From residuals and the number of noises in each; those with very many are left out."""
        most = max(_MOST_NOISES, int(noises.min()) if noises.size else 0)
        few = (noises >= 1) & (noises <= most)
        groups = []
        for number in np.unique(noises[few]).tolist():
            values, counts = np.unique(np.abs(residual[few & (noises == number)]), return_counts=True)
            groups.append((int(number), values.astype(np.int64), counts.astype(np.int64)))
        return cls(groups=tuple(groups), n=int(few.sum()), off=off)

    @property
    def widest(self) -> int:
        """The residual that is furthest out."""
        return max((int(values.max(initial=0)) for _, values, _ in self.groups), default=0)

    def log_likelihood(self, half: Floats, /) -> float:
        """Of a symmetric law with P(k) = half[|k|]; where some may be off, at the best share of those."""
        chances = []
        for number, values, counts in self.groups:
            law = _summed(half, number)
            inside = values < law.size
            found = np.where(inside, law[np.where(inside, values, 0)], 0.0)
            chances.append((np.maximum(found, _NEVER), values, counts))
        if not self.off:
            return float(sum(counts @ np.log(found) for found, _, counts in chances))
        wide = 1.0 / (2 * max(2 * self.widest, _FAR) + 1)
        shares = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
        return max(
            float(sum(counts @ np.log((1 - s) * found + s * wide) for found, _, counts in chances))
            for s in shares
        )


def _summed(half: Floats, number: int, /) -> Floats:
    """P(sum = k) for k = 0, 1, ... of a sum of `number` draws."""
    whole = np.concatenate([half[:0:-1], half])
    if number == 1:
        return half
    if number == 2 and half.size <= 400:
        return np.maximum(np.convolve(whole, whole)[2 * (half.size - 1) :], 0.0)
    size = number * (whole.size - 1) + 1
    length = 1 << (size - 1).bit_length()
    full = np.fft.irfft(np.fft.rfft(whole, length) ** number, length)[:size]
    return np.asarray(np.maximum(full[number * (half.size - 1) :], 0.0))


def half_of(law: LatticeLaw, /, *, most: int | None = None) -> Floats:
    """P(0), P(1), ... of a symmetric law, as far out as it matters; cut at `most` and made to add up to one if given."""
    reach = law.reach(36.0) if most is None else most
    half = np.exp(law.logpmf(np.arange(reach + 1)))
    return np.asarray(half / (half[0] + 2 * half[1:].sum()))


def free_law(sums: NoiseSums, bound: int, /) -> tuple[Floats, float]:
    """The likeliest symmetric law on -bound .. bound, as P(0), P(1), ..., and its log-likelihood."""
    half = np.full(bound + 1, 1.0 / (2 * bound + 1))
    steps = np.arange(bound + 1)
    places = [
        (number, values, counts, np.abs(values[:, None] - steps), values[:, None] + steps)
        for number, values, counts in sums.groups
    ]
    last = -math.inf
    for turn in range(_ITERATIONS):
        weight = np.zeros(bound + 1)
        for number, values, counts, near, far in places:
            rest = _summed(half, number - 1) if number > 1 else np.ones(1)
            ratio = counts / np.maximum(_at(_summed(half, number), values), _NEVER)
            both = _at(rest, near) + np.where(steps > 0, _at(rest, far), 0.0)
            weight += half * number * (ratio @ both)
        total = weight.sum()
        if total <= 0:
            break
        mass = weight / total
        half = np.concatenate([mass[:1], mass[1:] / 2])
        if turn % 10 == 9:
            now = sums.log_likelihood(half)
            if now - last < _SETTLED:
                break
            last = now
    return half, sums.log_likelihood(half)


def _at(law: Floats, places: Ints, /) -> Floats:
    inside = places < law.size
    return np.where(inside, law[np.where(inside, places, 0)], 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawFit:
    """One law beside the residuals.

    Attributes
    ----------
    family
        `laplace`, `gaussian`, `uniform` or `bounded`.
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
    """

    family: str
    law: str
    scale: float
    half: Floats
    log_likelihood: float
    log_evidence: float


def fit_laws(sums: NoiseSums, /) -> list[LawFit]:
    """Every family at its best."""
    fits = [_of_family(family, sums) for family in _MEMBERS]
    least = _least_bound(sums)
    uniform = [
        (sums.log_likelihood(half_of(BoundedUniform(float(k)))), k) for k in range(max(least, 1), least + 25)
    ]
    best, width = max((log + _log_bound(k), k) for log, k in uniform)
    law = half_of(BoundedUniform(float(width)))
    fits.append(
        LawFit(
            family="uniform",
            law="uniform",
            scale=float(width),
            half=law,
            log_likelihood=sums.log_likelihood(law),
            log_evidence=best,
        )
    )
    bounded = _bounded(sums, fits[:2], least)
    return [*fits, bounded] if bounded is not None else fits


def _bounded(sums: NoiseSums, unbounded: Sequence[LawFit], least: int, /) -> LawFit | None:
    """Laws with a largest value, free or unbounded ones cut off where that leaves out a mass that matters, as one family."""
    likely = max(unbounded, key=lambda one: one.log_likelihood)
    found: list[LawFit] = []
    for bound in range(max(least, 1), _WIDEST):
        cut_off = float(2 * likely.half[bound + 1 :].sum())
        if found and cut_off < _MATTERS:
            break
        half, log = free_law(sums, bound)
        free = log + _log_volume(sums, half) + _log_bound(bound) + math.log(_FREE)
        found.append(
            LawFit(
                family="bounded", law="", scale=float(bound), half=half, log_likelihood=log, log_evidence=free
            )
        )
        found += [_cut_off(one, sums, bound) for one in unbounded]
        if free < max(one.log_evidence for one in found) - _HOPELESS:
            break
    return _averaged(found) if found else None


def _cut_off(fit: LawFit, sums: NoiseSums, bound: int, /) -> LawFit:
    """An unbounded law cut off at a bound, at its best scale."""
    grid = fit.scale * np.exp(np.linspace(-0.1, 0.6, 8))
    laws = [half_of(_law(fit.law, float(scale)), most=bound) for scale in grid]
    logs = [sums.log_likelihood(law) for law in laws]
    place = int(np.argmax(logs))
    evidence = _log_integral(fit.family, grid, np.array(logs)) + _log_bound(bound) + math.log((1 - _FREE) / 2)
    return LawFit(
        family="bounded",
        law="",
        scale=float(bound),
        half=laws[place],
        log_likelihood=logs[place],
        log_evidence=evidence,
    )


def _averaged(fits: Sequence[LawFit], /) -> LawFit:
    """The best of these with the evidence of all and the mean of their laws, each by its evidence: sharper than a free law alone."""
    best = max(fits, key=lambda one: one.log_evidence)
    logs = np.array([one.log_evidence for one in fits])
    total = float(np.logaddexp.reduce(logs))
    half = np.zeros(max(one.half.size for one in fits))
    for weight, one in zip(np.exp(logs - total), fits, strict=True):
        half[: one.half.size] += weight * one.half
    mean = half[: best.half.size] / (half[0] + 2 * half[1 : best.half.size].sum())
    return replace(best, half=mean, log_evidence=total)


def _log_bound(bound: int, /) -> float:
    """How likely a law of bounded noise has this bound beforehand: offices perturb by two to five, seldom by much more."""
    tried = np.arange(1, _WIDEST)
    usual = np.exp(-0.5 * ((np.log(tried) - math.log(_USUAL_BOUND)) / _BOUNDS_VARY) ** 2) / tried
    near = math.exp(-0.5 * ((math.log(bound) - math.log(_USUAL_BOUND)) / _BOUNDS_VARY) ** 2) / bound
    return math.log(0.85 * near / float(usual.sum()) + 0.15 / (bound * (bound + 1)))


def _log_scale(family: str, scale: Floats, /) -> Floats:
    """The density of the log-scale of an unbounded law beforehand: even between two ends, falling off beyond them."""
    low, high = np.log(_SCALES[family])
    beyond = np.maximum(np.maximum(low - np.log(scale), np.log(scale) - high), 0.0)
    return np.asarray(-0.5 * (beyond / _FALLS) ** 2 - math.log(high - low + _FALLS * math.sqrt(2 * math.pi)))


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


def _log_volume(sums: NoiseSums, half: Floats, /) -> float:
    """What a free law's likelihood loses when it is averaged over what laws with its bound may be beforehand.

    Beforehand it falls from 0 on, and so is a mixture of uniform laws up to 0, 1, 2, ..., whose weights are anything. Laplace's method, with that
    prior as a normal law of the masses at 1, 2, ... from 0: what the residuals leave open costs nothing.
    """
    bound = half.size - 1
    steps = np.arange(bound + 1)
    information = np.zeros((bound, bound))
    for number, values, counts in sums.groups:
        rest = _summed(half, number - 1) if number > 1 else np.ones(1)
        near, far = np.abs(values[:, None] - steps), values[:, None] + steps
        gradient = number * (_at(rest, near) + _at(rest, far)) / 2
        gradient /= np.maximum(_at(_summed(half, number), values), _NEVER)[:, None]
        free = gradient[:, 1:] - gradient[:, :1]
        information += free.T @ (counts[:, None] * free)
    uniform = np.triu(np.ones((bound + 1, bound + 1)))[1:] * 2 / (2 * steps + 1)
    parts = bound + 1
    weights = (np.eye(parts) - 1 / parts) / (parts * (parts + 1))
    away = 2 * half[1:] - uniform.mean(axis=1)
    shrunk = np.eye(bound) + information @ (uniform @ weights @ uniform.T)
    _, size = np.linalg.slogdet(shrunk)
    return -0.5 * float(size + away @ np.linalg.solve(shrunk, information @ away))


def _law(name: str, scale: float, /) -> LatticeLaw:
    law = make_law(name, scale=scale)
    assert isinstance(law, LatticeLaw)
    return law


def _least_bound(sums: NoiseSums, /) -> int:
    """No noise with a smaller largest value reaches what was seen; where some may be off, 98 % of it."""
    bounds = []
    for number, values, counts in sums.groups:
        far = values.max(initial=0)
        if sums.off and counts.sum():
            share = np.cumsum(counts) / counts.sum()
            far = values[min(int(np.searchsorted(share, 0.98)), values.size - 1)]
        bounds.append(math.ceil(far / number))
    return max(bounds, default=1)


def _of_family(family: str, sums: NoiseSums, /) -> LawFit:
    """The likeliest law of a family with the evidence of all, each as likely as the others beforehand."""
    fits = [_best_scale(family, name, sums) for name in _MEMBERS[family]]
    logs = [one.log_evidence for one in fits]
    best = max(fits, key=lambda one: one.log_evidence)
    return replace(best, log_evidence=float(np.logaddexp.reduce(logs)) - math.log(len(fits)))


def _best_scale(family: str, name: str, sums: NoiseSums, /) -> LawFit:
    """The likeliest scale, by a grid and a golden section."""
    moments = [
        (values.astype(float) ** 2 @ counts / number, counts.sum()) for number, values, counts in sums.groups
    ]
    spread = math.sqrt(max(sum(one for one, _ in moments) / max(sum(n for _, n in moments), 1), 0.01))
    grid = spread * np.exp(np.linspace(-2.0, 1.0, 25))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """How far out bounded laws are excluded by residuals that an unbounded law explains.

    Attributes
    ----------
    bound
        D*: every bounded law up to it loses clearly; 0 if none does.
    beyond
        The mass of one noise beyond it under the unbounded law: about the delta of a law with a wider bound.
    """

    bound: int
    beyond: float

    @property
    def strong(self) -> bool:
        """Whether hardly anything is left beyond the bound, so that an epsilon may lead."""
        return self.beyond < 0.003

    @property
    def fair(self) -> bool:
        """Whether little is left beyond the bound: about what thousands of identities leave of Laplace noise."""
        return self.beyond < 0.025


def exclude(sums: NoiseSums, fit: LawFit, /) -> Excluded:
    """How far out bounded laws are excluded, where `fit` is an unbounded law."""
    bound = 0
    for tried in range(1, min(fit.half.size, _WIDEST)):
        _, free = free_law(sums, tried)
        if free > fit.log_likelihood - LOSES:
            break
        bound = tried
    return Excluded(bound=bound, beyond=float(2 * fit.half[bound + 1 :].sum()))


def chances(fits: Sequence[LawFit], /, *, weights: dict[str, float]) -> dict[str, float]:
    """The probability of each family, given its weight beforehand."""
    logs = np.array([one.log_evidence + math.log(weights[one.family]) for one in fits])
    found = np.exp(logs - np.logaddexp.reduce(logs))
    return {one.family: float(p) for one, p in zip(fits, found, strict=True)}
