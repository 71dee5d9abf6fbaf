"""Timetables: GTFS in and out, and which scheduled vehicles can be behind each cell of a table of counts."""

from __future__ import annotations

from noisegate.timetable.archive import Limits
from noisegate.timetable.calendar import EPOCH, Calendar
from noisegate.timetable.candidates import Candidate, Chances, CountEstimate, chances, rank_candidates
from noisegate.timetable.closed import TwoStopService, two_stop_services
from noisegate.timetable.exposure import Hours, UniqueCells, by_hour, unique_cells
from noisegate.timetable.feed import Feed, read_feed
from noisegate.timetable.fragment import ALL, OWN, SpecNames, merge_fragment, merge_rules, needs_time
from noisegate.timetable.grid import NO_TIME, ROLES, Grid, Role
from noisegate.timetable.groups import read_groups
from noisegate.timetable.linkage import Linkage, link
from noisegate.timetable.linking import domain_grid, link_feed, mode_codes, tap_codes, tolerances_of
from noisegate.timetable.matching import How, Matching, Unmatched, match_locations
from noisegate.timetable.merges import Merges, Segment, suggest_merges
from noisegate.timetable.mixing import vehicles_of_cells
from noisegate.timetable.modes import MODES, mode_of_type, mode_of_word
from noisegate.timetable.names import folded
from noisegate.timetable.network import (
    NETWORK_MODES,
    UNKNOWN_PLACE,
    Network,
    NetworkRoute,
    NetworkStops,
    NetworkTrips,
    Patterns,
)
from noisegate.timetable.places import Agency
from noisegate.timetable.running import Running
from noisegate.timetable.tolerance import EARLY_OR_LATE, EXACT, OFF, ON, Tolerance
from noisegate.timetable.visits import Runs, Visits
from noisegate.timetable.writer import write_feed

__all__ = [
    "ALL",
    "EARLY_OR_LATE",
    "EPOCH",
    "EXACT",
    "MODES",
    "NETWORK_MODES",
    "NO_TIME",
    "OFF",
    "ON",
    "OWN",
    "ROLES",
    "UNKNOWN_PLACE",
    "Agency",
    "Calendar",
    "Candidate",
    "Chances",
    "CountEstimate",
    "Feed",
    "Grid",
    "Hours",
    "How",
    "Limits",
    "Linkage",
    "Matching",
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
