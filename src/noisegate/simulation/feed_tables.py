"""The tables of a GTFS feed as coded text columns, from a zip or a folder.

Nothing of an archive is unpacked to disk, only members that are asked for are opened, and
none may be larger than `LARGEST_MEMBER` bytes.
"""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from noisegate.errors import DataError
from noisegate.simulation.network import Ints

LARGEST_MEMBER = 2 << 30
_LONGEST_HEADER = 1 << 16
_UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,
    UnicodeDecodeError,
    csv.Error,
    pa.ArrowInvalid,
    zipfile.BadZipFile,
    zlib.error,
)
_Parsed = TypeVar("_Parsed", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A text column as codes into its distinct values, which are stripped of blanks."""

    table: str
    name: str
    codes: Ints
    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def texts(self) -> list[str]:
        """The value of every row."""
        return [self.values[code] for code in self.codes]

    def numbers_in(self, known: Mapping[str, int], /) -> Ints:
        """For every row, the number that `known` gives its value, or -1."""
        return np.array([known.get(value, -1) for value in self.values], dtype=np.int64)[self.codes]

    def parsed(self, parse: Callable[[str], _Parsed], /, *, allowed: str) -> list[_Parsed]:
        """The parsed value of every row; `parse` raises ValueError on what it cannot read."""
        distinct = []
        for value in self.values:
            try:
                distinct.append(parse(value))
            except ValueError as error:
                raise DataError(f"{self.table}: {self.name} must be {allowed}, got {value!r}.") from error
        return [distinct[code] for code in self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed that has been found; tables are read when asked for."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise DataError(f"The feed {str(self.path)!r} does not exist; give a GTFS zip or folder.")
        if not self.path.is_dir() and not zipfile.is_zipfile(self.path):
            raise DataError(f"{str(self.path)!r} is neither a GTFS zip nor a folder.")

    def table(
        self, name: str, /, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> dict[str, Column] | None:
        """The wanted columns of one table, blank where an optional one is missing; None for no such file."""
        try:
            return self._read(name, required, optional)
        except _UNREADABLE as error:
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise DataError(f"{name} of the feed {str(self.path)!r} cannot be read: {reason}.") from error

    def _read(
        self, name: str, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> dict[str, Column] | None:
        with self._opened(name) as file:
            if file is None:
                return None
            header, empty = _header(file), not file.read(1)
        missing = [column for column in required if column not in header]
        if missing:
            raise DataError(f"{name} of the feed {str(self.path)!r} has no column {missing[0]!r}.")
        nothing = np.zeros(0, dtype=np.int64)
        if empty:
            return {c: Column(table=name, name=c, codes=nothing, values=()) for c in (*required, *optional)}
        present = [column for column in (*required, *optional) if column in header]
        with self._opened(name) as file:
            table = arrow_csv.read_csv(
                file,
                read_options=arrow_csv.ReadOptions(column_names=header, skip_rows=1),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=present,
                    column_types=dict.fromkeys(present, pa.dictionary(pa.int32(), pa.string())),
                ),
            )
        columns = {column: _column(name, column, table[column]) for column in present}
        blank = np.zeros(table.num_rows, dtype=np.int64)
        for column in optional:
            columns.setdefault(column, Column(table=name, name=column, codes=blank, values=("",)))
        return columns

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes] | None]:
        """The bytes of one table, or None; the shallowest member of that name in an archive."""
        if self.path.is_dir():
            file = self.path / name
            if not file.is_file():
                yield None
                return
            self._limit(name, file.stat().st_size)
            with file.open("rb") as stream:
                yield stream
            return
        with zipfile.ZipFile(self.path) as archive:
            members = [m for m in archive.infolist() if PurePosixPath(m.filename).name == name]
            if not members:
                yield None
                return
            member = min(members, key=lambda m: m.filename.count("/"))
            self._limit(name, member.file_size)
            with archive.open(member) as stream:
                yield stream

    def _limit(self, name: str, size: int) -> None:
        if size > LARGEST_MEMBER:
            raise DataError(
                f"{name} of the feed {str(self.path)!r} is too large; at most {LARGEST_MEMBER >> 30} GiB are read. "
                "Cut the feed to fewer routes."
            )


def _header(file: IO[bytes]) -> list[str]:
    """The column names in the first line, without a byte-order mark."""
    line = file.readline(_LONGEST_HEADER).decode("utf-8-sig")
    return [name.strip() for name in next(csv.reader(io.StringIO(line)), [])]


def _column(table: str, name: str, data: pa.ChunkedArray) -> Column:
    """An Arrow dictionary column, its pieces made one."""
    whole = data.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], data.type)
    values = tuple(value.strip() for value in whole.dictionary.to_pylist())
    codes = whole.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(table=table, name=name, codes=codes, values=values)
