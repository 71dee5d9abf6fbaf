"""Counting in PostgreSQL: one statement, and what comes back is one row for each cell, never a person.

Events are coded and grouped by the server; where there is no bound they are grouped by their values first, so that only groups are looked
up, and a combination of values that has no cell comes as a row of its own. A unit with too many cells draws its lots there too: each of its
cells gets a version-4 UUID, 122 bits of the server's cryptographic generator (`pg_strong_random`), and the lowest stay. Two equal ones at a
border would favour one cell; the chance is below n²/2^123 for n cells of all units (docs/proofs/sliced-noise.md). Where the server gives
a second connection, each counts half of the persons, both on one snapshot of the table (`postgres_pair`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.engine.bounding import run_starts
from noisegate.engine.cell_sql import lookup_table, nest_table
from noisegate.engine.cell_terms import CellTerms, SqlDialect
from noisegate.engine.counts import Tally
from noisegate.engine.date_text import year_first
from noisegate.engine.duck import refuse_unreadable
from noisegate.engine.plan import CellPlan, CountPlan, DimensionPlan, plan_cells
from noisegate.engine.postgres_pair import paired_session
from noisegate.engine.quoting import literal, quoted
from noisegate.engine.remote import asking
from noisegate.engine.sliced import LocalCounts
from noisegate.engine.spill import CellRuns, SpillPlace
from noisegate.errors import DataError, InternalError
from noisegate.spec import (
    BandDimension,
    CalendarDimension,
    DateDimension,
    ListedDimension,
    LookupDimension,
    TimeDimension,
    did_you_mean,
)

_WHOLE = ("smallint", "integer", "bigint")
_NESTED = ("json", "jsonb", "xml", "bytea", "point", "polygon")
_NAIVE, _AWARE = "timestamp without time zone", "timestamp with time zone"
_TEXTS = ("text", "character varying", "character", '"char"', "name")
#: Two thousand years in seconds: keeps times before 1970 positive.
_SHIFT_S = 730_500 * 86_400
_DATE = "[0-9]{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])"
_TIME = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
_OFFSET = "( ?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?))?"
#: Bytes of a row of four numbers in the binary format, and of what comes before all rows.
_ROW = np.dtype([("fields", ">i2"), *((f"{kind}{n}", kind) for n in range(4) for kind in (">i4", ">i8"))])
_HEADER = 19
_ROWS_AT_ONCE = 1 << 20
#: For the statement alone. What a sort or a hash table may take before it goes to disk; no sort of all events to join them with small lists,
#: whose rows the server cannot guess; nothing is compiled, which would take seconds.
_SETTINGS = {"work_mem": "256MB", "enable_mergejoin": "off", "jit": "off"}
#: Above all that `gen_random_uuid` gives.
_LAST_LOT = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"
#: Seconds after which a thread that waits looks up.
_TURN_S = 0.2
#: Numbers up to so many are looked up in an array.
_LISTED = 10_000


class _Postgres(SqlDialect):
    """Terms of few numbers stand in an array, so that the number is worked out once: the server does not keep what it has worked out."""

    def term(self, value: str, size: int, /, *, start: int, step: int) -> tuple[str, str]:
        """Nothing must hold, as an array has NULL beyond its ends; `start` and so many steps as `value` says."""
        if size > _LISTED:
            return super().term(value, size, start=start, step=step)
        listed = ",".join(str(start + step * number) for number in range(size))
        return "", f"('{{{listed}}}'::bigint[])[({value})::int + 1]"


_DIALECT = _Postgres()


def count_with_postgres(
    wanted: CountPlan,
    connection: Any,
    /,
    *,
    progress: Callable[[int], None] | None,
    place: SpillPlace,
) -> LocalCounts:
    """The counts of a plan whose source is a table of a psycopg connection."""
    if wanted.weight is not None:
        raise InternalError("rows that stand for several events are counted by DuckDB only")
    plan = plan_cells(wanted)
    with asking(wanted.source_name):
        code = _Code(wanted, plan, connection)
        sums = _Sums(wanted, plan, place)
        if wanted.bound is None or not _in_halves(wanted, code, connection, sums):
            with connection.transaction():
                _count(wanted, code, connection, sums)
    counts = sums.finish()
    if progress is not None:
        progress(counts.tally.events)
    return counts


def _count(wanted: CountPlan, code: _Code, connection: Any, sums: _Sums, /) -> None:
    """Add up what the statement answers, within a transaction."""
    with connection.cursor() as cursor:
        for name, value in _SETTINGS.items():
            cursor.execute(f"SET LOCAL {name} = {literal(value)}")
        if wanted.timezone is not None:
            cursor.execute(f"SET LOCAL TimeZone = {literal(wanted.timezone)}")
        for rows in _binary_rows(cursor, code.statement(), code.arguments):
            sums.add(rows)


def _in_halves(wanted: CountPlan, code: _Code, connection: Any, sums: _Sums, /) -> bool:
    """Count two halves of the persons at the same time; False if that cannot be, and then nothing was counted.

    The server sorts the events of persons on one core for each connection.
    """
    from psycopg.errors import QueryCanceled

    with paired_session(connection, code.table) as other:
        if other is None:
            return False
        halves = [replace(code, half=half, arguments=[]) for half in range(2)]
        with ThreadPoolExecutor(1) as thread:
            second = thread.submit(_count, wanted, halves[1], other, sums)
            # Whichever half fails first, the other has no use any more.
            second.add_done_callback(lambda one: one.exception() and connection.cancel_safe())
            done = False
            try:
                _count(wanted, halves[0], connection, sums)
                while (
                    not second.done()
                ):  # in short turns, so that Ctrl-C is heard whichever thread it comes to
                    wait([second], timeout=_TURN_S)
                second.result()
                done = True
            except QueryCanceled:
                second.result()  # the reason, if that half failed first
                raise
            finally:
                if not done:  # also if somebody presses Ctrl-C while the other half is waited for
                    other.cancel_safe()
    return True


def _binary_rows(cursor: Any, statement: str, arguments: list[Any], /) -> Iterator[NDArray[Any]]:
    """The rows of a statement with four numbers each, some hundred thousand at a time."""
    from psycopg.sql import SQL

    held, begun = bytearray(), False
    with cursor.copy(SQL(f"COPY ({statement}) TO STDOUT (FORMAT BINARY)"), arguments) as answer:
        for part in answer:
            held += part
            if not begun and len(held) >= _HEADER:
                del held[:_HEADER]
                begun = True
            if len(held) >= _ROW.itemsize * _ROWS_AT_ONCE:
                whole = len(held) // _ROW.itemsize * _ROW.itemsize
                yield np.frombuffer(bytes(held[:whole]), dtype=_ROW)
                del held[:whole]
    yield np.frombuffer(bytes(held[: len(held) // _ROW.itemsize * _ROW.itemsize]), dtype=_ROW)


class _Sums:
    """Adds up what the server answers, and looks whether it can be."""

    def __init__(self, wanted: CountPlan, plan: CellPlan, place: SpillPlace, /) -> None:
        self._wanted, self._plan, self._place = wanted, plan, place
        self._runs = CellRuns(cells=wanted.domain.size, place=place)
        self._outside: dict[int, int] = {}
        self._events = self._repeated = self._beyond = 0
        self._lock = Lock()

    def add(self, rows: NDArray[Any], /) -> None:
        """Add the rows of an answer; two connections may do so at the same time."""
        with self._lock:
            self._add(rows)

    def _add(self, rows: NDArray[Any], /) -> None:
        key, events, kept, beyond = (rows[f">i8{n}"].astype(np.int64) for n in range(4))
        fine = (rows["fields"] == 4).all() and all((rows[f">i4{n}"] == 8).all() for n in range(4))
        low, high = -len(self._plan.reasons), self._wanted.domain.size
        if not fine or not ((key >= low) & (key < high) & (events > 0) & (kept >= 0) & (beyond >= 0)).all():
            raise DataError(
                f"{self._wanted.source_name} cannot be counted: the engine answers with cells or counts that do not exist. "
                "Count a copy of the events with DuckDB instead."
            )
        inside = key >= 0
        for code, number in zip(key[~inside].tolist(), events[~inside].tolist(), strict=True):
            self._outside[code] = self._outside.get(code, 0) + number
        self._events += int(events.sum())
        self._beyond += int(beyond[inside].sum())
        self._repeated += int((events - kept - beyond)[inside].sum())
        there = inside & (kept > 0)
        order = np.argsort(key[there])
        cells = key[there][order]
        if run_starts(cells).size != cells.size:
            raise InternalError("the server names a cell twice")
        self._runs.add_counts(cells, kept[there][order])

    def finish(self) -> LocalCounts:
        for code in () if self._wanted.total else self._outside:
            refuse_unreadable(self._plan, code, name=self._wanted.source_name)
        if self._events == 0 and not self._wanted.total:
            raise DataError(f"{self._wanted.source_name} holds no events.")
        outside = {
            str(self._plan.reasons[-1 - code]): self._outside[code] for code in sorted(self._outside)[::-1]
        }
        tally = Tally(events=self._events, outside=outside, repeated=self._repeated, beyond=self._beyond)
        return LocalCounts(tally=tally, slices=self._runs.slices(), place=self._place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """SQL of a value (NULL if it is missing or no time), and of whether the column itself is missing; None if that is when the value is."""

    value: str
    missing: str | None


@dataclass
class _Code:
    """The statement that counts, all persons or one half of them, and its arguments: the lists of values and terms that are looked up."""

    wanted: CountPlan
    plan: CellPlan
    connection: Any
    half: int | None = None
    arguments: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = ".".join(quoted(part) for part in self.wanted.source_name.split("."))
        kinds = self.connection.execute(
            "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'text' ELSE format_type(a.atttypid, NULL) END "
            "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
            "WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            [self.table],
        ).fetchall()
        if not kinds:
            raise DataError(f"There is no table {self.wanted.source_name!r} in the database.")
        self._kinds: dict[str, str] = dict(kinds)
        self._terms = CellTerms(plan=self.plan, dialect=_DIALECT)

    def statement(self) -> str:
        """Four numbers for each cell or reason: key, events, those that count, those of cells that lots leave out."""
        bound = self.wanted.bound
        if bound is None:
            groups = self._grouped()
            if self._merges():
                groups = f"SELECT key, sum(n)::bigint AS n FROM ({groups}) AS c GROUP BY key"  # noqa: S608 - quoted parts
            return f"SELECT key, n, n, 0::bigint FROM ({groups}) AS c"  # noqa: S608
        pairs = f"SELECT person, day, key, count(*)::int AS n FROM ({self._coded()}) AS c GROUP BY person, day, key"  # noqa: S608
        size = "count(*) FILTER (WHERE key >= 0) OVER (PARTITION BY person, day) AS size"
        sized = f"SELECT person, day, key, n, {size} FROM ({pairs}) AS p"  # noqa: S608
        lot = f"CASE WHEN key < 0 THEN {_LAST_LOT} WHEN size > {bound.cells} THEN gen_random_uuid() END"
        gone = f"size > {bound.cells} AND row_number() OVER (PARTITION BY person, day ORDER BY {lot}) > {bound.cells}"
        lots = f"SELECT key, n, least(n, {bound.per_cell}) AS kept, key >= 0 AND {gone} AS gone FROM ({sized}) AS s"  # noqa: S608
        return (
            "SELECT key, sum(n), sum(CASE WHEN gone THEN 0 ELSE kept END), sum(CASE WHEN gone THEN kept ELSE 0 END) "  # noqa: S608
            f"FROM ({lots}) AS l GROUP BY key"
        )

    def _merges(self) -> bool:
        """Whether two combinations of values may have one cell."""
        plan = self.plan
        terms = [dim.terms[0][dim.keys[1]] for dim in plan.dimensions if dim.steps is None]
        return plan.blocks > 1 or bool(plan.nests) or any(np.unique(one).size < one.size for one in terms)

    def _grouped(self) -> str:
        """Key and number of events for each combination of values."""
        columns = [self._column(dim) for dim in self.plan.dimensions]
        values = [f"{one.value} AS v{n}" for n, one in enumerate(columns)]
        values += [f"{one.missing} AS m{n}" for n, one in enumerate(columns) if one.missing is not None]
        places = ", ".join(str(place + 1) for place in range(len(values)))
        groups = f"SELECT {', '.join(values)}, count(*) AS n FROM {self.table} GROUP BY {places}"  # noqa: S608
        # What is missing is found again among the groups, if a value says so by itself.
        missing = [f"v{n} IS NULL AS m{n}" for n, one in enumerate(columns) if one.missing is None]
        events = self._looked_up(f"(SELECT {', '.join(['*', *missing])} FROM ({groups}) AS g) AS e")  # noqa: S608
        return f"SELECT coalesce({self._terms.cell}, {self._terms.why})::bigint AS key, e.n FROM {events}"  # noqa: S608

    def _coded(self) -> str:
        """Key, person and day of each event. An event that has no cell keeps its person, which its key then says is not meant."""
        columns = [self._column(dim) for dim in self.plan.dimensions]
        selected = [
            f"{one.value} AS v{n}, {one.missing or f'{one.value} IS NULL'} AS m{n}"
            for n, one in enumerate(columns)
        ]
        selected.append(f"{self._person()} AS person")
        events = self._looked_up(f"(SELECT {', '.join(selected)} FROM {self.table}{self._chosen()}) AS e")  # noqa: S608
        nobody = next(self.plan.code(one) for one in self.plan.reasons if one.cause == "person")
        day = f"{self._terms.day}::int" if self.wanted.unit == "person-day" else "0"
        cell = f"CASE WHEN e.person IS NOT NULL THEN {self._terms.cell} END"
        return f"SELECT coalesce({cell}, {self._terms.why}, {nobody})::bigint AS key, e.person, {day} AS day FROM {events}"  # noqa: S608

    def _looked_up(self, events: str, /) -> str:
        """Events, or groups of them, with the small tables of their values."""
        for n, dim in enumerate(self.plan.dimensions):
            if dim.steps is None:
                events += self._lookup(lookup_table(dim), f"l{n}", f"e.v{n} = l{n}.value")
        for n, nest in enumerate(self.plan.nests):
            events += self._lookup(nest_table(nest), f"n{n}", f"{self._terms.nest_key(nest)} = n{n}.key")
        return events

    def _lookup(self, table: Any, name: str, condition: str, /) -> str:
        """A join with a small table that is sent along as arrays, so that parallel workers of the server can use it."""
        arrays, names = [], []
        for column in table.column_names:
            values = table[column].to_pylist()
            kind = "text" if any(isinstance(one, str) for one in values) else "bigint"
            self.arguments.append(values)
            arrays.append(f"%s::{kind}[]")
            names.append(column)
        return f" LEFT JOIN unnest({', '.join(arrays)}) AS {name}({', '.join(names)}) ON {condition}"

    def _named(self, wanted: str, /) -> tuple[str, str]:
        for name, kind in self._kinds.items():
            if name.lower() == wanted.lower():
                return quoted(name).replace("%", "%%"), kind
        hint = did_you_mean(wanted, self._kinds) or f"; it has {', '.join(self._kinds)}"
        end = "" if hint.endswith("?") else "."
        raise DataError(f"{self.wanted.source_name} has no column {wanted!r}{hint}{end}")

    def _person(self) -> str:
        name, kind = self._named(str(self.wanted.person))
        if kind in ("real", "double precision", *_NESTED) or kind.endswith("[]"):
            raise DataError(
                f"Column {self.wanted.person!r} of {self.wanted.source_name} holds {kind}; a person needs whole numbers or text."
            )
        return f"{name}::bigint" if kind in _WHOLE else f'{name}::text COLLATE "C"'

    def _chosen(self) -> str:
        """Which rows are counted: those of one half of the persons, by a hash that is the same wherever in the server it is worked out."""
        if self.half is None:
            return ""
        person = self._person()
        hashed = f"hashint8({person})" if person.endswith("::bigint") else f"hashtext({person})"
        # By its sign: of what is compared with a border the server expects a third of the rows, of an equation next to none.
        return f" WHERE coalesce({hashed}, 0) {'>=' if self.half else '<'} 0"

    def _column(self, dimension: DimensionPlan, /) -> _Column:
        name, kind = self._named(dimension.column)
        spec = dimension.spec
        if isinstance(spec, ListedDimension | LookupDimension):
            if kind in _NESTED or kind.endswith("[]"):
                raise DataError(
                    f"Column {dimension.column!r} of {self.wanted.source_name} holds {kind}; plain text or numbers are needed."
                )
            return _Column(value=f"{name}::text", missing=None)
        if isinstance(spec, BandDimension):
            value = self._band(dimension, spec, name, kind)
        elif isinstance(spec, DateDimension | CalendarDimension):
            day = name if kind == "date" else f"({self._clock(dimension, name, kind)})::date"
            value = _DIALECT.number_of(day, spec)
        else:
            value = self._bin(dimension, spec, name, kind)
        return _Column(value=value, missing=f"{name} IS NULL" if kind in _TEXTS else None)

    def _band(self, dimension: DimensionPlan, spec: BandDimension, name: str, kind: str, /) -> str:
        number = f"{name}::double precision"
        if kind in _TEXTS:
            number = f"CASE WHEN {name} ~ '^-?[0-9]+([.][0-9]+)?$' THEN {number} END"
        elif kind not in (*_WHOLE, "numeric", "real", "double precision"):
            raise DataError(
                f"Column {dimension.column!r} of {self.wanted.source_name} holds {kind}; dimension {dimension.name} needs "
                "a number."
            )
        return spec.bands.case(f"({number})", missing=f"{name} IS NULL", nan=f"({number}) = 'NaN'")

    def _bin(self, dimension: DimensionPlan, spec: TimeDimension, name: str, kind: str, /) -> str:
        def seconds(clock: str, shift: int) -> str:
            return f"(floor(date_part('epoch', {clock}))::bigint + {shift}) %% 86400 / {spec.every}"

        if kind == "time without time zone":
            return seconds(name, 0)
        stamp = seconds(self._clock(dimension, name, kind), _SHIFT_S)
        if kind in _TEXTS:
            alone = f"CASE WHEN {name} ~ '^{_TIME}$' THEN {name}::time END"
            return f"coalesce({stamp}, {seconds(alone, 0)})"
        return stamp

    def _clock(self, dimension: DimensionPlan, name: str, kind: str, /) -> str:
        """SQL of the wall-clock time in a column."""
        zone = self.wanted.timezone
        if kind == _NAIVE:
            return name
        if kind == _AWARE:
            if zone is None:
                raise DataError(
                    f"Column {dimension.column!r} of {self.wanted.source_name} holds times with a UTC offset; "
                    "say with events.timezone whose clock the table is about."
                )
            return f"{name} AT TIME ZONE {literal(zone)}"
        if kind in _TEXTS:
            name = year_first(name, self.wanted.dates)
            offset, cast = (
                ("", "timestamp") if zone is None else (_OFFSET, f"timestamptz AT TIME ZONE {literal(zone)}")
            )
            return f"CASE WHEN {name} ~ '^{_DATE}([ T]{_TIME}{offset})?$' THEN {name}::{cast} END"
        what = "a date" if isinstance(dimension.spec, DateDimension | CalendarDimension) else "a time"
        raise DataError(
            f"Column {dimension.column!r} of {self.wanted.source_name} holds {kind}; dimension {dimension.name} needs {what}: "
            "a timestamp, or text such as 2016-07-25 06:15:00."
        )
