"""Counting raw events into the cells of a public domain."""

from __future__ import annotations

from noisegate.engine.connect import connect
from noisegate.engine.count import count, expected_counts
from noisegate.engine.count_plan import CountPlan
from noisegate.engine.counts import Counts, ExpectedCounts, Tally

__all__ = ["CountPlan", "Counts", "ExpectedCounts", "Tally", "connect", "count", "expected_counts"]
