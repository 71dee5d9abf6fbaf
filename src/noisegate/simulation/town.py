"""A network with people around it: what riders choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from noisegate.errors import SpecError
from noisegate.simulation.connections import Connections
from noisegate.simulation.demand import Demand, popularity
from noisegate.timetable.calendar import EPOCH
from noisegate.timetable.network import Network

_DAY_BEGINS_S, _NIGHT_BEGINS_S = 4 * 3600, 22 * 3600


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
