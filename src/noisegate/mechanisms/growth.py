"""How the privacy loss of one person grows week by week: in the worst case, and as privacy-loss distributions compose.

The worst case is a straight line. The tight curve composes the losses of all weeks on a grid, rounded to
the safe side, as `noisegate.mechanisms.composition` does for one release; the grid is coarser, because a year has thousands of
losses, which costs at most a few per cent of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from noisegate.errors import SpecError
from noisegate.mechanisms.composition import GridLoss
from noisegate.mechanisms.loss import LossAtoms
from noisegate.mechanisms.mechanism import Mechanism
from noisegate.mechanisms.privacy import count_losses, least_epsilon

#: The delta at which tight curves are stated.
STATED_DELTA = 1e-6
#: Grid points to the largest loss of one cell: few for long sums, many for short ones.
_FINE, _COARSE, _MANY = 32, 8, 240
#: Tails of unbounded noise that are cut when it is put on a grid are smaller than this.
_NEGLIGIBLE = 1e-12


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
