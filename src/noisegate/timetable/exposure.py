"""What a timetable gives away: cells of one vehicle, by hour and vehicle by vehicle, and services of two stops.

Who taps on at one end of a service between two stops taps off at the other: tap-ons at the origin and tap-offs at the
destination, one crossing later, are two published versions of the same raw count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.timetable.linkage import Linkage
from noisegate.timetable.visits import Flags, Ints, Ints32, Visits


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStopService:
    """Direct runs from one location to another.

    Attributes
    ----------
    mode, origin, destination
        Numbers of the mode and of the two locations.
    runs
        How many runs there are on the dates that were looked at.
    lag_s
        Least, median and largest time from departure to arrival.
    closed
        Whether nobody can board at the origin, or alight at the destination, with any other run of the mode:
        the two counts are then equal, but for people who do not tap.
    """

    mode: int
    origin: int
    destination: int
    runs: int
    lag_s: tuple[int, int, int]
    closed: bool

    def bins_later(self, bin_s: int, /) -> tuple[int, int]:
        """By how many bins the tap-offs can follow the tap-ons, at least and at most, if both are punctual."""
        return self.lag_s[0] // bin_s, -(-self.lag_s[2] // bin_s)


def two_stop_services(visits: Visits, /, *, places: NDArray[np.int32]) -> list[TwoStopService]:
    """All services whose runs make exactly two calls, by mode, origin and destination.

    Parameters
    ----------
    visits
        The calls to look at.
    places
        Shape (modes, stops): the location of each stop; -1 for none. Calls at no location are not looked at.
    """
    place = places[visits.mode, visits.stop]
    direct = visits.runs.calls[visits.run] == 2
    pairs = np.flatnonzero(
        direct[:-1] & (visits.run[:-1] == visits.run[1:]) & (place[:-1] >= 0) & (place[1:] >= 0)
    )
    pairs = pairs[place[pairs] != place[pairs + 1]]
    mode, origin, destination = visits.mode[pairs], place[pairs], place[pairs + 1]
    lag = visits.arrival_s[pairs + 1] - visits.departure_s[pairs]
    kinds, which = np.unique(np.column_stack([mode, origin, destination]), axis=0, return_inverse=True)
    kind = np.full(len(visits.runs), -1, dtype=np.int64)
    kind[visits.run[pairs]] = which.ravel()
    on = _sole_kind(visits, place, kind, able=visits.boards)
    off = _sole_kind(visits, place, kind, able=visits.alights)
    return [
        TwoStopService(
            mode=m,
            origin=a,
            destination=b,
            runs=int((which.ravel() == number).sum()),
            lag_s=_spread(lag[which.ravel() == number]),
            closed=on[m, a] == number == off[m, b],
        )
        for number, (m, a, b) in enumerate(kinds.tolist())
    ]


def _spread(lag: Ints32, /) -> tuple[int, int, int]:
    return int(lag.min()), int(np.median(lag)), int(lag.max())


def _sole_kind(visits: Visits, place: Ints32, kind: Ints, /, *, able: Flags) -> dict[tuple[int, int], int]:
    """For each mode and location, the kind of all runs that people can board (or leave) there; -1 for several.

    A two-stop run of which only one call is inside the dates is not held against the others.
    """
    whole = np.bincount(visits.run, minlength=len(visits.runs)) == visits.runs.calls
    counted = able & (place >= 0) & (whole | (visits.runs.calls != 2))[visits.run]
    shape = (
        int(visits.mode.max(initial=0)) + 1,
        int(place.max(initial=0)) + 1,
        int(kind.max(initial=-1)) + 2,
    )
    columns = (visits.mode[counted], place[counted], kind[visits.run[counted]] + 1)
    seen = np.unravel_index(np.unique(np.ravel_multi_index(columns, shape)), shape)
    sole: dict[tuple[int, int], int] = {}
    for mode, at, which in zip(*(column.tolist() for column in seen), strict=True):
        sole[mode, at] = -1 if (mode, at) in sole else which - 1
    return sole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UniqueCells:
    """Cells that exactly one vehicle could have produced.

    Attributes
    ----------
    cells
        Their numbers, ascending.
    run
        The vehicle of each.
    stop
        The one stop of each, where the location merges several and only one of them is served; -1 otherwise.
    bin
        The time bin of each, counted from the midnight of the first date of the visits.
    """

    cells: Ints
    run: Ints32
    stop: Ints
    bin: Ints

    def __len__(self) -> int:
        return len(self.cells)

    def trails(self, *, least: int = 2) -> list[tuple[int, Ints]]:
        """Vehicles that have at least so many cells to themselves, each with these cells in order of time.

        What is published in such cells is the load of one vehicle as it goes along.
        """
        order = np.lexsort((self.bin, self.run))
        runs, starts = np.unique(self.run[order], return_index=True)
        pieces = np.split(order, starts[1:])
        return [
            (int(run), self.cells[piece])
            for run, piece in zip(runs, pieces, strict=True)
            if len(piece) >= least
        ]


def unique_cells(linkage: Linkage, /) -> UniqueCells:
    """The cells that exactly one vehicle could have produced."""
    alone = linkage.vehicles == 1
    return UniqueCells(
        cells=linkage.cells[alone],
        run=linkage.visits.run[linkage.first_visit[alone]],
        stop=linkage.sole_stops()[alone],
        bin=linkage.grid.bins_of(linkage.cells[alone], first_day=int(linkage.visits.days[0])),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hours:
    """How many cells each mode (row) has in each hour of the day (column).

    Attributes
    ----------
    cells
        Cells that a vehicle could have produced.
    one_vehicle
        Those that exactly one vehicle could have produced.
    one_stop
        Those of them in which it calls at one stop only.
    """

    cells: Ints
    one_vehicle: Ints
    one_stop: Ints

    def unprotected(self, *, share: float = 0.5) -> list[tuple[int, int]]:
        """Modes and hours in which more than `share` of the cells belong to one vehicle: binning stops protecting."""
        found = np.argwhere((self.cells > 0) & (self.one_vehicle > share * self.cells))
        return [(int(mode), int(hour)) for mode, hour in found]


def by_hour(linkage: Linkage, /) -> Hours:
    """How many cells have one vehicle, by mode and hour of the day."""
    modes = linkage.grid.modes.size
    key = linkage.mode * 24 + linkage.hour
    alone = linkage.vehicles == 1
    one_stop = alone & (linkage.sole_stops() >= 0)
    tables = [
        np.bincount(key[which], minlength=24 * modes).reshape(modes, 24)
        for which in (np.ones(len(linkage), dtype=bool), alone, one_stop)
    ]
    return Hours(cells=tables[0], one_vehicle=tables[1], one_stop=tables[2])
