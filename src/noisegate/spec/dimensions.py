"""The dimensions of a spec: listed values, written out or one per row of a file, days, and times of day."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, PlainValidator, ValidationInfo, model_validator

from noisegate import limits
from noisegate.places import MARK, is_marked, try_reading
from noisegate.spec.fields import (
    Day,
    Flag,
    Span,
    SpecBlock,
    Text,
    clock_text,
    did_you_mean,
    refusal,
    shown,
    span_text,
)
from noisegate.tables import DAY_S


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


def read_values(name: str, /, *, folder: Path, column: str, header: bool | None = None) -> ValueList:
    """The values in the first column of a CSV file.

    The first line is a header if the file has several columns, or if it says `column`; a file of one
    column without such a line is values from its first line on. Where that line looks like a header all the same, somebody must say
    so with `header`: a heading must not be published as a place, nor a place be left out.
    """
    path = folder / name
    rows = list(_rows(path, name))
    width = max((len(row) for _, row in rows), default=0)
    headed = bool(rows) and (width > 1 or rows[0][1][0].strip().casefold() == column.casefold())
    if header is not None:
        if width > 1 and not header:
            raise refusal(f"names {name}, which has several columns and so a header; leave out header: no")
        headed = header
    elif rows and not headed and _may_be_header([row[0].strip() for _, row in rows], column):
        raise refusal(
            f"names {name}, whose first line {shown(rows[0][1][0])} may be a header; say header: yes or header: no beside it"
        )
    names = [cell.strip() for cell in rows[0][1]] if headed else [column]
    body = rows[1:] if headed else rows
    if not body:
        raise refusal(f"names {name}, which holds no values; list at least one")
    values = tuple(row[0] for _, row in body)
    for line, row in body:
        if not row[0].strip():
            raise refusal(
                f"names {name}, whose line {line} has an empty value; fill it in or remove the line"
            )
        if len(row) > len(names):
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
        for place, key in enumerate(names)
        if place > 0 and key
    }
    return ValueList(values=values, attributes=attributes, file=name)


#: First lines of lists that are headings wherever they were seen; any of them could be a value as well, so it is asked.
_HEADINGS = frozenset(
    [
        "age",
        "area",
        "areas",
        "card",
        "category",
        "class",
        "code",
        "codes",
        "city",
        "county",
        "date",
        "day",
        "description",
        "district",
        "gender",
        "group",
        "hour",
        "id",
        "ids",
        "kind",
        "label",
        "labels",
        "lga",
        "line",
        "lines",
        "local_authority",
        "location",
        "locations",
        "mode",
        "modes",
        "month",
        "name",
        "names",
        "period",
        "place",
        "places",
        "postcode",
        "region",
        "regions",
        "route",
        "routes",
        "service",
        "sex",
        "site",
        "state",
        "station",
        "stations",
        "stop",
        "stop_id",
        "stop_name",
        "stops",
        "suburb",
        "suburbs",
        "tap",
        "time",
        "town",
        "type",
        "types",
        "value",
        "values",
        "ward",
        "week",
        "year",
        "zone",
        "zones",
    ]
)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def _may_be_header(values: list[str], column: str, /) -> bool:
    """Whether the first of some values may be their heading: by a word for one, or because it is of another make than all others.

    Of another make: no digit where all others have one; it begins like the name of the column, or that like it, and no other does.
    """
    first, rest = values[0], values[1:]
    if first.casefold().replace(" ", "_").replace("-", "_") in _HEADINGS:
        return True
    if not rest or not any(one.isalpha() for one in first):
        return False
    if all(one.replace(".", "", 1).isdigit() for one in rest):
        return not first.replace(".", "", 1).isdigit() and first.isidentifier()
    if all(_DIGIT.search(one) for one in rest) and not _DIGIT.search(first):
        return True
    if _begin_alike(first, column) and not any(_begin_alike(one, column) for one in rest):
        return True
    return bool(_IDENTIFIER.fullmatch(first)) and not any(map(_IDENTIFIER.fullmatch, rest))


_DIGIT = re.compile(r"\d")
#: Letters that a heading and the name of a column must share to be taken for one.
_ALIKE = 4


def _begin_alike(one: str, other: str, /) -> bool:
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return len(short) >= _ALIKE and long.startswith(short)


def _rows(path: Path, name: str, /) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the number of its last line."""
    octets, reason = try_reading(path, most=limits.current().values_bytes)
    if reason == "does not exist":
        raise refusal(f"names a file {name!r} that does not exist beside the spec")
    if reason or is_marked(path):
        raise refusal(f"names {name}, which {reason or f'is marked {MARK!r}'}")
    try:
        reader = csv.reader(io.StringIO(octets.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if row:
                yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error):
        raise refusal(f"names {name}, which is not a CSV file in UTF-8") from None


def _first_repeated(values: tuple[str, ...], /) -> tuple[int, int] | None:
    """The positions of the first value that is there twice."""
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        if value in seen:
            return seen[value], index
        seen[value] = index
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Which values of a dimension are meant: a list of them, or all from one to another."""

    listed: tuple[str, ...] | None = None
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBy:
    """Values shown as what a column of their file says, wherever the conditions hold."""

    column: str
    where: dict[str, Condition] = field(default_factory=dict)


def _condition(value: object) -> Condition:
    if isinstance(value, dict):
        if set(value) != {"from", "to"}:
            raise refusal(
                f"must be a list of values or a block with from and to, got keys {', '.join(map(str, value))}"
            )
        return Condition(first=str(value["from"]), last=str(value["to"]))
    listed = value if isinstance(value, list | tuple) else [value]
    return Condition(listed=written_list(list(listed)).values)


def _conditions(value: object) -> dict[str, Condition]:
    if not isinstance(value, dict):
        raise refusal(f"must be a block such as {{mode: [bus]}}, got {shown(value)}")
    return {str(name): _condition(inner) for name, inner in value.items()}


def _group_by(value: object) -> GroupBy:
    if isinstance(value, str):
        return GroupBy(column=value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((column, where),) = value.items()
        return GroupBy(column=str(column), where=_conditions(where))
    raise refusal(
        f"must be a column, or one column with its conditions: {{postcode: {{mode: [bus]}}}}, got {shown(value)}"
    )


def _value_list(value: object, info: ValidationInfo) -> ValueList:
    if isinstance(value, ValueList):
        return value
    if isinstance(value, list | tuple):
        return written_list(list(value))
    if not isinstance(value, str):
        raise refusal(f"must be a list of values or the name of a CSV file, got {shown(value)}")
    folder: Path = (info.context or {}).get("folder", Path())
    return read_values(
        value, folder=folder, column=str(info.data.get("column", "")), header=info.data.get("header")
    )


def _pairs(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(column, str) for column in value.values()):
        raise refusal(
            f"must be a block such as {{mode: mode}}: dimension, then column of the values file, got {shown(value)}"
        )
    return {str(name): column for name, column in value.items()}


Conditions = Annotated[dict[str, Condition], PlainValidator(_conditions)]


class ListedDimension(SpecBlock):
    """Values from a public list: modes, stops, kinds of card."""

    kind: ClassVar[str] = "listed"

    column: Text
    header: Flag | None = None
    listed: Annotated[ValueList, PlainValidator(_value_list)] = Field(alias="values")
    group_by: Annotated[GroupBy, PlainValidator(_group_by)] | None = None
    only: Annotated[dict[str, str], PlainValidator(_pairs)] = Field(default_factory=dict)

    @property
    def values(self) -> tuple[str, ...]:
        """The values, in the order of the list."""
        return self.listed.values


class DateDimension(SpecBlock):
    """Every day from one date to another, both included."""

    kind: ClassVar[str] = "date"

    column: Text
    first: Day = Field(alias="from")
    last: Day = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> DateDimension:
        if self.last < self.first:
            raise refusal(f"must not be before 'from' ({self.first}), got '{self.last}'", at=["to"])
        if self.days > limits.current().spec_days:
            raise refusal(f"is {self.days} days after 'from'; at most a century is allowed", at=["to"])
        return self

    @property
    def days(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days + 1

    @property
    def values(self) -> tuple[str, ...]:
        """The days as text, such as 2016-07-25."""
        return tuple((self.first + timedelta(days=n)).isoformat() for n in range(self.days))

    def code(self, day: date, /) -> int:
        """The number of a day, counted from the first."""
        return (day - self.first).days


class TimeDimension(SpecBlock):
    """The time of day in bins of equal width, from midnight to midnight."""

    kind: ClassVar[str] = "time"

    column: Text
    every: Span

    @model_validator(mode="after")
    def _fills_the_day(self) -> TimeDimension:
        if DAY_S % self.every:
            raise refusal(
                f"must divide a day into equal bins, such as 15min, 30min or 1h, got {span_text(self.every)!r}",
                at=["every"],
            )
        return self

    @property
    def bins(self) -> int:
        """How many bins a day has."""
        return DAY_S // self.every

    @property
    def values(self) -> tuple[str, ...]:
        """The start of each bin, such as 06:15."""
        return tuple(clock_text(n * self.every, step_s=self.every) for n in range(self.bins))
