"""Counting with DuckDB: one query turns every event into one integer.

DuckDB reads the files, looks values up in small tables and does the arithmetic on all cores; what
leaves it is a stream of integers. Sorting them and drawing lots is NumPy's (`bounding`), because
DuckDB's own distinct counts and window functions take several times as long (docs/adr/005).
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisegate.columns import batches, concatenated, numbers, numbers_or_gaps
from noisegate.engine.accumulator import Buffer, DenseAccumulator, accumulator
from noisegate.engine.bounding import Bounded, count_runs, expect_events, run_starts
from noisegate.engine.cell_sql import CellSql, cell_sql, person_kind
from noisegate.engine.counts import Clipping, ExpectedCounts, Tally
from noisegate.engine.people import numbered_people
from noisegate.engine.plan import CellPlan, CountPlan, plan_cells
from noisegate.engine.quoting import quoted
from noisegate.engine.sliced import LocalCounts
from noisegate.engine.source import EngineError, Source, line_by_line, open_source, reading
from noisegate.engine.spill import RawSlice, SpillPlace
from noisegate.engine.unit_bounding import bounded_parts
from noisegate.engine.unit_events import UnitEvents
from noisegate.errors import DataError
from noisegate.laws import Entropy
from noisegate.tables import Ints

Progress = Callable[[int], None]
T = TypeVar("T")


def count_with_duckdb(
    wanted: CountPlan,
    connection: duckdb.DuckDBPyConnection,
    /,
    *,
    own: bool,
    entropy: Entropy,
    progress: Progress | None,
    place: SpillPlace,
) -> LocalCounts:
    """The counts of a plan; `own` says that the connection has no tables besides ours."""

    def work(counter: _Counter) -> LocalCounts:
        if wanted.bound is None:
            counter.count_rows(connection)
        else:
            with _unit_events(wanted, connection, counter) as events:
                told = wanted.clipping
                for bounded in bounded_parts(events, bound=wanted.bound, entropy=entropy, clipping=told):
                    counter.add(bounded)
        return counter.finish()

    return _over_rows(wanted, connection, work, own=own, progress=progress, place=place)


def expect_with_duckdb(
    wanted: CountPlan, connection: duckdb.DuckDBPyConnection, /, *, own: bool, place: SpillPlace
) -> ExpectedCounts:
    """The mean of what `count_with_duckdb` gives, over the lots that it draws."""

    def work(counter: _Counter) -> ExpectedCounts:
        if wanted.bound is None:
            counter.count_rows(connection)
            counts = counter.finish().whole()
            return ExpectedCounts.sure_of(counts.cells, counts.raw_counts)
        parts = []
        with _unit_events(wanted, connection, counter) as events:
            for unit_keys in events.unit_keys():
                part = expect_events(unit_keys.keys, cell_bits=unit_keys.cell_bits, bound=wanted.bound)
                parts.append(replace(part, cells=unit_keys.named(part.cells)))
        counter.finish()
        return ExpectedCounts.sum_of(parts)

    return _over_rows(wanted, connection, work, own=own, place=place)


def sizes_with_duckdb(
    wanted: CountPlan, connection: duckdb.DuckDBPyConnection, /, *, own: bool, place: SpillPlace
) -> Ints:
    """How many cells each unit is in."""

    def work(counter: _Counter) -> Ints:
        found = [np.zeros(0, dtype=np.int64)]
        with _unit_events(wanted, connection, counter) as events:
            for unit_keys in events.unit_keys():
                pairs = unit_keys.keys[run_starts(unit_keys.keys)]
                found.append(count_runs(pairs >> unit_keys.cell_bits)[1])
        counter.finish()
        return np.concatenate(found)

    return _over_rows(wanted, connection, work, own=own, place=place)


def _over_rows(
    wanted: CountPlan,
    connection: duckdb.DuckDBPyConnection,
    work: Callable[[_Counter], T],
    /,
    *,
    own: bool,
    place: SpillPlace,
    progress: Progress | None = None,
) -> T:
    """What `work` makes of all rows; CSV files that the engine stumbles over are read again, line by line."""
    source = _source(wanted, connection, own=own)
    try:
        if source.sql:
            return work(_Counter(wanted, source, progress, place=place))
    except EngineError:
        if source.text is None:
            raise
    assert source.text is not None
    with line_by_line(source, connection) as rows:
        return work(_Counter(wanted, rows, None, place=place))


def _source(wanted: CountPlan, connection: duckdb.DuckDBPyConnection, /, *, own: bool) -> Source:
    if isinstance(wanted.source, Source):
        return wanted.source
    columns = {dimension.column for dimension in wanted.dimensions.values()}
    columns |= {column for column in (wanted.person, wanted.weight) if column is not None}
    return open_source(wanted.source, connection, folder=wanted.folder, own=own, wanted=columns)


@contextmanager
def _unit_events(
    wanted: CountPlan, connection: duckdb.DuckDBPyConnection, counter: _Counter, /
) -> Iterator[UnitEvents]:
    """Unit and cell of all events inside; the source is read once."""
    cell_bits = (wanted.domain.size - 1).bit_length()
    days = wanted.day.days if wanted.unit == "person-day" and wanted.day else 1
    assert wanted.person is not None
    day_bits = (days - 1).bit_length()
    rows = counter.source.rows
    with UnitEvents(rows=rows, place=counter.place, cell_bits=cell_bits, day_bits=day_bits) as events:
        with _unit_query(wanted, connection, counter, cell_bits=cell_bits, days=days) as answer:
            counter.read_units(connection, answer, events)
        yield events


@contextmanager
def _unit_query(
    wanted: CountPlan,
    connection: duckdb.DuckDBPyConnection,
    counter: _Counter,
    /,
    *,
    cell_bits: int,
    days: int,
) -> Iterator[_Answer]:
    """The query for day and cell in one number, and for the number of the person."""
    source, plan = counter.source, counter.plan
    column, whole = person_kind(source, str(wanted.person))
    with cell_sql(wanted, plan, source, connection=connection, person=column, with_day=days > 1) as sql:
        nobody = next(plan.code(reason) for reason in plan.reasons if reason.cause == "person")
        day = f"{sql.terms.day} * {2**cell_bits}::BIGINT + " if days > 1 else ""
        outside = f"coalesce({sql.terms.why}, {nobody})"
        key = f"({sql.terms.number(outside, ahead=day, given='e.person IS NOT NULL')})::BIGINT"
        checked = [value for value, _ in sql.checked]
        answer = partial(_Answer, sql, plan, cells=wanted.domain.size, cell_bits=cell_bits, units=days)
        if whole or source.cheap:
            with numbered_people(connection, source.sql, column, whole=whole, name=source.name) as people:
                columns = ", ".join([key, *checked, people.number_or_none])
                yield answer(f"SELECT {columns} FROM {sql.events}{people.join}")  # noqa: S608 - built from quoted parts
            return
        columns = ", ".join(f"{one} AS c{n}" for n, one in enumerate([key, *checked]))
        with (
            _staged(connection, f"SELECT {columns}, e.person FROM {sql.events}", name=source.name) as staged,  # noqa: S608
            numbered_people(connection, staged, "person", whole=False, name=source.name) as people,
        ):
            columns = ", ".join(f"e.c{n}" for n in range(1 + len(checked)))
            yield answer(f"SELECT {columns}, {people.number_or_none} FROM {staged} AS e{people.join}")  # noqa: S608


@contextmanager
def _staged(connection: duckdb.DuckDBPyConnection, query: str, /, *, name: str) -> Iterator[str]:
    """The answer of a query as a temporary table, which goes to the private directory if memory is full."""
    table = f"noisegate_{secrets.token_hex(6)}"
    try:
        with reading(name):
            connection.execute(f"CREATE TEMP TABLE {table} AS {query}")
        yield table
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {table}")


class _Answer:
    """A query whose first column are numbers of cells, or of units and cells, and the check of what it answers.

    Whatever the engine was led to believe about a file, nothing that lies outside of the domain becomes a cell here.
    """

    def __init__(
        self, sql: CellSql, plan: CellPlan, query: str, /, *, cells: int, cell_bits: int = 62, units: int = 1
    ) -> None:
        self.query = query
        self._sizes = [size for _, size in sql.checked]
        self._reasons = len(plan.reasons)
        self._cells, self._mask, self._most = cells, (1 << cell_bits) - 1, units << cell_bits
        #: What compiled loops look at, if nothing else is to be looked at.
        self.borders = (
            None if self._sizes else np.array([self._reasons, self._most, self._mask, cells], dtype=np.int64)
        )

    def numbers(self, batch: Any, /, *, name: str) -> NDArray[Any]:
        """The first column of a batch; refuses numbers that are no cell, no unit, no reason."""
        numbers, gaps = numbers_or_gaps(batch.column(0))
        if gaps is not None:
            raise _disbelieved(name)
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
            values, gaps = numbers_or_gaps(batch.column(place))
            if gaps is not None:
                # The greatest number of a column's type is never that of a value.
                values[gaps] = np.iinfo(values.dtype).max
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


def _no_row(source: Source, /) -> DataError:
    return DataError(
        f"{source.name} holds lines that are no row of its {len(source.columns)} columns, or in which a quotation mark is not closed, and "
        "a row is one line; mend them, or write the events as Parquet."
    )


class _Counter:
    """Collects cells and reasons until everything is counted."""

    def __init__(
        self, wanted: CountPlan, source: Source, progress: Progress | None, /, *, place: SpillPlace
    ) -> None:
        self.wanted = wanted
        self.place = place
        self.plan = plan_cells(wanted)
        self.source = source
        self._progress = progress
        self._events = 0
        self._outside: Counter[int] = Counter()
        self._left_out: Counter[str] = Counter()
        self._cells = accumulator(cells=wanted.domain.size, place=place)
        self._kept: Buffer | None = None
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
        columns = [f"({sql.terms.number(sql.terms.why)})::{kind}", *(value for value, _ in sql.checked)]
        query = f"SELECT {', '.join(columns)} FROM {sql.events}"  # noqa: S608 - quoted parts
        answer = _Answer(sql, self.plan, query, cells=self.wanted.domain.size)
        most = self._cells.at_once
        held = Buffer(expected=min(self.source.rows, most))
        for batch in self._batches(connection, answer):
            numbers = answer.numbers(batch, name=self.source.name)
            if len(held) + numbers.size > most:
                self._cells.add(self._inside(held.view()))
                held.clear()
            held.add(numbers)
        self._cells.add(self._inside(held.view()))

    def _count_weights(self, connection: duckdb.DuckDBPyConnection, sql: CellSql, /) -> None:
        """Add up weights, cell by cell."""
        columns = [f"{sql.terms.number(sql.terms.why)} AS cell", *(value for value, _ in sql.checked)]
        query = (
            f"SELECT {', '.join(columns)}, sum(e.weight)::BIGINT AS events, coalesce(min(e.weight) < 0, false) AS below FROM {sql.events} "  # noqa: S608
            "GROUP BY ALL HAVING events <> 0 OR below"
        )
        answer = _Answer(sql, self.plan, query, cells=self.wanted.domain.size)
        with reading(self.source.name):
            found = list(batches(connection.sql(query)))
        if any(numbers(batch.column("below")).any() for batch in found):
            raise DataError(f"Column {self.wanted.weight!r} of {self.source.name} holds counts below 0.")
        parts = [answer.numbers(batch, name=self.source.name) for batch in found]
        events = concatenated([numbers_or_gaps(batch.column("events"))[0] for batch in found], np.int64)
        every = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
        cells, place = np.unique(every, return_inverse=True)
        sums = np.zeros(cells.size, np.int64)
        np.add.at(sums, place, events)
        events = sums
        self._events += int(events.sum())
        outside = cells < 0
        self._outside.update(dict(zip(cells[outside].tolist(), events[outside].tolist(), strict=True)))
        self._weights = (cells[~outside], events[~outside])

    def read_units(
        self, connection: duckdb.DuckDBPyConnection, answer: _Answer, events: UnitEvents, /
    ) -> None:
        """Keep the events inside the domain, each with its person."""
        outside = np.zeros(len(self.plan.reasons), dtype=np.int64)
        for batch in self._batches(connection, answer):
            person, gaps = numbers_or_gaps(batch.column(batch.num_columns - 1))
            if gaps is None and answer.borders is not None and not batch.column(0).null_count:
                taken = events.take(person, numbers(batch.column(0)), borders=answer.borders, outside=outside)
                if taken is None:
                    raise _disbelieved(self.source.name)
                if taken:
                    continue
            keys = answer.numbers(batch, name=self.source.name)
            inside = keys >= 0
            if gaps is not None and (inside & gaps).any():
                raise _disbelieved(self.source.name)
            if inside.all():
                events.add(person, keys)
            else:
                self._tally(keys[~inside])
                events.add(person[inside], keys[inside])
        self._outside.update({-1 - n: count for n, count in enumerate(outside.tolist()) if count})

    def add(self, bounded: Bounded, /) -> None:
        """Count what units keep, and note what they do not."""
        if isinstance(self._cells, DenseAccumulator):
            self._cells.add(bounded.cells, compiled=bounded.compiled)
        else:
            self._hold(bounded.cells, self._cells.at_once)
        self._left_out.update(repeated=bounded.repeated, beyond=bounded.beyond)
        if self._clipping is not None and bounded.clipping is not None:
            self._clipping += bounded.clipping

    def _hold(self, cells: Ints, most: int, /) -> None:
        """Keep the cells of small parts until there are enough to be sorted together."""
        for start in range(0, cells.size, most):
            part = cells[start : start + most]
            if self._kept is None:
                self._kept = Buffer(expected=min(self.source.rows, most))
            if len(self._kept) + part.size > most:
                self._count_kept()
            self._kept.add(part)

    def _count_kept(self) -> None:
        """Count the cells of small parts together."""
        if self._kept is not None:
            self._cells.add(self._kept.view())
            self._kept.clear()

    def finish(self) -> LocalCounts:
        """What was counted; unless the plan is total, refuses a source without events, or with rows or times that cannot be read."""
        self._count_kept()
        unread = self.source.unread
        if unread and not self.wanted.total:
            raise _no_row(self.source)
        for code in () if self.wanted.total else self._outside:
            refuse_unreadable(self.plan, code, name=self.source.name)
        if self._events == 0 and not self.wanted.total:
            raise DataError(f"{self.source.name} holds no events.")
        outside = {"the row cannot be read": unread} if unread else {}
        outside |= {
            str(self.plan.reasons[-1 - code]): number for code, number in sorted(self._outside.items())[::-1]
        }
        tally = Tally(events=self._events + unread, outside=outside, **self._left_out)
        size = self.wanted.domain.size
        slices = self._cells.slices() if self._weights is None else [RawSlice.held(size, *self._weights)]
        return LocalCounts(tally=tally, slices=slices, place=self.place, clipping=self._clipping)

    def _inside(self, numbers: NDArray[Any], /) -> NDArray[Any]:
        """The numbers without negative ones, which are tallied."""
        outside = numbers < 0
        if not outside.any():
            return numbers
        self._tally(numbers[outside])
        return numbers[~outside]

    def _tally(self, outside: NDArray[Any], /) -> None:
        codes, counts = np.unique(outside, return_counts=True)
        self._outside.update(dict(zip(codes.tolist(), counts.tolist(), strict=True)))

    def _batches(self, connection: duckdb.DuckDBPyConnection, answer: _Answer, /) -> Iterator[Any]:
        with reading(self.source.name):
            for batch in batches(connection.sql(answer.query)):
                self._events += batch.num_rows
                if self._progress is not None:
                    self._progress(batch.num_rows)
                yield batch


def refuse_unreadable(plan: CellPlan, code: int, /, *, name: str) -> None:
    """Refuse text that should be a time and is none; the text itself is not shown."""
    reason = plan.reasons[-1 - code]
    if reason.cause == "unreadable":
        raise DataError(
            f"Column {reason.column!r} of {name} holds text that is not a time; write it as 2016-07-25 06:15:00, "
            "or say with events.dates that the day or the month comes first, and set events.timezone if it carries a UTC offset."
        )
