"""One growing array for numbers that arrive in batches.

Memory that is touched for the first time is slow, so batches are copied into one array as they come
and given back at once, instead of being kept until all are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Buffer:
    """An array of integers that grows; `expected` is how many there will be, as far as known."""

    def __init__(self, *, expected: int) -> None:
        self._expected = max(expected, 1)
        self._array: NDArray[Any] = np.zeros(0, dtype=np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, batch: NDArray[Any], /) -> None:
        """Append a batch; the first one decides the type."""
        end = self._size + batch.size
        if end > self._array.size:
            room = self._expected if end <= self._expected else end + end // 2
            array = np.empty(room, dtype=batch.dtype)
            array[: self._size] = self._array[: self._size]
            self._array = array
        self._array[self._size : end] = batch
        self._size = end

    def view(self) -> NDArray[Any]:
        """All numbers so far, in place."""
        return self._array[: self._size]

    def clear(self) -> None:
        """Forget the numbers and keep the room."""
        self._size = 0
