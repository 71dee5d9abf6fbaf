"""One service day: people decide, board the next vehicle of the timetable, and leave taps when cards are read.

Bounds are hard: a tap-on lies between `lead_max_s` before the timetabled departure and
`delay_max_s` after it, a tap-off between the timetabled arrival and `delay_max_s + exit_max_s`
after it (stragglers of the closed ferry: one quarter of an hour more). A reader of the
timetable can therefore choose a tolerance that is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.simulation.population import Riders
from noisegate.simulation.town import Legs, Town
from noisegate.timetable import (
    BUS,
    EPOCH,
    FERRY,
    LIGHTRAIL,
    NETWORK_MODES,
    OFF,
    ON,
    TRAIN,
    Flags,
    Floats,
    Ints,
    Network,
)

LINGER_S = 15 * 60
"""How much later stragglers alight."""

LINGER_SHARE = 0.05
"""Share of the riders of a sailing with stragglers who are stragglers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardReader:
    """Card readers of one kind of service; means are those before the bound cuts the tail."""

    lead_mean_s: float
    lead_max_s: float
    exit_max_s: float
    delay_mean_s: float
    delay_max_s: float


READERS = {
    TRAIN: CardReader(lead_mean_s=120, lead_max_s=420, exit_max_s=150, delay_mean_s=40, delay_max_s=240),
    BUS: CardReader(lead_mean_s=10, lead_max_s=30, exit_max_s=20, delay_mean_s=60, delay_max_s=300),
    FERRY: CardReader(lead_mean_s=120, lead_max_s=480, exit_max_s=120, delay_mean_s=40, delay_max_s=180),
    LIGHTRAIL: CardReader(lead_mean_s=60, lead_max_s=180, exit_max_s=60, delay_mean_s=30, delay_max_s=120),
}
CLOSED_READER = CardReader(lead_mean_s=180, lead_max_s=480, exit_max_s=180, delay_mean_s=20, delay_max_s=60)
CLOSED = len(NETWORK_MODES)
"""The number of the closed ferry's reader, after those of the modes."""

_ALL = (*(READERS[mode] for mode in range(len(NETWORK_MODES))), CLOSED_READER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How people and vehicles behave at the readers.

    Attributes
    ----------
    forget_rate
        Chance that a rider forgets to tap off, on every service without automatic tap-off.
    straggler_rate
        Share of closed-ferry sailings on which some alight a quarter of an hour late.
    punctual
        Vehicles run to the second and cards are read at timetabled times, with no stragglers.
    """

    forget_rate: float = 0.02
    straggler_rate: float = 0.01
    punctual: bool = False

    def __post_init__(self) -> None:
        for name, value in (("forget_rate", self.forget_rate), ("straggler_rate", self.straggler_rate)):
            if not 0 <= value <= 1:
                raise SpecError.for_value(name, found=value, allowed="from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How the vehicles of one service day ran."""

    delay_s: Ints
    lingering: Flags

    @classmethod
    def of(cls, kind: Ints, /, *, conduct: Conduct, rng: np.random.Generator) -> Delays:
        """Delays of all trips, given the reader number of each."""
        lingering = (kind == CLOSED) & (rng.random(len(kind)) < conduct.straggler_rate)
        delay = _cut_exponential(_pick(kind, "delay_mean_s"), _pick(kind, "delay_max_s"), rng=rng)
        if conduct.punctual:
            return cls(delay_s=np.zeros(len(kind), dtype=np.int64), lingering=np.zeros(len(kind), dtype=bool))
        return cls(delay_s=delay, lingering=lingering)


def trip_readers(network: Network, /) -> Ints:
    """The reader number of every trip."""
    kind = np.where(network.pattern_closed(), CLOSED, network.pattern_modes())
    return kind[network.trips.pattern]


def lead_s(kind: Ints, /, *, conduct: Conduct, rng: np.random.Generator) -> Ints:
    """How long before the departure each rider's card is read."""
    return _unless_punctual(
        conduct,
        len(kind),
        lambda: _cut_exponential(_pick(kind, "lead_mean_s"), _pick(kind, "lead_max_s"), rng=rng),
    )


def exit_s(kind: Ints, /, *, conduct: Conduct, rng: np.random.Generator) -> Ints:
    """How long after the arrival each rider's card is read."""
    return _unless_punctual(
        conduct, len(kind), lambda: (rng.random(len(kind)) * _pick(kind, "exit_max_s")).astype(np.int64)
    )


def _unless_punctual(conduct: Conduct, count: int, draw: Callable[[], Ints]) -> Ints:
    return np.zeros(count, dtype=np.int64) if conduct.punctual else draw()


def _pick(kind: Ints, name: str) -> Floats:
    """One attribute of the reader of each number."""
    return np.array([getattr(reader, name) for reader in _ALL], dtype=np.float64)[kind]


def _cut_exponential(mean: Floats, bound: Floats, *, rng: np.random.Generator) -> Ints:
    """Whole seconds from an exponential law cut at `bound`."""
    inside = -np.expm1(-bound / mean)
    return (-mean * np.log1p(-inside * rng.random(len(mean)))).astype(np.int64)


TAPS = ("on", "off")
NOWHERE = -1
"""The recorded stop of a forgotten tap-off."""

_TIME_BITS = 20
LONGEST_DAY_S = 2**_TIME_BITS - 1
"""Latest time of day that a timetable may hold, far beyond any real one."""
MAX_WAIT_S = 60 * 60
"""Who would wait longer does not ride."""
_HOUR = 3600.0
RETURN_CHANCE = 0.94
"""How often riders come back the same way, where the line allows it."""
_WALK_S = 120
_SHORTEST_STAY_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class TapTable:
    """Taps: what the ticketing system records, and the truth behind it.

    Attributes
    ----------
    card, tap, at_s, stop
        The record. `at_s` counts seconds from 1970 in local time; `stop` is NOWHERE for a forgotten tap-off.
    trip, service_day, true_stop
        The truth: the vehicle, its service day (days from 1970), and where the rider really was.
    """

    card: NDArray[np.int64]
    tap: NDArray[np.int8]
    at_s: NDArray[np.int64]
    stop: NDArray[np.int32]
    trip: NDArray[np.int32]
    service_day: NDArray[np.int32]
    true_stop: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[Self], /) -> Self:
        """All taps of `parts`, in their order; `parts` is not empty."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})

    def __len__(self) -> int:
        return len(self.card)

    def __getitem__(self, index: Ints | Flags | slice) -> Self:
        columns: dict[str, Any] = {f.name: getattr(self, f.name)[index] for f in fields(self)}
        return type(self)(**columns)

    def by_time(self) -> Self:
        """The taps in order of time; ties keep their order, on every machine."""
        if not len(self):
            return self
        bits = len(self).bit_length()
        key = np.sort(((self.at_s - self.at_s.min()) << bits) | np.arange(len(self)))
        return self[key & ((1 << bits) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DepartureBoard:
    """All departures of the running trips, sorted by call and time.

    Attributes
    ----------
    key
        Call number and departure second in one integer, ascending.
    trip
        The trip of each departure.
    """

    key: Ints
    trip: Ints

    @classmethod
    def of(cls, network: Network, services: Collection[int], /) -> Self:
        """The departures on a day when `services` run."""
        trips, patterns = network.trips, network.patterns
        running = np.isin(trips.service, np.fromiter(services, dtype=np.int64))
        lengths = np.diff(trips.start)
        shown = np.repeat(running, lengths)
        trip = np.repeat(np.arange(len(trips)), lengths)[shown]
        position = np.flatnonzero(shown) - trips.start[trip]
        call = patterns.start[trips.pattern[trip]] + position
        key = (call << _TIME_BITS) | trips.departure_s[shown]
        order = np.argsort(key, kind="stable")
        return cls(key=key[order], trip=trip[order])

    def next_vehicle(self, call: Ints, ready_s: Ints, /) -> tuple[Ints, Ints]:
        """Trip and departure second of the first vehicle at each call from `ready_s` on; trip -1 for none."""
        if not len(self.key):
            return np.full(len(call), -1), np.zeros(len(call), dtype=np.int64)
        wanted = (call << _TIME_BITS) | ready_s
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        found = self.key[place]
        wait_s = found - wanted
        served = (wait_s >= 0) & (wait_s <= MAX_WAIT_S) & (found >> _TIME_BITS == call)
        return np.where(served, self.trip[place], -1), found & LONGEST_DAY_S


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


def ride_day(today: ServiceDay, people: Riders, /, *, rng: np.random.Generator) -> TapTable:
    """All taps that `people` leave on one service day, in no particular order."""
    plans = _plan(today, people, rng=rng)
    rides = _ride_out_and_back(today, plans, rng=rng)
    parts = [_record(today, people.card[plans.person[r.journey]], r, rng=rng) for r in rides]
    return TapTable.joined(parts)


def _plan(today: ServiceDay, people: Riders, *, rng: np.random.Generator) -> _Journeys:
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
