"""The trips of a feed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.timetable.calendar import Calendar
from noisegate.timetable.places import Routes, check_ids
from noisegate.timetable.rows import Rows
from noisegate.timetable.visits import Ints32


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
