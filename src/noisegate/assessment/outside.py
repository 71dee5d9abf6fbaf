"""What is known from outside the tables, and what follows from it: timetables, claims, more weeks, raw trips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.claims import Claim, judge_claim
from noisegate.assessment.closed import ClosedServices
from noisegate.assessment.dropped import Dropped
from noisegate.assessment.exposure import Exposure, suggest
from noisegate.assessment.finding import Result
from noisegate.assessment.findings.dropped import about_claims, about_dropped
from noisegate.assessment.findings.microdata import about_microdata
from noisegate.assessment.findings.services import about_services
from noisegate.assessment.findings.weeks import about_weeks
from noisegate.assessment.loss import Privacy
from noisegate.assessment.microdata import Microdata, PersonEvents, read_person_events
from noisegate.assessment.persons import Persons
from noisegate.assessment.residuals import MissingTaps, missing_taps
from noisegate.assessment.services import LATE_MIN, Services, tolerance_of
from noisegate.assessment.stops import read_stop_map
from noisegate.assessment.weeks import Weeks, check_weeks
from noisegate.errors import SpecError
from noisegate.inference.linked.totals import SumEstimates
from noisegate.reading.structure import Structure
from noisegate.recovery.card import Card
from noisegate.recovery.makers import Makers, Seen
from noisegate.recovery.margin_rows import MarginRows, perturbed_apart
from noisegate.recovery.search import Search
from noisegate.timetable.feed import read_feed
from noisegate.workload.truth_file import TruthFile

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What a person says from outside the tables, checked as far as it can be without them.

    Attributes
    ----------
    gtfs, late, stops
        A timetable, by how many minutes cards may be read off it, and a map of locations to its stops.
    k
        How many vehicles every cell should mix.
    claims
        Shares of rows or trips that were stated to be dropped.
    weeks
        How many weeks of such releases to look ahead; None for none.
    """

    gtfs: Path | None = None
    late: int = LATE_MIN
    stops: Path | None = None
    k: int = 3
    claims: tuple[Claim, ...] = ()
    weeks: int | None = None

    def __post_init__(self) -> None:
        tolerance_of(self.late)
        if (
            isinstance(self.k, bool)
            or not isinstance(self.k, int)
            or not 1 <= self.k <= limits.current().merged_vehicles
        ):
            raise SpecError.for_value(
                "--k", found=self.k, allowed=f"a whole number from 1 to {limits.current().merged_vehicles}"
            )
        if self.weeks is not None:
            check_weeks(self.weeks)
        if self.stops is not None and self.gtfs is None:
            raise SpecError("--stops maps locations to the stops of a timetable; give one with --gtfs.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linked:
    """The timetable beside the tables, before anything is judged; nothing if none was given.

    `unused` counts the lines of a map of stops that name a stop or a location that is not there.
    """

    services: Services | None = None
    closed: ClosedServices | None = None
    unused: int = 0

    @classmethod
    def of(cls, outside: Outside, structure: Structure, report: Report, /) -> Linked:
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
class Sections:
    """What follows from it: findings and checks, and the sections `services`, `dropped`, `weeks`, `microdata`.

    `linked` are the services themselves, for the file with all cells of one vehicle.
    """

    results: tuple[Result, ...] = ()
    services: dict[str, Any] | None = None
    dropped: dict[str, Any] | None = None
    weeks: Weeks | None = None
    microdata: Microdata | None = None
    linked: Services | None = None

    def to_json(self) -> dict[str, Any]:
        """As they stand in `assessment.json`; null where nothing was asked."""
        return {
            "services": self.services,
            "dropped": self.dropped,
            "weeks": None if self.weeks is None else self.weeks.to_json(),
            "microdata": None if self.microdata is None else self.microdata.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """Everything that judging from outside needs.

    `rows` are the links of margins, `makers` what is known about the noise, `privacy` the loss worked out
    from it, `card` a card that can be relied on, `totals` what the suppressed rows of each table add up to by linked
    inference, and `truth` the raw data.
    """

    structure: Structure
    rows: Sequence[MarginRows]
    makers: Makers
    privacy: Privacy
    card: Card | None
    level: float
    totals: Mapping[str, SumEstimates] = field(default_factory=dict)
    truth: TruthFile | None = None
    report: Report = field(default=lambda _: None)

    def at(self, outside: Outside, linked: Linked, /) -> Sections:
        """What follows from what is known from outside."""
        results: list[Result] = []
        services = None
        if linked.services is not None and linked.closed is not None:
            self.report("looking at vehicles behind cells")
            section, found = self._services(linked.services, linked.closed, outside.k)
            services = {**section, "map_lines_unused": linked.unused}
            results += found
        dropped, found = self._dropped(outside.claims)
        results += found
        events = self._events()
        weeks = None
        if outside.weeks is not None:
            self.report("looking ahead")
            weeks = self._weeks(outside.weeks, events)
            results += about_weeks(weeks)
        microdata = None
        if events is not None:
            self.report("looking for persons who are unique")
            # The same persons are drawn on every run.
            microdata = Microdata.of(events, rng=np.random.default_rng(0), level=self.level)
            results += about_microdata(microdata)
        return Sections(
            results=tuple(results),
            services=services,
            dropped=dropped,
            weeks=weeks,
            microdata=microdata,
            linked=linked.services,
        )

    def _services(
        self, services: Services, closed: ClosedServices, k: int, /
    ) -> tuple[dict[str, Any], list[Result]]:
        exposure = Exposure.of(services)
        missing = self._missing(services)
        merges = suggest(services, self.structure, k=k)
        section = {
            **services.to_json(),
            **exposure.to_json(),
            "two_stop_services": closed.to_json(),
            "missing_taps": [one.to_json() for one in missing],
            "merges": None if merges is None else merges.to_json(),
        }
        return section, about_services(services, exposure, closed, missing, merges)

    def _missing(self, services: Services, /) -> list[MissingTaps]:
        """The residuals of all margins with noise of their own, and the cells that they may belong to."""
        base = self.makers.of(self.structure.base, self.structure)
        if base is None or base.mechanism.threshold is None:
            return []
        found: list[MissingTaps] = []
        for one in self.rows:
            margin = self.makers.of(one.link.margin, self.structure)
            if margin is None or one.pieces is not None or perturbed_apart(one) is False or one.link.unlisted:
                continue
            found += missing_taps(services, one, base=base, margin=margin, level=self.level)
        return found

    def _dropped(self, claims: Sequence[Claim], /) -> tuple[dict[str, Any], list[Result]]:
        dropped = Dropped.of(self.structure, self.rows, self.makers, level=self.level)
        judged = [one for claim in claims for one in judge_claim(claim, dropped)]
        linked = {
            name: {
                "mean": float(one.mean[0]),
                "interval": [int(one.low[0]), int(one.high[0])],
                "level": one.level,
            }
            for name, one in self.totals.items()
        }
        section = {
            "rows": dropped.to_json(),
            "linked": linked,
            "claims": [one.to_json() for one in judged],
        }
        return section, [*about_dropped(dropped), *about_claims(judged)]

    def _events(self) -> PersonEvents | None:
        if self.truth is None or self.truth.person is None:
            return None
        return read_person_events(self.truth, self.structure.base)

    def _weeks(self, horizon: int, events: PersonEvents | None, /) -> Weeks | None:
        tables = self._counted()
        if not tables:
            return None
        weeks = Weeks.of(
            tables,
            self.rows,
            horizon=horizon,
            level=self.level,
            zeros_known=self.makers.zeros is not None,
            card=self.card,
        )
        if events is None:
            return weeks
        persons = Persons.of(events.events, days=events.days, event_epsilon=self.privacy.event_epsilon)
        return replace(weeks, persons=persons)

    def _counted(self) -> list[Seen]:
        """The tables that add to the loss, the base first; empty if the noise of the base is not known."""
        summed = {one.link.margin.name for one in self.rows if perturbed_apart(one) is False}
        found = []
        for cells in self.structure.tables:
            said = None if self.card is None else self.card.of(cells)
            own = said.scale is not None if said is not None else cells.name not in summed
            seen = self.makers.of(cells, self.structure) if own else None
            if seen is None and cells is self.structure.base:
                return []
            if seen is not None:
                found.append(seen)
        return found
