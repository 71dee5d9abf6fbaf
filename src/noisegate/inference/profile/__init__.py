"""Sums that people ask for: what they select, and the laws of their errors."""

from __future__ import annotations

from noisegate.inference.profile.observed import AT_MOST, EQUAL, NoisySums
from noisegate.inference.profile.profile import CellLaws, ProfileFit, cell_laws, fit_profile, suits
from noisegate.inference.profile.sum_law import (
    SharedError,
    SumLaw,
    checked_level,
    cumulant_intervals,
    lattice_law,
    sum_law,
)

__all__ = [
    "AT_MOST",
    "EQUAL",
    "CellLaws",
    "NoisySums",
    "ProfileFit",
    "SharedError",
    "SumLaw",
    "cell_laws",
    "checked_level",
    "cumulant_intervals",
    "fit_profile",
    "lattice_law",
    "suits",
    "sum_law",
]
