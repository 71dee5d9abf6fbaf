"""The values of the ledger: exact numbers, a loss, a budget, a reservation.

A budget and a loss are rational numbers and stay so: stored as `p/q`, summed and compared as
`Fraction`. Only what is shown is rounded, and then outward: a loss upward, what is left downward.
A binary float is refused, because `0.1` as a float is a little more than a tenth and ten of
them would not fit a budget of 1.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from noisegate.errors import SpecError

if TYPE_CHECKING:
    from noisegate.ledger._charge import Charge

Exact: TypeAlias = Fraction | Decimal | int | str
"""What can be given as an exact number; text is decimal ("0.1", "1e-6") or a ratio ("1/3")."""

_TEXT = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)", re.ASCII)
_DIGITS = 1000
_LARGEST = 10**_DIGITS
_SHOWN = 6


def exact(value: Exact, /, *, name: str) -> Fraction:
    """`value` as a rational number, or a `SpecError` that names it.

    Guarantees that no digit of it is lost. Numbers of more than a thousand digits are refused:
    no budget needs them, and adding them up would be slow.
    """
    try:
        number = _fraction(value)
    except (ValueError, ZeroDivisionError):
        allowed = "an exact number (text such as '0.1', '1e-6' or '1/3', a Fraction, an int)"
        raise SpecError.for_value(name, found=value, allowed=allowed) from None
    if max(abs(number.numerator), number.denominator) > _LARGEST:
        raise SpecError(f"{name} must be a number of at most {_DIGITS} digits. Round it outward first.")
    return number


def _fraction(value: Exact) -> Fraction:
    """The rational number meant by `value`; ValueError if none is, or none of sane size."""
    if isinstance(value, str):
        return _read(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _DIGITS:
        return Fraction(value)
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    raise ValueError


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> Fraction:
    """The number that a text means; the same few stand in a ledger again and again."""
    if len(text) <= 3 * _DIGITS and _TEXT.fullmatch(text.strip()):
        return Fraction(text.strip())
    raise ValueError


def as_epsilon(value: Exact, /, *, name: str = "epsilon") -> Fraction:
    """`value` as an epsilon: at least 0."""
    number = exact(value, name=name)
    if number < 0:
        raise SpecError.for_value(name, found=str(value), allowed="at least 0")
    return number


def as_delta(value: Exact, /, *, name: str = "delta") -> Fraction:
    """`value` as a delta: at least 0 and below 1."""
    number = exact(value, name=name)
    if not 0 <= number < 1:
        raise SpecError.for_value(name, found=str(value), allowed="at least 0 and below 1")
    return number


def shown_up(value: Fraction, /) -> str:
    """`value` to six digits, never less than it: for what was spent or is asked for."""
    return _shown(value, rounding=ROUND_CEILING)


def shown_down(value: Fraction, /) -> str:
    """`value` to six digits, never more than it: for what is left or allowed."""
    return _shown(value, rounding=ROUND_FLOOR)


def float_up(value: Fraction, /) -> float:
    """A float near `value` whose written form is not below it: 0.1 for a tenth, not 0.1000…5."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else math.nextafter(near, math.inf)


def float_down(value: Fraction, /) -> float:
    """A float near `value` whose written form is not above it."""
    near = float(value)
    return near if Fraction(repr(near)) <= value else math.nextafter(near, -math.inf)


def _shown(value: Fraction, *, rounding: str) -> str:
    context = Context(prec=_SHOWN, rounding=rounding, Emax=9999, Emin=-9999)
    short = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    plain = -4 <= short.adjusted() <= _SHOWN
    if not short or plain:
        text = format(short, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return format(short.normalize(context), "e").replace("e+", "e")


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

    def fits(self, budget: PrivacyBudget, /) -> bool:
        """Whether this loss is within `budget`, in epsilon and in delta."""
        return self.epsilon <= budget.epsilon and self.delta <= budget.delta


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyBudget:
    """The most that all releases of a population together may cost one privacy unit.

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


def default_budget(*, unit: str) -> PrivacyBudget:
    """What a population gets with its first release in a unit when nobody has chosen a budget for it.

    A stop against accidents, not advice: epsilon 10 and delta one in a million, in the unit of
    that release.
    """
    return PrivacyBudget(epsilon=DEFAULT_EPSILON, delta=DEFAULT_DELTA, unit=unit, source="default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A loss that was charged to a population, and what became of the release it was meant for.

    It counts as spent from the moment it exists, in every state. `dataset` is the population; `loss` is that of `unit`, and
    `charge` has those of all units.
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
    charge: Charge | None = field(default=None, compare=False, repr=False)

    @property
    def staging(self) -> Path:
        """Where the release is put together before it is renamed to `output`."""
        return self.output.with_name(f".{self.output.name}.{self.id}.staging")
