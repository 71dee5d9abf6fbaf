"""The map of an invented harbour city: stops and lines, without times of day. All names are invented, each is used once.

Trains cross the centre on radial lines that share a few core stations. Buses collect a
suburb, pass its station and end on a shared trunk in the centre. Light rail leaves the centre
on its own track. Ferries hop along the harbour from numbered wharves of Lantern Quay; one of
them, the closed ferry, has two wharves that nothing else uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from noisegate.errors import SpecError
from noisegate.timetable import BUS, FERRY, LIGHTRAIL, TRAIN, Ints, NetworkRoute, NetworkStops

_PARTS = ("", " North", " South", " East", " West", " Heights", " Junction", " Park")
_ROADS = ("Rd", "St", "Ave", "Lane")
QUAY_WHARF = "Lantern Quay Wharf 3"
BEACH_WHARF = "Seahaven Wharf"
"""The two ends of the closed ferry, half an hour apart."""
FEWEST_STOPS = 24
CROSSING_S = 30 * 60
_CENTRE_LAT, _CENTRE_LON, _KM_PER_DEGREE = -41.0, 160.0, 111.2
_KM_PER_MIN = {TRAIN: 0.75, BUS: 0.35, FERRY: 0.4, LIGHTRAIL: 0.35}
_DWELL_S = {TRAIN: 30, BUS: 0, FERRY: 120, LIGHTRAIL: 0}
_LETTER = {TRAIN: "T", BUS: "B", FERRY: "F", LIGHTRAIL: "L"}


def _words(line: str, /) -> tuple[str, ...]:
    return tuple(line.split())


_HEADS = _words(
    "Alder Amber Ash Bram Briar Cinder Clover Copper Coral Cran Dapple Drift Dun Elder Ember Fallow Fern Flint "
    "Gorse Gull Harrow Hazel Heron Holm Iron Ivy Juniper Kestrel Lark Linden Loam Marl Mallow Nettle Osier Otter "
    "Pebble Pine Quill Reed Rowan Rush Sable Sedge Sorrel Tansy Thistle Wren"
)
_TAILS = _words(
    "bank beck brook burn by combe cote croft dale dean fell field ford garth gate hay hollow holt hurst ing lea "
    "leigh march mead mere mill moor ness ridge rise scar stead stow thorpe toft vale well wick wold worth"
)
_STREETS = _words(
    "Anvil Barrel Beacon Bellows Bobbin Candle Cartwright Chandler Cooper Crane Dyer Fuller Furnace Glazier Granary "
    "Hammer Kiln Lamplighter Loom Mariner Mason Millrace Orchard Oven Potter Quarry Ropewalk Saddler Sawyer Sexton "
    "Smithy Spindle Tanner Thatcher Tiller Turner Wagon Weaver Wharfinger Wheelwright"
)
MOST_STOPS = len(_HEADS) * len(_TAILS) * len(_PARTS)
"""As many as suburbs can be named."""


def suburbs(*, rng: np.random.Generator) -> Iterator[str]:
    """Suburb names in random order, plain ones first; none comes twice."""
    plain = [head + tail for head, tail in product(_HEADS, _TAILS)]
    order = rng.permutation(len(plain))
    for part in _PARTS:
        for index in order:
            yield plain[index] + part


def corners(suburb: str, /, *, rng: np.random.Generator) -> Iterator[str]:
    """Names of bus stops in a suburb, in random order; none comes twice."""
    streets = [f"{street} {road}" for street, road in product(_STREETS, _ROADS)]
    for index in rng.permutation(len(streets)):
        yield f"{streets[index]} at {suburb}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A route with its stops in one direction; the other direction mirrors it."""

    route: NetworkRoute
    stops: Ints
    hop_s: Ints
    dwell_s: int


@dataclass(slots=True)
class Map:
    """A city under construction; distances in kilometres from the centre."""

    rng: np.random.Generator
    names: list[str] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    xy: list[tuple[float, float]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    suburbs: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self.suburbs = suburbs(rng=self.rng)

    def add_stop(self, name: str, mode: int, x: float, y: float) -> int:
        """The number of a new stop."""
        self.names.append(name)
        self.modes.append(mode)
        self.xy.append((x, y))
        return len(self.names) - 1

    def add_line(self, mode: int, stops: list[int]) -> None:
        """Append a line whose running times follow from distance and the mode's speed."""
        km = [np.hypot(*np.subtract(self.xy[a], self.xy[b])) for a, b in pairwise(stops)]
        hop_s = np.array([60 * max(1, round(d / _KM_PER_MIN[mode])) for d in km], dtype=np.int64)
        name = f"{_LETTER[mode]}{1 + sum(line.route.mode == mode for line in self.lines)}"
        long_name = f"{self.names[stops[0]]} - {self.names[stops[-1]]}"
        route = NetworkRoute(id=name, short_name=name, long_name=long_name, mode=mode)
        self.lines.append(Line(route=route, stops=np.array(stops), hop_s=hop_s, dwell_s=_DWELL_S[mode]))

    def place(self) -> NetworkStops:
        """The stops, on the globe."""
        x, y = np.array(self.xy).T
        return NetworkStops(
            ids=tuple(f"S{i + 1:05d}" for i in range(len(self.names))),
            names=tuple(self.names),
            modes=tuple(self.modes),
            lat=np.round(_CENTRE_LAT + y / _KM_PER_DEGREE, 6),
            lon=np.round(_CENTRE_LON + x / (_KM_PER_DEGREE * np.cos(np.radians(_CENTRE_LAT))), 6),
        )


def draw_map(stops: int, /, *, closed_ferry: bool, rng: np.random.Generator) -> Map:
    """A city with `stops` stops, the two of the closed ferry included."""
    if not FEWEST_STOPS <= stops <= MOST_STOPS:
        raise SpecError.for_value("stops", found=stops, allowed=f"from {FEWEST_STOPS} to {MOST_STOPS}")
    city = Map(rng)
    ferry, lightrail, train = (
        max(4, round(0.07 * stops)),
        max(4, round(0.06 * stops)),
        max(8, round(0.37 * stops)),
    )
    stations = _lay_trains(city, train)
    _lay_lightrail(city, lightrail)
    _lay_ferries(city, ferry)
    if closed_ferry:
        _lay_closed_ferry(city)
    _lay_buses(city, stops - len(city.names), stations)
    return city


def _lay_trains(city: Map, count: int) -> list[int]:
    """Radial lines through a shared core; returns the suburban stations."""
    core_size = 1 if count < 20 else 3
    core = [
        city.add_stop(f"Lantern {name} Station", TRAIN, 0.8 * i, 0.1 * i)
        for i, name in enumerate(("Central", "Exchange", "Harbour")[:core_size])
    ]
    lines = max(1, round((count - core_size) / 20))
    sizes = [len(part) for part in np.array_split(np.arange(count - core_size), 2 * lines)]
    angles = 2 * np.pi * (np.arange(2 * lines) + city.rng.uniform(-0.2, 0.2, 2 * lines)) / (2 * lines)
    branches = [_branch(city, size, angle) for size, angle in zip(sizes, angles, strict=True)]
    for i in range(lines):
        city.add_line(TRAIN, branches[i][::-1] + core + branches[i + lines])
    return [station for branch in branches for station in branch]


def _branch(city: Map, size: int, angle: float) -> list[int]:
    """Stations on a ray from the centre, nearest first."""
    radius = 1.5 + np.cumsum(city.rng.uniform(0.9, 2.2, size))
    bend = angle + np.cumsum(city.rng.normal(0, 0.04, size))
    return [
        city.add_stop(f"{next(city.suburbs)} Station", TRAIN, r * np.cos(a), r * np.sin(a))
        for r, a in zip(radius, bend, strict=True)
    ]


def _lay_lightrail(city: Map, count: int) -> None:
    """Lines of at least two stops that leave the centre, the first beside Central."""
    for part in np.array_split(np.arange(count), max(1, round(count / 22))):
        angle = city.rng.uniform(0, 2 * np.pi)
        radius = 0.05 + np.cumsum(city.rng.uniform(0.4, 0.8, len(part))) - 0.4
        city.add_line(
            LIGHTRAIL,
            [
                city.add_stop(
                    f"{next(city.suburbs)} Light Rail", LIGHTRAIL, r * np.cos(angle), r * np.sin(angle)
                )
                for r in radius
            ],
        )


def _lay_ferries(city: Map, count: int) -> None:
    """Lines along the harbour, each from its own wharf of the Quay (Wharf 3 is kept free)."""
    for i, part in enumerate(np.array_split(np.arange(count), max(1, round(count / 7)))):
        number = 2 if i == 0 else i + 3
        wharves = [city.add_stop(f"Lantern Quay Wharf {number}", FERRY, 0.9 + 0.05 * i, 0.9)]
        side = -1 if i % 2 else 1
        for j in range(1, len(part)):
            x, y = 1 + side * 1.3 * j, 1.6 + city.rng.uniform(0, 1.2)
            wharves.append(city.add_stop(f"{next(city.suburbs)} Wharf", FERRY, x, y))
        city.add_line(FERRY, wharves)


def _lay_closed_ferry(city: Map) -> None:
    """The ferry with two wharves of its own, the crossing time of the timetable and no dwell."""
    stops = [city.add_stop(QUAY_WHARF, FERRY, 0.95, 1.0), city.add_stop(BEACH_WHARF, FERRY, 8.0, 4.5)]
    long_name = f"{QUAY_WHARF} - {BEACH_WHARF}"
    route = NetworkRoute(id="F0", short_name="F0", long_name=long_name, mode=FERRY, closed=True)
    line = Line(route=route, stops=np.array(stops), hop_s=np.array([CROSSING_S]), dwell_s=0)
    city.lines.append(line)


def _lay_buses(city: Map, count: int, stations: list[int]) -> None:
    """Lines that collect a suburb, pass its station and share a trunk in the centre."""
    trunk_size = min(4, 1 + count // 40)
    trunk_names = corners("Lantern Central", rng=city.rng)
    trunk = [city.add_stop(next(trunk_names), BUS, -0.25 + 0.25 * i, -0.1) for i in range(trunk_size)]
    own = np.array_split(np.arange(count - trunk_size), max(1, round((count - trunk_size) / 14)))
    anchors = city.rng.choice(stations, size=len(own), replace=len(own) > len(stations))
    for part, anchor in zip(own, anchors, strict=True):
        x, y = city.xy[anchor]
        suburb = f"{next(city.suburbs)}"
        names = corners(suburb, rng=city.rng)
        heading = np.arctan2(y, x) + np.cumsum(city.rng.normal(0, 0.35, len(part)))
        dx, dy = np.cumsum(0.45 * np.cos(heading)), np.cumsum(0.45 * np.sin(heading))
        collected = [
            city.add_stop(next(names), BUS, x + 0.05 + dx[i] - dx[0], y + dy[i] - dy[0])
            for i in range(len(part))
        ]
        city.add_line(BUS, collected[::-1] + trunk)
