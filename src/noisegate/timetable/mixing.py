"""How many different vehicles each cell mixes, in one pass over calls that come in the order of their runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisegate.laws.compiled import compiled
from noisegate.timetable.visits import Ints

#: Cells are counted in a table of this size at most.
_MOST_DENSE = 1 << 26


def vehicles_of_cells(cell: Ints, run: Ints, /) -> tuple[Ints, Ints]:
    """The cells that occur, ascending, and how many different runs each has; `run` must ascend."""
    if not cell.size:
        return cell, cell
    if int(cell.max()) < _MOST_DENSE:
        counts = _counted(cell, run, int(cell.max()) + 1)
        names = np.flatnonzero(counts)
        return names, counts[names].astype(np.int64)
    names, number = np.unique(cell, return_inverse=True)
    return names, _counted(number.astype(np.int64), run, names.size).astype(np.int64)


@compiled
def _counted(cell: Ints, run: Ints, size: int) -> Any:
    counts = np.zeros(size, dtype=np.int32)
    last = np.full(size, -1, dtype=np.int64)
    for i in range(cell.size):
        if last[cell[i]] != run[i]:
            last[cell[i]] = run[i]
            counts[cell[i]] += 1
    return counts
