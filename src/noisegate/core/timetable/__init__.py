"""What a public timetable says about a table of counts: which scheduled vehicles can be behind each cell.

Arrays only: `noisegate.gtfs` reads feeds and makes the arrays.
"""

from noisegate.core.timetable.candidates import Candidate, Chances, CountEstimate, chances, rank_candidates
from noisegate.core.timetable.closed import TwoStopService, two_stop_services
from noisegate.core.timetable.exposure import Hours, UniqueCells, by_hour, unique_cells
from noisegate.core.timetable.grid import NO_TIME, ROLES, Grid, Role
from noisegate.core.timetable.linkage import Linkage, link
from noisegate.core.timetable.merges import Merges, Segment, suggest_merges
from noisegate.core.timetable.running import Running
from noisegate.core.timetable.tolerance import EARLY_OR_LATE, EXACT, OFF, ON, Tolerance
from noisegate.core.timetable.visits import Runs, Visits

__all__ = [
    "EARLY_OR_LATE",
    "EXACT",
    "NO_TIME",
    "OFF",
    "ON",
    "ROLES",
    "Candidate",
    "Chances",
    "CountEstimate",
    "Grid",
    "Hours",
    "Linkage",
    "Merges",
    "Role",
    "Running",
    "Runs",
    "Segment",
    "Tolerance",
    "TwoStopService",
    "UniqueCells",
    "Visits",
    "by_hour",
    "chances",
    "link",
    "rank_candidates",
    "suggest_merges",
    "two_stop_services",
    "unique_cells",
]
