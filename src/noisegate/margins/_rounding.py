"""Rounding in fixed point that keeps every sum: each cell goes to the integer below or above it.

*A vector* is rounded along its running sum (cascade rounding), so that the sum of any run of neighbouring
cells moves by less than one.

*A matrix* is rounded column by column. A column with fractions f gets sum(f) units, to the rows to which
most is owed so far (the fractions of this and earlier columns minus the units already given). So columns are exact,
running sums along each row stay close, and row sums are off by little at the end. They are then mended by augmenting
paths: a row with a unit too many passes it, within a column, to a row that can take one, and so
on to a row that lacks one. Row and column sums are whole numbers and the fractions themselves are a solution, so by
the integrality of network flows such a path always exists: the result has exact sums, and every
cell is the floor or the ceiling of its value (zero-restricted controlled rounding).

A real x is held as the integer nearest below x * 2^shift. From here on nothing is rounded by
floating point, so that the guarantees of `_controlled.py` hold without tolerances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled
from noisegate.margins._nonnegative import fit_matrix, fit_vector

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# 2^64 over the golden ratio: successive multiples, taken modulo any power of two, spread evenly.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _phase(turn: int, shift: int) -> int:
    """The `turn`-th of a sequence spread evenly over [0, 2^shift)."""
    return int((np.uint64(turn + 1) * _GOLDEN) >> np.uint64(64 - shift))


@compiled
def round_vector(x: Ints, shift: int, turn: int) -> None:
    """Round `x` in place; its sum must be whole. `turn` varies where the units fall."""
    unit = 1 << shift
    running = _phase(turn, shift)
    for j in range(x.size):
        running += x[j] & (unit - 1)
        x[j] >>= shift
        if running >= unit:
            running -= unit
            x[j] += 1


@compiled
def _bring_forward(rows: Ints, end: int, owed: Ints, wanted: int) -> None:
    """Reorder rows[:end] so that the `wanted` rows owed most come first (quickselect)."""
    low, high = 0, end - 1
    while low < high:
        pivot = owed[rows[(low + high) // 2]]
        left, right = low, high
        while left <= right:
            while owed[rows[left]] > pivot:
                left += 1
            while owed[rows[right]] < pivot:
                right -= 1
            if left <= right:
                rows[left], rows[right] = rows[right], rows[left]
                left += 1
                right -= 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            return


@compiled
def _give_column(fractions: Ints, owed: Ints, rows: Ints, shift: int, up: Flags) -> None:
    """Give the units of one column to the rows owed most; `owed` is carried from column to column."""
    end = 0
    total = 0
    for i in range(owed.size):
        if fractions[i] > 0:
            rows[end] = i
            end += 1
            owed[i] += fractions[i]
            total += fractions[i]
    units = total >> shift
    _bring_forward(rows, end, owed, units)
    for place in range(units):
        up[rows[place]] = True
        owed[rows[place]] -= 1 << shift


@compiled
def _path(start: int, fractions: Ints, up: Flags, surplus: Ints, came: Ints, by: Ints) -> int:
    """Breadth-first search from row `start` to a row that lacks a unit; -1 if there is none.

    Row p passes a unit to row k in column j if p is up and k could be. `came` and `by` hold the way back.
    """
    came[:] = -1
    came[start] = start
    queue = np.empty(surplus.size, np.int64)
    queue[0] = start
    head, tail = 0, 1
    while head < tail < surplus.size + 1:
        row = queue[head]
        head += 1
        for j in range(fractions.shape[1]):
            if not up[row, j] or tail == surplus.size:
                continue
            for k in range(surplus.size):
                if came[k] < 0 and fractions[k, j] > 0 and not up[k, j]:
                    came[k], by[k] = row, j
                    queue[tail] = k
                    tail += 1
                    if surplus[k] < 0:
                        return k
    return -1


@compiled
def _mend(fractions: Ints, up: Flags, surplus: Ints) -> bool:
    """Move units between rows, within columns, until no row has too many; whether that worked."""
    came = np.empty(surplus.size, np.int64)
    by = np.empty(surplus.size, np.int64)
    for start in range(surplus.size):
        while surplus[start] > 0:
            row = _path(start, fractions, up, surplus, came, by)
            if row < 0:
                return False
            surplus[row] += 1
            while row != start:
                up[row, by[row]] = True
                up[came[row], by[row]] = False
                row = came[row]
            surplus[start] -= 1
    return True


@compiled
def round_matrix(x: Ints, shift: int, turn: int) -> bool:
    """Round `x` in place; its row and column sums must be whole. False cannot happen."""
    unit = 1 << shift
    height, width = x.shape
    fractions = np.empty((height, width), np.int64)
    up = np.zeros((height, width), np.bool_)
    owed = np.empty(height, np.int64)
    surplus = np.zeros(height, np.int64)
    for i in range(height):
        owed[i] = _phase(turn * height + i, shift)
        for j in range(width):
            fractions[i, j] = x[i, j] & (unit - 1)
    rows = np.empty(height, np.int64)
    for j in range(width):
        _give_column(fractions[:, j], owed, rows, shift, up[:, j])
    for i in range(height):
        owing = 0
        for j in range(width):
            owing += fractions[i, j]
            surplus[i] += up[i, j]
        surplus[i] -= owing >> shift
    worked = _mend(fractions, up, surplus)
    for i in range(height):
        for j in range(width):
            x[i, j] = (x[i, j] >> shift) + up[i, j]
    return worked


Floats = NDArray[np.float64]


@compiled
def _settle(cells: Ints, wanted: int) -> None:
    """Change the largest cells until `cells` sum to `wanted` >= 0; none becomes negative."""
    gap = wanted
    for i in range(cells.size):
        gap -= cells[i]
    while gap != 0:
        top = 0
        for i in range(cells.size):
            if cells[i] > cells[top]:
                top = i
        step = max(gap, -cells[top])
        cells[top] += step
        gap -= step


@compiled
def fix_vector(x: Floats, shift: int, wanted: int, out: Ints) -> None:
    """`x` in fixed point, to `out`, with sum `wanted` exactly."""
    unit = 1 << shift
    for j in range(x.size):
        out[j] = np.int64(x[j] * unit)
    _settle(out, wanted << shift)


@compiled
def fix_matrix(x: Floats, shift: int, row_sums: Ints, column_sums: Ints, out: Ints) -> None:
    """`x` in fixed point, to `out`, with these row and column sums exactly.

    First each column is settled; then rows with too much hand it to rows with too little, within
    a column. A row with too much has a positive cell, so this ends.
    """
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = np.int64(x[i, j] * (1 << shift))
    for j in range(column_sums.size):
        _settle(out[:, j], column_sums[j] << shift)
    excess = np.empty(row_sums.size, np.int64)
    for i in range(row_sums.size):
        excess[i] = -(row_sums[i] << shift)
        for j in range(column_sums.size):
            excess[i] += out[i, j]
    taker = 0
    for giver in range(row_sums.size):
        j = 0
        while excess[giver] > 0:
            while excess[taker] >= 0:
                taker += 1
            step = min(excess[giver], -excess[taker], out[giver, j])
            out[giver, j] -= step
            out[taker, j] += step
            excess[giver] -= step
            excess[taker] += step
            if out[giver, j] == 0:
                j += 1


@compiled
def round_groups(
    y: Floats, bend: float, sums: Ints, tolerance: float, shift: int, first: int, out: Ints
) -> None:
    """Round each row of `y` to non-negative integers with the given sum; `first` is the number of the first one."""
    near = np.empty(y.shape[1])
    for g in range(y.shape[0]):
        fit_vector(y[g], bend, float(sums[g]), tolerance, near)
        fix_vector(near, shift, sums[g], out[g])
        round_vector(out[g], shift, first + g)


@compiled
def round_slices(
    y: Floats,
    bend: float,
    row_sums: Ints,
    column_sums: Ints,
    tolerance: float,
    sweeps: int,
    shift: int,
    first: int,
    out: Ints,
) -> bool:
    """Round each matrix of `y` to non-negative integers with the given row and column sums; `first` is the number of the first one."""
    near = np.empty(y.shape[1:])
    worked = True
    for s in range(y.shape[0]):
        fit_matrix(y[s], bend, row_sums[s], column_sums[s], tolerance, sweeps, near)
        fix_matrix(near, shift, row_sums[s], column_sums[s], out[s])
        worked = round_matrix(out[s], shift, first + s) and worked
    return worked
