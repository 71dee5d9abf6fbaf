"""Which noise law suits a workload: the errors of both at the same epsilon, side by side.

Laplace losses add up over cells, Gaussian ones add up squared: the more cells a unit is in, the more Gaussian noise gains. It asks
for a delta in return, which is the reason why it is proposed and never chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from noisegate.margins import predict
from noisegate.releases import Plan, make_plan, sum_errors
from noisegate.tables import Asked
from noisegate.workload.needed import USUAL_DELTA, changed_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class LawError:
    """A noise law and the mean over questions of its expected error (geometric, so that no question outweighs all others).

    `base` is the standard deviation of its noise in a cell of the base.
    """

    law: str
    epsilon: float
    delta: float
    error: float
    base: float
    chosen: bool

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "law": self.law,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "expected_absolute": self.error,
            "base_standard_deviation": self.base,
            "chosen": self.chosen,
        }


def compared_laws(plan: Plan, asked: Sequence[Asked], /) -> tuple[LawError, ...]:
    """The spec's law and the other one, that with the smaller error first; nothing where there is no choice."""
    privacy = plan.spec.privacy
    answered = [one for one in asked if one.reason is None]
    # In a series weeks speak for one law and their sums for the other: no single figure would do.
    if privacy.epsilon is None or privacy.zeros == "keep" or not answered or plan.series is not None:
        return ()
    gaussian = privacy.law == "discrete-gaussian"
    other = "discrete-laplace" if gaussian else "discrete-gaussian"
    delta = None if gaussian else privacy.delta or USUAL_DELTA
    rival = make_plan(
        changed_spec(
            plan.spec, privacy={"law": other, "delta": delta, "split": None}, tables=plan.spec.tables
        )
    )
    found = [_error(plan, answered, chosen=True), _error(rival, answered, chosen=False)]
    return tuple(sorted(found, key=lambda one: one.error))


def _error(plan: Plan, asked: Sequence[Asked], /, *, chosen: bool) -> LawError:
    errors = sum_errors(plan)
    logs = [math.log(max(predict(one, errors).expected_absolute, 1e-9)) for one in asked]
    assert plan.base.noise is not None
    return LawError(
        law=plan.spec.privacy.law,
        epsilon=float(plan.charged.epsilon),
        delta=float(plan.charged.delta),
        error=math.exp(sum(logs) / len(logs)),
        base=math.sqrt(plan.base.noise.law.variance),
        chosen=chosen,
    )
