"""Intensities that are products of effects (row, column, day, each pair of them).

The mean of a cell is a product of one multiplier for each effect. A multiplier u is drawn, before
anything is seen, from a gamma law with mean 1 and shape `strength` (one for each effect and group
of cells), so levels with little to show for themselves stay near 1. Given expected counts, the
multipliers solve the penalised score equations of a negative binomial model, and the curvature
there says how uncertain each still is; a suppressed cell counts with the share of information
that its posterior variance leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.linked.problem import Floats, Ints, NegativeBinomial, same_partition, tally
from noisegate.laws import compiled
from noisegate.tables import compact

_LEAST_STRENGTH, _MOST_STRENGTH = 1e-2, 1e6
#: EM creeps where levels show little, so its steps are lengthened there, up to these limits.
_MOST_STRIDE, _MOST_RATIO = 4.0, 4.0
_LEAST_MEAN, _MOST_MEAN = 1e-9, 1e9
_LEAST_KNOWN = 0.01

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expected:
    """What is expected of each unknown, given the tables and the prior so far.

    `z` is its expected count, `known` the share of information that is not missing, `active` the
    chance that it is not zero for a reason of its own.
    """

    z: Floats
    known: Floats
    active: Floats

    @classmethod
    def of(
        cls, *, z: Floats, variance: Floats, empty: Floats, prior: NegativeBinomial, dispersion: Floats
    ) -> Expected:
        """From posterior means, variances and chances of zero under `prior`.

        The missing information principle: known is what the evidence removed of the variance. It
        is judged against the variance of single cells about *given* intensities, which errs on
        the side of knowing too little: intervals stay wide enough where effects fit badly.
        """
        spread = prior.mean * (1 + prior.mean * dispersion) + 1e-12
        by_chance = (1 - prior.zero_share) * np.exp(-prior.shape * np.log1p(prior.mean / prior.shape))
        of_zeros = prior.zero_share / np.maximum(prior.zero_share + by_chance, 1e-300)
        return cls(z=z, known=np.clip(1 - variance / spread, _LEAST_KNOWN, 1.0), active=1 - empty * of_zeros)


@dataclass(slots=True, kw_only=True, eq=False)
class Effect:
    """One multiplier for each level; `codes` says which level an unknown has."""

    codes: Codes
    group: Ints
    u: Floats
    strength: Floats

    @property
    def levels(self) -> int:
        """How many multipliers there are."""
        return len(self.u)

    @classmethod
    def of(cls, codes: Ints, group: Ints, /) -> Effect:
        """Multipliers at 1; levels are kept apart between groups."""
        span = int(codes.max(initial=0)) + 1
        distinct, place = compact(group * span + codes)
        return cls(
            codes=place.astype(np.int32),
            group=distinct // span,
            u=np.ones(len(distinct)),
            strength=np.ones(int(group.max(initial=0)) + 1),
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Intensities:
    """The mean of every unknown as a product of effects, and how sure it is.

    `spread` is the relative variance of each mean that comes from the uncertainty of its
    multipliers; `apart_mean` and `apart_spread` are mean and spread with the unknown's own
    evidence taken out again, as needed to judge predictions.
    """

    mean: Floats
    effects: list[Effect]
    group: Ints
    spread: Floats
    apart_mean: Floats
    apart_spread: Floats

    @classmethod
    def of(cls, effects: Sequence[Ints], group: Ints, z: Floats, /) -> Intensities:
        """All multipliers at 1 and every group at its mean; effects that say nothing new are left out."""
        kept: list[Effect] = []
        for codes in effects:
            effect = Effect.of(codes, group)
            repeated = any(same_partition(effect.codes, other.codes) for other in kept)
            if len(effect.strength) < effect.levels < len(group) and not repeated:
                kept.append(effect)
        start = tally(group, z) / np.bincount(group)
        nothing = np.zeros(len(z))
        mean = np.maximum(start, 1e-6)[group]
        return cls(
            mean=mean,
            effects=kept,
            group=group,
            spread=nothing,
            apart_mean=mean.copy(),
            apart_spread=nothing,
        )

    def maximise(self, expected: Expected, dispersion: Floats, /, *, rounds: int) -> None:
        """Move all multipliers towards what is expected, effect by effect.

        Last, each group is scaled to its expected total: weights must not bias that.
        """
        z, active = expected.z, expected.active
        for _ in range(rounds):
            for effect in self.effects:
                strength = effect.strength[effect.group]
                seen, foreseen = _level_sums(effect.codes, self.mean, z, active, dispersion, effect.levels)
                renewed = (strength + seen) / (strength + foreseen / effect.u)
                _rescale(effect.codes, renewed / effect.u, self.mean)
                effect.u = renewed
        total = tally(self.group, active * self.mean)
        _rescale(self.group.astype(np.int32), np.maximum(tally(self.group, z), 1e-9) / total, self.mean)

    def weigh(self, expected: Expected, dispersion: Floats, /) -> None:
        """Renew strengths, spreads, and what each unknown would be predicted to be without itself."""
        z, active = expected.z, expected.active
        information = self.mean * active / (1 + self.mean * dispersion) * expected.known
        spread, apart_spread = np.zeros(len(z)), np.zeros(len(z))
        apart_mean = self.mean.copy()
        for effect in self.effects:
            total = tally(effect.codes, information, size=effect.levels)
            _renew_strength(effect, total)
            strength = effect.strength[effect.group]
            sums = _level_sums(effect.codes, self.mean, z, active, dispersion, effect.levels)
            of_levels = (strength, effect.u, *sums, total)
            of_unknowns = (self.mean, z, active, dispersion, information)
            _leave_out(effect.codes, *of_levels, *of_unknowns, spread, apart_mean, apart_spread)
        self.spread, self.apart_mean, self.apart_spread = spread, apart_mean, apart_spread


def _renew_strength(effect: Effect, information: Floats, /) -> None:
    """The gamma shape that fits the multipliers of each group, their uncertainty included."""
    sizes = np.bincount(effect.group)
    u = effect.u / (tally(effect.group, effect.u) / sizes)[effect.group]
    effect.u = u
    hidden = 1 / (effect.strength[effect.group] + information)
    means = tally(effect.group, u - np.log(u) + hidden / 2) / sizes
    shape = np.array([_gamma_shape(float(mean)) for mean in means])
    lag = tally(effect.group, effect.strength[effect.group] * hidden) / sizes
    stride = np.minimum(1 / np.maximum(1 - lag, 1e-9), _MOST_STRIDE)
    ratio = np.clip((shape / effect.strength) ** stride, 1 / _MOST_RATIO, _MOST_RATIO)
    effect.strength = np.clip(effect.strength * ratio, _LEAST_STRENGTH, _MOST_STRENGTH)


def _gamma_shape(statistic: float, /) -> float:
    """The shape k of a gamma law of mean 1 with E[u - log u] = `statistic`: log k + 1 - psi(k)."""

    def gap(k: float) -> float:
        return math.log(k) + 1 - float(special.digamma(k)) - statistic

    if gap(_MOST_STRENGTH) >= 0:
        return _MOST_STRENGTH
    if gap(_LEAST_STRENGTH) <= 0:
        return _LEAST_STRENGTH
    from scipy import optimize

    return float(optimize.brentq(gap, _LEAST_STRENGTH, _MOST_STRENGTH))


@compiled
def _level_sums(
    codes: Codes, mean: Floats, z: Floats, active: Floats, dispersion: Floats, levels: int, /
) -> tuple[Floats, Floats]:
    """Counts and means added up by level, each weighed as a negative binomial score weighs it."""
    seen, foreseen = np.zeros(levels), np.zeros(levels)
    for i in range(len(codes)):
        weight = 1 / (1 + mean[i] * dispersion[i])
        seen[codes[i]] += weight * z[i]
        foreseen[codes[i]] += weight * active[i] * mean[i]
    return seen, foreseen


@compiled
def _rescale(codes: Codes, ratio: Floats, mean: Floats, /) -> None:
    for i in range(len(codes)):
        mean[i] = min(max(mean[i] * ratio[codes[i]], _LEAST_MEAN), _MOST_MEAN)


@compiled
def _leave_out(
    codes: Codes,
    strength: Floats,
    u: Floats,
    seen: Floats,
    foreseen: Floats,
    total: Floats,
    mean: Floats,
    z: Floats,
    active: Floats,
    dispersion: Floats,
    information: Floats,
    spread: Floats,
    apart_mean: Floats,
    apart_spread: Floats,
    /,
) -> None:
    """Add one effect's uncertainty, and take each unknown's own share out of its multiplier."""
    for i in range(len(codes)):
        level = codes[i]
        k = strength[level]
        weight = 1 / (1 + mean[i] * dispersion[i])
        others_seen = max(seen[level] - weight * z[i], 0.0)
        others_foreseen = max(foreseen[level] - weight * active[i] * mean[i], 0.0) / u[level]
        ratio = (k + others_seen) / (k + others_foreseen) / u[level]
        apart_mean[i] = min(max(apart_mean[i] * min(max(ratio, 0.05), 20.0), _LEAST_MEAN), _MOST_MEAN)
        spread[i] += 1 / (k + total[level])
        apart_spread[i] += 1 / (k + max(total[level] - information[i], 0.0))
