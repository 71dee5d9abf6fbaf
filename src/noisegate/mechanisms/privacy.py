"""The exact privacy of a mechanism: delta at any epsilon, over all neighbouring raw counts.

Two neighbour relations. *add-remove*: one cell changes by `change` (an event comes or goes).
*replace*: an event moves, so one cell loses `change` and another one gains it.

Which pairs of counts matter. Two counts that both get noise are worst off far above the cut,
where suppression hides nothing (suppression is post-processing), so their supremum is the pair
without a cut. A zero that is kept is the special pair (0, change). Where a value is cut before
it is rounded, the cut is not post-processing of the rounded value, and pairs near the cut are
looked at one by one.

The way back, the scale or threshold that gives a wanted guarantee, is found from the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws import LAWS, LatticeLaw, RandomRounding, make_law
from noisegate.mechanisms.loss import (
    LossAtoms,
    PrivacyLoss,
    delta_of_two,
    loss_of_pmfs,
    response_loss,
    shift_loss,
    zero_losses,
)
from noisegate.mechanisms.mechanism import Mechanism

Neighbours = Literal["add-remove", "replace"]
Floats = NDArray[np.float64]

#: A delta above this is no guarantee in practice: one person in a thousand is exposed outright.
MEANINGFUL_DELTA = 1e-3


@dataclass(frozen=True, kw_only=True)
class CountLosses:
    """The losses that can be worst, when a cell loses events and when it gains them.

    `noisy_*`: both counts get noise. `zero_*`: one of them is a zero that is kept (else None).
    """

    noisy_losing: tuple[PrivacyLoss, ...]
    noisy_gaining: tuple[PrivacyLoss, ...]
    zero_losing: LossAtoms | None = None
    zero_gaining: LossAtoms | None = None

    @property
    def losing(self) -> tuple[PrivacyLoss, ...]:
        """All losses when events leave a cell."""
        return self.noisy_losing if self.zero_losing is None else (*self.noisy_losing, self.zero_losing)

    @property
    def gaining(self) -> tuple[PrivacyLoss, ...]:
        """All losses when events come to a cell."""
        return self.noisy_gaining if self.zero_gaining is None else (*self.noisy_gaining, self.zero_gaining)


def count_losses(mechanism: Mechanism, /, *, change: int = 1) -> CountLosses:
    """The losses that can be worst when one cell changes by `change`."""
    if isinstance(change, bool) or change != int(change) or change < 1:
        raise SpecError.for_value("change", found=change, allowed="a whole number of at least 1")
    losing, gaining = _noisy_losses(mechanism, int(change))
    leaving, coming = (None, None) if not mechanism.keeps_zeros else zero_losses(mechanism.response(change))
    return CountLosses(noisy_losing=losing, noisy_gaining=gaining, zero_losing=leaving, zero_gaining=coming)


def _noisy_losses(
    mechanism: Mechanism, change: int, /
) -> tuple[tuple[PrivacyLoss, ...], tuple[PrivacyLoss, ...]]:
    law = mechanism.published_law
    if isinstance(law, RandomRounding):
        pairs = [_rounding_pmfs(law, rest, change) for rest in range(law.base)]
        return (
            tuple(loss_of_pmfs(more, less) for more, less in pairs),
            tuple(loss_of_pmfs(less, more) for more, less in pairs),
        )
    far = shift_loss(law, change)
    if not mechanism.cuts_before_rounding:
        return (far,), (far,)
    top = math.ceil(mechanism.threshold or 0) + math.ceil(40 * math.sqrt(law.variance)) + change
    first = 0 if not mechanism.keeps_zeros else 1  # a zero that is kept is a pair of its own
    responses = [mechanism.response(c) for c in range(first, top + change)]
    pairs_near = list(zip(responses[change:], responses, strict=False))
    return (
        (far, *(response_loss(more, less) for more, less in pairs_near)),
        (far, *(response_loss(less, more) for more, less in pairs_near)),
    )


def _rounding_pmfs(law: RandomRounding, rest: int, change: int, /) -> tuple[Floats, Floats]:
    """Log-probabilities of the published multiples for counts rest + change and rest."""
    values = np.arange(0, rest + change + 2 * law.base)
    return tuple(law.at(c).logpmf(values - c) for c in (rest + change, rest))  # type: ignore[return-value]  # two lattice laws


def delta(
    mechanism: Mechanism, epsilon: ArrayLike, /, *, neighbours: Neighbours = "add-remove", change: int = 1
) -> Floats:
    """The exact delta at each `epsilon`: the least for which (epsilon, delta) holds.

    Assumes one table, one cell (add-remove) or two cells (replace) changed by `change`, and
    noise that is independent from cell to cell.
    """
    eps = np.asarray(epsilon, float)
    if np.isnan(eps).any() or (eps < 0).any():
        raise SpecError.for_value("epsilon", found=epsilon, allowed="a number of at least 0")
    if neighbours not in get_args(Neighbours):
        raise SpecError.for_choice("neighbours", found=neighbours, allowed=get_args(Neighbours))
    losses = count_losses(mechanism, change=change)
    if neighbours == "add-remove":
        return _largest(loss.delta(eps) for loss in (*losses.losing, *losses.gaining))
    return _largest(delta_of_two(a, b, eps) for a in losses.losing for b in losses.gaining)


def _largest(curves: Iterable[Floats], /) -> Floats:
    return np.asarray(np.clip(np.max(np.stack(list(curves)), axis=0), 0.0, 1.0) + 0.0)  # no -0.0


def pure_epsilon(
    mechanism: Mechanism, /, *, neighbours: Neighbours = "add-remove", change: int = 1
) -> float | None:
    """The epsilon at which delta is exactly 0; None when no epsilon does it."""
    cells = 2 if neighbours == "replace" else 1
    if mechanism.keeps_zeros:
        leaving, coming = zero_losses(mechanism.response(change))
        if math.isinf(leaving.bound) or math.isinf(coming.bound):
            return None
    bound = mechanism.law.loss_bound(change)
    return cells * bound if math.isfinite(bound) else None


def epsilon(
    mechanism: Mechanism, wanted: float, /, *, neighbours: Neighbours = "add-remove", change: int = 1
) -> float:
    """The least epsilon at which delta is at most `wanted`, rounded up; infinite when there is none."""
    if not 0 <= wanted < 1:
        raise SpecError.for_value("delta", found=wanted, allowed="at least 0 and below 1")
    pure = pure_epsilon(mechanism, neighbours=neighbours, change=change)
    if wanted == 0:
        return math.inf if pure is None else pure
    found = least_epsilon(
        lambda e: float(delta(mechanism, e, neighbours=neighbours, change=change)), wanted=wanted
    )
    return found if pure is None else min(found, pure)


def least_epsilon(curve: Callable[[float], float], /, *, wanted: float) -> float:
    """The least epsilon with `curve(epsilon) <= wanted`, from above, for a decreasing curve."""
    if curve(0.0) <= wanted:
        return 0.0
    high = 1.0
    while curve(high) > wanted:
        high *= 2
        if high > 1e5:
            return math.inf
    low = 0.0
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > wanted else (low, middle)
    return high


def detection(mechanism: Mechanism, group: int, /) -> float:
    """The probability that what is published proves that a group of `group` was in an empty cell.

    Proof means: without the group, the cell could never have given that output. With zeros
    kept, any published value is proof; with zeros perturbed by unbounded noise, none is.
    """
    if isinstance(group, bool) or group != int(group) or group < 1:
        raise SpecError.for_value("group", found=group, allowed="a whole number of at least 1")
    response = mechanism.response(group)
    if mechanism.keeps_zeros:
        return zero_losses(response)[0].infinite
    if not mechanism.integers:
        return 0.0
    return response_loss(response, mechanism.response(0)).infinite


def verdict(mechanism: Mechanism, /) -> tuple[Literal["pure", "approximate", "none"], str]:
    """The kind of guarantee for one event in one cell, and a sentence that says it."""
    pure = pure_epsilon(mechanism)
    if pure is not None:
        return (
            "pure",
            f"Pure differential privacy: epsilon = {pure:.4g} for one event in one table, delta = 0.",
        )
    at_large = float(delta(mechanism, 700.0))
    reference = float(delta(mechanism, 1 / float(getattr(mechanism.law, "scale", 1.0))))
    if at_large > MEANINGFUL_DELTA:
        return "none", (
            f"No meaningful guarantee: with probability {at_large:.3g} one event is exposed outright, "
            "whatever epsilon is allowed."
        )
    if at_large == 0:
        return "approximate", (
            f"Approximate differential privacy only: delta = {reference:.4g} at epsilon = 1/scale, "
            "and it falls as epsilon grows but never reaches 0."
        )
    cause = (
        " Zeros are kept, so a published value proves that somebody was there."
        if mechanism.keeps_zeros
        else ""
    )
    return (
        "approximate",
        f"Approximate differential privacy only: no epsilon makes delta less than {at_large:.4g}.{cause}",
    )


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

    low, high = 0.0, 1.0
    while not _holds(law, high, epsilon, delta, change):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _holds(law, middle, epsilon, delta, change) else (middle, high)
    return Fraction(high)


def _holds(law: str, scale: float, epsilon: float | Fraction, wanted: float, change: int, /) -> bool:
    mechanism = Mechanism(law=make_law(law, scale=scale), zeros="perturb")
    return float(delta(mechanism, float(epsilon), change=change)) <= wanted


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
