"""Adding up cells: in an array as long as the domain if that is short, else in sorted runs (`spill.CellRuns`).

Both give the same; the array is twice as fast where it fits, sorting does not care how large the
domain is, and goes to disk when memory is full.

One growing array for numbers that arrive in batches.

Memory that is touched for the first time is slow, so batches are copied into one array as they come
and given back at once, instead of being kept until all are there.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.engine.spill import CellRuns, RawSlice, SpillPlace
from noisegate.engine.unit_loops import add_ones


class Accumulator(Protocol):
    """Counts how often each cell was added; likes to be given about `at_once` of them at a time."""

    at_once: int

    def add(self, cells: NDArray[Any], /) -> None:
        """Add one to each of these cells, as often as it is there; may use up the array."""

    def slices(self) -> list[RawSlice]:
        """The cells that were added and how often, in stretches that make up the domain."""


def accumulator(*, cells: int, place: SpillPlace) -> Accumulator:
    """An accumulator for a domain of so many cells."""
    if cells <= limits.current().dense_cells:
        return DenseAccumulator(cells=cells)
    return CellRuns(cells=cells, place=place)


class DenseAccumulator:
    """Counts in an array as long as the domain."""

    at_once = 1 << 22

    def __init__(self, *, cells: int) -> None:
        self._counts = np.zeros(cells, dtype=np.int64)

    def add(self, cells: NDArray[Any], /, *, compiled: bool = False) -> None:
        """Add one to each of these cells, as often as it is there; by a loop that is `compiled`, if that is loaded anyway."""
        if compiled:
            add_ones(self._counts, cells)
        elif cells.size < self._counts.size // 4:
            np.add.at(self._counts, cells, 1)
        else:
            self._counts += np.bincount(cells, minlength=self._counts.size)

    def slices(self) -> list[RawSlice]:
        """The cells that were added and how often, as one slice."""
        return [RawSlice.whole(self._counts)]


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
