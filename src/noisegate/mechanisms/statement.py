"""Everything that is exact about a mechanism, as plain values: what `noisegate mechanism` prints and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from noisegate.errors import SpecError
from noisegate.mechanisms.best_test import certainty
from noisegate.mechanisms.composition import Contribution
from noisegate.mechanisms.mechanism import Mechanism, describe
from noisegate.mechanisms.privacy import delta, detection, pure_epsilon, verdict

#: Group sizes for which detection is stated.
GROUPS = (1, 2, 5, 10, 12, 17)
#: Persons about whom an attacker's certainty is stated, and the events of theirs that are known.
PERSONS = {"one event": 1, "a day": 4, "a commuter": 40, "a heavy traveller": 100}
#: Most events that certainty is worked out for.
_MOST_EVENTS = 10_000


def statement(
    mechanism: Mechanism,
    /,
    *,
    points: int = 25,
    prior: float = 0.5,
    events: Sequence[int] = (),
    others: int | None = None,
) -> dict[str, Any]:
    """Guarantee, exact delta at epsilon = 1/scale, privacy curve, detection by group size, an attacker's certainty.

    Assumes one event in one cell of one table, added or removed; for certainty a person with several, each in a cell of its own,
    or all in the same one. `prior` is how likely it is beforehand that the person is in, `events` are further numbers of events
    beside those of `PERSONS`, and `others` the people beside the person in each cell (None: the worst case over all data).
    """
    reference = 1 / float(getattr(mechanism.law, "scale", 1.0))
    epsilons = np.linspace(0, 3 * reference, points)
    deltas = delta(mechanism, epsilons)
    pure = pure_epsilon(mechanism)
    kind, sentence = verdict(mechanism)
    return {
        "mechanism": describe(mechanism),
        "neighbours": "add-remove",
        "pure": pure is not None,
        "epsilon": pure,
        "delta": float(delta(mechanism, reference)),
        "delta_at_epsilon": reference,
        "curve": [{"epsilon": float(e), "delta": float(d)} for e, d in zip(epsilons, deltas, strict=True)],
        "detection": [{"group": g, "probability": detection(mechanism, g)} for g in GROUPS],
        "certainty": _certainties(mechanism, events, prior, others),
        "certainty_assumes": {"prior": prior, "others": others},
        "guarantee": kind,
        "verdict": sentence,
    }


def _certainties(
    mechanism: Mechanism, events: Sequence[int], prior: float, others: int | None, /
) -> list[dict[str, Any]] | None:
    """None where the privacy of the noise is not known."""
    names = {number: who for who, number in PERSONS.items()}
    if any(isinstance(n, bool) or n != int(n) or not 1 <= n <= _MOST_EVENTS for n in events):
        raise SpecError.for_value("events", found=max(events, key=abs), allowed=f"from 1 to {_MOST_EVENTS:,}")
    asked = sorted({*PERSONS.values(), *map(int, events)})
    certainty([], prior=prior, others=others)  # a prior that cannot be is an error, not a missing answer
    try:
        apart = [
            certainty([Contribution(mechanism=mechanism, cells=n)], prior=prior, others=others) for n in asked
        ]
        same = [
            certainty([Contribution(mechanism=mechanism, cells=1, change=n)], prior=prior, others=others)
            for n in asked
        ]
    except SpecError:
        return None
    return [
        {
            "who": names.get(n, f"{n} events"),
            "events": n,
            "low": each.lower,
            "high": each.upper,
            "same_cell_low": one.lower,
            "same_cell_high": one.upper,
            "baseline": max(prior, 1 - prior),
        }
        for n, each, one in zip(asked, apart, same, strict=True)
    ]
