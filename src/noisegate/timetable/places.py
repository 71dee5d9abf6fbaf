"""The short tables of a feed: who runs it, where it stops, which routes and trips it has, and by which mode."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.timetable.calendar import Calendar
from noisegate.timetable.rows import Rows
from noisegate.timetable.visits import Floats, Ints32

MODES = ("train", "bus", "ferry", "lightrail", "other")
TRAIN, BUS, FERRY, LIGHTRAIL, OTHER = range(len(MODES))

_MODE_OF_TYPE = {
    0: LIGHTRAIL,
    1: TRAIN,
    2: TRAIN,
    3: BUS,
    4: FERRY,
    5: LIGHTRAIL,
    7: LIGHTRAIL,
    11: BUS,
    12: TRAIN,
}
#: Extended route types come in hundreds.
_MODE_OF_HUNDRED = {
    1: TRAIN,
    2: BUS,
    4: TRAIN,
    7: BUS,
    8: BUS,
    9: LIGHTRAIL,
    10: FERRY,
    12: FERRY,
    14: LIGHTRAIL,
}
_WORDS = {
    TRAIN: "train trains rail railway heavyrail metro subway underground commuterrail intercity",
    BUS: "bus buses coach trolleybus brt nightbus",
    FERRY: "ferry ferries boat water waterbus",
    LIGHTRAIL: "lightrail tram trams tramway streetcar lrt monorail funicular cablecar",
}
_MODE_OF_WORD = {word: mode for mode, words in _WORDS.items() for word in words.split()}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


def mode_of_type(route_type: int, /) -> int:
    """The mode of a GTFS route type, plain or extended."""
    return _MODE_OF_TYPE.get(route_type, _MODE_OF_HUNDRED.get(route_type // 100, OTHER))


def mode_of_word(word: str, /) -> int | None:
    """The mode that a table means by a word such as "Light Rail"; None for a word we do not know."""
    return _MODE_OF_WORD.get(re.sub(r"[^a-z]", "", word.casefold()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agency:
    """Who runs the network."""

    name: str
    url: str
    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stops:
    """Stops, platforms and stations; `parent` is the number of the station of each, or -1.

    `lat` and `lon` are degrees, NaN where the feed gives none.
    """

    ids: tuple[str, ...]
    codes: tuple[str, ...]
    names: tuple[str, ...]
    parent: Ints32
    lat: Floats
    lon: Floats

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Routes:
    """Routes; `mode` numbers `noisegate.timetable.MODES`. `names` are short, or long, or else ids."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    short_names: tuple[str, ...]
    long_names: tuple[str, ...]
    mode: Ints32

    def __len__(self) -> int:
        return len(self.ids)


def read_agency(rows: Rows, /) -> Agency | None:
    """The first agency of a feed; None without agency.txt, which only the makers of networks need."""
    table = rows.table("agency.txt", required=("agency_name", "agency_url", "agency_timezone"))
    if table is None:
        return None
    if not table["agency_name"]:
        raise DataError("agency.txt must have at least one row.")
    name, url, timezone = (table[f"agency_{field}"][0] for field in ("name", "url", "timezone"))
    return Agency(name=name, url=url, timezone=timezone)


def read_stops(rows: Rows, /) -> Stops:
    """The stops of a feed."""
    table = rows.table(
        "stops.txt",
        required=("stop_id",),
        optional=("stop_code", "stop_name", "parent_station", "stop_lat", "stop_lon"),
    )
    assert table is not None
    ids = table["stop_id"]
    check_ids(ids, table="stops.txt", column="stop_id")
    number = {name: i for i, name in enumerate(ids)}
    for parent in table["parent_station"]:
        if parent and parent not in number:
            raise DataError(f"stops.txt names the parent station {parent!r}, which it does not have.")
    return Stops(
        ids=tuple(ids),
        codes=tuple(table["stop_code"]),
        names=tuple(name or own for name, own in zip(table["stop_name"], ids, strict=True)),
        parent=np.array([number.get(parent, -1) for parent in table["parent_station"]], dtype=np.int32),
        lat=_degrees(table["stop_lat"], "stop_lat", most=90),
        lon=_degrees(table["stop_lon"], "stop_lon", most=180),
    )


def _degrees(texts: list[str], column: str, /, *, most: int) -> Floats:
    """Degrees, NaN for blanks."""
    out = np.full(len(texts), np.nan)
    for at, text in enumerate(texts):
        if text:
            out[at] = float(text) if _NUMBER.fullmatch(text) else np.nan
            if not abs(out[at]) <= most:
                raise DataError(
                    f"stops.txt: {column} must be degrees from -{most} to {most}, or blank for what is not a stop, "
                    f"got {text!r}."
                )
    return out


def read_routes(rows: Rows, /) -> Routes:
    """The routes of a feed; a route without a name is called by its id."""
    table = rows.table(
        "routes.txt",
        required=("route_id", "route_type"),
        optional=("route_short_name", "route_long_name", "route_desc"),
    )
    assert table is not None
    ids = table["route_id"]
    check_ids(ids, table="routes.txt", column="route_id")
    for text in table["route_type"]:
        if not (text.isascii() and text.isdigit() and len(text) <= 5):
            raise DataError(f"routes.txt: route_type must be a whole number, got {text!r}.")
    short_names = table["route_short_name"]
    long_names = [
        long or description
        for long, description in zip(table["route_long_name"], table["route_desc"], strict=True)
    ]
    named = zip(short_names, table["route_long_name"], ids, strict=True)
    return Routes(
        ids=tuple(ids),
        names=tuple(short or long or own for short, long, own in named),
        short_names=tuple(short_names),
        long_names=tuple(long_names),
        mode=np.array([mode_of_type(int(text)) for text in table["route_type"]], dtype=np.int32),
    )


def check_ids(ids: Sequence[str], /, *, table: str, column: str) -> None:
    """Refuse ids that are empty or come twice."""
    if "" in ids:
        raise DataError(f"{table} has a row without {column}.")
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"{table} has the {column} {twice!r} twice.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trips:
    """Trips; `service` is -1 where no calendar knows the service: such a trip never runs.

    `direction` is 0 or 1, `blocks` names the vehicle that makes several trips; 0 and blank where the feed is silent.
    """

    ids: tuple[str, ...]
    route: Ints32
    service: Ints32
    direction: NDArray[np.int8]
    blocks: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)


def read_trips(rows: Rows, /, *, routes: Routes, calendar: Calendar) -> Trips:
    """The trips of a feed."""
    table = rows.table(
        "trips.txt", required=("route_id", "service_id", "trip_id"), optional=("direction_id", "block_id")
    )
    assert table is not None
    check_ids(table["trip_id"], table="trips.txt", column="trip_id")
    number = {name: i for i, name in enumerate(routes.ids)}
    for name in table["route_id"]:
        if name not in number:
            raise DataError(f"trips.txt names the route {name!r}, which routes.txt does not have.")
    return Trips(
        ids=tuple(table["trip_id"]),
        route=np.array([number[name] for name in table["route_id"]], dtype=np.int32),
        service=np.array([calendar.number.get(name, -1) for name in table["service_id"]], dtype=np.int32),
        direction=np.array([text == "1" for text in table["direction_id"]], dtype=np.int8),
        blocks=tuple(table["block_id"]),
    )
