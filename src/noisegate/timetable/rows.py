"""Tables of a feed through the embedded engine: columns as text, blanks trimmed, lines that are empty left out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisegate.columns import Columns, Values, literal, quoted, store
from noisegate.errors import DataError, is_interrupt

_LONGEST_HEADER = 1 << 20
_MEMORY = "512MB"
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_LINE = re.compile(r"Line: (\d+)")


class LineBreaks(DataError):  # noqa: N818 - the name says what is there
    """A quoted value goes over several lines, so the file cannot be read in parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedTable:
    """A table that can be asked: SQL that stands for its rows, and which of the wanted columns it has."""

    name: str
    sql: str
    columns: frozenset[str]

    def text(self, column: str, /, *, of: str = "") -> str:
        """SQL for a column without blanks around it; NULL where it is empty or the table does not have it."""
        prefix = f"{of}." if of else ""
        return f"nullif(trim({prefix}{quoted(column)}), '')" if column in self.columns else "NULL::VARCHAR"


class Rows:
    """The tables of one feed, read through one connection that closes with the context."""

    def __init__(self, files: Mapping[str, Path], /, *, path: Path, threads: int | None = None) -> None:
        self._files = files
        self._path = path
        scratch = next(iter(files.values())).parent
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": str(scratch / "spill"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        if threads is not None:
            config["threads"] = threads
        self.connection = duckdb.connect(":memory:", config=config)
        self.connection.execute("SET enable_progress_bar = false")
        # A table of unknown length would be taken for the short side of a join, and held in memory.
        self.connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def source(
        self, name: str, /, *, required: Sequence[str], optional: Sequence[str] = (), parallel: bool = False
    ) -> FeedTable | None:
        """A table with the wanted columns; None if the feed does not have it.

        A file that is read in parallel raises `LineBreaks` if a quoted value goes over several lines.
        """
        file = self._files.get(name)
        if file is None:
            return None
        header, skipped = self._header(name, file)
        for column in required:
            if column not in header:
                raise DataError(f"{name} of the feed {str(self._path)!r} has no column {column!r}.")
        wanted = frozenset(column for column in (*required, *optional) if column in header)
        sql = _read_csv(file, header, skipped=skipped, parallel=parallel)
        full = " OR ".join(f"trim({quoted(column)}) <> ''" for column in sorted(wanted))
        return FeedTable(name=name, sql=f"(SELECT * FROM {sql} WHERE {full})", columns=wanted)  # noqa: S608 - quoted parts

    def table(
        self, name: str, /, *, required: Sequence[str], optional: Sequence[str] = ()
    ) -> dict[str, list[str]] | None:
        """The wanted columns of a short table as text, blank where one is missing; None without the table."""
        source = self.source(name, required=required, optional=optional)
        if source is None:
            return None
        wanted = [*required, *optional]
        select = ", ".join(f"coalesce({source.text(column)}, '')" for column in wanted)
        with self.reading(name):
            rows = self.connection.sql(f"SELECT {select} FROM {source.sql}").fetchall()  # noqa: S608 - quoted parts
        columns = zip(*rows, strict=True) if rows else [()] * len(wanted)
        return {name: list(column) for name, column in zip(wanted, columns, strict=True)}

    def batches(self, query: str, /, *, name: str) -> Iterator[list[NDArray[Any]]]:
        """The columns of the answer to a query about table `name`, numbers without gaps, piece by piece."""
        from noisegate.columns import batches, numbers

        with self.reading(name):
            for batch in batches(self.connection.sql(query)):
                yield [numbers(batch.column(place)) for place in range(batch.num_columns)]

    def one(self, query: str, /, *, name: str) -> Any:
        """The first row of the answer to a query, or None; also while another answer is being read."""
        with self.reading(name):
            return self.connection.cursor().execute(query).fetchone()

    def keep(self, name: str, /, *, ids: Sequence[str]) -> None:
        """Make a table `name` of the engine with the numbers `n` of these `id`s."""
        numbers = Values.numbers(np.arange(len(ids), dtype=np.int32))
        store(self.connection, name, Columns({"id": Values.texts(ids), "n": numbers}), shared=True)

    @contextmanager
    def reading(self, name: str, /) -> Iterator[None]:
        """What the engine cannot read, in one sentence of ours."""
        try:
            yield
        except (duckdb.Error, RuntimeError, UnicodeDecodeError, OSError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise self._unreadable(name, str(error)) from error

    def _unreadable(self, name: str, message: str, /) -> DataError:
        if "parallel=false" in message:
            return LineBreaks(f"{name} of the feed {str(self._path)!r} has line breaks inside values.")
        line = _LINE.search(message)
        where = f" near line {line.group(1)}" if line else ""
        if "unicode" in message.lower() or "utf-8" in message.lower():
            return DataError(
                f"{name} of the feed {str(self._path)!r} is not UTF-8 text{where}; save it as UTF-8."
            )
        return DataError(f"{name} of the feed {str(self._path)!r} cannot be read as a CSV table{where}.")

    def _header(self, name: str, file: Path, /) -> tuple[list[str], int]:
        """The column names, and how many empty lines come before them."""
        with file.open("rb") as opened:
            start = opened.read(_LONGEST_HEADER)
        if start[:2] in _MARKS:
            raise DataError(
                f"{name} of the feed {str(self._path)!r} is {_MARKS[start[:2]]}, not UTF-8 text; save it as UTF-8."
            )
        lines = start.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        skipped = next((i for i, line in enumerate(lines) if line.strip()), -1)
        if skipped < 0:
            raise DataError(
                f"{name} of the feed {str(self._path)!r} is empty; it needs a line with column names."
            )
        try:
            text = lines[skipped].decode("utf-8")
            header = next(csv.reader(io.StringIO(text)))
        except (UnicodeDecodeError, csv.Error) as error:
            raise self._unreadable(name, "not utf-8") from error
        return [column.strip() for column in header], skipped


def _read_csv(file: Path, header: Sequence[str], /, *, skipped: int, parallel: bool) -> str:
    """SQL that reads a file as text columns; rows may be too short or too long."""
    names = _distinct(header)
    columns = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in names)
    return (
        f"read_csv({literal(str(file))}, auto_detect=false, header=true, skip={skipped}, columns={{{columns}}}, delim=',', "
        f"quote='\"', escape='\"', null_padding=true, strict_mode=false, parallel={str(parallel).lower()})"
    )


def _distinct(header: Sequence[str], /) -> list[str]:
    """The names, those that repeat or are empty made different."""
    seen: set[str] = set()
    out = []
    for i, column in enumerate(header):
        name = column if column and column.lower() not in seen else f"unnamed {i}"
        seen.add(name.lower())
        out.append(name)
    return out
