"""Where DuckDB finds the events: files, globs, a database file, or a table of a connection."""

from __future__ import annotations

import glob
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from noisegate.errors import DataError, NoisegateError
from noisegate.spec import did_you_mean

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_DATABASE = "::"
_KINDS = "a Parquet or CSV file, a glob of these, or 'file.duckdb::table'"
#: Bytes of a CSV row, at a guess on the low side: only decides how often a huge file is read.
_CSV_ROW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something to select from: its SQL, its columns with their types, and what messages call it."""

    name: str
    sql: str
    columns: dict[str, str]
    rows: int

    def column(self, wanted: str, /) -> tuple[str, str]:
        """The quoted name and the type of a column; DuckDB does not tell capitals apart."""
        for name, kind in self.columns.items():
            if name.lower() == wanted.lower():
                return quoted(name), kind
        hint = did_you_mean(wanted, self.columns) or f"; it has {', '.join(self.columns)}"
        raise DataError(f"{self.name} has no column {wanted!r}{hint}{'' if hint.endswith('?') else '.'}")


def open_source(text: str, connection: duckdb.DuckDBPyConnection, /, *, folder: Path, own: bool) -> Source:
    """The source that a text names, relative to `folder`; `own` says that the connection is ours and holds no tables of its own."""
    low = text.lower()
    if _DATABASE in text:
        return _database(text, folder, connection)
    if low.endswith(_PARQUET):
        files = _files(text, folder)
        return _described(connection, Path(text).name, f"read_parquet({_array(files)})")
    if low.endswith(_CSV):
        files = _files(text, folder)
        if not any(file.stat().st_size for file in files):
            raise DataError(f"{Path(text).name} is empty; a CSV file starts with a line of column names.")
        cells = f"header = true, all_varchar = true, delim = {literal(_separator(files[0]))}, quote = '\"'"
        sql = f"read_csv({_array(files)}, {cells})"
        rows = sum(file.stat().st_size for file in files) // _CSV_ROW
        return _described(connection, Path(text).name, sql, rows=rows)
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
    except duckdb.Error as error:
        kind = type(error).__name__.removesuffix("Exception")
        raise DataError(f"{name} cannot be read: DuckDB reports an error of kind {kind!r} in it.") from None


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


def _files(text: str, folder: Path, /) -> list[Path]:
    """The files that a path or a glob means, in a fixed order."""
    path = folder / text
    if path.is_file():
        return [path]
    if not glob.has_magic(text):
        raise DataError(f"The events {text!r} do not exist beside the spec.")
    names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
    found = [Path(name) for name in names if Path(name).is_file()]
    if not found:
        raise DataError(f"No file matches the glob {text!r}.")
    return found


def _separator(file: Path, /) -> str:
    """What separates the columns of a CSV file: whichever mark its first line has most of."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
        line = stream.readline(1 << 20)
    return max((",", ";", "\t", "|"), key=lambda mark: line.count(mark.encode()))


def _array(files: list[Path], /) -> str:
    # Brackets and stars in a name that exists must not be read as a glob once more.
    names = (glob.escape(str(file)) for file in files)
    return f"[{', '.join(literal(name) for name in names)}]"


def _database(text: str, folder: Path, connection: duckdb.DuckDBPyConnection, /) -> Source:
    file, _, table = text.partition(_DATABASE)
    path = folder / file
    if not path.is_file():
        raise DataError(f"The database {file!r} does not exist beside the spec.")
    with reading(Path(file).name):
        connection.execute(f"ATTACH {literal(str(path))} AS noisegate_events (READ_ONLY)")
    names = [part for part in table.split(".") if part]
    sql = ".".join(
        quoted(part) for part in ("noisegate_events", *(["main"] if len(names) == 1 else []), *names)
    )
    return _described(connection, f"{Path(file).name}{_DATABASE}{table}", sql)


def _described(
    connection: duckdb.DuckDBPyConnection, name: str, sql: str, /, *, rows: int | None = None
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
    return Source(name=name, sql=sql, columns=columns, rows=rows)
