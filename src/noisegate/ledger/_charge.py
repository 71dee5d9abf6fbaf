"""What one release costs: in every unit, with the parts it is made of, the dates it is about, and the people it is bound to.

A charge is kept in the ledger as JSON beside the entry's own columns. A unit that it does not name is *unknown* (entries of
older versions name one only); a unit whose loss is None is *unbounded*: the release promises it nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Any, Self

from noisegate.errors import DataError, InputError, SpecError
from noisegate.ledger._account import UNITS, Loss, as_delta, as_epsilon, as_unit

#: One part of a loss: kind (`pure`, `concentrated`, `shown`), amount, and how often it is there; see `noisegate.mechanisms.LossPart`.
Part = tuple[str, Fraction, int]
KINDS = ("pure", "concentrated", "shown")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitLoss:
    """The loss of one unit, and the parts it is made of; without parts, the loss itself is one."""

    loss: Loss
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            own: list[Part] = [("pure", self.loss.epsilon, 1)] if self.loss.epsilon else []
            own += [("shown", self.loss.delta, 1)] if self.loss.delta else []
            object.__setattr__(self, "parts", tuple(own))
        for kind, amount, times in self.parts:
            if kind not in KINDS or amount < 0 or times < 1:
                raise SpecError.for_choice("the kind of a part", found=kind, allowed=KINDS)

    def to_json(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return {
            "epsilon": str(self.loss.epsilon),
            "delta": str(self.loss.delta),
            "parts": [[kind, str(amount), times] for kind, amount, times in self.parts],
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any], /) -> Self:
        """What `to_json` wrote."""
        loss = Loss(epsilon=as_epsilon(value["epsilon"]), delta=as_delta(value["delta"]))
        parts = tuple(
            (str(kind), as_epsilon(amount), int(times)) for kind, amount, times in value.get("parts", ())
        )
        return cls(loss=loss, parts=parts)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Days:
    """The dates that a release is about, both included, and the clock they are told by.

    Days of two releases are compared only if both are told by the same column on the same clock.
    """

    first: date
    last: date
    column: str
    timezone: str | None = None

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise SpecError.for_value("the last day", found=str(self.last), allowed=f"from {self.first} on")

    @property
    def clock(self) -> str:
        """What tells the days: releases with the same one can be disjoint."""
        return f"{self.column} {self.timezone or ''}".strip()

    def to_json(self) -> list[str | None]:
        """As the ledger keeps it."""
        return [self.first.isoformat(), self.last.isoformat(), self.column, self.timezone]

    @classmethod
    def of_json(cls, value: Sequence[Any], /) -> Self:
        """What `to_json` wrote."""
        first, last, column, timezone = value
        return cls(
            first=date.fromisoformat(first),
            last=date.fromisoformat(last),
            column=str(column),
            timezone=None if timezone is None else str(timezone),
        )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Binding:
    """What a population was counted from: a file with the digest of its content, or a table of an engine."""

    name: str
    digest: str | None = None

    def to_json(self) -> list[str | None]:
        """As the ledger keeps it."""
        return [self.name, self.digest]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesWeek:
    """One week of a series that is paid for once: its name, the digest of what it promises, the week, and how many there are."""

    name: str
    digest: str
    week: int
    weeks: int

    def __post_init__(self) -> None:
        if not 1 <= self.week <= self.weeks:
            raise SpecError.for_value("the week", found=self.week, allowed=f"1 to {self.weeks}")

    def to_json(self) -> list[Any]:
        """As the ledger keeps it."""
        return [self.name, self.digest, self.week, self.weeks]

    @classmethod
    def of_json(cls, value: Sequence[Any], /) -> Self:
        """What `to_json` wrote."""
        name, digest, week, weeks = value
        return cls(name=str(name), digest=str(digest), week=int(week), weeks=int(weeks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """All that a release costs and is about.

    Attributes
    ----------
    losses
        By unit; None is unbounded, a unit that is not there is unknown.
    days
        The dates that it is about; None if it has none: then it adds to every day.
    bindings
        What it was counted from.
    by
        Who approved: nobody, one, or two different persons.
    adopts
        Accounts of an older version that were about the same events.
    claim
        Host and process that made the reservation.
    series
        The week of a series that it is. `losses` are those of the whole series, which the ledger charges with its first week.
    again
        What the measurements of that week cost if they are made once more, because the first ones were lost.
    """

    losses: Mapping[str, UnitLoss | None] = field(default_factory=dict)
    days: Days | None = None
    bindings: tuple[Binding, ...] = ()
    by: tuple[str, ...] = ()
    adopts: tuple[str, ...] = ()
    claim: tuple[str, int] | None = None
    series: SeriesWeek | None = None
    again: Mapping[str, UnitLoss | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for unit in self.losses:
            as_unit(unit)
        signatures(self.by)

    def paid(self) -> Charge:
        """The same with nothing left to pay: a later week of a series."""
        free = UnitLoss(loss=Loss())
        nothing = {unit: None if one is None else free for unit, one in self.losses.items()}
        return replace(self, losses=nothing)

    def once_more(self) -> Charge:
        """The same for measurements that are made once more."""
        return replace(self, losses=self.again)

    def to_json(self) -> str:
        """As the ledger keeps it, once it is settled what is charged."""
        content = {
            "losses": {
                unit: None if (one := self.losses[unit]) is None else one.to_json()
                for unit in UNITS
                if unit in self.losses
            },
            "days": None if self.days is None else self.days.to_json(),
            "bindings": [one.to_json() for one in self.bindings],
            "by": list(self.by),
            "adopts": list(self.adopts),
            "claim": None if self.claim is None else list(self.claim),
            "series": None if self.series is None else self.series.to_json(),
        }
        return json.dumps({key: value for key, value in content.items() if value}, separators=(",", ":"))

    @classmethod
    def of_json(cls, text: str, /) -> Self:
        """What `to_json` wrote; `DataError` if it is something else."""
        try:
            value = json.loads(text)
            days, claim, series = value.get("days"), value.get("claim"), value.get("series")
            return cls(
                losses={
                    unit: None if one is None else UnitLoss.of_json(one)
                    for unit, one in value.get("losses", {}).items()
                },
                days=None if days is None else Days.of_json(days),
                bindings=tuple(
                    Binding(name=name, digest=digest) for name, digest in value.get("bindings", ())
                ),
                by=tuple(map(str, value.get("by", ()))),
                adopts=tuple(map(str, value.get("adopts", ()))),
                claim=None if claim is None else (str(claim[0]), int(claim[1])),
                series=None if series is None else SeriesWeek.of_json(series),
            )
        except InputError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DataError("what it says of the charge cannot be read.") from None


def signatures(names: Sequence[str], /) -> tuple[str, ...]:
    """Who approved: at most two persons, each named once."""
    found = tuple(" ".join(name.split()) for name in names)
    if len(found) > 2 or len({name.casefold() for name in found}) < len(found):
        raise SpecError("--by names who approves: one person, or two different ones.")
    for name in found:
        if not 0 < len(name) <= 200 or not name.isprintable():
            raise SpecError.for_value(
                "--by", found=name[:60], allowed="a name of 1 to 200 printable characters"
            )
    return found
