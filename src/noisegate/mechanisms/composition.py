"""The privacy of many cells at once, by privacy-loss distributions, with both bounds.

A person's events touch several cells in several tables; the losses add up. Each loss is laid
on a grid twice: rounded so that delta can only rise (mass split between grid points, see
`split_between`), and so that it can only fall (mass moved down). Convolving gives an upper and
a lower bound of the true delta; where the losses lie on the grid (discrete Laplace noise) the
two agree. Sums are plain sums of positive products, so no rounding error hides in small
deltas; tails below 1e-25 are cut, to infinity in the upper bound and to the left in the lower.

Worst case over data: a touched cell is either empty and kept (it shows itself with some
probability q) or noisy. The upper bound uses the loss "infinite with probability q, else the
noisy one", which is at least as bad as both.

Week by week: the worst case is a straight line; the tight curve composes the losses of all weeks on a coarser grid, because
a year has thousands of losses, which costs at most a few per cent of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import DiscreteGaussian
from noisegate.mechanisms.loss import LossAtoms, Side, split_between
from noisegate.mechanisms.mechanism import Mechanism
from noisegate.mechanisms.privacy import CountLosses, count_losses, least_epsilon

Floats = NDArray[np.float64]

_CUT_MASS = 1e-25
_ROUNDING = 1e-11
#: The delta at which tight curves are stated.
STATED_DELTA = 1e-6
#: Grid points to the largest loss of one cell: few for long sums.
_FINE, _COARSE = 32, 8
_MANY = 240
#: Tails of unbounded noise that are cut when it is put on a grid are smaller than this.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What one person adds to one table: `cells` cells, each changed by `change`."""

    mechanism: Mechanism
    cells: int
    change: int = 1

    def __post_init__(self) -> None:
        if self.cells < 0 or self.cells != int(self.cells):
            raise SpecError.for_value("cells", found=self.cells, allowed="a whole number of at least 0")


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """A number that is known to lie between two bounds; `upper` is the safe one."""

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class GridLoss:
    """A loss on the grid `(first + i) * step`, and its mass at infinity."""

    step: float
    first: int
    mass: Floats
    infinite: float

    @classmethod
    def of(cls, atoms: LossAtoms, /, *, step: float, side: Side) -> Self:
        """`atoms` on a grid, rounded to the safe side (`upper`) or below the truth (`lower`)."""
        place = atoms.loss / step
        near = np.rint(place)
        on_grid = np.abs(place - near) < 1e-9
        low = np.where(on_grid, near, np.floor(place)).astype(np.int64)
        first, width = int(low.min(initial=0)), int(low.max(initial=0) - low.min(initial=0)) + 2
        mass = np.zeros(width)
        if side == "lower":
            np.add.at(mass, low - first, atoms.mass)
            return cls(step, first, mass, atoms.infinite)
        left = low.astype(float) * step
        up, down = split_between(left, left + step, atoms.mass, atoms.mass * np.exp(-atoms.loss))
        np.add.at(mass, low - first, np.where(on_grid, atoms.mass, down))
        np.add.at(mass, low - first + 1, np.where(on_grid, 0.0, up))
        return cls(step, first, mass, atoms.infinite)

    @classmethod
    def nothing(cls, step: float, /) -> Self:
        """The loss of touching no cell."""
        return cls(step, 0, np.ones(1), 0.0)

    def plus(self, other: GridLoss, /, *, side: Side) -> GridLoss:
        """The loss of suffering both, independently."""
        mass = np.convolve(self.mass, other.mass)
        infinite = self.infinite + other.infinite - self.infinite * other.infinite
        return trimmed(GridLoss(self.step, self.first + other.first, mass, infinite), side, most=_CUT_MASS)

    def times(self, n: int, /, *, side: Side) -> GridLoss:
        """The loss of suffering it `n` times, independently."""
        total, power = GridLoss.nothing(self.step), self
        while n:
            if n & 1:
                total = total.plus(power, side=side)
            n >>= 1
            if n:
                power = power.plus(power, side=side)
        return total

    def delta(self, epsilon: float, /) -> float:
        """Delta at `epsilon`."""
        loss = (self.first + np.arange(len(self.mass))) * self.step
        gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
        return min(1.0, self.infinite + float(self.mass @ gain))


def trimmed(grid: GridLoss, side: Side, /, *, most: float) -> GridLoss:
    """`grid` without tails that hold less than `most`; what is cut goes where it keeps the bound a bound."""
    below, above = np.cumsum(grid.mass), np.cumsum(grid.mass[::-1])
    low = min(int(np.searchsorted(below, most)), len(grid.mass) - 1)
    high = max(len(grid.mass) - int(np.searchsorted(above, most)), low + 1)
    mass = grid.mass[low:high].copy()
    cut_below, cut_above = float(grid.mass[:low].sum()), float(grid.mass[high:].sum())
    if side == "upper":
        mass[0] += cut_below
        return GridLoss(grid.step, grid.first + low, mass, grid.infinite + cut_above)
    mass[-1] += cut_above
    return GridLoss(grid.step, grid.first + low, mass, grid.infinite)


def composed_delta(contributions: Sequence[Contribution], epsilon: float, /) -> Bracket:
    """Delta at `epsilon` for one person who adds all `contributions` (or takes them away).

    Assumes noise independent from cell to cell and table to table, and a person who is only
    in the cells counted. The worst case over all data is meant; the upper bound is safe.
    """
    if math.isnan(epsilon) or epsilon < 0:
        raise SpecError.for_value("epsilon", found=epsilon, allowed="a number of at least 0")
    live = tuple(c for c in contributions if c.cells)
    if not live:
        return Bracket(lower=0.0, upper=0.0)
    return _bracket(live, epsilon, _FINE)


def safe_delta(contributions: Sequence[Contribution], epsilon: float, /) -> float:
    """The upper bound of `composed_delta` alone, in a quarter of the time."""
    live = tuple(c for c in contributions if c.cells)
    if not live:
        return 0.0
    return min(1.0, _composed(live, "upper", 0, _FINE).delta(epsilon) * (1 + _ROUNDING))


def _bracket(live: tuple[Contribution, ...], epsilon: float, points: int, /) -> Bracket:
    upper = _composed(live, "upper", 0, points).delta(epsilon) * (1 + _ROUNDING)
    lower = max(_composed(live, "lower", pick, points).delta(epsilon) for pick in range(3)) * (1 - _ROUNDING)
    return Bracket(lower=lower, upper=min(1.0, upper))


def composed_epsilon(contributions: Sequence[Contribution], delta: float, /) -> Bracket:
    """The least epsilon at which delta is at most `delta`, between two bounds."""
    if not 0 <= delta < 1:
        raise SpecError.for_value("delta", found=delta, allowed="at least 0 and below 1")
    if delta == 0:
        bounds = [c.cells * c.mechanism.law.loss_bound(c.change) for c in contributions]
        kept = any(c.cells and c.mechanism.zeros == "keep" for c in contributions)
        total = math.inf if kept else sum(bounds)
        return Bracket(lower=total, upper=total)
    return Bracket(
        lower=least_epsilon(lambda e: composed_delta(contributions, e).lower, wanted=delta),
        upper=least_epsilon(lambda e: composed_delta(contributions, e).upper, wanted=delta),
    )


@lru_cache(maxsize=64)
def _composed(contributions: tuple[Contribution, ...], side: Side, pick: int, points: int, /) -> GridLoss:
    step = _grid_step(contributions, points)
    total = GridLoss.nothing(step)
    for one in contributions:
        losses = count_losses(one.mechanism, change=one.change)
        atoms = _worst_of_both(losses, step) if side == "upper" else _real_pair(losses, step, pick)
        total = total.plus(GridLoss.of(atoms, step=step, side=side).times(one.cells, side=side), side=side)
    return total


def _worst_of_both(losses: CountLosses, step: float, /) -> LossAtoms:
    """A loss at least as bad as the noisy one and as the kept zero, coming or going."""
    if len(losses.noisy_losing) > 1:
        raise SpecError(
            "composition is worked out for additive noise that is cut after rounding; "
            "random rounding and a cut before rounding are not."
        )
    noisy = losses.noisy_losing[0].atoms(step, side="upper")
    shown = 0.0 if losses.zero_losing is None else losses.zero_losing.infinite
    return LossAtoms(
        loss=noisy.loss, mass=noisy.mass * (1 - shown), infinite=shown + (1 - shown) * noisy.infinite
    )


def _real_pair(losses: CountLosses, step: float, pick: int, /) -> LossAtoms:
    """One real pair of counts: both noisy (0), a kept zero with people leaving (1) or coming (2)."""
    zero = (None, losses.zero_losing, losses.zero_gaining)[pick]
    return losses.noisy_losing[0].atoms(step, side="lower") if zero is None else zero


def _grid_step(contributions: Sequence[Contribution], points: int, /) -> float:
    """A step on which the losses of the first law lie, where it has such: then nothing is rounded."""
    law, change = contributions[0].mechanism.law, contributions[0].change
    if math.isfinite(law.loss_bound(1)):
        return law.loss_bound(1) / points
    if isinstance(law, DiscreteGaussian):
        return 1 / (2 * law.scale**2)
    return change / math.sqrt(law.variance) / (2 * min(points, _FINE))


@dataclass(frozen=True, slots=True, kw_only=True)
class LossAt:
    """The loss after so many weeks.

    Attributes
    ----------
    linear
        Epsilon in the worst case, besides the chance `shown`. For noise without a pure epsilon, that of one week at its
        delta times the weeks, and the deltas add up too; infinite for noise with a largest value.
    tight, delta
        Epsilon by composition, and the delta at which it holds: the stated one, or twice the chance that something
        shows itself outright, if that is more.
    shown
        The chance that a published count proves outright that the person was there, in the worst case; 1 for noise with
        a largest value.
    """

    weeks: int
    linear: float
    tight: float
    delta: float
    shown: float


def loss_by_week(
    mechanisms: Sequence[Mechanism],
    /,
    *,
    events_per_week: int,
    weeks: Sequence[int],
    delta: float = STATED_DELTA,
) -> list[LossAt]:
    """The loss of a person with so many events a week, each in a cell of its own of every table.

    Parameters
    ----------
    mechanisms
        One for each table that was perturbed on its own.
    weeks
        Numbers of weeks, ascending.

    *Guarantee*: `tight` and `linear` are upper bounds for add/remove neighbours that differ in all events of
    the person, for noise that is independent from cell to cell and week to week.
    """
    if isinstance(events_per_week, bool) or not isinstance(events_per_week, int) or events_per_week < 1:
        raise SpecError.for_value(
            "events_per_week", found=events_per_week, allowed="a whole number of at least 1"
        )
    if not mechanisms or not weeks or list(weeks) != sorted(set(weeks)) or weeks[0] < 1:
        raise SpecError("the loss by week needs a mechanism, and weeks from 1 on in ascending order.")
    if any(_gives_itself_away(mechanism) for mechanism in mechanisms):
        inf = math.inf
        return [LossAt(weeks=week, linear=inf, tight=inf, delta=delta, shown=1.0) for week in weeks]
    bound = sum(mechanism.law.loss_bound(1) for mechanism in mechanisms)
    one = _one_week(mechanisms, events_per_week, events_per_week * weeks[-1] * len(mechanisms))
    weekly = events_per_week * bound if math.isfinite(bound) else _epsilon_at(one, delta)
    total, done, found = GridLoss.nothing(one.step), 0, []
    for week in weeks:
        total = total.plus(one.times(week - done, side="upper"), side="upper")
        done = week
        linear, tight = week * weekly, _epsilon_at(total, delta)
        if math.isfinite(bound):
            tight = min(linear, tight)
        found.append(
            LossAt(weeks=week, linear=linear, tight=tight, delta=_stated(total, delta), shown=total.infinite)
        )
    return found


def _gives_itself_away(mechanism: Mechanism, /) -> bool:
    """Whether the noise has a largest value: a count that far off is proof, and no epsilon bounds that."""
    losses = count_losses(mechanism).noisy_losing
    return (
        len(losses) == 1 and losses[0].atoms(_step(mechanism, _COARSE), side="lower").infinite > _NEGLIGIBLE
    )


def _stated(loss: GridLoss, delta: float, /) -> float:
    """The delta at which a tight epsilon is stated."""
    return min(max(delta, 2 * loss.infinite), 0.5)


def _epsilon_at(loss: GridLoss, delta: float, /) -> float:
    return least_epsilon(loss.delta, wanted=_stated(loss, delta))


def _one_week(mechanisms: Sequence[Mechanism], events: int, losses: int, /) -> GridLoss:
    """The loss of one week on a grid, rounded to the safe side."""
    step = _step(mechanisms[0], _FINE if losses <= _MANY else _COARSE)
    week = GridLoss.nothing(step)
    for mechanism in mechanisms:
        cell = GridLoss.of(_worst_atoms(mechanism, step), step=step, side="upper")
        week = week.plus(cell.times(events, side="upper"), side="upper")
    return week


def _worst_atoms(mechanism: Mechanism, step: float, /) -> LossAtoms:
    """A loss at least as bad as the noisy one and as a zero that is kept."""
    losses = count_losses(mechanism)
    if len(losses.noisy_losing) > 1:
        raise SpecError(
            "the loss by week is worked out for additive noise that is cut after rounding; "
            "random rounding and a cut before rounding are not."
        )
    noisy = losses.noisy_losing[0].atoms(step, side="upper")
    shown = 0.0 if losses.zero_losing is None else losses.zero_losing.infinite
    return LossAtoms(
        loss=noisy.loss, mass=noisy.mass * (1 - shown), infinite=shown + (1 - shown) * noisy.infinite
    )


def _step(mechanism: Mechanism, points: int, /) -> float:
    bound = mechanism.law.loss_bound(1)
    return bound / points if math.isfinite(bound) else 1 / math.sqrt(mechanism.law.variance) / points
