"""The loops of the profile's fit over single cells, compiled: slopes of the likelihood, and adding them up by level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def seen_slopes(
    eta: Floats, shown: Ints, seen: Floats, dispersion: float, noise: float, slope: Floats, bend: Floats
) -> None:
    """Write both derivatives of the log-likelihood of cells with a value, as if all were normal."""
    for k in range(len(shown)):
        i = shown[k]
        mean = np.exp(eta[i])
        width = mean + dispersion * mean * mean + noise
        slope[i] = mean * (seen[k] - mean) / width
        bend[i] = mean * mean / width


@compiled
def near_slopes(
    eta: Floats,
    shown: Ints,
    seen: Floats,
    least: int,
    first: float,
    step: float,
    near: Floats,
    slope: Floats,
    bend: Floats,
) -> None:
    """The same from a table, for values that are in it: those just above a threshold, if the cell expects less."""
    rows, values, _ = near.shape
    for k in range(len(shown)):
        i = shown[k]
        value = int(seen[k]) - least
        if 0 <= value < values and np.exp(eta[i]) < seen[k]:
            where = min(max((eta[i] - first) / step, 0.0), rows - 1.001)
            left = int(where)
            rest = where - left
            slope[i] = near[left, value, 0] * (1 - rest) + near[left + 1, value, 0] * rest
            bend[i] = near[left, value, 1] * (1 - rest) + near[left + 1, value, 1] * rest


@compiled
def interpolate(eta: Floats, cells: Ints, first: float, step: float, table: Floats) -> Floats:
    """The columns of a table, at the log-intensities of some cells; one row for each column."""
    rows, columns = table.shape
    found = np.empty((columns, len(cells)))
    for k in range(len(cells)):
        where = min(max((eta[cells[k]] - first) / step, 0.0), rows - 1.001)
        left = int(where)
        rest = where - left
        for c in range(columns):
            found[c, k] = table[left, c] * (1 - rest) + table[left + 1, c] * rest
    return found


@compiled
def totals(codes: Ints, found: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Sums of the mean, the variance and the gain (rows 2 to 4) over the cells of each code."""
    mean, variance, gain = np.zeros(size), np.zeros(size), np.zeros(size)
    for k in range(len(codes)):
        c = codes[k]
        if c >= 0:
            mean[c] += found[2, k]
            variance[c] += found[3, k]
            gain[c] += found[4, k]
    return mean, variance, gain


@compiled
def pulled(codes: Ints, pull: Floats, stiffness: Floats, found: Floats) -> None:
    """Add to slope and bend (rows 0 and 1) what sums over cells say of each."""
    for k in range(len(codes)):
        c = codes[k]
        if c >= 0:
            found[0, k] += found[4, k] * pull[c]
            found[1, k] += found[4, k] * stiffness[c]


@compiled
def by_level(codes: Ints, slope: Floats, bend: Floats, size: int) -> tuple[Floats, Floats]:
    """Slope and bend added up over the cells of each level."""
    pull, curvature = np.zeros(size), np.zeros(size)
    for i in range(len(codes)):
        pull[codes[i]] += slope[i]
        curvature[codes[i]] += bend[i]
    return pull, curvature


@compiled
def shifted(
    codes: Ints, move: Floats, eta: Floats, slope: Floats, bend: Floats, least: float, most: float
) -> None:
    """Move log-intensities with their levels, and slopes along their bend."""
    for i in range(len(codes)):
        step = move[codes[i]]
        eta[i] = min(max(eta[i] + step, least), most)
        slope[i] -= bend[i] * step
