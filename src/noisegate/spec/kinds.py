"""More kinds of dimension: bands of a number, days of the week, weeks and months, and what a public lookup says.

Like every dimension, each has a public, finite list of values that is fixed before any event is seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag, ValidationInfo, model_validator

from noisegate import limits
from noisegate.spec.dimensions import DateDimension, ListedDimension, TimeDimension, ValueList, read_values
from noisegate.spec.fields import Day, SpecBlock, Text, did_you_mean, one_of, refusal, shown

_NUMBER = r"-?\d{1,15}(?:\.\d{1,9})?"
_BORDER = re.compile(rf"(?P<under><)?\s*(?P<number>{_NUMBER})\s*(?P<over>\+)?", re.ASCII)
_STEPS = re.compile(
    rf"(?P<first>{_NUMBER})\s*\.\.\s*(?P<last>{_NUMBER})\s+by\s+(?P<step>{_NUMBER})", re.ASCII
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """Borders in ascending order; each band runs from one up to the next, which is not in it.

    `under` adds a band below the first border, `over` one from the last border on.
    """

    borders: tuple[Decimal, ...]
    under: bool = False
    over: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Each band as tables show it: 15-24 where all borders are whole, else "0.5 to 1.5"; under 0; 65+."""
        whole = all(border == border.to_integral_value() for border in self.borders)
        made = [
            f"{_plain(low)}-{_plain(high - 1)}"
            if whole and high - low > 1
            else _plain(low)
            if whole
            else f"{_plain(low)} to {_plain(high)}"
            for low, high in pairwise(self.borders)
        ]
        below = [f"under {_plain(self.borders[0])}"] if self.under else []
        above = [f"{_plain(self.borders[-1])}+"] if self.over else []
        return (*below, *made, *above)

    def case(self, number: str, /, *, missing: str, nan: str) -> str:
        """SQL, as all engines speak it, for the number of a band: NULL where missing, and one that does not exist beyond all bands."""
        first, *rest = self.borders
        whens = [f"WHEN {missing} THEN NULL", f"WHEN {number} IS NULL OR {nan} THEN -1"]
        whens.append(f"WHEN {number} < {_plain(first)} THEN {0 if self.under else -1}")
        whens += [f"WHEN {number} < {_plain(b)} THEN {int(self.under) + n}" for n, b in enumerate(rest)]
        size = len(self.labels)
        return f"(CASE {' '.join(whens)} ELSE {size - 1 if self.over else size} END)"


def _plain(number: Decimal, /) -> str:
    """A number without an exponent and without idle zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bands(value: object) -> Bands:
    if isinstance(value, Bands):
        return value
    if isinstance(value, str):
        steps = _STEPS.fullmatch(value.strip())
        if steps is None:
            raise refusal(
                f"must be a list of borders such as [0, 15, 65+], or 0..100 by 10, got {shown(value)}"
            )
        first, last, step = (Decimal(steps[name]) for name in ("first", "last", "step"))
        most = limits.current().spec_days
        if step <= 0 or last <= first or (last - first) % step or (last - first) / step > most:
            raise refusal(
                f"must go up in whole steps, at most {most:,} of them, such as 0..100 by 10, got {shown(value)}"
            )
        return Bands(borders=tuple(first + step * n for n in range(int((last - first) / step) + 1)))
    if not isinstance(value, list | tuple) or not value:
        raise refusal(f"must be a list of borders such as [0, 15, 65+], or 0..100 by 10, got {shown(value)}")
    read = [_BORDER.fullmatch(str(one).strip()) for one in value]
    for place, (one, found) in enumerate(zip(value, read, strict=True)):
        wrong = found is None or (found["under"] and place > 0) or (found["over"] and place < len(value) - 1)
        if wrong or isinstance(one, bool):
            raise refusal(
                f"must list numbers, the first perhaps as <15 and the last as 65+, got {shown(one)}"
            )
    borders = tuple(Decimal(found["number"]) for found in read if found is not None)
    if any(low >= high for low, high in pairwise(borders)):
        raise refusal("must list borders in ascending order, each once")
    bands = Bands(
        borders=borders, under=bool(read[0] and read[0]["under"]), over=bool(read[-1] and read[-1]["over"])
    )
    if not bands.labels:
        raise refusal("has one border and so no band; give a second one, or write it as 65+")
    return bands


class BandDimension(SpecBlock):
    """A number in bands: age, length of stay, fare."""

    kind: ClassVar[str] = "band"

    column: Text
    bands: Annotated[Bands, PlainValidator(_bands)]

    @property
    def values(self) -> tuple[str, ...]:
        """The bands in ascending order, such as 15-24."""
        return self.bands.labels

    @property
    def description(self) -> str:
        """Where a band starts and ends."""
        return "bands of a number; each runs up to the start of the next, which is not in it"


Each = Literal["weekday", "week", "month"]


class CalendarDimension(SpecBlock):
    """Days of the week, or all weeks or months that have a day from one date to another."""

    kind: ClassVar[str] = "calendar"

    column: Text
    each: Annotated[Each, one_of("weekday", "week", "month")]
    first: Day | None = Field(default=None, alias="from")
    last: Day | None = Field(default=None, alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> CalendarDimension:
        if self.each == "weekday":
            if self.first is not None or self.last is not None:
                raise refusal("belongs to weeks and months; days of the week are always seven", at=["from"])
            return self
        if self.first is None or self.last is None:
            raise refusal(
                f"is missing; a list of {self.each}s runs from one date to another",
                at=["from" if self.first is None else "to"],
            )
        if self.last < self.first:
            raise refusal(f"must not be before 'from' ({self.first}), got '{self.last}'", at=["to"])
        if (self.last - self.first).days >= limits.current().spec_days:
            raise refusal("is more than a century after 'from'", at=["to"])
        return self

    @property
    def start(self) -> date:
        """The Monday of the first week, or the first day of the first month."""
        assert self.first is not None
        if self.each == "week":
            return self.first - timedelta(days=self.first.weekday())
        return self.first.replace(day=1)

    @property
    def values(self) -> tuple[str, ...]:
        """Monday ... Sunday, weeks as 2016-W30, months as 2016-07."""
        if self.each == "weekday":
            return WEEKDAYS
        assert self.last is not None
        if self.each == "week":
            weeks = ((self.last - self.start).days) // 7 + 1
            days = [self.start + timedelta(days=7 * n) for n in range(weeks)]
            return tuple("{}-W{:02d}".format(*day.isocalendar()[:2]) for day in days)
        months = 12 * (self.last.year - self.start.year) + self.last.month - self.start.month + 1
        place = 12 * self.start.year + self.start.month - 1
        return tuple(f"{(place + n) // 12:04d}-{(place + n) % 12 + 1:02d}" for n in range(months))

    @property
    def description(self) -> str:
        """What a label stands for."""
        return {
            "weekday": "days of the week",
            "week": "weeks from Monday to Sunday, numbered as in ISO 8601",
            "month": "whole months",
        }[self.each]

    def code(self, day: date, /) -> int:
        """The number of the value that a day belongs to; may lie outside of the list."""
        if self.each == "weekday":
            return day.weekday()
        if self.each == "week":
            return (day - self.start).days // 7
        return 12 * (day.year - self.start.year) + day.month - self.start.month


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTable:
    """A public table: what each key is shown as, "" for what is not shown; `file` is its name, None if written out."""

    keys: tuple[str, ...]
    labels: tuple[str, ...]
    file: str | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The labels, each once, in the order in which they come first."""
        return tuple(dict.fromkeys(label for label in self.labels if label))

    @property
    def codes(self) -> tuple[int, ...]:
        """The number of each key's label; -1 for none."""
        place = {label: code for code, label in enumerate(self.values)}
        return tuple(place.get(label, -1) for label in self.labels)


def _lookup(value: object, info: ValidationInfo) -> ValueList | JoinTable:
    if isinstance(value, ValueList | JoinTable):
        return value
    if isinstance(value, Mapping):
        keys, labels = map(str, value), [str(label or "") for label in value.values()]
        if not value or not any(label.strip() for label in labels):
            raise refusal("is an empty block; give each value of the column what it is shown as")
        return JoinTable(keys=tuple(keys), labels=tuple(labels))
    if not isinstance(value, str):
        raise refusal(f"must be a CSV file, or a block such as {{S1: North, S2: South}}, got {shown(value)}")
    folder: Path = (info.context or {}).get("folder", Path())
    return read_values(value, folder=folder, column=str(info.data.get("column", "")))


class LookupDimension(SpecBlock):
    """What a public lookup says of a column: the suburb of a stop, the zone of a station.

    `of` names a dimension of listed values whose file has the column `take`; `join` names a CSV file whose first column holds
    what `column` holds, or writes the pairs out. A level of a hierarchy is one of these for each level.
    """

    kind: ClassVar[str] = "lookup"

    column: Text
    join: Annotated[ValueList | JoinTable, PlainValidator(_lookup)]
    take: Text | None = None

    @model_validator(mode="after")
    def _takes_a_column(self) -> LookupDimension:
        if isinstance(self.join, JoinTable):
            if self.take is not None:
                raise refusal("belongs to a file; a block says itself what is shown", at=["take"])
        elif self.take is None:
            raise refusal("is missing: the column of the file that is shown", at=["take"])
        if not self.lookup.values:
            raise refusal("takes a column that is empty throughout; fill it in", at=["take"])
        return self

    @property
    def lookup(self) -> JoinTable:
        """What each value of the column is shown as."""
        if isinstance(self.join, JoinTable):
            return self.join
        labels = self.join.attribute(str(self.take), at=("take",))
        stripped = tuple(label.strip() for label in labels)
        return JoinTable(keys=self.join.values, labels=stripped, file=self.join.file)

    @property
    def values(self) -> tuple[str, ...]:
        """The labels, in the order of the lookup."""
        return self.lookup.values

    @property
    def description(self) -> str:
        """Where the labels come from."""
        if self.lookup.file is None:
            return f"a public list, by {self.column}"
        return f"column {self.take} of {self.lookup.file}, by {self.column}"


def _kind(data: Any) -> str | None:
    if isinstance(data, SpecBlock):
        return str(getattr(data, "kind", None))
    keys = data if isinstance(data, dict) else {}
    for key, kind in _TOLD_BY.items():
        if key in keys:
            return kind
    return "date" if "from" in keys or "to" in keys else None


#: The key that tells a kind of dimension; days have only borders.
_TOLD_BY = {
    "values": "listed",
    "every": "time",
    "bands": "band",
    "each": "calendar",
    "join": "lookup",
    "take": "lookup",
}
AnyDimension = (
    ListedDimension | DateDimension | TimeDimension | BandDimension | CalendarDimension | LookupDimension
)
DimensionSpec = Annotated[
    Annotated[ListedDimension, Tag("listed")]
    | Annotated[DateDimension, Tag("date")]
    | Annotated[TimeDimension, Tag("time")]
    | Annotated[BandDimension, Tag("band")]
    | Annotated[CalendarDimension, Tag("calendar")]
    | Annotated[LookupDimension, Tag("lookup")],
    Discriminator(_kind, custom_error_type="no_kind", custom_error_message="no kind"),
]
KINDS = frozenset({*_TOLD_BY.values(), "date"})


def resolve_levels(data: Any, /) -> Any:
    """The raw dimensions of a spec with each `of` worked out: a level is a lookup in the file of the dimension it is a level of."""
    if not isinstance(data, dict):
        return data
    found = dict(data)
    for name, block in data.items():
        if isinstance(block, dict) and block.get("of") is not None:
            found[name] = _resolved(data, str(name), block)
    return found


def _resolved(data: Mapping[str, Any], name: str, block: Mapping[str, Any], /) -> dict[str, Any]:
    parent, seen = str(block["of"]), [name]
    while True:
        whole = data.get(parent)
        if parent in seen or not isinstance(whole, dict):
            hint = did_you_mean(parent, [one for one in data if one != name])
            raise refusal(
                f"must name a dimension of listed values, got {parent!r}{hint}", at=["dimensions", name, "of"]
            )
        if whole.get("of") is None:
            break
        seen.append(parent)
        parent = str(whole["of"])
    if not isinstance(whole.get("values"), str):
        raise refusal(
            f"is {parent}, whose values are no CSV file; put them into one, with a column for each level",
            at=["dimensions", name, "of"],
        )
    extra = [key for key in block if key not in ("of", "column", "take")]
    if extra:
        raise refusal("does not go with of; a level has of and column", at=["dimensions", name, extra[0]])
    return {
        "column": whole.get("column"),
        "join": whole["values"],
        "take": block.get("take", block.get("column")),
    }
