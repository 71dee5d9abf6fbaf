"""How the risks grow if the same release is made week after week (MATH 5), and how the loss is spread over persons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.mechanisms import (
    STATED_DELTA,
    IntervalWidths,
    LossAt,
    Mechanism,
    Residual,
    detection,
    loss_by_week,
    occasions_until,
    seen_by,
    widths,
)
from noisegate.recovery import MarginRows, Seen, perturbed_apart
from noisegate.tables import Card, Kind, Table

Ints = NDArray[np.int64]

#: Shares of persons whose loss is told.
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Persons:
    """How many events the persons in the raw data have, and what that costs them in the worst case.

    `quantiles` maps a share of persons to the number of events that this share stays within.
    """

    persons: int
    days: int
    quantiles: dict[float, int]
    event_epsilon: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        per_week = 7 / self.days
        costs = [
            {
                "share_of_persons": share,
                "events": events,
                "events_per_week": round(events * per_week, 2),
                "epsilon": None if self.event_epsilon is None else events * self.event_epsilon,
                "epsilon_per_week": None
                if self.event_epsilon is None
                else events * per_week * self.event_epsilon,
            }
            for share, events in self.quantiles.items()
        ]
        return {"persons": self.persons, "days": self.days, "quantiles": costs}

    @classmethod
    def of(cls, events: Ints, /, *, days: int, event_epsilon: float | None) -> Persons:
        """The distribution of the number of events over persons who have any."""
        active = events[events > 0]
        found = np.quantile(active, _SHARES, method="inverted_cdf") if active.size else np.zeros(len(_SHARES))
        return cls(
            persons=int(active.size),
            days=days,
            quantiles={share: int(value) for share, value in zip(_SHARES, found, strict=True)},
            event_epsilon=event_epsilon,
        )


GROUPS = (1, 5, 12)
#: How often something recurs: the name, and how many cells it is in every week.
PATTERNS = (("once a week", 1), ("every workday", 5))
#: Whose loss is stated: one event that recurs, a commuter with two journeys of two taps on five days, and a heavy traveller.
TRAVELLERS = (
    ("one event a week", 1),
    ("commuter, 20 events a week", 20),
    ("heavy traveller, 60 events a week", 60),
)
CERTAINTIES = (0.01, 0.5, 0.95)
WIDTHS = (4, 2, 0)
EPSILONS = (1.0, 10.0, 100.0)
#: The recurring suppressed count that is looked at, as a share of the least published one (12 of 18), and the parts of its
#: total if no row of the tables tells.
_SHARE, PARTS = 2 / 3, 2
_LOSS_WEEKS = (1, 2, 4, 8, 13, 26, 39, 52, 78, 104, 156, 208, 260, 312, 364, 416, 468, 520)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurring:
    """A group that recurs in cells that are otherwise empty: `chance` that a published count proves it, each time."""

    group: int
    pattern: str
    per_week: int
    chance: float

    def by_week(self, weeks: int, /) -> list[float]:
        """The chance that it has been proved by the end of each week."""
        return [float(p) for p in seen_by(self.chance, self.per_week * np.arange(1, weeks + 1))]

    def weeks_until(self, certainty: float, /) -> int | None:
        """The week by which that is as certain as asked for; None for never."""
        occasions = occasions_until(self.chance, certainty)
        return None if occasions is None else -(-occasions // self.per_week)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The loss of one kind of person, at some weeks."""

    who: str
    events_per_week: int
    at: tuple[LossAt, ...]

    def weeks_until(self, epsilon: float, /) -> int | None:
        """The week in which the worst-case epsilon exceeds `epsilon`; None if none bounds it from the start."""
        weekly = self.at[0].linear / self.at[0].weeks
        return math.floor(epsilon / weekly) + 1 if math.isfinite(weekly) and weekly > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weeks:
    """The risks of so many weeks.

    Attributes
    ----------
    recurring
        Groups that recur, by size and pattern.
    width, parts
        How well a recurring suppressed count is known, and how many published parts its total has; None where
        nothing is suppressed.
    growth
        The loss of kinds of persons; empty where the noise has no loss that can be composed.
    promised
        What a card promises to a person for one release, and the days that a release covers; None without a card.
    persons
        The same for the persons in the raw data, if there are any.
    """

    horizon: int
    level: float
    recurring: tuple[Recurring, ...]
    width: IntervalWidths | None
    parts: int
    growth: tuple[Growth, ...]
    assumes: tuple[str, ...]
    zeros_known: bool = True
    promised: tuple[float, int] | None = None
    persons: Persons | None = field(default=None)

    @classmethod
    def of(
        cls,
        tables: Sequence[Seen],
        rows: Iterable[MarginRows],
        /,
        *,
        horizon: int,
        level: float,
        zeros_known: bool = True,
        card: Card | None = None,
    ) -> Weeks:
        """The risks of `horizon` weeks of releases like this one.

        Parameters
        ----------
        tables
            The tables that were perturbed on their own, the base first, and how each was made.
        rows
            The links to margins: the sharpest row tells how few published parts a total can have.
        zeros_known
            Whether it is known what happens to zeros. If not, they are taken to be kept, which is the worse case.
        """
        check_weeks(horizon)
        mechanisms = [_plain(seen.mechanism) for seen in tables]
        if not zeros_known:
            mechanisms = [replace(mechanism, zeros="keep") for mechanism in mechanisms]
        base = mechanisms[0]
        recurring = tuple(
            Recurring(group=group, pattern=pattern, per_week=times, chance=detection(base, group))
            for group in GROUPS
            for pattern, times in PATTERNS
        )
        parts = _fewest_parts(rows)
        total = mechanisms[1].law if len(mechanisms) > 1 else base.law
        width = None
        if base.threshold is not None and base.law.variance > 0:
            residual = Residual(
                total=total, part=base.law, parts=PARTS if parts is None else parts, cell=base
            )
            width = _widths(residual, horizon, level)
        assumed = dict.fromkeys(line for seen in tables for line in seen.assumes)
        return cls(
            horizon=horizon,
            level=level,
            recurring=recurring,
            width=width,
            parts=PARTS if parts is None else parts,
            growth=_growth(mechanisms, horizon),
            zeros_known=zeros_known,
            assumes=(
                *assumed,
                "every week is released like these, with fresh noise",
                *(() if zeros_known else ("empty cells stay empty, which these tables do not tell",)),
            ),
            promised=_promised(card, tables[0].cells),
        )

    def to_json(self) -> dict[str, Any]:
        """The section `weeks` of `assessment.json`."""
        return {
            "horizon": self.horizon,
            "level": self.level,
            "delta": STATED_DELTA,
            "assumes": list(self.assumes),
            "zeros_known": self.zeros_known,
            "detection": [
                {
                    "group": one.group,
                    "pattern": one.pattern,
                    "occasions_per_week": one.per_week,
                    "chance": one.chance,
                    "by_week": one.by_week(self.horizon),
                    "weeks_until": {f"{c:g}": one.weeks_until(c) for c in CERTAINTIES},
                }
                for one in self.recurring
            ],
            "width": None if self.width is None else self._width_json(self.width),
            "loss": [
                {
                    "who": one.who,
                    "events_per_week": one.events_per_week,
                    "by_week": [
                        {
                            "week": at.weeks,
                            "linear": at.linear,
                            "tight": at.tight,
                            "delta": at.delta,
                            "shown": at.shown,
                        }
                        for at in one.at
                    ],
                    "weeks_until": {f"{e:g}": one.weeks_until(e) for e in EPSILONS},
                }
                for one in self.growth
            ],
            "promised": None
            if self.promised is None
            else {"person_epsilon": self.promised[0], "days": self.promised[1]},
            "persons": None if self.persons is None else self.persons.to_json(),
        }

    def _width_json(self, width: IntervalWidths, /) -> dict[str, Any]:
        return {
            "count": width.count,
            "parts": self.parts,
            "level": width.level,
            "by_week": width.expected.tolist(),
            "pinned_by_week": width.pinned.tolist(),
            "weeks_until": {str(w): width.weeks_until(w) for w in WIDTHS},
        }


def check_weeks(horizon: int, /) -> None:
    """Refuse a number of weeks that makes no sense."""
    most = limits.current().weeks
    if isinstance(horizon, bool) or not isinstance(horizon, int) or not 1 <= horizon <= most:
        raise SpecError.for_value("--weeks", found=horizon, allowed=f"a whole number from 1 to {most}")


def _widths(residual: Residual, horizon: int, level: float, /) -> IntervalWidths | None:
    """The widths of a count that is two thirds of the least published one; None if such a count is never suppressed."""
    count = max(1, round(_SHARE * (residual.cell.threshold or 0.0)))
    if residual.cell.response(count).log_suppressed == -math.inf:
        return None
    return widths(residual, count=count, weeks=horizon, level=level)


def _plain(mechanism: Mechanism, /) -> Mechanism:
    """The mechanism with noise as it shows in whole numbers, cut after rounding: what can be composed."""
    return replace(mechanism, law=mechanism.published_law, cut="after")


def _growth(mechanisms: Sequence[Mechanism], horizon: int, /) -> tuple[Growth, ...]:
    """The loss of all travellers; none for noise with a largest value, whose loss nothing bounds."""
    at = [week for week in _LOSS_WEEKS if week < horizon] + [horizon]
    try:
        return tuple(
            Growth(
                who=who,
                events_per_week=events,
                at=tuple(loss_by_week(mechanisms, events_per_week=events, weeks=at)),
            )
            for who, events in TRAVELLERS
            if all(mechanism.law.variance > 0 for mechanism in mechanisms)
        )
    except SpecError:
        return ()


def _fewest_parts(rows: Iterable[MarginRows], /) -> int | None:
    """The fewest published members of a row of a margin that has noise of its own and a member missing."""
    found = [
        int(one.link.shown[one.rows[short]].min())
        for one in rows
        if perturbed_apart(one) is not False and one.residual.any()
        for short in [(one.missing > 0) & (one.link.shown[one.rows] > 0)]
        if short.any()
    ]
    return min(found, default=None)


def _promised(card: Card | None, cells: Table, /) -> tuple[float, int] | None:
    """What the card promises to a person however many events there are, and for how many days."""
    if card is None or card.unit == "event" or card.person_epsilon is None:
        return None
    return card.person_epsilon, days_of(cells)


def days_of(cells: Table, /) -> int:
    """How many days a table covers; 7 if it has no dates."""
    dates = [d for d in cells.dimensions if d.kind is Kind.DATE]
    return int((~dates[0].unknown).sum()) if dates else 7
