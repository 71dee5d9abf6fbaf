"""What a release is charged with: its loss in every unit, the parts that tight accounting composes, and its dates.

The figures are those of the card. The parts say how the loss of each table came about:

- Laplace noise on the base: a unit changes so many cells, each by so much at most, so the loss is that many pure parts.
- Laplace noise on a margin: all that a unit changes may fall into one cell, so the loss is one pure part.
- Gaussian noise: rho = squared change / (2 sigma^2), which adds up.
- Zeros that are kept: the chance that something shows itself.

The number of cells is known for what comes and goes in cells of its own (see `noisegate.releases.loss`). Where days of a person
may add up in one cell of the base, the whole change counts as one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from noisegate.ledger import Binding, Charge, Days, Part, SeriesWeek, UnitLoss
from noisegate.releases.loss import (
    Change,
    Measured,
    StatedLoss,
    all_days_change,
    chance_shown,
    day_of_person_change,
    event_change,
    unit_change,
)
from noisegate.releases.plan import Plan, SeriesPart
from noisegate.releases.series_week import series_digest
from noisegate.spec import DateDimension, ReleaseSpec


def charge_of(
    plan: Plan, /, *, bindings: Sequence[Binding] = (), by: Sequence[str] = (), adopts: Sequence[str] = ()
) -> Charge:
    """The charge of a planned release, in all three units."""
    spec, losses = plan.spec, plan.losses
    if plan.series is not None:
        return _series_charge(plan, plan.series, bindings=bindings, by=by, adopts=adopts)
    stated: dict[str, StatedLoss | None] = {
        "event": losses.event,
        "person-day": losses.person_day,
        "person": losses.person,
    }
    return Charge(
        losses={
            unit: None if loss is None else _unit_loss(plan, unit, loss) for unit, loss in stated.items()
        },
        days=release_days(spec),
        bindings=tuple(bindings),
        by=tuple(by),
        adopts=tuple(adopts),
    )


def _series_charge(
    plan: Plan, part: SeriesPart, /, *, bindings: Sequence[Binding], by: Sequence[str], adopts: Sequence[str]
) -> Charge:
    """The charge of a week of a series: that of all weeks, which the ledger takes once."""
    terms = part.terms
    return Charge(
        losses=terms.charges(),
        again=terms.charges(week=part.week),
        days=release_days(plan.spec),
        bindings=tuple(bindings),
        by=tuple(by),
        adopts=tuple(adopts),
        series=SeriesWeek(name=plan.spec.name, digest=series_digest(plan), week=part.week, weeks=terms.weeks),
    )


def release_days(spec: ReleaseSpec, /) -> Days | None:
    """The dates that a release is about: events of other dates are not counted; None if it is about all."""
    dates = [dim for dim in spec.dimensions.values() if isinstance(dim, DateDimension)]
    if len(dates) != 1:
        return None
    (one,) = dates
    return Days(first=one.first, last=one.last, column=one.column, timezone=spec.events.timezone)


def _unit_loss(plan: Plan, unit: str, loss: StatedLoss, /) -> UnitLoss:
    spec = plan.spec
    change = _change(spec, unit, plan.losses.days)
    measured = {table.name: (table.noise, table.least) for table in plan.tables if table.noise is not None}
    parts = _parts(spec, measured, change, several_days=_days_add_up(spec, unit))
    if spec.privacy.beside_tables:
        # What is told or chosen beside the tables: once for each unit that changes.
        many = (plan.losses.days or 1) if unit == "person" and spec.privacy.unit == "person-day" else 1
        parts.append(("pure", spec.privacy.beside_tables, many))
    return UnitLoss(loss=loss, parts=tuple(parts))


def _change(spec: ReleaseSpec, unit: str, days: int | None, /) -> Change:
    """What comes or goes with one unit."""
    if unit == spec.privacy.unit:
        return unit_change(spec)
    if unit == "event":
        return event_change(spec)
    return day_of_person_change(spec) if unit == "person-day" else all_days_change(spec, days or 1)


def _days_add_up(spec: ReleaseSpec, unit: str, /) -> bool:
    """Whether days of a person may fall into one cell of the base: where days are bounded and the base does not tell them apart."""
    dated = {name for name, dim in spec.dimensions.items() if isinstance(dim, DateDimension)}
    return unit == "person" and spec.privacy.unit == "person-day" and not dated & set(spec.tables[spec.base])


def _parts(spec: ReleaseSpec, measured: Measured, change: Change, /, *, several_days: bool) -> list[Part]:
    parts: list[Part] = []
    for name, (noise, _) in measured.items():
        if noise.name == "discrete-gaussian":
            parts.append(("concentrated", Fraction(change.square(name)) / (2 * noise.scale**2), 1))
        elif name == spec.base and not several_days:
            parts += [("pure", Fraction(most) / noise.scale, cells) for cells, most in change.worst(name)]
        else:
            parts.append(("pure", Fraction(change.total) / noise.scale, 1))
    if spec.privacy.zeros == "keep":
        parts.append(("shown", chance_shown(measured, change), 1))
    return parts
