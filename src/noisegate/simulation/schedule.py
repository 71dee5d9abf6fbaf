"""Times of day for the lines of an invented city, as a complete network.

The closed ferry leaves the Quay at 10 and 40 minutes past, the beach at 25 and 55 past, and
crosses in 30 minutes: its tap-ons and tap-offs each stay inside one quarter of an hour.
Night buses run as trips of the evening before, past 24:00. Two exceptions make the calendar
honest work: one train line rests on one Sunday, and one Saturday has extra late ferries.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from noisegate.simulation.city import Line, Map
from noisegate.timetable import (
    ADDED,
    BUS,
    EPOCH,
    FERRY,
    LIGHTRAIL,
    REMOVED,
    TRAIN,
    Agency,
    Calendar,
    Ints,
    Network,
    NetworkRoute,
    NetworkTrips,
    Patterns,
)

AGENCY = Agency(name="Lantern Bay Transit (invented)", url="https://example.org/", timezone="Etc/GMT-10")

WEEKDAY, SATURDAY, SUNDAY, NIGHT, LATE_NIGHT, SUNDAY_WORKS, FESTIVAL = range(7)

_Bands = tuple[tuple[float, float, int], ...]
"""Hours from, to, and minutes between departures."""

_HEADWAYS: dict[int, dict[int, _Bands]] = {
    TRAIN: {
        WEEKDAY: ((4.75, 6.5, 20), (6.5, 9.5, 8), (9.5, 15.5, 15), (15.5, 19, 8), (19, 24.5, 20)),
        SATURDAY: ((5, 24.5, 20),),
        SUNDAY: ((5.5, 24, 30),),
    },
    BUS: {
        WEEKDAY: ((5.25, 6.5, 30), (6.5, 9.5, 12), (9.5, 15.5, 20), (15.5, 19, 12), (19, 24, 30)),
        SATURDAY: ((6, 24, 30),),
        SUNDAY: ((6.5, 23.5, 40),),
    },
    FERRY: {
        WEEKDAY: ((6, 9.5, 20), (9.5, 15.5, 30), (15.5, 19, 20), (19, 24.25, 40)),
        SATURDAY: ((6.5, 24.25, 30),),
        SUNDAY: ((7, 23.5, 40),),
    },
    LIGHTRAIL: {
        WEEKDAY: ((5.5, 7, 12), (7, 19, 8), (19, 24.25, 15)),
        SATURDAY: ((6, 24.25, 12),),
        SUNDAY: ((6, 23.5, 15),),
    },
}
_CLOSED_SPAN = {WEEKDAY: (5.5, 24.25), SATURDAY: (6.5, 24.25), SUNDAY: (6.5, 23.75), FESTIVAL: (24.5, 26)}
_CLOSED_MINUTE = (10, 25)
_NIGHT_STARTS = {NIGHT: (24.75, 28.5, 60), LATE_NIGHT: (25.25, 27.5, 60)}
_NIGHT_EVERY = 3
"""Every third bus line also runs at night."""


@dataclass(slots=True)
class _Book:
    """Patterns and trips as they are written down."""

    routes: list[NetworkRoute] = field(default_factory=list)
    pattern_route: list[int] = field(default_factory=list)
    pattern_stops: list[Ints] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    pattern: list[Ints] = field(default_factory=list)
    service: list[Ints] = field(default_factory=list)
    arrival_s: list[Ints] = field(default_factory=list)
    departure_s: list[Ints] = field(default_factory=list)

    def add_route(self, route: NetworkRoute, stops: Ints) -> int:
        """The number of the outward pattern; the one after it goes back."""
        self.routes.append(route)
        self.pattern_route += [len(self.routes) - 1] * 2
        self.pattern_stops += [stops, stops[::-1]]
        return len(self.pattern_route) - 2

    def add_trips(self, pattern: int, line: Line, *, service: int, starts_s: Ints) -> None:
        """One trip for every start, over `pattern`, with the line's running times."""
        hop_s = line.hop_s if pattern % 2 == 0 else line.hop_s[::-1]
        arrival = np.concatenate([[0], np.cumsum(hop_s) + line.dwell_s * np.arange(len(hop_s))])
        departure = arrival + line.dwell_s
        departure[[0, -1]] = arrival[[0, -1]]
        self.arrival_s.append((starts_s[:, None] + arrival).ravel())
        self.departure_s.append((starts_s[:, None] + departure).ravel())
        self.pattern.append(np.full(len(starts_s), pattern))
        self.service.append(np.full(len(starts_s), service))
        name = self.routes[self.pattern_route[pattern]].id
        self.ids += [f"{name}.{service}.{pattern % 2}.{s // 3600:02d}{s // 60 % 60:02d}" for s in starts_s]

    def patterns(self) -> Patterns:
        """All patterns, two for each route."""
        lengths = [len(stops) for stops in self.pattern_stops]
        return Patterns(
            route=np.array(self.pattern_route),
            direction=np.arange(len(lengths)) % 2,
            start=np.concatenate([[0], np.cumsum(lengths)]),
            stop=np.concatenate(self.pattern_stops),
        )

    def trips(self) -> NetworkTrips:
        """All trips, with vehicles assigned."""
        pattern, service = np.concatenate(self.pattern), np.concatenate(self.service)
        lengths = np.array([len(stops) for stops in self.pattern_stops])[pattern]
        start = np.concatenate([[0], np.cumsum(lengths)])
        arrival, departure = np.concatenate(self.arrival_s), np.concatenate(self.departure_s)
        names = [self.routes[route].id for route in self.pattern_route]
        vehicles = assign_vehicles(
            keys=[f"{names[p]}.{s}" for p, s in zip(pattern, service, strict=True)],
            outward=(pattern % 2 == 0).tolist(),
            leave_s=departure[start[:-1]].tolist(),
            reach_s=arrival[start[1:] - 1].tolist(),
        )
        return NetworkTrips(
            ids=tuple(self.ids),
            vehicles=tuple(vehicles),
            pattern=pattern,
            service=service,
            start=start,
            arrival_s=arrival,
            departure_s=departure,
        )


def write_timetable(city: Map, /, *, first: date, days: int, rng: np.random.Generator) -> Network:
    """The network of `city`, with a calendar from a week before `first` to a week after `days` days."""
    book = _Book()
    trains = [line.route.id for line in city.lines if line.route.mode == TRAIN]
    buses = 0
    for line in city.lines:
        pattern = book.add_route(line.route, line.stops)
        if line.route.closed:
            _add_closed(book, pattern, line)
        else:
            _add_day(book, pattern, line, resting=line.route.id == trains[-1], rng=rng)
        if line.route.mode == BUS:
            if buses % _NIGHT_EVERY == 0:
                _add_night(book, line, rng=rng)
            buses += 1
    return Network(
        agency=AGENCY,
        stops=city.place(),
        routes=tuple(book.routes),
        calendar=_calendar(first=first, days=days),
        patterns=book.patterns(),
        trips=book.trips(),
    )


def _add_day(book: _Book, pattern: int, line: Line, *, resting: bool, rng: np.random.Generator) -> None:
    """Weekday, Saturday and Sunday trips in both directions; `resting` lines have a Sunday of their own."""
    for direction in (0, 1):
        offset = 60 * int(rng.integers(0, 8))
        for kind, bands in _HEADWAYS[line.route.mode].items():
            service = SUNDAY_WORKS if resting and kind == SUNDAY else kind
            book.add_trips(pattern + direction, line, service=service, starts_s=_starts(bands) + offset)


def _add_closed(book: _Book, pattern: int, line: Line) -> None:
    """Half-hourly sailings from both wharves at their fixed minutes."""
    for direction, minute in enumerate(_CLOSED_MINUTE):
        for service, (opens, closes) in _CLOSED_SPAN.items():
            starts = _starts(((opens, closes, 30),)) + 60 * minute
            book.add_trips(pattern + direction, line, service=service, starts_s=starts)


def _add_night(book: _Book, line: Line, *, rng: np.random.Generator) -> None:
    """An hourly night route over the same stops, with more trips on Friday and Saturday nights."""
    name = "N" + line.route.id.removeprefix("B")
    route = NetworkRoute(id=name, short_name=name, long_name=f"Night {line.route.long_name}", mode=BUS)
    pattern = book.add_route(route, line.stops)
    for direction in (0, 1):
        offset = 60 * int(rng.integers(0, 30))
        for service, band in _NIGHT_STARTS.items():
            book.add_trips(pattern + direction, line, service=service, starts_s=_starts((band,)) + offset)


def _starts(bands: _Bands) -> Ints:
    """Departure times of a day, in seconds."""
    return np.concatenate(
        [np.arange(int(3600 * opens), int(3600 * closes), 60 * headway) for opens, closes, headway in bands]
    )


def assign_vehicles(
    *, keys: Sequence[str], outward: Sequence[bool], leave_s: Sequence[int], reach_s: Sequence[int]
) -> list[str]:
    """A vehicle for every trip: one that waits at the right end of the line, or a new one.

    `keys` names the line and service of each trip; vehicles do not change lines.
    """
    waiting: dict[tuple[str, bool], list[tuple[int, int]]] = {}
    fleet: dict[str, int] = {}
    vehicles = [""] * len(keys)
    for trip in sorted(range(len(keys)), key=lambda t: (leave_s[t], t)):
        key, out = keys[trip], outward[trip]
        idle = waiting.setdefault((key, out), [])
        if idle and idle[0][0] <= leave_s[trip]:
            number = heapq.heappop(idle)[1]
        else:
            number = fleet[key] = fleet.get(key, 0) + 1
        vehicles[trip] = f"{key}.{number:02d}"
        heapq.heappush(waiting.setdefault((key, not out), []), (reach_s[trip], number))
    return vehicles


def _calendar(*, first: date, days: int) -> Calendar:
    """The services in the order of their numbers."""
    opens, closes = first - timedelta(days=7), first + timedelta(days=days + 7)
    saturday = first + timedelta(days=(5 - first.weekday()) % 7)
    sunday = first + timedelta(days=(6 - first.weekday()) % 7)
    weeks = {
        "weekday": "MTWTF--",
        "saturday": "-----S-",
        "sunday": "------S",
        "night": "MTWTFSS",
        "late-night": "----FS-",
        "sunday-works": "------S",
        "festival": "-------",
    }
    return Calendar(
        ids=tuple(weeks),
        weekdays=np.array([[letter != "-" for letter in week] for week in weeks.values()]),
        first=np.full(len(weeks), (opens - EPOCH).days),
        last=np.full(len(weeks), (closes - EPOCH).days),
        service=np.array([SUNDAY_WORKS, FESTIVAL]),
        day=np.array([(sunday - EPOCH).days, (saturday - EPOCH).days]),
        kind=np.array([REMOVED, ADDED], dtype=np.int8),
    )
