"""The trips of a GTFS feed with their stops and times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from noisegate.errors import DataError
from noisegate.simulation.feed_tables import Column, Feed
from noisegate.simulation.network import Flags, Ints, Patterns

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d):([0-5]\d)")
_BLANK = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTrips:
    """Trips in columns; trip t has the rows `start[t]` up to (not with) `start[t + 1]`."""

    ids: tuple[str, ...]
    vehicles: tuple[str, ...]
    route: Ints
    service: Ints
    direction: Ints
    start: Ints
    stop: Ints
    arrival_s: Ints
    departure_s: Ints

    @classmethod
    def of(
        cls,
        feed: Feed,
        /,
        *,
        routes: Mapping[str, int],
        services: Mapping[str, int],
        stops: Mapping[str, int],
    ) -> Self:
        """The trips of known routes and services that have two stops or more."""
        trips = feed.table(
            "trips.txt", required=("route_id", "service_id", "trip_id"), optional=("direction_id", "block_id")
        )
        times = feed.table(
            "stop_times.txt",
            required=("trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"),
        )
        if trips is None or times is None:
            raise DataError(f"The feed {str(feed.path)!r} has no {'stop_times' if trips else 'trips'}.txt.")
        route, service = trips["route_id"].numbers_in(routes), trips["service_id"].numbers_in(services)
        ids, blocks = trips["trip_id"].texts(), trips["block_id"].texts()
        direction = (np.array(trips["direction_id"].texts(), dtype=object) == "1").astype(np.int64)
        known = {name: i for i, name in enumerate(ids) if route[i] >= 0 and service[i] >= 0}
        trip = times["trip_id"].numbers_in(known)
        sequence = np.array(times["stop_sequence"].parsed(int, allowed="a whole number"), dtype=np.int64)
        rows = np.flatnonzero(trip >= 0)
        rows = rows[np.lexsort((sequence[rows], trip[rows]))]
        size = np.bincount(trip[rows], minlength=len(ids))
        rows = rows[size[trip[rows]] >= 2]
        chosen = np.flatnonzero(size >= 2)
        start = np.concatenate([[0], np.cumsum(size[chosen])])
        arrival, departure = _times(times["arrival_time"], times["departure_time"], rows, start)
        return cls(
            ids=tuple(ids[i] for i in chosen),
            vehicles=tuple(blocks[i] or ids[i] for i in chosen),
            route=route[chosen],
            service=service[chosen],
            direction=direction[chosen],
            start=start,
            stop=_stops(times["stop_id"], rows, stops),
            arrival_s=arrival,
            departure_s=departure,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, chosen: Flags) -> Self:
        size = np.diff(self.start)
        rows = np.repeat(chosen, size)
        return type(self)(
            ids=tuple(name for name, keep in zip(self.ids, chosen, strict=True) if keep),
            vehicles=tuple(name for name, keep in zip(self.vehicles, chosen, strict=True) if keep),
            route=self.route[chosen],
            service=self.service[chosen],
            direction=self.direction[chosen],
            start=np.concatenate([[0], np.cumsum(size[chosen])]),
            stop=self.stop[rows],
            arrival_s=self.arrival_s[rows],
            departure_s=self.departure_s[rows],
        )

    def patterns(self) -> tuple[Patterns, Ints]:
        """The distinct stop sequences by route and direction, and the pattern of every trip."""
        number: dict[tuple[int, int, bytes], int] = {}
        of_trip = np.empty(len(self), dtype=np.int64)
        keys = zip(self.route.tolist(), self.direction.tolist(), self.start[:-1], self.start[1:], strict=True)
        for trip, (route, direction, low, high) in enumerate(keys):
            key = (route, direction, self.stop[low:high].tobytes())
            of_trip[trip] = number.setdefault(key, len(number))
        sequences = [np.frombuffer(stops, dtype=np.int64) for _, _, stops in number]
        patterns = Patterns(
            route=np.array([route for route, _, _ in number], dtype=np.int64),
            direction=np.array([direction for _, direction, _ in number], dtype=np.int64),
            start=np.concatenate([[0], np.cumsum([len(stops) for stops in sequences])]).astype(np.int64),
            stop=np.concatenate([np.empty(0, dtype=np.int64), *sequences]),
        )
        return patterns, of_trip


def _stops(column: Column, rows: Ints, known: Mapping[str, int]) -> Ints:
    """The stop of every row."""
    stop = column.numbers_in(known)[rows]
    if (stop < 0).any():
        name = column.values[column.codes[rows[int(np.argmin(stop))]]]
        raise DataError(f"stop_times.txt names the stop {name!r}, which stops.txt does not have.")
    return stop


def _times(arrivals: Column, departures: Column, rows: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Arrival and departure of every row in seconds, blanks filled in evenly between their neighbours."""
    arrival, departure = _seconds(arrivals)[rows], _seconds(departures)[rows]
    arrival = np.where(arrival == _BLANK, departure, arrival)
    departure = np.where(departure == _BLANK, arrival, departure)
    blank = arrival == _BLANK
    if blank[start[:-1]].any() or blank[start[1:] - 1].any():
        raise DataError("stop_times.txt must give a time at the first and the last stop of every trip.")
    if blank.any():
        row = np.arange(len(rows))
        arrival[blank] = np.interp(row[blank], row[~blank], arrival[~blank])
        departure[blank] = arrival[blank]
    return arrival, departure


def _seconds(column: Column) -> Ints:
    """Seconds after the midnight of the service day, or blank."""
    return np.array(
        column.parsed(_clock, allowed="a time like 07:30:00 or 25:10:00, or blank"), dtype=np.int64
    )


def _clock(text: str) -> int:
    if not text:
        return _BLANK
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(text)
    hours, minutes, seconds = map(int, match.groups())
    return 3600 * hours + 60 * minutes + seconds
