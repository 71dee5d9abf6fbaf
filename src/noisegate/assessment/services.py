"""The services behind a published table: which scheduled vehicles can have produced each of its cells."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.roles import Ints, TimetableRoles
from noisegate.errors import DataError, InternalError, SpecError
from noisegate.reading import Structure
from noisegate.tables import Table
from noisegate.timetable import (
    EPOCH,
    EXACT,
    Feed,
    Linkage,
    StopMatching,
    Tolerance,
    UniqueCells,
    Visits,
    link,
    unique_cells,
)

Flags = NDArray[np.bool_]

#: How far from the timetable a card may be read unless somebody says otherwise, in minutes.
LATE_MIN = 20
#: Nobody taps off a vehicle that is earlier than this.
_MOST_EARLY_S = 300
_MOST_LATE_MIN = 240


def tolerance_of(late: int, /) -> Tolerance:
    """Cards are read up to `late` minutes from the timetable; tap-offs at most five minutes ahead of it."""
    if isinstance(late, bool) or not isinstance(late, int) or not 0 <= late <= _MOST_LATE_MIN:
        raise SpecError.for_value("--late", found=late, allowed=f"whole minutes from 0 to {_MOST_LATE_MIN}")
    whole = 60 * late
    return Tolerance(
        on_before_s=whole, on_after_s=whole, off_before_s=min(whole, _MOST_EARLY_S), off_after_s=whole
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Services:
    """The base table beside a timetable.

    Attributes
    ----------
    feed, roles, matching
        The timetable, what the table's dimensions are to it, and the stops of its locations.
    late
        The tolerance in minutes.
    scheduled
        Vehicles behind each cell if everything runs to the second.
    possible
        Vehicles behind each cell within the tolerance. Cells of both are numbered by `roles`.
    """

    feed: Feed
    roles: TimetableRoles
    matching: StopMatching
    late: int
    scheduled: Linkage
    possible: Linkage

    @classmethod
    def of(
        cls,
        feed: Feed,
        structure: Structure,
        /,
        *,
        late: int = LATE_MIN,
        given: Mapping[str, str] | None = None,
    ) -> Services:
        """The services behind the base of `structure`.

        Parameters
        ----------
        late
            By how many minutes a card may be read off the timetable.
        given
            From the id, code or name of a stop to the location that stands for it; wins over names.

        Raises
        ------
        DataError
            If the table has no dates, no location matches a stop, or no vehicle runs on any of its dates.
        """
        tolerance = tolerance_of(late)
        roles = TimetableRoles.of(structure.base, feed)
        matching = roles.match(feed, given=given or {})
        if "location" in roles.place and not matching.how:
            raise DataError(
                f"No location of {structure.base.name} has the name, code or group of a stop of {feed.path.name}; "
                "map them with --stops, or leave --gtfs out."
            )
        grid = roles.grid(feed, matching)
        dates = [EPOCH + timedelta(days=day) for day in grid.wanted_days.tolist()]
        visits = feed.visits(dates, margin_s=tolerance.reach_s)
        if not len(visits):
            raise DataError(
                f"No vehicle of {feed.path.name} runs from {dates[0]} to {dates[-1]}, the dates of {structure.base.name}; "
                f"it runs from {feed.first_date} to {feed.last_date}. Find the feed of that time."
            )
        return cls(
            feed=feed,
            roles=roles,
            matching=matching,
            late=late,
            scheduled=link(visits, grid=grid, tolerance=EXACT),
            possible=link(visits, grid=grid, tolerance=tolerance),
        )

    @property
    def base(self) -> Table:
        """The table that the services are linked to."""
        return self.roles.cells

    @property
    def visits(self) -> Visits:
        """Every call on the dates of the table."""
        return self.possible.visits

    def structural_zero(self, cells: Table, /) -> Flags:
        """For every cell of the table, in its order: whether no vehicle could have produced a tap in it.

        *Assumes* that the timetable is complete for the modes and dates it has, and that every tap lies within the
        tolerance. Cells of locations without a stop, of unknown times, and of modes without a vehicle on the date are
        never structural zeros.
        """
        return self.impossible(cells, np.arange(cells.size, dtype=np.int64))

    def impossible(self, cells: Table, flat: Ints, /) -> Flags:
        """The same for some cells of the table only."""
        if cells is not self.base and cells.dimensions != self.base.dimensions:
            raise InternalError("structural zeros are asked for a table that was not linked")
        return self.possible.impossible(self.roles.numbers(flat))

    def vehicles(self, flat: Ints, /) -> Ints:
        """How many vehicles could have produced each of these cells, within the tolerance."""
        return self.possible.vehicle_counts(self.roles.numbers(flat))

    def alone(self, linkage: Linkage, /) -> UniqueCells:
        """The cells of the public domain that exactly one vehicle could have produced."""
        found = unique_cells(linkage)
        inside = self.roles.in_domain(found.cells)
        return UniqueCells(
            cells=found.cells[inside], run=found.run[inside], stop=found.stop[inside], bin=found.bin[inside]
        )

    def dates_without_service(self) -> list[str]:
        """The dates of the table on which no vehicle of the feed runs."""
        grid, visits = self.possible.grid, self.visits
        served = np.unique(np.concatenate([visits.arrival_date, visits.departure_date]))
        idle = np.setdiff1d(np.arange(visits.days.size), served)
        return [
            str(EPOCH + timedelta(days=int(visits.days[at]))) for at in idle if visits.days[at] in grid.days
        ]

    def to_json(self) -> dict[str, Any]:
        """What was linked, as plain values for JSON."""
        return {
            "feed": self.feed.path.name,
            "late_min": self.late,
            "roles": {role: self.roles.dimension(role).name for role in self.roles.roles},
            "matching": {
                "statement": self.matching.summary(),
                "matched": len(self.matching.how),
                "unmatched": [
                    {"location": one.location, "reason": one.reason} for one in self.matching.unmatched
                ],
                "stops_without_location": len(self.matching.left_over),
            },
            "vehicles": len(self.visits.runs),
            "dates_without_service": self.dates_without_service(),
        }


_COLUMNS = ("location", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class StopMap:
    """The location of stops, and how many lines of the file were of no use.

    Attributes
    ----------
    location_of
        From the id, code or name of a stop to its location.
    unknown_stops, unknown_locations
        Lines that name a stop the feed does not have, or a location the table does not have.
    """

    location_of: dict[str, str]
    unknown_stops: int = 0
    unknown_locations: int = 0


def read_stop_map(path: Path, /, *, feed: Feed, locations: Collection[str]) -> StopMap:
    """The map in a CSV file with the columns `location` and `stop`: one line for each stop.

    A location with several stops, such as a postcode, has several lines. A stop is named by its id, code or name.

    Raises
    ------
    DataError
        If the file cannot be read, or none of its lines fits the feed and the table.
    """
    lines = _lines(path)
    known = {*feed.stops.ids, *feed.stops.codes, *feed.stops.names} - {""}
    wanted = frozenset(locations)
    found: dict[str, str] = {}
    strange, elsewhere = 0, 0
    for location, stop in lines:
        if stop not in known:
            strange += 1
        elif location not in wanted:
            elsewhere += 1
        elif found.get(stop, location) != location:
            raise DataError(
                f"{str(path)!r} sends the stop {stop!r} to two locations, {found[stop]!r} and {location!r}; name one."
            )
        else:
            found[stop] = location
    if not found:
        raise DataError(
            f"No line of {str(path)!r} has both a stop of the feed and a location of the table; "
            f"{strange} of {len(lines)} stops are not in the feed. Stops are named by id, code or name."
        )
    return StopMap(location_of=found, unknown_stops=strange, unknown_locations=elsewhere)


def _lines(path: Path, /) -> list[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = [name.strip().casefold() for name in reader.fieldnames or []]
            reader.fieldnames = header
            for name in _COLUMNS:
                if name not in header:
                    raise DataError(
                        f"The map {str(path)!r} must have the columns location and stop, got {', '.join(header) or 'none'}."
                    )
            return [
                (row["location"].strip(), row["stop"].strip())
                for row in reader
                if row["location"] and row["stop"]
            ]
    except OSError as error:
        raise DataError(f"The map of stops {str(path)!r} cannot be opened: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The map of stops {str(path)!r} is not UTF-8 text with commas.") from error
