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
from noisegate.engine.accumulator import accumulator
from noisegate.engine.bounding import Bounded, bound_events
from noisegate.engine.buffer import Buffer
from noisegate.engine.cell_sql import CellSql, cell_sql
from noisegate.engine.counts import Counts, Tally
from noisegate.engine.people import People, numbered_people
from noisegate.engine.plan import Plan, make_plan
from noisegate.engine.source import Source, open_source, reading
from noisegate.errors import DataError, SpecError
from noisegate.laws.entropy import Entropy
from noisegate.spec import ReleaseSpec
from noisegate.tables.domain import Ints

Progress = Callable[[int], None]


def count_with_duckdb(
    spec: ReleaseSpec,
    connection: duckdb.DuckDBPyConnection,
    /,
    *,
    own: bool,
    entropy: Entropy,
    progress: Progress | None,
) -> Counts:
    """The counts of `spec`; `own` says that the connection has no tables besides ours."""
    source = open_source(spec, connection, own=own)
    counter = _Counter(spec, source, progress)
    if spec.privacy.unit == "event":
        with cell_sql(spec, counter.plan, source, connection=connection, person="NULL") as sql:
            counter.count_events(connection, sql, narrow=spec.domain.size < 2**31)
    else:
        _count_units(spec, connection, counter, entropy)
    return counter.finish()


def _count_units(
    spec: ReleaseSpec, connection: duckdb.DuckDBPyConnection, counter: _Counter, entropy: Entropy, /
) -> None:
    """Read the events, in as many passes as memory and the width of a key ask for, and bound each unit."""
    cell_bits = (spec.domain.size - 1).bit_length()
    days = spec.day.days if spec.privacy.unit == "person-day" and spec.day else 1
    room = 2 ** (limits.current().key_bits - cell_bits) // days
    assert spec.events.person is not None
    with (
        numbered_people(counter.source, spec.events.person, connection=connection, most=room) as people,
        cell_sql(spec, counter.plan, counter.source, connection=connection, person=people.column) as sql,
    ):
        passes = max(
            1,
            -(-counter.source.rows // limits.current().events_at_once),
            -(-people.size // room) if room else limits.current().counting_passes + 1,
        )
        if passes > limits.current().counting_passes:
            raise SpecError(
                f"The domain has {spec.domain.size:.3g} cells, too many to bound what a {spec.privacy.unit} adds; "
                "merge some values."
            )
        for part in range(passes):
            query = _key_query(
                sql, people, counter.plan, cell_bits=cell_bits, days=days, part=part, passes=passes
            )
            keys = counter.keys(connection, query, passes=passes)
            bounded = bound_events(
                keys, cell_bits=cell_bits, bound=spec.privacy.contribution, entropy=entropy
            )
            counter.add(bounded)


def _key_query(
    sql: CellSql, people: People, plan: Plan, /, *, cell_bits: int, days: int, part: int, passes: int
) -> str:
    """SQL for unit and cell in one number, for the persons of one pass."""
    unit = f"({people.number} // {passes})" if passes > 1 else people.number
    if days > 1:
        unit = f"({unit} * {days} + {sql.day})"
    nobody = next(plan.code(reason) for reason in plan.reasons if reason.cause == "person")
    key = f"coalesce({unit} * {2**cell_bits}::BIGINT + {sql.cell}, {sql.why}, {nobody})::BIGINT"
    where = f" WHERE coalesce({people.number}, 0) % {passes} = {part}" if passes > 1 else ""
    return f"SELECT {key} FROM {sql.events}{people.join}{where}"  # noqa: S608 - built from quoted parts


class _Counter:
    """Collects cells and reasons until everything is counted."""

    def __init__(self, spec: ReleaseSpec, source: Source, progress: Progress | None, /) -> None:
        self.plan = make_plan(spec)
        self.source = source
        self._progress = progress
        self._events = 0
        self._outside: Counter[int] = Counter()
        self._left_out: Counter[str] = Counter()
        self._cells = accumulator(cells=spec.domain.size)

    def count_events(self, connection: duckdb.DuckDBPyConnection, sql: CellSql, /, *, narrow: bool) -> None:
        """Count every event on its own, some millions at a time."""
        kind = "INTEGER" if narrow else "BIGINT"
        query = f"SELECT coalesce({sql.cell}, {sql.why})::{kind} FROM {sql.events}"  # noqa: S608 - quoted parts
        most = self._cells.at_once
        held = Buffer(expected=min(self.source.rows, most))
        for batch in self._stream(connection, query):
            if len(held) + batch.size > most:
                self._cells.add(self._inside(held.view()))
                held.clear()
            held.add(batch)
        self._cells.add(self._inside(held.view()))

    def keys(self, connection: duckdb.DuckDBPyConnection, query: str, /, *, passes: int) -> Ints:
        """The keys of all events inside the domain, in ascending order, in one of several passes."""
        held = Buffer(expected=self.source.rows // passes)
        for batch in self._stream(connection, query):
            held.add(batch)
        keys = held.view()
        keys.sort()
        return self._inside(keys)

    def add(self, bounded: Bounded, /) -> None:
        """Count what units keep, and note what they do not."""
        self._cells.add(bounded.cells)
        self._left_out.update(repeated=bounded.repeated, beyond=bounded.beyond)

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
        cells, counts = self._cells.counts()
        return Counts(cells=cells, raw_counts=counts, tally=tally)

    def _inside(self, numbers: NDArray[Any], /) -> NDArray[Any]:
        """The numbers without negative ones, which are tallied."""
        outside = numbers < 0
        if not outside.any():
            return numbers
        codes, counts = np.unique(numbers[outside], return_counts=True)
        self._outside.update(dict(zip(codes.tolist(), counts.tolist(), strict=True)))
        return numbers[~outside]

    def _stream(self, connection: duckdb.DuckDBPyConnection, query: str, /) -> Iterator[NDArray[Any]]:
        with reading(self.source.name):
            for batch in pa.RecordBatchReader.from_stream(connection.sql(query)):
                self._events += batch.num_rows
                if self._progress is not None:
                    self._progress(batch.num_rows)
                yield batch.column(0).to_numpy()


def refuse_unreadable(plan: Plan, code: int, /, *, name: str) -> None:
    """Refuse text that should be a time and is none; the text itself is not shown."""
    reason = plan.reasons[-1 - code]
    if reason.cause == "unreadable":
        raise DataError(
            f"Column {reason.column!r} of {name} holds text that is not a time; write it as 2016-07-25 06:15:00, "
            "and set events.timezone if it carries a UTC offset."
        )
