"""The public statement of a mechanism: everything it promises and gives away, in plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisegate.mechanisms.mechanism import Mechanism, describe
from noisegate.mechanisms.privacy import delta, detection, pure_epsilon, verdict

#: Group sizes for which detection is stated.
GROUPS = (1, 2, 5, 10, 12, 17)


def statement(mechanism: Mechanism, /, *, points: int = 25) -> dict[str, Any]:
    """Guarantee, exact delta at epsilon = 1/scale, privacy curve, and detection by group size.

    Assumes one event in one cell of one table, added or removed.
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
        "guarantee": kind,
        "verdict": sentence,
    }
