"""Discrete distributions times a Gaussian: the step where counts meet what the sums say of them."""

from __future__ import annotations

import numpy as np

from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled

_LEAST_VARIANCE = 1e-9


@compiled
def tilt(
    low: Ints, start: Ints, p: Floats, centre: Floats, width: Floats, /
) -> tuple[Floats, Floats, Floats]:
    """Each distribution times a Gaussian: its mean, its variance, and its share at the low end.

    The Gaussian has mean `centre` and variance `width`. Its weights follow from each other by a
    recurrence of ratios, outward from the integer nearest to the centre: two multiplications each
    instead of an exponential.
    """
    mean, variance, edge = np.empty(len(low)), np.empty(len(low)), np.empty(len(low))
    for i in range(len(low)):
        size = start[i + 1] - start[i]
        middle = min(max(np.rint(centre[i] - low[i]), 0.0), size - 1.0)
        begin = start[i] + int(middle)
        gap = low[i] + middle - centre[i]
        fall = np.exp(-1 / width[i])
        total, first, second, mass = 0.0, 0.0, 0.0, 0.0
        if begin == start[i]:
            mass = p[begin]
        edge[i] = mass
        weight, ratio, step = 1.0, np.exp(-(1 + 2 * gap) / (2 * width[i])), 0.0
        for k in range(begin, start[i + 1]):
            mass = p[k] * weight
            total += mass
            first += mass * step
            second += mass * step * step
            step += 1.0
            weight *= ratio
            ratio *= fall
        weight, step = np.exp(-(1 - 2 * gap) / (2 * width[i])), -1.0
        ratio = weight * fall
        for k in range(begin - 1, start[i] - 1, -1):
            mass = p[k] * weight
            total += mass
            first += mass * step
            second += mass * step * step
            edge[i] = mass
            step -= 1.0
            weight *= ratio
            ratio *= fall
        if total > 1e-280:
            edge[i] /= total
            mean[i] = low[i] + middle + first / total
            variance[i] = max(second / total - (first / total) ** 2, _LEAST_VARIANCE)
        else:
            mean[i], variance[i], edge[i] = _far(low[i], p[start[i] : start[i + 1]], centre[i], width[i])
    return mean, variance, edge


@compiled
def _far(low: int, p: Floats, centre: float, width: float, /) -> tuple[float, float, float]:
    """The same with logarithms, for a Gaussian so far away that the product underflows."""
    top = -np.inf
    logs = np.empty(len(p))
    for k in range(len(p)):
        logs[k] = np.log(p[k]) - (low + k - centre) ** 2 / (2 * width) if p[k] > 0 else -np.inf
        top = max(top, logs[k])
    total, first, second = 0.0, 0.0, 0.0
    for k in range(len(p)):
        mass = np.exp(logs[k] - top)
        total += mass
        first += mass * k
    for k in range(len(p)):
        second += np.exp(logs[k] - top) * (k - first / total) ** 2
    return low + first / total, max(second / total, _LEAST_VARIANCE), np.exp(logs[0] - top) / total


@compiled
def bells(low: Ints, start: Ints, p: Floats, centre: Floats, width: Floats, /) -> Floats:
    """The Gaussian weight of every integer, scaled so that its product with `p` does not vanish."""
    result = np.empty(len(p))
    for i in range(len(low)):
        size = start[i + 1] - start[i]
        middle = int(min(max(np.rint(centre[i] - low[i]), 0.0), size - 1.0))
        gap = low[i] + middle - centre[i]
        fall = np.exp(-1 / width[i])
        total = 0.0
        for side in (1, -1):
            weight, ratio = 1.0, np.exp(-(1 + 2 * side * gap) / (2 * width[i]))
            k = start[i] + middle
            while start[i] <= k < start[i + 1]:
                result[k] = weight
                total += p[k] * weight
                weight *= ratio
                ratio *= fall
                k += side
        if total < 1e-280:
            _far_bell(
                low[i], p[start[i] : start[i + 1]], centre[i], width[i], result[start[i] : start[i + 1]]
            )
    return result


@compiled
def _far_bell(low: int, p: Floats, centre: float, width: float, result: Floats, /) -> None:
    """Gaussian weights that are 1 where their product with `p` is largest."""
    top, at = -np.inf, 0.0
    for k in range(len(p)):
        result[k] = -((low + k - centre) ** 2) / (2 * width)
        if p[k] > 0 and np.log(p[k]) + result[k] > top:
            top, at = np.log(p[k]) + result[k], result[k]
    for k in range(len(p)):
        result[k] = np.exp(min(result[k] - at, 600.0))
