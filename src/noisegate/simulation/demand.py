"""Where people want to go: a gravity model on the calls of a network.

A leg boards at one call and alights at a later call of the same pattern, with probability
proportional to (how many live there) x (how much there is to do there) x (how often the
pattern runs). Both popularities fall with rank like Zipf's law; places with many vehicles
tend to have the high ranks. Modes share the riders in fixed proportions, and the closed ferry
has as many who live at one end as at the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from noisegate.simulation.legs import Legs
from noisegate.timetable.modes import BUS, FERRY, LIGHTRAIL, TRAIN
from noisegate.timetable.network import NETWORK_MODES, Network
from noisegate.timetable.visits import Floats, Ints

MODE_SHARE = {TRAIN: 0.51, BUS: 0.36, FERRY: 0.04, LIGHTRAIL: 0.05}
CLOSED_SHARE = 0.04
HOME_EXPONENT = 0.5
ATTRACTION_EXPONENT = 0.8


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
