"""Finding the noise or the cut that gives a wanted guarantee, always from the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

from noisegate.errors import SpecError
from noisegate.laws import LAWS, make_law
from noisegate.laws._law import LatticeLaw
from noisegate.mechanisms.mechanism import Mechanism
from noisegate.mechanisms.privacy import delta as exact_delta

_PURE = ("laplace", "rounded-laplace", "discrete-laplace")


def scale_for(law: str, /, *, epsilon: float | Fraction, delta: float = 0.0, change: int = 1) -> Fraction:
    """The least scale at which `law` gives (epsilon, delta) when a cell changes by `change`.

    Exact for the Laplace laws. For the Gaussian laws it is found by bisection, checked again,
    and at most 1e-9 (relative) above the least one, never below.
    """
    if law not in LAWS:
        raise SpecError.for_choice("law", found=law, allowed=LAWS)
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise SpecError.for_value("epsilon", found=epsilon, allowed="a finite number above 0")
    if law in _PURE:
        return Fraction(change) / Fraction(epsilon)
    if law not in ("gaussian", "discrete-gaussian"):
        raise SpecError(
            f"{law} noise has no scale that gives epsilon {float(epsilon):g}; use discrete-laplace."
        )
    if not 0 < delta < 1:
        raise SpecError.for_value("delta", found=delta, allowed="above 0 and below 1 for Gaussian noise")

    def holds(scale: float) -> bool:
        mechanism = Mechanism(law=make_law(law, scale=scale), zeros="perturb")
        return float(exact_delta(mechanism, float(epsilon), change=change)) <= delta

    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Fraction(high)


def threshold_for(law: LatticeLaw, /, *, delta: float, change: int = 1) -> int:
    """The least threshold T such that a cell of `change` events reaches T with at most `delta`.

    For the stability-based histogram: zeros kept, published when at least T. One unit that
    touches several empty cells shows itself with at most the sum of their deltas.
    """
    if not 0 < delta < 1:
        raise SpecError.for_value("delta", found=delta, allowed="above 0 and below 1")
    low, high = 0, change + law.reach(-math.log(delta)) + 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if float(law.logsf(middle - 1 - change)) <= math.log(delta) else (middle, high)
        )
    return high
