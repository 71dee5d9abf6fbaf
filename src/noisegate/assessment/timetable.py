"""The timetable beside the tables: how it was linked, and what follows from it for the vehicles behind cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.exposure import Exposure
from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Words
from noisegate.assessment.merges import Suggestion
from noisegate.assessment.missing_taps import MissingTaps
from noisegate.assessment.request import Outside
from noisegate.assessment.services import ClosedServices, Services, read_stop_map
from noisegate.reading import Structure
from noisegate.recovery import Search
from noisegate.timetable import read_feed

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Report = Callable[[str], None]

_SHOWN = 5

WORDS: Mapping[str, Words] = {
    "timetable": Words(
        says="How places were matched to the stops of the timetable.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timetable:
    """The timetable beside the tables, before anything is judged; nothing if none was given.

    `unused` counts the lines of a map of stops that name a stop or a location that is not there.
    """

    services: Services | None = None
    closed: ClosedServices | None = None
    unused: int = 0

    @classmethod
    def of(cls, outside: Outside, structure: Structure, report: Report, /) -> Timetable:
        """Read the timetable and link it to the base."""
        if outside.gtfs is None:
            return cls()
        report(f"reading {outside.gtfs.name}")
        feed = read_feed(outside.gtfs)
        given, unused = None, 0
        if outside.stops is not None:
            locations = [label for dimension in structure.base.dimensions for label in dimension.labels]
            told = read_stop_map(outside.stops, feed=feed, locations=locations)
            given, unused = told.location_of, told.unknown_stops + told.unknown_locations
        report("linking the timetable")
        services = Services.of(feed, structure, late=outside.late, given=given)
        return cls(services=services, closed=ClosedServices.of(services), unused=unused)

    def joined(self, found: Search, /) -> Search:
        """What the search for couplings found, and what the timetable adds."""
        return found if self.closed is None else self.closed.joined(found)

    def structural_zero(self) -> NDArray[np.bool_] | None:
        """The cells of the base that no vehicle can have produced; None without a timetable, or for too many cells."""
        if self.services is None or self.services.base.size > limits.current().inferred_cells:
            return None
        return self.services.structural_zero(self.services.base)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vehicles:
    """What a timetable says about the vehicles behind cells.

    Attributes
    ----------
    services, closed, unused
        The timetable beside the base, its closed two-stop services, and how many lines of a map of stops were of no use.
    exposure
        Cells of one vehicle.
    missing
        Totals that hold more than their published cells, and the cells that the rest may belong to.
    merges
        What to merge so that every cell mixes several vehicles; None for a table without times or places.
    """

    services: Services
    closed: ClosedServices
    unused: int
    exposure: Exposure
    missing: tuple[MissingTaps, ...]
    merges: Suggestion | None

    def to_json(self) -> dict[str, Any]:
        """The section `services` of `assessment.json`."""
        return {
            **self.services.to_json(),
            **self.exposure.to_json(),
            "two_stop_services": self.closed.to_json(),
            "missing_taps": [one.to_json() for one in self.missing],
            "merges": None if self.merges is None else self.merges.to_json(),
            "map_lines_unused": self.unused,
        }


def ask(facts: Facts, /) -> list[Result]:
    """How places were matched to the stops of the timetable, if there is one."""
    services = facts.timetable.services
    return [] if services is None else [_linked(services)]


def _linked(services: Services, /) -> Check:
    idle = services.dates_without_service()
    said = [f"{one.location}: {one.reason}" for one in services.matching.unmatched[:_SHOWN]]
    if idle:
        said.append(
            f"No vehicle of the feed runs on {', '.join(idle[:_SHOWN])}; nothing is said about these dates."
        )
    if services.matching.left_over:
        said.append(
            f"{len(services.matching.left_over):,} stops that vehicles serve have no location; what is called impossible "
            "may be possible if their taps are published under another name."
        )
    return Check(
        id="timetable",
        outcome="known",
        title=f"timetable: {services.matching.summary()}",
        numbers={
            "matched": len(services.matching.how),
            "unmatched": len(services.matching.unmatched),
            "vehicles": len(services.visits.runs),
            "late_min": services.late,
        },
        evidence=said,
    )


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
