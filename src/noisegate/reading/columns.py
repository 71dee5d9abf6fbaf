"""The columns of a file or a frame as text, dictionary encoded, with bounded memory.

Every column is read as text: what a column means is decided on its distinct values, after all of
them have been seen. (A reader that guesses types from the first rows takes the bus postcodes at the
top of a table for numbers and fails on the first train station.)

A file whose columns would not fit in the limit `held_bytes` is refused on the way. Frames come in through Arrow's stream, so
Polars, DuckDB, Ibis and Arrow itself are served alike and none of them is imported; DuckDB reads those of pandas as they are.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError, is_interrupt
from noisegate.reading.dialect import Dialect
from noisegate.reading.headers import Header
from noisegate.reading.published import Codes, Ints, SetAside, Source
from noisegate.reading.records import NotUtf8Error, Rejected, read_records

#: Lines that do not fit the header and are kept as notes.
_NOTES = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """One column: `labels[codes]` is its text, row by row; `path` are the texts over it, where its header has several rows."""

    name: str
    codes: Codes
    labels: tuple[str, ...]
    path: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, texts: Sequence[str], /, *, path: tuple[str, ...] = ()) -> Self:
        """The column of these texts."""
        place = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(place.__getitem__, texts), np.int32, len(texts))
        return cls(name=name, codes=codes, labels=tuple(place), path=path)

    def take(self, rows: NDArray[Any], /) -> Self:
        """The column on some rows, given as a mask or as numbers, with all its labels."""
        return replace(self, codes=self.codes[rows])

    def share(self, test: Callable[[str], bool], /) -> float:
        """The share of rows whose text passes a test."""
        passed = np.array([test(label) for label in self.labels], dtype=bool)
        return float(passed[self.codes].mean()) if self.codes.size else 0.0

    def where(self, test: Callable[[str], bool], /) -> NDArray[np.bool_]:
        """The rows whose text passes a test."""
        return np.array([test(label) for label in self.labels], dtype=bool)[self.codes]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawTable:
    """The rows of a file, a sheet or a frame before anything is known about them.

    `unit` is what places are counted in; `lines` are the places of rows where they do not follow each other; `notes` are texts
    around the table. Where rows were made from those of another table,
    `whole` is that table and `origin` the row there of each row here.
    """

    columns: tuple[Column, ...]
    rows: int
    first_record: int
    rejected: tuple[Rejected, ...]
    dialect: str
    unit: str = "line"
    notes: tuple[str, ...] = ()
    lines: NDArray[Any] | None = None
    whole: RawTable | None = None
    origin: NDArray[Any] | None = None

    def take(self, rows: NDArray[Any], /) -> RawTable:
        """The table with some of its rows, given as a mask or as numbers."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        return self.made(tuple(column.take(chosen) for column in self.columns), chosen)

    def made(self, columns: tuple[Column, ...], origin: NDArray[Any], /) -> RawTable:
        """Other columns, made from rows of this table."""
        return replace(self, columns=columns, rows=int(origin.size), whole=self, origin=origin)

    def aside(self, reason: str, rows: NDArray[np.bool_], file: str, /) -> SetAside:
        """Some of the rows as what is set aside, with the first of them."""
        first = int(np.flatnonzero(rows)[0])
        text = ",".join(column.labels[column.codes[first]] for column in self.columns[:40])
        return SetAside(
            reason=reason, rows=int(rows.sum()), first_line=self.line_of(first), example=text[:60], file=file
        )

    def line_of(self, row: int, /) -> int:
        """The line of the file on which this row starts, counting from 1."""
        if self.whole is not None and self.origin is not None:
            return self.whole.line_of(int(self.origin[row]))
        if self.lines is not None:
            return int(self.lines[row])
        passed = np.array([r.record for r in self.rejected], dtype=np.int64) - self.first_record
        passed -= np.arange(passed.size)
        record = self.first_record + row + int(np.searchsorted(passed, row, side="right"))
        return record + self._breaks(row) + sum(r.breaks for r in self.rejected if r.record < record)

    def line_of_rejected(self, index: int, /) -> int:
        """The line on which a rejected record starts."""
        one = self.rejected[index]
        before = one.record - self.first_record - index
        return one.record + self._breaks(before) + sum(r.breaks for r in self.rejected[:index])

    def _breaks(self, row: int) -> int:
        """Line breaks inside quoted values before this row."""
        total = 0
        for column in self.columns:
            breaks = np.array([label.count("\n") for label in column.labels], dtype=np.int64)
            if breaks.any():
                total += int(breaks[column.codes[:row]].sum())
        return total


def read_csv(path: Path, dialect: Dialect, /) -> RawTable:
    """The columns of a text file."""
    try:
        return _read_csv(path, dialect)
    except NotUtf8Error:
        if dialect.encoding != "utf-8":
            raise
        # The first megabyte was plain ASCII; a name with an accent further down tells the encoding.
        return _read_csv(path, replace(dialect, encoding="latin-1"))


def _read_csv(path: Path, dialect: Dialect) -> RawTable:
    _check_width(len(dialect.header), path)
    found = read_records(path, dialect, check=_fits(path))
    columns = tuple(
        _trimmed(name, *column) for name, column in zip(dialect.header, found.columns, strict=True)
    )
    return RawTable(
        columns=_with_paths(columns, dialect.paths),
        rows=found.rows,
        first_record=dialect.header_line + dialect.header_rows + 1,
        rejected=tuple(found.rejected),
        dialect=dialect.describe(),
        notes=(*dialect.preamble, *(one.text for one in found.rejected[:_NOTES])),
    )


def _with_paths(columns: tuple[Column, ...], paths: tuple[tuple[str, ...], ...]) -> tuple[Column, ...]:
    return tuple(
        replace(column, path=path)
        for column, path in zip(columns, paths or ((),) * len(columns), strict=True)
    )


def read_rows(
    rows: Sequence[Sequence[str]],
    header: Header,
    /,
    *,
    names: tuple[str, ...],
    dialect: str,
    notes: Sequence[str],
) -> RawTable:
    """The columns of a table in a sheet: the rows below its header. Rows without anything are left out."""
    width = len(names)
    filled = [(place, row) for place, row in enumerate(rows) if place >= header.start and any(row[:width])]
    whole = [tuple(row[:width]) + ("",) * (width - len(row)) for _, row in filled]
    texts = list(zip(*whole, strict=True)) or [()] * width
    columns = tuple(
        Column.of(name, own, path=path) for name, own, path in zip(names, texts, header.paths, strict=True)
    )
    lines = np.array([place + 1 for place, _ in filled], dtype=np.int64)
    return RawTable(
        columns=columns,
        rows=len(filled),
        first_record=1,
        rejected=(),
        dialect=dialect,
        unit="row",
        notes=tuple(notes),
        lines=lines,
    )


def read_parquet(path: Path, /) -> RawTable:
    """The columns of a Parquet file, as text."""
    import duckdb

    from noisegate.columns import kinds_of, literal, own_duckdb

    try:
        with own_duckdb() as connection:
            relation = connection.sql(f"FROM read_parquet([{literal(glob.escape(str(path)))}])")
            kinds = kinds_of(relation)
            _check_kinds(kinds, path)
            about = f"SELECT num_rows FROM parquet_file_metadata([{literal(glob.escape(str(path)))}])"  # noqa: S608 - a quoted path
            ((rows,),) = connection.execute(about).fetchall()
            if rows * len(kinds) * 4 > limits.current().held_bytes:
                raise _too_large(path)
            return _of_relation(relation, kinds, path, dialect="Parquet")
    except (duckdb.Error, OSError, RuntimeError, UnicodeError) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise DataError(f"{path} starts as a Parquet file but cannot be read; it is damaged.") from error


def _of_relation(relation: Any, kinds: Mapping[str, str], source: Source, /, *, dialect: str) -> RawTable:
    from noisegate.columns import read_texts

    found = read_texts(relation, kinds, check=_fits(source))
    return RawTable(
        columns=tuple(_trimmed(name, *found.column(place)) for place, name in enumerate(kinds)),
        rows=found.rows,
        first_record=1,
        rejected=(),
        dialect=dialect,
        unit="row",
    )


def is_frame(source: object, /) -> bool:
    """Whether this is a frame: it gives its columns as an Arrow stream, or it is one of pandas."""
    return (
        any(hasattr(source, name) for name in ("__arrow_c_stream__", "__arrow_c_array__"))
        or type(source).__module__.partition(".")[0] == "pandas"
    )


def read_frame(frame: Any, name: str, /) -> RawTable:
    """The columns of a frame, as text."""
    import duckdb

    from noisegate.columns import kinds_of, own_duckdb, registered

    home = type(frame).__module__.partition(".")[0]
    try:
        with own_duckdb() as connection, registered(connection, "frame", _stream(frame)):
            relation = connection.sql("FROM frame")
            kinds = kinds_of(relation)
            _check_kinds(kinds, name)
            return _of_relation(relation, kinds, name, dialect=f"{home} frame")
    except (TypeError, ValueError, AttributeError, OSError, RuntimeError, duckdb.Error) as error:
        if isinstance(error, DataError):
            raise
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise DataError(
            f"{name} cannot be read as a frame of columns; give a pandas, Polars or Arrow frame of plain values."
        ) from error


def _stream(frame: Any, /) -> Any:
    """What DuckDB reads; the index of a pandas frame is columns too, unless it only counts the rows."""
    if type(frame).__module__.partition(".")[0] != "pandas":
        from noisegate.columns import whole

        return whole(frame)
    table = frame.to_frame() if hasattr(frame, "to_frame") else frame
    index = table.index
    if type(index).__name__ != "RangeIndex":
        names = [f"__index_level_{n}__" if one is None else one for n, one in enumerate(index.names)]
        table = table.reset_index(names=names)
    return table.set_axis([str(name) for name in table.columns], axis=1)


def _check_kinds(kinds: Mapping[str, str], source: Source, /) -> None:
    from noisegate.columns import is_nested

    _check_width(len(kinds), source)
    for name, kind in kinds.items():
        if is_nested(kind):
            raise DataError(
                f"{source} has a column {name!r} of lists, records or bytes; a table has plain values."
            )
        if kind == "INTERVAL":
            raise DataError(
                f"Column {name!r} of {source} holds {kind} values, which have no plain text; turn them into text."
            )


def _check_width(width: int, path: Source) -> None:
    if width > limits.current().file_columns:
        raise DataError(
            f"{path} has {width} columns, at most {limits.current().file_columns} are read; put one count per row."
        )


def _too_large(path: Source) -> DataError:
    return DataError(
        f"{path} does not fit in {limits.current().held_bytes >> 30} GiB once encoded; assess it in parts, a week or a mode at a time."
    )


def _fits(source: Source, /) -> Callable[[int], None]:
    """A check that refuses columns once they take too many octets."""
    most = limits.current().held_bytes

    def check(held: int) -> None:
        if held > most:
            raise _too_large(source)

    return check


def _trimmed(name: str, codes: Codes, labels: list[str]) -> Column:
    """The column without blanks around its values; values that become equal are one."""
    trimmed = [label.strip() for label in labels]
    if trimmed == labels:
        return Column(name=name, codes=codes, labels=tuple(labels))
    place = {label: code for code, label in enumerate(dict.fromkeys(trimmed))}
    recode: Ints = np.array([place[label] for label in trimmed], dtype=np.int64)
    return Column(name=name, codes=recode[codes].astype(np.int32), labels=tuple(place))
