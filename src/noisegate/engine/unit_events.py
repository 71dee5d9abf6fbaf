"""Events of persons until they are bounded: as words of 64 bits, in memory or in a private file, in parts that hold whole persons.

The source is read once, however many events it has. Some million words at a time (a lot) are put in the order of their persons' parts, by
another thread while further ones are read; a part is then a stretch of each lot. What does not fit into memory is appended to one file
(`spill.SpillPlace`), lot by lot, and a part is read from there. Few events are one part, and no loop is compiled for them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np

from noisegate import limits
from noisegate.engine.session import writing_temporary
from noisegate.engine.spill import SpillPlace
from noisegate.engine.unit_loops import gather, load_loops, pack, spread, spread_pairs
from noisegate.errors import OutputError
from noisegate.tables import Ints

#: Words that are put in order at once, and that a part should hold: as many as a core keeps close.
_LOT, _PART = 1 << 21, 64 << 10
#: Lots that may wait to be put in order: as many as arrive while loops are loaded.
_WAITING = 4
#: Least and most parts, as powers of 2.
_LEAST_BITS, _MOST_BITS = 6, 11


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lot:
    """Words in the order of parts, in memory or from some place of a file on; `ends` where each part ends, in words."""

    words: Ints | _WordFile
    start: int
    ends: Ints
    wide: bool

    def before(self, part: int, /) -> int:
        """How many words come before a part."""
        return int(self.ends[part - 1]) if part else 0

    def stretch(self, first: int, last: int, /) -> Ints:
        """The words of parts that follow each other, without the last one."""
        start, stop = self.before(first), self.before(last)
        if isinstance(self.words, _WordFile):
            return self.words.read(self.start + start, stop - start)
        return self.words[start:stop]


class _WordFile:
    """A private file to which words are appended, and from which several threads read."""

    def __init__(self, path: Path, /) -> None:
        self.size = 0
        with writing_temporary():
            self._handle = os.open(
                path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600
            )

    def append(self, words: Ints, /) -> int:
        """Write words behind all others; where they start."""
        start, left = self.size, words.data.cast("B")
        with writing_temporary():
            while left:
                left = left[os.write(self._handle, left) :]
        self.size += words.size
        return start

    def read(self, start: int, size: int, /) -> Ints:
        """Some words."""
        octets = os.pread(self._handle, 8 * size, 8 * start)
        if len(octets) != 8 * size:
            raise OutputError("A temporary file was cut short by somebody else; start the release again.")
        return np.frombuffer(octets, dtype=np.int64)

    def close(self) -> None:
        os.close(self._handle)


class UnitEvents:
    """Events as pairs of a person and a number, given back in parts that hold whole persons.

    A number holds the day above `cell_bits` of cell. As long as persons lie close enough to the first one, a pair is one word
    of 64 bits from the moment it arrives; one person too far away and all later ones take two. `rows` is how many events there
    will be, as far as known: it decides how many parts there are. To be used as a context, which ends its thread.
    """

    def __init__(self, *, rows: int, place: SpillPlace, cell_bits: int, day_bits: int) -> None:
        self._most = max(2, limits.current().events_at_once)
        # Some lots are being filled or put in order beside those that are held.
        self._lot = min(_LOT, max(2, self._most // 4 * 2))
        self._place = place
        self.cell_bits, self._day_bits = cell_bits, day_bits
        self._low_bits = cell_bits + day_bits
        self._rows = max(rows, 1)
        self._words = np.empty(min(self._rows + self._rows % 2, self._lot), dtype=np.int64)
        self._used = 0
        self._base = 0
        self._begun = self._wide = self._closed = False
        self._bits = min(max((rows // _PART).bit_length(), _LEAST_BITS), _MOST_BITS)
        self._lots: list[_Lot] = []
        self._held = 0
        self._spare = self._words[:0]
        self._file: _WordFile | None = None
        self._other = ThreadPoolExecutor(1)
        self._ordering: deque[Future[Ints]] = deque()
        self._loading: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._other.shutdown(cancel_futures=True)
        if self._file is not None:
            self._file.close()

    def add(self, person: Ints, number: Ints, /) -> None:
        """Append events."""
        if not person.size:
            return
        if not self._begun and self._rows > self._lot:
            self._loading = self._other.submit(load_loops)
        if not self._wide and not self._near(int(person.min()), int(person.max())):
            self._widen()
        each = 1 + self._wide
        start = 0
        while start < person.size:
            if self._used + each > self._words.size:
                self._make_room()
            taken = min(person.size - start, (self._words.size - self._used) // each)
            self._put(person[start : start + taken], number[start : start + taken])
            start += taken

    def take(self, person: Ints, number: Ints, /, *, borders: Ints, outside: Ints) -> bool | None:
        """Append the events of a batch that are inside, if there are many of them and they fit into words; None if a number cannot be.

        One compiled loop instead of many of NumPy. False if it is to be checked and added by `add`; then nothing was counted.
        """
        loading = self._loading is not None and not self._loading.done()
        if self._wide or not self._closed or not person.size or loading:
            return False
        reach = min(limits.current().key_bits - self._low_bits, 62)
        if self._used + person.size > self._words.size:
            self._close_lot()
        if reach < 0 or person.size > self._words.size:
            return False
        counted = outside.copy()
        taken = pack(
            person,
            number,
            self._base,
            1 << reach,
            self._low_bits,
            borders,
            self._words[self._used :],
            counted,
        )
        if taken < 0:
            return False if taken == -1 else None
        outside[:] = counted
        self._used += taken
        return True

    def stretches(self, words: int, /) -> list[tuple[int, int]]:
        """Parts that are taken together, about so many words, if there are compact words alone, else none. No event can be added any more."""
        if self._wide or not self._closed:
            return []
        self._close_lot()
        self._wait()
        return self._cut(words)

    def stretch(self, first: int, last: int, /) -> tuple[Ints, Ints]:
        """The words of some parts, one part after the other and in no order within it, and where each part ends: unit and cell."""
        inside = [lot.ends[first:last] - lot.before(first) for lot in self._lots]
        ends = np.sum(inside, axis=0)
        words = np.empty(int(ends[-1]), dtype=np.int64)
        places = np.concatenate([ends[:0], [0], ends[:-1]])
        for lot, own in zip(self._lots, inside, strict=True):
            gather(lot.stretch(first, last), own, places, words)
        return words, ends

    def unit_keys(self) -> Iterator[UnitKeys]:
        """Unit and cell of all events, sorted; a person is in one part only. To be asked for once."""
        if not self._closed:
            yield self._keys_of(self._words[: self._used], wide=self._wide)
            return
        self._close_lot()
        self._wait()
        self._words = self._words[:0]
        for first, last in self._cut(self._lot):
            kinds = {
                wide: [lot.stretch(first, last) for lot in self._lots if lot.wide == wide]
                for wide in (False, True)
            }
            narrow, broad = (np.concatenate([np.zeros(0, np.int64), *kinds[wide]]) for wide in (False, True))
            if broad.size:
                yield self._keys_of(np.concatenate([self._pairs_of(narrow).ravel(), broad]), wide=True)
            elif narrow.size:
                yield self._keys_of(narrow, wide=False)

    def _cut(self, words: int, /) -> list[tuple[int, int]]:
        """Parts that are taken together: about so many words."""
        ends = np.sum([lot.ends for lot in self._lots], axis=0)
        borders = np.searchsorted(ends, np.arange(words, int(ends[-1]), words)) + 1
        return list(pairwise(np.unique([0, *np.minimum(borders, ends.size).tolist(), ends.size]).tolist()))

    def _near(self, low: int, high: int, /) -> bool:
        """Whether persons between two numbers fit into a word together with a day and a cell."""
        if not self._begun:
            self._base, self._begun = low, True
        reach = limits.current().key_bits - self._low_bits
        return reach >= 0 and low - self._base >= -(1 << reach) and high - self._base < 1 << reach

    def _put(self, person: Ints, number: Ints, /) -> None:
        size = person.size
        if self._wide:
            pairs = self._words[self._used : self._used + 2 * size].reshape(size, 2)
            pairs[:, 0], pairs[:, 1] = person, number
        else:
            words = self._words[self._used : self._used + size]
            np.subtract(person, self._base, out=words)
            words <<= self._low_bits
            words |= number
        self._used += size * (1 + self._wide)

    def _pairs_of(self, words: Ints, /) -> Ints:
        """Person and number, row by row, of words that hold both."""
        pairs = np.empty((words.size, 2), dtype=np.int64)
        np.right_shift(words, self._low_bits, out=pairs[:, 0])
        pairs[:, 0] += self._base
        np.bitwise_and(words, (1 << self._low_bits) - 1, out=pairs[:, 1])
        return pairs

    def _keys_of(self, words: Ints, /, *, wide: bool) -> UnitKeys:
        """The keys of words, which are used up."""
        if not wide:
            words.sort()
            return UnitKeys(keys=words, cell_bits=self.cell_bits)
        person, number = words.reshape(-1, 2).T.copy()
        return UnitKeys.of(person, number, cell_bits=self.cell_bits, day_bits=self._day_bits)

    def _widen(self) -> None:
        """Take two words for each event from now on; few events so far take two as well, and stay one part."""
        if self._closed or 2 * self._used > self._lot:
            self._close_lot()
        else:
            words = np.empty(self._lot - self._lot % 2, dtype=np.int64)
            words[: 2 * self._used] = self._pairs_of(self._words[: self._used]).ravel()
            self._words, self._used = words, 2 * self._used
        self._wide = True

    def _make_room(self) -> None:
        if self._words.size < self._lot - 1:  # the guess was too low
            words = np.empty(min(2 * self._words.size, self._lot), dtype=np.int64)
            words[: self._used] = self._words[: self._used]
            self._words = words
            return
        self._close_lot()

    def _close_lot(self) -> None:
        """Let the other thread put in order what was filled; a buffer that it has done with is filled next."""
        if not self._used:
            return
        rows = self._words[: self._used].reshape(-1, 1 + self._wide)
        self._closed = True
        self._ordering.append(self._other.submit(self._order, self._words, rows, wide=self._wide))
        ready = len(self._ordering) > _WAITING or self._ordering[0].done()
        free = self._ordering.popleft().result() if ready else self._words[:0]
        self._words = np.empty(self._lot, dtype=np.int64) if free.size < self._lot else free
        self._used = 0

    def _wait(self) -> None:
        """Wait until all is in order."""
        while self._ordering:
            self._ordering.popleft().result()

    def _order(self, buffer: Ints, rows: Ints, /, *, wide: bool) -> Ints:
        """Put rows in the order of their parts and keep them, in memory or in the file; gives the buffer back."""
        held = self._held + rows.size <= self._most
        found = np.empty_like(rows) if held else self._spare_of(rows)
        ends = np.empty(1 << self._bits, dtype=np.int64)
        words = found.ravel()
        if wide:
            spread_pairs(rows, self._bits, found, ends)
        else:
            spread(rows.ravel(), self._low_bits, self._base, self._bits, words, ends)
        ends *= rows.shape[1]
        if held:
            self._held += words.size
            self._lots.append(_Lot(words=words, start=0, ends=ends, wide=wide))
            return buffer
        if self._file is None:
            self._file = _WordFile(self._place.file())
        start = self._file.append(words)
        self._lots.append(_Lot(words=self._file, start=start, ends=ends, wide=wide))
        return buffer

    def _spare_of(self, rows: Ints, /) -> Ints:
        """Room for rows that go to the file, the same each time: memory that is touched for the first time is slow."""
        if self._spare.size < rows.size:
            self._spare = np.empty(rows.size, dtype=np.int64)
        return self._spare[: rows.size].reshape(rows.shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitKeys:
    """Unit and cell of each event in one number, ascending; `cells` names the cells if the low bits only number them."""

    keys: Ints
    cell_bits: int
    cells: Ints | None = None

    def named(self, cells: Ints, /) -> Ints:
        """The cells that low bits stand for."""
        return cells if self.cells is None else self.cells[cells]

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
