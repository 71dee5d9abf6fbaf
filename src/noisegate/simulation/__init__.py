"""A world to test in: people who ride timetabled vehicles and leave taps."""

from noisegate.simulation.readers import CLOSED_READER, READERS, Conduct, Reader
from noisegate.simulation.world import World, simulate

__all__ = ["CLOSED_READER", "READERS", "Conduct", "Reader", "World", "simulate"]
