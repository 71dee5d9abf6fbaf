"""The raw data behind a release, which only its custodian has: what an attack is scored against.

The file holds events, one row each, or raw counts. Its columns are matched to the dimensions of the base by
name, dates and times by their type, other dimensions by the values they hold. No raw count and no person
leaves this module in a message.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.spec import DateDimension, ListedDimension, ReleaseSpec
from noisegate.tables.dimension import Dimension, Kind
from noisegate.tables.table import Table
from noisegate.tables.where import folded, kind_of


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


def is_moment(kind: str, /) -> bool:
    """Whether a column of this type of DuckDB's holds days."""
    return kind == "DATE" or kind.startswith("TIMESTAMP")


def quoted(name: str, /) -> str:
    """A column as SQL names it."""
    return '"' + name.replace('"', '""') + '"'


Ints = NDArray[np.int64]

_PERSON = frozenset({"person", "card", "cardid", "customer", "user", "rider", "passenger", "member", "token"})
_COUNT = frozenset({"count", "counts", "n", "total", "events", "taps"})
#: A column is taken for a dimension if it holds at least this share of its values.
_SHARE = 0.5
_DISTINCT = 200_000


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
        with duckdb.connect() as connection:
            kinds = _columns(connection, source, path)
            if spec is not None:
                source, kinds = on_the_clock_of(spec.events.timezone, source, kinds)
            if person is not None and person not in kinds:
                raise SpecError.for_choice("--person", found=person, allowed=kinds)
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
                or _column_of(dimension, free, kinds, connection, source, path)
                for dimension in base.dimensions
            }
        if spec is not None:
            source = selected(source, spec, shown=columns, kinds=kinds, path=path)
        return cls(path=path, source=source, columns=columns, kinds=kinds, person=who, count=count)

    def value(self, dimension: Dimension, /) -> str:
        """SQL for the value of a dimension in each row, as text in the spelling of its keys or labels."""
        name = self.columns[dimension.name]
        column, kind = quoted(name), self.kinds[name]
        if dimension.kind is Kind.DATE and is_moment(kind):
            return f"strftime({column}, '%Y-%m-%d')"
        if dimension.kind is Kind.TIME and (kind.startswith("TIME")):
            step = dimension.step or 1440
            minutes = f"((hour({column}) * 60 + minute({column})) // {step} * {step})"
            return f"printf('%02d:%02d', {minutes} // 60, {minutes} % 60)"
        return f"{column}::VARCHAR"

    def events(self) -> int:
        """How many events there are."""
        amount = "count(*)" if self.count is None else f"sum({quoted(self.count)})"
        with duckdb.connect() as connection:
            found = connection.execute(f"SELECT {amount} FROM {self.source}").fetchone()  # noqa: S608 - quoted parts
        return int(found[0] or 0) if found else 0

    def count_cells(self, base: Table, /) -> Truth:
        """The raw count of every cell of the base."""
        values = ", ".join(f"{self.value(d)} AS d{j}" for j, d in enumerate(base.dimensions))
        amount = "count(*)" if self.count is None else f"sum({quoted(self.count)})"
        query = f"SELECT {values}, {amount}::BIGINT AS n FROM {self.source} GROUP BY ALL"  # noqa: S608 - quoted parts
        with duckdb.connect() as connection:
            try:
                found: Any = connection.sql(query).to_arrow_table()
            except duckdb.Error as problem:
                raise _unreadable(self.path, problem) from None
        number = found.column("n").to_numpy().astype(np.int64)
        codes = np.empty((len(base.dimensions), number.size), dtype=np.int32)
        for j, dimension in enumerate(base.dimensions):
            codes[j] = _codes(found.column(f"d{j}"), dimension)
        known = (codes >= 0).all(axis=0)
        flat = np.full(number.size, -1, dtype=np.int64)
        flat[known] = base.locate(codes[:, known])
        inside = flat >= 0
        counts = np.bincount(flat[inside], weights=number[inside], minlength=base.size).astype(np.int64)
        events = int(number.sum())
        if not counts.any():
            raise DataError(
                f"No row of {self.path} falls into a cell of {base.name}; it holds other dates or places."
            )
        return Truth(counts=counts, events=events, outside=events - int(counts.sum()), file=self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """The raw count of every cell of the base, how many events there are, and how many are in none of its cells."""

    counts: Ints
    events: int
    outside: int
    file: TruthFile


def _source(path: Path, /) -> str:
    if not path.is_file():
        raise DataError(f"There is no file {path}; name the raw events or counts with --truth.")
    text = str(path).replace("'", "''")
    reader = "read_parquet" if path.suffix.casefold() in (".parquet", ".pq") else "read_csv"
    return f"{reader}('{text}')"


def _columns(connection: duckdb.DuckDBPyConnection, source: str, path: Path, /) -> dict[str, str]:
    try:
        rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - a quoted path
    except duckdb.Error as problem:
        raise _unreadable(path, problem) from None
    return {str(name): str(kind) for name, kind, *_ in rows}


def _unreadable(path: Path, problem: duckdb.Error, /) -> DataError:
    """The error for a file that is no table; what DuckDB says about it may quote its content and is left out."""
    del problem
    return DataError(
        f"{path} cannot be read as Parquet or CSV with a header; give the raw events as such a file."
    )


def _column_of(
    dimension: Dimension,
    free: Sequence[str],
    kinds: dict[str, str],
    connection: duckdb.DuckDBPyConnection,
    source: str,
    path: Path,
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
            f"{path} has no column for {dimension.name} (its columns: {', '.join(kinds)}); name columns as the "
            "published tables do."
        )
    return best


def _share(name: str, dimension: Dimension, connection: duckdb.DuckDBPyConnection, source: str, /) -> float:
    """The share of the values of a dimension that a column holds."""
    query = f"SELECT DISTINCT {quoted(name)}::VARCHAR FROM {source} LIMIT {_DISTINCT}"  # noqa: S608 - quoted parts
    held = {folded(value) for (value,) in connection.execute(query).fetchall() if value is not None}
    known = [k for k in range(dimension.size) if not dimension.unknown[k]]
    hits = sum(folded(dimension.labels[k]) in held or folded(dimension.keys[k]) in held for k in known)
    return hits / max(len(known), 1)


def _codes(column: Any, dimension: Dimension, /) -> NDArray[np.int32]:
    """The code of each value of an Arrow column; -1 for values that the dimension does not have."""
    known = {folded(key): code for code, key in enumerate(dimension.keys)}
    known |= {folded(label): code for code, label in enumerate(dimension.labels)}
    lost = np.flatnonzero(dimension.unknown)
    encoded = column.combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    words = encoded.dictionary.to_pylist()
    table = np.array([known.get(folded(word), -1) for word in words] + [-1], dtype=np.int32)
    table[-1] = lost[0] if lost.size else -1
    places = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    return np.asarray(table[places])


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
