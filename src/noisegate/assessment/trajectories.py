"""Whether people can be followed from place to place through counts of who is where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.inquiry import Words
from noisegate.assessment.microdata import PersonEvents
from noisegate.assessment.movement import (
    MOST_FOLLOWED,
    MovementScore,
    as_closed,
    places_apart,
    recover_trajectories,
    score_trajectories,
)
from noisegate.tables import Dimension, Kind, Table, label_code

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Totals that differ by more than this from time to time, beyond noise, are not of the same people.
_CLOSED = 0.1
#: The attack works if it is right about this share of what the null models miss, and works well from the second on.
_WORKS, _WELL = 0.05, 0.25

_ADVICE = (
    "Publish counts of who is where in wider times and places, and with noise that hides a person for a whole day (unit: person-day), "
    "not each count by itself: then following people says no more than that they stay."
)

WORDS: Mapping[str, Words] = {
    "trajectories": Words(
        says="Whether people can be followed through counts of who is where at every time.",
        meaning="The ways of single people can be put together from counts in which nobody is named.",
        method=(
            "Every person is assigned a place at every time such that all counts are met and ways are short; days are put together so that the "
            "places visited become least mixed (Xu and others, 2017). With the raw data, what is right is the share of points in which a recovered way "
            "agrees with the person it fits best. Beside it stand people who are put into places at random with the same counts, and people who "
            "stay where people are on average; the better of the two counts as the baseline."
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Movement:
    """What came of following people through the base.

    Attributes
    ----------
    reason
        Why nobody was followed; empty if somebody was.
    people, times, places
        How many people are in the counts, at how many times, in how many places.
    moves
        The share of steps in which a recovered person changes place.
    score
        How right it is; None without raw data that say who was where at every time.
    unscored
        Why it is not known how right it is; empty if it is.
    """

    reason: str = ""
    people: int = 0
    times: int = 0
    places: int = 0
    moves: float = 0.0
    score: MovementScore | None = None
    unscored: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "people": self.people,
            "times": self.times,
            "places": self.places,
            "moves": round(self.moves, 4),
            **({} if self.score is None else self.score.to_json()),
        }


def follow(base: Table, /, *, noise_sd: float = 0.0, events: PersonEvents | None = None) -> Movement:
    """Follow people through a table of who is where at every time, as far as it is one."""
    found = _who_is_where(base)
    if isinstance(found, str):
        return Movement(reason=found)
    counts, place, per_day = found
    truth = None if events is None else _true_ways(events, place, counts.shape[0], base)
    totals = counts.sum(axis=1)
    middle = float(np.median(totals))
    wide = 3 * noise_sd * np.sqrt(counts.shape[1])
    if np.abs(totals - middle).max() > _CLOSED * middle + wide:
        ends = f"between {totals.min():,.0f} and {totals.max():,.0f}"
        return Movement(
            reason=f"the total is {ends} from time to time, so these are not the same people throughout: events are counted, or people "
            "come and go, and nobody can be followed that way"
        )
    people = len(truth) if isinstance(truth, np.ndarray) else round(middle)
    if not 0 < people <= MOST_FOLLOWED:
        return Movement(
            reason=f"counts of about {people:,} people were found; from 1 to {MOST_FOLLOWED:,} can be followed"
        )
    closed = as_closed(counts, people=people)
    ways = recover_trajectories(closed, distance=places_apart(place.labels), per_day=per_day)
    moves = float((ways[:, 1:] != ways[:, :-1]).mean()) if ways.shape[1] > 1 else 0.0
    shape = {"people": people, "times": counts.shape[0], "places": counts.shape[1], "moves": moves}
    if not isinstance(truth, np.ndarray):
        missing = "give the raw events with --truth and --person" if truth is None else truth
        return Movement(**shape, unscored=missing)
    score = score_trajectories(ways, truth, closed, rng=np.random.default_rng(0))
    return Movement(**shape, score=score)


def _who_is_where(base: Table, /) -> tuple[Floats, Dimension, int] | str:
    """Counts by time and place, the place, and how many times a day has; or why the table is none of who is where."""
    when = [at for at, d in enumerate(base.dimensions) if d.kind in (Kind.DATE, Kind.TIME)]
    places = sorted(
        (at for at in range(len(base.dimensions)) if at not in when), key=lambda at: -base.dimensions[at].size
    )
    if not any(base.dimensions[at].kind is Kind.TIME for at in when) or not places:
        return "it takes a time of day and a place, and the table has not both"
    place = places[0]
    order = sorted(when, key=lambda at: base.dimensions[at].kind is Kind.TIME)
    sizes = [base.dimensions[at].size for at in order]
    codes = base.codes(base.cells)
    slot = np.zeros(base.cells.size, np.int64)
    for at, size in zip(order, sizes, strict=True):
        rank = np.argsort(np.argsort(base.dimensions[at].ordinals, kind="stable"), kind="stable")
        slot = slot * size + rank[codes[at]]
    counts = np.zeros((int(np.prod(sizes)), base.dimensions[place].size))
    np.add.at(counts, (slot, codes[place]), np.maximum(base.values.astype(float), 0.0))
    return counts, base.dimensions[place], sizes[-1]


def _true_ways(events: PersonEvents, place: Dimension, times: int, base: Table, /) -> Ints | str:
    """Where every person was at every time; or why the raw events do not say it."""
    step = next((d.step for d in base.dimensions if d.kind is Kind.TIME and d.step), None)
    if step is None or not events.labels:
        return "the times of the table have no common width"
    onto = np.array([_code(label, place) for label in events.labels], np.int64)
    slot, where = events.minute // step, onto[events.place]
    who = np.repeat(np.arange(events.events.size), events.events)
    good = (where >= 0) & (slot < times)
    ways = np.full((events.events.size, times), -1, np.int64)
    ways[who[good], slot[good]] = where[good]
    if (ways < 0).mean() > 1 - _SEEN:
        return "the raw events do not say where people are at most times"
    # Between two events people are where they were last seen.
    for at in range(1, times):
        ways[:, at] = np.where(ways[:, at] < 0, ways[:, at - 1], ways[:, at])
    return ways[(ways >= 0).all(axis=1)]


#: The share of times at which raw events must say where people are.
_SEEN = 0.5


def _code(label: str, place: Dimension, /) -> int:
    found = label_code(label, place.labels, keys=place.keys)
    return -1 if found is None else found


def ask(facts: Facts, /) -> list[Result]:
    """Whether people can be followed, if somebody asked."""
    return [] if facts.movement is None else about_movement(facts.movement)


def about_movement(found: Movement, /) -> list[Result]:
    """A finding where following people tells more than the null models; a check where it does not, or does not apply."""
    if found.reason:
        return [Check(id="trajectories", outcome="cannot tell", title=f"nobody was followed: {found.reason}")]
    if found.score is None:
        title = f"{found.people:,} people were followed through {found.times:,} times; how right that is cannot be told: {found.unscored}"
        return [Check(id="trajectories", outcome="cannot tell", title=title, numbers=found.to_json())]
    score = found.score
    told = f"{100 * score.right:.1f} % of where {score.persons:,} people were at {score.times:,} times"
    null = f"{100 * score.null:.1f} %"
    if score.gain < _WORKS:
        title = f"following people tells {told}, and people who are put anywhere or stay put {null}: it tells nothing more"
        return [Check(id="trajectories", outcome="fine", title=title, numbers=found.to_json())]
    severity: Severity = "high" if score.gain >= _WELL else "medium"
    return [
        Finding(
            id="trajectories",
            severity=severity,
            title=f"Following people through the counts tells {told}; without following anybody it would be {null}",
            numbers=found.to_json(),
            baseline={
                "from": "the better of people at random and people who stay",
                "right": round(score.null, 4),
            },
            evidence=[
                f"Put at random with the same counts: {100 * score.random:.1f} %. Staying where people are on average: {100 * score.staying:.1f} %.",
                f"A recovered person changes place in {100 * found.moves:.1f} % of all steps.",
            ],
            assumptions=("the same people are counted at every time",),
            advice=_ADVICE,
        )
    ]


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
