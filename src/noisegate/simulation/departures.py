"""The departures of one service day, ready for looking up the next vehicle at any call."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

import numpy as np

from noisegate.timetable.network import Network
from noisegate.timetable.visits import Ints

_TIME_BITS = 20
LONGEST_DAY_S = 2**_TIME_BITS - 1
"""Latest time of day that a timetable may hold, far beyond any real one."""

MAX_WAIT_S = 60 * 60
"""Who would wait longer does not ride."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepartureBoard:
    """All departures of the running trips, sorted by call and time.

    Attributes
    ----------
    key
        Call number and departure second in one integer, ascending.
    trip
        The trip of each departure.
    """

    key: Ints
    trip: Ints

    @classmethod
    def of(cls, network: Network, services: Collection[int], /) -> Self:
        """The departures on a day when `services` run."""
        trips, patterns = network.trips, network.patterns
        running = np.isin(trips.service, np.fromiter(services, dtype=np.int64))
        lengths = np.diff(trips.start)
        shown = np.repeat(running, lengths)
        trip = np.repeat(np.arange(len(trips)), lengths)[shown]
        position = np.flatnonzero(shown) - trips.start[trip]
        call = patterns.start[trips.pattern[trip]] + position
        key = (call << _TIME_BITS) | trips.departure_s[shown]
        order = np.argsort(key, kind="stable")
        return cls(key=key[order], trip=trip[order])

    def next_vehicle(self, call: Ints, ready_s: Ints, /) -> tuple[Ints, Ints]:
        """Trip and departure second of the first vehicle at each call from `ready_s` on; trip -1 for none."""
        if not len(self.key):
            return np.full(len(call), -1), np.zeros(len(call), dtype=np.int64)
        wanted = (call << _TIME_BITS) | ready_s
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        found = self.key[place]
        wait_s = found - wanted
        served = (wait_s >= 0) & (wait_s <= MAX_WAIT_S) & (found >> _TIME_BITS == call)
        return np.where(served, self.trip[place], -1), found & LONGEST_DAY_S
