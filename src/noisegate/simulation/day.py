"""One service day: people decide, ride timetabled vehicles, and leave taps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import numpy as np

from noisegate.simulation.departures import DepartureBoard
from noisegate.simulation.legs import Legs
from noisegate.simulation.population import People
from noisegate.simulation.readers import CLOSED, LINGER_S, LINGER_SHARE, Conduct, Delays, exit_s, lead_s
from noisegate.simulation.taps import NOWHERE, TapTable
from noisegate.simulation.town import Town
from noisegate.timetable.calendar import EPOCH
from noisegate.timetable.tolerance import OFF, ON
from noisegate.timetable.visits import Flags, Floats, Ints

_HOUR = 3600.0
RETURN_CHANCE = 0.94
"""How often riders come back the same way, where the line allows it."""
_WALK_S = 120
_SHORTEST_STAY_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDay:
    """What all riders of one service day share."""

    town: Town
    day: date
    departures: DepartureBoard
    delays: Delays
    readers: Ints
    conduct: Conduct

    def number(self) -> int:
        """Days from 1970."""
        return (self.day - EPOCH).days

    def working(self) -> bool:
        """Monday to Friday."""
        return self.day.weekday() < 5

    def lively(self) -> bool:
        """Friday and Saturday, whose nights are long."""
        return self.day.weekday() in {4, 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Journeys:
    """Plans for the day, one entry for every journey; `stay_s` is negative where nobody comes back."""

    person: Ints
    first: Legs
    second: Legs
    ready_s: Ints
    stay_s: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rides:
    """Rides that took place; `journey` numbers the plans."""

    journey: Ints
    legs: Legs
    trip: Ints
    on_s: Ints
    off_s: Ints


def ride_day(today: ServiceDay, people: People, /, *, rng: np.random.Generator) -> TapTable:
    """All taps that `people` leave on one service day, in no particular order."""
    plans = _plan(today, people, rng=rng)
    rides = _ride_out_and_back(today, plans, rng=rng)
    parts = [_record(today, people.card[plans.person[r.journey]], r, rng=rng) for r in rides]
    return TapTable.joined(parts)


def _plan(today: ServiceDay, people: People, *, rng: np.random.Generator) -> _Journeys:
    """Who goes where and when: the regular journey or a free-time one, never both."""
    works = (rng.random(len(people)) < people.work_chance) & today.working()
    festive = np.where(people.night, today.lively(), not today.working())
    chance = np.where(festive, people.weekend_chance, people.weekday_chance)
    free = ~works & (rng.random(len(people)) < chance)
    regular, leisure = np.flatnonzero(works), np.flatnonzero(free)
    usual = rng.normal(people.leave_s[regular], people.spread_s[regular])
    usual_stay = rng.normal(people.stay_s[regular], people.spread_s[regular])
    out, stay = _free_times(people.night[leisure], rng=rng)
    comes_back = rng.random(len(regular) + len(leisure)) < RETURN_CHANCE
    return _Journeys(
        person=np.concatenate([regular, leisure]),
        first=people.work[regular].followed_by(people.free[leisure]),
        second=people.change[regular].followed_by(Legs.none(len(leisure))),
        ready_s=np.maximum(np.concatenate([usual, out]), 0.0).astype(np.int64),
        stay_s=np.where(comes_back, np.concatenate([usual_stay, stay]), -1.0).astype(np.int64),
    )


def _free_times(night: Flags, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """When free-time riders set out and how long they stay; night riders do not come back."""
    count = len(night)
    by_day = np.clip(rng.normal(13.5 * _HOUR, 3.3 * _HOUR, count), 5.5 * _HOUR, 22.5 * _HOUR)
    by_night = np.minimum(22.5 * _HOUR + rng.exponential(1.8 * _HOUR, count), 28.5 * _HOUR)
    stay = _HOUR + rng.exponential(2.5 * _HOUR, count)
    return np.where(night, by_night, by_day), np.where(night, -1.0, stay)


def _ride_out_and_back(today: ServiceDay, plans: _Journeys, *, rng: np.random.Generator) -> Iterable[_Rides]:
    """Up to four rides for each journey: out, a change, and the same way back."""
    back = today.town.connections.back
    everyone = np.arange(len(plans.person))
    here_s = np.full(len(everyone), -1)

    first = _ride(today, everyone, plans.first, plans.ready_s, rng=rng)
    here_s[first.journey] = first.off_s
    changing = first.journey[plans.second[first.journey].exist()]
    second = _ride(today, changing, plans.second[changing], here_s[changing] + _WALK_S, rng=rng)
    here_s[second.journey] = second.off_s

    leaving_s = np.maximum(plans.ready_s + plans.stay_s, here_s + _SHORTEST_STAY_S)
    changed = second.journey[plans.stay_s[second.journey] >= 0]
    third = _ride(today, changed, back(plans.second[changed]), leaving_s[changed], rng=rng)
    leaving_s[third.journey] = third.off_s + _WALK_S
    stranded = np.isin(everyone, changed) & ~np.isin(everyone, third.journey)
    homeward = np.flatnonzero((here_s >= 0) & (plans.stay_s >= 0) & ~stranded)
    fourth = _ride(today, homeward, back(plans.first[homeward]), leaving_s[homeward], rng=rng)
    return first, second, third, fourth


def _ride(today: ServiceDay, journey: Ints, legs: Legs, ready_s: Ints, *, rng: np.random.Generator) -> _Rides:
    """The rides of those who find a vehicle within their patience, with the times of their taps."""
    trips, patterns = today.town.network.trips, today.town.network.patterns
    exist = legs.exist()
    journey, legs, ready_s = journey[exist], legs[exist], ready_s[exist]
    trip, departure_s = today.departures.next_vehicle(legs.board, ready_s)
    served = trip >= 0
    journey, legs, ready_s = journey[served], legs[served], ready_s[served]
    trip, departure_s = trip[served], departure_s[served]
    position = legs.alight - patterns.start[trips.pattern[trip]]
    kind, late_s = today.readers[trip], today.delays.delay_s[trip]
    leaves_s = departure_s + late_s
    lead = np.minimum(lead_s(kind, conduct=today.conduct, rng=rng), leaves_s - ready_s)
    lingers = today.delays.lingering[trip] & (rng.random(len(trip)) < LINGER_SHARE)
    walk_s = exit_s(kind, conduct=today.conduct, rng=rng) + LINGER_S * lingers
    arrives_s = trips.arrival_s[trips.start[trip] + position] + late_s
    return _Rides(journey=journey, legs=legs, trip=trip, on_s=leaves_s - lead, off_s=arrives_s + walk_s)


def _record(today: ServiceDay, card: Ints, rides: _Rides, *, rng: np.random.Generator) -> TapTable:
    """Two taps for every ride; a forgotten tap-off is closed at the end of the vehicle's run, nowhere."""
    network = today.town.network
    count = len(rides.trip)
    kind = today.readers[rides.trip]
    forgets = (kind != CLOSED) & (rng.random(count) < today.conduct.forget_rate)
    run_ends_s = network.trips.final_arrivals()[rides.trip] + today.delays.delay_s[rides.trip]
    off_s = np.where(forgets, run_ends_s, rides.off_s)
    boards, alights = network.patterns.stop[rides.legs.board], network.patterns.stop[rides.legs.alight]
    midnight_s = 86_400 * today.number()
    return TapTable(
        card=np.concatenate([card, card]),
        tap=np.repeat(np.array([ON, OFF], dtype=np.int8), count),
        at_s=midnight_s + np.concatenate([rides.on_s, off_s]),
        stop=np.concatenate([boards, np.where(forgets, NOWHERE, alights)]).astype(np.int32),
        trip=np.concatenate([rides.trip, rides.trip]).astype(np.int32),
        service_day=np.full(2 * count, today.number(), dtype=np.int32),
        true_stop=np.concatenate([boards, alights]).astype(np.int32),
    )
