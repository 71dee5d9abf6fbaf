"""What counting puts on disk when it does not fit into memory: here, counts by cell.

Everything lies in one directory that only this user can enter (`session.private_folder`), made when the first byte has to be
written and removed at the end. `UnitEvents` (in `unit_events`) puts events there, in the order of their persons; `CellRuns` keeps sorted
runs of (cell, count) and merges them stretch by stretch. Memory is bounded by limits, not by events, persons or cells.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from noisegate import limits
from noisegate.engine.bounding import add_counts, count_runs, run_starts
from noisegate.engine.session import private_folder, writing_temporary
from noisegate.tables import Ints

#: Between two cells that are remembered of a run: slices are cut at remembered cells.
_REMEMBERED = 1 << 10


class SpillPlace:
    """A private directory that is made when somebody asks for a file in it; `stack` removes it."""

    def __init__(self, stack: ExitStack, /) -> None:
        self._stack = stack
        self._folder: Path | None = None
        self._files = 0

    @property
    def used(self) -> bool:
        """Whether anything was put there."""
        return self._folder is not None

    def file(self) -> Path:
        """The path of a new file."""
        if self._folder is None:
            self._folder = self._stack.enter_context(private_folder())
        self._files += 1
        return self._folder / f"{self._files:06d}.spill"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawSlice:
    """The raw counts of a stretch of cells, in memory or in files; `repr` shows none of them.

    `dense` has the count of every cell, zeros included, if they are held so; then nothing else is.
    """

    start: int
    stop: int
    _cells: Ints | Path = field(repr=False)
    _counts: Ints | Path = field(repr=False)
    _span: tuple[int, int] = field(default=(0, 0), repr=False)
    dense: Ints | None = field(default=None, repr=False)

    def read(self) -> tuple[Ints, Ints]:
        """The cells with a count, in ascending order, and their counts."""
        if self.dense is not None:
            cells = np.flatnonzero(self.dense)
            return (cells + self.start if self.start else cells), self.dense[cells]
        first, last = self._span
        return tuple(  # type: ignore[return-value]
            np.fromfile(one, dtype=np.int64, offset=8 * first, count=last - first)
            if isinstance(one, Path)
            else one
            for one in (self._cells, self._counts)
        )

    @classmethod
    def held(cls, size: int, cells: Ints, counts: Ints, /) -> RawSlice:
        """All cells of a domain, in memory."""
        return cls(start=0, stop=size, _cells=cells, _counts=counts)

    @classmethod
    def whole(cls, counts: Ints, /) -> RawSlice:
        """All cells of a domain, in memory, each with its count."""
        nothing = counts[:0]
        return cls(start=0, stop=counts.size, _cells=nothing, _counts=nothing, dense=counts)


class CellRuns:
    """Adds up counts of cells that come in any order; what does not fit into memory becomes sorted runs on disk."""

    at_once = 1 << 23

    def __init__(self, *, cells: int, place: SpillPlace) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        self._size, self._place = cells, place
        self._most = limits.current().pairs_at_once
        self._table: tuple[Ints, Ints] = (nothing, nothing)
        self._runs: list[tuple[Path, Path, int, Ints]] = []

    def add(self, cells: Ints, /) -> None:
        """Add one to each of these cells, as often as it is there; sorts them in place."""
        if cells.size and cells.dtype == np.int64 and int(cells.max()) < 2**31:
            cells = cells.astype(np.int32)
        cells.sort()
        found, counts = count_runs(cells)
        self.add_counts(found.astype(np.int64), counts)

    def add_counts(self, cells: Ints, counts: Ints, /) -> None:
        """Add counts to cells in ascending order, each there once."""
        if not cells.size:
            return
        if self._table[0].size and self._table[0].size + cells.size > self._most:
            self._write_run()
        self._table = add_counts(self._table, (cells, counts))

    def slices(self) -> list[RawSlice]:
        """The counts of all cells, in stretches that follow each other from 0 to the size of the domain."""
        if not self._runs:
            return [RawSlice.held(self._size, *self._table)]
        self._write_run()
        cells_at, counts_at = self._place.file(), self._place.file()
        found, written = [], 0
        with writing_temporary(), cells_at.open("wb") as to_cells, counts_at.open("wb") as to_counts:
            for start, stop in pairwise(self._borders()):
                cells, counts = self._merged(start, stop)
                to_cells.write(cells.tobytes())
                to_counts.write(counts.tobytes())
                span = (written, written + cells.size)
                found.append(RawSlice(start=start, stop=stop, _cells=cells_at, _counts=counts_at, _span=span))
                written += cells.size
        for one in self._runs:
            one[0].unlink()
            one[1].unlink()
        return found

    def _write_run(self) -> None:
        cells, counts = self._table
        paths = self._place.file(), self._place.file()
        with writing_temporary():
            cells.tofile(paths[0])
            counts.tofile(paths[1])
        self._runs.append((*paths, cells.size, cells[::_REMEMBERED].copy()))
        self._table = (cells[:0], counts[:0])

    def _borders(self) -> list[int]:
        """Cells at which the domain is cut, so that about as many pairs lie between two as fit into memory."""
        remembered = np.sort(np.concatenate([one[3] for one in self._runs]))
        step = max(1, self._most // (2 * _REMEMBERED))
        inner = np.unique(remembered[step::step]).tolist()
        return sorted({0, *(int(cell) for cell in inner if 0 < cell < self._size), self._size})

    def _merged(self, start: int, stop: int, /) -> tuple[Ints, Ints]:
        """The counts between two cells, added up over all runs."""
        parts: list[tuple[Ints, Ints]] = []
        for cells_at, counts_at, size, _ in self._runs:
            run = np.memmap(cells_at, dtype=np.int64, mode="r", shape=(size,))
            first, last = np.searchsorted(run, [start, stop]).tolist()
            counts = np.fromfile(counts_at, dtype=np.int64, offset=8 * first, count=last - first)
            parts.append((np.array(run[first:last]), counts))
        cells = np.concatenate([one for one, _ in parts])
        order = np.argsort(cells, kind="stable")
        cells, counts = cells[order], np.concatenate([one for _, one in parts])[order]
        starts = run_starts(cells)
        if not starts.size:
            return cells, counts
        return cells[starts], np.add.reduceat(counts, starts)
