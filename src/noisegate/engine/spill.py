"""What counting puts on disk when it does not fit into memory: events by person, and counts by cell.

Everything lies in one directory that only this user can enter (`session.private_folder`), made when the first byte has to be
written and removed at the end. The source is read once, however many events it has: `UnitEvents` spreads them over files by
person, so that each file holds whole persons and fits into memory; `CellRuns` keeps sorted runs of (cell, count) and merges
them stretch by stretch. Memory is bounded by limits, not by events, persons or cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from noisegate import limits
from noisegate.engine.bounding import add_counts, count_runs, run_starts
from noisegate.engine.session import private_folder
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


class UnitEvents:
    """Events as pairs of a person and a number, given back in parts that hold whole persons.

    `rows` is how many there will be, as far as known: it decides how many files there are should they not fit.
    """

    def __init__(self, *, rows: int, place: SpillPlace) -> None:
        self._most = limits.current().events_at_once
        self._place = place
        self._pairs = np.empty((2, min(max(rows, 1), self._most)), dtype=np.int64)
        self._held = 0
        # Half full on average, as some persons have many events and the number of rows is a guess for some sources.
        wanted = max(1, 2 * rows // max(self._most, 1))
        self._bits = min(max(wanted.bit_length(), 4), 8)
        self._paths: list[Path] = []

    def add(self, person: Ints, number: Ints, /) -> None:
        """Append events."""
        start = 0
        while start < person.size:
            if self._held == self._pairs.shape[1]:
                self._make_room()
            taken = min(person.size - start, self._pairs.shape[1] - self._held)
            part = slice(self._held, self._held + taken)
            self._pairs[0, part] = person[start : start + taken]
            self._pairs[1, part] = number[start : start + taken]
            self._held, start = self._held + taken, start + taken

    def parts(self) -> Iterator[tuple[Ints, Ints]]:
        """Persons and numbers, which the caller may use up; a person is in one part only. To be asked for once."""
        if not self._paths:
            yield self._pairs[0, : self._held], self._pairs[1, : self._held]
            return
        self._write()
        self._pairs = np.empty((2, 0), dtype=np.int64)
        for path in self._paths:
            pairs = np.fromfile(path, dtype=np.int64).reshape(-1, 2)
            path.unlink()
            if pairs.size:
                yield pairs[:, 0].copy(), pairs[:, 1].copy()

    def _make_room(self) -> None:
        size = self._pairs.shape[1]
        if size < self._most:  # the guess was too low
            pairs = np.empty((2, min(2 * size, self._most)), dtype=np.int64)
            pairs[:, :size] = self._pairs
            self._pairs = pairs
            return
        self._write()

    def _write(self) -> None:
        """Append what is held to the files, one for each part of the persons."""
        if not self._paths:
            self._paths = [self._place.file() for _ in range(1 << self._bits)]
        with ExitStack() as stack:
            files: list[BinaryIO] = [stack.enter_context(path.open("ab")) for path in self._paths]
            for start in range(0, self._held, 1 << 20):
                self._scatter(self._pairs[:, start : min(start + (1 << 20), self._held)], files)
        self._held = 0

    def _scatter(self, pairs: Ints, files: list[BinaryIO], /) -> None:
        part = _mixed(pairs[0], bits=self._bits)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=len(files)))
        rows = np.ascontiguousarray(pairs.T[order])
        for file, (start, end) in zip(files, pairwise([0, *ends.tolist()]), strict=True):
            if end > start:
                file.write(rows[start:end].tobytes())


def _mixed(person: Ints, /, *, bits: int) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    """A part for each person: the high bits of a product, so that numbers in a row spread evenly."""
    word = person.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xD6E8FEB86659FD93)
    return (word >> np.uint64(64 - bits)).astype(np.uint16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitKeys:
    """Unit and cell of each event in one number, ascending; `cells` names the cells if the low bits only number them."""

    keys: Ints
    cell_bits: int
    cells: Ints | None = None

    @classmethod
    def of(cls, person: Ints, number: Ints, /, *, cell_bits: int, day_bits: int) -> UnitKeys:
        """The keys of some whole persons; `number` holds the day above `cell_bits` of cell. Uses up both.

        Persons are told apart exactly: counted from the smallest, or numbered in order if they are spread too widely.
        """
        room = limits.current().key_bits
        low_bits = cell_bits + day_bits
        if not person.size:
            return cls(keys=person, cell_bits=cell_bits)
        low, high = int(person.min()), int(person.max())
        cells: Ints | None = None
        if (high - low).bit_length() + low_bits > room:
            found, place = np.unique(person, return_inverse=True)
            person, low = place.astype(np.int64, copy=False), 0
            if (found.size - 1).bit_length() + low_bits > room:
                cells, place = np.unique(number & ((1 << cell_bits) - 1), return_inverse=True)
                number >>= cell_bits
                cell_bits = max(1, (cells.size - 1).bit_length())
                number = (number << cell_bits) | place
                low_bits = cell_bits + day_bits
        if low:
            person -= low
        person <<= low_bits
        person |= number
        person.sort()
        return cls(keys=person, cell_bits=cell_bits, cells=cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawSlice:
    """The raw counts of a stretch of cells, in memory or in files; `repr` shows none of them."""

    start: int
    stop: int
    _cells: Ints | Path = field(repr=False)
    _counts: Ints | Path = field(repr=False)
    _span: tuple[int, int] = field(default=(0, 0), repr=False)

    def read(self) -> tuple[Ints, Ints]:
        """The cells with a count, in ascending order, and their counts."""
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
        with cells_at.open("wb") as to_cells, counts_at.open("wb") as to_counts:
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
