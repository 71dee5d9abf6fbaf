"""How a file is written, judged from its first megabyte: compression, encoding, delimiter, header.

Nothing here reads more than `PREFIX` bytes of content, whatever the file's size, so a file that is
no table is refused at once and cheaply.
"""

from __future__ import annotations

import codecs
import csv
import re
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noisegate.columns import PACKING_ERRORS, unpacked
from noisegate.errors import DataError, SpecError
from noisegate.reading.encodings import legacy_encoding
from noisegate.reading.headers import find_header
from noisegate.reading.words import in_equal_steps

#: How much of a file is looked at to find out how it is written; also the longest line allowed.
PREFIX = 1 << 20
#: Lines of the prefix that vote on the delimiter.
VOTERS = 500
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_REFUSED = {
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xfd7zXZ": "an xz archive; unpack it",
    b"\xd0\xcf\x11\xe0": "an old document that holds no workbook; save its table as CSV",
    b"%PDF": "a PDF document; export its table as CSV",
    b"SQLite format": "a database; export the table as CSV",
}
#: Text that is no table of rows, by how it starts, and the way out.
_NO_ROWS = (
    (re.compile(r"\{\\rtf"), "a text document; save its table as CSV"),
    (
        re.compile(r'\{.*"class"\s*:\s*"(?:dataset|collection|dimension)"|\{\s*"dataset"\s*:', re.DOTALL),
        "a JSON-stat file; download the same table as CSV, which the site that gave it also offers",
    ),
    (re.compile(r"[{\[]"), "a JSON file; write its rows as CSV, one for each count"),
    (
        re.compile(
            r"(?:CHARSET|AXIS-VERSION|CODEPAGE|LANGUAGE|CREATION-DATE|MATRIX|SUBJECT-AREA)\s*=", re.IGNORECASE
        ),
        "a PC-Axis file (PX); save the table as CSV or Excel where it was downloaded",
    ),
    (
        re.compile(r"<(?:!doctype html|html|table|head|body|div)\b", re.IGNORECASE),
        "a web page, whatever its name says; open it in a spreadsheet and save the table as CSV or .xlsx",
    ),
    (
        re.compile(r"<\?xml|<\w+:?\w*[\s>]", re.IGNORECASE),
        "an XML file; download the same table as CSV (of SDMX sources as SDMX-CSV), or save it as .xlsx",
    ),
)
_NUMERIC = re.compile(r"[-+]?\d[\d.,:/ -]*")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a text file is written; `header_line` counts the lines before the header, `header_rows` its own.

    `paths` are the texts over each column from the top, where the header has several rows; `preamble` what stands above it.
    """

    compression: str | None
    encoding: str
    delimiter: str
    header: tuple[str, ...]
    header_line: int
    header_rows: int = 1
    paths: tuple[tuple[str, ...], ...] = ()
    preamble: tuple[str, ...] = ()

    def describe(self) -> str:
        """In words, for people."""
        packed = f", {self.compression}" if self.compression else ""
        return f"CSV with {DELIMITERS.get(self.delimiter, repr(self.delimiter))}, {self.encoding}{packed}"


def check_file(path: Path, /) -> None:
    """Refuse what is not a readable, regular, non-empty file."""
    try:
        found = path.stat()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {_why(error)}.") from error
    if stat.S_ISDIR(found.st_mode):
        raise DataError(f"{path} is a directory; name the table files in it.")
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{path} is not a regular file; save the table to a file first.")
    if found.st_size == 0:
        raise DataError(f"{path} is empty; a table needs a header line and rows.")


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return (error.strerror or "the file cannot be opened").lower()


def is_archive(path: Path, /) -> bool:
    """Whether the file starts as zip archives and old documents of offices do; workbooks are such files."""
    return _start(path, 4) in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


def is_parquet(path: Path, /) -> bool:
    """Whether the file starts as Parquet files do."""
    return _start(path, 4) == b"PAR1"


def find_dialect(
    path: Path,
    /,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    columns: tuple[str, ...] | None = None,
) -> Dialect:
    """How the text file at `path` is written; what is given is believed."""
    compression = _compression(path)
    start = _content(path, compression)
    if not start:
        raise DataError(f"{path} is empty; a table needs a header line and rows.")
    encoding = encoding or _encoding(start, path)
    lines = _lines(start, encoding=encoding, path=path)
    _refuse_no_rows("\n".join(lines[:200]), path)
    delimiter, fields = _delimiter(lines, delimiter, path)
    if columns is not None:
        return Dialect(
            compression=compression,
            encoding=encoding,
            delimiter=delimiter,
            header=columns,
            header_line=0,
            header_rows=0,
        )
    line, rows, paths = _header(lines, delimiter, fields, path)
    return Dialect(
        compression=compression,
        encoding=encoding,
        delimiter=delimiter,
        header=column_names(paths),
        header_line=line,
        header_rows=rows,
        paths=paths,
        preamble=tuple(filter(None, (text.strip(' \t;,|"') for text in lines[:line]))),
    )


def _start(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {_why(error)}.") from error


def _compression(path: Path) -> str | None:
    start = _start(path, 16)
    for magic, what in _REFUSED.items():
        if start.startswith(magic):
            raise DataError(f"{path} is {what}.")
    return next((name for magic, name in _COMPRESSED.items() if start.startswith(magic)), None)


def _content(path: Path, compression: str | None) -> bytes:
    """The first `PREFIX` bytes of content."""
    try:
        with unpacked(path, compression) as stream:
            return stream.read(PREFIX)
    except PACKING_ERRORS as error:
        raise DataError(f"{path} cannot be unpacked as {compression}; the file is damaged.") from error


def _encoding(start: bytes, path: Path) -> str:
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    if (wide := _wide(start)) is not None:
        return wide
    if b"\0" in start:
        raise DataError(f"{path} holds binary data, not a table of text; CSV and Parquet are read.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return legacy_encoding(start, path)
    return "utf-8"


def _wide(start: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of plain text is 0."""
    even, odd = start[:4096:2], start[1:4096:2]
    if len(odd) < 2:
        return None
    if odd.count(0) > 0.6 * len(odd) and not even.count(0):
        return "utf-16-le"
    return "utf-16-be" if even.count(0) > 0.6 * len(even) and not odd.count(0) else None


def _lines(start: bytes, *, encoding: str, path: Path) -> list[str]:
    """The complete lines of the prefix."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except LookupError as error:
        raise SpecError(
            f"encoding {encoding!r} of {path.name} is unknown; use utf-8, latin-1, utf-16, shift_jis or another that Python knows."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not written in {encoding}; give its encoding in the spec.") from error
    controls = sum(char < " " and char not in "\t\r\n\f" for char in text[:65536])
    if controls > 0.01 * min(len(text), 65536):
        raise DataError(f"{path} holds binary data, not a table of text; CSV and Parquet are read.")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(start) == PREFIX or not lines[-1]:
        lines = lines[:-1]
    if not lines:
        raise DataError(f"{path} has a line longer than {PREFIX >> 20} MiB; that is not a table of counts.")
    return lines[: 4 * VOTERS]


def _refuse_no_rows(text: str, path: Path) -> None:
    """Refuse text that holds a table in another way than by rows, by its name."""
    start = text.lstrip()
    for pattern, what in _NO_ROWS:
        if pattern.match(start):
            raise DataError(f"{path} is {what}.")


def _fields(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return []


def _delimiter(lines: list[str], given: str | None, path: Path) -> tuple[str, int]:
    """The delimiter that splits most lines into the same number of fields, and that number."""
    best = (0.0, False, 0, "")
    for delimiter in [given] if given else DELIMITERS:
        widths = Counter(len(row) for row in _fields(lines, delimiter)[:VOTERS] if row)
        if not widths:
            continue
        width, votes = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
        if width > 1:
            # A tab stands in no value, so that commas beside it are inside values.
            best = max(best, (votes / widths.total(), delimiter == "\t", width, delimiter))
    if not best[3]:
        raise DataError(
            f"{path} does not split into columns at {', '.join(DELIMITERS.values())}; "
            "a table needs a count and at least one dimension."
        )
    return best[3], best[2]


def _header(
    lines: list[str], delimiter: str, width: int, path: Path
) -> tuple[int, int, tuple[tuple[str, ...], ...]]:
    """The line on which the header starts, how many lines it has, and what its columns are called."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    rows: list[list[str]] = []
    starts = [0]
    try:
        for row in reader:
            rows.append([" ".join(field.split()) for field in row])
            starts.append(reader.line_num)
    except csv.Error:
        rows = rows[:VOTERS]
    fitting = [place for place, row in enumerate(rows) if len(row) == width]
    found = find_header([row if len(row) == width else row[:1] + [""] * (width - 1) for row in rows])
    if (
        found is not None
        and len(found.paths) == width
        and any(found.first <= place < found.start for place in fitting)
    ):
        paths = _with_names_above(found.paths, rows[found.first - 1] if found.first else [])
        return starts[found.first], starts[found.start] - starts[found.first], paths
    for place in fitting:
        if _looks_like_data(rows[place]):
            raise DataError(
                f"{path} has numbers where column names belong (line {starts[place] + 1}). Add a header line, or list "
                "'columns' in the spec."
            )
        return (
            starts[place],
            starts[place + 1] - starts[place],
            tuple((text,) if text else () for text in rows[place]),
        )
    raise DataError(f"{path} has no line of {width} column names; add a header.")


def _with_names_above(
    paths: tuple[tuple[str, ...], ...], above: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The paths with names for the first columns, where none has one and a shorter line above the header gives them."""
    nameless = next((place for place, path in enumerate(paths) if path), len(paths))
    if not nameless or not nameless <= len(above) < len(paths) or not all(above):
        return paths
    lead = tuple(above[nameless : nameless + 1])
    return (*((name,) for name in above[:nameless]), *((*lead, *path) for path in paths[nameless:]))


def _looks_like_data(header: Sequence[str]) -> bool:
    """Whether a line that should name columns holds a number, a date or a time."""
    if _enumerates(header):
        return False
    return not any(header) or any(_NUMERIC.fullmatch(field) for field in header)


def _enumerates(header: Sequence[str]) -> bool:
    """Whether a line names its first columns and numbers the others in equal steps, as codes and ages are."""
    named = next((place for place, field in enumerate(header) if field.isdecimal()), 0)
    return bool(named) and in_equal_steps(header[named:])


def column_names(paths: Sequence[tuple[str, ...]], /) -> tuple[str, ...]:
    """A name for each column: the texts over it, told apart by a number where one comes twice."""
    return _unique(tuple(" / ".join(path) for path in paths))


def _unique(header: tuple[str, ...]) -> tuple[str, ...]:
    """The names with a number added where one comes twice, and a name for a nameless column."""
    seen: Counter[str] = Counter()
    names = []
    for position, field in enumerate(header, start=1):
        name = field or f"column {position}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return tuple(names)
