"""Posterior laws of the levels of one effect of which little or nothing is shown.

Whether a place is quiet or without service, and whether an hour is slow or closed, the cells of that level alone cannot
say; what levels are like in general says more. So the law of levels is learnt from all of them: on the log scale, a normal law
of levels in use, and with some chance another, lower one for the rest, down to next to nothing. The parameters of
that law are not known for certain either. They are averaged over by their likelihood (and, how low the lower law lies, by
Jeffreys' prior of an intensity, u^(-1/2): where nothing is seen, nothing else says how much nothing is), and as they move the estimates of all
little-seen levels together, that part of the uncertainty is kept apart, as *common*.

What several levels add up to says little of each of them and much of their law: under each choice of its parameters the sum
has a mean and a variance, and is taken to be normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.profile.noisy_sums import EQUAL

Floats = NDArray[np.float64]

#: Log-multipliers at which levels are judged.
GRID = np.arange(-7.0, 4.01, 0.5)
_CENTRES = np.arange(-3.0, 2.01, 0.5)
_WIDTHS = np.array([0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
_LOW_CENTRES = np.arange(-6.0, 0.01, 0.75)
_LOW_WIDTH = 0.5
_SHARES = special.expit(np.linspace(-3.0, 5.0, 9))
_LEAST_WEIGHT = 1e-5
#: So many levels stand for all of them in what they add up to.
_MANY_LEVELS = 64


def _normals(centres: Floats, widths: Floats, /) -> Floats:
    laws = np.stack([np.exp(-0.5 * ((GRID - m) / s) ** 2) for m in centres for s in widths])
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


_USED = _normals(_CENTRES, _WIDTHS)
_LOW = _normals(_LOW_CENTRES, np.array([_LOW_WIDTH]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelPosterior:
    """Means of the multipliers of levels, and their relative variances (see `Effect`)."""

    mean: Floats
    own: Floats
    common: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelTotal:
    """A noisy sum of multipliers with weights; `side` is that of `NoisySums`."""

    seen: float
    variance: float
    weight: Floats
    side: int

    def among(self, levels: NDArray[np.bool_], /) -> LevelTotal:
        """The same total with a weight for every level: those that it is about are marked."""
        weight = np.zeros(len(levels))
        weight[levels] = self.weight
        return replace(self, weight=weight)

    def logs(self, mean: Floats, variance: Floats, /) -> Floats:
        """Log-likelihoods under means and variances of the sum, its noise not counted."""
        width = variance + self.variance
        gap = (self.seen - mean) / np.sqrt(width)
        return np.asarray(
            -0.5 * gap**2 - 0.5 * np.log(width) if self.side == EQUAL else special.log_ndtr(gap)
        )


def level_posterior(logs: Floats, totals: Sequence[LevelTotal] = (), /) -> LevelPosterior:
    """The posterior of levels from the log-likelihood of each (rows) at the points of `GRID`, and of what they add up to.

    Examples
    --------
    >>> seen = -0.5 * 40 * (GRID - 1.0) ** 2
    >>> unseen = -20 * np.exp(GRID)
    >>> found = level_posterior(np.stack([seen] * 9 + [unseen] * 9))
    >>> bool(abs(found.mean[0] - math.e) < 0.1), bool(found.mean[-1] < 0.1), bool(found.common[-1] > 0.1)
    (True, True, True)
    """
    like = np.exp(logs - logs.max(axis=1, keepdims=True))
    powers = [like, like * np.exp(GRID), like * np.exp(2 * GRID)]
    used, low = ([power @ laws.T for power in powers] for laws in (_USED, _LOW))
    scores = np.stack([_scores(p, used, low, totals) for p in _SHARES])
    scores += 0.5 * _LOW_CENTRES
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean, square, between = np.zeros((3, len(logs)))
    for s, u, d in np.argwhere(weights > _LEAST_WEIGHT).tolist():
        p, weight = float(_SHARES[s]), float(weights[s, u, d])
        whole, first, second = (p * a[:, u] + (1 - p) * b[:, d] for a, b in zip(used, low, strict=True))
        whole = np.maximum(whole, 1e-300)
        mean += weight * first / whole
        square += weight * second / whole
        between += weight * (first / whole) ** 2
    common = np.maximum(between - mean**2, 0.0)
    scale = np.maximum(mean, math.exp(GRID[0])) ** 2
    return LevelPosterior(mean=mean, own=np.maximum(square - between, 0.0) / scale, common=common / scale)


def _scores(p: float, used: list[Floats], low: list[Floats], totals: Sequence[LevelTotal], /) -> Floats:
    """Log-likelihoods of everything under each pair of laws, with this share of levels in use."""
    whole = np.maximum(p * used[0][:, :, None] + (1 - p) * low[0][:, None, :], 1e-300)
    found = np.log(whole).sum(axis=0)
    for total in totals:
        some = np.flatnonzero(total.weight)[:: max(1, np.count_nonzero(total.weight) // _MANY_LEVELS)]
        weight = total.weight[some] * (total.weight.sum() / total.weight[some].sum())
        first, second = (
            (p * a[some, :, None] + (1 - p) * b[some, None, :]) / whole[some]
            for a, b in zip(used[1:], low[1:], strict=True)
        )
        mean = np.tensordot(weight, first, axes=1)
        spread = np.tensordot(total.weight[some] * weight, np.maximum(second - first**2, 0.0), axes=1)
        found += total.logs(mean, spread)
    return np.asarray(found)
