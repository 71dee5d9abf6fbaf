"""What a timetable gives away about the published cells: cells of one vehicle, the hours they come in, and what to merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Listing, Words
from noisegate.assessment.merges import Suggestion
from noisegate.assessment.roles import Ints
from noisegate.assessment.services import Services
from noisegate.assessment.words import label, number, percent, plural
from noisegate.pictures import HourShares
from noisegate.recovery import names, published
from noisegate.timetable import Hours, by_hour

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: Cells and vehicles that are listed by name.
_LISTED = 200
#: An hour is unprotected if more than this share of its cells belongs to one vehicle.
_SHARE = 0.5
_SHOWN = 5

WORDS: Mapping[str, Words] = {
    "vehicle-unique-cells": Words(
        says="Published cells that only one scheduled vehicle can have filled.",
        meaning="At quiet hours, a published count can be that of a single vehicle.",
        method=(
            "Published places are matched to the stops of the timetable. For every cell, the vehicles that call "
            "there in its time bin are counted, with a tolerance for early and late running. A cell that only one"
            " vehicle can have filled tells about that vehicle, however wide the bin."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """Published cells of one vehicle, if there is a timetable."""
    services, exposure = facts.timetable.services, facts.exposure
    if services is None or exposure is None:
        return []
    return [_unique(services, exposure, facts.merges)]


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueCell:
    """A published cell that only one vehicle can have produced; `stop` is the one place it called at, if it is one."""

    title: str
    count: float
    vehicle: str
    run: int
    stop: str | None

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {"cell": self.title, "count": self.count, "vehicle": self.vehicle, "stop": self.stop}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exposure:
    """Cells of one vehicle.

    Attributes
    ----------
    possible
        Cells of the public domain that a vehicle can have produced within the tolerance.
    scheduled_alone, alone
        Those of one vehicle if all run to the second, and those of one vehicle within the tolerance.
    published, published_scheduled_alone, published_alone
        Published cells in all, and published ones among these.
    listed
        Some of the published cells of one vehicle within the tolerance, by vehicle and time.
    trails
        How many vehicles have at least two published cells to themselves.
    hours
        Cells by mode and hour, if all run to the second.
    """

    services: Services
    possible: int
    scheduled_alone: int
    alone: int
    published: int
    published_scheduled_alone: int
    published_alone: int
    listed: tuple[UniqueCell, ...]
    trails: tuple[tuple[UniqueCell, ...], ...]
    hours: Hours

    @classmethod
    def of(cls, services: Services, /) -> Exposure:
        """What the timetable gives away about the base."""
        base, roles = services.base, services.roles
        numbers = roles.numbers(base.cells)
        scheduled, alone = services.alone(services.scheduled), services.alone(services.possible)
        mine = np.isin(numbers, alone.cells)
        cells = _listed(services, base.cells[mine])
        return cls(
            services=services,
            possible=int(roles.in_domain(services.possible.cells).sum()),
            scheduled_alone=len(scheduled),
            alone=len(alone),
            published=base.published,
            published_scheduled_alone=int(np.isin(numbers, scheduled.cells).sum()),
            published_alone=int(mine.sum()),
            listed=tuple(cells[:_LISTED]),
            trails=tuple(_trails(cells)),
            hours=by_hour(services.scheduled),
        )

    def unprotected(self) -> dict[str, list[int]]:
        """For each mode, the hours in which most cells belong to one vehicle."""
        found: dict[str, list[int]] = {}
        for mode, hour in self.hours.unprotected(share=_SHARE):
            found.setdefault(self.services.feed.modes[mode], []).append(hour)
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        modes = self.services.feed.modes
        used = np.flatnonzero(self.hours.cells.sum(axis=1))
        return {
            "cells": {
                "possible": self.possible,
                "one_vehicle": self.alone,
                "one_vehicle_scheduled": self.scheduled_alone,
                "published": self.published,
                "published_one_vehicle": self.published_alone,
                "published_one_vehicle_scheduled": self.published_scheduled_alone,
            },
            "hours": {
                modes[mode]: {
                    "cells": self.hours.cells[mode].tolist(),
                    "one_vehicle": self.hours.one_vehicle[mode].tolist(),
                    "one_stop": self.hours.one_stop[mode].tolist(),
                }
                for mode in used.tolist()
            },
            "unprotected_hours": self.unprotected(),
            "one_vehicle": [cell.to_json() for cell in self.listed],
            "trails": [
                {"vehicle": trail[0].vehicle, "cells": [[cell.title, cell.count] for cell in trail]}
                for trail in self.trails[:_LISTED]
            ],
        }


def _listed(services: Services, flat: Ints, /) -> list[UniqueCell]:
    """The cells by name, with vehicle and stop, by vehicle and in order of time."""
    if not flat.size:
        return []
    linkage, feed = services.possible, services.feed
    numbers = services.roles.numbers(flat)
    place = linkage.find(numbers)
    run = linkage.visits.run[linkage.first_visit[place]]
    order = np.lexsort((linkage.bin[place], run))
    stops = linkage.sole_stops()[place]
    counts, titles = published(services.base, flat), names(services.base, flat)
    words = {one: feed.vehicle(linkage.visits, one) for one in np.unique(run).tolist()}
    return [
        UniqueCell(
            title=titles[i],
            count=float(counts[i]),
            vehicle=words[int(run[i])],
            run=int(run[i]),
            stop=feed.stops.names[stops[i]] if stops[i] >= 0 else None,
        )
        for i in order.tolist()
    ]


def _trails(cells: Sequence[UniqueCell], /) -> list[tuple[UniqueCell, ...]]:
    """Vehicles with at least two cells to themselves, the longest first."""
    by_run: dict[int, list[UniqueCell]] = {}
    for cell in cells:
        by_run.setdefault(cell.run, []).append(cell)
    found = [tuple(trail) for trail in by_run.values() if len(trail) > 1]
    return sorted(found, key=len, reverse=True)


def _unique(services: Services, exposure: Exposure, suggestion: Suggestion | None, /) -> Result:
    numbers = exposure.to_json()["cells"] | {
        "unprotected_hours": exposure.unprotected(),
        "trails": len(exposure.trails),
        "late_min": services.late,
    }
    if not exposure.published_alone:
        return Check(
            id="vehicle-unique-cells",
            outcome="fine",
            title=f"no published cell belongs to one vehicle, if cards are read within {services.late} min of the timetable",
            numbers=numbers,
        )
    said = [_trail(trail) for trail in exposure.trails[:_SHOWN]]
    said += [_cell(cell) for cell in exposure.listed[: _SHOWN - len(said)]]
    said += [
        f"{mode}: most cells belong to one vehicle at {_hours(hours)}."
        for mode, hours in exposure.unprotected().items()
    ]
    return Finding(
        id="vehicle-unique-cells",
        severity="medium",
        title=(
            f"{exposure.published_alone:,} of {exposure.published:,} published cells belong to one vehicle"
            + (
                f"; {plural(len(exposure.trails), 'vehicle')} can be followed from cell to cell"
                if exposure.trails
                else ""
            )
        ),
        numbers=numbers,
        baseline={
            "from": "vehicles that run to the second",
            "published_one_vehicle": exposure.published_scheduled_alone,
        },
        evidence=said,
        assumptions=[f"every card is read within {services.late} min of the timetable"],
        picture="hours",
        advice=_advice(suggestion),
    )


def _trail(trail: Sequence[UniqueCell], /) -> str:
    cells = "; ".join(f"{cell.title}: {cell.count:g}" for cell in trail[:3])
    more = f" and {len(trail) - 3} more" if len(trail) > 3 else ""
    return f"{trail[0].vehicle}: {cells}{more}."


def _cell(cell: UniqueCell, /) -> str:
    where = f", at {cell.stop}" if cell.stop else ""
    return f"{cell.title}: {cell.count:g} on {cell.vehicle}{where}."


def _hours(hours: Sequence[int], /) -> str:
    """Hours in words, neighbours together: 00-04, 22."""
    spans: list[list[int]] = []
    for hour in sorted(hours):
        if spans and hour == spans[-1][1] + 1:
            spans[-1][1] = hour
        else:
            spans.append([hour, hour])
    return ", ".join(f"{low:02d}:00-{high:02d}:59" for low, high in spans)


def _advice(suggestion: Suggestion | None, /) -> str:
    start = "Merge times or places at the hours when few vehicles run"
    if suggestion is None:
        return f"{start}, so that every cell mixes several."
    merges = suggestion.merges
    if merges.hopeless:
        return f"{start}. On some dates a mode has fewer than {merges.k} vehicles in all: leave it out, or ask for fewer."
    rest = (
        f" Nothing is known about {suggestion.uncovered} locations without a stop."
        if suggestion.uncovered
        else ""
    )
    return (
        f"{start}: the fragment of a release spec in the section 'services' leaves every cell with at least {merges.k} "
        f"vehicles ({merges.before:,} cells become {merges.after:,}).{rest}"
    )


def show(assessment: Assessment, /) -> Exhibit | None:
    """Cells and the vehicles behind them, the hours at which bins stop protecting, and what to merge."""
    if assessment.vehicles is None:
        return None
    content = assessment.vehicles.to_json()
    alone = [
        (one["cell"], one["count"], one["vehicle"], one["stop"] or "several")
        for one in content["one_vehicle"]
    ]
    return Exhibit(
        section="services",
        grids=(
            Grid.of(
                "Cells and the vehicles behind them",
                ("what", "cells"),
                [(label(name), value) for name, value in content["cells"].items()],
            ),
            Grid.of(
                "Published cells of one vehicle", ("cell", "published", "vehicle", "stop"), alone, most=10
            ),
        ),
        figures=_hours_figures(content["hours"]),
        listings=_merge_listings(content["merges"]),
    )


def _merge_listings(merges: Mapping[str, Any] | None, /) -> tuple[Listing, ...]:
    """The piece of a release spec that mixes vehicles, if one is suggested."""
    if merges is None or not merges["fragment"]:
        return ()
    caption = f"For the release spec: merges that leave at least {number(merges['k'])} vehicles in every cell"
    return (Listing(caption=caption, text=merges["fragment"].rstrip()),)


def _hours_figures(hours: Mapping[str, Any], /) -> tuple[Figure, ...]:
    """The share of cells that one vehicle alone can have filled, by mode and hour."""
    shares = {
        mode: [
            alone / cells if cells else None
            for cells, alone in zip(row["cells"], row["one_vehicle"], strict=True)
        ]
        for mode, row in hours.items()
    }
    known = [
        (share, hour, mode)
        for mode, row in shares.items()
        for hour, share in enumerate(row)
        if share is not None
    ]
    if not known:
        return ()
    share, hour, mode = max(known, key=lambda one: (one[0], -one[1]))
    figure = Figure(
        key="hours",
        caption=(
            "Where bins stop protecting: for each mode and hour, the share of possible cells that only one vehicle of the "
            "timetable can have filled, if all run to the second. Empty: nothing runs."
        ),
        alt=(
            f"Heat map of modes by hour of the day. The largest share is {percent(share)}, for {mode} at {hour:02d}:00."
        ),
        picture=HourShares(shares=shares),
        data=Grid.of(
            "Cells by mode and hour",
            ("mode", "hour", "cells", "of one vehicle"),
            (
                (name, hour, row["cells"][hour], row["one_vehicle"][hour])
                for name, row in hours.items()
                for hour in range(len(row["cells"]))
                if row["cells"][hour]
            ),
            most=120,
        ),
        about=("vehicle-unique-cells",),
    )
    return (figure,)
