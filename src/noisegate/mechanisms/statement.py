"""Everything that is exact about a mechanism, as plain values: what `noisegate mechanism` prints and writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisegate.errors import SpecError
from noisegate.mechanisms.composition import Contribution, certainty
from noisegate.mechanisms.mechanism import Mechanism, describe
from noisegate.mechanisms.privacy import delta, detection, pure_epsilon, verdict

#: Group sizes for which detection is stated.
GROUPS = (1, 2, 5, 10, 12, 17)
#: Events of a person for which an attacker's certainty is stated: one, a day, a commuter's month, a heavy traveller's.
EVENTS = (1, 4, 40, 100)


def statement(mechanism: Mechanism, /, *, points: int = 25) -> dict[str, Any]:
    """Guarantee, exact delta at epsilon = 1/scale, privacy curve, detection by group size, an attacker's certainty.

    Assumes one event in one cell of one table, added or removed; for certainty a person with several, each in a cell of its own.
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
        "certainty": _certainties(mechanism),
        "guarantee": kind,
        "verdict": sentence,
    }


def _certainties(mechanism: Mechanism, /) -> list[dict[str, float]] | None:
    """None where composition is not worked out: random rounding, and a cut before rounding."""
    try:
        found = [certainty([Contribution(mechanism=mechanism, cells=events)]) for events in EVENTS]
    except SpecError:
        return None
    return [
        {"events": events, "low": one.lower, "high": one.upper, "baseline": 0.5}
        for events, one in zip(EVENTS, found, strict=True)
    ]
