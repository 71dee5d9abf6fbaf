"""The table of a command in a form for other programs: `--format`, to a file or to standard output (`--to`)."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisegate.cli.output import console
from noisegate.errors import SpecError
from noisegate.places import STANDARD_OUTPUT, check_file, write_file

if TYPE_CHECKING:
    from noisegate.columns import Values

#: One row: a value for each column.
Row = Mapping[str, Any]


class TableFormat(StrEnum):
    """Forms in which a table can be had."""

    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


FormatOption = Annotated[
    TableFormat | None,
    typer.Option(
        "--format", help="Also write the table, and nothing else, in this form.", show_default=False
    ),
]
ToOption = Annotated[
    Path | None,
    typer.Option(
        "--to", metavar="FILE", help="Where --format writes; without it, to standard output.", allow_dash=True
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutput:
    """Where the rows of a command go, and as what; nowhere if no form was asked for."""

    form: TableFormat | None
    to: Path

    @classmethod
    def asked(
        cls,
        form: TableFormat | None,
        to: Path | None,
        /,
        *,
        json_to: Path | None,
        inputs: Sequence[Path | None] = (),
    ) -> TableOutput:
        """What `--format` and `--to` say, checked before any work is done.

        If the table goes to standard output, everything for people goes to standard error.
        """
        if form is None:
            if to is not None:
                raise SpecError(
                    "--to says where --format writes; say --format csv, json, markdown or parquet too."
                )
            return cls(form=None, to=STANDARD_OUTPUT)
        place = to or STANDARD_OUTPUT
        if place == STANDARD_OUTPUT == json_to:
            raise SpecError("--json and --format both write to standard output; give one of them a file.")
        check_file(place, option="--to", inputs=[*inputs, json_to if json_to != STANDARD_OUTPUT else None])
        if place == STANDARD_OUTPUT:
            console.stderr = True
        return cls(form=form, to=place)

    def write(self, rows: Sequence[Row], /, *, columns: Sequence[str] = ()) -> None:
        """Write the rows, whole or not at all; `columns` are named even if there is no row."""
        if self.form is None:
            return
        octets = _WRITERS[self.form](rows, list(dict.fromkeys([*columns, *_columns(rows)])))
        if self.to != STANDARD_OUTPUT:
            write_file(self.to, octets)
            return
        sys.stdout.flush()
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(octets.decode("utf-8", errors="replace"))
        else:
            stream.write(octets)
            stream.flush()


def _columns(rows: Sequence[Row], /) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _text(value: Any, /) -> str:
    """A value in one cell; what has parts is JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _csv(rows: Sequence[Row], columns: Sequence[str], /) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_text(row.get(name)) for name in columns] for row in rows)
    return out.getvalue().encode("utf-8", errors="backslashreplace")


def _json(rows: Sequence[Row], _: Sequence[str], /) -> bytes:
    text = json.dumps([dict(row) for row in rows], indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", errors="backslashreplace")


def _markdown(rows: Sequence[Row], columns: Sequence[str], /) -> bytes:
    cells = [[_text(row.get(name)) for name in columns] for row in rows]
    lines = [list(columns), ["---"] * len(columns), *cells]
    text = "".join("| " + " | ".join(map(_one_line, line)) + " |\n" for line in lines)
    return text.encode("utf-8", errors="backslashreplace")


def _one_line(text: str, /) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _parquet(rows: Sequence[Row], names: Sequence[str], /) -> bytes:
    from noisegate.columns import Columns, parquet_octets

    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in names}
    for name, values in columns.items():
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 - bool(kinds & {dict, list, tuple}) and not kinds <= {int, float}:
            columns[name] = [None if value is None else _text(value) for value in values]
    return parquet_octets(Columns({name: _values(values) for name, values in columns.items()}))


def _values(values: list[Any], /) -> Values:
    """A column of one kind."""
    import numpy as np

    from noisegate.columns import Values

    missing = np.array([value is None for value in values], bool)
    kinds = {type(value) for value in values if value is not None}
    for kind, form, blank in (
        (bool, "?", False),
        (int, "i8", 0),
        (float, "f8", 0.0),
        (date, "M8[D]", date.min),
    ):
        if kinds == {kind} or (kind is float and kinds == {int, float}):
            filled = [blank if value is None else value for value in values]
            return Values.numbers(np.array(filled, dtype=form), missing=missing)
    return Values.texts(None if value is None else _text(value) for value in values)


_WRITERS = {
    TableFormat.CSV: _csv,
    TableFormat.JSON: _json,
    TableFormat.MARKDOWN: _markdown,
    TableFormat.PARQUET: _parquet,
}
