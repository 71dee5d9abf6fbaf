"""What the workers of a cluster do: bound what units add, add up cells, draw noise. No person leaves them.

These functions run in Python on the workers, on the rows of one partition, as Arrow batches. What they give back is written by the
task that ran them, and only one attempt of a task is ever committed (docs/proofs/sliced-noise.md): so lots and noise are
drawn in the very task that commits them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from noisegate.engine.bounding import bound_events, count_runs, run_starts
from noisegate.engine.sliced import NoiseWork, noisy_slices
from noisegate.engine.spill import RawSlice
from noisegate.engine.unit_events import UnitKeys
from noisegate.errors import DataError, InternalError
from noisegate.laws import Entropy, OsNoise, SeededNoise
from noisegate.spec import ContributionBound
from noisegate.tables import Ints, Margin, Mask

#: Rows of a batch that a worker hands on.
_BATCH = 1 << 18
#: What is tallied beside reasons, below their numbers.
REPEATED, BEYOND, EVENTS = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEntropy:
    """Where a worker's randomness comes from: the operating system, or a seed for simulations."""

    seed: int | None = None

    @classmethod
    def of(cls, entropy: Entropy, /) -> WorkerEntropy:
        """The same kind of source for workers; a seeded one gives them a seed."""
        return cls(seed=int(entropy.words64(1)[0])) if entropy.simulated else cls()

    def at(self, part: int, /) -> Entropy:
        """The source of one task."""
        return OsNoise() if self.seed is None else SeededNoise(seed=(self.seed + part) % 2**64)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWork:
    """How the events of whole persons become counts: `person` and `key` come in, `cell` and `count` go out.

    A key is the day above `cell_bits` of cell, or the negative number of a reason. Tallies go out as cells below 0.
    """

    bound: ContributionBound
    cells: int
    cell_bits: int
    days: int
    reasons: int
    entropy: WorkerEntropy

    def __call__(self, batches: Iterable[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The counts of one partition."""
        keys, persons = [], []
        for batch in batches:
            keys.append(batch.column("key"))
            persons.append(batch.column("person"))
        if keys:
            yield from as_batches(*self.bounded(pa.chunked_array(persons), pa.chunked_array(keys)))

    def bounded(self, persons: pa.ChunkedArray, keys: pa.ChunkedArray, /) -> tuple[Ints, Ints]:
        """The cells of one partition and their counts, tallies included."""
        key = whole_numbers(keys)
        if key.size and not (key.min() >= -self.reasons and key.max() < self.days << self.cell_bits):
            raise DataError("the engine answers with cells or days that do not exist")
        inside = key >= 0
        tally = count_runs(np.sort(key[~inside]))
        units = UnitKeys.of(
            _numbered(persons, inside),
            key[inside],
            cell_bits=self.cell_bits,
            day_bits=(self.days - 1).bit_length(),
        )
        kept = bound_events(
            units.keys, cell_bits=units.cell_bits, bound=self.bound, entropy=self.entropy.at(_part())
        )
        cells = kept.cells if units.cells is None else units.cells[kept.cells]
        if cells.size and cells.max() >= self.cells:
            raise DataError("the engine answers with cells that do not exist")
        found, counts = count_runs(np.sort(cells))
        below = -self.reasons - np.array([REPEATED, BEYOND])
        said = np.array([kept.repeated, kept.beyond])
        return np.concatenate([tally[0], below, found]), np.concatenate([tally[1], said, counts])


def _numbered(persons: pa.ChunkedArray, inside: Mask, /) -> Ints:
    """A number for each person, exact; those of whole numbers are themselves."""
    if pa.types.is_integer(persons.type):
        every: Ints = np.asarray(persons.fill_null(0).to_numpy(), dtype=np.int64)
        return every[inside]
    found = persons.combine_chunks().dictionary_encode()
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    codes: Ints = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)[inside]
    if codes.size and codes.min() < 0:
        raise InternalError("an event inside has no person")
    return codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginWork:
    """How cells of the base become cells of a margin, added up within the partition."""

    margin: Margin
    adds: str = "count"

    def __call__(self, batches: Iterable[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The counts of one partition, by cells of the margin."""
        for batch in batches:
            yield from as_batches(
                *added_up(self.margin.of(numbers(batch.column("cell"))), numbers(batch.column(self.adds)))
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSum:
    """The sums of one slice of a margin: `cell` and `count` come in, `cell` and `value` go out, ascending; those of 0 only if `whole`."""

    whole: bool

    def __call__(self, batches: Iterable[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The summed cells of one slice."""
        rows = [(numbers(one.column("cell")), numbers(one.column("count"))) for one in batches]
        if not rows:
            return
        cells, sums = added_up(*(np.concatenate(column) for column in zip(*rows, strict=True)))
        there = sums != 0
        if self.whole:
            there[:] = True
        yield from as_batches(cells[there], sums[there], names=("cell", "value"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SliceNoise:
    """Noise for one slice: `cell` and `count` come in, `cell` and noisy `value` go out, ascending.

    Every slice has a row without a count at its first cell, so that empty slices are drawn like all others.
    """

    work: NoiseWork
    width: int
    entropy: WorkerEntropy

    def __call__(self, batches: Iterable[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The noisy cells of one slice."""
        rows = [(numbers(one.column("cell")), numbers(one.column("count"))) for one in batches]
        if not rows:
            return
        cells, counts = added_up(*(np.concatenate(column) for column in zip(*rows, strict=True)))
        for number in np.unique(cells // self.width).tolist():
            yield from self._slice(number, cells, counts)

    def _slice(self, number: int, cells: Ints, counts: Ints, /) -> Iterator[pa.RecordBatch]:
        start, stop = number * self.width, min((number + 1) * self.width, self.work.cells)
        if number < 0 or start >= self.work.cells:
            raise DataError("the engine answers with cells that do not exist")
        first, last = np.searchsorted(cells, [start, stop]).tolist()
        there = counts[first:last] > 0
        raw = RawSlice(
            start=start, stop=stop, _cells=cells[first:last][there], _counts=counts[first:last][there]
        )
        for part in noisy_slices(raw, self.work, entropy=self.entropy.at(number)):
            yield from as_batches(part.cells, part.values, names=("cell", "value"))


def added_up(cells: Ints, counts: Ints, /) -> tuple[Ints, Ints]:
    """Distinct cells in ascending order, and the sums of their counts."""
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    starts = run_starts(cells)
    return cells[starts], np.add.reduceat(counts, starts) if starts.size else counts


def as_batches(
    cells: Ints, values: Ints, /, *, names: tuple[str, str] = ("cell", "count")
) -> Iterator[pa.RecordBatch]:
    """Two columns as batches of a moderate length."""
    for start in range(0, cells.size, _BATCH):
        part = slice(start, start + _BATCH)
        yield pa.RecordBatch.from_arrays(
            [pa.array(cells[part], pa.int64()), pa.array(values[part], pa.int64())], names=list(names)
        )


def whole_numbers(column: pa.ChunkedArray, /) -> Ints:
    """A column of whole numbers without gaps."""
    if column.null_count:
        raise DataError("the engine answers with a missing number")
    return np.array(column.to_numpy(), dtype=np.int64)


def numbers(column: pa.Array, /) -> Ints:
    """The same for an array."""
    return whole_numbers(pa.chunked_array([column]))


def _part() -> int:
    """The number of the partition that this task works on; 0 outside of a cluster."""
    try:
        from pyspark import TaskContext
    except ImportError:
        return 0
    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())
