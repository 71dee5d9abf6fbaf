"""Where DuckDB finds the events: files, globs, a database file, or a table of a connection."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import duckdb

from noisegate import limits
from noisegate.columns import registered
from noisegate.engine.csv_rows import CsvFiles
from noisegate.engine.private_log import keep_words
from noisegate.engine.quoting import literal, quoted
from noisegate.errors import DataError, NoisegateError, is_interrupt
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
#: Folders above a file that may be the table that it belongs to.
_PARTITIONS = 4
#: Whatever DuckDB raises at a file: of its own, or of what carries its answer to Python.
_ENGINE_ERRORS = (duckdb.Error, RuntimeError, ValueError, MemoryError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something to select from: its SQL, its columns with their types, and what messages call it.

    `named` says that the columns are surely names: what may be a row of data is not shown in a message. `text` are the CSV files
    that the SQL reads, and fails at unless every line is a row, or that are read line by line if it is empty; `unread` the lines that are none, where they were read line by line.
    """

    name: str
    sql: str
    columns: dict[str, str]
    rows: int
    named: bool = True
    text: CsvFiles | None = None
    unread: int = field(default=0, repr=False)

    @property
    def cheap(self) -> bool:
        """Whether one column can be read without the others, so that looking at it first costs little."""
        return self.text is None

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
) -> Source:
    """The source that a text names, relative to `folder`.

    `own` says that the connection is ours and holds no tables of its own; `wanted` are the columns that will be asked for, by
    which the line of column names of a CSV file is known.
    """
    low = text.lower()
    if is_remote(text):
        return _remote(text, connection)
    if _DATABASE in text:
        return _database(text, folder, connection)
    if low.endswith(_PARQUET):
        files = files_of(text, folder)
        for file in files:
            _refuse_row_counts(file, connection)
        return _described(connection, Path(text).name, f"read_parquet({_array(files)})")
    if low.endswith(_CSV):
        return _csv_source(files_of(text, folder), connection, name=Path(text).name, wanted=wanted)
    if own:
        raise DataError(f"events.source {text!r} is not something to read; give {_KINDS}.")
    return _described(connection, text, ".".join(quoted(part) for part in text.split(".")))


def _refuse_row_counts(file: Path, connection: duckdb.DuckDBPyConnection, /) -> None:
    """Refuse a Parquet file whose parts do not add up to its rows: DuckDB would read a negative number of them for ever."""
    path = f"[{literal(glob.escape(str(file)))}]"
    try:
        (rows,) = one_row(connection, f"SELECT num_rows FROM parquet_file_metadata({path})")  # noqa: S608 - a quoted path
        groups = f"SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata({path})"  # noqa: S608
        parts = [part for _, part in connection.execute(groups).fetchall()]
    except _ENGINE_ERRORS:
        return  # whoever reads it says what is wrong with it
    if min(parts, default=0) < 0 or sum(parts) != rows:
        raise DataError(
            f"{file.name} contradicts itself: its parts do not add up to its rows. It is damaged; write it anew."
        )


@contextmanager
def line_by_line(source: Source, connection: duckdb.DuckDBPyConnection, /) -> Iterator[Source]:
    """The rows of CSV files that DuckDB could not be trusted with, in a temporary table as long as the context."""
    assert source.text is not None
    table, unread, rows = f"noisegate_{secrets.token_hex(6)}", 0, 0
    columns = ", ".join(f"{quoted(name)} VARCHAR" for name in source.columns)
    try:
        with reading(source.name):
            connection.execute(f"CREATE TEMP TABLE {table} ({columns})")
            for part, odd in source.text.tables():
                with registered(connection, f"{table}_part", part):
                    connection.execute(f"INSERT INTO {table} FROM {table}_part")
                unread, rows = unread + odd, rows + part.num_rows
        yield replace(source, sql=table, rows=rows, text=None, unread=unread)
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {table}")


class EngineError(DataError):
    """Something that DuckDB stumbled over while it read events."""


@contextmanager
def reading(name: str, /) -> Iterator[None]:
    """Turn whatever DuckDB raises into a sentence; its own text may quote the data, so it is dropped."""
    try:
        yield
    except NoisegateError:
        raise
    except _ENGINE_ERRORS as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        kind = type(error).__name__.removesuffix("Exception")
        raise EngineError(
            f"{name} cannot be read: DuckDB reports an error of kind {kind!r} in it.{keep_words(error)}"
        ) from None


def one_row(connection: duckdb.DuckDBPyConnection, sql: str, /) -> tuple[Any, ...]:
    """The only row of a query; fetches all of it, since DuckDB refuses work on a half-read connection."""
    ((*row,),) = connection.execute(sql).fetchall()
    return tuple(row)


def files_of(text: str, folder: Path, /) -> list[Path]:
    """The files that a path or a glob means, in a fixed order."""
    path = folder / text
    if _exists(path):
        if not path.is_file():
            raise DataError(f"The events {text!r} are not a regular file; give {_KINDS}.")
        refuse_marked(path)
        _refuse_delta([path])
        return [path]
    if not glob.has_magic(text):
        raise DataError(f"The events {text!r} do not exist beside the spec.")
    found = sorted({one for one in _Glob(text).matches(path) if one.is_file()})
    if not found:
        raise DataError(f"No file matches the glob {text!r}.")
    for one in found:
        refuse_marked(one)
    _refuse_delta(found)
    return found


def is_delta(folder: Path, /) -> bool:
    """Whether a folder is a Delta table, whose files also hold rows that are deleted."""
    return (folder / "_delta_log").is_dir()


def _refuse_delta(files: Sequence[Path], /) -> None:
    """Refuse the files of a Delta table: which rows of them are still there only its log says."""
    for folder in {above for file in files for above in list(file.parents)[:_PARTITIONS]}:
        if is_delta(folder):
            raise DataError(
                f"The events lie in {folder.name!r}, which is a Delta table: its files also hold rows that are deleted. Name the folder and count "
                "with --engine spark and the package of Delta, or write a copy of the table as Parquet."
            )


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
    try:
        return _described(connection, place.rpartition("/")[2], f"read_parquet([{literal(text)}])")
    except EngineError as problem:
        raise EngineError(
            f"{problem} It lies at {scheme.lower()}://…: check the address, and that DuckDB has a secret for it (CREATE PERSISTENT SECRET, "
            "once); or copy the files beside the spec."
        ) from None


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
    files: Sequence[Path], connection: duckdb.DuckDBPyConnection, /, *, name: str, wanted: Collection[str]
) -> Source:
    """CSV files with the same columns; every value is text."""
    text = CsvFiles.of(files)
    rows = sum(file.stat().st_size for file in files) // _CSV_ROW
    named = text.header.plausible(wanted)
    sql = text.quick_sql()
    columns = dict.fromkeys(text.header.names, "VARCHAR")
    if sql:
        columns = _described(connection, name, sql, rows=rows, named=named).columns
    return Source(name=name, sql=sql, columns=columns, rows=rows, named=named, text=text)


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
        if sql.startswith(("read_", "(FROM read_")):
            raise
        raise DataError(f"There is no table {name!r} in the database.") from None
    return Source(name=name, sql=sql, columns=columns, rows=rows, named=named)
