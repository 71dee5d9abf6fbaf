"""Counting with DuckDB: one query turns every event into one integer.

DuckDB reads the files, looks values up in small tables and does the arithmetic on all cores; what
leaves it is a stream of integers. Sorting them and drawing lots is NumPy's (`bounding`), because
DuckDB's own distinct counts and window functions take several times as long (docs/adr/005).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisegate import limits
from noisegate.engine.accumulator import Buffer, accumulator
from noisegate.engine.bounding import (
    Bounded,
    People,
    bound_events,
    count_runs,
    expect_events,
    numbered_people,
    run_starts,
)
from noisegate.engine.cell_sql import CellSql, cell_sql
from noisegate.engine.counts import Clipping, Counts, ExpectedCounts, Tally
from noisegate.engine.plan import CellPlan, CountPlan, plan_cells
from noisegate.engine.source import Source, open_source, quoted, reading
from noisegate.errors import DataError, SpecError
from noisegate.laws import Entropy
from noisegate.tables import Ints

Progress = Callable[[int], None]


def count_with_duckdb(
    wanted: CountPlan,
    connection: duckdb.DuckDBPyConnection,
    /,
    *,
    own: bool,
    entropy: Entropy,
    progress: Progress | None,
) -> Counts:
    """The counts of a plan; `own` says that the connection has no tables besides ours."""
    counter = _Counter(wanted, _source(wanted, connection, own=own), progress)
    if wanted.bound is None:
        counter.count_rows(connection)
    else:
        for keys, cell_bits in _unit_keys(wanted, connection, counter):
            told = wanted.clipping
            counter.add(
                bound_events(keys, cell_bits=cell_bits, bound=wanted.bound, entropy=entropy, clipping=told)
            )
    return counter.finish()


def expect_with_duckdb(
    wanted: CountPlan, connection: duckdb.DuckDBPyConnection, /, *, own: bool
) -> ExpectedCounts:
    """The mean of what `count_with_duckdb` gives, over the lots that it draws."""
    counter = _Counter(wanted, _source(wanted, connection, own=own), None)
    if wanted.bound is None:
        counter.count_rows(connection)
        counts = counter.finish()
        return ExpectedCounts.sure_of(counts.cells, counts.raw_counts)
    parts = [
        expect_events(keys, cell_bits=cell_bits, bound=wanted.bound)
        for keys, cell_bits in _unit_keys(wanted, connection, counter)
    ]
    counter.finish()
    return ExpectedCounts.sum_of(parts)


def sizes_with_duckdb(wanted: CountPlan, connection: duckdb.DuckDBPyConnection, /, *, own: bool) -> Ints:
    """How many cells each unit is in."""
    counter = _Counter(wanted, _source(wanted, connection, own=own), None)
    found = [np.zeros(0, dtype=np.int64)]
    for keys, cell_bits in _unit_keys(wanted, connection, counter):
        found.append(count_runs(keys[run_starts(keys)] >> cell_bits)[1])
    counter.finish()
    return np.concatenate(found)


def _source(wanted: CountPlan, connection: duckdb.DuckDBPyConnection, /, *, own: bool) -> Source:
    if isinstance(wanted.source, Source):
        return wanted.source
    columns = {dimension.column for dimension in wanted.dimensions.values()}
    columns |= {column for column in (wanted.person, wanted.weight) if column is not None}
    return open_source(wanted.source, connection, folder=wanted.folder, own=own, wanted=columns)


def _unit_keys(
    wanted: CountPlan, connection: duckdb.DuckDBPyConnection, counter: _Counter, /
) -> Iterator[tuple[Ints, int]]:
    """Unit and cell of all events inside, in as many passes as memory and the width of a key ask for.

    A unit is in one pass only. With the keys comes how many of their low bits are the cell.
    """
    cell_bits = (wanted.domain.size - 1).bit_length()
    days = wanted.day.days if wanted.unit == "person-day" and wanted.day else 1
    room = 2 ** (limits.current().key_bits - cell_bits) // days
    assert wanted.person is not None
    with (
        numbered_people(counter.source, wanted.person, connection=connection, most=room) as people,
        cell_sql(wanted, counter.plan, counter.source, connection=connection, person=people.column) as sql,
    ):
        passes = max(
            1,
            -(-counter.source.rows // limits.current().events_at_once),
            -(-people.size // room) if room else limits.current().counting_passes + 1,
        )
        if passes > limits.current().counting_passes:
            raise SpecError(
                f"The domain has {wanted.domain.size:.3g} cells, too many to bound what a {wanted.unit} adds; "
                "merge some values."
            )
        for part in range(passes):
            query = _key_query(
                sql, people, counter.plan, cell_bits=cell_bits, days=days, part=part, passes=passes
            )
            units = ((people.size - 1) // passes + 1) * days
            answer = _Answer(
                query, sql, counter.plan, cells=wanted.domain.size, cell_bits=cell_bits, units=units
            )
            yield counter.keys(connection, answer, passes=passes), cell_bits


def _key_query(
    sql: CellSql, people: People, plan: CellPlan, /, *, cell_bits: int, days: int, part: int, passes: int
) -> str:
    """SQL for unit and cell in one number, for the persons of one pass."""
    unit = f"({people.number} // {passes})" if passes > 1 else people.number
    if days > 1:
        unit = f"({unit} * {days} + {sql.day})"
    nobody = next(plan.code(reason) for reason in plan.reasons if reason.cause == "person")
    key = f"coalesce({unit} * {2**cell_bits}::BIGINT + {sql.cell}, {sql.why}, {nobody})::BIGINT"
    where = f" WHERE coalesce({people.number}, 0) % {passes} = {part}" if passes > 1 else ""
    return f"SELECT {', '.join([key, *(value for value, _ in sql.checked)])} FROM {sql.events}{people.join}{where}"  # noqa: S608 - built from quoted parts


class _Answer:
    """A query whose first column are numbers of cells, or of units and cells, and the check of what it answers.

    Whatever the engine was led to believe about a file, nothing that lies outside of the domain becomes a cell here.
    """

    def __init__(
        self, query: str, sql: CellSql, plan: CellPlan, /, *, cells: int, cell_bits: int = 62, units: int = 1
    ) -> None:
        self.query = query
        self._sizes = [size for _, size in sql.checked]
        self._reasons = len(plan.reasons)
        self._cells, self._mask, self._most = cells, (1 << cell_bits) - 1, units << cell_bits

    def numbers(self, batch: pa.RecordBatch, /, *, name: str) -> NDArray[Any]:
        """The first column of a batch; refuses numbers that are no cell, no unit, no reason."""
        column = batch.column(0)
        if column.null_count:
            raise _disbelieved(name)
        numbers: NDArray[Any] = column.to_numpy()
        if not numbers.size:
            return numbers
        least = int(numbers.min())
        fine = least >= -self._reasons and int(numbers.max()) < self._most
        inside = None if least >= 0 else numbers >= 0
        cells = numbers if inside is None else numbers[inside]
        if self._mask < np.iinfo(numbers.dtype).max:
            cells = cells & self._mask
        fine = fine and _all_below(cells, self._cells)
        for place, size in enumerate(self._sizes, 1):
            column = batch.column(place)
            values = (column.fill_null(-1) if column.null_count else column).to_numpy()
            fine = fine and _all_below(values if inside is None else values[inside], size)
        if not fine:
            raise _disbelieved(name)
        return numbers


def _all_below(values: NDArray[Any], most: int, /) -> bool:
    """Whether whole numbers are all at least 0 and below `most`: a negative one is large without its sign."""
    return not values.size or int(values.view(f"u{values.dtype.itemsize}").max()) < most


def _disbelieved(name: str, /) -> DataError:
    return DataError(
        f"{name} contradicts itself: it holds values that its own statistics rule out. It is damaged; write it anew."
    )


class _Counter:
    """Collects cells and reasons until everything is counted."""

    def __init__(self, wanted: CountPlan, source: Source, progress: Progress | None, /) -> None:
        self.wanted = wanted
        self.plan = plan_cells(wanted)
        self.source = source
        self._progress = progress
        self._events = 0
        self._outside: Counter[int] = Counter()
        self._left_out: Counter[str] = Counter()
        self._cells = accumulator(cells=wanted.domain.size)
        self._weights: tuple[Ints, Ints] | None = None
        self._clipping = Clipping() if wanted.clipping else None

    def count_rows(self, connection: duckdb.DuckDBPyConnection, /) -> None:
        """Count every event on its own, or every row by its weight."""
        weight = "1" if self.wanted.weight is None else quoted(self.wanted.weight)
        with cell_sql(self.wanted, self.plan, self.source, connection=connection, weight=weight) as sql:
            if self.wanted.weight is None:
                self._count_events(connection, sql)
            else:
                self._count_weights(connection, sql)

    def _count_events(self, connection: duckdb.DuckDBPyConnection, sql: CellSql, /) -> None:
        """Count events, some millions at a time."""
        kind = "INTEGER" if self.wanted.domain.size < 2**31 else "BIGINT"
        columns = [f"coalesce({sql.cell}, {sql.why})::{kind}", *(value for value, _ in sql.checked)]
        query = f"SELECT {', '.join(columns)} FROM {sql.events}"  # noqa: S608 - quoted parts
        answer = _Answer(query, sql, self.plan, cells=self.wanted.domain.size)
        most = self._cells.at_once
        held = Buffer(expected=min(self.source.rows, most))
        for batch in self._stream(connection, answer):
            if len(held) + batch.size > most:
                self._cells.add(self._inside(held.view()))
                held.clear()
            held.add(batch)
        self._cells.add(self._inside(held.view()))

    def _count_weights(self, connection: duckdb.DuckDBPyConnection, sql: CellSql, /) -> None:
        """Add up weights, cell by cell."""
        columns = [f"coalesce({sql.cell}, {sql.why}) AS cell", *(value for value, _ in sql.checked)]
        query = (
            f"SELECT {', '.join(columns)}, sum(e.weight)::BIGINT AS events, min(e.weight) AS least FROM {sql.events} "  # noqa: S608
            "GROUP BY ALL HAVING events <> 0 OR least < 0"
        )
        answer = _Answer(query, sql, self.plan, cells=self.wanted.domain.size)
        with reading(self.source.name):
            rows = connection.sql(query).to_arrow_table().combine_chunks()
        least = rows.column("least").drop_null().to_numpy()
        if least.size and least.min() < 0:
            raise DataError(f"Column {self.wanted.weight!r} of {self.source.name} holds counts below 0.")
        batches = rows.to_batches()
        parts = [answer.numbers(batch, name=self.source.name) for batch in batches]
        events = np.concatenate(
            [np.zeros(0, np.int64), *(batch.column("events").to_numpy() for batch in batches)]
        )
        every = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
        cells, place = np.unique(every, return_inverse=True)
        sums = np.zeros(cells.size, np.int64)
        np.add.at(sums, place, events)
        events = sums
        self._events += int(events.sum())
        outside = cells < 0
        self._outside.update(dict(zip(cells[outside].tolist(), events[outside].tolist(), strict=True)))
        self._weights = (cells[~outside], events[~outside])

    def keys(self, connection: duckdb.DuckDBPyConnection, answer: _Answer, /, *, passes: int) -> Ints:
        """The keys of all events inside the domain, in ascending order, in one of several passes."""
        held = Buffer(expected=min(self.source.rows // passes, limits.current().events_at_once))
        for batch in self._stream(connection, answer):
            held.add(batch)
        keys = held.view()
        keys.sort()
        return self._inside(keys)

    def add(self, bounded: Bounded, /) -> None:
        """Count what units keep, and note what they do not."""
        self._cells.add(bounded.cells)
        self._left_out.update(repeated=bounded.repeated, beyond=bounded.beyond)
        if self._clipping is not None and bounded.clipping is not None:
            self._clipping += bounded.clipping

    def finish(self) -> Counts:
        """What was counted; refuses a source without events or with times that cannot be read."""
        for code in self._outside:
            refuse_unreadable(self.plan, code, name=self.source.name)
        if self._events == 0:
            raise DataError(f"{self.source.name} holds no events.")
        outside = {
            str(self.plan.reasons[-1 - code]): number for code, number in sorted(self._outside.items())[::-1]
        }
        tally = Tally(events=self._events, outside=outside, **self._left_out)
        cells, counts = self._cells.counts() if self._weights is None else self._weights
        return Counts(cells=cells, raw_counts=counts, tally=tally, clipping=self._clipping)

    def _inside(self, numbers: NDArray[Any], /) -> NDArray[Any]:
        """The numbers without negative ones, which are tallied."""
        outside = numbers < 0
        if not outside.any():
            return numbers
        codes, counts = np.unique(numbers[outside], return_counts=True)
        self._outside.update(dict(zip(codes.tolist(), counts.tolist(), strict=True)))
        return numbers[~outside]

    def _stream(self, connection: duckdb.DuckDBPyConnection, answer: _Answer, /) -> Iterator[NDArray[Any]]:
        with reading(self.source.name):
            for batch in pa.RecordBatchReader.from_stream(connection.sql(answer.query)):
                self._events += batch.num_rows
                if self._progress is not None:
                    self._progress(batch.num_rows)
                yield answer.numbers(batch, name=self.source.name)


def refuse_unreadable(plan: CellPlan, code: int, /, *, name: str) -> None:
    """Refuse text that should be a time and is none; the text itself is not shown."""
    reason = plan.reasons[-1 - code]
    if reason.cause == "unreadable":
        raise DataError(
            f"Column {reason.column!r} of {name} holds text that is not a time; write it as 2016-07-25 06:15:00, "
            "and set events.timezone if it carries a UTC offset."
        )
