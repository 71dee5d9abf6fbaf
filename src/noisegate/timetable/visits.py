"""Scheduled vehicles and where they call, in columns.

A *run* is one scheduled vehicle: one trip on one service day (and, where a timetable only gives a
headway, one departure of it). A *visit* is one call of one run at one stop. Times are whole seconds of
the wall clock after the midnight that starts the first wanted date, so a trip of the evening before
that calls at 25:10 is a visit at 01:10 of the next date.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Scheduled vehicles, one entry each.

    Attributes
    ----------
    trip, route
        Their numbers in the timetable.
    mode
        The number of the mode in the timetable's list of modes.
    day
        The service day, in days since 1970.
    offset_s
        How much later than the trip's own times it runs: not 0 only where frequencies repeat a trip.
    slack_s
        By how much its times are uncertain from the start: the headway, where no exact times are promised.
    calls
        How many calls it makes, inside and outside the wanted dates.
    """

    trip: Ints32
    route: Ints32
    mode: Ints32
    day: Ints32
    offset_s: Ints32
    slack_s: Ints32
    calls: Ints32

    def __len__(self) -> int:
        return len(self.trip)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visits:
    """Every call on the wanted dates, in the order of runs, and within a run in the order of the trip.

    Attributes
    ----------
    days
        The wanted dates, in days since 1970, ascending.
    margin_s
        Calls up to this long before or after a wanted date are here too: a late vehicle taps on the next date.
    run, stop
        Numbers of the run and of the stop.
    arrival_s, departure_s
        Seconds of the wall clock after the midnight that starts `days[0]`; may be negative.
    position
        The place of the call in its trip, from 0.
    last
        Whether it is the final call.
    boards, alights
        Whether people can get on, and off: nobody boards at the final call, nobody alights at the first one, and
        a timetable may rule out either.
    """

    runs: Runs
    days: Ints
    margin_s: int
    run: Ints32
    stop: Ints32
    arrival_s: Ints32
    departure_s: Ints32
    position: Ints32
    last: Flags
    boards: Flags
    alights: Flags

    def __post_init__(self) -> None:
        if self.days.size == 0 or (np.diff(self.days) <= 0).any():
            raise InternalError("the dates of visits must ascend")
        if len(self.run) and (np.diff(self.run) < 0).any():
            raise InternalError("visits must come in the order of their runs")

    def __len__(self) -> int:
        return len(self.run)

    @property
    def first(self) -> Flags:
        """Whether each is the first call of its trip."""
        return np.asarray(self.position == 0)

    @property
    def mode(self) -> Ints32:
        """The mode of each visit."""
        return self.runs.mode[self.run]

    @property
    def route(self) -> Ints32:
        """The route of each visit."""
        return self.runs.route[self.run]

    @property
    def trip(self) -> Ints32:
        """The trip of each visit."""
        return self.runs.trip[self.run]

    @property
    def arrival_date(self) -> Ints:
        """The index in `days` of the date on which each arrival falls; -1 in the margin."""
        return self.date_of(self.arrival_s)

    @property
    def departure_date(self) -> Ints:
        """The index in `days` of the date on which each departure falls; -1 in the margin."""
        return self.date_of(self.departure_s)

    def date_of(self, at_s: NDArray[np.integer], /) -> Ints:
        """The index in `days` of the date of each moment; -1 for none of them."""
        day = self.days[0] + at_s.astype(np.int64) // DAY_S
        place = np.minimum(np.searchsorted(self.days, day), self.days.size - 1)
        return np.where(self.days[place] == day, place, -1)
