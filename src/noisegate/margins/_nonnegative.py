"""The nearest non-negative table with given sums.

Minimises  sum of (x - y)^2 / w  over tables x >= 0 with the given sums, where y is the estimate and
w = min(1, bend / y)  says how far a cell may be moved. The minimum has the form

    x = max(0, y + w * multiplier),

one multiplier for each sum (for a matrix: that of the row plus that of the column). With w = 1 everywhere
it is the plain Euclidean projection, which takes the same amount off every positive cell to make
up for the cells that were raised to zero: large counts, which the data support, pay for noise in empty cells. With
`bend` at two standard deviations, small estimates give way first and the change of a large one falls as 1/y.

The multiplier of one sum solves an increasing, convex, piecewise linear equation: Newton's method
ends after a few passes. Rows and columns are solved in turn (block ascent on the dual) until the sums are off by
no more than `tolerance` a row on average, or `sweeps` are used up. What is left over is mended exactly on
integers (`_fixed.py`), so the number of sweeps bears on closeness only, never on consistency.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEWTON = 60
_NEWTON_EACH = 4


@compiled
def _give(y: Floats, bend: float, w: Floats) -> None:
    """w = min(1, bend / y), in place."""
    for j in range(y.size):
        w[j] = bend / y[j] if y[j] > bend else 1.0


@compiled
def _row_sum(y: Floats, w: Floats, row: float, columns: Floats) -> tuple[float, float]:
    """Sum of max(0, y + w (row + columns)) and its slope in `row`."""
    total = 0.0
    slope = 0.0
    for j in range(y.size):
        value = y[j] + w[j] * (row + columns[j])
        total += max(0.0, value)
        slope += w[j] if value > 0.0 else 0.0
    return total, slope


@compiled
def _row_start(y: Floats, w: Floats, wanted: float, columns: Floats) -> float:
    """A multiplier at which the row's sum is at least `wanted`: one cell holds all of it."""
    best = np.inf
    for j in range(y.size):
        if w[j] > 0.0:
            best = min(best, (wanted - y[j]) / w[j] - columns[j])
    return best


@compiled
def _solve_row(
    y: Floats, w: Floats, wanted: float, start: float, columns: Floats, tolerance: float, passes: int
) -> float:
    """Newton's method for the multiplier of one row; after one step it comes down from above."""
    row = start
    for _ in range(passes):
        total, slope = _row_sum(y, w, row, columns)
        if abs(wanted - total) <= tolerance:
            break
        row = row + (wanted - total) / slope if slope > 0.0 else _row_start(y, w, wanted, columns)
    return row


@compiled
def fit_vector(y: Floats, bend: float, wanted: float, tolerance: float, out: Floats) -> None:
    """The nearest non-negative vector with sum `wanted`, to `out`."""
    if wanted <= 0.0:
        out[:] = 0.0
        return
    w = np.empty(y.size)
    _give(y, bend, w)
    none = np.zeros(y.size)
    row = _solve_row(y, w, wanted, 0.0, none, tolerance, _NEWTON)
    for j in range(y.size):
        out[j] = max(0.0, y[j] + w[j] * row)


@compiled
def _column_sums(y: Floats, w: Floats, rows: Floats, columns: Floats, totals: Floats, slopes: Floats) -> None:
    """Column sums of max(0, y + w (rows + columns)) and their slopes in `columns`, in place."""
    totals[:] = 0.0
    slopes[:] = 0.0
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            value = y[i, j] + w[i, j] * (rows[i] + columns[j])
            totals[j] += max(0.0, value)
            slopes[j] += w[i, j] if value > 0.0 else 0.0


@compiled
def _solve_columns(
    y: Floats, w: Floats, wanted: Ints, rows: Floats, columns: Floats, tolerance: float
) -> float:
    """A few Newton steps for all columns at once; returns by how much all sums together were off before."""
    totals = np.empty(wanted.size)
    slopes = np.empty(wanted.size)
    first = 0.0
    for step in range(_NEWTON_EACH):
        _column_sums(y, w, rows, columns, totals, slopes)
        off = 0.0
        for j in range(wanted.size):
            if wanted[j] > 0:
                gap = wanted[j] - totals[j]
                off += abs(gap)
                if slopes[j] > 0.0:
                    columns[j] += gap / slopes[j]
                else:
                    columns[j] = _row_start(y[:, j], w[:, j], float(wanted[j]), rows)
        first = off if step == 0 else first
        if off <= tolerance:
            break
    return first


@compiled
def fit_matrix(
    y: Floats,
    bend: float,
    row_sums: Ints,
    column_sums: Ints,
    tolerance: float,
    sweeps: int,
    out: Floats,
) -> None:
    """The nearest non-negative matrix with these row and column sums, to `out`.

    The sums are not negative and have the same total. Rows and columns of sum 0 are set to 0.
    """
    w = np.empty(y.shape)
    for i in range(y.shape[0]):
        _give(y[i], bend, w[i])
        for j in range(y.shape[1]):
            out[i, j] = y[i, j]
            if row_sums[i] == 0 or column_sums[j] == 0:
                out[i, j], w[i, j] = -1.0, 0.0
    rows = np.zeros(row_sums.size)
    columns = np.zeros(column_sums.size)
    for sweep in range(sweeps):
        off = _solve_columns(out, w, column_sums, rows, columns, tolerance * row_sums.size)
        if sweep > 0 and off <= tolerance * row_sums.size:
            break
        for i in range(row_sums.size):
            if row_sums[i] > 0:
                rows[i] = _solve_row(
                    out[i], w[i], float(row_sums[i]), rows[i], columns, tolerance, _NEWTON_EACH
                )
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            out[i, j] = max(0.0, out[i, j] + w[i, j] * (rows[i] + columns[j]))
