"""Files as offices write them: text in any encoding, and workbooks with merged cells."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

Cell = str | int | float | None
Grid = Sequence[Sequence[Cell]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write rows to a text file and return its path."""

    def to(name: str, rows: Grid | str, *, delimiter: str = ",", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        text = (
            rows
            if isinstance(rows, str)
            else "".join(delimiter.join(_quoted(c, delimiter) for c in row) + "\n" for row in rows)
        )
        path.write_bytes(text.encode(encoding))
        return path

    return to


def _quoted(cell: Cell, delimiter: str) -> str:
    text = "" if cell is None else str(cell)
    return f'"{text}"' if delimiter in text else text


@pytest.fixture
def workbook(tmp_path: Path) -> Callable[..., Path]:
    """Write sheets to a workbook and return its path; merged ranges are given as in "A1:C1"."""

    def to(
        name: str, sheets: Mapping[str, Grid], *, merged: Mapping[str, Sequence[str]] | None = None
    ) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("[Content_Types].xml", _TYPES.format(_overrides(len(sheets))))
            archive.writestr("_rels/.rels", _RELS.format(_relation(1, "officeDocument", "xl/workbook.xml")))
            links = "".join(
                _relation(k, "worksheet", f"worksheets/sheet{k}.xml") for k in range(1, len(sheets) + 1)
            )
            archive.writestr("xl/_rels/workbook.xml.rels", _RELS.format(links))
            names = "".join(
                f'<sheet name="{escape(title)}" sheetId="{k}" r:id="rId{k}"/>'
                for k, title in enumerate(sheets, start=1)
            )
            archive.writestr("xl/workbook.xml", _BOOK.format(names))
            for k, (title, rows) in enumerate(sheets.items(), start=1):
                archive.writestr(f"xl/worksheets/sheet{k}.xml", _sheet(rows, (merged or {}).get(title, ())))
        return path

    return to


_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_TYPES = (
    _HEAD + f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>{{}}</Types>'
)
_RELS = _HEAD + f'<Relationships xmlns="{_PACKAGE}/relationships">{{}}</Relationships>'
_BOOK = _HEAD + f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{{}}</sheets></workbook>'


def _overrides(sheets: int) -> str:
    one = '<Override PartName="/xl/worksheets/sheet{}.xml" ContentType="' + _KIND + '.worksheet+xml"/>'
    return "".join(one.format(k) for k in range(1, sheets + 1))


def _relation(number: int, kind: str, target: str) -> str:
    return f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def _sheet(rows: Grid, merged: Sequence[str]) -> str:
    body = "".join(
        f'<row r="{r}">{"".join(_cell(cell, r, c) for c, cell in enumerate(row) if cell not in (None, ""))}</row>'
        for r, row in enumerate(rows, start=1)
    )
    ranges = "".join(f'<mergeCell ref="{one}"/>' for one in merged)
    tail = f'<mergeCells count="{len(merged)}">{ranges}</mergeCells>' if merged else ""
    return f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData>{tail}</worksheet>'


def _cell(cell: Cell, row: int, column: int) -> str:
    place = f"{chr(65 + column) if column < 26 else chr(64 + column // 26) + chr(65 + column % 26)}{row}"
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'
