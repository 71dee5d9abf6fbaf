"""Non-negative tables in fixed point, with sums that are exact.

A real x is held as the integer nearest below x * 2^shift. From here on nothing is rounded by
floating point, so that the guarantees of `_controlled.py` hold without tolerances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
