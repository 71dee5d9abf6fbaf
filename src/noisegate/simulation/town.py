"""A network with people around it: what riders choose from.

A *leg* boards at one call and alights at a later call of the same pattern. Legs are drawn by a gravity model, with
probability proportional to (how many live there) x (how much there is to do there) x (how often the pattern runs).
Both popularities fall with rank like Zipf's law; places with many vehicles tend to have the high ranks. Modes share
the riders in fixed proportions, and the closed ferry has as many who live at one end as at the other. A ride
continues the same way back, or with a change to another mode nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

import numpy as np
from scipy.spatial import KDTree

from noisegate.errors import SpecError
from noisegate.timetable import (
    BUS,
    EPOCH,
    FERRY,
    LIGHTRAIL,
    NETWORK_MODES,
    TRAIN,
    Flags,
    Floats,
    Ints,
    Network,
    Patterns,
)

WALK_DEGREES = 0.004
"""How far people walk between two vehicles: about 400 m."""
MODE_SHARE = {TRAIN: 0.51, BUS: 0.36, FERRY: 0.04, LIGHTRAIL: 0.05}
CLOSED_SHARE = 0.04
HOME_EXPONENT = 0.5
ATTRACTION_EXPONENT = 0.8
_DAY_BEGINS_S, _NIGHT_BEGINS_S = 4 * 3600, 22 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """Rides by their two calls; -1 in both where there is no ride."""

    board: Ints
    alight: Ints

    @classmethod
    def none(cls, count: int, /) -> Self:
        """`count` times no ride."""
        return cls(board=np.full(count, -1), alight=np.full(count, -1))

    def __len__(self) -> int:
        return len(self.board)

    def __getitem__(self, index: Ints | Flags) -> Legs:
        return Legs(board=self.board[index], alight=self.alight[index])

    def exist(self) -> Flags:
        """Which of them are rides."""
        return self.board >= 0

    def followed_by(self, other: Legs, /) -> Legs:
        """The legs of both, one after the other."""
        return Legs(
            board=np.concatenate([self.board, other.board]),
            alight=np.concatenate([self.alight, other.alight]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """How a ride continues: the way back, and a change to another mode.

    Attributes
    ----------
    mirror
        For every call, the call nearest to it on the pattern that goes back, or -1.
    onward_start, onward_call
        For every stop, the calls where riders of another mode board within walking distance
        (`onward_call[onward_start[s]:onward_start[s + 1]]`).
    """

    mirror: Ints
    onward_start: Ints
    onward_call: Ints

    @classmethod
    def of(cls, network: Network, /, *, runs: Floats) -> Self:
        """The connections of a network; riders change only to patterns with `runs` above 0."""
        start, call = _onward(network, runs)
        return cls(mirror=_mirror(network), onward_start=start, onward_call=call)

    def back(self, legs: Legs, /) -> Legs:
        """The way back of each leg; none where the line does not offer it."""
        board = np.where(legs.exist(), self.mirror[legs.alight], -1)
        alight = np.where(legs.exist(), self.mirror[legs.board], -1)
        good = (board >= 0) & (alight > board)
        return Legs(board=np.where(good, board, -1), alight=np.where(good, alight, -1))

    def onward(self, stop: Ints, /, *, rng: np.random.Generator) -> Ints:
        """A call of another mode near each stop, or -1."""
        low, high = self.onward_start[stop], self.onward_start[stop + 1]
        pick = low + (rng.random(len(stop)) * (high - low)).astype(np.int64)
        if not len(self.onward_call):
            return np.full(len(stop), -1)
        return np.where(high > low, self.onward_call[np.minimum(pick, len(self.onward_call) - 1)], -1)


def _mirror(network: Network) -> Ints:
    """For every call the nearest call of the opposite pattern."""
    patterns = network.patterns
    xy = np.column_stack([network.stops.lat, network.stops.lon])[patterns.stop]
    mirror = np.full(len(patterns.stop), -1)
    for pattern, opposite in enumerate(_opposites(patterns, xy)):
        if opposite < 0:
            continue
        here = slice(patterns.start[pattern], patterns.start[pattern + 1])
        there = slice(patterns.start[opposite], patterns.start[opposite + 1])
        gap = np.abs(xy[here][:, None] - xy[there][None]).sum(axis=2)
        mirror[here] = patterns.start[opposite] + np.argmin(gap, axis=1)
    return mirror


def _opposites(patterns: Patterns, xy: Floats) -> Ints:
    """For every pattern the one of its route that runs most nearly the other way, or -1."""
    first, last = xy[patterns.start[:-1]], xy[patterns.last_calls()]
    opposite = np.full(len(patterns), -1)
    order = np.argsort(patterns.route, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(patterns.route[order])) + 1):
        if len(group) < 2:
            continue
        gap = np.abs(first[group][None] - last[group][:, None]).sum(axis=2)
        gap = gap + gap.T
        np.fill_diagonal(gap, np.inf)
        best = np.argmin(gap, axis=1)
        length = np.abs(first[group] - last[group]).sum(axis=1)
        near = gap[np.arange(len(group)), best] <= 0.5 * length + WALK_DEGREES
        opposite[group[near]] = group[best[near]]
    return opposite


def _onward(network: Network, runs: Floats) -> tuple[Ints, Ints]:
    """For every stop the boarding calls of other modes within walking distance, as offsets and calls."""
    stops, patterns = network.stops, network.patterns
    boards = runs[patterns.of_calls()] > 0
    boards[patterns.last_calls()] = False
    calls = np.flatnonzero(boards)
    calls = calls[np.argsort(patterns.stop[calls], kind="stable")]
    at = np.searchsorted(patterns.stop[calls], np.arange(len(stops) + 1))
    xy = np.column_stack([stops.lat, stops.lon])
    found: list[Ints] = []
    nearby: Sequence[list[int]] = KDTree(xy).query_ball_point(xy, WALK_DEGREES, return_sorted=True)  # type: ignore[assignment]  # one list a stop
    for stop, near in enumerate(nearby):
        others = [calls[at[s] : at[s + 1]] for s in near if stops.modes[s] != stops.modes[stop]]
        found.append(np.concatenate([np.empty(0, dtype=np.int64), *others]))
    start = np.concatenate([[0], np.cumsum([len(f) for f in found])])
    return start, np.concatenate(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Cumulative weights from which legs are drawn, one entry for every call."""

    boarding: Floats
    attraction: Floats
    pattern_end: Ints

    @classmethod
    def of(cls, network: Network, /, *, homes: Floats, attractions: Floats, runs: Floats) -> Self:
        """Demand on a network whose patterns run `runs` times a week at the hours in question."""
        patterns = network.patterns
        of_call = patterns.of_calls()
        attraction = np.concatenate([[0.0], np.cumsum(attractions[patterns.stop])])
        end = patterns.start[1:][of_call]
        ahead = attraction[end] - attraction[np.arange(len(of_call)) + 1]
        ahead[patterns.last_calls()] = 0.0
        closed = network.pattern_closed()[of_call]
        weight = np.where(closed & (ahead > 0), 1.0, homes[patterns.stop] * ahead) * runs[of_call]
        group = np.where(closed, len(NETWORK_MODES), network.pattern_modes()[of_call])
        shares = np.array([*(MODE_SHARE[m] for m in range(len(NETWORK_MODES))), CLOSED_SHARE])
        totals = np.bincount(group, weights=weight, minlength=len(shares))
        scale = np.divide(shares, totals, out=np.zeros_like(totals), where=totals > 0)
        boarding = np.cumsum(weight * scale[group])
        return cls(boarding=boarding / (boarding[-1] or 1.0), attraction=attraction, pattern_end=end)

    def exists(self) -> bool:
        """Whether any leg can be drawn."""
        return bool(self.boarding[-1] > 0)

    def draw(self, count: int, /, *, rng: np.random.Generator) -> Legs:
        """`count` independent legs, in the order of their boarding calls."""
        if not self.exists():
            return Legs.none(count)
        board = np.searchsorted(self.boarding, np.sort(rng.random(count)), side="right")
        return Legs(board=board, alight=self.alight_after(board, rng=rng))

    def alight_after(self, board: Ints, /, *, rng: np.random.Generator) -> Ints:
        """A later call of the same pattern for each boarding call, by attraction."""
        low, high = self.attraction[board + 1], self.attraction[self.pattern_end[board]]
        mark = low + (high - low) * rng.random(len(board))
        alight = np.searchsorted(self.attraction, mark, side="right") - 1
        return np.clip(alight, board + 1, self.pattern_end[board] - 1)


def popularity(network: Network, /, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Zipf weights of the stops as homes and as destinations."""
    trips, patterns = network.trips, network.patterns
    runs = np.bincount(trips.pattern, minlength=len(patterns))
    calls = np.bincount(patterns.stop, weights=runs[patterns.of_calls()], minlength=len(network.stops))
    noise = rng.lognormal(0.0, 0.7, (2, len(calls)))
    return _zipf(noise[0], HOME_EXPONENT), _zipf((1 + calls) * noise[1], ATTRACTION_EXPONENT)


def _zipf(score: Floats, exponent: float) -> Floats:
    """Weights that fall with the rank of the score, highest first."""
    rank = np.empty(len(score))
    rank[np.argsort(-score, kind="stable")] = np.arange(1, len(score) + 1)
    return rank**-exponent


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    """What people choose from: the network with its demand by day and by night."""

    network: Network
    connections: Connections
    by_day: Demand
    by_night: Demand


def settle(network: Network, days: Sequence[date], /, *, rng: np.random.Generator) -> Town:
    """Demand by day and by night, as the trips of the simulated days offer it."""
    numbers = np.array([(day - EPOCH).days for day in days])
    weight = network.calendar.active(numbers).sum(axis=1).astype(np.float64)
    trips, count = network.trips, len(network.patterns)
    leaves_s = trips.departure_s[trips.start[:-1]]
    night = leaves_s >= _NIGHT_BEGINS_S
    day = (leaves_s >= _DAY_BEGINS_S) & ~night
    by_day, by_night = (
        np.bincount(trips.pattern, weights=weight[trips.service] * part, minlength=count).astype(np.float64)
        for part in (day, night)
    )
    homes, attractions = popularity(network, rng=rng)
    town = Town(
        network=network,
        connections=Connections.of(network, runs=by_day),
        by_day=Demand.of(network, homes=homes, attractions=attractions, runs=by_day),
        by_night=Demand.of(network, homes=homes, attractions=attractions, runs=by_night),
    )
    if not (town.by_day.exists() or town.by_night.exists()):
        raise SpecError(
            f"No trip runs from {days[0]} to {days[-1]}; choose a start inside the feed's calendar."
        )
    return town
