"""What a release costs, never stated too low: how far the tables change with one event, day or person, and the loss of that.

Every loss that a card states is a loss between two neighbouring sets of events. Here is said what
"neighbouring" means in each case, in the only terms that matter to the noise: the most that a table
changes in total, and the most that one of its cells does. With c = max_cells, m = max_per_cell and
d days:

    comes or goes                          total   a base cell   a margin cell
    an event, events not bounded           1       1             1
    a unit                                 c m     m             c m or n m
    an event of a bounded unit             1 + m   m             m
    a day of a bounded person              2 c m   m             c m or n m
    all d days of a person, days bounded   d c m   m or d m      c m or d c m

A margin cell that sums only n < c base cells changes by n m at most.

*An event of a bounded unit.* A unit at its bound keeps a random choice of cells. One more event may
make a new cell, which is kept instead of another one that held m events: 1 comes and m go. Give
each cell a lot that does not depend on the others, and keep the lowest c: then with or without the
event the two choices differ in at most one cell each, whatever the lots are, so the loss of the
mixture is at most the loss of that change.

*A day of a bounded person.* By the same lots, what was kept of the day goes, at most c m, and as much
of other days may take its place. So it can cost more than the person's absence.

*All days.* In a table that tells days apart each day changes cells of its own; in one that does not, days
can add up in one cell: the second figure.

Laplace noise: epsilon is the sum over measured tables of total change / scale, an exact rational.
Gaussian noise: the promised epsilon, and the delta that composition gives there.

Zeros that are kept add to delta the probability that a cell shows itself which was empty without
the unit. A cell that goes from 0 to k stays unseen with probability u(k), and a table of total
change t can be changed in any cells, so it stays unseen with probability at least u(k)^(t/k) for the
worst k. What a unit shows and what the noise gives away add up, as "shown, or else noisy" is at
least as bad as what happens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from noisegate import limits
from noisegate.ledger import Loss
from noisegate.mechanisms import Contribution, Mechanism, PublishedNoise, safe_delta
from noisegate.spec import DateDimension, ReleaseSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The most that every table changes in total, and the most that one cell of each table does."""

    total: int
    most: Mapping[str, int]

    def worst(self, table: str, /) -> tuple[tuple[int, int], ...]:
        """The change that squared losses are largest for, as (cells, change of each): in as few cells as may be."""
        full, rest = divmod(self.total, self.most[table])
        return tuple(
            (cells, change) for cells, change in ((full, self.most[table]), (1, rest)) if cells * change
        )

    def square(self, table: str, /) -> int:
        """The squared L2 sensitivity of a table."""
        return sum(cells * change**2 for cells, change in self.worst(table))


def unit_change(spec: ReleaseSpec, /) -> Change:
    """One privacy unit comes or goes."""
    bound = spec.privacy.contribution
    return Change(total=bound.total, most=_most_of_unit(spec))


def event_change(spec: ReleaseSpec, /) -> Change:
    """One event comes or goes."""
    if spec.privacy.unit == "event":
        return unit_change(spec)
    held = spec.privacy.contribution.per_cell
    return Change(total=1 + held, most=_most(spec, base=held, margin=held))


def day_of_person_change(spec: ReleaseSpec, /) -> Change:
    """One day of a person comes or goes, where the unit is the person."""
    bound = spec.privacy.contribution
    return Change(total=2 * bound.total, most=_most_of_unit(spec))


def all_days_change(spec: ReleaseSpec, days: int, /) -> Change:
    """A person with all `days` comes or goes, where the unit is a person-day."""
    one = unit_change(spec)
    dated = {name for name, dim in spec.dimensions.items() if isinstance(dim, DateDimension)}
    return Change(
        total=days * one.total,
        most={
            name: most if dated.intersection(spec.tables[name]) else days * most
            for name, most in one.most.items()
        },
    )


def spread_change(spec: ReleaseSpec, events: int, /) -> Change:
    """So many unbounded events come or go, each in a cell of its own in every table."""
    return Change(total=events, most=_most(spec, base=1, margin=1))


def _most_of_unit(spec: ReleaseSpec, /) -> dict[str, int]:
    """The most that a unit adds to one cell of each table: all it may add at all, or to the cells summed there."""
    bound = spec.privacy.contribution
    summed = {name: bound.per_cell * margin.most_terms for name, margin in spec.margins.items()}
    return {name: min(bound.total, summed.get(name, bound.per_cell)) for name in spec.tables}


def _most(spec: ReleaseSpec, /, *, base: int, margin: int) -> dict[str, int]:
    return {name: base if name == spec.base else margin for name in spec.tables}


#: Events of the commuter whose loss is stated where a release bounds events only.
EXAMPLE_EVENTS = 40


#: Gaussian noise up to this sigma is composed exactly; the time for it grows with the fourth power.
WIDEST_COMPOSED = 40

Measured = Mapping[str, tuple[PublishedNoise, int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLoss(Loss):
    """A loss as a release states it: exact, or rounded up."""

    def as_json(self) -> dict[str, float]:
        """As numbers that are not below the exact ones."""
        return {"epsilon": rounded_up(self.epsilon), "delta": rounded_up(self.delta)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossStatement:
    """The loss of the promised unit, of one event, of a person-day and of a person.

    None means: this release bounds nothing of the kind. `example` is the loss of a person with
    `EXAMPLE_EVENTS` events, each in a cell of its own, stated where only events are protected.
    """

    unit: StatedLoss
    event: StatedLoss
    person_day: StatedLoss | None
    person: StatedLoss | None
    example: StatedLoss | None
    days: int | None


def state_losses(spec: ReleaseSpec, measured: Measured, /) -> LossStatement:
    """All losses of a release that measures these tables with this noise and cut."""
    unit = spec.privacy.unit
    days = spec.day.days if spec.day is not None and unit != "event" else None

    def loss(change: Change, *, units: int = 1) -> StatedLoss:
        # What bounding did is told beside the tables, a bound may be chosen: each costs the same for each unit that changes.
        told = units * spec.privacy.beside_tables
        tables = _loss(spec, measured, change)
        return StatedLoss(epsilon=tables.epsilon + told, delta=tables.delta)

    whole, day, person, example = loss(unit_change(spec)), None, None, None
    if unit == "event":
        example = loss(spread_change(spec, EXAMPLE_EVENTS))
    elif unit == "person":
        day, person = loss(day_of_person_change(spec)), whole
    else:
        day = whole
        person = loss(all_days_change(spec, days), units=days) if days is not None else None
    return LossStatement(
        unit=whole,
        event=loss(event_change(spec)),
        person_day=day,
        person=person,
        example=example,
        days=days,
    )


def _loss(spec: ReleaseSpec, measured: Measured, change: Change, /) -> StatedLoss:
    privacy = spec.privacy
    shown = _shown(measured, change) if privacy.zeros == "keep" else 0.0
    if privacy.law != "discrete-gaussian":
        epsilon = sum((Fraction(change.total) / noise.scale for noise, _ in measured.values()), Fraction(0))
        return StatedLoss(epsilon=epsilon, delta=upwards(shown))
    promised = privacy.epsilon if privacy.epsilon is not None else Fraction(1)
    epsilon = promised * max(Fraction(1), Fraction(change.total, privacy.contribution.total))
    noises = {name: noise for name, (noise, _) in measured.items()}
    noisy = gaussian_delta(noises, change, float(epsilon))
    delta = upwards(shown + (1 - shown) * noisy)
    if privacy.delta is not None and shown == 0 and noisy <= privacy.delta:
        delta = min(delta, privacy.delta)
    return StatedLoss(epsilon=epsilon, delta=delta)


def gaussian_delta(noises: Mapping[str, PublishedNoise], change: Change, epsilon: float, /) -> float:
    """Delta at `epsilon` of measuring these tables with Gaussian noise; an upper bound.

    The worst change puts as much as it may into as few cells as it can. By exact composition; for
    wide noise, where that would take minutes, by the bell curve that lies above it (`bell_delta`).
    """
    made = [
        Contribution(
            mechanism=Mechanism(law=noise.law, zeros="perturb"),
            cells=cells,
            change=most,
        )
        for name, noise in noises.items()
        for cells, most in change.worst(name)
    ]
    squares = sum(float(change.square(name) / noise.scale**2) for name, noise in noises.items())
    # The loss is near half of `squares`, up to its root: where that is far above epsilon, delta is one and not worth minutes.
    hopeless = squares / 2 - epsilon > _FAR_ABOVE * math.sqrt(squares)
    if max(noise.scale for noise in noises.values()) <= WIDEST_COMPOSED and not hopeless:
        return safe_delta(made, epsilon)
    narrowest = min(float(noise.scale) for noise in noises.values())
    return bell_delta(squares, epsilon, narrowest=narrowest)


#: A loss that lies so many standard deviations above epsilon is above it.
_FAR_ABOVE = 6.0
#: What is added to the variance of discrete Gaussian noise so that a bell curve lies above it in convex order, and from which sigma on.
_ABOVE_LATTICE, _NARROWEST_BELL = 0.125, 0.5


def bell_delta(squares: float, epsilon: float, /, *, narrowest: float) -> float:
    """Delta at `epsilon` of discrete Gaussian noise on any number of values: an upper bound, close to that of continuous noise.

    `squares` is the sum over all values of (change / sigma) squared, `narrowest` the least sigma. The privacy loss
    without the change is a sum of changes times noise; delta is the mean of a convex function of it, so a variable that is larger in convex
    order has a larger delta. A bell curve with an eighth more variance is larger in that order than discrete Gaussian noise of sigma
    at least one half (`docs/proofs/release.md`). Narrower noise is left to concentrated differential privacy.
    """
    from scipy import special

    if not squares:
        return 0.0
    if narrowest < _NARROWEST_BELL:
        return _concentrated_delta(squares / 2, epsilon)
    variance = squares * (1 + _ABOVE_LATTICE / narrowest**2)
    spread = math.sqrt(variance)
    up = (variance - squares) / 2 + special.log_ndtr((variance - squares / 2 - epsilon) / spread)
    if up > 0:  # Nothing is promised; and beyond that, numbers overflow.
        return 1.0
    down = epsilon + special.log_ndtr((-squares / 2 - epsilon) / spread)
    log_delta = up + math.log1p(-math.exp(min(-1e-300, down - up))) if down < up else -math.inf
    # Rounding in logarithms costs digits where the two parts are close: stay above.
    return min(1.0, math.exp(log_delta) * (1 + 1e-6) + 1e-15 * math.exp(up))


def _concentrated_delta(rho: float, epsilon: float, /) -> float:
    """Delta at `epsilon` of anything that is rho-concentrated, as discrete Gaussian noise is.

    Canonne, Kamath, Steinke (2020), *The Discrete Gaussian for Differential Privacy*, Theorem 4 and
    Proposition 12: every order above 1 gives a bound, and the best of many is taken.
    """
    over = np.exp(np.linspace(-12, 12, 4001))  # the order minus 1
    order = 1 + over
    logs = over * (order * rho - epsilon) - np.log(over) + order * (np.log(over) - np.log(order))
    return min(1.0, math.exp(min(0.0, float(np.min(logs)))) * (1 + 1e-9))


def _shown(measured: Measured, change: Change, /) -> float:
    """The most probable that a change shows itself in cells that are empty without it, zeros being kept."""
    unseen = 0.0
    for name, (noise, least) in measured.items():
        most = min(change.most[name], change.total)
        if most > limits.current().looked_at_change:
            return 1.0
        k = np.arange(1, most + 1)
        # Without a cut, a kept zero and a noisy one look the same and all else shows.
        log_unseen = noise.law.logpmf(-k) if least is None else noise.law.logcdf(least - 1 - k)
        unseen += change.total * float(np.min(log_unseen / k))
    return -math.expm1(unseen)


def chance_shown(measured: Measured, change: Change, /) -> Fraction:
    """The most probable that a change shows itself where zeros are kept, rounded up."""
    return upwards(_shown(measured, change))


def upwards(value: float, /, *, most: int | None = 1) -> Fraction:
    """A rational with few digits that is not below `value`; not above `most`, if there is one."""
    if value == 0:
        return Fraction(0)
    found = Fraction(Decimal(value).normalize(Context(prec=4, rounding=ROUND_CEILING)))
    return found if most is None else min(Fraction(most), found)


def rounded_up(value: Fraction, /) -> float:
    """The least float that is not below `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
