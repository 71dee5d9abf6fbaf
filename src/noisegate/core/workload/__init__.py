"""Sums that people ask for: their laws, and where their errors come from."""

from __future__ import annotations

from noisegate.core.workload.combination import lattice_law
from noisegate.core.workload.profile import ProfileFit, Remainders, fit_profile
from noisegate.core.workload.shared import SharedError
from noisegate.core.workload.sum_law import SumLaw, checked_level, cumulant_intervals, sum_law

__all__ = [
    "ProfileFit",
    "Remainders",
    "SharedError",
    "SumLaw",
    "checked_level",
    "cumulant_intervals",
    "fit_profile",
    "lattice_law",
    "sum_law",
]
