"""What the recovered noise promises: the loss of one event and of one person, over all tables together.

An event is in every table that was perturbed on its own, and each adds 1/scale to its epsilon (twice that if
one event replaces another). Where tables have dates or times, a person has many events: what is stated is the
loss of one with 40, about two weeks of commuting, if nothing bounds how many count. Tables without them
count persons, each once. Where zeros are kept, delta is the exact chance that the event shows itself in a
cell that would otherwise be empty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from noisegate.laws import make_law
from noisegate.mechanisms.composition import Contribution, composed_delta, composed_epsilon
from noisegate.mechanisms.mechanism import Mechanism, Zeros
from noisegate.mechanisms.privacy import detection
from noisegate.recovery.card import Card
from noisegate.recovery.noise import Noise
from noisegate.recovery.outcome import NoiseFit
from noisegate.tables.dimension import Kind
from noisegate.tables.table import Table

#: Events of the person whose loss is stated, where tables have dates or times.
PERSON_EVENTS = 40
#: The delta at which laws without a pure epsilon, and tight compositions, are stated.
STATED_DELTA = 1e-6
#: A law is named without doubt from this probability on.
CLEAR_LAW = 0.95
_GROUPS = (1, 5, 12)
#: Laws whose epsilon cannot be composed: noise that is bounded gives no epsilon at all.
_BOUNDED = ("uniform", "random-rounding", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """The loss of one event and of one person.

    Attributes
    ----------
    event_epsilon, person_epsilon, delta
        For one event added or removed, for a person (see `person_events`), and the exact delta of the
        event at its epsilon. None where it is not known, or where no number bounds it.
    source
        `recovered` from the tables, or as stated on the `card`.
    tables
        What each table adds to the epsilon of an event: 1/scale of Laplace noise for every cell that it
        is in. Other noise has no epsilon of its own to add.
    numbers
        Everything else, by name.
    assumes
        What had to be assumed.
    """

    event_epsilon: float | None = None
    person_epsilon: float | None = None
    delta: float | None = None
    source: Literal["recovered", "card"] | None = None
    unbounded: bool = False
    tables: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "event_epsilon": self.event_epsilon,
            "person_epsilon": self.person_epsilon,
            "delta": self.delta,
            "source": self.source,
            "unbounded": self.unbounded,
            "tables": dict(self.tables),
            **self.numbers,
            "assumes": list(self.assumes),
        }


def privacy_of(
    tables: Sequence[Table], noise: Mapping[str, Noise], /, *, zeros: Zeros | None, card: Card | None = None
) -> Privacy:
    """The loss of an event that is in all of `tables`, and of a person.

    Parameters
    ----------
    tables
        The tables that add to the loss.
    zeros
        What happens to zeros; None if it is not known.
    card
        A card that can be relied on: its own statement is exact, and knows what a person may add.
    """
    if card is not None:
        return _from_card(card)
    used, assumes = _noise_used(tables, noise)
    if not used:
        return Privacy()
    if any(fit.law in _BOUNDED for fit in used.values()):
        laws = {name: fit.law for name, fit in used.items()}
        return Privacy(source="recovered", unbounded=True, numbers={"laws": laws}, assumes=tuple(assumes))
    cuts, assumed = _cuts_used(tables)
    records = {name: cells_of_an_event(noise[name]) for name in used}
    kept = [
        Contribution(mechanism=mechanism_of(used[name], least=cuts[name], zeros="keep"), cells=records[name])
        for name in used
    ]
    perturbed = [replace(one, mechanism=replace(one.mechanism, zeros="perturb")) for one in kept]
    loss = _composed(kept if zeros == "keep" else perturbed, zeros=zeros, person_events=person_events(tables))
    loss["numbers"]["event_epsilon_interval"] = _interval(used, records)
    if zeros is None and cuts[tables[0].name] is not None:
        loss["numbers"]["delta_if_zeros_kept"] = composed_delta(kept, loss["event_epsilon"]).upper
    return Privacy(
        source="recovered",
        tables={name: records[name] / fit.scale for name, fit in used.items() if "laplace" in fit.law},
        assumes=(*assumes, *_said(records), *(() if zeros == "perturb" else assumed)),
        **loss,
    )


def cells_of_an_event(noise: Noise, /) -> int:
    """How many cells of a table one event is in: one, and more where stated identities make some cells totals."""
    stated = Counter(one.dimension for one in noise.sets if one.kind == "identity" and one.dimension)
    return math.prod(1 + number for number in stated.values())


def _said(records: Mapping[str, int], /) -> list[str]:
    """What the numbers of cells rest on, in words."""
    return [f"an event is in {n} cells of {name}, parts and totals" for name, n in records.items() if n > 1]


def person_events(tables: Sequence[Table], /) -> int:
    """How many events the person has whose loss is stated: one, unless the tables say when events happened."""
    when = (Kind.DATE, Kind.TIME)
    dated = any(dimension.kind in when for cells in tables for dimension in cells.dimensions)
    return PERSON_EVENTS if dated else 1


def _interval(used: Mapping[str, NoiseFit], records: Mapping[str, int], /) -> tuple[float, float] | None:
    """The epsilon of an event with every scale at its upper, and at its lower end; of Laplace noise alone."""
    if not all("laplace" in fit.law and fit.interval[0] > 0 for fit in used.values()):
        return None
    least, most = (sum(records[name] / fit.interval[end] for name, fit in used.items()) for end in (1, 0))
    return least, most


def _noise_used(
    tables: Sequence[Table], noise: Mapping[str, Noise], /
) -> tuple[dict[str, NoiseFit], list[str]]:
    """The noise of each table, and what had to be assumed about it; empty if none is known."""
    fits = {cells.name: noise[cells.name].fit for cells in tables}
    known = next((fit for fit in fits.values() if fit is not None), None)
    if known is None:
        return {}, []
    assumed = [name for name, fit in fits.items() if fit is None]
    assumes = [f"{' and '.join(assumed)}: noise as in {known.table}"] if assumed else []
    if known.law != "none" and known.certainty < CLEAR_LAW:
        assumes.append(f"the law is {known.law}, which is not clear from so few identities")
    return {name: fit if fit is not None else known for name, fit in fits.items()}, assumes


def _cuts_used(tables: Sequence[Table], /) -> tuple[dict[str, float | None], list[str]]:
    """The cut of each table; where one shows neither an edge nor zeros, that of the first one."""
    cuts = {cells.name: cells.threshold.value for cells in tables}
    shows = {cells.name: float(cells.values.min()) if cells.values.size else 0.0 for cells in tables}
    first = cuts[tables[0].name]
    unseen = [name for name, cut in cuts.items() if cut is None and shows[name] > 0]
    if first is None or not unseen:
        return cuts, []
    return {**cuts, **dict.fromkeys(unseen, first)}, [f"{' and '.join(unseen)}: cut as in {tables[0].name}"]


def mechanism_of(fit: NoiseFit, /, *, least: float | None, zeros: Zeros) -> Mechanism:
    """How the counts of a table were made: recovered noise, and the least count that it shows."""
    return Mechanism(
        law=make_law(fit.law, scale=fit.scale),
        rounding=fit.rounding,
        threshold=None if least is None else max(least, 0.0),
        rule="ge",
        zeros=zeros,
    )


def _composed(
    event_parts: Sequence[Contribution], /, *, zeros: Zeros | None, person_events: int
) -> dict[str, Any]:
    """Epsilon and delta of an event and of a person, over all tables."""
    person = [replace(one, cells=one.cells * person_events) for one in event_parts]
    bounds = [one.cells * one.mechanism.law.loss_bound(1) for one in event_parts]
    pure = all(map(math.isfinite, bounds))
    if pure:
        event, whole = sum(bounds), person_events * sum(bounds)
    else:
        event = composed_epsilon(event_parts, STATED_DELTA).upper
        whole = composed_epsilon(person, STATED_DELTA).upper
    exact = pure and zeros == "perturb"
    person_delta = 0.0 if exact else composed_delta(person, whole).upper
    tight = min(max(STATED_DELTA, 2 * person_delta), 0.5)
    numbers = {
        "neighbours": "add-remove",
        "stated_delta": 0.0 if pure else STATED_DELTA,
        "event_epsilon_replace": 2 * event if pure else None,
        "person_events": person_events,
        "person_epsilon_replace": 2 * whole if pure else None,
        "person_delta": None if zeros is None else person_delta,
        "person_epsilon_tight": composed_epsilon(person, tight).upper,
        "person_tight_delta": tight,
        "detection": {str(group): detection(event_parts[0].mechanism, group) for group in _GROUPS},
    }
    delta = None if zeros is None else 0.0 if exact else composed_delta(event_parts, event).upper
    return {"event_epsilon": event, "person_epsilon": whole, "delta": delta, "numbers": numbers}


def _from_card(card: Card, /) -> Privacy:
    return Privacy(
        event_epsilon=card.event_epsilon,
        person_epsilon=card.person_epsilon,
        delta=card.delta,
        source="card",
        numbers={
            "unit": card.unit,
            "person_events": card.person_events,
            "event_epsilon_replace": None if card.event_epsilon is None else 2 * card.event_epsilon,
        },
    )
