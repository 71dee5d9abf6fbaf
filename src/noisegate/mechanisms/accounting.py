"""Tight accounting of many releases: the delta and the epsilon of independent parts that are only described by what they promise.

A release is remembered as a few *parts*, each of which holds whatever its data are:

- `pure`: an epsilon that one published table, or one cell of it, keeps without a delta. Randomised response is the worst of
  all mechanisms that keep it (Kairouz, Oh, Viswanath 2015), so its privacy-loss distribution stands for the part: e with
  probability e^e / (1 + e^e), else -e. That is exact for what is known of the part, and never too low.
- `concentrated`: a rho of zero-concentrated differential privacy, which Gaussian noise has.
- `shown`: the probability that something shows itself outright, a loss without bound.

Pure parts are composed exactly: equal ones as a binomial law, different ones on a grid whose losses are rounded to the safe side
(`GridLoss`). Where Gaussian noise is among them, Rényi divergences are added up for many orders, and the best order counts
(Canonne, Kamath, Steinke 2020, Proposition 12). Both are upper bounds.

Assumes that what the parts promise was not chosen by looking at what earlier ones showed; plain addition needs no such assumption.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.mechanisms.composition import GridLoss
from noisegate.mechanisms.loss import LossAtoms
from noisegate.mechanisms.privacy import least_epsilon

Floats = NDArray[np.float64]
PartKind = Literal["pure", "concentrated", "shown"]

#: Points of the grid over the losses that are likely enough to matter. At half or twice as many a mean epsilon changes by less than 1e-3.
_POINTS = 2048
#: Standard deviations of the total loss that the grid spans on each side of its mean; beyond lies less than 1e-25.
_SPAN = 12.0
#: Tails of a binomial law below this are lumped together.
_NEGLIGIBLE = 1e-25
#: What floating point may have lost.
_ROUNDING = 1e-9
#: Losses above this are as good as certain; exp of more overflows.
_CERTAIN = 600.0


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LossPart:
    """One part of what a release costs a unit: see the module for the kinds."""

    kind: PartKind
    amount: Fraction

    def __post_init__(self) -> None:
        if self.kind not in get_args(PartKind):
            raise SpecError.for_choice("the kind of a part", found=self.kind, allowed=get_args(PartKind))
        most = 1 if self.kind == "shown" else None
        if self.amount < 0 or (most is not None and self.amount > most):
            raise SpecError.for_value("a part of a loss", found=self.amount, allowed="at least 0")


Parts = Mapping[LossPart, int]


def delta_of_parts(parts: Parts, epsilon: float, /) -> float:
    """Delta at `epsilon` of all parts together, never too low; `parts` says how often each is there.

    Examples
    --------
    >>> tenth = LossPart(kind="pure", amount=Fraction(1, 10))
    >>> f"{delta_of_parts({tenth: 100}, 6.0):.1e}"
    '6.2e-10'
    """
    if math.isnan(epsilon) or epsilon < 0:
        raise SpecError.for_value("epsilon", found=epsilon, allowed="a number of at least 0")
    shown, kept = _split(parts)
    rest = 0.0
    if any(part.kind == "concentrated" for part in kept):
        rest = _renyi_delta(frozenset(kept.items()), epsilon)
    elif kept:
        rest = _grid(frozenset(kept.items())).delta(epsilon)
    return min(1.0, (shown + (1 - shown) * rest) * (1 + _ROUNDING))


def epsilon_of_parts(parts: Parts, delta: float, /) -> float:
    """The least epsilon at which all parts together keep `delta`, never too low; infinite if none does.

    Plain addition is never beaten by more than it should: the answer is at most the sum of all pure parts where only such are there.
    """
    if not 0 <= delta < 1:
        raise SpecError.for_value("delta", found=delta, allowed="at least 0 and below 1")
    shown, kept = _split(parts)
    pure = not any(part.kind == "concentrated" for part in kept)
    total = float(sum(part.amount * times for part, times in kept.items())) * (1 + 1e-12)
    if pure and shown <= delta and (delta == shown or total == 0):
        return total
    if delta <= shown * (1 + _ROUNDING):
        return math.inf
    found = least_epsilon(lambda e: delta_of_parts(parts, e), wanted=delta)
    return min(found, total) if pure else found


def _split(parts: Parts, /) -> tuple[float, Counter[LossPart]]:
    """The probability that anything shows itself, and the other parts."""
    unseen, kept = 0.0, Counter[LossPart]()
    for part, times in parts.items():
        if part.kind == "shown":
            unseen += times * (math.log1p(-float(part.amount)) if part.amount < 1 else -math.inf)
        elif part.amount > 0 and times > 0:
            kept[part] += times
    return -math.expm1(unseen), kept


@lru_cache(maxsize=256)
def _grid(kept: frozenset[tuple[LossPart, int]], /) -> GridLoss:
    """The loss of pure parts on one grid, rounded to the safe side."""
    pure = [(float(part.amount), times) for part, times in sorted(kept)]
    mean = sum(times * e * math.tanh(e / 2) for e, times in pure)
    spread = math.sqrt(sum(times * e * e * (1 - math.tanh(e / 2) ** 2) for e, times in pure))
    total = sum(times * e for e, times in pure)
    low, high = max(-total, mean - _SPAN * spread), min(total, mean + _SPAN * spread)
    # Parts whose own losses lie on the grid are not rounded at all; the first decides.
    step = max(high - low, pure[0][0]) / _POINTS
    first = pure[0][0]
    step = first / math.ceil(first / step) if first > step else step
    loss = GridLoss.nothing(step)
    for e, times in pure:
        loss = loss.plus(GridLoss.of(_repeated(e, times), step=step, side="upper"), side="upper")
    return loss


def _repeated(e: float, times: int, /) -> LossAtoms:
    """Randomised response with epsilon `e`, so often: a binomial law, its tails lumped to the safe side."""
    from scipy.special import gammaln, xlogy

    if e > _CERTAIN:
        return LossAtoms(loss=np.zeros(1), mass=np.zeros(1), infinite=1.0)
    yes = 1 / (1 + math.exp(-e))
    mean, spread = times * yes, math.sqrt(times * yes * (1 - yes))
    reach = math.ceil(_SPAN * spread + 60)
    first, last = max(0, math.floor(mean) - reach), min(times, math.ceil(mean) + reach)
    k = np.arange(first, last + 1, dtype=float)
    logs = gammaln(times + 1) - gammaln(k + 1) - gammaln(times - k + 1)
    logs += xlogy(k, yes) + (times - k) * (-e - math.log1p(math.exp(-e)))
    mass = np.exp(np.minimum(logs, 0.0))
    # The lower tail moves up to the least loss that is kept, the upper one to infinity.
    infinite = _NEGLIGIBLE if last < times else 0.0
    mass[0] += _NEGLIGIBLE if first > 0 else 0.0
    return LossAtoms(loss=e * (2 * k - times), mass=mass, infinite=infinite)


def _renyi_delta(kept: frozenset[tuple[LossPart, int]], epsilon: float, /) -> float:
    """Delta at `epsilon` by Rényi divergences of many orders."""
    over = np.exp(np.linspace(-9, 9, 3001))  # the order minus 1
    total = np.zeros(len(over))
    for part, times in kept:
        amount = float(part.amount)
        total += times * ((1 + over) * amount if part.kind == "concentrated" else _renyi_pure(amount, over))
    order = 1 + over
    logs = over * (total - epsilon) - np.log(over) + order * (np.log(over) - np.log(order))
    return min(1.0, math.exp(min(0.0, float(np.min(logs)))))


def _renyi_pure(e: float, over: Floats, /) -> Floats:
    """The Rényi divergence of randomised response with epsilon `e`, for orders 1 + `over`."""
    log_yes, log_no = -math.log1p(math.exp(-e)), -e - math.log1p(math.exp(-e))
    order = 1 + over
    logs = np.logaddexp(order * log_yes - over * log_no, order * log_no - over * log_yes)
    return np.asarray(np.minimum(logs / over, e))
