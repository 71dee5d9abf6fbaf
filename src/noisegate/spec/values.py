"""Public lists of values: written out in the spec, or one per row of a file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from noisegate.spec.fields import did_you_mean, refusal, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueList:
    """The values of a dimension, and what the file says about each of them.

    `attributes` holds the further columns of the file, each as long as `values`; `file` is the
    file's name, or None for a list that is written out in the spec.
    """

    values: tuple[str, ...]
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    file: str | None = None

    def attribute(self, name: str, /, *, at: tuple[str | int, ...]) -> tuple[str, ...]:
        """One further column of the file; `at` is the place that asks for it."""
        if name in self.attributes:
            return self.attributes[name]
        if self.file is None:
            raise refusal(
                f"names a column {name!r}, but the values are a written list; put them into a CSV file", at=at
            )
        hint = (
            did_you_mean(name, self.attributes)
            or f"; it has {', '.join(self.attributes) or 'no further columns'}"
        )
        raise refusal(f"names a column {name!r} that {self.file} does not have{hint}", at=at)


def written_list(values: list[object], /) -> ValueList:
    """The values of a list in the spec."""
    found = tuple(str(value) for value in values)
    if not found:
        raise refusal("is an empty list; list at least one value")
    for value in values:
        if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
            raise refusal(f"must list plain values, found {shown(value)}")
    twice = _first_repeated(found)
    if twice is not None:
        raise refusal(f"lists {shown(found[twice[1]])} twice; list each value once")
    return ValueList(values=found)


def read_values(name: str, /, *, folder: Path, column: str) -> ValueList:
    """The values in the first column of a CSV file.

    The first line is a header if the file has several columns, or if it says `column`; a file of one
    column without such a line is values from its first line on.
    """
    path = folder / name
    rows = list(_rows(path, name))
    width = max((len(row) for _, row in rows), default=0)
    headed = bool(rows) and (width > 1 or rows[0][1][0].strip().casefold() == column.casefold())
    header = [cell.strip() for cell in rows[0][1]] if headed else [column]
    body = rows[1:] if headed else rows
    if not body:
        raise refusal(f"names {name}, which holds no values; list at least one")
    values = tuple(row[0] for _, row in body)
    for line, row in body:
        if not row[0].strip():
            raise refusal(
                f"names {name}, whose line {line} has an empty value; fill it in or remove the line"
            )
        if len(row) > len(header):
            raise refusal(
                f"names {name}, whose line {line} has more columns than its header; quote its commas"
            )
    twice = _first_repeated(values)
    if twice is not None:
        first, second = (body[index][0] for index in twice)
        raise refusal(
            f"names {name}, which lists {shown(values[twice[1]])} twice (lines {first} and {second}); keep one"
        )
    attributes = {
        key: tuple(row[place] if place < len(row) else "" for _, row in body)
        for place, key in enumerate(header)
        if place > 0 and key
    }
    return ValueList(values=values, attributes=attributes, file=name)


def _rows(path: Path, name: str, /) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the number of its last line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if row:
                    yield reader.line_num, row
    except FileNotFoundError:
        raise refusal(f"names a file {name!r} that does not exist beside the spec") from None
    except (UnicodeDecodeError, csv.Error):
        raise refusal(f"names {name}, which is not a CSV file in UTF-8") from None
    except OSError as error:
        raise refusal(f"names {name}, which cannot be read: {error.strerror}") from None


def _first_repeated(values: tuple[str, ...], /) -> tuple[int, int] | None:
    """The positions of the first value that is there twice."""
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        if value in seen:
            return seen[value], index
        seen[value] = index
    return None
