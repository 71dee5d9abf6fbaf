"""The raw data behind a release, which only its custodian has: what an attack is scored against.

The file holds events, one row each, or raw counts. Its columns are matched to the dimensions of the base by
name, dates and times by their type, other dimensions by the values they hold. No raw count and no person
leaves this module in a message.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisegate.columns import Columns, Values, store
from noisegate.engine import (
    CountPlan,
    Source,
    count,
    csv_header,
    one_row,
    own_connection,
    quoted,
    reading,
    year_first,
)
from noisegate.errors import DataError, SpecError
from noisegate.spec import AnyDimension, DateDimension, ListedDimension, ReleaseSpec, TimeDimension
from noisegate.tables import Dimension, Domain, Kind, Table, folded, kind_of


def selected(
    source: str, spec: ReleaseSpec, /, *, shown: Container[str], kinds: Mapping[str, str], path: Path
) -> str:
    """`source`, a table in SQL, with only the events that have a value of every dimension not in `shown`.

    Raises
    ------
    SpecError
        If the file lacks the column of such a dimension.
    """
    conditions = []
    for name, dimension in spec.dimensions.items():
        if name in shown or not isinstance(dimension, ListedDimension | DateDimension):
            continue
        if dimension.column not in kinds:
            raise SpecError(
                f"{path} has no column {dimension.column!r}, by which the spec selects events ({name}); "
                "give the raw events that the spec is about."
            )
        column = quoted(dimension.column)
        if isinstance(dimension, ListedDimension):
            values = ", ".join("'" + value.replace("'", "''") + "'" for value in dimension.values)
            conditions.append(f"{column}::VARCHAR IN ({values})")
        else:
            days = f"strftime({column}, '%Y-%m-%d')" if is_moment(kinds[dimension.column]) else column
            conditions.append(f"{days} BETWEEN '{dimension.first}' AND '{dimension.last}'")
    if not conditions:
        return source
    return f"(SELECT * FROM {source} WHERE {' AND '.join(conditions)})"  # noqa: S608 - quoted parts


def on_the_clock_of(
    timezone: str | None, source: str, kinds: Mapping[str, str], /
) -> tuple[str, dict[str, str]]:
    """`source` with moments in time as a clock of `timezone` shows them, and the types that its columns then have."""
    moments = [name for name, kind in kinds.items() if kind == "TIMESTAMP WITH TIME ZONE"]
    if timezone is None or not moments:
        return source, dict(kinds)
    shown = ", ".join(f"timezone('{timezone}', {quoted(name)}) AS {quoted(name)}" for name in moments)
    return (
        f"(SELECT * REPLACE ({shown}) FROM {source})",  # noqa: S608 - quoted parts and a checked zone
        {**kinds, **dict.fromkeys(moments, "TIMESTAMP")},
    )


def _year_first(spec: ReleaseSpec, source: str, kinds: Mapping[str, str], /) -> tuple[str, dict[str, str]]:
    """`source` with text of dates whose day or month comes first as moments, and the types that its columns then have."""
    order = spec.events.dates
    columns = {one.column for one in spec.dimensions.values() if isinstance(one, DateDimension)}
    texts = [name for name in kinds if name in columns and kinds[name] == "VARCHAR"]
    if order is None or not texts:
        return source, dict(kinds)
    shown = ", ".join(
        f"TRY_CAST({year_first(quoted(name), order)} AS TIMESTAMP) AS {quoted(name)}" for name in texts
    )
    return (
        f"(SELECT * REPLACE ({shown}) FROM {source})",  # noqa: S608 - quoted parts
        {**kinds, **dict.fromkeys(texts, "TIMESTAMP")},
    )


def is_moment(kind: str, /) -> bool:
    """Whether a column of this type of DuckDB's holds days."""
    return kind == "DATE" or kind.startswith("TIMESTAMP")


Ints = NDArray[np.int64]

_PERSON = frozenset({"person", "card", "cardid", "customer", "user", "rider", "passenger", "member", "token"})
_COUNT = frozenset({"count", "counts", "n", "total", "events", "taps"})
#: A column is taken for a dimension if it holds at least this share of its values.
_SHARE = 0.5
_DISTINCT = 200_000
#: Types of DuckDB's that can blur a person; taken as text.
_BLURRED = frozenset({"FLOAT", "DOUBLE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthFile:
    """Raw events or raw counts in a file, and what its columns are.

    Attributes
    ----------
    source
        The file as DuckDB reads it: a quoted table expression.
    columns
        The column of each dimension of the base, by the dimension's name; `kinds` are the columns' types.
    person
        The column that says whose event it is; None if there is none.
    count
        The column with raw counts; None if every row is an event.
    """

    path: Path
    source: str
    columns: dict[str, str]
    kinds: dict[str, str]
    person: str | None
    count: str | None

    @classmethod
    def open(
        cls, path: Path, base: Table, /, *, person: str | None = None, spec: ReleaseSpec | None = None
    ) -> Self:
        """The file at `path`, with its columns matched to the dimensions of `base`.

        A spec says which column holds which dimension and whose events they are, and which events count at all: those
        that have a value of every dimension that no table shows.

        Raises
        ------
        DataError
            If it cannot be read, or a dimension has no column.
        """
        source = _source(path)
        with own_connection() as connection:
            kinds = _columns(connection, source, path)
            source = _row_by_row(source, kinds)
            if spec is not None:
                source, kinds = on_the_clock_of(spec.events.timezone, source, kinds)
                source, kinds = _year_first(spec, source, kinds)
            shown = _shown_columns(path, kinds, base, spec)
            if person is not None and person not in kinds:
                raise SpecError(f"{path} has no column {person!r} that --person names; {shown}.")
            stated = (
                {} if spec is None else {n: d.column for n, d in spec.dimensions.items() if d.column in kinds}
            )
            if person is None and spec is not None and spec.events.person in kinds:
                person = spec.events.person
            who = person or next((name for name in kinds if _words(name) & _PERSON), None)
            count = next(
                (
                    name
                    for name, kind in kinds.items()
                    if _is_number(kind) and (name == base.count_name or folded(name) in _COUNT)
                ),
                None,
            )
            free = [name for name in kinds if name not in (who, count)]
            columns = {
                dimension.name: stated.get(dimension.name)
                or _column_of(dimension, free, kinds, connection, source, path, shown)
                for dimension in base.dimensions
            }
        if spec is not None:
            source = selected(source, spec, shown=columns, kinds=kinds, path=path)
        return cls(path=path, source=source, columns=columns, kinds=kinds, person=who, count=count)

    def count_cells(self, base: Table, /) -> Truth:
        """The raw count of every cell of the base."""
        readers = {one.name: _numbers(one) for one in base.dimensions}
        domain = Domain.product(
            [Dimension(name=name, values=one.dimension.values) for name, one in readers.items()]
        )
        with self.opened(readers, {one.name: self._held(one) for one in base.dimensions}) as events:
            found = count(events.plan(domain), connection=events.connection)
        flat = base.locate(np.stack(domain.decode(found.cells)).astype(np.int32))
        inside = flat >= 0
        counts = np.bincount(flat[inside], weights=found.raw_counts[inside], minlength=base.size)
        if not counts.any():
            raise DataError(
                f"No row of {self.path} falls into a cell of {base.name}; it holds other dates or places."
            )
        return Truth.of(counts, events=found.tally.events, file=self)

    @contextmanager
    def opened(
        self, readers: Mapping[str, ValueReader], values: Mapping[str, str], /
    ) -> Iterator[OpenedEvents]:
        """The file as the engine counts it: for each dimension a column with its values, however the file spells them.

        `values` has SQL for what the file holds of each dimension, in the columns of `f`.
        """
        with own_connection() as connection:
            with reading(self.path.name):
                spelled = self._spellings(connection, readers, values)
            joins, selected, kinds, dimensions = "", [], {}, {}
            for j, (name, reader) in enumerate(readers.items()):
                sql, kind = values[name], reader.kind
                if name in spelled:
                    store(connection, f"m{j}", reader.places(spelled[name]))
                    joins += f" LEFT JOIN m{j} ON {sql} = m{j}.held"
                    sql = f"m{j}.value" if reader.missing is None else _or_missing(sql, f"m{j}.value", reader)
                selected.append(f"CAST({sql} AS {kind}) AS d{j}")
                kinds[f"d{j}"] = kind
                dimensions[name] = reader.dimension.model_copy(update={"column": f"d{j}"})
            for name, column in (("who", self.person), ("n", self.count)):
                if column is not None:
                    kinds[name] = "VARCHAR" if self.kinds[column] in _BLURRED else self.kinds[column]
                    selected.append(f"CAST(f.{quoted(column)} AS {kinds[name]}) AS {name}")
            sql = f"(SELECT {', '.join(selected)} FROM {self.source} AS f{joins})"  # noqa: S608 - quoted parts
            yield OpenedEvents(
                connection=connection,
                source=Source(name=self.path.name, sql=sql, columns=kinds, rows=self._rows(connection)),
                dimensions=dimensions,
            )

    def _spellings(
        self,
        connection: duckdb.DuckDBPyConnection,
        readers: Mapping[str, ValueReader],
        values: Mapping[str, str],
        /,
    ) -> dict[str, list[Any]]:
        """What the file holds of each dimension whose values are matched by their spelling."""
        names = [name for name, reader in readers.items() if reader.spelled]
        if not names:
            return {}
        lists = ", ".join(f"list(DISTINCT {values[name]})" for name in names)
        row = one_row(connection, f"SELECT {lists} FROM {self.source} AS f")  # noqa: S608 - quoted parts
        return {
            name: [value for value in held or () if value is not None]
            for name, held in zip(names, row, strict=True)
        }

    def _rows(self, connection: duckdb.DuckDBPyConnection, /) -> int:
        with reading(self.path.name):
            (rows,) = one_row(connection, f"SELECT count(*) FROM {self.source}")  # noqa: S608 - quoted parts
        return int(rows)

    def column(self, name: str, /) -> tuple[str, str]:
        """The column of a dimension as SQL names it, and its type.

        Raises
        ------
        SpecError
            If no table that was read has the dimension.
        """
        if name not in self.columns:
            raise SpecError(
                f"the tables that were read do not have {name}, which the release has; give all tables of the release."
            )
        return f"f.{quoted(self.columns[name])}", self.kinds[self.columns[name]]

    def _held(self, dimension: Dimension, /) -> str:
        """SQL for what the file holds of a dimension: a day, the minute of the day at which a bin starts, or text."""
        column, kind = self.column(dimension.name)
        if dimension.kind is Kind.DATE and is_moment(kind):
            return f"CAST({column} AS DATE)"
        if dimension.kind is Kind.TIME and kind.startswith("TIME"):
            step = dimension.step or 1440
            return f"((hour({column}) * 60 + minute({column})) // {step} * {step})"
        return f"{column}::VARCHAR"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueReader:
    """How the values of a dimension are told by what a file holds.

    Attributes
    ----------
    dimension
        The values.
    known
        The value that each spelling stands for, else the one in small letters with single blanks; empty if the file
        holds times or days that need no matching.
    missing
        The value that a gap stands for; None if an event with a gap is outside.
    """

    dimension: AnyDimension
    known: Mapping[str, str] = field(default_factory=dict, repr=False)
    missing: str | None = None

    @property
    def spelled(self) -> bool:
        """Whether values are matched by their spelling."""
        return bool(self.known)

    @property
    def kind(self) -> str:
        """The type of DuckDB's that the engine reads the values from."""
        if isinstance(self.dimension, TimeDimension):
            return "TIME"
        return "DATE" if isinstance(self.dimension, DateDimension) else "VARCHAR"

    def places(self, held: Sequence[Any], /) -> Columns:
        """The value of each thing that a file holds and that has one: text, a day, or the minute of a bin."""
        pairs = {}
        for thing in held:
            text = f"{thing // 60:02d}:{thing % 60:02d}" if isinstance(thing, int) else str(thing)
            value = self.known.get(text, self.known.get(folded(text)))
            if value is not None:
                pairs[thing] = value
        things = list(pairs)
        if all(isinstance(thing, str) for thing in things):
            found = Values.texts(things)
        else:
            found = Values.numbers(
                np.array(things, "datetime64[D]" if isinstance(things[0], date) else np.int64)
            )
        return Columns({"held": found, "value": Values.texts(pairs.values())})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedEvents:
    """Raw events in the form that the engine counts; as long as its connection is open."""

    connection: duckdb.DuckDBPyConnection
    source: Source
    dimensions: Mapping[str, AnyDimension]

    def plan(self, domain: Domain, /) -> CountPlan:
        """What to count, with every event on its own."""
        weight = "n" if "n" in self.source.columns else None
        return CountPlan(domain=domain, dimensions=self.dimensions, source=self.source, weight=weight)


def _numbers(dimension: Dimension, /) -> ValueReader:
    """The labels of a published table by their numbers: two of them may look alike."""
    known = {folded(key): str(code) for code, key in enumerate(dimension.keys)}
    known |= {folded(label): str(code) for code, label in enumerate(dimension.labels)}
    unknown = np.flatnonzero(dimension.unknown)
    numbers = [str(code) for code in range(dimension.size)]
    return ValueReader(
        dimension=ListedDimension.model_validate({"column": dimension.name, "values": numbers}),
        known=known,
        missing=str(unknown[0]) if unknown.size else None,
    )


def _or_missing(sql: str, value: str, reader: ValueReader, /) -> str:
    return f"coalesce({value}, CASE WHEN {sql} IS NULL THEN '{reader.missing}' END)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """The raw count of every cell of the base, how many events there are, and how many are in none of its cells."""

    counts: Ints
    events: int
    outside: int
    file: TruthFile

    @classmethod
    def of(cls, counts: NDArray[Any], /, *, events: int, file: TruthFile) -> Self:
        """The counts of all cells, of so many events in all."""
        whole = np.rint(counts).astype(np.int64)
        return cls(counts=whole, events=events, outside=events - int(whole.sum()), file=file)


def _source(path: Path, /) -> str:
    if not path.is_file():
        raise DataError(f"There is no file {path}; name the raw events or counts with --truth.")
    text = str(path).replace("'", "''")
    if path.suffix.casefold() in (".parquet", ".pq"):
        return f"read_parquet('{text}')"
    # DuckDB finds the types of the columns; what they are called and how lines are split is ours to say.
    return f"read_csv('{text}', {csv_header(path).dialect})"


def _row_by_row(source: str, kinds: Mapping[str, str], /) -> str:
    """A file of text that cannot be read where a value runs on over lines: a quotation mark that is never closed swallows rows."""
    texts = [quoted(name) for name, kind in kinds.items() if kind == "VARCHAR"]
    if not source.startswith("read_csv") or not texts:
        return source
    broken = " OR ".join(f"contains({name}, chr({code}))" for name in texts for code in (10, 13))
    return f"(FROM {source} WHERE CASE WHEN {broken} THEN error('a row of several lines') ELSE true END)"


def _columns(connection: duckdb.DuckDBPyConnection, source: str, path: Path, /) -> dict[str, str]:
    try:
        with reading(path.name):
            rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - a quoted path
    except DataError:
        raise DataError(
            f"{path} cannot be read as Parquet or CSV with a header; give the raw events as such a file."
        ) from None
    return {str(name): str(kind) for name, kind, *_ in rows}


def _shown_columns(path: Path, kinds: Mapping[str, str], base: Table, spec: ReleaseSpec | None, /) -> str:
    """What a message says of the columns; a first line that may be a row of data is not shown."""
    wanted = {
        *(d.name for d in base.dimensions),
        *_PERSON,
        *_COUNT,
        *(d.column for d in (spec.dimensions if spec else {}).values()),
    }
    packed = path.suffix.casefold() in (".parquet", ".pq")
    if packed or csv_header(path).plausible(wanted):
        return f"it has {', '.join(kinds)}"
    return "its first line is not shown, as it may be a row of data and no line of column names"


def _column_of(
    dimension: Dimension,
    free: Sequence[str],
    kinds: dict[str, str],
    connection: duckdb.DuckDBPyConnection,
    source: str,
    path: Path,
    shown: str,
    /,
) -> str:
    """The column that holds a dimension: by name, by type, or by its values."""
    named = [name for name in free if folded(name) == folded(dimension.name)]
    if named:
        return named[0]
    if dimension.kind is Kind.DATE:
        found = [name for name in free if is_moment(kinds[name])]
    elif dimension.kind is Kind.TIME or kind_of(dimension.labels) == "time":
        found = [name for name in free if kinds[name].startswith("TIME")]
    else:
        found = []
    if found:
        return found[0]
    shares = {name: _share(name, dimension, connection, source) for name in free}
    best = max(shares, key=lambda name: shares[name], default=None)
    if best is None or shares[best] < _SHARE:
        raise DataError(
            f"{path} has no column for {dimension.name}; name columns as the published tables do ({shown})."
        )
    return best


def _share(name: str, dimension: Dimension, connection: duckdb.DuckDBPyConnection, source: str, /) -> float:
    """The share of the values of a dimension that a column holds."""
    query = f"SELECT DISTINCT {quoted(name)}::VARCHAR FROM {source} LIMIT {_DISTINCT}"  # noqa: S608 - quoted parts
    with reading("the file with the raw data"):
        held = {folded(value) for (value,) in connection.execute(query).fetchall() if value is not None}
    known = [k for k in range(dimension.size) if not dimension.unknown[k]]
    hits = sum(folded(dimension.labels[k]) in held or folded(dimension.keys[k]) in held for k in known)
    return hits / max(len(known), 1)


def _words(name: str, /) -> set[str]:
    words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold())
    return {*words, "".join(words)}


def _is_number(kind: str, /) -> bool:
    return kind.rstrip("0123456789(), ").removeprefix("U") in (
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "DOUBLE",
        "FLOAT",
        "DECIMAL",
    )
