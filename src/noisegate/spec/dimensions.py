"""The dimensions of a spec: listed values, days, and times of day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, PlainValidator, Tag, ValidationInfo, model_validator

from noisegate import limits
from noisegate.spec.block import SpecBlock
from noisegate.spec.fields import Day, Span, Text, clock_text, refusal, shown, span_text
from noisegate.spec.values import ValueList, read_values, written_list
from noisegate.tables import DAY_S


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
    return read_values(value, folder=folder, column=str(info.data.get("column", "")))


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


def _kind(data: Any) -> str | None:
    if isinstance(data, SpecBlock):
        return str(getattr(data, "kind", None))
    keys = data if isinstance(data, dict) else {}
    if "values" in keys:
        return "listed"
    if "every" in keys:
        return "time"
    return "date" if "from" in keys or "to" in keys else None


DimensionSpec = Annotated[
    Annotated[ListedDimension, Tag("listed")]
    | Annotated[DateDimension, Tag("date")]
    | Annotated[TimeDimension, Tag("time")],
    Discriminator(_kind, custom_error_type="no_kind", custom_error_message="no kind"),
]
KINDS = frozenset({"listed", "date", "time"})
