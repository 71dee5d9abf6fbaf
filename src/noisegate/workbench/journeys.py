"""Where and when: the places of a table on a map, and the vehicles behind the cells of one of them, if there is a timetable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment import CellState, Services
from noisegate.errors import SpecError
from noisegate.report import CellMap
from noisegate.timetable import Role
from noisegate.workbench.desk import Opened

Ints = NDArray[np.int64]

#: Lines between places that are drawn: a picture, not a list.
_MOST_LINES = 4_000
_NO_TIMETABLE = "Turn the attacker's dial to '+ timetable': places and vehicles come from there."


def journeys(opened: Opened, asked: Mapping[str, str], /) -> dict[str, Any]:
    """Every place with what its cells give away, the lines between them, and the timetable of the place that is asked for."""
    vehicles = opened.assessment.vehicles
    if vehicles is None or opened.assessment.inference is None:
        return {"places": [], "lines": [], "why": _NO_TIMETABLE, "place": None}
    services = vehicles.services
    if "location" not in services.roles.place:
        return {"places": [], "lines": [], "why": "These tables name no places.", "place": None}
    places = _places(opened, services)
    known = {one["label"] for one in places}
    wanted = asked.get("place") or _first(places)
    if wanted is not None and wanted not in known:
        raise SpecError.for_value("place", found=wanted, allowed="a place on the map")
    return {
        "places": places,
        "lines": _lines(services),
        "why": "",
        "matched": services.matching.summary(),
        "place": None if wanted is None else _board(opened, services, wanted, asked),
    }


def _first(places: list[dict[str, Any]], /) -> str | None:
    """The place that gives most away."""
    found = max(places, key=lambda one: (one["leaked"], one["alone"]), default=None)
    return None if found is None else str(found["label"])


def _codes(cells: CellMap, services: Services, role: Role, /) -> Ints:
    return np.asarray(cells.codes[services.roles.place[role]], np.int64)


def _places(opened: Opened, services: Services, /) -> list[dict[str, Any]]:
    cells, stops = opened.map, services.feed.stops
    labels = services.roles.labels("location")
    at, states = _codes(cells, services, "location"), cells.microscope.states
    counted = {
        "leaked": cells.leaked,
        "published": states == CellState.PUBLISHED,
        "hidden": (states != CellState.PUBLISHED) & (states != CellState.IMPOSSIBLE),
        "alone": services.vehicles(np.arange(cells.base.size)) == 1,
    }
    sums = {name: np.bincount(at[which], minlength=len(labels)) for name, which in counted.items()}
    found = []
    for code, label in enumerate(labels):
        mode, stop = np.nonzero(services.matching.places == code)
        there = stop[np.isfinite(stops.lat[stop]) & np.isfinite(stops.lon[stop])]
        if not there.size:
            continue
        found.append(
            {
                "label": label,
                "lat": round(float(stops.lat[there].mean()), 5),
                "lon": round(float(stops.lon[there].mean()), 5),
                "modes": [services.feed.modes[k] for k in np.unique(mode).tolist()],
                **{name: int(values[code]) for name, values in sums.items()},
            }
        )
    return found


def _lines(services: Services, /) -> list[list[str]]:
    """Pairs of places that a vehicle calls at one after the other."""
    visits, matching = services.visits, services.matching
    place = matching.places.max(axis=0)[visits.stop]
    near = (
        (visits.run[1:] == visits.run[:-1]) & (place[1:] >= 0) & (place[:-1] >= 0) & (place[1:] != place[:-1])
    )
    pairs = np.sort(np.stack([place[:-1][near], place[1:][near]]), axis=0)
    unique = np.unique(pairs, axis=1)[:, :_MOST_LINES]
    return [[matching.locations[a], matching.locations[b]] for a, b in unique.T.tolist()]


def _board(opened: Opened, services: Services, label: str, asked: Mapping[str, str], /) -> dict[str, Any]:
    """The times of one place on one day: vehicles by the timetable, and what is known of each cell."""
    cells, roles = opened.map, services.roles
    inside = _codes(cells, services, "location") == roles.labels("location").index(label)
    held: dict[str, Any] = {}
    both: tuple[Role, ...] = ("date", "tap")
    for role in both:
        if role in roles.place:
            name, labels = roles.dimension(role).name, roles.labels(role)
            best = np.bincount(_codes(cells, services, role)[inside & cells.leaked], minlength=len(labels))
            value = asked.get(role) if asked.get(role) in labels else labels[int(np.argmax(best))]
            held[role] = {"name": name, "at": value, "values": list(labels)}
            inside &= _codes(cells, services, role) == labels.index(value)
    where = np.flatnonzero(inside)
    where = where[cells.microscope.states[where] != CellState.IMPOSSIBLE]
    return {"label": label, "held": held, "rows": _rows(opened, services, where)}


def _rows(opened: Opened, services: Services, where: Ints, /) -> list[dict[str, Any]]:
    cells, roles = opened.map, services.roles
    timed = roles.dimension("time") if "time" in roles.place else None
    time = _codes(cells, services, "time")[where] if timed is not None else np.zeros(len(where), np.int64)
    scheduled = services.scheduled.vehicle_counts(roles.numbers(where))
    possible, found = services.vehicles(where), opened.map.facts
    shown = found.shown
    order = np.argsort(time, kind="stable")
    return [
        {
            "cell": int(cell),
            "time": "" if timed is None else timed.keys[int(time[k])],
            "slot": int(time[k]),
            "scheduled": int(scheduled[k]),
            "possible": int(possible[k]),
            "state": CellState(int(cells.microscope.states[cell])).name.lower(),
            "low": int(found.low[cell]),
            "high": int(found.high[cell]),
            "published": None if np.isnan(shown[cell]) else int(shown[cell]),
        }
        for k in order.tolist()
        for cell in [int(where[k])]
    ]
