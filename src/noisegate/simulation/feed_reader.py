"""The network of a GTFS feed.

Read: agency, stops, routes, trips, stop_times, calendar, calendar_dates. Platforms count as
their parent station. Missing times are filled in evenly between the stops around them. Routes
that are neither rail, bus, ferry nor tram are left out. Frequencies are not expanded: a trip
runs once, at the times in stop_times.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from noisegate.errors import DataError
from noisegate.simulation.feed_calendar import read_services
from noisegate.simulation.feed_tables import Column, Feed
from noisegate.simulation.feed_trips import TimedTrips
from noisegate.simulation.network import (
    FERRY,
    MODES,
    UNKNOWN,
    Agency,
    Floats,
    Ints,
    Network,
    Route,
    Stops,
    Trips,
)
from noisegate.timetable.modes import mode_of_type


def read_feed(path: Path, /, *, closed_ferry: bool) -> Network:
    """The network of the feed at `path`; two-stop ferries tap off by themselves, or are left out."""
    feed = Feed(path=path)
    routes, route_number = _read_routes(feed)
    services = read_services(feed)
    places = _Places.of(feed)
    trips = TimedTrips.of(
        feed,
        routes=route_number,
        services={service.id: i for i, service in enumerate(services)},
        stops=places.number,
    )
    closed = _closed_routes(routes, trips)
    if not closed_ferry:
        trips = trips[~np.isin(trips.route, list(closed))]
    if not len(trips):
        raise DataError(
            f"The feed {str(path)!r} has no trips by rail, bus, ferry or tram with two stops or more."
        )
    routes = tuple(replace(route, closed=i in closed) for i, route in enumerate(routes))
    used_routes, route = np.unique(trips.route, return_inverse=True)
    used_stops, stop = np.unique(trips.stop, return_inverse=True)
    trips = replace(trips, route=route.astype(np.int64), stop=stop.astype(np.int64))
    routes = tuple(routes[i] for i in used_routes)
    patterns, of_trip = trips.patterns()
    return Network(
        agency=_read_agency(feed),
        stops=places.stops(used_stops, _modes_of_stops(routes, trips)),
        routes=routes,
        services=services,
        patterns=patterns,
        trips=Trips(
            ids=trips.ids,
            vehicles=trips.vehicles,
            pattern=of_trip,
            service=trips.service,
            start=trips.start,
            arrival_s=trips.arrival_s,
            departure_s=trips.departure_s,
        ),
    )


def _needed(
    feed: Feed, name: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Column]:
    """A table without which there is no feed."""
    table = feed.table(name, required=required, optional=optional)
    if table is None:
        raise DataError(f"{str(feed.path)!r} is not a GTFS feed: it has no {name}.")
    return table


def _read_agency(feed: Feed) -> Agency:
    """The first agency of the feed."""
    table = _needed(feed, "agency.txt", required=("agency_name", "agency_url", "agency_timezone"))
    if not len(table["agency_name"]):
        raise DataError("agency.txt must have at least one row.")
    name, url, timezone = (table[f"agency_{field}"].texts()[0] for field in ("name", "url", "timezone"))
    return Agency(name=name, url=url, timezone=timezone)


def _read_routes(feed: Feed) -> tuple[tuple[Route, ...], dict[str, int]]:
    """Routes of the four modes, and their numbers by id."""
    table = _needed(
        feed,
        "routes.txt",
        required=("route_id", "route_type"),
        optional=("route_short_name", "route_long_name", "route_desc"),
    )
    types = table["route_type"].parsed(int, allowed="a whole number")
    kinds = [mode_of_type(kind) for kind in types]
    modes = [kind if kind < len(MODES) else None for kind in kinds]
    long_names = [
        a or b for a, b in zip(table["route_long_name"].texts(), table["route_desc"].texts(), strict=True)
    ]
    rows = zip(table["route_id"].texts(), table["route_short_name"].texts(), long_names, modes, strict=True)
    routes = tuple(
        Route(id=name, short_name=short, long_name=long, mode=mode)
        for name, short, long, mode in rows
        if mode is not None
    )
    return routes, {route.id: i for i, route in enumerate(routes)}


def _closed_routes(routes: tuple[Route, ...], trips: TimedTrips) -> set[int]:
    """Ferries all of whose trips link the same two stops."""
    of_row = np.repeat(trips.route, np.diff(trips.start))
    longest = np.zeros(len(routes), dtype=np.int64)
    np.maximum.at(longest, trips.route, np.diff(trips.start))
    candidates = [i for i, route in enumerate(routes) if route.mode == FERRY and longest[i] == 2]
    return {i for i in candidates if len(np.unique(trips.stop[of_row == i])) == 2}


def _modes_of_stops(routes: tuple[Route, ...], trips: TimedTrips) -> tuple[int, ...]:
    """The mode that calls most often at each stop."""
    mode = np.array([route.mode for route in routes])[np.repeat(trips.route, np.diff(trips.start))]
    calls = np.zeros((int(trips.stop.max()) + 1, len(MODES)), dtype=np.int64)
    np.add.at(calls, (trips.stop, mode), 1)
    return tuple(int(m) for m in np.argmax(calls, axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """All stops of a feed; `number` maps a platform to its station."""

    ids: list[str]
    names: list[str]
    lat: list[float]
    lon: list[float]
    number: dict[str, int]

    @classmethod
    def of(cls, feed: Feed, /) -> Self:
        """The stops of stops.txt."""
        table = _needed(
            feed,
            "stops.txt",
            required=("stop_id", "stop_name", "stop_lat", "stop_lon"),
            optional=("parent_station",),
        )
        ids = table["stop_id"].texts()
        own = {name: i for i, name in enumerate(ids)}
        parents = table["parent_station"].texts()
        names = [name or i for name, i in zip(table["stop_name"].texts(), ids, strict=True)]
        return cls(
            ids=ids,
            names=names,
            lat=table["stop_lat"].parsed(_degrees, allowed="degrees, or blank for what is not a stop"),
            lon=table["stop_lon"].parsed(_degrees, allowed="degrees, or blank for what is not a stop"),
            number={name: own.get(parent, own[name]) for name, parent in zip(ids, parents, strict=True)},
        )

    def stops(self, used: Ints, modes: tuple[int, ...], /) -> Stops:
        """The stops that are served; names that occur twice get their id."""
        names = [self.names[i] for i in used]
        count = Counter([*names, UNKNOWN])
        lat, lon = (np.array([values[i] for i in used]) for values in (self.lat, self.lon))
        _check_placed(lat + lon, [self.ids[i] for i in used])
        return Stops(
            ids=tuple(self.ids[i] for i in used),
            names=tuple(
                n if count[n] == 1 else f"{n} [{self.ids[i]}]" for n, i in zip(names, used, strict=True)
            ),
            modes=modes,
            lat=lat,
            lon=lon,
        )


def _degrees(text: str) -> float:
    return float(text) if text else np.nan


def _check_placed(place: Floats, ids: list[str]) -> None:
    """Refuse a served stop without a position."""
    if not np.isfinite(place).all():
        name = ids[int(np.argmin(np.isfinite(place)))]
        raise DataError(f"stops.txt gives no position for the stop {name!r}, which is served.")
