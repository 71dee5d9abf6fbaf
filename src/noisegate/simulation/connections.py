"""How a ride continues: the way back, and a change to another vehicle nearby."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial import KDTree

from noisegate.simulation.legs import Legs
from noisegate.timetable.network import Network, Patterns
from noisegate.timetable.visits import Floats, Ints

WALK_DEGREES = 0.004
"""How far people walk between two vehicles: about 400 m."""


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
