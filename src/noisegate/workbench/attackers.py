"""What the attacker of the dial is sure of: about one person whose trips are known, and as weeks go by."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from noisegate.errors import SpecError
from noisegate.mechanisms import Contribution, Mechanism, certainty, success_bound
from noisegate.report import finite
from noisegate.workbench.desk import Opened
from noisegate.workbench.jobs import Say

#: Trips of a person that the attacker may know.
MOST_KNOWN = 200
#: Right by tossing a coin: what every figure stands beside.
_COIN = 0.5
#: From here on the figure does not change any more in what a page shows.
_ALWAYS = 0.99999
_WEEKS = (1, 2, 3, 4, 6, 8, 10, 13, 17, 21, 26, 32, 39, 45, 52)


def sureness(opened: Opened, events: int, /) -> dict[str, Any] | None:
    """How often the best test is right about whether a person is in the tables, if so many of her trips are known.

    None if nothing is known, or if the noise is not: then there is nothing to reckon with, which is no sign of safety.
    """
    if events == 0:
        return None
    stated = _stated(opened)
    if stated is not None:
        epsilon = min(events * stated[0], stated[1])
        return _said(0.0, success_bound(epsilon), "the loss that the card states", opened)
    made = _mechanisms(opened)
    if not made:
        return None
    try:
        found = certainty([Contribution(mechanism=one, cells=events) for one in made])
    except SpecError:
        # Noise with a largest value has no loss that can be composed: at its edge somebody shows for certain.
        return _said(_COIN, 1.0, "noise with a largest value: at its edge nothing is left to guess", opened)
    return _said(found.lower, found.upper, "the noise of the tables that were used", opened)


def _said(low: float, high: float, source: str, opened: Opened, /) -> dict[str, Any]:
    return {
        "low": max(low, _COIN),
        "high": high,
        "baseline": _COIN,
        "from": source,
        "tables": _used(opened),
        "assumes": "each trip in a cell of its own, everything else known, and beforehand either answer as likely",
    }


def _stated(opened: Opened, /) -> tuple[float, float] | None:
    """What the card states of a pure loss: for one event, and the most for a person."""
    privacy = opened.content["privacy"] or {}
    event, person = privacy.get("event_epsilon"), privacy.get("person_epsilon")
    if privacy.get("source") != "card" or privacy.get("delta") or event is None:
        return None
    bounded = privacy.get("unit") != "event"
    return float(event), math.inf if person is None or not bounded else float(person)


def _mechanisms(opened: Opened, /) -> list[Mechanism]:
    """How the tables that were used were made, as it shows in whole numbers."""
    inference = opened.assessment.inference
    if inference is None:
        return []
    evidence = inference.evidence
    made = [evidence.base.mechanism, *(seen.mechanism for _, seen in evidence.margins)]
    return [
        replace(one, law=one.published_law, cut="after")
        for one in made
        if one.law.variance > 0 and math.isfinite(one.law.variance)
    ]


def _used(opened: Opened, /) -> list[str]:
    inference = opened.assessment.inference
    if inference is None:
        return []
    return [inference.cells.name, *(seen.cells.name for _, seen in inference.evidence.margins)]


def played(opened: Opened, events: int, /, *, say: Say = lambda _: None) -> dict[str, Any]:
    """What each further week adds: groups that recur, a count that recurs, losses, and what is sure about one person."""
    weeks = opened.assessment.weeks
    why = next((one.title for one in opened.assessment.checks if one.id == "more-weeks"), "")
    content = None if weeks is None else finite(weeks.to_json())
    return {"weeks": content, "why": why, "trips": events, "sure": _by_week(opened, events, say)}


def _by_week(opened: Opened, events: int, say: Say, /) -> list[dict[str, Any]]:
    """How sure the attacker is after some of the weeks, if so many trips are known of each."""
    found: list[dict[str, Any]] = []
    for week in _WEEKS:
        if found and found[-1]["low"] >= _ALWAYS:
            found.append({**found[-1], "week": week})
            continue
        say(f"week {week}")
        one = sureness(opened, events * week)
        if one is None:
            return []
        found.append({"week": week, "low": one["low"], "high": one["high"]})
    return found
