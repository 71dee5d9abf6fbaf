"""The hazards of NIST SP 800-226, each with what a release does about it, written from its card and held against it.

SP 800-226 (Near, Darais, Lefkovitz and Howarth, 2025) looks at a guarantee as a pyramid, each part resting on those below: the
parameters and the unit, the algorithm and its implementation, and what surrounds it. The hazards here are named in our own words and
ordered by those parts; what is said of one does not stand in for the text, and nothing here is a certificate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from noisegate.places import read_json
from noisegate.tables.agreement import Agreement, block_of, compared, same
from noisegate.tables.card import Card, Json

#: What the statement is called when it lies beside the tables.
HAZARDS: Final = "nist-sp-800-226.json"
STANDARD: Final = "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees, March 2025, https://doi.org/10.6028/NIST.SP.800-226"
_NOTE: Final = (
    "Hazards by the parts of the publication's pyramid, in our own words; only the publication counts. This is no certificate and no "
    "claim of conformity."
)
_MOST: Final = 1 << 20
Status = Literal["addressed", "in part", "not addressed", "a person must say"]
#: From best to worst: no statement may claim more than the card supports.
_BEST_FIRST: Final = ("addressed", "in part", "a person must say", "not addressed")


class _Dealt(NamedTuple):
    """What is done about a hazard, and the facts of the card that it rests on."""

    status: Status
    how: str
    facts: Json


class _Hazard(NamedTuple):
    id: str
    part: str
    hazard: str
    dealt: Callable[[Card], _Dealt]


def hazards_statement(card: Card, /) -> Json:
    """Each hazard, and how the release that the card describes deals with it."""
    return {
        "standard": STANDARD,
        "note": _NOTE,
        "release": card.name,
        "published": card.published,
        "software": None if card.software is None else f"{card.software.name} {card.software.version}",
        "guarantee": _guarantee(card),
        "hazards": [_entry(one, card) for one in _HAZARDS],
    }


def write_hazards(path: Path, statement: Json, /) -> None:
    """Write a statement as JSON."""
    text = json.dumps(statement, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    path.write_text(text, "utf-8")


def read_hazards(path: Path, /) -> Json:
    """The statement in a file.

    Raises
    ------
    DataError
        If it cannot be read, or is no such statement.
    """
    return read_json(path, most=_MOST, what="the statement on hazards", lists="hazards")


def hazards_against(statement: Mapping[str, Any], card: Card, /) -> Agreement:
    """In which points a statement on hazards says what the card says; it may not claim more than the card supports.

    Words may differ, as people complete them and versions of this program write others.
    """
    what = "the statement on hazards"
    guarantee = block_of(statement, "guarantee")
    points = [
        (name, guarantee.get(key), mine)
        for (key, mine), name in zip(_guarantee(card).items(), _NAMES, strict=True)
    ]
    points.append(("release", statement.get("release"), card.name))
    if card.published is not None:
        points.append(("date", statement.get("published"), card.published))
    found = compared(what, points)
    told = {str(one.get("id")): one for one in statement.get("hazards", ()) if isinstance(one, Mapping)}
    for hazard in _HAZARDS:
        mine, theirs = _entry(hazard, card), told.get(hazard.id)
        reason = f"{what} leaves it out" if theirs is None else _more_than(theirs, mine)
        if reason:
            found.bad.append(f"hazard {hazard.id}: {reason}")
        else:
            found.good.append(f"{what} says what the card supports of {hazard.id}")
    return found


def _more_than(theirs: Mapping[str, Any], mine: Json, /) -> str:
    """Why an entry claims what the card does not support; empty if it does not."""
    status, facts = theirs.get("status"), block_of(theirs, "facts")
    people = mine["status"] == "a person must say"
    if status not in _BEST_FIRST:
        return f"its status is {str(status)[:60]!r}, which is none of {', '.join(_BEST_FIRST)}"
    if not people and _BEST_FIRST.index(status) < _BEST_FIRST.index(mine["status"]):
        return f"it says '{status}', the card supports '{mine['status']}'"
    wrong = [name for name, value in mine["facts"].items() if not same(facts.get(name), value)]
    return f"{wrong[0]} is not what the card says" if wrong else ""


_NAMES = ("privacy unit", "neighbours", "variant", "epsilon", "delta")


def _guarantee(card: Card, /) -> Json:
    return {
        "privacy_unit": card.unit,
        "neighbours": card.neighbours,
        "variant": card.dp_variant,
        "epsilon": None if card.parameters is None else card.parameters.epsilon,
        "delta": None if card.parameters is None else card.parameters.delta,
    }


def _entry(hazard: _Hazard, card: Card, /) -> Json:
    dealt = hazard.dealt(card)
    return {
        "id": hazard.id,
        "part": hazard.part,
        "hazard": hazard.hazard,
        "status": dealt.status,
        "how": dealt.how,
        "facts": dealt.facts,
    }


def _epsilon(card: Card, /) -> _Dealt:
    epsilon = None if card.parameters is None else card.parameters.epsilon
    if epsilon is None:
        return _Dealt("not addressed", "No epsilon holds for all tables together.", {"epsilon": None})
    right = {one.whose: one.right for one in card.attacker}
    return _Dealt(
        "in part",
        "Epsilon is stated for all tables together, and how often the best test is right about somebody's presence follows from it. "
        "Whether that is small enough, a person must judge.",
        {"epsilon": epsilon, "best_test_right": right},
    )


def _delta(card: Card, /) -> _Dealt:
    delta = None if card.parameters is None else card.parameters.delta
    facts = {"delta": delta, "zeros": card.zeros}
    if delta == 0:
        return _Dealt("addressed", "The guarantee is pure: delta is 0.", facts)
    if delta is None or card.zeros == "keep":
        return _Dealt(
            "not addressed",
            "With probability delta the guarantee says nothing, and here that happens to whoever is alone in a cell.",
            facts,
        )
    return _Dealt(
        "in part",
        "Delta is stated; whether it is far below one in the number of people, a person must judge.",
        facts,
    )


def _unit(card: Card, /) -> _Dealt:
    person = card.losses.person
    facts = {"unit": card.unit, "person_epsilon": None if person is None else person.epsilon}
    if card.unit == "person":
        return _Dealt("addressed", "Everything that one person adds is protected together.", facts)
    if card.unit == "person-day":
        return _Dealt(
            "in part",
            "A day of a person is protected; the loss of a person grows with the days, and is stated.",
            facts,
        )
    return _Dealt(
        "not addressed",
        "Single events are protected; somebody with many events is protected the less the more there are.",
        facts,
    )


def _neighbours(card: Card, /) -> _Dealt:
    facts = {"neighbours": card.neighbours}
    if card.neighbours is None:
        return _Dealt("not addressed", "The card does not say which data sets the guarantee compares.", facts)
    return _Dealt(
        "addressed",
        "The figures hold for adding or removing one unit; replacing one by another costs twice as much.",
        facts,
    )


def _tables_together(card: Card, /) -> _Dealt:
    facts = {"tables": len(card.tables), "margins": card.margins}
    if card.margins == "independent":
        return _Dealt(
            "in part",
            "The losses of all tables are added up, but each table has noise of its own: what is common to them averages out.",
            facts,
        )
    return _Dealt(
        "addressed",
        "The losses of all tables are added up; tables that are sums of others cost nothing and agree with them.",
        facts,
    )


def _releases(card: Card, /) -> _Dealt:
    charged = card.payment.reservation is not None and not card.simulated
    facts = {"charged": charged, "population": card.payment.dataset}
    if charged:
        return _Dealt(
            "addressed",
            "Charged to a ledger of the population, which refuses what goes beyond its budget.",
            facts,
        )
    return _Dealt(
        "not addressed",
        "No ledger was charged: nothing stops a further release about the same people.",
        facts,
    )


def _bounds(card: Card, /) -> _Dealt:
    bound = card.bounding
    if bound is not None:
        facts = {"max_cells": bound.max_cells, "max_per_cell": bound.max_per_cell}
        return _Dealt(
            "addressed",
            "What one unit adds is bounded before anything is counted, and the noise fits that bound.",
            facts,
        )
    if card.unit == "event":
        return _Dealt(
            "addressed",
            "One event adds one to one cell of each table.",
            {"max_cells": None, "max_per_cell": None},
        )
    return _Dealt(
        "not addressed",
        "The card names no bound on what one unit adds.",
        {"max_cells": None, "max_per_cell": None},
    )


def _public_cells(card: Card, /) -> _Dealt:
    cells = None if card.domain is None else card.domain.cells
    if cells is None:
        return _Dealt("a person must say", "The card does not list the possible cells.", {"cells": None})
    return _Dealt(
        "addressed",
        "The possible cells are public, fixed before the events were read, and listed on the card.",
        {"cells": cells},
    )


def _zeros(card: Card, /) -> _Dealt:
    facts = {"zeros": card.zeros, "unsafe": len(card.unsafe)}
    if card.unsafe:
        return _Dealt(
            "not addressed", "The spec makes unsafe choices, each on the card with what it costs.", facts
        )
    return _Dealt("addressed", "Empty cells get noise like any other, and no unsafe choice was made.", facts)


def _arithmetic(card: Card, /) -> _Dealt:
    made = card.mechanism
    facts = {"sampler": made.sampler, "rounding": made.rounding}
    if made.sampler is None or "exact" not in made.sampler:
        return _Dealt("a person must say", "The card does not say how noise is drawn.", facts)
    return _Dealt(
        "addressed",
        "Noise is drawn and added in integers, by a sampler whose distance from the ideal law is stated.",
        facts,
    )


def _randomness(card: Card, /) -> _Dealt:
    facts = {"repeatable": card.simulated}
    if card.simulated:
        return _Dealt(
            "not addressed", "The noise is repeatable, for a demonstration: it protects nobody.", facts
        )
    return _Dealt("addressed", "Random bits come from the operating system.", facts)


def _channels(_: Card, /) -> _Dealt:
    how = (
        "Messages hold no raw count and no id, files appear all at once and in the order of the public cells. How long the making takes "
        "and what it reads is not hidden from whoever watches the machine."
    )
    return _Dealt("in part", how, {})


def _after(card: Card, /) -> _Dealt:
    facts = {"steps": list(card.post_processing)}
    if not card.post_processing:
        return _Dealt("addressed", "Nothing is done to the counts once they have noise.", facts)
    return _Dealt(
        "in part",
        "What is done to counts after the noise is listed; it costs no privacy, and it can shift small counts.",
        facts,
    )


def _error(card: Card, /) -> _Dealt:
    stated = {one.name: one.error.half_width for one in card.tables if one.error is not None}
    if not stated:
        return _Dealt("not addressed", "The card states no error.", {"half_width": {}})
    return _Dealt(
        "in part",
        "The error of a cell is stated for each table. Whether small groups are still served, a person must judge.",
        {"half_width": stated},
    )


def _people(how: str, /) -> Callable[[Card], _Dealt]:
    return lambda _: _Dealt("a person must say", how, {})


_PARAMETERS, _ALGORITHM, _AROUND = (
    "parameters and unit",
    "algorithms and their implementation",
    "trust, security and collection",
)
_HAZARDS: Final = (
    _Hazard("epsilon", _PARAMETERS, "The parameter is so large that the guarantee says little.", _epsilon),
    _Hazard("delta", _PARAMETERS, "With probability delta the guarantee fails altogether.", _delta),
    _Hazard("unit-of-privacy", _PARAMETERS, "The unit is smaller than what a person adds.", _unit),
    _Hazard("neighbours", _PARAMETERS, "It is not said which data sets are compared, so figures cannot be.", _neighbours),
    _Hazard("composition-of-tables", _PARAMETERS, "Each table keeps its promise, and all of them together do not.", _tables_together),
    _Hazard("composition-of-releases", _PARAMETERS, "Later releases about the same people spend without end.", _releases),
    _Hazard("other-data", _PARAMETERS, "The same data is also published in ways that have no guarantee.", _people("What else is published from these events is not known to the program.")),
    _Hazard("contribution-bounds", _ALGORITHM, "What one unit adds is not bounded, or the noise does not fit the bound.", _bounds),
    _Hazard("data-dependent-cells", _ALGORITHM, "Which cells are listed depends on the data.", _public_cells),
    _Hazard("unsafe-choices", _ALGORITHM, "A count is published without the noise that the guarantee needs.", _zeros),
    _Hazard("choices-from-data", _ALGORITHM, "Bounds and parameters were chosen by looking at the data.", _people("What people looked at before they wrote the spec is not known to the program.")),
    _Hazard("floating-point", _ALGORITHM, "Noise in floating point gives counts away in its last digits.", _arithmetic),
    _Hazard("randomness", _ALGORITHM, "Noise that can be foretold protects nobody.", _randomness),
    _Hazard("side-channels", _ALGORITHM, "Time, size or messages tell what the output does not.", _channels),
    _Hazard("post-processing-bias", _ALGORITHM, "What is done after the noise shifts counts, of small groups most.", _after),
    _Hazard("utility", _ALGORITHM, "The noise drowns what the release is for, for small groups first.", _error),
    _Hazard("trust-model", _AROUND, "Whoever holds the data sees all of it.", _people("The curator holds the events and adds the noise (central model); who that is and why they are trusted must be said.")),
    _Hazard("security", _AROUND, "Raw data is lost or copied, whatever the guarantee of the output.", _people("Who may read the events, the ledger and what is between is not known to the program.")),
    _Hazard("collection", _AROUND, "People are exposed by the collecting itself.", _people("What is collected, for how long, and whether people agreed is not known to the program.")),
)  # fmt: skip
