"""A timetabled network as flat arrays: stops, stopping patterns, trips and service days.

A *pattern* is one ordered list of stops that vehicles of a route serve. A *call* is one
position of one pattern; calls are numbered through all patterns, so that a ride is a pair
of calls of the same pattern. A *trip* is one timetabled vehicle run over a pattern, with
times in seconds after the midnight that starts its service day (past 24 hours at night).

Both sources of a network (the invented city and a GTFS feed) produce this one form, and all
later steps read only it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MODES = ("train", "bus", "ferry", "lightrail")
TRAIN, BUS, FERRY, LIGHTRAIL = range(len(MODES))
ROUTE_TYPES = {TRAIN: 2, BUS: 3, FERRY: 4, LIGHTRAIL: 0}

UNKNOWN = "UNKNOWN"
"""The place of a forgotten tap-off; no stop may have this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agency:
    """Who runs the network, as a feed states it."""

    name: str
    url: str
    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Places where people tap; `names` are unique and are the values of the tap records."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    modes: tuple[int, ...]
    lat: Floats
    lon: Floats

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names) or UNKNOWN in self.names:
            raise DataError(f"Stop names must be unique, and none may be {UNKNOWN!r}.")

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A line as the public knows it. `closed`: two stops, and tap-off happens by itself."""

    id: str
    short_name: str
    long_name: str
    mode: int
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The dates on which a set of trips runs: GTFS calendar plus calendar_dates."""

    id: str
    weekdays: tuple[bool, ...]
    first: date
    last: date
    added: frozenset[date] = frozenset()
    removed: frozenset[date] = frozenset()

    def runs_on(self, day: date, /) -> bool:
        """Whether the service runs on `day`; exceptions win over the weekly pattern."""
        if day in self.added:
            return True
        if day in self.removed:
            return False
        return self.first <= day <= self.last and self.weekdays[day.weekday()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """Stopping patterns; pattern p has the calls `start[p]` up to (not with) `start[p + 1]`."""

    route: Ints
    direction: Ints
    start: Ints
    stop: Ints

    def __len__(self) -> int:
        return len(self.route)

    def of_calls(self) -> Ints:
        """The pattern of every call."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def last_calls(self) -> Ints:
        """The final call of every pattern, where nobody boards."""
        return self.start[1:] - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trips:
    """Vehicle runs; trip t has the times `start[t]` up to (not with) `start[t + 1]`."""

    ids: tuple[str, ...]
    vehicles: tuple[str, ...]
    pattern: Ints
    service: Ints
    start: Ints
    arrival_s: Ints
    departure_s: Ints

    def __post_init__(self) -> None:
        inner = np.ones(len(self.arrival_s), dtype=bool)
        inner[self.start[:-1]] = False
        forward = self.arrival_s[1:] >= self.departure_s[:-1]
        good = np.ones(len(inner), dtype=bool)
        good[1:] = forward | ~inner[1:]
        good &= self.departure_s >= self.arrival_s
        if not good.all():
            trip = int(np.searchsorted(self.start, np.argmin(good), side="right")) - 1
            raise DataError(
                f"Trip {self.ids[trip]!r} goes back in time; arrivals and departures must not fall "
                "along a trip. Correct stop_times.txt."
            )

    def __len__(self) -> int:
        return len(self.ids)

    def final_arrivals(self) -> Ints:
        """When each trip reaches its last stop."""
        return self.arrival_s[self.start[1:] - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Everything the public can know about the transport system, and nothing about riders."""

    agency: Agency
    stops: Stops
    routes: tuple[Route, ...]
    services: tuple[Service, ...]
    patterns: Patterns
    trips: Trips

    def __post_init__(self) -> None:
        if not len(self.trips):
            raise DataError("The network has no trips, so nobody can ride; give a feed with stop_times.")

    def services_on(self, day: date, /) -> frozenset[int]:
        """The numbers of the services that run on `day`."""
        return frozenset(i for i, service in enumerate(self.services) if service.runs_on(day))

    def pattern_modes(self) -> Ints:
        """The mode of every pattern."""
        return np.array([route.mode for route in self.routes], dtype=np.int64)[self.patterns.route]

    def pattern_closed(self) -> Flags:
        """Whether each pattern belongs to a closed route."""
        return np.array([route.closed for route in self.routes], dtype=bool)[self.patterns.route]

    def first_day(self) -> date:
        """The first date any service may run."""
        return min(min(service.added | {service.first}) for service in self.services)

    def last_day(self) -> date:
        """The last date any service may run."""
        return max(max(service.added | {service.last}) for service in self.services)

    def closed_pair(self) -> tuple[str, str] | None:
        """The two stops of the closed route with most trips, or None."""
        closed = self.pattern_closed()
        trips = np.bincount(self.trips.pattern, minlength=len(self.patterns)) * closed
        if not trips.any():
            return None
        start = self.patterns.start[int(np.argmax(trips))]
        first, second = self.patterns.stop[start : start + 2]
        return self.stops.names[first], self.stops.names[second]

    def postcodes(self) -> tuple[str, ...]:
        """An invented postcode for every stop: cells of a grid, about five stops to a cell."""
        side = max(1, round((len(self.stops) / 5) ** 0.5))
        row, column = _band(self.stops.lat, side), _band(self.stops.lon, side)
        _, rank = np.unique(row * side + column, return_inverse=True)
        return tuple(str(2000 + int(r)) for r in rank)


def _band(coordinate: Floats, count: int) -> Ints:
    """Which of `count` equally full bands each coordinate lies in."""
    rank = np.empty(len(coordinate), dtype=np.int64)
    rank[np.argsort(coordinate, kind="stable")] = np.arange(len(coordinate))
    return rank * count // len(coordinate)
