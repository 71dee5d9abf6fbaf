"""A GTFS feed in memory, and the visits of its vehicles on given dates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.timetable.archive import feed_files
from noisegate.timetable.calendar import EPOCH, Calendar, read_calendar
from noisegate.timetable.calls import Calls, Departures, Progress, read_calls, read_departures
from noisegate.timetable.places import (
    MODES,
    Agency,
    Routes,
    Stops,
    Trips,
    read_agency,
    read_routes,
    read_stops,
    read_trips,
)
from noisegate.timetable.rows import Rows
from noisegate.timetable.visits import DAY_S, Flags, Ints, Ints32, Runs, Visits

_CALLS_AT_ONCE = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feed:
    """Everything a feed says about who stops where and when.

    Times are those of the wall clock. In the night of a change to or from summer time, calls before the
    change are an hour off, because a feed counts from noon backwards. `agency` is None where agency.txt is missing.
    """

    path: Path
    agency: Agency | None
    stops: Stops
    routes: Routes
    trips: Trips
    calls: Calls
    departures: Departures
    calendar: Calendar

    @property
    def modes(self) -> tuple[str, ...]:
        """The names of the modes that routes are numbered by."""
        return MODES

    @property
    def first_date(self) -> date:
        """The first date on which a service may run."""
        return self.calendar.first_date

    @property
    def last_date(self) -> date:
        """The last date on which a service may run."""
        return self.calendar.last_date

    def served(self) -> Flags:
        """Shape (modes, stops): whether a trip of the mode calls at the stop."""
        mode = np.repeat(self.routes.mode.astype(np.int8)[self.trips.route], np.diff(self.calls.start))
        served = np.zeros((len(self.modes), len(self.stops)), dtype=bool)
        served[mode, self.calls.stop] = True
        return served

    def visits(self, dates: Iterable[date], /, *, margin_s: int = 0) -> Visits:
        """The calls of all vehicles on `dates`, by the wall clock.

        Parameters
        ----------
        dates
            Calendar dates, in any order. A call at 25:10 of the day before is a visit at 01:10.
        margin_s
            How long before and after each date calls are wanted too.
        """
        days = np.unique(np.array([(day - EPOCH).days for day in dates], dtype=np.int64))
        if not 0 < days.size <= limits.current().feed_dates:
            raise SpecError.for_value(
                "dates", found=days.size, allowed=f"from 1 to {limits.current().feed_dates} dates"
            )
        if not 0 <= margin_s <= DAY_S:
            raise SpecError.for_value("margin_s", found=margin_s, allowed="from 0 s to a day")
        runs, start_s = self._runs(days, margin_s)
        return self._visits(days, margin_s, runs, start_s)

    def _runs(self, days: Ints, margin_s: int, /) -> tuple[Runs, Ints]:
        """All runs that may call within the margin of a wanted date, and the seconds their service days start at."""
        departures, calls, trips = self.departures, self.calls, self.trips
        trip = departures.trip
        earliest = (
            calls.arrival_s[calls.start[trip]].astype(np.int64) + departures.offset_s - departures.slack_s
        )
        latest = (
            calls.departure_s[calls.start[trip + 1] - 1].astype(np.int64)
            + departures.offset_s
            + departures.slack_s
        )
        back = max(0, -(-int(latest.max(initial=0) + margin_s) // DAY_S))
        ahead = 1 + max(0, -(int(earliest.min(initial=0) - margin_s) // DAY_S))
        service_days = np.unique((days[:, None] + np.arange(-back, ahead)).ravel())
        active = np.zeros((len(trips), service_days.size), dtype=bool)
        known = trips.service >= 0
        active[known] = self.calendar.active(service_days)[trips.service[known]]
        which, day = np.nonzero(active[trip])
        order = np.lexsort((which, day))
        which, day = which[order], day[order]
        start_s = (service_days[day] - days[0]) * DAY_S
        near = _near(start_s + earliest[which] - margin_s, start_s + latest[which] + margin_s, days)
        which, day, start_s = which[near], day[near], start_s[near]
        route = trips.route[trip[which]]
        runs = Runs(
            trip=trip[which],
            route=route,
            mode=self.routes.mode[route],
            day=service_days[day].astype(np.int32),
            offset_s=departures.offset_s[which],
            slack_s=departures.slack_s[which],
            calls=np.diff(calls.start)[trip[which]].astype(np.int32),
        )
        return runs, start_s

    def _visits(self, days: Ints, margin_s: int, runs: Runs, start_s: Ints, /) -> Visits:
        """The calls of `runs` within the margin of a wanted date, some runs at a time."""
        ends = np.cumsum(runs.calls, dtype=np.int64)
        cuts = np.searchsorted(
            ends, np.arange(_CALLS_AT_ONCE, int(ends[-1]) if ends.size else 0, _CALLS_AT_ONCE)
        )
        pieces = [
            self._calls_of(runs, start_s, low, high, days=days, margin_s=margin_s)
            for low, high in pairwise([0, *np.unique(cuts).tolist(), len(runs)])
        ]
        run, row, position, arrival, departure = (
            np.concatenate([piece[i] for piece in pieces]) for i in range(5)
        )
        last = position == runs.calls[run] - 1
        return Visits(
            runs=runs,
            days=days,
            margin_s=margin_s,
            run=run,
            stop=self.calls.stop[row],
            arrival_s=arrival,
            departure_s=departure,
            position=position,
            last=last,
            boards=self.calls.boards[row] & ~last,
            alights=self.calls.alights[row] & (position > 0),
        )

    def _calls_of(
        self, runs: Runs, start_s: Ints, low: int, high: int, /, *, days: Ints, margin_s: int
    ) -> tuple[Ints32, Ints32, Ints32, Ints32, Ints32]:
        """Run, row of stop_times, position, arrival and departure of the calls of some runs."""
        calls = self.calls
        size = runs.calls[low:high].astype(np.int64)
        run = np.repeat(np.arange(low, high), size)
        position = np.arange(run.size) - np.repeat(np.cumsum(size) - size, size)
        row = calls.start[runs.trip[run]] + position
        base = (start_s + runs.offset_s)[run]
        arrival, departure = base + calls.arrival_s[row], base + calls.departure_s[row]
        wide = margin_s + runs.slack_s[run]
        near = _near(arrival - wide, arrival + wide, days) | _near(departure - wide, departure + wide, days)
        kept = [column[near].astype(np.int32) for column in (run, row, position, arrival, departure)]
        return kept[0], kept[1], kept[2], kept[3], kept[4]

    def vehicle(self, visits: Visits, run: int, /) -> str:
        """One vehicle in words: route, when and where it starts, service day and trip."""
        runs = visits.runs
        trip = int(runs.trip[run])
        row = self.calls.start[trip]
        at = int(self.calls.departure_s[row] + runs.offset_s[run])
        day = EPOCH + timedelta(days=int(runs.day[run]))
        return (
            f"{self.routes.names[runs.route[run]]} {at // 3600:02d}:{at // 60 % 60:02d} from "
            f"{self.stops.names[self.calls.stop[row]]}, service day {day}, trip {self.trips.ids[trip]}"
        )


def _near(low_s: Ints, high_s: Ints, days: Ints, /) -> Flags:
    """Whether the time from low to high meets one of the dates; seconds after the midnight of the first."""
    starts = (days - days[0]) * DAY_S
    after = np.searchsorted(starts + DAY_S, low_s, side="right")
    inside = after < days.size
    return np.asarray(inside & (starts[np.minimum(after, days.size - 1)] <= high_s))


def read_feed(path: Path | str, /, *, progress: Progress | None = None) -> Feed:
    """The feed at `path`, a zip or a folder.

    Parameters
    ----------
    progress
        Called with the number of rows of stop_times that have been read.

    Raises
    ------
    DataError
        If it is no feed, or not one that can be trusted: tables or columns missing, times that are none, ids that
        do not exist, text that is not UTF-8, an archive that is encrypted, too large, or points out of itself.
    """
    place = Path(path)
    with feed_files(place) as files, Rows(files, path=place) as rows:
        agency, stops, routes, calendar = (
            read_agency(rows),
            read_stops(rows),
            read_routes(rows),
            read_calendar(rows),
        )
        trips = read_trips(rows, routes=routes, calendar=calendar)
        calls = read_calls(rows, trips=trips, stops=stops, progress=progress)
        if not len(calls):
            raise DataError(f"The feed {str(place)!r} has no calls: stop_times.txt is empty.")
        departures = read_departures(rows, trips=trips, calls=calls)
    return Feed(
        path=place,
        agency=agency,
        stops=stops,
        routes=routes,
        trips=trips,
        calls=calls,
        departures=departures,
        calendar=calendar,
    )
