"""Exact bounds of hidden counts: whole counts within ranges, tied by equations over all linked tables (MATH 9)."""

from __future__ import annotations

from noisegate.inference.bounds.equations import ENDLESS, Contradiction, Equations
from noisegate.inference.bounds.linked import LinkedCells, SumFamily, link_cells
from noisegate.inference.bounds.solve import Bounds, smallest_contradiction, solve_bounds
from noisegate.inference.bounds.table_sets import GivenAway, TableSets, find_table_sets

__all__ = [
    "ENDLESS",
    "Bounds",
    "Contradiction",
    "Equations",
    "GivenAway",
    "LinkedCells",
    "SumFamily",
    "TableSets",
    "find_table_sets",
    "link_cells",
    "smallest_contradiction",
    "solve_bounds",
]
