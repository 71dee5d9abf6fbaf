"""Events of Spark as numbers: for each its key (the cell, or a negative reason), and whose it is.

The same sums as everywhere (`cell_terms`): small tables of terms are broadcast, so that coding moves no event.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from noisegate.engine.cell_sql import lookup_table, nest_table
from noisegate.engine.cell_terms import CellTerms, SqlDialect
from noisegate.engine.date_text import year_first
from noisegate.engine.plan import CellPlan, CountPlan, DimensionPlan
from noisegate.engine.private_log import keep_words
from noisegate.engine.source import files_of, is_delta, is_remote
from noisegate.errors import DataError
from noisegate.spec import (
    BandDimension,
    CalendarDimension,
    DateDimension,
    ListedDimension,
    LookupDimension,
    TimeDimension,
    did_you_mean,
)

_PARQUET = (".parquet", ".pq")
_TEXTS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".json")
_NAIVE, _AWARE = "timestamp_ntz", "timestamp"
#: Joined tables keep no names of their own, so that their columns have longer ones.
_DIALECT = SqlDialect(
    value="v{n}",
    missing="m{n}",
    looked_up="l{n}_{column}",
    nested="n{n}_{column}",
    days="datediff({day}, DATE {first})",
    weekday="weekday({day})",
)
_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "string"})


def open_events(wanted: CountPlan, session: Any, /) -> Any:
    """The events as a table of Spark: Parquet files, a folder of them, a remote path, or a table of the catalogue."""
    text = wanted.source_name
    low = text.lower()
    if low.endswith(_TEXTS):
        raise DataError(
            f"The events {text!r} are no Parquet files; Spark reads Parquet or a table of its catalogue here. Write them as "
            "Parquet, or count them with --engine duckdb."
        )
    if is_remote(text):
        return session.read.parquet(text)
    if low.endswith(_PARQUET):
        return session.read.parquet(*(f"file://{one.resolve()}" for one in files_of(text, wanted.folder)))
    folder = wanted.folder / text
    if low.startswith("delta.`"):
        return _delta(lambda: session.table(text), text)
    if folder.is_dir():
        path = f"file://{folder.resolve()}"
        if is_delta(folder):
            return _delta(lambda: session.read.format("delta").load(path), text)
        return session.read.parquet(path)
    if "/" in text or Path(text).suffix.lower() in (".duckdb", ".xlsx"):
        raise DataError(f"The events {text!r} do not exist beside the spec.")
    if not session.catalog.tableExists(text):
        raise DataError(f"There is no table {text!r} in the catalogue of Spark.")
    return session.table(text)


def _delta(read: Callable[[], Any], text: str, /) -> Any:
    """A Delta table, if the session can read it: its folder also holds rows that are deleted, so nothing else may."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - errors of Java, of Spark, of gRPC
        raise DataError(
            f"The events {text!r} are a Delta table, which this session of Spark cannot read; start it with the package of Delta "
            f"(spark.jars.packages), or write a copy of the table as Parquet.{keep_words(error)}"
        ) from None


class EventCode:
    """The events of a plan, coded: `key`, and where units are persons `person` and `spread`, by which they are shuffled."""

    def __init__(self, wanted: CountPlan, plan: CellPlan, session: Any, /) -> None:
        self._wanted, self._plan, self._session = wanted, plan, session
        self._terms = CellTerms(plan=plan, dialect=_DIALECT)
        self._events = open_events(wanted, session)
        self._kinds = {field.name: field.dataType.simpleString() for field in self._events.schema.fields}
        self.cell_bits = (wanted.domain.size - 1).bit_length()
        self.days = wanted.day.days if wanted.unit == "person-day" and wanted.day else 1

    def rows(self) -> int:
        """How many events there are; read from the ends of Parquet files."""
        return int(self._events.count())

    def coded(self) -> Any:
        """One row for each event."""
        from pyspark.sql import functions as sql

        plan = self._plan
        columns = [self._value(dim) for dim in plan.dimensions]
        selected = [f"{value} AS v{n}" for n, (value, _) in enumerate(columns)]
        selected += [f"({raw}) IS NULL AS m{n}" for n, (_, raw) in enumerate(columns)]
        by_person = self._wanted.bound is not None
        if by_person:
            selected.append(f"{self._person()} AS person")
        events = self._events.selectExpr(*selected)
        for n, dim in enumerate(plan.dimensions):
            if dim.steps is None:
                terms = self._small(lookup_table(dim), prefix=f"l{n}_")
                events = events.join(sql.broadcast(terms), sql.expr(f"v{n} = l{n}_value"), "left")
        for n, nest in enumerate(plan.nests):
            terms = self._small(nest_table(nest), prefix=f"n{n}_")
            events = events.join(
                sql.broadcast(terms), sql.expr(f"{self._terms.nest_key(nest)} = n{n}_key"), "left"
            )
        if not by_person:
            return events.selectExpr(f"coalesce({self._terms.cell}, {self._terms.why}) AS key")
        nobody = next(plan.code(one) for one in plan.reasons if one.cause == "person")
        day = f"CAST({self._terms.day} AS BIGINT) * {2**self.cell_bits}L + " if self.days > 1 else ""
        inside = f"CASE WHEN person IS NOT NULL THEN {day}{self._terms.cell} END"
        names = ", ".join(f"v{n}" for n in range(len(columns)))
        keyed = events.selectExpr("*", f"coalesce({inside}, {self._terms.why}, {nobody}L) AS key")
        # Events outside have no unit: they are spread by what they hold, so that no worker gets them all.
        return keyed.selectExpr(
            "key", "person", f"CASE WHEN key >= 0 THEN xxhash64(person) ELSE xxhash64({names}) END AS spread"
        )

    def _small(self, table: Any, /, *, prefix: str) -> Any:
        return self._session.createDataFrame(
            table.to_arrow().rename_columns([prefix + name for name in table.column_names])
        )

    def _column(self, wanted: str, /) -> tuple[str, str]:
        for name, kind in self._kinds.items():
            if name.lower() == wanted.lower():
                return "`" + name.replace("`", "``") + "`", kind
        hint = did_you_mean(wanted, self._kinds) or f"; it has {', '.join(self._kinds)}"
        end = "" if hint.endswith("?") else "."
        raise DataError(f"{self._wanted.source_name} has no column {wanted!r}{hint}{end}")

    def _person(self) -> str:
        name, kind = self._column(str(self._wanted.person))
        if kind in ("float", "double") or kind.startswith(("array", "map", "struct", "binary", "variant")):
            raise DataError(
                f"Column {self._wanted.person!r} of {self._wanted.source_name} holds {kind}; a person needs whole numbers "
                "or text."
            )
        whole = kind in ("tinyint", "smallint", "int", "bigint")
        return f"CAST({name} AS BIGINT)" if whole else f"CAST({name} AS STRING)"

    def _value(self, dimension: DimensionPlan, /) -> tuple[str, str]:
        """SQL of the value (text, or the number of a day or bin), and of the column itself."""
        name, kind = self._column(dimension.column)
        spec = dimension.spec
        if isinstance(spec, ListedDimension | LookupDimension):
            if kind.startswith(("array", "map", "struct", "binary", "variant")):
                raise DataError(
                    f"Column {dimension.column!r} of {self._wanted.source_name} holds {kind}; plain text or numbers are needed."
                )
            return f"CAST({name} AS STRING)", name
        if isinstance(spec, BandDimension):
            return self._band(dimension, spec, name, kind), name
        if isinstance(spec, DateDimension | CalendarDimension):
            day = name if kind == "date" else f"CAST({self._clock(dimension, name, kind)} AS DATE)"
            return _DIALECT.number_of(day, spec), name
        return self._bin(dimension, spec, name, kind), name

    def _band(self, dimension: DimensionPlan, spec: BandDimension, name: str, kind: str, /) -> str:
        if kind not in _NUMBERS and not kind.startswith("decimal"):
            raise DataError(
                f"Column {dimension.column!r} of {self._wanted.source_name} holds {kind}; dimension {dimension.name} needs "
                "a number."
            )
        number = f"TRY_CAST({name} AS DOUBLE)"
        return spec.bands.case(number, missing=f"{name} IS NULL", nan=f"isnan({number})")

    def _bin(self, dimension: DimensionPlan, spec: TimeDimension, name: str, kind: str, /) -> str:
        def seconds(clock: str) -> str:
            return f"hour({clock}) * 3600 + minute({clock}) * 60 + CAST(second({clock}) AS INT)"

        if kind.startswith("time("):
            return f"({seconds(name)}) div {spec.every}"
        clock = self._clock(dimension, name, kind)
        if kind == "string":  # a time of day alone
            alone = f"TRY_CAST(concat('1970-01-01 ', {name}) AS TIMESTAMP_NTZ)"
            clock = f"coalesce({clock}, {alone})"
        return f"({seconds(clock)}) div {spec.every}"

    def _clock(self, dimension: DimensionPlan, name: str, kind: str, /) -> str:
        """SQL of the wall-clock time in a column; the session's time zone is that of the events."""
        if kind == _NAIVE:
            return name
        if kind == _AWARE:
            if self._wanted.timezone is None:
                raise DataError(
                    f"Column {dimension.column!r} of {self._wanted.source_name} holds times with a UTC offset; "
                    "say with events.timezone whose clock the table is about."
                )
            return f"CAST({name} AS TIMESTAMP_NTZ)"
        if kind == "string":
            name = year_first(name, self._wanted.dates, group="$")
            if self._wanted.timezone is not None:
                return f"CAST(TRY_CAST({name} AS TIMESTAMP) AS TIMESTAMP_NTZ)"
            return (
                f"CASE WHEN NOT substr({name}, 12) RLIKE '[Zz+-]' THEN TRY_CAST({name} AS TIMESTAMP_NTZ) END"
            )
        what = "a date" if isinstance(dimension.spec, DateDimension | CalendarDimension) else "a time"
        raise DataError(
            f"Column {dimension.column!r} of {self._wanted.source_name} holds {kind}; dimension {dimension.name} needs "
            f"{what}: a timestamp, or text such as 2016-07-25 06:15:00."
        )
