"""From real signed tables to whole non-negative ones, group by group and slice by slice.

The only module that the rest of the package calls of the compiled ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled
from noisegate.margins._controlled import round_matrix, round_vector
from noisegate.margins._fixed import fix_matrix, fix_vector
from noisegate.margins._nonnegative import fit_matrix, fit_vector

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def round_groups(y: Floats, bend: float, sums: Ints, tolerance: float, shift: int, out: Ints) -> None:
    """Round each row of `y` to non-negative integers with the given sum."""
    near = np.empty(y.shape[1])
    for g in range(y.shape[0]):
        fit_vector(y[g], bend, float(sums[g]), tolerance, near)
        fix_vector(near, shift, sums[g], out[g])
        round_vector(out[g], shift, g)


@compiled
def round_slices(
    y: Floats,
    bend: float,
    row_sums: Ints,
    column_sums: Ints,
    tolerance: float,
    sweeps: int,
    shift: int,
    out: Ints,
) -> bool:
    """Round each matrix of `y` to non-negative integers with the given row and column sums."""
    near = np.empty(y.shape[1:])
    worked = True
    for s in range(y.shape[0]):
        fit_matrix(y[s], bend, row_sums[s], column_sums[s], tolerance, sweeps, near)
        fix_matrix(near, shift, row_sums[s], column_sums[s], out[s])
        worked = round_matrix(out[s], shift, s) and worked
    return worked
