"""What one event, one day of a person and one person have lost so far, as worst case and tight.

Losses of a person add up over all releases. A day of a person, and an event, is in a release only if the dates of the release
include it: so releases about disjoint dates do not add up (parallel composition), and the worst day counts. Releases
without dates, or with dates told by another clock, add to every day.

The worst case is plain addition, exact, and holds however releases were chosen. The tight figure composes what each release is
known to promise (`noisegate.mechanisms.accounting`); it is never above the worst case.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from noisegate.ledger._account import UNITS, Loss, PrivacyBudget, as_epsilon, float_down, float_up
from noisegate.ledger._charge import Days, Part, SeriesWeek, UnitLoss

#: The delta at which a tight epsilon is stated where a budget has none.
SHOWN_DELTA = Fraction(1, 10**6)


@dataclass(slots=True)
class Pile:
    """Losses that add up: their sum, and their parts with how often each is there."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    parts: Counter[tuple[str, Fraction]] = field(default_factory=Counter)

    @property
    def loss(self) -> Loss:
        """The sum."""
        return Loss(epsilon=self.epsilon, delta=self.delta)

    def add(self, loss: Loss, parts: Iterable[Part], /) -> None:
        """Put one more loss on it."""
        self.epsilon += loss.epsilon
        self.delta += loss.delta
        for kind, amount, times in parts:
            self.parts[kind, amount] += times

    def plus(self, *others: Pile) -> Pile:
        """Both together, or more; none of them changes."""
        both = Pile(self.epsilon, self.delta, self.parts.copy())
        for other in others:
            both.epsilon += other.epsilon
            both.delta += other.delta
            both.parts.update(other.parts)
        return both

    def copy(self) -> Pile:
        """Another one with the same on it."""
        return Pile(self.epsilon, self.delta, self.parts.copy())

    def tight_delta(self, epsilon: Fraction, /) -> float:
        """Delta at `epsilon`, by composing the parts."""
        from noisegate.mechanisms import delta_of_parts

        return delta_of_parts(self._parts(), float_down(epsilon))

    def tight_epsilon(self, delta: Fraction, /) -> float:
        """The least epsilon at `delta`: by composing the parts, or by plain addition if that is less."""
        from noisegate.mechanisms import epsilon_of_parts

        plain = float_up(self.epsilon) if self.delta <= delta else float("inf")
        return min(plain, epsilon_of_parts(self._parts(), float_down(delta)))

    def _parts(self) -> Any:
        from noisegate.mechanisms import LossPart

        return {LossPart(kind=kind, amount=amount): times for (kind, amount), times in self.parts.items()}  # type: ignore[arg-type]

    def to_json(self) -> list[Any]:
        """As plain data."""
        parts = [[kind, str(amount), times] for (kind, amount), times in self.parts.items()]
        return [str(self.epsilon), str(self.delta), parts]

    @classmethod
    def of_json(cls, value: Any, /) -> Self:
        """What `to_json` wrote."""
        epsilon, delta, parts = value
        counted = Counter({(str(kind), as_epsilon(amount)): int(times) for kind, amount, times in parts})
        return cls(as_epsilon(epsilon), as_epsilon(delta), counted)


class DayPiles:
    """Piles by day: stretches of days on which the same was lost.

    A ledger has thousands of them and a release touches few, so each stays as it was kept until it is needed. What was lost only grows, so
    the most of any day is known without a look at all.
    """

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._piles: list[Pile | list[Any]] = []
        self._most: Loss | None = Loss()

    def __len__(self) -> int:
        return len(self._piles)

    @property
    def most(self) -> Loss:
        """The largest epsilon and the largest delta of any day."""
        if self._most is None:
            piles = list(self.piles())
            self._most = Loss(
                epsilon=max((one.epsilon for one in piles), default=Fraction(0)),
                delta=max((one.delta for one in piles), default=Fraction(0)),
            )
        return self._most

    def add(self, days: Days, loss: Loss, parts: tuple[Part, ...], /) -> None:
        """Put a loss on each of some days."""
        first, last = days.first.toordinal(), days.last.toordinal()
        at = bisect_left(self._lasts, first)
        most = self.most
        while first <= last:
            if at == len(self._piles) or self._firsts[at] > last:
                self._insert(at, first, last, Pile())
            elif self._firsts[at] > first:
                self._insert(at, first, self._firsts[at] - 1, Pile())
            elif self._firsts[at] < first:
                self._cut(at, first)
                at += 1
            if self._lasts[at] > last:
                self._cut(at, last + 1)
            pile = self._pile(at)
            pile.add(loss, parts)
            most = Loss(epsilon=max(most.epsilon, pile.epsilon), delta=max(most.delta, pile.delta))
            first = self._lasts[at] + 1
            at += 1
        self._most = most

    def _pile(self, at: int, /) -> Pile:
        found = self._piles[at]
        if not isinstance(found, Pile):
            found = self._piles[at] = Pile.of_json(found)
        return found

    def _insert(self, at: int, first: int, last: int, pile: Pile | list[Any], /) -> None:
        self._firsts.insert(at, first)
        self._lasts.insert(at, last)
        self._piles.insert(at, pile)

    def _cut(self, at: int, first: int, /) -> None:
        """Cut a stretch in two, the second of which begins with `first`."""
        pile = self._piles[at]
        self._insert(at + 1, first, self._lasts[at], pile.copy())
        self._lasts[at] = first - 1

    def piles(self) -> Iterator[Pile]:
        """What was lost on the days of each stretch."""
        return (self._pile(at) for at in range(len(self)))

    def above_all(self) -> Pile:
        """A pile that no day exceeds."""
        high = Pile(self.most.epsilon, self.most.delta)
        for pile in self.piles():
            high.parts |= pile.parts
        return high

    def to_json(self) -> dict[str, Any]:
        """As plain data: the stretches, the distinct piles, and which of them each stretch has."""
        places: dict[str, int] = {}
        kept: dict[int, int] = {}  # most piles are as they were kept, and many days have the same one
        which = []
        for one in self._piles:
            place = kept.get(id(one))
            if place is None:
                text = json.dumps(one.to_json() if isinstance(one, Pile) else one)
                place = kept[id(one)] = places.setdefault(text, len(places))
            which.append(place)
        return {
            "most": [str(self.most.epsilon), str(self.most.delta)],
            "firsts": self._firsts.copy(),
            "lasts": self._lasts.copy(),
            "piles": [json.loads(text) for text in places],
            "which": which,
        }

    @classmethod
    def of_json(cls, value: Any, /) -> Self:
        """What `to_json` wrote; older notes had each day with its pile."""
        made = cls()
        made._most = None
        if isinstance(value, Mapping) and "which" in value:
            made._firsts, made._lasts = list(value["firsts"]), list(value["lasts"])
            made._piles = [value["piles"][place] for place in value["which"]]
        else:
            days = value["days"] if isinstance(value, Mapping) else value
            made._firsts, made._lasts = [int(one[0]) for one in days], [int(one[1]) for one in days]
            made._piles = [one[2] for one in days]
        if isinstance(value, Mapping):
            epsilon, delta = value["most"]
            made._most = Loss(epsilon=as_epsilon(epsilon), delta=as_epsilon(delta))
        return made


class Spending:
    """What one unit of a population has lost.

    `unbounded` releases promise it nothing; of them `least` says what they cost at least, which is what one event loses.
    Of `unknown` releases nothing is known: an older version charged them in another unit.
    """

    def __init__(self) -> None:
        self.always = Pile()
        self.dated: dict[str, DayPiles] = {}
        self.least = Pile()
        self.unbounded = 0
        self.unknown = 0

    def add(self, loss: UnitLoss, days: Days | None, /) -> None:
        """Charge one more release."""
        if days is None:
            self.always.add(loss.loss, loss.parts)
        else:
            self.dated.setdefault(days.clock, DayPiles()).add(days, loss.loss, loss.parts)

    def piles(self, *, least: bool = False) -> Iterator[Pile]:
        """What may have been lost on some day; the worst of them counts. With `least`, unbounded releases count so much."""
        rest = (self.least,) if least else ()
        if len(self.dated) != 1:
            yield self.always.plus(*(one.above_all() for one in self.dated.values()), *rest)
            return
        for calendar in self.dated.values():
            for pile in calendar.piles():
                yield pile.plus(self.always, *rest)

    @property
    def worst(self) -> Loss:
        """Plain addition, on the worst day; not counting releases that are unbounded or unknown."""
        piles = list(self._sums())
        return Loss(epsilon=max(e for e, _ in piles), delta=max(d for _, d in piles))

    def _sums(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Sums that no pile exceeds, without their parts."""
        if len(self.dated) != 1:
            pile = next(self.piles())
            yield pile.epsilon, pile.delta
            return
        for calendar in self.dated.values():
            yield calendar.most.epsilon + self.always.epsilon, calendar.most.delta + self.always.delta

    def tight(self, delta: Fraction, /) -> float:
        """The tight epsilon at `delta`, on the worst day; infinite if a release is unbounded."""
        if self.unbounded or self.unknown:
            return float("inf")
        return max(pile.tight_epsilon(delta) for pile in self.piles())

    def over(self, budget: PrivacyBudget, /, *, least: bool = False) -> Pile | None:
        """The first pile that does not fit a budget, neither by plain addition nor tight; None if all do."""
        rest = self.least if least else Pile()
        if all(
            epsilon + rest.epsilon <= budget.epsilon and delta + rest.delta <= budget.delta
            for epsilon, delta in self._sums()
        ):
            return None
        for pile in self.piles(least=least):
            if pile.loss.fits(budget):
                continue
            if not budget.delta or Fraction(pile.tight_delta(budget.epsilon)) > budget.delta:
                return pile
        return None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "always": self.always.to_json(),
            "dated": {clock: calendar.to_json() for clock, calendar in self.dated.items()},
            "least": self.least.to_json(),
            "unbounded": self.unbounded,
            "unknown": self.unknown,
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any], /) -> Self:
        """What `to_json` wrote."""
        made = cls()
        made.always, made.least = Pile.of_json(value["always"]), Pile.of_json(value["least"])
        made.dated = {clock: DayPiles.of_json(one) for clock, one in value["dated"].items()}
        made.unbounded, made.unknown = int(value["unbounded"]), int(value["unknown"])
        return made


@dataclass(slots=True)
class SeriesBalance:
    """A series that a population has paid for: its name, the digest of what it promises, its weeks, and who reserved which."""

    name: str
    digest: str
    weeks: int
    reserved: dict[int, list[str]] = field(default_factory=dict)

    def to_json(self) -> list[Any]:
        """As plain data."""
        return [
            self.name,
            self.digest,
            self.weeks,
            [[week, list(ids)] for week, ids in self.reserved.items()],
        ]

    @classmethod
    def of_json(cls, value: Any, /) -> Self:
        """What `to_json` wrote."""
        name, digest, weeks, reserved = value
        return cls(
            str(name), str(digest), int(weeks), {int(week): list(map(str, ids)) for week, ids in reserved}
        )


@dataclass(slots=True)
class Balance:
    """One population: its budgets by unit, what each unit has lost, and the series that it pays for, by name."""

    budgets: dict[str, PrivacyBudget] = field(default_factory=dict)
    spending: dict[str, Spending] = field(default_factory=lambda: {unit: Spending() for unit in UNITS})
    releases: int = 0
    series: dict[str, SeriesBalance] = field(default_factory=dict)

    def note_week(self, one: SeriesWeek, reservation: str, /) -> None:
        """Note that a week of a series was reserved."""
        known = self.series.setdefault(one.name, SeriesBalance(one.name, one.digest, one.weeks))
        known.reserved.setdefault(one.week, []).append(reservation)

    def charge(self, losses: Mapping[str, UnitLoss | None], days: Days | None, /) -> None:
        """Charge one more release, in every unit."""
        self.releases += 1
        for unit, spending in self.spending.items():
            if unit not in losses:
                spending.unknown += 1
                continue
            loss = losses[unit]
            if loss is not None:
                # What a person has lost adds up whatever the dates are.
                spending.add(loss, None if unit == "person" else days)
            else:
                spending.unbounded += 1
                event = losses.get("event")
                if event is not None:
                    spending.least.add(event.loss, event.parts)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "budgets": [
                [one.unit, str(one.epsilon), str(one.delta), one.source] for one in self.budgets.values()
            ],
            "spending": {unit: one.to_json() for unit, one in self.spending.items()},
            "releases": self.releases,
            **({"series": {name: one.to_json() for name, one in self.series.items()}} if self.series else {}),
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any], /) -> Self:
        """What `to_json` wrote."""
        budgets = {
            unit: PrivacyBudget(epsilon=Fraction(epsilon), delta=Fraction(delta), unit=unit, source=source)
            for unit, epsilon, delta, source in value["budgets"]
        }
        spending = {unit: Spending.of_json(value["spending"][unit]) for unit in UNITS}
        series = {name: SeriesBalance.of_json(one) for name, one in value.get("series", {}).items()}
        return cls(budgets, spending, int(value["releases"]), series)
