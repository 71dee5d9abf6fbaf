"""Multiples of a spec's epsilon: the errors and the plan at each, and the epsilon that a wanted error needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from noisegate.laws import make_law
from noisegate.laws._law import LatticeLaw
from noisegate.margins.prediction import predict
from noisegate.margins.sum_errors import SumErrors
from noisegate.releases.plan import Plan, make_plan
from noisegate.releases.prediction import sum_errors
from noisegate.tables.question import Asked

#: The epsilons that are shown, as multiples of the spec's own.
FACTORS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
_PRECISION = 0.005
_LEAST_FACTOR, _MOST_FACTOR = 1e-4, 1e4


def errors_by_factor(plan: Plan, /) -> Callable[[float], SumErrors]:
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


def plan_at(plan: Plan, factor: Fraction, /) -> Plan:
    """The plan if epsilon were so many times the spec's."""
    if factor == 1:
        return plan
    privacy = plan.spec.privacy
    if privacy.epsilon is not None:
        changed: dict[str, Any] = {"epsilon": privacy.epsilon * factor}
    else:
        assert privacy.scale is not None
        changed = {"scale": privacy.scale / factor}
    return make_plan(plan.spec.model_copy(update={"privacy": privacy.model_copy(update=changed)}))


def factor_for(asked: Asked, errors_at: Callable[[float], SumErrors], aim: float, /) -> float:
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


def epsilon_on(points: Sequence[tuple[float, float]], aim: float, /) -> float:
    """The least epsilon whose error is at most `aim`, on straight lines between logarithms; never below the first."""
    enough = next((place for place, (_, error) in enumerate(points) if error <= aim), None)
    if enough is None:
        return math.inf
    if enough == 0:
        return points[0][0]
    (low, more), (high, less) = points[enough - 1], points[enough]
    share = math.log(more / aim) / math.log(more / max(less, 1e-9))
    return float(low * (high / low) ** share)


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
