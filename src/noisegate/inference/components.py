"""What hangs together through pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def components(left: Ints, right: Ints, size: int, /) -> Ints:
    """For each of `size` things the number of the group it belongs to, when pairs tie their groups together.

    Examples
    --------
    >>> components(np.array([0, 3]), np.array([2, 4]), 5).tolist()
    [0, 1, 0, 2, 2]
    """
    # Takes long to load, and small tables need none of it.
    from scipy import sparse

    graph = sparse.coo_array((np.ones(len(left), np.int8), (left, right)), shape=(size, size))
    return np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)
