"""The account of a population as it is shown: budgets, and what one event, one day of a person and one person have lost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from noisegate.ledger._account import UNITS, Loss, PrivacyBudget, Reservation
from noisegate.ledger._balance import SHOWN_DELTA, Balance, SeriesBalance, Spending


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one unit has lost so far.

    Attributes
    ----------
    worst
        By plain addition, on the worst day; of releases whose loss is known and bounded.
    unbounded, unknown
        How many releases promise this unit nothing, and how many were charged by an older version in another unit.
    budget
        The most that it may lose, if anybody has said.
    """

    unit: str
    worst: Loss
    unbounded: int = 0
    unknown: int = 0
    budget: PrivacyBudget | None = None
    _spending: Spending = field(default_factory=Spending, compare=False, repr=False)

    @property
    def bounded(self) -> bool:
        """Whether `worst` is all there is."""
        return not self.unbounded and not self.unknown

    @property
    def tight_delta(self) -> Fraction:
        """The delta at which the tight epsilon is stated: that of the budget, or one in a million."""
        return self.budget.delta if self.budget is not None and self.budget.delta else SHOWN_DELTA

    @property
    def tight(self) -> float:
        """Epsilon by composing what each release promises, at `tight_delta`; infinite if nothing bounds it."""
        return self._spending.tight(self.tight_delta) if self.bounded else math.inf

    @property
    def left(self) -> Loss:
        """What the budget still holds by plain addition; nothing if there is none, or nothing bounds what was lost."""
        if self.budget is None or not self.bounded:
            return Loss()
        return Loss(
            epsilon=max(Fraction(0), self.budget.epsilon - self.worst.epsilon),
            delta=max(Fraction(0), self.budget.delta - self.worst.delta),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One population: its budgets, what was spent in each unit, and on what.

    `dataset` is its name. `budget`, `spent` and `left` are about the unit that was budgeted first, or that of the first release.
    """

    dataset: str
    units: tuple[Spent, ...] = tuple(Spent(unit=unit, worst=Loss()) for unit in UNITS)
    main: str = UNITS[0]
    reservations: tuple[Reservation, ...] = ()
    bindings: tuple[tuple[str, str | None], ...] = ()
    adopted: tuple[str, ...] = ()
    series: tuple[SeriesBalance, ...] = ()

    @classmethod
    def of(
        cls,
        dataset: str,
        balance: Balance,
        /,
        *,
        reservations: tuple[Reservation, ...],
        adopted: tuple[str, ...] = (),
        bindings: Iterable[tuple[str, str | None]] = (),
    ) -> Account:
        """The account of a balance."""
        units = tuple(
            Spent(
                unit=unit,
                worst=one.worst,
                unbounded=one.unbounded,
                unknown=one.unknown,
                budget=balance.budgets.get(unit),
                _spending=one,
            )
            for unit, one in balance.spending.items()
        )
        main = next(iter(balance.budgets), reservations[0].unit if reservations else UNITS[0])
        return cls(
            dataset=dataset,
            units=units,
            main=main,
            reservations=reservations,
            bindings=tuple(sorted(bindings, key=str)),
            adopted=adopted,
            series=tuple(balance.series.values()),
        )

    def per(self, unit: str, /) -> Spent:
        """What one unit has lost."""
        return next(one for one in self.units if one.unit == unit)

    @property
    def budget(self) -> PrivacyBudget | None:
        """The budget that was set first."""
        return self.per(self.main).budget

    @property
    def spent(self) -> Loss:
        """What was spent in the unit of `budget`, by plain addition."""
        return self.per(self.main).worst

    @property
    def left(self) -> Loss:
        """What `budget` still holds."""
        return self.per(self.main).left
