"""What a release costs: the loss of one unit, one event, one person, stated exactly.

Laplace noise: epsilon is the sum over measured tables of L1 / scale, an exact rational. Zeros that
are kept add a delta: the probability that the unit shows itself in a cell that was empty without
it, bounded from above by composition. Gaussian noise: the promised (epsilon, delta).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from noisegate.core.composition import Contribution, composed_delta
from noisegate.core.mechanism import Mechanism
from noisegate.core.perturb import Perturbation, PublishedNoise
from noisegate.spec import ReleaseSpec

#: Events of the commuter whose loss is stated where a release bounds events only.
EXAMPLE_EVENTS = 40

Measured = Mapping[str, tuple[PublishedNoise, int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Epsilon and delta, exact or rounded up."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def as_json(self) -> dict[str, float]:
        """As numbers that are not below the exact ones."""
        return {"epsilon": rounded_up(self.epsilon), "delta": rounded_up(self.delta)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossStatement:
    """The loss of the promised unit, of one event, of a person-day and of a person.

    None means: this release bounds nothing of the kind. `example` is the loss of a person with
    `EXAMPLE_EVENTS` events, stated where only events are protected.
    """

    unit: Loss
    event: Loss
    person_day: Loss | None
    person: Loss | None
    example: Loss | None
    days: int | None


def state_losses(spec: ReleaseSpec, measured: Measured, /) -> LossStatement:
    """All losses of a release that measures these tables with this noise and cut."""
    unit, bound = spec.privacy.unit, spec.privacy.contribution
    whole = _unit_loss(spec, measured, cells=bound.cells, per_cell=bound.per_cell)
    if unit == "event":
        return LossStatement(
            unit=whole,
            event=whole,
            person_day=None,
            person=None,
            example=_scaled(whole, EXAMPLE_EVENTS),
            days=None,
        )
    # One more event can push another one out of a unit that is at its bound: two cells move.
    event = _scaled(_unit_loss(spec, measured, cells=1, per_cell=1), 2)
    event = event if event.epsilon < whole.epsilon else whole
    days = len(spec.day.values) if spec.day is not None else None
    if unit == "person":
        return LossStatement(unit=whole, event=event, person_day=whole, person=whole, example=None, days=days)
    person = _scaled(whole, days) if days is not None else None
    return LossStatement(unit=whole, event=event, person_day=whole, person=person, example=None, days=days)


def _unit_loss(spec: ReleaseSpec, measured: Measured, /, *, cells: int, per_cell: int) -> Loss:
    privacy = spec.privacy
    if privacy.law == "discrete-gaussian":
        return _gaussian_loss(spec, measured, cells=cells, per_cell=per_cell)
    epsilon = sum((Fraction(cells * per_cell) / noise.scale for noise, _ in measured.values()), Fraction(0))
    if privacy.zeros == "perturb":
        return Loss(epsilon=epsilon)
    made = [
        Contribution(mechanism=_mechanism(noise, least, spec), cells=cells, change=per_cell)
        for noise, least in measured.values()
    ]
    return Loss(epsilon=epsilon, delta=_upwards(composed_delta(made, rounded_up(epsilon)).upper))


def _gaussian_loss(spec: ReleaseSpec, measured: Measured, /, *, cells: int, per_cell: int) -> Loss:
    """The promise, or what a stated sigma gives at epsilon = 1."""
    epsilon = spec.privacy.epsilon if spec.privacy.epsilon is not None else Fraction(1)
    made = [
        Contribution(
            mechanism=_mechanism(noise, least, spec),
            cells=cells if name == spec.base else 1,
            change=per_cell if name == spec.base else cells * per_cell,
        )
        for name, (noise, least) in measured.items()
    ]
    return Loss(epsilon=epsilon, delta=_upwards(composed_delta(made, float(epsilon)).upper))


def _mechanism(noise: PublishedNoise, least: int | None, spec: ReleaseSpec, /) -> Mechanism:
    return Perturbation(noise=noise, least=least, zeros=spec.privacy.zeros).mechanism


def _scaled(loss: Loss, times: int, /) -> Loss:
    """The worst case of `times` such losses: both add up."""
    return Loss(epsilon=loss.epsilon * times, delta=min(Fraction(1), loss.delta * times))


def _upwards(value: float, /) -> Fraction:
    """A rational with few digits that is not below `value`."""
    if value == 0:
        return Fraction(0)
    return Fraction(Decimal(value).normalize(Context(prec=4, rounding=ROUND_CEILING)))


def rounded_up(value: Fraction, /) -> float:
    """The least float that is not below `value`."""
    near = float(value)
    return near if Fraction(near) >= value else float.__add__(near, abs(near) * 2**-52 or 5e-324)
