"""A series on one budget: which sums of weeks are measured when, with what noise, and what all of it costs.

`noisegate.margins.plan_series` gives the strategy: whole entries, one row for each measurement. A row with the greatest common divisor g
is measured divided by it, with noise divided by it too, which is the same and lets a row about one week be an ordinary count with
ordinary noise. Every measured table has the same strategy, so least squares over weeks and over tables can be done one after the other.

How far rows change (`noisegate.margins.series`), with D the L2 and T the L1 sensitivity of one week's table:

    in one week       squares D^2 max over weeks of sum over rows of e^2,          sums T max over weeks of sum over rows of |e|
    in every week     squares D^2 sum over rows of (sum over weeks of |e|)^2,      sums T sum of all |e|

An event and a day of a person are in one week, a person is in every week; whatever the unit of the promise is, losses of all
three are stated. All of it is a function of the spec.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from noisegate import limits
from noisegate.errors import InternalError, SpecError
from noisegate.laws import exact
from noisegate.ledger import Part as LossPart
from noisegate.ledger import UnitLoss
from noisegate.margins import DENOMINATOR, Participation, SeriesStrategy, plan_series
from noisegate.mechanisms import PublishedNoise
from noisegate.releases.gaussian import root_above, root_below, rounded_above
from noisegate.releases.loss import (
    EXAMPLE_EVENTS,
    Change,
    LossStatement,
    StatedLoss,
    all_days_change,
    bell_delta,
    day_of_person_change,
    event_change,
    spread_change,
    unit_change,
    upwards,
)
from noisegate.spec import ReleaseSpec

_WEEK_DAYS = 7
#: How far above the least possible sigma the answer may lie.
_PRECISION = 1e-5
#: The least denominator of a prefix strategy whose noise the exact sampler must reach.
_LEAST_DENOMINATOR = 32
_AS_MEASURED = ("independent weeks", "weeks and total")
#: A coefficient that is no part of an estimate.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """An estimate: what each of some measurements counts for. `exact` if it is one measurement as it is."""

    rows: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def exact(self) -> bool:
        """Whether it is one measurement as it is, with its own noise."""
        return self.weights == (1.0,)


@dataclass(frozen=True, kw_only=True)
class SeriesTerms:
    """What a series measures and costs. `scales` is the noise of each measured table for rows as the strategy has them."""

    spec: ReleaseSpec
    strategy: SeriesStrategy
    scales: Mapping[str, Fraction]

    @classmethod
    def of(cls, spec: ReleaseSpec, /, *, shares: Mapping[str, Fraction]) -> SeriesTerms:
        """The best strategy for the weeks of a spec whose tables are measured with these shares of the budget."""
        assert spec.series is not None
        gaussian = spec.privacy.law == "discrete-gaussian"
        participation: Participation = "every" if spec.privacy.unit == "person" else "one"
        denominator = DENOMINATOR
        while True:
            found = plan_series(
                spec.series.weeks,
                participation=participation,
                law="gaussian" if gaussian else "laplace",
                denominator=denominator,
            )
            # Sums of Laplace noise have no law of their own: there a measurement is published as it is.
            best = next(one for one in found if gaussian or one.name in _AS_MEASURED)
            measured = {name: share for name, share in shares.items() if share > 0}
            terms = cls(
                spec=spec, strategy=best, scales=(_gaussian if gaussian else _laplace)(spec, best, measured)
            )
            widest = max(terms.scales.values()) / min(terms.divisors)
            if not gaussian or widest <= exact.LARGEST_SIGMA or denominator <= _LEAST_DENOMINATOR:
                break
            denominator //= 2
        _refuse_large(spec)
        for row in range(len(best.entries)):
            for name in terms.scales:
                terms.noise(row, name)  # refuses noise that is wider than the exact sampler's
        return terms

    @property
    def weeks(self) -> int:
        """How many weeks there are."""
        return self.strategy.weeks

    @cached_property
    def divisors(self) -> tuple[int, ...]:
        """The greatest common divisor of each row."""
        return tuple(int(np.gcd.reduce(row)) for row in self.strategy.entries)

    def row(self, place: int, /) -> tuple[int, ...]:
        """What is measured: a whole weight for each week."""
        return tuple((self.strategy.entries[place] // self.divisors[place]).tolist())

    def noise(self, row: int, table: str, /) -> PublishedNoise:
        """The noise of one measurement of a table."""
        gaussian = self.strategy.law == "gaussian"
        return PublishedNoise(
            name="discrete-gaussian" if gaussian else "discrete-laplace",
            scale=self.scales[table] / self.divisors[row],
        )

    @cached_property
    def noisiest_week(self) -> int:
        """The single week with the most noise when it is published."""

        def spread(week: int) -> float:
            by = self.of_week(week)
            return math.fsum(
                (w / self.divisors[row]) ** 2 for row, w in zip(by.rows, by.weights, strict=True)
            )

        return max(range(1, self.weeks + 1), key=spread)

    @property
    def variance_of_total(self) -> float | None:
        """The variance of the total of all weeks as it is published, over that of one independent week; None if it is not."""
        by = self.running(self.weeks)
        if by is None:
            return None
        best = self.strategy.estimator(np.ones(self.weeks, dtype=np.int64))
        own = math.fsum((w / self.divisors[row]) ** 2 for row, w in zip(by.rows, by.weights, strict=True))
        return self.strategy.total * own / float(best @ best)

    def measured_in(self, week: int, /) -> tuple[int, ...]:
        """The measurements that are made when a week is over."""
        return tuple(row for row, end in enumerate(self.strategy.ends) if end == week)

    def of_week(self, week: int, /) -> Combination:
        """How the table of one week is estimated when it is over."""
        found = self._combination([0] * (week - 1) + [1])
        if found is None:
            raise InternalError(f"week {week} of the series is not measured")
        return found

    def running(self, week: int, /) -> Combination | None:
        """How the sum of all weeks so far is estimated; None if adding weeks up is all there is, or there is one week.

        Laplace noise of several measurements has no law of its own, so there it is published once it is measured.
        """
        return None if week == 1 else self._combination([1] * week)

    def _combination(self, wanted: list[int], /) -> Combination | None:
        if self.strategy.law == "laplace":
            rest = [0] * (self.weeks - len(wanted))
            found = [row for row in range(len(self.strategy.entries)) if list(self.row(row)) == wanted + rest]
            return Combination(rows=(found[0],), weights=(1.0,)) if found else None
        weights = self.strategy.estimator(np.array(wanted)) * np.array(self.divisors)
        rows = np.flatnonzero(np.abs(weights) > _NOTHING)
        return Combination(rows=tuple(rows.tolist()), weights=tuple(np.round(weights[rows], 12).tolist()))

    def noises(self, of: Combination, /) -> dict[str, PublishedNoise]:
        """The noise of an estimate, for each table: its own, or a bell curve of the same variance, rounding to whole counts included."""
        if of.exact:
            return {name: self.noise(of.rows[0], name) for name in self.scales}
        found = {}
        for name in self.scales:
            variance = math.fsum(
                weight**2 * float(self.noise(row, name).scale) ** 2
                for row, weight in zip(of.rows, of.weights, strict=True)
            )
            scale = rounded_above(Fraction(math.sqrt(variance + 1 / 12)))
            found[name] = PublishedNoise(name="discrete-gaussian", scale=scale)
        return found

    @property
    def losses(self) -> LossStatement:
        """What the whole series costs."""
        return self._statement(None)

    def losses_of_week(self, week: int, /) -> LossStatement:
        """What the measurements of one week cost if they are made once more."""
        return self._statement(self.measured_in(week))

    def _statement(self, rows: Sequence[int] | None, /) -> LossStatement:
        found = {unit: self._loss(*change, rows=rows) for unit, change in self._changes().items()}
        unit, days = self.spec.privacy.unit, None if self.spec.day is None else self.spec.day.days
        example = None
        if unit == "event":
            example = self._loss(spread_change(self.spec, EXAMPLE_EVENTS), "one", rows=rows)
        return LossStatement(
            unit=found[unit],
            event=found["event"],
            person_day=found.get("person-day"),
            person=found.get("person"),
            example=example,
            days=days if unit != "event" else None,
        )

    def charges(self, *, week: int | None = None) -> dict[str, UnitLoss | None]:
        """The loss of each unit with its parts: of the whole series, or of the measurements of one week made once more."""
        rows = None if week is None else self.measured_in(week)
        changes = self._changes()
        return {
            unit: UnitLoss(
                loss=self._loss(*changes[unit], rows=rows),
                parts=tuple(self._parts(*changes[unit], rows=rows)),
            )
            if unit in changes
            else None
            for unit in ("event", "person-day", "person")
        }

    def _changes(self) -> dict[str, tuple[Change, Participation]]:
        """What comes and goes in each week with one unit, and in how many weeks."""
        spec, unit = self.spec, self.spec.privacy.unit
        found: dict[str, tuple[Change, Participation]] = {"event": (event_change(spec), "one")}
        if unit == "person":
            found["person-day"] = day_of_person_change(spec), "one"
            found["person"] = unit_change(spec), "every"
        if unit == "person-day":
            found["person-day"] = unit_change(spec), "one"
            found["person"] = all_days_change(spec, _WEEK_DAYS), "every"
        return found

    def _loss(
        self, change: Change, participation: Participation, /, *, rows: Sequence[int] | None
    ) -> StatedLoss:
        if self.strategy.law == "laplace":
            size = self.strategy.sensitivity(rows=rows, participation=participation)
            epsilon = sum(
                (Fraction(change.total * size) / scale for scale in self.scales.values()), Fraction(0)
            )
            return StatedLoss(epsilon=epsilon)
        delta = self.spec.privacy.delta
        assert delta is not None
        squares = self._squares(change, participation, rows)
        promised = self.spec.privacy.epsilon or Fraction(1)
        if squares == self._squares(unit_change(self.spec), self.strategy.participation, None):
            return StatedLoss(epsilon=promised, delta=delta)
        least = _least_epsilon(float(squares), float(delta), narrowest=self._narrowest)
        return StatedLoss(epsilon=upwards(least, most=None), delta=delta)

    def _squares(
        self, change: Change, participation: Participation, rows: Sequence[int] | None, /
    ) -> Fraction:
        """The sum of all squared changes over the variance of their noise."""
        size = self.strategy.sensitivity(rows=rows, participation=participation)
        return sum(
            (Fraction(change.square(name) * size) / scale**2 for name, scale in self.scales.items()),
            Fraction(0),
        )

    @property
    def _narrowest(self) -> float:
        return float(min(self.scales.values())) / max(self.divisors)

    def _parts(
        self, change: Change, participation: Participation, /, *, rows: Sequence[int] | None
    ) -> list[LossPart]:
        if self.strategy.law == "gaussian":
            return [("concentrated", self._squares(change, participation, rows) / 2, 1)]
        entries = np.abs(self.strategy.entries if rows is None else self.strategy.entries[list(rows)])
        if participation == "every":
            sums = entries.sum(axis=1).tolist()
        else:  # Every week is in a row of its own, and perhaps in one of all weeks: the same for each.
            sums = entries[:, int(entries.sum(axis=0).argmax())].tolist()
        return [
            ("pure", Fraction(change.total * int(size)) / scale, sums.count(size))
            for scale in self.scales.values()
            for size in sorted({one for one in sums if one})
        ]


def _refuse_large(spec: ReleaseSpec, /) -> None:
    most = limits.current().reconciled_cells
    if spec.domain.size > most:
        raise SpecError(
            f"Table {spec.base!r} has {spec.domain.size:,} cells; a series holds every cell, at most {most:,}. Merge some, or release "
            "weeks on their own."
        )


def _laplace(
    spec: ReleaseSpec, strategy: SeriesStrategy, shares: Mapping[str, Fraction], /
) -> dict[str, Fraction]:
    total, epsilon = spec.privacy.contribution.total, spec.privacy.epsilon or Fraction(1)
    return {name: total * strategy.sensitivity() / (epsilon * share) for name, share in shares.items()}


def _gaussian(
    spec: ReleaseSpec, strategy: SeriesStrategy, shares: Mapping[str, Fraction], /
) -> dict[str, Fraction]:
    """Scales such that all measurements of all tables keep the promise, by `bell_delta`."""
    epsilon, delta = float(spec.privacy.epsilon or 1), float(spec.privacy.delta or 0)
    change, size = unit_change(spec), strategy.sensitivity()
    most = max(int(np.gcd.reduce(row)) for row in strategy.entries)

    def scales(sigma: float) -> dict[str, Fraction]:
        return {
            name: rounded_above(Fraction(sigma) * root_above(change.square(name) * size) / root_below(share))
            for name, share in shares.items()
        }

    def holds(sigma: float) -> bool:
        found = scales(sigma)
        squares = sum(float(change.square(name) * size / scale**2) for name, scale in found.items())
        return bell_delta(squares, epsilon, narrowest=float(min(found.values())) / most) <= delta

    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return scales(high)


def _least_epsilon(squares: float, delta: float, /, *, narrowest: float) -> float:
    """The least epsilon at which delta holds, to five digits, from above."""
    low, high = 0.0, 1.0
    while bell_delta(squares, high, narrowest=narrowest) > delta:
        low, high = high, 2 * high
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if bell_delta(squares, middle, narrowest=narrowest) <= delta else (middle, high)
        )
    return high
