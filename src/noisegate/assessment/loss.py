"""What the noise promises: the loss of one event and of one person, over all tables together.

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
from typing import TYPE_CHECKING, Any, Literal

from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.inquiry import Words
from noisegate.errors import SpecError
from noisegate.laws import make_law
from noisegate.mechanisms import (
    PERSONS,
    Contribution,
    Mechanism,
    Zeros,
    certainty,
    composed_delta,
    composed_epsilon,
    detection,
    success_bound,
)
from noisegate.recovery import UNBOUNDED_KINDS, Noise, NoiseFit, Recognition
from noisegate.tables import Card, Kind, Table

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: Events of the person whose loss is stated, where tables have dates or times.
PERSON_EVENTS = 40
#: The delta at which laws without a pure epsilon, and tight compositions, are stated.
STATED_DELTA = 1e-6
#: A law is named without doubt from this probability on.
CLEAR_LAW = 0.95
_GROUPS = (1, 5, 12)
#: Laws whose epsilon cannot be composed: noise that is bounded gives no epsilon at all.
_BOUNDED = ("uniform", "random-rounding", "none")
#: Kinds of noise without an epsilon, whether or not a scale was recovered.
_WITHOUT_EPSILON = ("growing", "bounded", "uniform")


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSummary:
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
) -> LossSummary:
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
        return LossSummary()
    if any(fit.law in _BOUNDED for fit in used.values()):
        numbers: dict[str, Any] = {"laws": {name: fit.law for name, fit in used.items()}}
        if all(fit.law != "none" for fit in used.values()):
            made = [
                Contribution(
                    mechanism=mechanism_of(fit, least=None, zeros="perturb"),
                    cells=cells_of_an_event(noise[name]),
                )
                for name, fit in used.items()
            ]
            numbers["certainty"] = _certainties(made, person_events(tables))
        return LossSummary(source="recovered", unbounded=True, numbers=numbers, assumes=tuple(assumes))
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
    return LossSummary(
        source="recovered",
        tables={name: records[name] / fit.scale for name, fit in used.items() if "laplace" in fit.law},
        assumes=(*assumes, *_said(records), *(() if zeros == "perturb" else assumed)),
        **loss,
    )


def conditional(loss: LossSummary, recognised: Sequence[Recognition], /) -> LossSummary:
    """The loss with the condition that it rests on: that the noise has no largest value, which no sample proves (MATH 8).

    Where a law with a bound explains the tables as well there is none, and none where values are rounded or stand as counted. What there is
    then is the least that delta can be.
    """
    found = _conditional(loss, recognised)
    deltas = [one.least_delta for one in recognised if one.least_delta is not None]
    if not found.unbounded or found.numbers.get("doubt") or not deltas:
        return found
    return replace(found, numbers={**found.numbers, "delta_at_least": float(f"{max(deltas):.3g}")})


def _conditional(loss: LossSummary, recognised: Sequence[Recognition], /) -> LossSummary:
    if loss.source is None and recognised and (recognised[0].rounded or recognised[0].raw_counts):
        laws = {one.table: one.kind for one in recognised}
        counted = {"as_counted": True} if recognised[0].raw_counts else {}
        return LossSummary(
            source="recovered", unbounded=recognised[0].rounded, numbers={"laws": laws, **counted}
        )
    if loss.source is None and recognised and recognised[0].kind in _WITHOUT_EPSILON:
        return _no_epsilon(loss, recognised, recognised[0])
    if loss.source != "recovered" or loss.unbounded or loss.event_epsilon is None:
        return loss
    known = [one for one in recognised if one.excluded is not None or one.rounded or one.kind == "growing"]
    telling = max(known, key=lambda one: one.n, default=None)
    if telling is None or not telling.has_epsilon or telling.excluded is None:
        return _no_epsilon(loss, recognised, telling)
    condition = {
        "law": telling.kind,
        "excluded_up_to": telling.excluded.bound,
        "delta_beyond": float(f"{telling.excluded.beyond:.3g}"),
        "strong": telling.excluded.strong,
        "fair": telling.excluded.fair,
    }
    return replace(loss, numbers={**loss.numbers, "condition": condition})


def _no_epsilon(
    loss: LossSummary, recognised: Sequence[Recognition], telling: Recognition | None, /
) -> LossSummary:
    """That no epsilon is stated, and why: noise with a bound, noise that grows, or it cannot be told."""
    numbers: dict[str, Any] = {"laws": {one.table: one.kind for one in recognised}}
    if telling is None:
        numbers |= {"doubt": True, "excluded_up_to": 0}
    elif telling.kind == "growing":
        numbers["grows"] = True
    elif telling.kind == "unknown" or telling.kind in UNBOUNDED_KINDS:
        out = telling.excluded
        numbers |= {"doubt": True, "excluded_up_to": 0 if out is None else out.bound}
        if telling.kind in UNBOUNDED_KINDS and out is not None and out.stops is not None and out.stops.counts:
            numbers |= {"law": telling.kind, "may_stop_at": out.stops.bound}
    return LossSummary(source="recovered", unbounded=True, numbers=numbers, assumes=loss.assumes)


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
        "certainty": _certainties(event_parts, person_events),
    }
    delta = None if zeros is None else 0.0 if exact else composed_delta(event_parts, event).upper
    return {"event_epsilon": event, "person_epsilon": whole, "delta": delta, "numbers": numbers}


def _certainties(event_parts: Sequence[Contribution], person_events: int, /) -> list[dict[str, Any]]:
    """How often the best test is right about persons whose events are known: each event in cells of its own, in all tables."""
    asked = {"one event": 1} if person_events == 1 else PERSONS
    return [
        {
            "who": who,
            "events": events,
            "right": certainty([replace(one, cells=one.cells * events) for one in event_parts]).upper,
            "guessing": 0.5,
        }
        for who, events in asked.items()
    ]


def _from_card(card: Card, /) -> LossSummary:
    return LossSummary(
        event_epsilon=card.event_epsilon,
        person_epsilon=card.person_epsilon,
        delta=card.delta,
        source="card",
        numbers={
            "unit": card.unit,
            "person_events": card.person_events,
            "event_epsilon_replace": None if card.event_epsilon is None else 2 * card.event_epsilon,
            **({"certainty": _stated_certainties(card)} if card.attacker or card.losses.event else {}),
        },
    )


def _stated_certainties(card: Card, /) -> list[dict[str, Any]]:
    """What the card says of an attacker; if it says nothing, what its losses allow at most."""
    if card.attacker:
        return [{"who": one.whose, "right": one.right, "guessing": one.guessing} for one in card.attacker]
    losses = {
        "one event": card.losses.event,
        "one person-day": card.losses.person_day,
        "one person": card.losses.person,
    }
    return [
        {
            "who": who,
            "right": success_bound(float(loss.epsilon), delta=float(loss.delta or 0.0)),
            "guessing": 0.5,
        }
        for who, loss in losses.items()
        if loss is not None and loss.epsilon is not None
    ]


#: An epsilon above the first promises nothing in practice; one above the second is weak.
_NOTHING, _WEAK = 10.0, 1.0
#: Above this, what is promised for each day is worn out over all days together.
_WORN_OUT = 100.0
#: Above this, a promise for each day is weak.
_WEAK_DAY = 3.0

_ADVICE = (
    "Promise something to persons, not to events: bound what one person adds (unit: person-day, max_cells), publish "
    "fewer independent tables, and choose the noise from the epsilon that is wanted."
)

_ADVICE_ONCE = (
    "Publish fewer independent tables of the same persons, and choose the noise from the epsilon that is wanted for "
    "all of them together."
)

WORDS: Mapping[str, Words] = {
    "privacy-loss": Words(
        says="Epsilon of an event and of a person.",
        meaning="What the noise promises to the people behind the counts is weak, nothing, or rests on a condition.",
        method=(
            "One event is in every table that was perturbed on its own; each adds its own loss. The loss of a "
            "person is that of as many events as stated, first in the worst case, then by exact composition of "
            "the privacy loss distributions. Neighbours differ by one event added or removed, unless it says "
            "otherwise."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """The loss of an event and of a person."""
    return about_loss(facts.privacy, facts.card)


def about_loss(privacy: LossSummary, card: Card | None, /) -> list[Result]:
    """The loss of an event and of a person.

    What a card promises to persons is a fact; what only holds for events, or was never promised, is a finding.
    """
    if privacy.unbounded:
        return [_unbounded(privacy)]
    if privacy.numbers.get("as_counted"):
        title = "no epsilon bounds the privacy loss: counts stand as they were counted"
        return [Check(id="privacy-loss", outcome="known", title=title, numbers=privacy.to_json())]
    event, person = privacy.event_epsilon, privacy.person_epsilon
    if privacy.source == "card" and card is not None and card.unit != "event":
        return _as_stated(privacy, card)
    if event is None or person is None:
        return [
            Check(
                id="privacy-loss",
                outcome="cannot tell",
                title="the privacy loss is not known: no noise was recovered, and no card states it",
            )
        ]
    severity: Severity = "high" if person > _NOTHING else "medium" if max(event, person) > _WEAK else "low"
    condition = privacy.numbers.get("condition")
    if condition is not None and not condition["strong"] and severity == "high":
        severity = "medium" if condition["fair"] else "low"  # what rests on a weak condition does not lead
    stated = ["The card says so."] if privacy.source == "card" else _worked_out(privacy)
    right = success_bound(event, delta=privacy.numbers.get("stated_delta") or 0.0)
    said = _said_certainty(privacy) or [
        f"At even odds beforehand, a guess whether one event is in is right with probability {right:.3g} at most."
    ]
    return [
        Finding(
            id="privacy-loss",
            severity=severity,
            title=_title(privacy, event, person),
            numbers={**privacy.to_json(), "best_guess": float(f"{right:.4g}")},
            baseline={"from": "a guess without the tables", "right": 0.5},
            evidence=[*stated, *said],
            assumptions=privacy.assumes,
            advice=_ADVICE if privacy.numbers["person_events"] != 1 else _ADVICE_ONCE,
        )
    ]


def _said_certainty(privacy: LossSummary, /) -> list[str]:
    """An attacker's certainty in one sentence, with its baseline."""
    found = privacy.numbers.get("certainty")
    if not found:
        return []
    parts = [
        f"{100 * one['right']:.1f} % about {one['who']}"
        + (f" ({one['events']} events)" if one.get("events", 1) > 1 else "")
        for one in found
    ]
    who = "Is a person in the data? Somebody who knows the person's events and everything else is right with the best test at most"
    return [f"{who} {', '.join(parts)}; by tossing a coin 50 %."]


def _title(privacy: LossSummary, event: float, person: float, /) -> str:
    """Both losses, the first with its interval, and how to read them."""
    count, ends = privacy.numbers["person_events"], privacy.numbers.get("event_epsilon_interval")
    condition = privacy.numbers.get("condition")
    if_so, scale = "Epsilon is", f"protection is strong up to {_WEAK:g} and hardly there above {_NOTHING:g}"
    if condition is not None:
        if_so = f"If the noise is {condition['law'].capitalize()}, epsilon is"
        scale = f"noise within ±{condition['excluded_up_to']} is excluded, wider is not; {scale}"
    stated = privacy.numbers.get("stated_delta")
    between = f" ({ends[0]:.2g} to {ends[1]:.2g})" if ends else f" (at delta {stated:.2g})" if stated else ""
    if count == 1:
        return f"{if_so} {event:.3g}{between} for a person who is counted once; {scale}"
    return f"{if_so} {event:.3g}{between} for one event and {person:.3g} for a person with {count}; {scale}"


def _worked_out(privacy: LossSummary, /) -> list[str]:
    """Where the numbers come from, in words."""
    numbers = privacy.numbers
    terms = " + ".join(f"{cost:.3g} ({name})" for name, cost in privacy.tables.items())
    if numbers["stated_delta"]:
        said = [
            f"This noise has no epsilon with delta 0; all are stated at delta {numbers['stated_delta']:.2g}."
        ]
    else:
        said = [f"One event, added or removed: {terms}."]
    if numbers["event_epsilon_replace"] is not None:
        said.append(f"One event that replaces another: {numbers['event_epsilon_replace']:.3g}.")
    if numbers["person_events"] > 1 and not numbers["stated_delta"]:
        said.append(
            f"A person with {numbers['person_events']} events, if nothing bounds what a person adds: "
            f"{privacy.person_epsilon:.3g} in the worst case, {numbers['person_epsilon_tight']:.3g} at delta "
            f"{numbers['person_tight_delta']:.2g} by exact composition."
        )
    condition = numbers.get("condition")
    if condition is not None:
        said.insert(
            0,
            f"No sample proves that noise has no largest value: laws that never exceed ±{condition['excluded_up_to']} are excluded, "
            f"a wider one would have a delta of about {condition['delta_beyond']:.2g} at any epsilon.",
        )
    if "delta_if_zeros_kept" in numbers:
        said.append(
            f"If empty cells stay empty, delta is {numbers['delta_if_zeros_kept']:.3g} for one event."
        )
    return said


def _unbounded(privacy: LossSummary, /) -> Finding:
    """That there is no epsilon, and why: without noise a weakness, with a bounded one a fact that analysts should know."""
    laws = set(privacy.numbers["laws"].values())
    within = "Within its bound such noise hides who is in a count from somebody who knows little else."
    if "none" in laws:
        severity: Severity = "high"
        title = "No epsilon bounds the privacy loss: there is no noise"
    elif privacy.numbers.get("doubt"):
        severity, (title, within) = "low", _doubted(privacy.numbers)
    elif privacy.numbers.get("grows"):
        severity = "medium"
        title = "No epsilon bounds the privacy loss: the noise depends on the count, and so tells of it"
        within = "Noise that grows with the count is small where counts are small."
    elif laws & {"nearest-rounding", "rounding", "graded-rounding"}:
        severity = "low"
        title = "No epsilon bounds the privacy loss: values are rounded, and so each raw count is known to within the base"
        within = "Rounding hides who is in a count from somebody who knows little else, and gives the same answer every time."
    else:
        severity = "medium"
        title = "No epsilon bounds the privacy loss: the noise has a largest value, and a count that far off gives itself away"
    return Finding(
        id="privacy-loss",
        severity=severity,
        title=title,
        numbers=privacy.to_json(),
        assumptions=privacy.assumes,
        baseline={"from": "noise without a bound, of which no count gives itself away", "delta": 0.0},
        evidence=[] if "none" in laws else [within, *_least(privacy), *_said_certainty(privacy)],
        advice="Use noise without a bound (discrete Laplace, discrete Gaussian) if differential privacy is claimed.",
    )


def _least(privacy: LossSummary, /) -> list[str]:
    """What delta is at least, in words."""
    delta = privacy.numbers.get("delta_at_least")
    if delta is None:
        return []
    if delta >= 1:
        return [
            "Where a count stands at the edge of what is rounded alike, one person more shows for certain."
        ]
    return [
        f"Delta is at least {delta:.2g} at any epsilon: so often one person more leads to a value that could not be published without."
    ]


def _doubted(numbers: Mapping[str, Any], /) -> tuple[str, str]:
    """That noise with a bound is not excluded, and up to which bound it is."""
    excluded, stop = numbers.get("excluded_up_to"), numbers.get("may_stop_at")
    title = "noise with a bound explains the tables as well as noise without one, and a bounded one has none"
    upto = f"only laws that never exceed ±{excluded}" if excluded else "no law with a bound"
    said = f"These tables exclude {upto}. If the noise has a bound, a count that far off gives itself away."
    if stop is not None:
        law = numbers["law"].capitalize()
        title = f"noise that stops at ±{stop} or beyond fits as well as {law} noise, and has none"
        said = f"It is called {law} noise as that is likelier. {said}"
    return f"There is no epsilon to state: {title}", said


#: For who keeps to days already.
_ADVICE_DAYS = (
    "What is promised for each day adds up over the days: promise it to persons (unit: person) or for fewer days, or choose a smaller epsilon "
    "for the day; the card should state the sum."
)


def _as_stated(privacy: LossSummary, card: Card, /) -> list[Result]:
    """What a card promises to persons: a fact if it is strong, a finding like a recovered one if it is not."""
    parts = [f"unit {card.unit}"]
    if privacy.event_epsilon is not None:
        parts.append(f"epsilon {privacy.event_epsilon:.3g} for an event")
    if privacy.person_epsilon is not None:
        parts.append(f"{privacy.person_epsilon:.3g} for a person")
    title = f"the card states the privacy loss: {', '.join(parts)}"
    severity = _of_promise(card, privacy.person_epsilon or 0.0)
    if severity is None:
        return [
            Check(
                id="privacy-loss",
                outcome="known",
                title=title,
                numbers=privacy.to_json(),
                evidence=_said_certainty(privacy),
            )
        ]
    return [
        Finding(
            id="privacy-loss",
            severity=severity,
            title=f"T{title[1:]}; protection is strong up to {_WEAK:g} and hardly there above {_NOTHING:g}",
            numbers=privacy.to_json(),
            baseline={"from": "a promise that is called strong", "epsilon": _WEAK},
            evidence=["The card says so.", *_said_certainty(privacy)],
            advice=_ADVICE_DAYS if card.unit == "person-day" else _ADVICE,
        )
    ]


def _of_promise(card: Card, person: float, /) -> Severity | None:
    """How severe what a card promises is: by the same ends as what is recovered; None if it is strong.

    A promise for each day is judged by the day, and weak from about three on; over all days together it may be ten times weaker.
    """
    if card.unit != "person-day":
        return "high" if person > _NOTHING else "medium" if person > _WEAK else None
    day = card.losses.person_day
    promised = 0.0 if day is None or day.epsilon is None else float(day.epsilon)
    if promised > _NOTHING or person > _WORN_OUT:
        return "high"
    return "medium" if promised > _WEAK_DAY or person > _NOTHING else None


def shown_mechanism(assessment: Assessment, /) -> Mechanism | None:
    """How the base was made, recovered or else as stated; None if that is not known or does not publish integers.

    Where it is not known whether zeros are kept, they are taken to be: the worse case.
    """
    zeros: Zeros = "perturb" if assessment.zeros.rule == "perturb" else "keep"
    base, inference = assessment.tables[0], assessment.inference
    fit, made = base.noise.fit, base.recognition
    if fit is not None:
        if fit.law == "none" or (made is not None and made.kind == "bounded"):
            return None
        try:
            mechanism = mechanism_of(fit, least=base.summary.threshold.value, zeros=zeros)
        except SpecError:
            return None
    elif inference is not None and hasattr(inference.evidence.base.mechanism.law, "scale"):
        mechanism = replace(inference.evidence.base.mechanism, zeros=zeros, cut="after")
    else:
        return None
    return mechanism if mechanism.integers else None


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
