"""What a budget buys: the error of every question for a range of epsilons, and the epsilon that a wanted error needs.

Nothing is read and nothing is spent. Laplace-like noise has a scale in inverse proportion to epsilon, so a plan for one
epsilon says all; Gaussian noise is planned anew for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noisegate.core.laws import LatticeLaw, make_law
from noisegate.core.workload import SumErrors
from noisegate.errors import SpecError
from noisegate.release.plan import Plan, make_plan
from noisegate.release.prediction import Prediction, predict, sum_errors
from noisegate.release.questions import Asked, asked_questions
from noisegate.spec import ReleaseSpec

#: The epsilons that are shown, as multiples of the spec's own.
FACTORS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
_PRECISION = 0.005
_LEAST_FACTOR, _MOST_FACTOR = 1e-4, 1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutlook:
    """One question: its prediction for each epsilon, and the epsilon that its wanted error needs.

    `reason` says why it cannot be answered; then there is nothing else.
    """

    name: str
    reason: str | None
    by_epsilon: tuple[tuple[float, Prediction], ...]
    wanted: float | None
    epsilon_needed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """All questions of a spec. `epsilon` is the loss of one unit that the spec as it stands would be charged."""

    spec_name: str
    unit: str
    epsilon: float
    questions: tuple[QuestionOutlook, ...]

    def as_json(self) -> dict[str, Any]:
        """The outlook as plain data."""
        return {
            "spec": self.spec_name,
            "unit": self.unit,
            "epsilon": self.epsilon,
            "spent": False,
            "questions": [
                {
                    "name": one.name,
                    "answered": one.reason is None,
                    "reason": one.reason,
                    "wanted": one.wanted,
                    "epsilon_needed": one.epsilon_needed,
                    "by_epsilon": [{"epsilon": e, **p.as_json()} for e, p in one.by_epsilon],
                }
                for one in self.questions
            ],
        }


def outlook(spec: ReleaseSpec, /, *, wanted: float | None = None) -> Outlook:
    """What each question's error would be; reads no event and spends nothing.

    `wanted` is the mean absolute error to aim for where a question states none.
    """
    if not spec.workload:
        raise SpecError(
            "the spec has no workload, so there is nothing to plan for; add one: "
            "workload: {morning-peak: {where: {time: 07:00..09:00}, by: [mode]}}."
        )
    if wanted is not None and not (math.isfinite(wanted) and wanted > 0):
        raise SpecError.for_value("error", found=wanted, allowed="a number above 0")
    plan = make_plan(spec)
    errors_at = _errors_by_factor(plan)
    return Outlook(
        spec_name=spec.name,
        unit=spec.privacy.unit,
        epsilon=float(plan.charged.epsilon),
        questions=tuple(_of(one, plan, errors_at, wanted) for one in asked_questions(spec)),
    )


def _of(
    asked: Asked, plan: Plan, errors_at: Callable[[float], SumErrors], wanted: float | None, /
) -> QuestionOutlook:
    if asked.reason is not None:
        return QuestionOutlook(
            name=asked.name, reason=asked.reason, by_epsilon=(), wanted=None, epsilon_needed=None
        )
    base = float(plan.charged.epsilon)
    own = asked.question.wanted
    aim = float(own) if own is not None else wanted
    return QuestionOutlook(
        name=asked.name,
        reason=None,
        by_epsilon=tuple((float(f) * base, predict(asked, errors_at(float(f)))) for f in FACTORS),
        wanted=aim,
        epsilon_needed=None if aim is None else base * _factor_for(asked, errors_at, aim),
    )


def _factor_for(asked: Asked, errors_at: Callable[[float], SumErrors], aim: float, /) -> float:
    """The least multiple of epsilon whose expected error is at most `aim`, by bisection on its logarithm."""

    def fine(factor: float) -> bool:
        return predict(asked, errors_at(factor)).expected_absolute <= aim

    low, high = 1.0, 1.0
    while not fine(high):
        low, high = high, 2 * high
        if high > _MOST_FACTOR:
            return math.inf
    while low == high or fine(low):
        low, high = low / 2, low
        if low < _LEAST_FACTOR:
            return high
    while high / low > 1 + _PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high


def _errors_by_factor(plan: Plan, /) -> Callable[[float], SumErrors]:
    """The errors of sums if epsilon were so many times the spec's, each worked out once."""
    first = sum_errors(plan)
    known: dict[float, SumErrors] = {1.0: first}

    def at(factor: float) -> SumErrors:
        if factor not in known:
            known[factor] = SumErrors(
                domain=first.domain,
                base=first.base,
                margins=first.margins,
                laws=_laws(plan, factor),
                method=first.method,
                parts=first.parts,
            )
        return known[factor]

    return at


def _laws(plan: Plan, factor: float, /) -> Mapping[str, LatticeLaw]:
    privacy = plan.spec.privacy
    if privacy.law == "discrete-gaussian" and privacy.epsilon is not None:
        epsilon = Fraction(privacy.epsilon * Fraction(factor)).limit_denominator(10**6)
        changed = privacy.model_copy(update={"epsilon": epsilon})
        again = make_plan(plan.spec.model_copy(update={"privacy": changed}))
        return {table.name: table.noise.law for table in again.tables if table.noise is not None}
    return {
        table.name: _scaled(table.noise.name, float(table.noise.scale) / factor)
        for table in plan.tables
        if table.noise is not None
    }


def _scaled(name: str, scale: float, /) -> LatticeLaw:
    law = make_law(name, scale=scale)
    assert isinstance(law, LatticeLaw)
    return law
