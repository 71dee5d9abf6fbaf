"""Every departure of a service day: each trip once, or as often as frequencies.txt says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate import limits
from noisegate.errors import DataError
from noisegate.timetable.calls import Calls
from noisegate.timetable.clock import seconds
from noisegate.timetable.rows import Rows
from noisegate.timetable.trips import Trips
from noisegate.timetable.visits import Ints32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Departures:
    """Departures: a trip, how much later than its own times, and how uncertain."""

    trip: Ints32
    offset_s: Ints32
    slack_s: Ints32

    def __len__(self) -> int:
        return len(self.trip)


def read_departures(rows: Rows, /, *, trips: Trips, calls: Calls) -> Departures:
    """One departure for each trip, or as many as frequencies.txt says.

    Where it promises no exact times, a vehicle may come at any time within a headway of its nominal one.
    """
    usual = np.flatnonzero(np.diff(calls.start) > 0)
    table = rows.table(
        "frequencies.txt",
        required=("trip_id", "start_time", "end_time", "headway_secs"),
        optional=("exact_times",),
    )
    if not table or not table["trip_id"]:
        nothing = np.zeros(usual.size, dtype=np.int32)
        return Departures(trip=usual.astype(np.int32), offset_s=nothing, slack_s=nothing)
    number = {name: i for i, name in enumerate(trips.ids)}
    parts = [_repeated(*row, number=number, calls=calls) for row in zip(*table.values(), strict=True)]
    if sum(len(part) for part in parts) > limits.current().feed_departures:
        raise DataError(
            f"frequencies.txt repeats trips more than {limits.current().feed_departures} times a day; check the headways."
        )
    repeated = np.unique(np.concatenate([part.trip for part in parts]))
    usual = usual[~np.isin(usual, repeated)]
    nothing = np.zeros(usual.size, dtype=np.int32)
    return Departures(
        trip=np.concatenate([usual.astype(np.int32), *(part.trip for part in parts)]),
        offset_s=np.concatenate([nothing, *(part.offset_s for part in parts)]),
        slack_s=np.concatenate([nothing, *(part.slack_s for part in parts)]),
    )


def _repeated(
    name: str, start: str, end: str, headway: str, exact: str, /, *, number: dict[str, int], calls: Calls
) -> Departures:
    """The departures of one row of frequencies."""
    if name not in number:
        raise DataError(f"frequencies.txt has the trip_id {name!r}, which trips.txt does not have.")
    begins = seconds(start, table="frequencies.txt", column="start_time")
    ends = seconds(end, table="frequencies.txt", column="end_time")
    if not (headway.isascii() and headway.isdigit() and len(headway) < 7 and int(headway) > 0):
        raise DataError(
            f"frequencies.txt: headway_secs must be a whole number of seconds above 0, got {headway!r}."
        )
    trip = number[name]
    if calls.start[trip] == calls.start[trip + 1]:
        raise DataError(f"frequencies.txt repeats the trip {name!r}, which has no calls in stop_times.txt.")
    leaves = np.arange(begins, ends, int(headway), dtype=np.int32)
    return Departures(
        trip=np.full(leaves.size, trip, dtype=np.int32),
        offset_s=leaves - calls.departure_s[calls.start[trip]],
        slack_s=np.full(leaves.size, 0 if exact == "1" else int(headway), dtype=np.int32),
    )
