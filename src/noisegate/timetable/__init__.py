"""Timetables: GTFS in and out, and which scheduled vehicles can be behind each cell of a table of counts."""

from __future__ import annotations

from noisegate.timetable.calendar import ADDED, EPOCH, REMOVED, Calendar
from noisegate.timetable.candidates import CandidateCell, Chances, CountEstimate, chances, rank_candidates
from noisegate.timetable.exposure import (
    Hours,
    TwoStopService,
    UniqueCells,
    by_hour,
    two_stop_services,
    unique_cells,
)
from noisegate.timetable.feed import Feed, read_feed
from noisegate.timetable.grid import NO_TIME, ROLES, Role, TableGrid, domain_grid, mode_codes, tap_codes
from noisegate.timetable.linkage import Linkage, link, link_feed, tolerances_of
from noisegate.timetable.matching import How, StopMatching, Unmatched, folded, match_locations, read_groups
from noisegate.timetable.merges import (
    ALL,
    OWN,
    Merges,
    Segment,
    SpecNames,
    merge_fragment,
    merge_rules,
    needs_time,
    suggest_merges,
    vehicles_of_cells,
)
from noisegate.timetable.network import (
    NETWORK_MODES,
    UNKNOWN_PLACE,
    Network,
    NetworkRoute,
    NetworkStops,
    NetworkTrips,
    Patterns,
)
from noisegate.timetable.places import BUS, FERRY, LIGHTRAIL, MODES, TRAIN, Agency, mode_of_type, mode_of_word
from noisegate.timetable.punctuality import EARLY_OR_LATE, EXACT, OFF, ON, Running, Tolerance
from noisegate.timetable.visits import DAY_S, Flags, Floats, Ints, Runs, Visits
from noisegate.timetable.writer import write_feed

__all__ = [
    "ADDED",
    "ALL",
    "BUS",
    "DAY_S",
    "EARLY_OR_LATE",
    "EPOCH",
    "EXACT",
    "FERRY",
    "LIGHTRAIL",
    "MODES",
    "NETWORK_MODES",
    "NO_TIME",
    "OFF",
    "ON",
    "OWN",
    "REMOVED",
    "ROLES",
    "TRAIN",
    "UNKNOWN_PLACE",
    "Agency",
    "Calendar",
    "CandidateCell",
    "Chances",
    "CountEstimate",
    "Feed",
    "Flags",
    "Floats",
    "Hours",
    "How",
    "Ints",
    "Linkage",
    "Merges",
    "Network",
    "NetworkRoute",
    "NetworkStops",
    "NetworkTrips",
    "Patterns",
    "Role",
    "Running",
    "Runs",
    "Segment",
    "SpecNames",
    "StopMatching",
    "TableGrid",
    "Tolerance",
    "TwoStopService",
    "UniqueCells",
    "Unmatched",
    "Visits",
    "by_hour",
    "chances",
    "domain_grid",
    "folded",
    "link",
    "link_feed",
    "match_locations",
    "merge_fragment",
    "merge_rules",
    "mode_codes",
    "mode_of_type",
    "mode_of_word",
    "needs_time",
    "rank_candidates",
    "read_feed",
    "read_groups",
    "suggest_merges",
    "tap_codes",
    "tolerances_of",
    "two_stop_services",
    "unique_cells",
    "vehicles_of_cells",
    "write_feed",
]
