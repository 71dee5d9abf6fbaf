"""The stops and the routes of a feed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.errors import DataError
from noisegate.timetable.modes import mode_of_type
from noisegate.timetable.rows import Rows
from noisegate.timetable.visits import Floats, Ints32

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


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
