"""A world to test in: people who ride timetabled vehicles and leave taps."""

from __future__ import annotations

from noisegate.simulation.day import CLOSED_READER, LINGER_S, READERS, CardReader, Conduct
from noisegate.simulation.season import Scenario
from noisegate.simulation.world import FIRST_DAY, World, invent_network, simulate

__all__ = [
    "CLOSED_READER",
    "FIRST_DAY",
    "LINGER_S",
    "READERS",
    "CardReader",
    "Conduct",
    "Scenario",
    "World",
    "invent_network",
    "simulate",
]
