"""Closed two-stop services of a timetable, as couplings: tap-ons at one end and tap-offs at the other are one count.

The blind search compares every series with every other and must allow for chance. A timetable names the few pairs that
are worth a look, so far less evidence is enough for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Words
from noisegate.assessment.services import Services
from noisegate.errors import InputError
from noisegate.recovery import Coupling, Search, compare, couple, least_published, selected
from noisegate.timetable import TwoStopService, two_stop_services

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
