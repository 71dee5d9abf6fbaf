"""Counting raw events into the cells of a public domain."""

from __future__ import annotations

from noisegate.engine.bounding import add_counts, bound_events, count_runs, draw_lots, expect_events
from noisegate.engine.count import connect, count, count_slices, expected_counts, unit_sizes
from noisegate.engine.counts import Clipping, Counts, ExpectedCounts, Tally
from noisegate.engine.csv_rows import CsvFiles, CsvHeader, csv_header, split_line
from noisegate.engine.date_text import year_first
from noisegate.engine.draft import draft_spec
from noisegate.engine.identity import EventsIdentity, identify_events
from noisegate.engine.plan import CountPlan, Unit
from noisegate.engine.quoting import quoted
from noisegate.engine.session import leftovers, own_connection
from noisegate.engine.sliced import (
    LocalCounts,
    NoiseWork,
    PublishedSlices,
    SlicedCounts,
    SliceStore,
    dense_sums,
    sum_published,
)
from noisegate.engine.source import Source, one_row, reading
from noisegate.engine.spill import CellRuns, SpillPlace
from noisegate.engine.unit_bounding import bounded_parts
from noisegate.engine.unit_events import UnitEvents, UnitKeys

__all__ = [
    "CellRuns",
    "Clipping",
    "CountPlan",
    "Counts",
    "CsvFiles",
    "CsvHeader",
    "EventsIdentity",
    "ExpectedCounts",
    "LocalCounts",
    "NoiseWork",
    "PublishedSlices",
    "SliceStore",
    "SlicedCounts",
    "Source",
    "SpillPlace",
    "Tally",
    "Unit",
    "UnitEvents",
    "UnitKeys",
    "add_counts",
    "bound_events",
    "bounded_parts",
    "connect",
    "count",
    "count_runs",
    "count_slices",
    "csv_header",
    "dense_sums",
    "draft_spec",
    "draw_lots",
    "expect_events",
    "expected_counts",
    "identify_events",
    "leftovers",
    "one_row",
    "own_connection",
    "quoted",
    "reading",
    "split_line",
    "sum_published",
    "unit_sizes",
    "year_first",
]
