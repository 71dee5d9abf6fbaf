"""What an engine finds when it tries itself on the tables it was given, and what it makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: What a check led to: nothing, wider intervals, no estimate at all; or it could not be made.
Outcome = Literal["holds", "widened", "withdrawn", "cannot tell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCheck:
    """One check of a fit: what was looked at, what came of it, and how far off it was in standard deviations, if that is known."""

    name: str
    outcome: Outcome
    says: str
    z: float | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "name": self.name,
            "outcome": self.outcome,
            "says": self.says,
            "z": None if self.z is None else round(self.z, 3),
            "numbers": dict(self.numbers),
        }


def settled(*, unsettled: int, cells: int) -> FitCheck:
    """Whether messages between tables settled."""
    if not unsettled:
        return FitCheck(name="convergence", outcome="holds", says="messages between tables settled")
    return FitCheck(
        name="convergence",
        outcome="widened",
        says=f"{unsettled:,} of {cells:,} cells had not settled when the limit on sweeps was reached",
        numbers={"unsettled": unsettled, "cells": cells},
    )
