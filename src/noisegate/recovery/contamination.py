"""A small share of identities that do not hold, and what they do to the likelihood.

An identity may be off: a few passengers alight one bin later. Its residual is then the noise plus an
amount from one of the *shells* (1.5-3, 3-6, 6-12 or 12-24 spreads of the residual, either sign, uniform
inside). The weights of the shells are unknown. Their prior is a Dirichlet with as much weight on
"sound" as `_SOUND` identities seen to be sound, and one for each shell.

Two uses. The interval for the scale *profiles* the weights: each scale is judged with the weights
that suit it best. The choice of a law *integrates* over them, or else the law with the lighter tails
could borrow a contamination that mimics the heavier ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from noisegate.laws import Floats, Ints

_SOUND = 20.0
_MOST_ROUNDS = 200
_CLOSE = 1e-4
_ZERO = 1e-7

#: For the choice of a law: no contamination, only far shells, all but the nearest; prior chances.
_CONTAMINATIONS: tuple[tuple[tuple[int, ...], float], ...] = (((), 0.5), ((3, 4), 0.25), ((2, 3, 4), 0.25))


def profile(probability: Floats, times: Ints, /) -> tuple[Floats, Floats]:
    """The log-likelihood with the best weights, and those weights (sound first), at every point.

    The prior of the weights is part of the log-likelihood. Expectation maximisation: the objective is
    concave in the weights, so the maximum found is the only one.
    """
    parts, points, _ = probability.shape
    weight = np.full((parts, points), 0.01)
    weight[0] = 1 - 0.01 * (parts - 1)
    total = float(times.sum())
    last = np.full(points, -np.inf)
    for _ in range(_MOST_ROUNDS):
        mixed = np.einsum("jb,jbu->bu", weight, probability)
        value = np.log(mixed) @ times + _SOUND * np.log(weight[0])
        share = weight * np.einsum("jbu,bu->jb", probability, times / mixed)
        share[0] += _SOUND
        weight = share / (total + _SOUND)
        if np.all(value - last < _CLOSE):
            break
        last = value
    return np.asarray(value), weight


def integrated(probability: Floats, times: Ints, /) -> Floats:
    """The log-likelihood averaged over the weights, at every point."""
    models = [_averaged(probability[[0, *shells]], times) + math.log(p) for shells, p in _CONTAMINATIONS]
    return np.asarray(np.logaddexp.reduce(models))


def _averaged(probability: Floats, times: Ints, /) -> Floats:
    """Laplace's method around the best weights, one weight at a time, none below zero."""
    shells = len(probability) - 1
    if shells == 0:
        return np.asarray(np.log(probability[0]) @ times)
    best, weight = profile(probability, times)
    mixed = np.einsum("jb,jbu->bu", weight, probability)
    relative = (probability[1:] - probability[0]) / mixed
    pull = _SOUND / weight[0] - relative @ times
    stiffness = np.maximum((relative**2) @ times, 1e-12)
    inside = weight[1:] > _ZERO
    pull = np.where(inside, 0.0, np.maximum(pull, 0.0))
    root = np.sqrt(stiffness)
    log_volume = (
        0.5 * np.log(2 * math.pi / stiffness)
        + pull**2 / (2 * stiffness)
        + special.log_ndtr(np.where(inside, weight[1:], 0.0) * root - pull / root)
    )
    prior = special.gammaln(_SOUND + 1 + shells) - special.gammaln(_SOUND + 1)
    return np.asarray(best + log_volume.sum(axis=0) + prior)


def share_off(weights: Sequence[float] | Floats, /) -> float:
    """The share of identities that do not hold."""
    return float(np.sum(np.asarray(weights)[1:]))
