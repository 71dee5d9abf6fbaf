"""How few points of a person's travels single that person out, if trips were published with a person behind them.

A *point* is a place and a time bin. A person is *unique from p points* if nobody else was at all of p points drawn
from those of that person. The share of such persons is estimated from a random sample of persons and points, so that a
million cards take seconds: only points that were drawn are looked up in the events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.errors import SpecError
from noisegate.laws import as_rng, compiled

Ints = NDArray[np.int64]
Points = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histories:
    """The points of all persons; those of person i are `points[start[i]:start[i + 1]]`, in any order.

    A point may be there more than once. Persons are numbered from 0 and may have no point at all.
    """

    start: Ints
    points: Points

    def __post_init__(self) -> None:
        rises = self.start.size > 0 and self.start[0] == 0 and bool((np.diff(self.start) >= 0).all())
        if not rises or self.start[-1] != self.points.size:
            raise SpecError("the points of persons must lie one person after the other.")
        if self.points.size and int(self.points.min()) < 0:
            raise SpecError("points are numbered from 0.")

    @property
    def persons(self) -> int:
        """How many persons have a point."""
        return int((np.diff(self.start) > 0).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniqueness:
    """The share of persons who are unique from so many points.

    Attributes
    ----------
    points
        How many points are known.
    able
        The share of persons who have at least so many different points, as far as the sample tells.
    sampled, unique
        How many persons with so many points were looked at, and how many of those nobody else matches.
    low, high
        An interval for the share at the level asked for (Clopper and Pearson, so at least that level).
    """

    points: int
    able: float
    sampled: int
    unique: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The estimated share; None if nobody has so many points."""
        return self.unique / self.sampled if self.sampled else None


def by_person(person: Points, first: Points, second: Points, /) -> tuple[Ints, Points, Points]:
    """Where the events of each person start, and two columns of events in the order of persons."""
    start = np.concatenate([[0], np.cumsum(np.bincount(person, minlength=1))]).astype(np.int64)
    one, two = _in_order(person, start[:-1].copy(), first, second)
    return start, one, two


@compiled
def _in_order(person: Points, free: Ints, first: Points, second: Points) -> tuple[Points, Points]:
    """Both columns in the order of persons; `free` is used up."""
    one, two = np.empty_like(first), np.empty_like(second)
    for i in range(person.size):
        at = free[person[i]]
        free[person[i]] = at + 1
        one[at], two[at] = first[i], second[i]
    return one, two


@compiled
def _counting_order(group: Points, free: Ints) -> Ints:
    """The places of entries in the order of their groups; `free` is used up."""
    out = np.empty(group.size, dtype=np.int64)
    for i in range(group.size):
        out[free[group[i]]] = i
        free[group[i]] += 1
    return out


def uniqueness(
    histories: Histories,
    /,
    *,
    rng: np.random.Generator,
    known: Sequence[int] = (1, 2, 3, 4),
    sample: int = 2_000,
    level: float = 0.95,
) -> list[Uniqueness]:
    """How many persons are unique from each number of known points.

    Parameters
    ----------
    known
        Numbers of known points. The points of a smaller number are among those of a larger one.
    sample
        How many persons are drawn, at random and without putting any back.

    *Assumes* that the attacker knows points of the person for certain, and that the points known are as
    likely to be any of the person's different points.
    """
    source, numbers = as_rng(rng), sorted(set(known))
    if not numbers or numbers[0] < 1 or sample < 1:
        raise SpecError("known points and the sample must be at least 1.")
    if not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1")
    able = np.flatnonzero(np.diff(histories.start))
    chosen = able if able.size <= sample else np.sort(source.choice(able, size=sample, replace=False))
    drawn, points = _draw(histories, chosen, numbers[-1], source)
    busy = np.bincount(histories.points, minlength=1)
    sought = [_rarest_first(busy, points[drawn >= number, :number]) for number in numbers]
    names = np.unique(np.concatenate([rows[:, 0] for rows in sought]))
    start, visitors = _visitors(histories, names)
    found = []
    for number, rows in zip(numbers, sought, strict=True):
        place = np.searchsorted(names, rows[:, 0])
        alone = _nobody_else(
            chosen[drawn >= number], rows, place, start, visitors, histories.start, histories.points
        )
        low, high = share_interval(int(alone.sum()), len(rows), level=level)
        found.append(
            Uniqueness(
                points=number,
                able=len(rows) / max(chosen.size, 1),
                sampled=len(rows),
                unique=int(alone.sum()),
                low=low,
                high=high,
            )
        )
    return found


def _draw(histories: Histories, chosen: Ints, most: int, rng: np.random.Generator, /) -> tuple[Ints, Ints]:
    """How many points were drawn of each chosen person (`most`, or all there are), and these points, one row each."""
    drawn = np.zeros(chosen.size, dtype=np.int64)
    points = np.full((chosen.size, most), -1, dtype=np.int64)
    for row, one in enumerate(chosen.tolist()):
        own = np.unique(histories.points[histories.start[one] : histories.start[one + 1]])
        some = rng.permutation(own)[:most]
        drawn[row], points[row, : some.size] = some.size, some
    return drawn, points


def _rarest_first(busy: Ints, points: Ints, /) -> Ints:
    """The rows with the points that fewest events are at in front: only their visitors can match."""
    return np.take_along_axis(points, busy[points].argsort(axis=1, kind="stable"), axis=1)


def _visitors(histories: Histories, names: Ints, /) -> tuple[Ints, Ints]:
    """For each named point the persons who were there: `visitors[start[i]:start[i + 1]]`."""
    place = _look_up(histories.points, names)
    event = np.flatnonzero(place >= 0)
    place = place[event]
    person = np.searchsorted(histories.start, event, side="right") - 1
    start = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=names.size))]).astype(np.int64)
    return start, person[_counting_order(place, start.copy())]


def _look_up(points: Points, names: Ints, /) -> Points:
    """The place of each point among the names; -1 for others."""
    if not names.size:
        return np.full(points.size, -1, dtype=np.int32)
    table = np.full(int(points.max()) + 1, -1, dtype=np.int32)
    table[names] = np.arange(names.size)
    return np.asarray(table[points])


@compiled
def _nobody_else(
    chosen: Ints, points: Ints, place: Ints, start: Ints, visitors: Ints, own: Ints, history: Points
) -> Flags:
    """Whether nobody but each chosen person was at all the points of its row; visitors are those of the first one."""
    out = np.ones(chosen.size, dtype=np.bool_)
    for i in range(chosen.size):
        for j in range(start[place[i]], start[place[i] + 1]):
            other = visitors[j]
            if other == chosen[i]:
                continue
            shared = True
            for k in range(1, points.shape[1]):
                met = False
                for event in range(own[other], own[other + 1]):
                    if history[event] == points[i, k]:
                        met = True
                        break
                if not met:
                    shared = False
                    break
            if shared:
                out[i] = False
                break
    return out


def share_interval(hits: int, tries: int, /, *, level: float) -> tuple[float, float]:
    """An interval for a share of which `hits` of `tries` were seen; it covers at least at `level`."""
    tail = (1 - level) / 2
    low = float(special.betaincinv(hits, tries - hits + 1, tail)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, tries - hits, 1 - tail)) if hits < tries else 1.0
    return low, high
