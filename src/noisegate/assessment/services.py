"""The services behind a published table: the vehicles of each cell, and closed two-stop services.

The blind search compares every series with every other and must allow for chance. A timetable names the few pairs that
are worth a look, so far less evidence is enough for them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Words
from noisegate.assessment.request import LATE_MIN, check_late
from noisegate.assessment.roles import Ints, TimetableRoles
from noisegate.errors import DataError, InputError, InternalError
from noisegate.places import read_octets
from noisegate.reading import Structure
from noisegate.recovery import Coupling, Search, compare, couple, least_published, selected
from noisegate.tables import Table
from noisegate.timetable import (
    EPOCH,
    EXACT,
    Feed,
    Linkage,
    StopMatching,
    Tolerance,
    TwoStopService,
    UniqueCells,
    Visits,
    link,
    two_stop_services,
    unique_cells,
)

Flags = NDArray[np.bool_]

#: Nobody taps off a vehicle that is earlier than this.
_MOST_EARLY_S = 300


def tolerance_of(late: int, /) -> Tolerance:
    """Cards are read up to `late` minutes from the timetable; tap-offs at most five minutes ahead of it."""
    check_late(late)
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
        octets = read_octets(path, most=limits.current().values_bytes, what="The map of stops")
        with io.StringIO(octets.decode("utf-8-sig"), newline="") as file:
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
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The map of stops {str(path)!r} is not UTF-8 text with commas.") from error


if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: The chance of calling anything equal that is not, over all pairs of the timetable.
_FALSE_ALARM = 0.01
_SHOWN = 5

WORDS: Mapping[str, Words] = {
    "closed-services": Words(
        says="Lines between two stops that nothing else serves, which the timetable names.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """The closed two-stop services of the timetable, if it has any."""
    closed = facts.timetable.closed
    return [_closed(closed)] if closed is not None and closed.found else []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedServices:
    """The two-stop services of a timetable, and the couplings among the published counts that they explain."""

    services: Services
    found: tuple[TwoStopService, ...]
    couplings: tuple[Coupling, ...]

    @classmethod
    def of(cls, services: Services, /) -> ClosedServices:
        """Two-stop services, and those of the closed ones whose counts are equal as far as can be seen."""
        if not {"tap", "time", "location"} <= set(services.roles.place):
            return cls(services=services, found=(), couplings=())
        found = two_stop_services(services.visits, places=services.matching.places)
        closed = [one for one in found if one.closed and services.scheduled.grid.modes[one.mode] >= 0]
        tries = [list(_tries(services, one)) for one in closed]
        needed = math.log(max(sum(map(len, tries)), 1) / _FALSE_ALARM)
        best = [max(some, key=_evidence) for some in tries if some]
        equal = tuple(
            one
            for one in best
            if one.equality is not None and one.equality.doubt is None and _evidence(one) > needed
        )
        return cls(services=services, found=tuple(found), couplings=equal)

    def joined(self, search: Search, /) -> Search:
        """What the search found, and what the timetable adds to it."""
        known = {(one.left.tobytes(), one.right.tobytes()) for one in search.found}
        new = [one for one in self.couplings if (one.left.tobytes(), one.right.tobytes()) not in known]
        return replace(search, found=(*search.found, *new))

    def to_json(self) -> list[dict[str, Any]]:
        """As plain values for JSON."""
        names, modes = self.services.matching.locations, self.services.feed.modes
        return [
            {
                "mode": modes[one.mode],
                "origin": names[one.origin],
                "destination": names[one.destination],
                "runs": one.runs,
                "minutes": [round(lag / 60, 1) for lag in one.lag_s],
                "closed": one.closed,
            }
            for one in self.found
        ]


def _tries(services: Services, one: TwoStopService, /) -> Iterator[Coupling]:
    """The couplings that a closed service may have left, one for each lag in bins; none where nothing is published."""
    roles, grid, base = services.roles, services.scheduled.grid, services.base
    places = [roles.place[role] for role in ("mode", "tap", "location") if role in roles.place]
    mode = [int(grid.modes[one.mode])] if "mode" in roles.place else []
    sides = [
        selected(base, places, [*mode, grid.taps[tap], where])
        for tap, where in ((0, one.origin), (1, one.destination))
    ]
    least, most = one.bins_later(grid.bin_s)
    for bins in range(least, most + 1):
        try:
            found = couple(base, sides[0], sides[1], lag=bins * grid.bin_s // 60, source="found")
        except InputError:
            continue
        values = found.values
        if np.isfinite(values).all(axis=0).any():
            yield replace(found, equality=compare(values[0], values[1], cut=least_published(base)))


def _evidence(coupling: Coupling, /) -> float:
    return -math.inf if coupling.equality is None else coupling.equality.log_evidence


def _closed(closed: ClosedServices, /) -> Check:
    shut = [one for one in closed.found if one.closed]
    names, modes = closed.services.matching.locations, closed.services.feed.modes
    said = [
        f"{modes[one.mode]} {names[one.origin]} to {names[one.destination]}, {one.lag_s[1] / 60:g} min, {one.runs:,} runs"
        for one in shut[:_SHOWN]
    ]
    return Check(
        id="closed-services",
        outcome="known",
        title=(
            f"{len(shut)} of {len(closed.found)} two-stop services are closed; "
            f"{len(closed.couplings)} of them leave equal counts that were compared"
        ),
        numbers={"two_stop": len(closed.found), "closed": len(shut), "coupled": len(closed.couplings)},
        evidence=said,
    )


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
