"""GTFS feeds: read them, and say which scheduled vehicles can be behind each cell of a table.

`read_feed` reads a zip or a folder; `match_locations` finds the stops of published locations; `link_feed` links a table
to the vehicles of the feed. What follows from that is in `noisegate.core.timetable`.
"""

from noisegate.gtfs.archive import Limits
from noisegate.gtfs.feed import Feed, read_feed
from noisegate.gtfs.fragment import ALL, OWN, SpecNames, merge_fragment, merge_rules, needs_time
from noisegate.gtfs.groups import read_groups
from noisegate.gtfs.linking import domain_grid, link_feed, mode_codes, tap_codes, tolerances_of
from noisegate.gtfs.matching import How, Matching, Unmatched, match_locations
from noisegate.gtfs.modes import MODES, mode_of_type, mode_of_word

__all__ = [
    "ALL",
    "MODES",
    "OWN",
    "Feed",
    "How",
    "Limits",
    "Matching",
    "SpecNames",
    "Unmatched",
    "domain_grid",
    "link_feed",
    "match_locations",
    "merge_fragment",
    "merge_rules",
    "mode_codes",
    "mode_of_type",
    "mode_of_word",
    "needs_time",
    "read_feed",
    "read_groups",
    "tap_codes",
    "tolerances_of",
]
