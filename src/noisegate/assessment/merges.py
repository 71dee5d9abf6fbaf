"""What to merge so that every cell mixes several vehicles of a timetable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisegate.assessment.services import Services, tolerance_of
from noisegate.reading import Structure
from noisegate.tables import Kind
from noisegate.timetable import (
    ALL,
    OWN,
    Linkage,
    Merges,
    SpecNames,
    link,
    merge_fragment,
    merge_rules,
    needs_time,
    suggest_merges,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What to merge so that every cell mixes at least k vehicles, as a piece of a release spec.

    `within` says for which tolerance in minutes the merges hold, and `uncovered` how many locations have no stop, so that
    nothing is known about their vehicles; `rules` and `fragment` are the same as values and as text.
    """

    merges: Merges
    within: int
    uncovered: int
    rules: tuple[dict[str, Any], ...]
    fragment: str

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "k": self.merges.k,
            "late_min": self.within,
            "cells_before": self.merges.before,
            "cells_below_k": self.merges.below,
            "cells_after": self.merges.after,
            "needs_time": needs_time(self.merges),
            "not_possible": len(self.merges.hopeless),
            "locations_without_stop": self.uncovered,
            "rules": list(self.rules),
            "fragment": self.fragment,
        }


def suggest(services: Services, structure: Structure, /, *, k: int) -> Suggestion | None:
    """Merges for the base; None for a table without times or without places.

    First for cells that vehicles reach when they are off the timetable by the whole tolerance; if a mode cannot be
    mixed then, for vehicles that run to the second.
    """
    roles = services.roles
    if not {"time", "location"} <= set(roles.place):
        return None
    # A table without times cannot show places that are merged at some hours only.
    at_hours = all(any(d.kind is Kind.TIME for d in cells.dimensions) for cells in structure.tables)
    # Times that no table shows are merged too: somebody may tap then in another week.
    grid = roles.grid(services.feed, services.matching, whole_day=True)
    scheduled, possible = (
        link(services.visits, grid=grid, tolerance=tolerance_of(late)) for late in (0, services.late)
    )
    merges, within = _merged(scheduled, possible, k=k, by_hour=at_hours), services.late
    if merges.hopeless:
        strict = _merged(scheduled, scheduled, k=k, by_hour=at_hours)
        if len(strict.hopeless) < len(merges.hopeless):
            merges, within = strict, 0
    spec = SpecNames(
        modes=roles.labels("mode"),
        mode=roles.dimension("mode").name if "mode" in roles.place else "mode",
        time=roles.dimension("time").name,
        location=roles.dimension("location").name,
    )
    bin_s = services.scheduled.grid.bin_s
    return Suggestion(
        merges=merges,
        within=within,
        uncovered=len(services.matching.unmatched),
        rules=tuple(merge_rules(merges, bin_s=bin_s, names=spec)),
        fragment=merge_fragment(merges, bin_s=bin_s, names=spec),
    )


def _merged(scheduled: Linkage, reach: Linkage, /, *, k: int, by_hour: bool) -> Merges:
    places = scheduled.grid.size("location")
    levels = {OWN: np.arange(places), ALL: np.zeros(places, dtype=np.int64)}
    return suggest_merges(scheduled, k=k, levels=levels, reach=reach, by_hour=by_hour)
