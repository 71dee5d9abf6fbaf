"""Counting raw events into the cells of a public domain."""

from __future__ import annotations

from noisegate.engine.connect import connect
from noisegate.engine.count import count
from noisegate.engine.counts import Counts, Tally

__all__ = ["Counts", "Tally", "connect", "count"]
