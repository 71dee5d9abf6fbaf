"""A timetabled network to ride on, as flat arrays: stops, stopping patterns, trips and service days.

A *pattern* is one ordered list of stops that vehicles of a route serve. A *call* is one
position of one pattern; calls are numbered through all patterns, so that a ride is a pair
of calls of the same pattern. A *trip* is one timetabled vehicle run over a pattern, with
times in seconds after the midnight that starts its service day (past 24 hours at night).

Whoever invents a network makes this form, `Network.of` makes it of a feed, and `write_feed` writes it as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

import numpy as np

from noisegate import limits
from noisegate.errors import DataError
from noisegate.timetable.calendar import EPOCH, Calendar
from noisegate.timetable.calls import LATEST_S, Calls, Departures, clock
from noisegate.timetable.feed import Feed
from noisegate.timetable.places import FERRY, MODES, OTHER, Agency, Stops, Trips
from noisegate.timetable.visits import Flags, Floats, Ints

NETWORK_MODES = MODES[:OTHER]
"""The modes of networks; routes of other kinds are left out."""

UNKNOWN_PLACE = "UNKNOWN"
"""The place of a forgotten tap-off; no stop may have this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStops:
    """Places where people tap; `names` are unique and are the values of the tap records."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    modes: tuple[int, ...]
    lat: Floats
    lon: Floats

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names) or UNKNOWN_PLACE in self.names:
            raise DataError(f"Stop names must be unique, and none may be {UNKNOWN_PLACE!r}.")

    @classmethod
    def of(cls, stops: Stops, used: Ints, modes: Sequence[int], /) -> Self:
        """The stops of a feed that are `used`; names that occur twice get their id."""
        ids, names = [stops.ids[i] for i in used], [stops.names[i] for i in used]
        lat, lon = stops.lat[used], stops.lon[used]
        placed = np.isfinite(lat + lon)
        if not placed.all():
            name = ids[int(np.argmin(placed))]
            raise DataError(f"stops.txt gives no position for the stop {name!r}, which is served.")
        count = Counter([*names, UNKNOWN_PLACE])
        return cls(
            ids=tuple(ids),
            names=tuple(n if count[n] == 1 else f"{n} [{i}]" for n, i in zip(names, ids, strict=True)),
            modes=tuple(modes),
            lat=lat,
            lon=lon,
        )

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRoute:
    """A line as the public knows it. `closed`: two stops, and tap-off happens by itself."""

    id: str
    short_name: str
    long_name: str
    mode: int
    closed: bool = False


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
class NetworkTrips:
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
        self._refuse(
            ~good,
            "goes back in time; arrivals and departures must not fall along a trip. Correct stop_times.txt.",
        )
        self._refuse(
            self.departure_s > LATEST_S,
            f"runs on after {clock(LATEST_S)} of its service day. Correct stop_times.txt or frequencies.txt.",
        )

    def _refuse(self, wrong: Flags, why: str, /) -> None:
        """Raise an error with the name of the first trip that has a wrong call."""
        if wrong.any():
            trip = int(np.searchsorted(self.start, np.argmax(wrong), side="right")) - 1
            raise DataError(f"Trip {self.ids[trip]!r} {why}")

    def __len__(self) -> int:
        return len(self.ids)

    def final_arrivals(self) -> Ints:
        """When each trip reaches its last stop."""
        return self.arrival_s[self.start[1:] - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Everything the public can know about the transport system, and nothing about riders."""

    agency: Agency
    stops: NetworkStops
    routes: tuple[NetworkRoute, ...]
    calendar: Calendar
    patterns: Patterns
    trips: NetworkTrips

    def __post_init__(self) -> None:
        if not len(self.trips):
            raise DataError("The network has no trips, so nobody can ride; give a feed with stop_times.")

    @classmethod
    def of(cls, feed: Feed, /, *, closed_ferry: bool = True) -> Self:
        """The network of a feed, as people can ride it.

        Platforms count as their station. Left out are routes that are neither rail, bus, ferry nor tram, trips with
        one call, and trips of services that no calendar knows. A trip that frequencies repeat becomes as many trips,
        at nominal times. Where people may not get on or off is not kept.

        Parameters
        ----------
        closed_ferry
            Whether two-stop ferries are there, with tap-offs that happen by themselves, or are left out.

        Raises
        ------
        DataError
            If nobody can ride: no trip is left, one goes back in time, a stop has no position, nobody runs it.
        """
        if feed.agency is None:
            raise DataError(f"{str(feed.path)!r} is not a GTFS feed: it has no agency.txt.")
        stations = np.where(feed.stops.parent >= 0, feed.stops.parent, np.arange(len(feed.stops)))
        stop = stations[feed.calls.stop].astype(np.int64)
        departures, closed = _ridden(feed, stop, closed_ferry=closed_ferry)
        chosen, trip = np.unique(departures.trip, return_inverse=True)
        size = np.diff(feed.calls.start)[chosen]
        used_routes, route = np.unique(feed.trips.route[chosen], return_inverse=True)
        used_stops, stop = np.unique(stop[_rows(feed.calls.start[chosen], size)], return_inverse=True)
        patterns, of_trip = _patterns(route, feed.trips.direction[chosen].astype(np.int64), size, stop)
        modes = feed.routes.mode[used_routes]
        return cls(
            agency=feed.agency,
            stops=NetworkStops.of(feed.stops, used_stops, _busiest_mode(stop, np.repeat(modes[route], size))),
            routes=tuple(
                NetworkRoute(
                    id=feed.routes.ids[i],
                    short_name=feed.routes.short_names[i],
                    long_name=feed.routes.long_names[i],
                    mode=int(feed.routes.mode[i]),
                    closed=bool(closed[i]),
                )
                for i in used_routes
            ),
            calendar=feed.calendar,
            patterns=patterns,
            trips=_timed(feed, departures, pattern=of_trip[trip]),
        )

    def services_on(self, day: date, /) -> frozenset[int]:
        """The numbers of the services that run on `day`."""
        active = self.calendar.active(np.array([(day - EPOCH).days]))[:, 0]
        return frozenset(np.flatnonzero(active).tolist())

    def pattern_modes(self) -> Ints:
        """The mode of every pattern."""
        return np.array([route.mode for route in self.routes], dtype=np.int64)[self.patterns.route]

    def pattern_closed(self) -> Flags:
        """Whether each pattern belongs to a closed route."""
        return np.array([route.closed for route in self.routes], dtype=bool)[self.patterns.route]

    def closed_pair(self) -> tuple[str, str] | None:
        """The two stops of the closed route with most trips, or None."""
        closed = self.pattern_closed()
        trips = np.bincount(self.trips.pattern, minlength=len(self.patterns)) * closed
        if not trips.any():
            return None
        start = self.patterns.start[int(np.argmax(trips))]
        first, second = self.patterns.stop[start : start + 2]
        return self.stops.names[first], self.stops.names[second]


def _ridden(feed: Feed, stop: Ints, /, *, closed_ferry: bool) -> tuple[Departures, Flags]:
    """The departures that people can ride, and which routes are closed."""
    trips, size = feed.trips, np.diff(feed.calls.start)
    ridden = (feed.routes.mode[trips.route] != OTHER) & (trips.service >= 0) & (size >= 2)
    closed = _closed_routes(feed, stop, ridden)
    if not closed_ferry:
        ridden &= ~closed[trips.route]
    kept = ridden[feed.departures.trip]
    if not kept.any():
        raise DataError(
            f"The feed {str(feed.path)!r} has no trips by rail, bus, ferry or tram with two stops or more."
        )
    departures = feed.departures
    count = int(size[departures.trip[kept]].sum())
    if count > limits.current().feed_calls:
        raise DataError(
            f"The feed {str(feed.path)!r} has {count} calls if every departure is counted, at most {limits.current().feed_calls} can "
            "be ridden. Cut it to fewer routes, or check the headways in frequencies.txt."
        )
    return (
        Departures(
            trip=departures.trip[kept],
            offset_s=departures.offset_s[kept],
            slack_s=departures.slack_s[kept],
        ),
        closed,
    )


def _closed_routes(feed: Feed, stop: Ints, ridden: Flags, /) -> Flags:
    """Ferries all of whose trips link the same two stops."""
    size = np.diff(feed.calls.start)
    longest = np.zeros(len(feed.routes), dtype=np.int64)
    np.maximum.at(longest, feed.trips.route[ridden], size[ridden])
    closed: Flags = (feed.routes.mode == FERRY) & (longest == 2)
    for route in np.flatnonzero(closed):
        own = np.flatnonzero(ridden & (feed.trips.route == route))
        closed[route] = len(np.unique(stop[_rows(feed.calls.start[own], size[own])])) == 2
    return closed


def _rows(start: Ints, size: Ints, /) -> Ints:
    """The numbers from each start on, as many as its size."""
    before: Ints = start - (np.cumsum(size) - size)
    return np.arange(int(size.sum())) + np.repeat(before, size)


def _patterns(route: Ints, direction: Ints, size: Ints, stop: Ints, /) -> tuple[Patterns, Ints]:
    """The distinct stop sequences by route and direction, and the pattern of every trip."""
    number: dict[tuple[int, int, bytes], int] = {}
    of_trip = np.empty(len(route), dtype=np.int64)
    ends = np.cumsum(size).tolist()
    keys = zip(route.tolist(), direction.tolist(), [0, *ends], ends, strict=False)
    for trip, (line, way, low, high) in enumerate(keys):
        key = (line, way, stop[low:high].tobytes())
        of_trip[trip] = number.setdefault(key, len(number))
    sequences = [np.frombuffer(stops, dtype=np.int64) for _, _, stops in number]
    patterns = Patterns(
        route=np.array([line for line, _, _ in number], dtype=np.int64),
        direction=np.array([way for _, way, _ in number], dtype=np.int64),
        start=np.concatenate([[0], np.cumsum([len(stops) for stops in sequences])]).astype(np.int64),
        stop=np.concatenate(sequences),
    )
    return patterns, of_trip


def _busiest_mode(stop: Ints, mode: Ints, /) -> list[int]:
    """The mode that calls most often at each stop."""
    calls = np.zeros((int(stop.max()) + 1, len(NETWORK_MODES)), dtype=np.int64)
    np.add.at(calls, (stop, mode), 1)
    return [int(most) for most in np.argmax(calls, axis=1)]


def _timed(feed: Feed, departures: Departures, /, *, pattern: Ints) -> NetworkTrips:
    """The trips of all departures with their times, none before the midnight that starts the service day."""
    calls, trip = feed.calls, departures.trip
    size = np.diff(calls.start)[trip]
    row = _rows(calls.start[trip], size)
    later = np.repeat(departures.offset_s, size).astype(np.int64)
    ids, vehicles = _names(feed.trips, calls, departures)
    return NetworkTrips(
        ids=tuple(ids),
        vehicles=tuple(vehicles),
        pattern=pattern,
        service=feed.trips.service[trip].astype(np.int64),
        start=np.concatenate([[0], np.cumsum(size)]),
        arrival_s=np.maximum(calls.arrival_s[row] + later, 0),
        departure_s=np.maximum(calls.departure_s[row] + later, 0),
    )


def _names(trips: Trips, calls: Calls, departures: Departures, /) -> tuple[list[str], list[str]]:
    """The ids and the vehicles of departures: those of their trips, or new ones with the time where one is repeated.

    A repeated trip is on the road several times at once, so each departure has a vehicle of its own.
    """
    repeated = (np.bincount(departures.trip, minlength=len(trips)) > 1)[departures.trip]
    leaves = calls.departure_s[calls.start[departures.trip]] + departures.offset_s
    ids, vehicles = [], []
    taken = Counter(trips.ids)
    for trip, leave, many in zip(departures.trip.tolist(), leaves.tolist(), repeated.tolist(), strict=True):
        name = trips.ids[trip]
        if many:
            name = f"{name} {clock(leave)}"
            while name in taken:
                name += "+"
            taken[name] += 1
        ids.append(name)
        vehicles.append(name if many else trips.blocks[trip] or name)
    return ids, vehicles
