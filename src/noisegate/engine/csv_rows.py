"""Rows of CSV files: a row is one line, and no line decides how another is read.

What is published must change by one unit's events when one unit comes or goes, so a quotation mark that is never closed may cost the line
it stands in and no other (docs/adr/019). `split_line` says what a line holds; `csv_tables` reads files by it, and counts the lines that are no row.
DuckDB reads much quicker, but lets quotes run on over lines and guesses at others. `CsvFiles.quick_sql` lets it read what it
and `split_line` surely agree on, and raises an error at everything else.
"""

from __future__ import annotations

import csv
import glob
import gzip
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

from noisegate import limits
from noisegate.columns import Columns, Values
from noisegate.engine.quoting import literal, quoted
from noisegate.errors import DataError

#: Bytes of the longest line of column names.
_LONGEST_HEADER = 1 << 20
_BLOCK = 1 << 20
#: A column name that is rather a value: a number, a date, a time, or a long row of digits.
_VALUE = re.compile(r"[+-]?[0-9.,:/ T+Z-]+|.*[0-9]{5}.*", re.DOTALL)
#: A line of more than a block: DuckDB may pass over it without a word.
_LONG = "a long line"
#: What UTF-8 never holds: a line that starts so is no row.
_NO_TEXT = b"\xff"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvHeader:
    """The first line of a CSV file: the names of its columns and what separates them."""

    names: tuple[str, ...]
    separator: str

    @property
    def dialect(self) -> str:
        """How DuckDB is told to split lines; it must not guess, since it would skip lines to make sense of the rest."""
        return self.split_by('"')

    def split_by(self, quote: str, /) -> str:
        """The same with another quotation mark, or with none."""
        return (
            f"header = true, skip = 0, delim = '{self.separator}', quote = '{quote}', escape = '{quote}', "
            "null_padding = false, strict_mode = true"
        )

    def plausible(self, wanted: Collection[str], /) -> bool:
        """Whether these are surely names of columns: no value among them, and at least one that is asked for."""
        known = {name.casefold() for name in wanted}
        values = any(_VALUE.fullmatch(name) for name in self.names)
        return not values and any(name.casefold() in known for name in self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFiles:
    """CSV files with the same columns."""

    files: tuple[Path, ...]
    header: CsvHeader

    @classmethod
    def of(cls, files: Sequence[Path], /) -> CsvFiles:
        """The files; refuses some whose first lines differ."""
        headers = [csv_header(file) for file in files]
        for file, header in zip(files, headers, strict=True):
            if header != headers[0]:
                raise DataError(
                    f"{file.name} has other columns than {files[0].name}, or another order of them; give files that agree."
                )
        return cls(files=tuple(files), header=headers[0])

    def quick_sql(self) -> str:
        """SQL of DuckDB for the rows, every value as text; it fails unless every line is a row, and surely the same one as for `split_line`.

        Empty if no line may be left to DuckDB.
        """
        names = [quoted(name) for name in self.header.names]
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in self.header.names)
        files = ", ".join(literal(glob.escape(str(file))) for file in self.files)
        odd = frozenset().union(*map(_oddities, self.files))
        if _LONG in odd:
            return ""
        dialect = self.header.split_by('"' if '"' in odd else "")
        where = [] if len(names) > 1 else [f"{names[0]} IS NOT NULL"]
        if odd:
            # All columns are looked at, so that none is left unread: it may be no UTF-8.
            signs = [10, *([13] if "\r" in odd else []), *([34] if ' "' in odd else [])]
            broken = " OR ".join(f"contains({name}, chr({sign}))" for name in names for sign in signs)
            where.append(f"CASE WHEN {broken} THEN error('a row of several lines') ELSE true END")
        longest = limits.current().csv_line_bytes * 15 // 16  # somewhat less than is read line by line
        read = f"read_csv([{files}], auto_detect = false, columns = {{{columns}}}, {dialect}, max_line_size = {longest})"
        return f"(FROM {read} WHERE {' AND '.join(where)})" if where else read

    def tables(self) -> Iterator[tuple[Columns, int]]:
        """The rows line by line, some thousands at a time, every value as text, and how many lines between them are no row."""
        for file in self.files:
            for lines in _lines(file):
                rows = [split_line(line, header=self.header) for line in lines]
                held = [row for row in rows if row]
                columns = zip(*held, strict=True) if held else [()] * len(self.header.names)
                frame = Columns(dict(zip(self.header.names, map(Values.texts, columns), strict=True)))
                yield frame, sum(row is None for row in rows)


def split_line(line: bytes, /, *, header: CsvHeader) -> tuple[str | None, ...] | None:
    """The values of a line without its end, None for those that are empty; nothing for a line that is empty, None for one that is no row.

    A value in quotation marks may hold the separator, and a mark that is doubled; what comes before, between or after the marks is space alone.
    Separators without anything behind them are ignored at the end. Where lines may be read in two ways, this is how DuckDB reads them.
    """
    if not line:
        return ()
    if len(line) > limits.current().csv_line_bytes:
        return None
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    found = text.split(header.separator) if '"' not in text else _split_quoted(text, header.separator)
    most = len(header.names)
    if len(found) > most and not any(found[most:]):
        del found[most:]
    if len(found) != most:
        return None
    return tuple(value or None for value in found) if most > 1 or found[0] else ()


@cache
def _value_pattern(separator: str, /) -> re.Pattern[str]:
    end = rf"(?={re.escape(separator)}|\Z)"
    inner = r'(?:[^"]|"")*+'
    return re.compile(rf' *"({inner}(?:" +"{inner})*+)" *{end}|(?! *")([^{re.escape(separator)}]*){end}')


#: A mark that is doubled, or one that is closed and opened again.
_MARKS = re.compile(r'""|"( +)"')


def _split_quoted(text: str, separator: str, /) -> list[str]:
    """The values of a line; none if a quotation mark is not closed, or something stands beside it."""
    pattern, found, place = _value_pattern(separator), [], 0
    while place <= len(text):
        match = pattern.match(text, place)
        if match is None:
            return []
        inner, plain = match.groups()
        found.append(plain if inner is None else _MARKS.sub(lambda marks: marks[1] or '"', inner))
        place = match.end() + 1
    return found


def _lines(file: Path, /) -> Iterator[list[bytes]]:
    """The lines of a file after the first, without their ends, in lists; of one that is too long to be a row only a start that is none."""
    most = limits.current().csv_line_bytes + 2
    rest, first = b"", True
    with _opened(file) as stream:
        while True:
            block = stream.read(_BLOCK)
            lines = (rest + block).splitlines(keepends=True)
            rest = lines.pop() if block and lines else b""  # it may go on, or its end may
            if lines:
                yield [line.rstrip(b"\r\n") for line in lines[first:]]
                first = False
            if not block:
                return
            if len(rest) > most:
                rest = _NO_TEXT + rest[-1:]


def _oddities(file: Path, /) -> frozenset[str]:
    """What a file holds that two readers may read in two ways."""
    signs = {'"': b'"', ' "': b' "', "\r": b"\r"}
    found, before = set(), b""
    with _opened(file) as stream:
        while block := stream.read(_BLOCK):
            found |= {name for name, sign in signs.items() if name not in found and sign in block}
            if before == b" " and block.startswith(b'"'):
                found.add(' "')
            if not ("no ASCII" in found or block.isascii()):
                found.add("no ASCII")
            if len(block) == _BLOCK and not (b"\n" in block or b"\r" in block):
                return frozenset({_LONG})
            before = block[-1:]
    # Ends of lines with a return are odd only where marks may hold one.
    return frozenset(found) if found - {"\r"} else frozenset()


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
    if not names:
        raise DataError(f"The first line of {file.name} is empty; write the names of the columns there.")
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
    with _opened(file) as stream:
        octets = stream.readline(_LONGEST_HEADER + 1)
    if not octets.strip():
        raise DataError(f"{file.name} is empty; a CSV file starts with a line of column names.")
    if len(octets) > _LONGEST_HEADER or b"\0" in octets:
        raise DataError(f"{file.name} is no CSV file: it does not start with a line of column names.")
    try:
        return re.split(r"[\r\n]", octets.decode("utf-8-sig"), maxsplit=1)[0]
    except UnicodeDecodeError:
        raise DataError(f"{file.name} is not UTF-8 text; save it as UTF-8.") from None


@contextmanager
def _opened(file: Path, /) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked; what is wrong with it is said without them."""
    try:
        packed = file.suffix.lower() == ".gz"
        with gzip.open(file) if packed else file.open("rb") as stream:
            yield cast("BinaryIO", stream)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{file.name} cannot be unpacked as gzip; it is damaged, or no such file.") from None
    except OSError as problem:
        raise DataError(f"{file.name} cannot be read: {problem.strerror or 'unknown reason'}.") from None
