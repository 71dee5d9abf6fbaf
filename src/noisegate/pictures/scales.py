"""Scales: from values to places between 0 and 1, round numbers to mark on them, and how these are said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol


class Scale(Protocol):
    """Where a value is along an axis; None for one that has no place on it."""

    def at(self, value: Any, /) -> float | None:
        """The place of a value, from 0 to 1."""
        ...

    def ticks(self, count: int, /) -> Sequence[Any]:
        """Values to mark, about so many."""
        ...


def _finite(values: Iterable[float], /) -> list[float]:
    return [float(value) for value in values if math.isfinite(value)]


def round_step(span: float, count: int, /) -> float:
    """The step of 1, 2 or 5 times a power of ten that divides `span` into about `count`."""
    raw = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    factor = next((f for f, least in ((10, 50), (5, 10), (2, 2)) if raw / power >= math.sqrt(least)), 1)
    return factor * power


def round_ticks(low: float, high: float, count: int, /) -> list[float]:
    """Multiples of a round step from `low` to `high`."""
    step = round_step(high - low, count)
    digits = max(0, 1 - math.floor(math.log10(step)))
    slack = 1e-9
    first, last = math.ceil(low / step - slack), math.floor(high / step + slack)
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Linear:
    """Equal steps for equal differences."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float], /, *, zero: bool = False, count: int = 6) -> Linear:
        """A scale that holds all values, from one round number to another; with 0 on it if `zero`."""
        found = _finite(values) + ([0.0] if zero else [])
        low, high = min(found, default=0.0), max(found, default=1.0)
        if low == high:
            low, high = (low, low + 1) if zero else (low - abs(low) / 2 - 0.5, high + abs(high) / 2 + 0.5)
        step = round_step(high - low, count)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step)

    def at(self, value: Any, /) -> float | None:
        """The place of a number."""
        place = (float(value) - self.low) / ((self.high - self.low) or 1.0)
        return place if math.isfinite(place) else None

    def ticks(self, count: int, /) -> list[float]:
        """Round numbers."""
        return round_ticks(self.low, self.high, count) if self.high > self.low else [self.low]


@dataclass(frozen=True, slots=True)
class Log:
    """Equal steps for equal factors; numbers from 0 down have no place."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float], /, *, room: float = 1.0) -> Log:
        """A scale that holds all values above 0, with a factor `room` at either end."""
        found = [value for value in _finite(values) if value > 0]
        low, high = min(found, default=1.0) / room, max(found, default=10.0) * room
        return cls(low, high) if high > low else cls(low / 3, high * 3)

    def rounded(self) -> Log:
        """From one power of ten to another."""
        ends = (math.floor(math.log10(self.low) + 1e-9), math.ceil(math.log10(self.high) - 1e-9))
        return Log(10.0 ** ends[0], 10.0 ** max(ends[1], ends[0] + 1))

    def at(self, value: Any, /) -> float | None:
        """The place of a number above 0."""
        if not (value > 0 and math.isfinite(value)):
            return None
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self, count: int, /) -> list[float]:
        """Powers of ten, fewer where there are many, with 2 and 5, or 3, between where there are few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = self._inside(step * 10.0**power for power in range(first, last + 1) for step in steps)
            if len(found) <= count + 1:
                break
        else:
            every = -(-(last - first) // max(count, 1))
            found = self._inside(10.0**power for power in range(first, last + 1) if power % every == 0)
        return found if len(found) > 1 else self._inside(round_ticks(self.low, self.high, count))

    def _inside(self, values: Iterable[float], /) -> list[float]:
        return [value for value in values if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


@dataclass(frozen=True, slots=True)
class Symlog:
    """From 0 on, nearly equal steps for equal factors: small numbers stay visible beside large ones."""

    high: float

    def at(self, value: Any, /) -> float | None:
        """The place of a number from 0 on."""
        return math.log1p(value) / math.log1p(self.high) if 0 <= value < math.inf else None

    def ticks(self, count: int, /) -> list[float]:
        """0 and powers of ten."""
        powers = range(math.ceil(math.log10(max(self.high, 1))) + 1)
        every = -(-len(powers) // max(count, 1))
        return [0.0, *(10.0**power for power in powers[::every] if 10.0**power <= self.high * (1 + 1e-9))]


@dataclass(frozen=True)
class Rooms:
    """One room for each name, side by side or under each other, `inner` of it left free, and `outer` at the ends."""

    names: Sequence[Any]
    inner: float = 0.1
    outer: float = 0.05

    @cached_property
    def _places(self) -> dict[Any, float]:
        names = list(dict.fromkeys(self.names))
        return {
            name: (self.outer + place + (1 - self.inner) / 2) * self.step for place, name in enumerate(names)
        }

    @property
    def step(self) -> float:
        """From one name to the next."""
        return 1 / max(len(set(self.names)) - self.inner + 2 * self.outer, 1 - self.inner)

    @property
    def width(self) -> float:
        """Of one room."""
        return self.step * (1 - self.inner)

    def at(self, value: Any, /) -> float | None:
        """The middle of a name's room."""
        return self._places.get(value)

    def ticks(self, count: int, /) -> list[Any]:  # noqa: ARG002 - every name counts
        """All names."""
        return list(self._places)


def number(value: Any, /) -> str:
    """A number as an axis says it: 0.25, 1,500, 20,000, 3M; texts as they are."""
    if isinstance(value, str):
        return value
    size = abs(value)
    if 0 < size < 0.00099:
        found = _powered(f"{value:.1g}")
    elif size < 1e6:
        found = f"{value:.6g}" if size < 1000 else f"{value:,.0f}"
    else:
        least, letter = next((one for one in _LETTERS if size >= one[0]), _LETTERS[-1])
        found = f"{value / least:.7g}{letter}" if size < 1e16 else _powered(f"{value:.1g}")
    return found.replace("-", "−")


_LETTERS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))


def _powered(text: str, /) -> str:
    """1e-06 as 1e-6."""
    digits, mark, power = text.partition("e")
    return f"{digits}e{int(power)}" if mark else text


def percent(value: float, /) -> str:
    """A share as a percentage."""
    return f"{100 * value:.3g}%".replace("-", "−")


def odds(value: float, /) -> str:
    """A chance as 1 in so many."""
    if value <= 0:
        return "never"
    return f"1 in {1 / value:.1f}".removesuffix(".0") if value >= 0.5 else f"1 in {1 / value:,.0f}"
