"""The least of a smooth cost under smooth constraints, in a few dimensions: sequential quadratic programming without SciPy.

SciPy's optimiser takes longer to load than everything else that plans a release. This is its method (SLSQP, D. Kraft 1988), step by step, for problems
of some tables: each step solves a quadratic problem with linear constraints, exactly, by least distance programming (Lawson and Hanson 1974, chapter 23);
steps are cut back until cost and violations together fall; curvature is learnt on the way. Whatever does not go as it should is
said by None, and left to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The cost at a point, and what must not be negative there.
Problem = Callable[[Floats], tuple[float, Floats]]

_STEP = float(np.sqrt(np.finfo(np.float64).eps))
_ENOUGH = 1e-6
_MOST_STEPS, _MOST_CUTS = 100, 10


def descend(problem: Problem, start: Floats, /) -> Floats | None:
    """The point between 0 and 1 in every direction where a descent from `start` ends; None if it gets stuck.

    Examples
    --------
    >>> descend(lambda x: (float(((x - 2) ** 2).sum()), 1 - x.sum(keepdims=True)), np.array([0.3, 0.1])).round(6)
    array([0.5, 0.5])
    """
    x = np.clip(start, 0.0, 1.0)
    cost, slack = problem(x)
    slope, slopes = _slopes(problem, x, cost, slack)
    curvature, weights = np.eye(x.size), np.zeros(slack.size)
    for _ in range(_MOST_STEPS):
        found = _quadratic(curvature, slope, slopes, slack, x)
        if found is None:
            return None
        step, forces = found
        pull = slope - slopes.T @ forces
        weights = np.maximum(forces, (weights + forces) / 2)
        below = np.maximum(-slack, 0.0)
        fall = float(slope @ step)
        if abs(fall) + float(forces @ np.abs(slack)) < _ENOUGH and below.sum() < _ENOUGH:
            return x
        before, expected = cost + float(weights @ below), fall - float(weights @ below)
        if expected >= 0:
            return None
        old_cost, origin = cost, x
        for _ in range(_MOST_CUTS + 1):
            x = np.clip(origin + step, 0.0, 1.0)
            cost, slack = problem(x)
            change = cost + float(weights @ np.maximum(-slack, 0.0)) - before
            if change <= expected / 10:
                break
            shorter = max(expected / (2 * (expected - change)), 0.1)
            step, expected = step * shorter, expected * shorter
        near = abs(cost - old_cost) < _ENOUGH or float(np.linalg.norm(step)) < _ENOUGH
        if near and float(np.maximum(-slack, 0.0).sum()) < _ENOUGH:
            return x
        slope, slopes = _slopes(problem, x, cost, slack)
        curvature = _learnt(curvature, step, slope - slopes.T @ forces - pull)
    return None


def _slopes(problem: Problem, x: Floats, cost: float, slack: Floats, /) -> tuple[Floats, Floats]:
    """The derivatives of the cost, and of each slack (a row), by small steps that stay inside."""
    slope, slopes = np.empty(x.size), np.empty((slack.size, x.size))
    for n in range(x.size):
        there = x.copy()
        there[n] += _STEP if x[n] + _STEP <= 1 else -_STEP
        moved_cost, moved = problem(there)
        by = there[n] - x[n]
        slope[n], slopes[:, n] = (moved_cost - cost) / by, (moved - slack) / by
    return slope, slopes


def _learnt(curvature: Floats, step: Floats, change: Floats, /) -> Floats:
    """The curvature once the slope has changed so along a step (BFGS), kept positive as Powell does."""
    along = curvature @ step
    own, seen = float(step @ along), float(step @ change)
    if seen < 0.2 * own:
        share = 0.8 * own / (own - seen)
        change = share * change + (1 - share) * along
        seen = 0.2 * own
    return np.asarray(curvature + np.outer(change, change) / seen - np.outer(along, along) / own)


def _quadratic(
    curvature: Floats, slope: Floats, slopes: Floats, slack: Floats, x: Floats, /
) -> tuple[Floats, Floats] | None:
    """The step d with the least slope d + d'curvature d / 2 that keeps slack + slopes d and x + d inside, and the force of each slack."""
    try:
        root = np.linalg.cholesky(curvature)
    except np.linalg.LinAlgError:
        return None
    ones = np.eye(x.size)
    sides = np.concatenate([slopes, ones, -ones])
    least = np.concatenate([-slack, -x, x - 1.0])
    # In y = root'd + root^-1 slope it is the point nearest to the origin with rows y >= wanted.
    rows = np.linalg.solve(root, sides.T).T
    moved = np.linalg.solve(root, slope)
    wanted = least + rows @ moved
    forces = _least_distance(rows, wanted)
    if forces is None:
        return None
    return np.linalg.solve(root.T, rows.T @ forces - moved), forces[: slack.size]


def _least_distance(rows: Floats, wanted: Floats, /) -> Floats | None:
    """The weights of rows whose sum is the shortest vector y with rows y >= wanted; None if there is none."""
    matrix = np.concatenate([rows.T, wanted[np.newaxis, :]])
    target = np.zeros(len(matrix))
    target[-1] = 1.0
    found = _non_negative(matrix, target)
    if found is None:
        return None
    rest = target[-1] - float(wanted @ found)
    return None if rest <= 1e-12 else found / rest


def _non_negative(matrix: Floats, target: Floats, /) -> Floats | None:
    """Least squares with weights that are not negative (Lawson and Hanson's NNLS)."""
    size = matrix.shape[1]
    x, inside = np.zeros(size), np.zeros(size, dtype=bool)
    for _ in range(3 * size):
        pull = matrix.T @ (target - matrix @ x)
        pull[inside] = 0.0
        best = int(np.argmax(pull))
        if pull[best] <= 1e-12:
            return x
        inside[best] = True
        while True:
            tried = np.zeros(size)
            tried[inside] = np.linalg.lstsq(matrix[:, inside], target, rcond=None)[0]
            low = inside & (tried <= 0)
            if not low.any():
                break
            share = float((x[low] / (x[low] - tried[low])).min())
            x += share * (tried - x)
            inside &= x > 1e-15
            x[~inside] = 0.0
        x = tried
    return None
