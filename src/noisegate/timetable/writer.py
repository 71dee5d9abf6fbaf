"""A network as a GTFS zip whose bytes depend on the network alone."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisegate.timetable.calendar import EPOCH, WEEKDAYS
from noisegate.timetable.calls import clock
from noisegate.timetable.network import Network
from noisegate.timetable.places import BUS, FERRY, LIGHTRAIL, TRAIN
from noisegate.timetable.visits import Ints

_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_AGENCY_ID = "1"
_ROUTE_TYPES = {TRAIN: 2, BUS: 3, FERRY: 4, LIGHTRAIL: 0}


def write_feed(network: Network, path: Path, /) -> None:
    """Write agency, stops, routes, trips, stop_times, calendar and calendar_dates into one zip."""
    tables = {
        "agency.txt": _agency(network),
        "calendar.txt": _calendar(network),
        "calendar_dates.txt": _calendar_dates(network),
        "routes.txt": _routes(network),
        "stops.txt": _stops(network),
        "stop_times.txt": _stop_times(network),
        "trips.txt": _trips(network),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in tables.items():
            member = zipfile.ZipInfo(name, date_time=_FIXED_TIME)
            member.external_attr = 0o644 << 16
            archive.writestr(member, text, compress_type=zipfile.ZIP_DEFLATED, compresslevel=3)


def _csv(header: str, rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return text.getvalue().encode()


def _day(number: int, /) -> str:
    return f"{EPOCH + timedelta(days=int(number)):%Y%m%d}"


def _agency(network: Network) -> bytes:
    agency = network.agency
    return _csv(
        "agency_id,agency_name,agency_url,agency_timezone",
        [(_AGENCY_ID, agency.name, agency.url, agency.timezone)],
    )


def _calendar(network: Network) -> bytes:
    calendar = network.calendar
    weeks = calendar.weekdays.astype(int).tolist()
    rows = zip(calendar.ids, weeks, calendar.first.tolist(), calendar.last.tolist(), strict=True)
    return _csv(
        f"service_id,{','.join(WEEKDAYS)},start_date,end_date",
        ((name, *week, _day(first), _day(last)) for name, week, first, last in rows),
    )


def _calendar_dates(network: Network) -> bytes:
    calendar = network.calendar
    exceptions = np.unique(np.column_stack([calendar.service, calendar.kind, calendar.day]), axis=0)
    rows = [(calendar.ids[service], _day(day), kind) for service, kind, day in exceptions.tolist()]
    return _csv("service_id,date,exception_type", rows)


def _routes(network: Network) -> bytes:
    return _csv(
        "route_id,agency_id,route_short_name,route_long_name,route_type",
        ((r.id, _AGENCY_ID, r.short_name, r.long_name, _ROUTE_TYPES[r.mode]) for r in network.routes),
    )


def _stops(network: Network) -> bytes:
    stops = network.stops
    places = zip(stops.lat.tolist(), stops.lon.tolist(), strict=True)
    return _csv(
        "stop_id,stop_name,stop_lat,stop_lon",
        (
            (i, n, f"{lat:.6f}", f"{lon:.6f}")
            for i, n, (lat, lon) in zip(stops.ids, stops.names, places, strict=True)
        ),
    )


def _trips(network: Network) -> bytes:
    trips, patterns = network.trips, network.patterns
    headsigns = [network.stops.names[s] for s in patterns.stop[patterns.last_calls()]]
    routes = [network.routes[r].id for r in patterns.route]
    services = network.calendar.ids
    rows = zip(trips.ids, trips.vehicles, trips.pattern.tolist(), trips.service.tolist(), strict=True)
    return _csv(
        "route_id,service_id,trip_id,trip_headsign,direction_id,block_id",
        ((routes[p], services[s], t, headsigns[p], int(patterns.direction[p]), v) for t, v, p, s in rows),
    )


def _stop_times(network: Network) -> bytes:
    """The one long table: the texts of each column are written once, and put together row by row."""
    trips, patterns = network.trips, network.patterns
    lengths = np.diff(trips.start)
    trip = np.repeat(np.arange(len(trips)), lengths)
    position = np.arange(len(trip)) - trips.start[trip]
    stop = patterns.stop[patterns.start[trips.pattern[trip]] + position]
    columns = (
        np.array(list(map(_field, trips.ids)), dtype=object)[trip],
        _clocks(trips.arrival_s),
        _clocks(trips.departure_s),
        np.array(list(map(_field, network.stops.ids)), dtype=object)[stop],
        np.array([f"{number}\n" for number in range(1, lengths.max(initial=0) + 1)], dtype=object)[position],
    )
    lines = map(",".join, zip(*(column.tolist() for column in columns), strict=True))
    return "".join(["trip_id,arrival_time,departure_time,stop_id,stop_sequence\n", *lines]).encode()


def _field(text: str) -> str:
    """A text as CSV writes it."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def _clocks(seconds: Ints) -> NDArray[np.object_]:
    distinct, index = np.unique(seconds, return_inverse=True)
    return np.array([clock(s) for s in distinct.tolist()], dtype=object)[index]
