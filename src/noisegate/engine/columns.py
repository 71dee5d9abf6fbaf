"""SQL of DuckDB for one column of the events: what it holds, as text, a day or a time bin."""

from __future__ import annotations

from dataclasses import dataclass

from noisegate.engine.plan import DimensionPlan
from noisegate.engine.source import Source, literal
from noisegate.errors import DataError
from noisegate.spec import DateDimension, ListedDimension, TimeDimension

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_NAIVE = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_AWARE = "TIMESTAMP WITH TIME ZONE"
_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "VARIANT", "GEOMETRY")
_DAY_US = 86_400_000_000
#: Two thousand years in whole days: keeps times before 1970 positive.
_SHIFT_US = 730_500 * _DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSql:
    """What SQL to read a column with.

    `value` is NULL if the column is, or if its text is no date or time; `raw` is NULL only if the
    column is.
    """

    raw: str
    value: str


def column_sql(dimension: DimensionPlan, source: Source, /, *, timezone: str | None) -> ColumnSql:
    """SQL for the value of a dimension: text for listed values, else the number of the day or bin."""
    name, kind = source.column(dimension.column)
    spec = dimension.spec
    if isinstance(spec, ListedDimension):
        _refuse_nested(source, dimension.column, kind)
        return ColumnSql(raw=name, value=name if kind == "VARCHAR" else f"CAST({name} AS VARCHAR)")
    if isinstance(spec, DateDimension):
        day = name if kind == "DATE" else f"CAST({_timestamp(source, dimension, timezone)} AS DATE)"
        return ColumnSql(raw=name, value=f"({day} - DATE {literal(spec.first.isoformat())})")
    return ColumnSql(raw=name, value=_time_bin(source, dimension, spec, timezone))


def person_kind(source: Source, column: str, /) -> tuple[str, bool]:
    """The quoted name of the person column, and whether it holds 64-bit whole numbers."""
    name, kind = source.column(column)
    _refuse_nested(source, column, kind)
    if kind in _FLOATS:
        raise DataError(
            f"Column {column!r} of {source.name} holds {kind}, which can blur persons; give whole numbers or text."
        )
    return name, kind in _INTEGERS


def _time_bin(source: Source, dimension: DimensionPlan, spec: TimeDimension, timezone: str | None, /) -> str:
    name, kind = source.column(dimension.column)
    width = spec.every * 1_000_000
    clock = f"epoch_us({name})"
    if kind == "VARCHAR":
        stamp = f"epoch_us({_timestamp(source, dimension, timezone)}) + {_SHIFT_US}"
        clock = f"coalesce({stamp}, epoch_us(TRY_CAST({name} AS TIME)))"
    elif kind != "TIME":
        clock = f"(epoch_us({_timestamp(source, dimension, timezone)}) + {_SHIFT_US})"
    return f"({clock} % {_DAY_US} // {width})"


def _timestamp(source: Source, dimension: DimensionPlan, timezone: str | None, /) -> str:
    """SQL for the wall-clock time in a column, or an error if it cannot hold one."""
    name, kind = source.column(dimension.column)
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
        if timezone is not None:
            return f"timezone({literal(timezone)}, TRY_CAST({name} AS TIMESTAMPTZ))"
        # Without a time zone, text that carries an offset is not guessed at.
        return f"CASE WHEN NOT regexp_matches(substr({name}, 12), '[Zz+-]') THEN TRY_CAST({name} AS TIMESTAMP) END"
    what = "a date" if isinstance(dimension.spec, DateDimension) else "a time"
    raise DataError(
        f"Column {dimension.column!r} of {source.name} holds {kind}; dimension {dimension.name} needs {what}: "
        "a timestamp, or text such as 2016-07-25 06:15:00."
    )


def _refuse_nested(source: Source, column: str, kind: str, /) -> None:
    if kind.startswith(_NESTED) or kind.endswith("]"):
        raise DataError(f"Column {column!r} of {source.name} holds {kind}; plain text or numbers are needed.")
