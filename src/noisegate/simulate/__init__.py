"""A world to test in: people who ride timetabled vehicles and leave taps."""

from noisegate.simulate.readers import CLOSED_READER, READERS, Conduct, Reader
from noisegate.simulate.world import World, simulate

__all__ = ["CLOSED_READER", "READERS", "Conduct", "Reader", "World", "simulate"]
