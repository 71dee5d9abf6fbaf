"""SQL of DuckDB that gives the cell of every event, or the reason why it has none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from noisegate.columns import Columns, Values, store
from noisegate.engine.cell_terms import CellTerms, SqlDialect
from noisegate.engine.date_text import year_first
from noisegate.engine.plan import CellPlan, CountPlan, DimensionPlan, NestPlan
from noisegate.engine.quoting import literal
from noisegate.engine.source import Source, one_row
from noisegate.errors import DataError
from noisegate.spec import (
    BandDimension,
    CalendarDimension,
    DateDimension,
    ListedDimension,
    LookupDimension,
    TimeDimension,
)
from noisegate.tables import Ints

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_WIDE = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_NAIVE = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_AWARE = "TIMESTAMP WITH TIME ZONE"
_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "VARIANT", "GEOMETRY")
_DAY_US = 86_400_000_000
#: Values of a list that each text is compared with in turn; longer lists are joined.
_SHORT = 4
#: A column that is missing is NULL in its own words; a text that is no time is NULL in ours alone.
DIALECT = SqlDialect(missing="e.r{n} IS NULL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSql:
    """What SQL to read a column with.

    `value` is NULL if the column is, or if its text is no date or time; `raw` is NULL only if the
    column is.
    """

    raw: str
    value: str


def column_sql(dimension: DimensionPlan, source: Source, wanted: CountPlan, /) -> ColumnSql:
    """SQL for the value of a dimension: text for listed values, else the number of the day or bin."""
    name, kind = source.column(dimension.column)
    spec = dimension.spec
    if isinstance(spec, ListedDimension | LookupDimension):
        _refuse_nested(source, dimension.column, kind)
        return ColumnSql(raw=name, value=name if kind == "VARCHAR" else f"CAST({name} AS VARCHAR)")
    if isinstance(spec, BandDimension):
        return ColumnSql(raw=name, value=_band(source, dimension, spec))
    if isinstance(spec, DateDimension | CalendarDimension):
        day = name if kind == "DATE" else f"CAST({_timestamp(source, dimension, wanted)} AS DATE)"
        return ColumnSql(raw=name, value=DIALECT.number_of(day, spec))
    return ColumnSql(raw=name, value=_time_bin(source, dimension, spec, wanted))


def _band(source: Source, dimension: DimensionPlan, spec: BandDimension, /) -> str:
    """SQL for the number of a band; a value beyond all of them, or no number at all, has one that does not exist."""
    name, kind = source.column(dimension.column)
    if kind not in _INTEGERS | _FLOATS | _WIDE and kind != "VARCHAR" and not kind.startswith("DECIMAL"):
        raise DataError(
            f"Column {dimension.column!r} of {source.name} holds {kind}; dimension {dimension.name} needs a number."
        )
    number = f"TRY_CAST({name} AS DOUBLE)"
    return spec.bands.case(number, missing=f"{name} IS NULL", nan=f"isnan({number})")


def person_kind(source: Source, column: str, /) -> tuple[str, bool]:
    """The quoted name of the person column, and whether it holds 64-bit whole numbers."""
    name, kind = source.column(column)
    _refuse_nested(source, column, kind)
    if kind in _FLOATS:
        raise DataError(
            f"Column {column!r} of {source.name} holds {kind}, which can blur persons; give whole numbers or text."
        )
    return name, kind in _INTEGERS


def _time_bin(source: Source, dimension: DimensionPlan, spec: TimeDimension, wanted: CountPlan, /) -> str:
    name, kind = source.column(dimension.column)
    width = spec.every * 1_000_000
    clock = f"epoch_us({name})"
    if kind == "VARCHAR":
        stamp = f"epoch_us({_timestamp(source, dimension, wanted)})"
        clock = f"coalesce({stamp}, epoch_us(TRY_CAST({name} AS TIME)))"
    elif kind != "TIME":
        clock = f"epoch_us({_timestamp(source, dimension, wanted)})"
    # Times before 1970 are negative, and need a second remainder; divisions are what a bin costs, so others do without.
    before = f"({clock} % {_DAY_US} + {_DAY_US}) % {_DAY_US} // {width}"
    return f"(CASE WHEN {clock} >= 0 THEN {clock} % {_DAY_US} // {width} ELSE {before} END)"


def _timestamp(source: Source, dimension: DimensionPlan, wanted: CountPlan, /) -> str:
    """SQL for the wall-clock time in a column, or an error if it cannot hold one."""
    (name, kind), timezone = source.column(dimension.column), wanted.timezone
    if kind == "TIMESTAMP":
        return name
    if kind in _NAIVE:
        return f"CAST({name} AS TIMESTAMP)"
    if kind == _AWARE:
        if timezone is None:
            raise DataError(
                f"Column {dimension.column!r} of {source.name} holds times with a UTC offset; "
                "say with events.timezone whose clock the table is about."
            )
        return f"timezone({literal(timezone)}, {name})"
    if kind == "VARCHAR":
        name = year_first(name, wanted.dates)
        if timezone is not None:
            return f"TRY(timezone({literal(timezone)}, TRY_CAST({name} AS TIMESTAMPTZ)))"
        # Without a time zone, text that carries an offset is not guessed at.
        return f"CASE WHEN NOT regexp_matches(substr({name}, 12), '[Zz+-]') THEN TRY_CAST({name} AS TIMESTAMP) END"
    what = "a date" if isinstance(dimension.spec, DateDimension | CalendarDimension) else "a time"
    raise DataError(
        f"Column {dimension.column!r} of {source.name} holds {kind}; dimension {dimension.name} needs {what}: "
        "a timestamp, or text such as 2016-07-25 06:15:00."
    )


def _refuse_nested(source: Source, column: str, kind: str, /) -> None:
    if kind.startswith(_NESTED) or kind.endswith("]"):
        raise DataError(f"Column {column!r} of {source.name} holds {kind}; plain text or numbers are needed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSql:
    """The pieces of a query.

    `events` is the FROM clause, in which `e.person` is the person and `e.weight` how many events a row stands for; `terms` make the number of the cell
    and the negative number of the reason why there is none. `checked` has the number
    of the value in each dimension that only a comparison keeps inside, and how many values it has: whoever reads the answer looks
    whether each lies inside, so that nothing rests on what the engine compared. A time of day is a remainder, and needs none;
    nor does the day where it is part of the answer (`with_day`).
    """

    events: str
    terms: CellTerms
    checked: tuple[tuple[str, int], ...] = ()


@contextmanager
def cell_sql(
    wanted: CountPlan,
    plan: CellPlan,
    source: Source,
    /,
    *,
    connection: duckdb.DuckDBPyConnection,
    person: str = "NULL",
    weight: str = "1",
    with_day: bool = False,
) -> Iterator[CellSql]:
    """The pieces for counting `source`; lookup tables live in the connection as long as the context."""
    columns = [column_sql(dim, source, wanted) for dim in plan.dimensions]
    selected = [f"{col.value} AS v{n}, {col.raw} AS r{n}" for n, col in enumerate(columns)]
    looked_up = {n: lookup_table(dim) for n, dim in enumerate(plan.dimensions) if dim.steps is None}
    short = {n: table for n, table in looked_up.items() if _is_short(table)}
    listed: dict[int, dict[str, str]] = {}
    for n, table in short.items():
        # Only terms are wanted of all events; the code where one is outside.
        listed[n] = {name: f"e.{name}_{n}" for name in table.column_names[2:]}
        selected += [f"{_case(columns[n].value, table, name)} AS {name}_{n}" for name in listed[n]]
        listed[n]["code"] = _case(f"e.v{n}", table, "code")
    events = f"(SELECT {', '.join(selected)}, {person} AS person, {weight} AS weight FROM {source.sql}) AS e"  # noqa: S608 - quoted parts
    tables = {n: f"noisegate_{secrets.token_hex(6)}" for n in looked_up if n not in listed}
    nests = [f"noisegate_{secrets.token_hex(6)}" for _ in plan.nests]
    terms = CellTerms(plan=plan, dialect=replace(DIALECT, listed=listed))
    with _clock_of(connection, wanted.timezone):
        try:
            for n, name in tables.items():
                store(connection, name, looked_up[n])
                events += f" LEFT JOIN {name} AS l{n} ON e.v{n} = l{n}.value"
            for n, (name, nest) in enumerate(zip(nests, plan.nests, strict=True)):
                store(connection, name, nest_table(nest))
                events += f" LEFT JOIN {name} AS n{n} ON {terms.nest_key(nest)} = n{n}.key"
            checked = tuple(
                (_narrow(f"e.v{n}", dim.size), dim.size)
                for n, dim in enumerate(plan.dimensions)
                if dim.steps
                and not isinstance(dim.spec, TimeDimension)
                and not (with_day and f"e.v{n}" == terms.day)
            )
            yield CellSql(events=events, terms=terms, checked=checked)
        finally:
            for name in (*tables.values(), *nests):
                connection.execute(f"DROP TABLE IF EXISTS {name}")


def _narrow(value: str, size: int, /) -> str:
    """A value in as few octets as tell whether it is below `size`; what does not fit becomes NULL. Half of a stream's cost is its width."""
    fitting = [
        name for name, bits in (("UTINYINT", 8), ("USMALLINT", 16), ("UINTEGER", 32)) if size < 2**bits
    ]
    return f"TRY_CAST({value} AS {fitting[0]})" if fitting else value


def _is_short(table: Columns, /) -> bool:
    """Whether values are plain texts that are compared with each faster than they are joined."""
    values = table.columns["value"]
    if table.num_rows > _SHORT or values.labels is None:
        return False
    return all(text.isprintable() for text in values.labels)


def _case(value: str, table: Columns, column: str, /) -> str:
    """SQL for a column of a short table in the row of a value; NULL if it is in none."""
    texts = [literal(text) for text in table["value"]]
    rows = zip(texts, table[column], strict=True)
    whens = " ".join(f"WHEN {text} THEN {number}::BIGINT" for text, number in rows if number is not None)
    return f"CASE {value} {whens} END" if whens else "NULL::BIGINT"


def lookup_table(dimension: DimensionPlan, /) -> Columns:
    """For each value (text, or the number of a day or bin) its number and its term in each block."""
    texts, codes = dimension.keys
    values = (
        Values.numbers(np.arange(dimension.size, dtype=np.int64))
        if isinstance(texts, range)
        else Values.texts(texts)
    )
    terms = _terms(tuple(term[codes] for term in dimension.terms))
    return Columns({"value": values, "code": Values.numbers(codes), **terms})


def nest_table(nest: NestPlan, /) -> Columns:
    """For each combination that exists its number and its term in each block."""
    return Columns({"key": Values.numbers(nest.keys), **_terms(nest.terms)})


def _terms(terms: tuple[Ints, ...], /) -> dict[str, Values]:
    return {f"t{b}": Values.numbers(term, missing=term < 0) for b, term in enumerate(terms)}


@contextmanager
def _clock_of(connection: duckdb.DuckDBPyConnection, timezone: str | None, /) -> Iterator[None]:
    """Let text without an offset mean the clock of `timezone`, as long as the context."""
    if timezone is None:
        yield
        return
    (before,) = one_row(connection, "SELECT current_setting('TimeZone')")
    connection.execute(f"SET TimeZone = {literal(timezone)}")
    try:
        yield
    finally:
        connection.execute(f"SET TimeZone = {literal(before)}")
