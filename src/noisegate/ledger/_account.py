"""The values of the ledger: a loss, a budget, a reservation, an account."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

from noisegate.errors import SpecError
from noisegate.ledger._exact import as_delta, as_epsilon

UNITS: Final = ("event", "person-day", "person")
SOURCES: Final = ("set", "spec", "default")

State = Literal["reserved", "published", "abandoned"]


def as_unit(value: str, /) -> str:
    """`value` as a privacy unit, or a `SpecError` with the nearest one."""
    if value not in UNITS:
        raise SpecError.for_choice("unit", found=str(value), allowed=UNITS)
    return UNITS[UNITS.index(value)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A privacy loss: epsilon and delta, exact. Losses add up by basic composition."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if not isinstance(value, Fraction) or value < 0:
                raise SpecError.for_value(name, found=value, allowed="a Fraction of at least 0")

    def __add__(self, other: Loss) -> Loss:
        return Loss(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def fits(self, budget: Budget, /) -> bool:
        """Whether this loss is within `budget`, in epsilon and in delta."""
        return self.epsilon <= budget.epsilon and self.delta <= budget.delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that all releases of a dataset together may cost one privacy unit.

    `source` says who chose it: `set` a person, with `ledger set`; `spec` the spec of the first
    release; `default` nobody (see `default_budget`).
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    unit: str
    source: str = "set"

    def __post_init__(self) -> None:
        if as_epsilon(self.epsilon) == 0:
            raise SpecError.for_value("the epsilon of a budget", found=0, allowed="above 0")
        as_delta(self.delta)
        as_unit(self.unit)
        if self.source not in SOURCES:
            raise SpecError.for_choice("the source of a budget", found=self.source, allowed=SOURCES)


DEFAULT_EPSILON: Final = Fraction(10)
DEFAULT_DELTA: Final = Fraction(1, 10**6)


def default_budget(*, unit: str) -> Budget:
    """What a dataset gets with its first release when nobody has chosen a budget for it.

    A stop against accidents, not advice: epsilon 10 and delta one in a million, in the unit of
    that release.
    """
    return Budget(epsilon=DEFAULT_EPSILON, delta=DEFAULT_DELTA, unit=unit, source="default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A loss that was charged to a dataset, and what became of the release it was meant for.

    It counts as spent from the moment it exists, in every state.
    """

    id: str
    dataset: str
    unit: str
    loss: Loss
    release: str
    spec_digest: str
    output: Path
    reserved_at: str
    state: State = "reserved"
    card_digest: str | None = None
    published_at: str | None = None

    @property
    def staging(self) -> Path:
        """Where the release is put together before it is renamed to `output`."""
        return self.output.with_name(f".{self.output.name}.{self.id}.staging")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One dataset: its budget, what was spent, and on what."""

    dataset: str
    budget: Budget | None = None
    spent: Loss = Loss()
    reservations: tuple[Reservation, ...] = ()

    @property
    def left(self) -> Loss:
        """What the budget still holds; nothing if there is none, or if it was lowered below `spent`."""
        if self.budget is None:
            return Loss()
        return Loss(
            epsilon=max(Fraction(0), self.budget.epsilon - self.spent.epsilon),
            delta=max(Fraction(0), self.budget.delta - self.spent.delta),
        )
