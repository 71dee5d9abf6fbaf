"""The columns of a file or a frame as text, dictionary encoded, with bounded memory.

Every column is read as text: what a column means is decided on its distinct values, after all of
them have been seen. (A reader that guesses types from the first rows takes the bus postcodes at the
top of a table for numbers and fails on the first train station.)

Arrow's streaming readers do the parsing. A line that does not fit one block ends the reading, and so
does a file whose columns would not fit in the limit `held_bytes`. Frames come in through Arrow's stream, so
pandas, Polars, DuckDB, Ibis and Arrow itself are served alike and none of them is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError
from noisegate.reading.dialect import PREFIX, Dialect
from noisegate.reading.headers import Header
from noisegate.reading.published import Codes, Ints, SetAside, Source
from noisegate.tables import arrow_texts

#: Arrow parses this many bytes at a time; no line can be longer.
BLOCK = 4 * PREFIX

#: Lines that do not fit the header and are kept as notes.
_NOTES = 50
_TEXT = pa.dictionary(pa.int32(), pa.string())
#: As an Arrow value: to turn a plain one into it, Arrow would import all of pandas first.
_BLANK = arrow_texts([""])[0]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A record that does not fit the header: its number, the start of its text, line breaks inside."""

    record: int
    text: str
    breaks: int = 0


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
    except _NotUtf8Error:
        # The first megabyte was plain ASCII; a name with an accent further down tells the encoding.
        return _read_csv(path, replace(dialect, encoding="latin-1"))


class _NotUtf8Error(DataError):
    """A file that looked like UTF-8 at first is not."""


def _read_csv(path: Path, dialect: Dialect) -> RawTable:
    names = [str(position) for position in range(len(dialect.header))]
    _check_width(len(names), path)
    rejected: list[Rejected] = []
    skip = dialect.header_line + dialect.header_rows
    try:
        with (
            pa.input_stream(os.fspath(path), compression=dialect.compression) as stream,
            pacsv.open_csv(
                stream,
                read_options=pacsv.ReadOptions(
                    use_threads=False,
                    block_size=BLOCK,
                    column_names=names,
                    skip_rows=skip,
                    encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=dialect.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=_collector(rejected),
                ),
                convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(names, _TEXT)),
            ) as reader,
        ):
            table = _held(reader, path)
    except (OSError, EOFError, UnicodeError, pa.ArrowException) as error:
        if len(rejected) >= limits.current().rejected_lines:
            raise DataError(
                f"{path} has more than {limits.current().rejected_lines:,} lines that do not fit its header; that is not one table."
            ) from error
        raise _unreadable(path, error) from error
    return RawTable(
        columns=_with_paths(_columns(table, dialect.header), dialect.paths),
        rows=table.num_rows,
        first_record=skip + 1,
        rejected=tuple(rejected),
        dialect=dialect.describe(),
        notes=(*dialect.preamble, *(one.text for one in rejected[:_NOTES])),
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


def _collector(rejected: list[Rejected]) -> Callable[[Any], str]:
    """A handler that notes each line with another number of fields than the header, up to a limit."""

    def note(row: Any) -> str:
        if len(rejected) >= limits.current().rejected_lines:
            return "error"
        rejected.append(Rejected(record=row.number, text=row.text[:200], breaks=row.text.count("\n")))
        return "skip"

    return note


def _unreadable(path: Path, error: Exception) -> DataError:
    text = str(error)
    if "invalid UTF8" in text:
        return _NotUtf8Error(f"{path} is not written in UTF-8; give its encoding in the spec.")
    if "straddl" in text:
        return DataError(
            f"{path} has a line longer than {BLOCK >> 20} MiB, or a quotation mark that is never closed; "
            "that is not a table of counts."
        )
    if "skip initial" in text or "Empty CSV" in text:
        return DataError(f"{path} has a header but no rows; there is nothing to assess.")
    return DataError(f"{path} cannot be read as a table: it is damaged or its encoding is another one.")


def read_parquet(path: Path, /) -> RawTable:
    """The columns of a Parquet file, as text."""
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_width(len(names), path)
            _check_flat(file.schema_arrow, path)
            if file.metadata.num_rows * len(names) * 4 > limits.current().held_bytes:
                raise _too_large(path)
            batches = (_as_text(batch, path) for batch in file.iter_batches())
            table = _held(batches, path, schema=_text_schema(names))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} starts as a Parquet file but cannot be read; it is damaged.") from error
    return _of_rows(table, names, dialect="Parquet")


def _of_rows(table: pa.Table, names: list[str], /, *, dialect: str) -> RawTable:
    return RawTable(
        columns=_columns(table, tuple(names)),
        rows=table.num_rows,
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
    try:
        with _stream(frame) as reader:
            names = [str(column) for column in reader.schema.names]
            _check_width(len(names), name)
            _check_flat(reader.schema, name)
            table = _held((_as_text(batch, name) for batch in reader), name, schema=_text_schema(names))
    except (TypeError, ValueError, pa.ArrowException) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{name} cannot be read as a frame of columns; give a pandas, Polars or Arrow frame of plain values."
        ) from error
    return _of_rows(table, names, dialect=f"{type(frame).__module__.partition('.')[0]} frame")


def _stream(frame: Any, /) -> pa.RecordBatchReader:
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame)
    if hasattr(frame, "__arrow_c_array__"):
        return pa.table(frame).to_reader()
    return pa.Table.from_pandas(frame).to_reader()


def _text_schema(names: list[str]) -> pa.Schema:
    return pa.schema([(str(position), _TEXT) for position in range(len(names))])


def _as_text(batch: pa.RecordBatch, source: Source) -> pa.RecordBatch:
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            coded = pa.types.is_dictionary(column.type)
            text = (column.dictionary if coded else column).cast(pa.string())
            text = (text.take(column.indices) if coded else text).fill_null(_BLANK)
        except pa.ArrowException as error:
            raise DataError(
                f"Column {name!r} of {source} holds {column.type} values, which have no plain text; turn them into text."
            ) from error
        columns.append(text.dictionary_encode())
    return pa.record_batch(columns, schema=_text_schema(batch.schema.names))


def _check_flat(schema: pa.Schema, path: Source) -> None:
    for field in schema:
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            raise DataError(
                f"{path} has a column {field.name!r} of lists, records or bytes; a table has plain values."
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


def _held(batches: Iterable[pa.RecordBatch], path: Source, schema: pa.Schema | None = None) -> pa.Table:
    """The batches as one table, as long as they fit."""
    return pa.Table.from_batches(
        list(_bounded(batches, path)), schema=schema or getattr(batches, "schema", None)
    )


def _bounded(batches: Iterable[pa.RecordBatch], path: Source) -> Iterator[pa.RecordBatch]:
    held = 0
    for batch in batches:
        held += batch.nbytes
        if held > limits.current().held_bytes:
            raise _too_large(path)
        yield batch


def _columns(table: pa.Table, names: tuple[str, ...]) -> tuple[Column, ...]:
    one = table.unify_dictionaries().combine_chunks()
    return tuple(_column(name, one.column(position)) for position, name in enumerate(names))


def _column(name: str, chunked: pa.ChunkedArray) -> Column:
    if chunked.num_chunks == 0:
        return Column(name=name, codes=np.empty(0, dtype=np.int32), labels=())
    array = chunked.chunk(0)
    # DLPack, since Arrow's own to_numpy imports all of pandas first.
    codes = np.from_dlpack(array.indices).astype(np.int32)
    return _trimmed(name, codes, [str(label) for label in array.dictionary.to_pylist()])


def _trimmed(name: str, codes: Codes, labels: list[str]) -> Column:
    """The column without blanks around its values; values that become equal are one."""
    trimmed = [label.strip() for label in labels]
    if trimmed == labels:
        return Column(name=name, codes=codes, labels=tuple(labels))
    place = {label: code for code, label in enumerate(dict.fromkeys(trimmed))}
    recode: Ints = np.array([place[label] for label in trimmed], dtype=np.int64)
    return Column(name=name, codes=recode[codes].astype(np.int32), labels=tuple(place))
