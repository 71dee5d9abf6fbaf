"""Sums that people ask for: what they select, the laws of their errors, and where these come from."""

from __future__ import annotations

from noisegate.inference.profile.cellwise import CellLaws, cell_laws, suits
from noisegate.inference.profile.combination import lattice_law
from noisegate.inference.profile.noisy_sums import AT_MOST, EQUAL, NoisySums
from noisegate.inference.profile.parts import ErrorParts, Trio, error_parts, largest_kept, usual_trio
from noisegate.inference.profile.profile import ProfileFit, fit_profile
from noisegate.inference.profile.shared import SharedError
from noisegate.inference.profile.sum_law import SumLaw, checked_level, cumulant_intervals, sum_law

__all__ = [
    "AT_MOST",
    "EQUAL",
    "CellLaws",
    "ErrorParts",
    "NoisySums",
    "ProfileFit",
    "SharedError",
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
