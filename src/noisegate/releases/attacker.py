"""What a release means for a person in an attacker's terms: how often the best test is right about who is in it.

The attacker knows the mechanism and every other event, and wonders whether one person is in the data; before seeing the tables
each answer is as likely. Guessing is right half of the time: that is the baseline beside every figure. The change that is
looked at puts as much as it may into as few cells as it can, which is when it shows most. What is told beside the tables counts too; and
where tables are estimated from other measurements (a series), what the stated epsilon and delta allow at most is said instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from noisegate import limits
from noisegate.mechanisms import Contribution, Mechanism, PublishedNoise, certainty, success_bound
from noisegate.releases.loss import (
    EXAMPLE_EVENTS,
    WIDEST_COMPOSED,
    Change,
    StatedLoss,
    all_days_change,
    event_change,
    spread_change,
    unit_change,
)
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
    spec, losses, unit = plan.spec, plan.losses, plan.spec.privacy.unit
    asked: list[tuple[str, Change, StatedLoss | None, int]] = [
        ("one event", event_change(spec), losses.event, 1)
    ]
    if unit == "event":
        whole = spread_change(spec, EXAMPLE_EVENTS)
        asked.append((f"a person with {EXAMPLE_EVENTS} events, cells apart", whole, losses.example, 1))
    else:
        asked.append((f"one {unit}", unit_change(spec), losses.unit, 1))
    if unit == "person-day" and spec.day is not None:
        days = spec.day.days
        asked.append((f"one person on all {days} days", all_days_change(spec, days), losses.person, days))
    return tuple(
        AttackerView(whose=whose, right=_at_most(plan, change, loss, units))
        for whose, change, loss, units in asked
    )


def _at_most(plan: Plan, change: Change, loss: StatedLoss | None, units: int, /) -> float:
    """The lower of what the noise of the tables gives and what the stated loss allows."""
    allowed = 1.0 if loss is None else success_bound(float(loss.epsilon), delta=float(loss.delta))
    if plan.series is not None:
        return allowed
    return min(allowed, right_at_most(plan, change, units=units))


def right_at_most(plan: Plan, change: Change, /, *, units: int = 1) -> float:
    """How often the best test is right about a change of all measured tables, of so many units: an upper bound."""
    if max(change.most.values()) > limits.current().looked_at_change:
        return 1.0
    beside = units * float(plan.spec.privacy.beside_tables)
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
        bell = _gaussian({n: t.noise for n, t in noises.items() if t.noise is not None}, change)
        # What neither shows nor the other does stays unseen: at least the product of both.
        return 1 - 2 * (1 - bell) * (1 - success_bound(beside))
    return certainty(made, beside=beside).upper


def _gaussian(noises: Mapping[str, PublishedNoise], change: Change, /) -> float:
    """For noise so wide that whole numbers and real ones are alike: one shift of a bell, in all directions together."""
    square = sum(float(change.square(name) / noise.scale**2) for name, noise in noises.items())
    return 0.5 * (1 + math.erf(math.sqrt(square) / 2 / math.sqrt(2)))
