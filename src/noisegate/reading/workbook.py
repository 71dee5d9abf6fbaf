"""The sheets of a workbook (xlsx, xlsb, xls, ods) as rows of text, with the cells that are merged."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

from noisegate import limits
from noisegate.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sheet:
    """One sheet: its name, its rows as text, and merged ranges as (first row, first column, last row, last column)."""

    name: str
    rows: list[list[str]]
    merged: tuple[tuple[int, int, int, int], ...] = ()


def is_workbook(path: Path, /) -> bool:
    """Whether a zip archive or an old document is a workbook."""
    return path.suffix.casefold() in {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"} or _holds_sheets(path)


def _holds_sheets(path: Path) -> bool:
    """Whether an archive holds what workbooks hold, whatever it is called."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
    return bool(names & {"xl/workbook.xml", "xl/workbook.bin", "content.xml"})


def read_sheets(path: Path, /) -> list[Sheet]:
    """The sheets of a workbook that hold anything, in order; hidden ones as well.

    Raises
    ------
    DataError
        If it cannot be opened, or is larger than the limits.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    _check_size(path)
    try:
        book = CalamineWorkbook.from_path(os.fspath(path))
        texts, found = _Texts(), []
        for name in book.sheet_names:
            sheet = book.get_sheet_by_name(name)
            if sheet.height * sheet.width > limits.current().sheet_cells:
                raise DataError(
                    f"Sheet {name!r} of {path} has {sheet.height * sheet.width:.3g} cells, at most "
                    f"{limits.current().sheet_cells:.3g} are read; save the part that holds the table as CSV."
                )
            rows = [list(map(texts.__getitem__, row)) for row in sheet.to_python(skip_empty_area=False)]
            if any(any(row) for row in rows):
                merged = tuple((*first, *last) for first, last in sheet.merged_cell_ranges or ())
                found.append(Sheet(name=name, rows=rows, merged=merged))
    except (CalamineError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path} cannot be read as a workbook: it is damaged, or protected by a password. Save it as CSV."
        ) from error
    if not found:
        raise DataError(f"{path} is a workbook without anything in it; name the file that holds the table.")
    return found


def _check_size(path: Path) -> None:
    """Refuse an archive that would unpack to more than is held."""
    import zipfile

    try:
        if not zipfile.is_zipfile(path):
            return
        with zipfile.ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read as a workbook: it is damaged.") from error
    if size > limits.current().held_bytes:
        raise DataError(
            f"{path} unpacks to {size >> 20:,} MiB, at most {limits.current().held_bytes >> 20:,} are read; save the sheet with "
            "the table as CSV."
        )


class _Texts(dict[object, str]):
    """The text of each value that was met; TRUE and FALSE are equal to numbers, and so are not kept."""

    def __missing__(self, value: object) -> str:
        text = _text(value)
        if not isinstance(value, bool):
            self[value] = text
        return text


def _text(value: object) -> str:
    """A cell as it would stand in a CSV file."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)
    return _moment_text(value) if isinstance(value, date | time | timedelta) else str(value)


def _moment_text(value: date | time | timedelta) -> str:
    if isinstance(value, timedelta):
        minutes = int(value.total_seconds()) // 60
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if isinstance(value, datetime) and value.time() != time():
        return value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, time):
        return value.isoformat(timespec="minutes")
    return f"{value:%Y-%m-%d}"
