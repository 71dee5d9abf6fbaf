"""The files of a release: written to a staging directory, renamed into place at once.

Each table is written as CSV and as Parquet, dimension columns and `count`, in the order of the
public domain, so the order of rows says nothing about the events.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.columns import ROW_GROUP, Columns, ParquetWriter, Values
from noisegate.engine import PublishedSlices
from noisegate.errors import OutputError
from noisegate.mechanisms import PublishedCells
from noisegate.places import is_in_release
from noisegate.tables import CARD, Card, Domain, Ints

#: What every file of a release is called, but for the tables.
CARD_TEXT = "CARD.md"
#: How much longer the name of the staging directory is: dots, a reservation, ".staging".
_STAGING_ADDS = 42
#: Rows of a CSV file that are put together at once.
_ROWS = 1 << 14
#: How a spreadsheet's formulas start, and what starts like one but is a number.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
#: A byte that no text in UTF-8 holds.
_PADDING = b"\xff"


def check_output(folder: Path, /) -> None:
    """Refuse a place that exists or cannot be written, before anything is done."""
    try:
        _check_place(folder)
    except OSError as problem:
        raise OutputError(
            f"the output directory {folder} cannot be used: {problem.strerror or 'unknown reason'}."
        ) from None


def _check_place(folder: Path, /) -> None:
    if folder.exists() or folder.is_symlink():
        raise OutputError(
            f"the output directory {folder} exists already; choose a new one, a release is never changed."
        )
    if is_in_release(folder):
        raise OutputError(
            f"the output directory {folder} would lie in another release, which is never changed."
        )
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise OutputError(f"there is no directory {parent} to put the release in; make it first.")
    effective = os.access in os.supports_effective_ids
    if not os.access(parent, os.W_OK | os.X_OK, effective_ids=effective):
        raise OutputError(f"the directory {parent} cannot be written; choose another place.")
    longest = os.pathconf(parent, "PC_NAME_MAX") - _STAGING_ADDS
    if len(os.fsencode(folder.name)) > longest:
        raise OutputError(
            f"the name of the output directory is too long; at most {longest} bytes are allowed here."
        )


@contextmanager
def staged(staging: Path, folder: Path, /) -> Iterator[Path]:
    """A directory to write into that becomes `folder` when all is well and disappears otherwise."""
    try:
        staging.mkdir()
    except OSError as problem:
        raise OutputError(f"cannot make {staging}: {problem.strerror or 'unknown reason'}.") from None
    try:
        yield staging
        for path in staging.rglob("*"):
            _flush(path)
        _flush(staging)
        _rename(staging, folder)
    except OSError as problem:
        shutil.rmtree(staging, ignore_errors=True)
        raise OutputError(
            f"cannot write the release to {folder.parent}: {problem.strerror or 'unknown reason'}; "
            "nothing was published, and what was reserved stays spent."
        ) from None
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    try:
        _flush(folder.resolve().parent)
    except OSError as problem:
        raise OutputError(
            f"the release is in place at {folder}, but the disk does not confirm it: {problem.strerror or 'unknown reason'}; "
            "once it does, 'noisegate ledger check --settle' marks the release as published."
        ) from None


def write_table(
    folder: Path, name: str, domain: Domain, published: PublishedCells | PublishedSlices, /
) -> None:
    """Write one table as CSV and Parquet, both at the same time.

    Rows are put together in stretches whose length says nothing about the slices that they came in.
    """
    slices = PublishedSlices.held(published) if isinstance(published, PublishedCells) else published
    with (
        _Csv(folder / f"{name}.csv", domain) as text,
        ParquetWriter(folder / f"{name}.parquet") as columns,
        ThreadPoolExecutor(1) as other,
    ):
        for rows in equal_stretches(slices, ROW_GROUP):
            codes = domain.decode(rows.cells)
            written = other.submit(columns.write, _frame(domain, codes, rows.values))
            text.write(codes, rows.values)
            written.result()


def equal_stretches(slices: PublishedSlices, most: int, /) -> Iterator[PublishedCells]:
    """The same rows, so many at a time; one stretch without any if there is none."""
    held: list[PublishedCells] = []
    room, said = most, False
    for part in slices:
        start = 0
        while start < len(part.cells):
            taken = slice(start, start + room)
            held.append(PublishedCells(cells=part.cells[taken], values=part.values[taken]))
            start, room = start + len(held[-1].cells), room - len(held[-1].cells)
            if not room:
                yield _joined(held)
                held, room, said = [], most, True
    if held or not said:
        yield _joined(held)


def _joined(parts: list[PublishedCells], /) -> PublishedCells:
    if len(parts) == 1:
        return parts[0]
    nothing = np.zeros(0, dtype=np.int64)
    return PublishedCells(
        cells=np.concatenate([nothing, *(one.cells for one in parts)]),
        values=np.concatenate([nothing, *(one.values for one in parts)]),
    )


def _frame(domain: Domain, codes: Iterable[Ints], values: Ints, /) -> Columns:
    dimensions = zip(domain.dimensions, codes, strict=True)
    columns = {one.name: Values(values=code, labels=one.labels) for one, code in dimensions}
    return Columns({**columns, "count": Values.numbers(values)})


class _Csv:
    """Rows of fields padded to one width, made by looking texts up; then the padding is taken out."""

    def __init__(self, path: Path, domain: Domain, /) -> None:
        self._texts = [
            _padded(f"{_field(_harmless(label))}," for label in dimension.labels)
            for dimension in domain.dimensions
        ]
        self._file = path.open("wb")
        self._file.write(",".join([*map(_field, domain.names), "count"]).encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, codes: tuple[Ints, ...], values: Ints, /) -> None:
        for start in range(0, len(values), _ROWS):
            part = slice(start, start + _ROWS)
            counts, which = np.unique(values[part], return_inverse=True)
            columns = [text[code[part]] for text, code in zip(self._texts, codes, strict=True)]
            columns.append(_padded(f"{count}\n" for count in counts.tolist())[which])
            rows = np.empty(len(which), dtype=[(f"f{n}", column.dtype) for n, column in enumerate(columns)])
            for n, column in enumerate(columns):
                rows[f"f{n}"] = column
            self._file.write(rows.tobytes().translate(None, _PADDING))


def _harmless(text: str, /) -> str:
    """A text that no spreadsheet takes for a formula: it starts with an apostrophe if it would be one.

    Numbers stay as they are. Parquet files hold every text as it is.
    """
    return text if not text.startswith(_FORMULA) or _NUMBER.fullmatch(text) else f"'{text}"


def _field(text: str, /) -> str:
    """A text as CSV writes it: in quotation marks if it needs them."""
    needs_marks = not text or any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if needs_marks else text


def _padded(texts: Iterable[str], /) -> NDArray[np.void]:
    """Texts in UTF-8, all of one width."""
    octets = [text.encode() for text in texts]
    width = max(map(len, octets))
    return np.frombuffer(b"".join(text.ljust(width, _PADDING) for text in octets), dtype=f"V{width}")


def write_card(folder: Path, card: Card, text: str, /) -> bytes:
    """Write the card in both forms and return the bytes of card.json."""
    content = (json.dumps(card.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    (folder / CARD).write_bytes(content)
    (folder / CARD_TEXT).write_text(text, encoding="utf-8")
    return content


def _rename(staging: Path, folder: Path, /) -> None:
    try:
        staging.rename(folder)
    except OSError as problem:
        raise OutputError(
            f"cannot put the release in place at {folder}: {problem.strerror or 'unknown reason'}."
        ) from None


def _flush(path: Path, /) -> None:
    """Make sure that a file or directory is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
