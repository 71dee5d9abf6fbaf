"""The people: what each of them does on a weekday and in their free time.

Nobody here knows a timetable; people have a place to go, a time they like and a habit of
keeping to it. `noisegate.simulation.day` puts them on vehicles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.simulation.town import Legs, Town
from noisegate.timetable import BUS, Flags, Floats, Ints

_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A kind of traveller.

    Attributes
    ----------
    share
        Share of the population.
    work
        Mean chance of the regular journey on a weekday.
    leave_h, leave_sd_h
        When people of this kind leave, over people.
    stay_h, stay_sd_h
        How long they stay, over people.
    spread_min
        Day-to-day standard deviation of one person, smallest and largest.
    free_weekday, free_weekend
        Mean chance of a free-time journey on such a day.
    night
        Free-time journeys are at night.
    """

    name: str
    share: float
    work: float = 0.0
    leave_h: float = 8.0
    leave_sd_h: float = 0.0
    stay_h: float = 8.0
    stay_sd_h: float = 0.0
    spread_min: tuple[float, float] = (2.0, 8.0)
    free_weekday: float = 0.0
    free_weekend: float = 0.0
    night: bool = False


HABITS = (
    Habit(
        name="commuter",
        share=0.42,
        work=0.72,
        leave_h=7.7,
        leave_sd_h=1.0,
        stay_h=9.2,
        stay_sd_h=1.3,
        free_weekday=0.02,
        free_weekend=0.12,
    ),
    Habit(
        name="student",
        share=0.12,
        work=0.6,
        leave_h=8.2,
        leave_sd_h=0.6,
        stay_h=7.0,
        stay_sd_h=0.8,
        spread_min=(3.0, 12.0),
        free_weekday=0.05,
        free_weekend=0.15,
    ),
    Habit(
        name="shift worker",
        share=0.03,
        work=0.6,
        leave_h=13.5,
        leave_sd_h=4.0,
        stay_h=8.5,
        stay_sd_h=0.5,
        free_weekday=0.03,
        free_weekend=0.1,
    ),
    Habit(name="occasional rider", share=0.40, free_weekday=0.12, free_weekend=0.14),
    Habit(name="night rider", share=0.03, free_weekday=0.15, free_weekend=0.35, night=True),
)

CHANGE_SHARE = 0.3
"""Share of regular bus riders near another mode who change to it."""

_FIRMNESS = 4.0
"""Concentration of the chances over people of one kind (Beta law)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Riders:
    """A part of the population, one entry for every person."""

    card: Ints
    work: Legs
    change: Legs
    free: Legs
    leave_s: Floats
    stay_s: Floats
    spread_s: Floats
    work_chance: Floats
    weekday_chance: Floats
    weekend_chance: Floats
    night: Flags

    def __len__(self) -> int:
        return len(self.card)


def draw_people(town: Town, /, *, first_card: int, count: int, rng: np.random.Generator) -> Riders:
    """`count` people with cards from `first_card` on.

    Riders who board at the same place stand together, which makes looking up their vehicles fast; their
    cards are shuffled, so that a card number says nothing.
    """
    kind = rng.choice(len(HABITS), size=count, p=[habit.share for habit in HABITS])
    work = town.by_day.draw(count, rng=rng)
    night = _field("night")[kind].astype(bool)
    shuffle = rng.permutation(count)
    late, early = (demand.draw(count, rng=rng)[shuffle] for demand in (town.by_night, town.by_day))
    low, high = np.array([habit.spread_min for habit in HABITS])[kind].T * 60.0
    leave_s = _HOUR * rng.normal(_field("leave_h")[kind], _field("leave_sd_h")[kind])
    stay_s = _HOUR * rng.normal(_field("stay_h")[kind], _field("stay_sd_h")[kind])
    return Riders(
        card=first_card + rng.permutation(count),
        work=work,
        change=_draw_changes(town, work, rng=rng),
        free=Legs(
            board=np.where(night, late.board, early.board), alight=np.where(night, late.alight, early.alight)
        ),
        leave_s=np.clip(leave_s, 4 * _HOUR, 23 * _HOUR),
        stay_s=np.maximum(stay_s, _HOUR),
        spread_s=rng.uniform(low, high),
        work_chance=_chances(_field("work")[kind], rng=rng),
        weekday_chance=_chances(_field("free_weekday")[kind], rng=rng),
        weekend_chance=_chances(_field("free_weekend")[kind], rng=rng),
        night=night,
    )


def _field(name: str) -> Floats:
    """One attribute of all habits."""
    return np.array([getattr(habit, name) for habit in HABITS], dtype=np.float64)


def _chances(mean: Floats, *, rng: np.random.Generator) -> Floats:
    """Each person's own chance: a Beta law around the mean of their kind, 0 where the mean is 0."""
    some = mean > 0
    chance = np.zeros(len(mean))
    chance[some] = rng.beta(_FIRMNESS * mean[some], _FIRMNESS * (1 - mean[some]))
    return chance


def _draw_changes(town: Town, work: Legs, *, rng: np.random.Generator) -> Legs:
    """A second leg for some regular bus riders who alight near another mode."""
    patterns = town.network.patterns
    board = np.full(len(work), -1)
    bus = work.exist()
    bus[bus] = town.network.pattern_modes()[patterns.of_calls()][work.board[bus]] == BUS
    wanting = np.flatnonzero(bus & (rng.random(len(work)) < CHANGE_SHARE))
    board[wanting] = town.connections.onward(patterns.stop[work.alight[wanting]], rng=rng)
    able = np.flatnonzero(board >= 0)
    alight = np.full(len(work), -1)
    alight[able] = town.by_day.alight_after(board[able], rng=rng)
    return Legs(board=board, alight=alight)
