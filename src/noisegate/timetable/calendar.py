"""On which days each service runs: calendar.txt and the exceptions of calendar_dates.txt."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.timetable.rows import Rows
from noisegate.timetable.visits import Flags, Ints

EPOCH = date(1970, 1, 1)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: 1 January 1970 was a Thursday.
_FIRST_WEEKDAY = 3
ADDED, REMOVED = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calendar:
    """Services and their days, all days counted from 1970.

    Attributes
    ----------
    ids
        The services of both tables.
    weekdays
        Shape (services, 7), Monday first.
    first, last
        The days between which the weekly pattern holds, both included; for a service that has exceptions
        only, the first and the last of them.
    service, day, kind
        The exceptions: a day is added (1) or removed (2), whatever the pattern says.
    """

    ids: tuple[str, ...]
    weekdays: Flags
    first: Ints
    last: Ints
    service: Ints
    day: Ints
    kind: NDArray[np.int8]
    number: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", {name: i for i, name in enumerate(self.ids)})

    def active(self, days: Ints, /) -> Flags:
        """Shape (services, days): whether each service runs on each day."""
        weekday = (days + _FIRST_WEEKDAY) % 7
        runs = self.weekdays[:, weekday] & (days >= self.first[:, None]) & (days <= self.last[:, None])
        for kind, state in ((REMOVED, False), (ADDED, True)):
            for at, day in enumerate(days.tolist()):
                runs[self.service[(self.kind == kind) & (self.day == day)], at] = state
        return runs

    @property
    def first_date(self) -> date:
        """The first date on which a service may run."""
        return EPOCH + timedelta(days=self.span()[0])

    @property
    def last_date(self) -> date:
        """The last date on which a service may run."""
        return EPOCH + timedelta(days=self.span()[1])

    def span(self) -> tuple[int, int]:
        """The first and the last day on which any service may run."""
        ends = np.concatenate([self.first[self.weekdays.any(axis=1)], self.last[self.weekdays.any(axis=1)]])
        all_days = np.concatenate([ends, self.day[self.kind == ADDED]])
        if not all_days.size:
            raise DataError("No service of the feed runs on any day.")
        return int(all_days.min()), int(all_days.max())


def read_calendar(rows: Rows, /) -> Calendar:
    """The services of a feed; either table may be missing."""
    weekly = rows.table("calendar.txt", required=("service_id", *WEEKDAYS, "start_date", "end_date"))
    dated = rows.table("calendar_dates.txt", required=("service_id", "date", "exception_type"))
    own = weekly["service_id"] if weekly else []
    ids = tuple(dict.fromkeys([*own, *(dated["service_id"] if dated else [])]))
    number = {name: i for i, name in enumerate(ids)}
    if len(set(own)) != len(own):
        raise DataError("calendar.txt lists a service twice; it must list each once.")
    flags = np.zeros((len(ids), 7), dtype=bool)
    first, last = np.zeros(len(ids), dtype=np.int64), np.full(len(ids), -1, dtype=np.int64)
    if weekly:
        flags[: len(own)] = np.array([_flags(weekly[day], day) for day in WEEKDAYS]).T.reshape(len(own), 7)
        first[: len(own)] = _days(weekly["start_date"], "calendar.txt", "start_date")
        last[: len(own)] = _days(weekly["end_date"], "calendar.txt", "end_date")
    named = dated or {"service_id": [], "date": [], "exception_type": []}
    service = np.array([number[name] for name in named["service_id"]], dtype=np.int64)
    day = _days(named["date"], "calendar_dates.txt", "date")
    for lone in range(len(own), len(ids)):
        first[lone], last[lone] = day[service == lone].min(), day[service == lone].max()
    return Calendar(
        ids=ids,
        weekdays=flags,
        first=first,
        last=last,
        service=service,
        day=day,
        kind=_kinds(named["exception_type"]),
    )


def _flags(texts: list[str], day: str, /) -> list[bool]:
    for text in texts:
        if text not in {"0", "1"}:
            raise DataError(f"calendar.txt: {day} must be 0 or 1, got {text!r}.")
    return [text == "1" for text in texts]


def _kinds(texts: list[str], /) -> NDArray[np.int8]:
    for text in texts:
        if text not in {"1", "2"}:
            raise DataError(
                f"calendar_dates.txt: exception_type must be 1 (added) or 2 (removed), got {text!r}."
            )
    return np.array([int(text) for text in texts], dtype=np.int8)


def _days(texts: list[str], table: str, column: str, /) -> Ints:
    """Dates like 20160725 as days since 1970."""
    known: dict[str, int] = {}
    for text in set(texts):
        try:
            if len(text) != 8 or not text.isascii() or not text.isdigit():
                raise ValueError(text)  # noqa: TRY301 - one sentence for both ways to fail
            day = date(int(text[:4]), int(text[4:6]), int(text[6:]))
        except ValueError as error:
            raise DataError(f"{table}: {column} must be a date like 20160725, got {text!r}.") from error
        known[text] = (day - EPOCH).days
    return np.array([known[text] for text in texts], dtype=np.int64)
