"""The records of a text file, column by column, and those that do not fit its header.

Small files, and all in which quotation marks, odd ends of lines or other encodings have a say, are read by Python. DuckDB reads large plain
ones many times as fast; it is believed where the number of rows and of separators is what the file itself has, and asked no further otherwise.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.columns import PACKING_ERRORS, unpacked
from noisegate.errors import DataError
from noisegate.reading.dialect import PREFIX, Dialect

#: The longest record; a quotation mark that is never closed ends here.
BLOCK = 4 * PREFIX
_CHUNK = 1 << 18
#: Rows that are taken apart at once.
_ROWS = 1 << 15
#: Files up to this length are read before DuckDB is even loaded.
_SMALL = 4 << 20

Codes = NDArray[np.int32]
Check = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A record that does not fit the header: its number, the start of its text, line breaks inside."""

    record: int
    text: str
    breaks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """The columns of a file, each the numbers of its texts and these, and the records that do not fit."""

    rows: int
    columns: list[tuple[Codes, list[str]]]
    rejected: list[Rejected] = field(default_factory=list)


class NotUtf8Error(DataError):
    """A file that looked like UTF-8 at first is not."""


def read_records(path: Path, dialect: Dialect, /, *, check: Check) -> Records:
    """The records of a text file below its header; `check` is told how many octets their columns take, as they grow.

    Raises
    ------
    DataError
        If there is none, one is too long, too many do not fit, or the file cannot be decoded.
    """
    found = _quickly(path, dialect, check) if _is_plain(path, dialect) else None
    return found or _one_by_one(path, dialect, check)


def _one_by_one(path: Path, dialect: Dialect, check: Check, /) -> Records:
    width, skip = len(dialect.header), dialect.header_line + dialect.header_rows
    table, number = _Columns(width), 0
    try:
        with unpacked(path, dialect.compression) as stream, _long_fields():
            lines = _Lines(_decoded(stream, dialect.encoding), path, skip=skip)
            reader, blank = csv.reader(lines, delimiter=dialect.delimiter), [""] * width
            rejected: list[Rejected] = []
            for number, row in enumerate(reader, 1):
                if len(row) == width or not row:
                    table.add(row or blank)
                    if len(table.waiting) == _ROWS:
                        check(table.take_in())
                else:
                    _refuse_many(rejected, path)
                    text = lines.last(reader.line_num)
                    rejected.append(Rejected(record=skip + number, text=text[:200], breaks=text.count("\n")))
                lines.done = reader.line_num
    except UnicodeDecodeError:
        raise NotUtf8Error(
            f"{path} is not written in {dialect.encoding}; give its encoding in the spec."
        ) from None
    except csv.Error:
        raise _too_long(path) from None
    except PACKING_ERRORS as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path} cannot be read as a table: it is damaged or its encoding is another one."
        ) from error
    if not number:
        raise DataError(f"{path} has a header but no rows; there is nothing to assess.")
    check(table.take_in())
    return Records(rows=table.rows, columns=table.whole(), rejected=rejected)


def _refuse_many(rejected: Sequence[Rejected], path: Path, /) -> None:
    if len(rejected) >= limits.current().rejected_lines:
        raise DataError(
            f"{path} has more than {limits.current().rejected_lines:,} lines that do not fit its header; that is not one table."
        )


def _too_long(path: Path, /) -> DataError:
    return DataError(
        f"{path} has a line longer than {BLOCK >> 20} MiB, or a quotation mark that is never closed; "
        "that is not a table of counts."
    )


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let a field be as long as a record may be."""
    before = csv.field_size_limit(BLOCK)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _decoded(stream: BinaryIO, encoding: str, /) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="")


class _Lines:
    """The lines of a text with their ends, after some that are skipped; those after the first `done` can be looked at again."""

    def __init__(self, text: io.TextIOWrapper, path: Path, /, *, skip: int) -> None:
        self._text, self._path, self._skip = text, path, skip
        self._held: list[str] = []
        self._first = self.done = 0

    def __iter__(self) -> Iterator[str]:
        left, rest = self._skip, ""
        while True:
            chunk = self._text.read(_CHUNK)
            # Split as files are: at the ends of lines alone, and not at all that Unicode takes for one.
            lines = list(io.StringIO(rest + chunk, newline=""))
            rest = lines.pop() if chunk and lines else ""
            if len(rest) > BLOCK:
                raise _too_long(self._path)
            skipped, left = min(left, len(lines)), max(left - len(lines), 0)
            new = lines[skipped:]
            self._held, self._first = self._held[self.done - self._first :] + new, self.done
            yield from new
            if not chunk:
                return

    def last(self, stop: int, /) -> str:
        """The lines from `done` on, up to one, as a text without its end."""
        text = "".join(self._held[self.done - self._first : stop - self._first])
        return text.removesuffix("\n").removesuffix("\r")


class _Places(dict[str, int]):
    """The number of each distinct text, in the order in which they appear."""

    def __missing__(self, text: str) -> int:
        self[text] = place = len(self)
        return place


class _Columns:
    """Rows on their way to columns."""

    def __init__(self, width: int, /) -> None:
        self.rows = 0
        self.waiting: list[list[str]] = []
        self.add = self.waiting.append
        self._places = [_Places() for _ in range(width)]
        self._codes: list[list[Codes]] = [[] for _ in range(width)]
        self._held = 0

    def take_in(self) -> int:
        """Number the texts of the rows that wait; how many octets all columns take."""
        count = len(self.waiting)
        self.rows += count
        for column, places, codes in zip(
            zip(*self.waiting, strict=True), self._places, self._codes, strict=False
        ):
            before = len(places)
            codes.append(np.fromiter(map(places.__getitem__, column), np.int32, count))
            self._held += 4 * count
            if len(places) > before:
                self._held += sum(map(len, list(places)[before:]))
        self.waiting.clear()
        return self._held

    def whole(self) -> list[tuple[Codes, list[str]]]:
        """The columns."""
        pairs = zip(self._codes, self._places, strict=True)
        return [(np.concatenate([np.zeros(0, np.int32), *codes]), list(places)) for codes, places in pairs]


def _is_plain(path: Path, dialect: Dialect, /) -> bool:
    return path.stat().st_size > _SMALL and dialect.compression is None and dialect.encoding == "utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Census:
    """What a file without quotation marks, odd ends of lines and empty lines holds: its lines, and its separators after the header."""

    lines: int
    separators: int

    @classmethod
    def of(cls, path: Path, dialect: Dialect, /) -> _Census | None:
        """None if two readers may read it in two ways."""
        separator, lines, separators, returns, ends = dialect.delimiter.encode(), 0, 0, 0, 0
        with path.open("rb") as file:
            for _ in range(dialect.header_line + dialect.header_rows):
                file.readline(BLOCK)
            last = b"\n"
            while block := file.read(BLOCK):
                lone = block.startswith((b"\n", b"\r\n")) and last == b"\n"
                if b'"' in block or b"\0" in block or b"\n\n" in block or b"\n\r\n" in block or lone:
                    return None
                lines, separators = lines + block.count(b"\n"), separators + block.count(separator)
                returns, ends = returns + block.count(b"\r"), ends + block.count(b"\r\n")
                ends += last == b"\r" and block.startswith(b"\n")
                last = block[-1:]
        if returns and not returns == ends == lines:
            return None
        return cls(lines=lines + (last != b"\n"), separators=separators)


def _quickly(path: Path, dialect: Dialect, check: Check, /) -> Records | None:
    """The records as DuckDB reads them; None if it does not, or not surely as Python would."""
    census = _Census.of(path, dialect)
    if census is None or not census.lines or len(dialect.delimiter) > 1:
        return None
    import duckdb

    from noisegate.columns import literal, own_duckdb, read_texts

    names = [f"c{place}" for place in range(len(dialect.header))]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    sql = (
        f"FROM read_csv({literal(str(path))}, auto_detect = false, header = false, skip = {dialect.header_line + dialect.header_rows}, "
        f"columns = {{{columns}}}, delim = {literal(dialect.delimiter)}, quote = '', escape = '', strict_mode = true, "
        f"max_line_size = {BLOCK})"
    )
    try:
        with own_duckdb() as connection:
            found = read_texts(connection.sql(sql), dict.fromkeys(names, "VARCHAR"), check=check)
    except (duckdb.Error, RuntimeError, OSError):
        return None
    if found.rows != census.lines or census.separators != census.lines * (len(names) - 1):
        return None
    return Records(rows=found.rows, columns=[found.column(place) for place in range(len(names))])
