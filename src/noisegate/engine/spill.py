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
    """Events as pairs of a person and a number, given back as keys in parts that hold whole persons.

    A number holds the day above `cell_bits` of cell. As long as persons lie close enough to the first one, a pair is one word
    of 64 bits from the moment it arrives; one person too far away and all later ones take two. `rows` is how many events there
    will be, as far as known: it decides how many files there are should they not fit.
    """

    def __init__(self, *, rows: int, place: SpillPlace, cell_bits: int, day_bits: int) -> None:
        self._most = max(2, limits.current().events_at_once)
        self._place = place
        self._rows, self._cell_bits, self._day_bits = max(rows, 1), cell_bits, day_bits
        self._low_bits = cell_bits + day_bits
        self._words = np.empty(min(self._rows, self._most), dtype=np.int64)
        self._held = 0
        self._base = 0
        self._begun = False
        self._wide = False
        # Half full on average, as some persons have many events and the number of rows is a guess for some sources.
        self._bits = min(max((2 * rows // self._most).bit_length(), 4), 8)
        self._files: dict[bool, list[Path]] = {}

    def add(self, person: Ints, number: Ints, /) -> None:
        """Append events."""
        if not person.size:
            return
        if not self._wide and not self._near(int(person.min()), int(person.max())):
            self._widen()
        each = 1 + self._wide
        start = 0
        while start < person.size:
            if self._held + each > self._words.size:
                self._make_room()
            taken = min(person.size - start, (self._words.size - self._held) // each)
            self._put(person[start : start + taken], number[start : start + taken])
            start += taken

    def unit_keys(self) -> Iterator[UnitKeys]:
        """Unit and cell of all events; a person is in one part only. To be asked for once."""
        if not self._files:
            yield self._keys_of(self._words[: self._held])
            return
        self._write()
        self._words = self._words[:0]
        for part in range(1 << self._bits):
            read = {}
            for wide, paths in self._files.items():
                read[wide] = np.fromfile(paths[part], dtype=np.int64)
                paths[part].unlink()
            if len(read) == 1:
                (words,) = read.values()
            else:
                self._wide, words = True, np.concatenate([self._pairs_of(read[False]).ravel(), read[True]])
            if words.size:
                yield self._keys_of(words)

    def _near(self, low: int, high: int, /) -> bool:
        """Whether persons between two numbers fit into a word together with a day and a cell."""
        if not self._begun:
            self._base, self._begun = low, True
        reach = limits.current().key_bits - self._low_bits
        return reach >= 0 and low - self._base >= -(1 << reach) and high - self._base < 1 << reach

    def _put(self, person: Ints, number: Ints, /) -> None:
        size = person.size
        if self._wide:
            pairs = self._words[self._held : self._held + 2 * size].reshape(size, 2)
            pairs[:, 0], pairs[:, 1] = person, number
        else:
            words = self._words[self._held : self._held + size]
            np.subtract(person, self._base, out=words)
            words <<= self._low_bits
            words |= number
        self._held += size * (1 + self._wide)

    def _pairs_of(self, words: Ints, /) -> Ints:
        """Person and number, row by row, of words that hold both."""
        pairs = np.empty((words.size, 2), dtype=np.int64)
        np.right_shift(words, self._low_bits, out=pairs[:, 0])
        pairs[:, 0] += self._base
        np.bitwise_and(words, (1 << self._low_bits) - 1, out=pairs[:, 1])
        return pairs

    def _keys_of(self, words: Ints, /) -> UnitKeys:
        """The keys of words, which are used up."""
        if not self._wide:
            words.sort()
            return UnitKeys(keys=words, cell_bits=self._cell_bits)
        person, number = words.reshape(-1, 2).T.copy()
        return UnitKeys.of(person, number, cell_bits=self._cell_bits, day_bits=self._day_bits)

    def _widen(self) -> None:
        """Take two words for each event from now on."""
        held = self._words[: self._held]
        if 2 * self._held > self._most:
            self._write()
            held = held[:0]
        size = min(max(2 * self._rows, 2 * held.size), self._most)
        words = np.empty(size - size % 2, dtype=np.int64)
        words[: 2 * held.size] = self._pairs_of(held).ravel()
        self._words, self._held, self._wide = words, 2 * held.size, True

    def _make_room(self) -> None:
        size = self._words.size
        if size < self._most - 1:  # the guess was too low
            grown = min(2 * size, self._most)
            words = np.empty(grown - grown % (1 + self._wide), dtype=np.int64)
            words[: self._held] = self._words[: self._held]
            self._words = words
            return
        self._write()

    def _write(self) -> None:
        """Append what is held to the files, one for each part of the persons."""
        if self._wide not in self._files:
            self._files[self._wide] = [self._place.file() for _ in range(1 << self._bits)]
            for path in self._files[self._wide]:
                path.touch(mode=0o600)
        rows = self._words[: self._held].reshape(-1, 1 + self._wide)
        with ExitStack() as stack:
            files: list[BinaryIO] = [stack.enter_context(path.open("ab")) for path in self._files[self._wide]]
            for start in range(0, len(rows), 1 << 20):
                self._scatter(rows[start : start + (1 << 20)], files)
        self._held = 0

    def _scatter(self, rows: Ints, files: list[BinaryIO], /) -> None:
        person = rows[:, 0].copy() if self._wide else (rows[:, 0] >> self._low_bits) + self._base
        part = _mixed(person, bits=self._bits)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=len(files)))
        spread = rows[order]
        for file, (start, end) in zip(files, pairwise([0, *ends.tolist()]), strict=True):
            if end > start:
                file.write(spread[start:end].tobytes())


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
