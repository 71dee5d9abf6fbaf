"""What a release means for a person in an attacker's terms: how often the best test is right about who is in it.

The attacker knows the mechanism and every other event, and wonders whether one person is in the data; before seeing the tables
each answer is as likely. Guessing is right half of the time: that is the baseline beside every figure. The change that is
looked at puts as much as it may into as few cells as it can, which is when it shows most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from noisegate.mechanisms import Contribution, Mechanism, PublishedNoise, certainty
from noisegate.releases.loss import WIDEST_COMPOSED, Change, all_days_change, event_change, unit_change
from noisegate.releases.plan import Plan

#: How often somebody is right who guesses.
GUESSING: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackerView:
    """How often the best test is right about one unit, at most; `guessing` is right without any table."""

    whose: str
    right: float
    guessing: float = GUESSING

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {"whose": self.whose, "right": self.right, "guessing": self.guessing}


def attacker_views(plan: Plan, /) -> tuple[AttackerView, ...]:
    """What the best test achieves against one event, the promised unit, and a person with all days, where bounded."""
    spec, unit = plan.spec, plan.spec.privacy.unit
    changes = {"one event": event_change(spec)}
    if unit != "event":
        changes[f"one {unit}"] = unit_change(spec)
    if unit == "person-day" and spec.day is not None:
        changes[f"one person on all {spec.day.days} days"] = all_days_change(spec, spec.day.days)
    return tuple(AttackerView(whose=whose, right=right_at_most(plan, one)) for whose, one in changes.items())


def right_at_most(plan: Plan, change: Change, /) -> float:
    """How often the best test is right about a change of all measured tables: an upper bound."""
    noises = {table.name: table for table in plan.tables if table.noise is not None}
    made = []
    for name, table in noises.items():
        assert table.noise is not None
        mechanism = Mechanism(
            law=table.noise.law,
            threshold=table.least if plan.spec.privacy.zeros == "keep" else None,
            rule="ge",
            zeros=plan.spec.privacy.zeros,
        )
        made += [Contribution(mechanism=mechanism, cells=n, change=most) for n, most in change.worst(name)]
    widest = max(table.noise.scale for table in noises.values() if table.noise is not None)
    if plan.spec.privacy.law == "discrete-gaussian" and widest > WIDEST_COMPOSED:
        return _gaussian({n: t.noise for n, t in noises.items() if t.noise is not None}, change)
    return certainty(made).upper


def _gaussian(noises: Mapping[str, PublishedNoise], change: Change, /) -> float:
    """For noise so wide that whole numbers and real ones are alike: one shift of a bell, in all directions together."""
    square = sum(float(change.square(name) / noise.scale**2) for name, noise in noises.items())
    return 0.5 * (1 + math.erf(math.sqrt(square) / 2 / math.sqrt(2)))
