"""All days of a simulation: the same people, day after day.

Every part draws from its own stream of random numbers, named by what it is for (the city, its
people by chunk, the vehicles by day, the rides by day and chunk). What comes out therefore
depends on the arguments alone, not on memory, cores or the order of work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.simulation.day import (
    Conduct,
    Delays,
    DepartureBoard,
    ServiceDay,
    TapTable,
    ride_day,
    trip_readers,
)
from noisegate.simulation.population import Riders, draw_people
from noisegate.simulation.town import Town
from noisegate.timetable import EPOCH

CHUNK = 1 << 16
"""People simulated together; part of what the seed means."""

CITY, POPULARITY, _PEOPLE, _VEHICLES, _RIDES = range(5)
"""Streams of random numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The checked arguments of a simulation."""

    days: int
    persons: int
    seed: int
    conduct: Conduct

    def __post_init__(self) -> None:
        for name, found, most in (
            ("days", self.days, limits.current().simulated_days),
            ("persons", self.persons, limits.current().simulated_persons),
        ):
            if not 1 <= found <= most:
                raise SpecError.for_value(name, found=found, allowed=f"from 1 to {most}")
        if self.seed < 0:
            raise SpecError.for_value("seed", found=self.seed, allowed="0 or a positive whole number")

    def rng(self, *stream: int) -> np.random.Generator:
        """The generator of one named stream."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=stream))


def tap_days(town: Town, scenario: Scenario, *, first: date) -> Iterator[TapTable]:
    """The taps of each calendar day in order of time.

    The service day before the first one is simulated too, for its taps after midnight; taps after the
    last midnight are left out, as an extract by date would.
    """
    firsts = range(0, scenario.persons, CHUNK)
    crowd = [
        draw_people(
            town,
            first_card=low + 1,
            count=min(CHUNK, scenario.persons - low),
            rng=scenario.rng(_PEOPLE, chunk),
        )
        for chunk, low in enumerate(firsts)
    ]
    boards: dict[frozenset[int], DepartureBoard] = {}
    carried: list[TapTable] = []
    for number in range(scenario.days + 1):
        day = first + timedelta(days=number - 1)
        taps = TapTable.joined(
            [*carried, *_ride_all(town, scenario, crowd, day=day, number=number, boards=boards)]
        )
        today = taps.at_s < 86_400 * ((day - EPOCH).days + 1)
        carried = [taps[~today]]
        if number > 0:
            yield taps[today].by_time()


def _ride_all(
    town: Town,
    scenario: Scenario,
    crowd: list[Riders],
    *,
    day: date,
    number: int,
    boards: dict[frozenset[int], DepartureBoard],
) -> list[TapTable]:
    """The taps of one service day, chunk by chunk; `boards` keeps the departures of days alike."""
    services = town.network.services_on(day)
    if services not in boards:
        boards[services] = DepartureBoard.of(town.network, services)
    readers = trip_readers(town.network)
    today = ServiceDay(
        town=town,
        day=day,
        departures=boards[services],
        delays=Delays.of(readers, conduct=scenario.conduct, rng=scenario.rng(_VEHICLES, number)),
        readers=readers,
        conduct=scenario.conduct,
    )
    return [
        ride_day(today, people, rng=scenario.rng(_RIDES, number, chunk)) for chunk, people in enumerate(crowd)
    ]
