"""What the noise promises to one event, and to one person."""

from __future__ import annotations

from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.loss import Privacy
from noisegate.tables.card import Card

#: An epsilon above the first promises nothing in practice; one above the second is weak.
_NOTHING, _WEAK = 10.0, 1.0

_ADVICE = (
    "Promise something to persons, not to events: bound what one person adds (unit: person-day, max_cells), publish "
    "fewer independent tables, and choose the noise from the epsilon that is wanted."
)

_ADVICE_ONCE = (
    "Publish fewer independent tables of the same persons, and choose the noise from the epsilon that is wanted for "
    "all of them together."
)


def about_loss(privacy: Privacy, card: Card | None, /) -> list[Result]:
    """The loss of an event and of a person.

    What a card promises to persons is a fact; what only holds for events, or was never promised, is a finding.
    """
    if privacy.unbounded:
        return [_unbounded(privacy)]
    event, person = privacy.event_epsilon, privacy.person_epsilon
    if privacy.source == "card" and card is not None and card.unit != "event":
        return [_as_stated(privacy, card)]
    if event is None or person is None:
        return [
            Check(
                id="privacy-loss",
                outcome="cannot tell",
                title="the privacy loss is not known: no noise was recovered, and no card states it",
            )
        ]
    severity: Severity = "high" if person > _NOTHING else "medium" if max(event, person) > _WEAK else "low"
    stated = ["The card says so."] if privacy.source == "card" else _worked_out(privacy)
    return [
        Finding(
            id="privacy-loss",
            severity=severity,
            title=_title(privacy, event, person),
            numbers=privacy.to_json(),
            evidence=[*stated, *(f"Assumed: {one}." for one in privacy.assumes)],
            advice=_ADVICE if privacy.numbers["person_events"] != 1 else _ADVICE_ONCE,
        )
    ]


def _title(privacy: Privacy, event: float, person: float, /) -> str:
    """Both losses, the first with its interval, and how to read them."""
    count, ends = privacy.numbers["person_events"], privacy.numbers.get("event_epsilon_interval")
    stated = privacy.numbers.get("stated_delta")
    between = f" ({ends[0]:.2g} to {ends[1]:.2g})" if ends else f" (at delta {stated:.2g})" if stated else ""
    scale = f"protection is strong up to {_WEAK:g} and hardly there above {_NOTHING:g}"
    if count == 1:
        return f"Epsilon is {event:.3g}{between} for a person who is counted once; {scale}"
    return (
        f"Epsilon is {event:.3g}{between} for one event and {person:.3g} for a person with {count}; {scale}"
    )


def _worked_out(privacy: Privacy, /) -> list[str]:
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
    if "delta_if_zeros_kept" in numbers:
        said.append(
            f"If empty cells stay empty, delta is {numbers['delta_if_zeros_kept']:.3g} for one event."
        )
    return said


def _unbounded(privacy: Privacy, /) -> Finding:
    why = (
        "there is no noise"
        if "none" in privacy.numbers["laws"].values()
        else "the noise has a largest value, and a count that far off gives itself away"
    )
    return Finding(
        id="privacy-loss",
        severity="high",
        title=f"No epsilon bounds the privacy loss: {why}",
        numbers=privacy.to_json(),
        evidence=[f"Assumed: {one}." for one in privacy.assumes],
        advice="Use noise without a bound (discrete Laplace, discrete Gaussian) if differential privacy is claimed.",
    )


def _as_stated(privacy: Privacy, card: Card, /) -> Check:
    parts = [f"unit {card.unit}"]
    if privacy.event_epsilon is not None:
        parts.append(f"epsilon {privacy.event_epsilon:.3g} for an event")
    if privacy.person_epsilon is not None:
        parts.append(f"{privacy.person_epsilon:.3g} for a person")
    return Check(
        id="privacy-loss",
        outcome="known",
        title=f"the card states the privacy loss: {', '.join(parts)}",
        numbers=privacy.to_json(),
    )
