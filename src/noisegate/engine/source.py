"""Where DuckDB finds the events: files, globs, a database file, or a table of a connection."""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from noisegate import limits
from noisegate.engine.private_log import keep_words
from noisegate.errors import DataError, NoisegateError
from noisegate.places import refuse_marked
from noisegate.spec import did_you_mean

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_DATABASE = "::"
#: What DuckDB reads over a network with an extension of its own.
_READABLE = ("http", "https", "s3", "s3a", "gs", "gcs", "r2", "hf")
_KINDS = "a Parquet or CSV file, a glob of these, or 'file.duckdb::table'"
#: Bytes of a CSV row, at a guess on the low side: only decides how often a huge file is read.
_CSV_ROW = 40
#: Bytes of the longest line of column names.
_LONGEST_HEADER = 1 << 20
#: A column name that is rather a value: a number, a date, a time, or a long row of digits.
_VALUE = re.compile(r"[+-]?[0-9.,:/ T+Z-]+|.*[0-9]{5}.*", re.DOTALL)


#: Whatever DuckDB raises at a file: of its own, of Arrow's, or of what carries them to Python.
_ENGINE_ERRORS = (duckdb.Error, pa.ArrowException, RuntimeError, UnicodeError, MemoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something to select from: its SQL, its columns with their types, and what messages call it.

    `named` says that the columns are surely names: what may be a row of data is not shown in a message.
    """

    name: str
    sql: str
    columns: dict[str, str]
    rows: int
    named: bool = True

    @property
    def cheap(self) -> bool:
        """Whether one column can be read without the others, so that looking at it first costs little."""
        return not self.sql.startswith("read_csv")

    def column(self, wanted: str, /) -> tuple[str, str]:
        """The quoted name and the type of a column; DuckDB does not tell capitals apart."""
        for name, kind in self.columns.items():
            if name.lower() == wanted.lower():
                return quoted(name), kind
        if not self.named:
            raise DataError(
                f"{self.name} has no column {wanted!r}, and its first line may be no line of column names; it is not "
                "shown, as it may hold data. Write the names of the columns there."
            )
        hint = did_you_mean(wanted, self.columns) or f"; it has {', '.join(self.columns)}"
        raise DataError(f"{self.name} has no column {wanted!r}{hint}{'' if hint.endswith('?') else '.'}")


def open_source(
    text: str,
    connection: duckdb.DuckDBPyConnection,
    /,
    *,
    folder: Path,
    own: bool,
    wanted: Collection[str] = (),
    total: bool = False,
) -> Source:
    """The source that a text names, relative to `folder`.

    `own` says that the connection is ours and holds no tables of its own; `wanted` are the columns that will be asked for, by
    which the line of column names of a CSV file is known; `total` that lines of such a file that make no sense are left out.
    """
    low = text.lower()
    if is_remote(text):
        return _remote(text, connection)
    if _DATABASE in text:
        return _database(text, folder, connection)
    if low.endswith(_PARQUET):
        files = files_of(text, folder)
        return _described(connection, Path(text).name, f"read_parquet({_array(files)})")
    if low.endswith(_CSV):
        return _csv_source(
            files_of(text, folder), connection, name=Path(text).name, wanted=wanted, total=total
        )
    if own:
        raise DataError(f"events.source {text!r} is not something to read; give {_KINDS}.")
    return _described(connection, text, ".".join(quoted(part) for part in text.split(".")))


@contextmanager
def reading(name: str, /) -> Iterator[None]:
    """Turn whatever DuckDB raises into a sentence; its own text may quote the data, so it is dropped."""
    try:
        yield
    except NoisegateError:
        raise
    except _ENGINE_ERRORS as error:
        if "interrupted" in str(error).lower():  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        kind = type(error).__name__.removesuffix("Exception")
        raise DataError(
            f"{name} cannot be read: DuckDB reports an error of kind {kind!r} in it.{keep_words(error)}"
        ) from None


def one_row(connection: duckdb.DuckDBPyConnection, sql: str, /) -> tuple[Any, ...]:
    """The only row of a query; fetches all of it, since DuckDB refuses work on a half-read connection."""
    ((*row,),) = connection.execute(sql).fetchall()
    return tuple(row)


def quoted(name: str, /) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str, /) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def files_of(text: str, folder: Path, /) -> list[Path]:
    """The files that a path or a glob means, in a fixed order."""
    path = folder / text
    if _exists(path):
        if not path.is_file():
            raise DataError(f"The events {text!r} are not a regular file; give {_KINDS}.")
        refuse_marked(path)
        return [path]
    if not glob.has_magic(text):
        raise DataError(f"The events {text!r} do not exist beside the spec.")
    found = sorted({one for one in _Glob(text).matches(path) if one.is_file()})
    if not found:
        raise DataError(f"No file matches the glob {text!r}.")
    for one in found:
        refuse_marked(one)
    return found


def is_remote(text: str, /) -> bool:
    """Whether a source lies elsewhere, by its scheme: s3://, gs://, https:// and the like."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme.isascii() and scheme.replace("+", "").isalnum() and scheme.lower() != "file"


def _remote(text: str, connection: duckdb.DuckDBPyConnection, /) -> Source:
    """Parquet files elsewhere, through DuckDB's own reader where it is installed. Addresses may hold keys: none is shown."""
    scheme, _, rest = text.partition("://")
    place = rest.partition("?")[0]
    what = f"The events are at {scheme.lower()}://…/{place.rpartition('/')[2]}"
    if scheme.lower() not in _READABLE:
        raise DataError(
            f"{what}, which DuckDB does not read; count them with --engine spark, or copy them beside the spec."
        )
    if not place.lower().endswith(_PARQUET):
        raise DataError(f"{what}; from elsewhere only Parquet files are read. Copy them beside the spec.")
    try:
        connection.execute("LOAD httpfs")
    except _ENGINE_ERRORS as error:
        raise DataError(
            f"{what}, which DuckDB reads with its extension httpfs, and that is not installed here. Run INSTALL httpfs in "
            f"DuckDB once, count with --engine spark, or copy the files beside the spec.{keep_words(error)}"
        ) from None
    return _described(connection, place.rpartition("/")[2], f"read_parquet([{literal(text)}])")


def _exists(path: Path, /) -> bool:
    """Whether anything is there; False for what can be no name of a file."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


class _Glob:
    """The files that a pattern with stars means; gives up when it has looked at too many names."""

    def __init__(self, text: str, /) -> None:
        self._text = text
        self._left = limits.current().glob_entries

    def matches(self, pattern: Path, /) -> Iterator[Path]:
        """All paths that match, some of them perhaps twice."""
        anchor = Path(pattern.anchor or ".")
        return self._below(anchor, pattern.parts[1:] if pattern.anchor else pattern.parts)

    def _below(self, folder: Path, parts: tuple[str, ...], /) -> Iterator[Path]:
        if not parts:
            yield folder
        elif parts[0] == "**":
            yield from self._below(folder, parts[1:])
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self._below(Path(entry.path), parts)
        elif glob.has_magic(parts[0]):
            for entry in self._entries(folder):
                if entry.name.startswith(".") <= parts[0].startswith(".") and fnmatchcase(
                    entry.name, parts[0]
                ):
                    yield from self._below(Path(entry.path), parts[1:])
        elif _exists(folder / parts[0]):
            yield from self._below(folder / parts[0], parts[1:])

    def _entries(self, folder: Path, /) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                found = [entry for entry, _ in zip(entries, range(self._left + 1), strict=False)]
        except OSError:
            return []
        self._left -= len(found)
        if self._left < 0:
            raise DataError(
                f"The glob {self._text!r} means more than {limits.current().glob_entries:,} names; name a folder in it."
            )
        return found


def _csv_source(
    files: Sequence[Path],
    connection: duckdb.DuckDBPyConnection,
    /,
    *,
    name: str,
    wanted: Collection[str],
    total: bool,
) -> Source:
    """CSV files with the same columns; every value is text."""
    headers = [csv_header(file) for file in files]
    for file, header in zip(files, headers, strict=True):
        if header != headers[0]:
            raise DataError(
                f"{file.name} has other columns than {files[0].name}, or another order of them; give files that agree."
            )
    columns = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in headers[0].names)
    dialect = headers[0].lenient if total else headers[0].dialect
    sql = f"read_csv({_array(list(files))}, auto_detect = false, columns = {{{columns}}}, {dialect})"
    rows = sum(file.stat().st_size for file in files) // _CSV_ROW
    return _described(connection, name, sql, rows=rows, named=headers[0].plausible(wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvHeader:
    """The first line of a CSV file: the names of its columns and what separates them."""

    names: tuple[str, ...]
    separator: str

    @property
    def dialect(self) -> str:
        """How DuckDB is told to split lines; it must not guess, since it would skip lines to make sense of the rest."""
        return (
            f"header = true, skip = 0, delim = {literal(self.separator)}, quote = '\"', escape = '\"', "
            "null_padding = false, strict_mode = true"
        )

    @property
    def lenient(self) -> str:
        """The same, but a line that cannot be split into these columns is left out: no line decides whether a release succeeds."""
        return self.dialect.replace("strict_mode = true", "strict_mode = false, ignore_errors = true")

    def plausible(self, wanted: Collection[str], /) -> bool:
        """Whether these are surely names of columns: no value among them, and at least one that is asked for."""
        known = {name.casefold() for name in wanted}
        values = any(_VALUE.fullmatch(name) for name in self.names)
        return not values and any(name.casefold() in known for name in self.names)


def csv_header(file: Path, /) -> CsvHeader:
    """The first line of a CSV file, packed or not.

    Raises
    ------
    DataError
        If it is no text, is empty, names a column twice or leaves one without a name. No name is shown, since the line
        may be a row of data.
    """
    line = _first_line(file)
    separator = max((",", ";", "\t", "|"), key=line.count)
    try:
        names = [name.strip() for name in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration):
        raise DataError(
            f"The first line of {file.name} has a quotation mark that is never closed; write the names of the columns there."
        ) from None
    first = {name.casefold(): place for place, name in reversed(list(enumerate(names, 1)))}
    for place, name in enumerate(names, 1):
        if not name:
            raise DataError(f"Column {place} of {file.name} has no name in the first line; give it one.")
        if first[name.casefold()] != place:
            raise DataError(
                f"Columns {first[name.casefold()]} and {place} of {file.name} have the same name; give them different ones."
            )
    return CsvHeader(names=tuple(names), separator=separator)


def _first_line(file: Path, /) -> str:
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as stream:
            octets = stream.readline(_LONGEST_HEADER + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{file.name} cannot be unpacked as gzip; it is damaged, or no such file.") from None
    except OSError as problem:
        raise DataError(f"{file.name} cannot be read: {problem.strerror or 'unknown reason'}.") from None
    if not octets.strip():
        raise DataError(f"{file.name} is empty; a CSV file starts with a line of column names.")
    if len(octets) > _LONGEST_HEADER or b"\0" in octets:
        raise DataError(f"{file.name} is no CSV file: it does not start with a line of column names.")
    try:
        return re.split(r"[\r\n]", octets.decode("utf-8-sig"), maxsplit=1)[0]
    except UnicodeDecodeError:
        raise DataError(f"{file.name} is not UTF-8 text; save it as UTF-8.") from None


def _array(files: list[Path], /) -> str:
    # Brackets and stars in a name that exists must not be read as a glob once more.
    names = (glob.escape(str(file)) for file in files)
    return f"[{', '.join(literal(name) for name in names)}]"


def event_files(text: str, folder: Path, /) -> list[Path]:
    """The files that a source names; none if it is a table."""
    return files_of(text, folder) if text.lower().endswith((*_PARQUET, *_CSV)) else []


def database_parts(text: str, folder: Path, /) -> tuple[Path, str] | None:
    """The file of a DuckDB database and the full name of the table in it; None if the source is something else."""
    if _DATABASE not in text:
        return None
    file, _, table = text.partition(_DATABASE)
    names = [part for part in table.split(".") if part]
    return folder / file, ".".join([*(["main"] if len(names) == 1 else []), *names])


def _database(text: str, folder: Path, connection: duckdb.DuckDBPyConnection, /) -> Source:
    file, _, table = text.partition(_DATABASE)
    found = database_parts(text, folder)
    assert found is not None
    path, full = found
    if not path.is_file():
        raise DataError(f"The database {file!r} does not exist beside the spec.")
    with reading(Path(file).name):
        connection.execute(f"ATTACH {literal(str(path))} AS noisegate_events (READ_ONLY)")
    sql = ".".join(quoted(part) for part in ("noisegate_events", *full.split(".")))
    return _described(connection, f"{Path(file).name}{_DATABASE}{table}", sql)


def _described(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    sql: str,
    /,
    *,
    rows: int | None = None,
    named: bool = True,
) -> Source:
    try:
        with reading(name):
            described = connection.sql(f"SELECT * FROM {sql} LIMIT 0")  # noqa: S608 - built from quoted parts
            columns = dict(zip(described.columns, map(str, described.types), strict=True))
            if rows is None:
                (rows,) = one_row(connection, f"SELECT count(*) FROM {sql}")  # noqa: S608
    except DataError:
        if sql.startswith("read_"):
            raise
        raise DataError(f"There is no table {name!r} in the database.") from None
    return Source(name=name, sql=sql, columns=columns, rows=rows, named=named)
