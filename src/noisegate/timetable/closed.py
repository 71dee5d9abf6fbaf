"""Services between two stops and nothing else: who taps on at one end taps off at the other.

For such a service the tap-ons at the origin and the tap-offs at the destination, one crossing later, are two
published versions of the same raw count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    found: dict[tuple[int, int], int] = {}
    for mode, at, which in zip(*(column.tolist() for column in seen), strict=True):
        found[mode, at] = -1 if (mode, at) in found else which - 1
    return found
