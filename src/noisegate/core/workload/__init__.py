"""Sums that people ask for: what they select, the laws of their errors, and where these come from."""

from __future__ import annotations

from noisegate.core.workload.cellwise import CellLaws, cell_laws, suits
from noisegate.core.workload.combination import lattice_law
from noisegate.core.workload.errors import Method, SumErrors
from noisegate.core.workload.noisy_sums import AT_MOST, EQUAL, NoisySums
from noisegate.core.workload.parts import ErrorParts, Trio, error_parts, largest_kept, usual_trio
from noisegate.core.workload.profile import ProfileFit, fit_profile
from noisegate.core.workload.selection import Cells, Selection
from noisegate.core.workload.shared import SharedError
from noisegate.core.workload.sum_law import SumLaw, checked_level, cumulant_intervals, sum_law

__all__ = [
    "AT_MOST",
    "EQUAL",
    "CellLaws",
    "Cells",
    "ErrorParts",
    "Method",
    "NoisySums",
    "ProfileFit",
    "Selection",
    "SharedError",
    "SumErrors",
    "SumLaw",
    "Trio",
    "cell_laws",
    "checked_level",
    "cumulant_intervals",
    "error_parts",
    "fit_profile",
    "largest_kept",
    "lattice_law",
    "suits",
    "sum_law",
    "usual_trio",
]
