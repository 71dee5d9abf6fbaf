"""What published tables tell of the counts behind them: posteriors of cells and of sums."""

from __future__ import annotations

from noisegate.inference.evidence import Evidence, Observation, RowMap
from noisegate.inference.linked.codes import as_codes, compact, crossed
from noisegate.inference.linked.convolution import costs, spread
from noisegate.inference.linked.effects import Intensities
from noisegate.inference.linked.fit import fit_prior
from noisegate.inference.linked.inference import Options, infer
from noisegate.inference.linked.levels import fit_levels
from noisegate.inference.linked.model import Model
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.parts import parts_of
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.prior import Flat, NegativeBinomial, Prior
from noisegate.inference.linked.problem import (
    Bools,
    Floats,
    Identities,
    Ints,
    Problem,
    Sums,
    contradiction,
    tally,
)
from noisegate.inference.linked.propagation import Schedule
from noisegate.inference.linked.residual import from_residual
from noisegate.inference.linked.score import Score
from noisegate.inference.linked.tilting import bells, tilt
from noisegate.inference.linked.totals import SumEstimates, estimate_all_sums, estimate_sums
from noisegate.inference.posterior import Posterior, Report
from noisegate.inference.profile.cellwise import cell_laws, suits
from noisegate.inference.profile.combination import lattice_law
from noisegate.inference.profile.effects import ProfileEffect
from noisegate.inference.profile.level_logs import level_logs
from noisegate.inference.profile.levels import GRID, LevelTotal, level_posterior
from noisegate.inference.profile.noisy_sums import AT_MOST, EQUAL, NoisySums
from noisegate.inference.profile.observed import Observed
from noisegate.inference.profile.profile import fit_profile
from noisegate.inference.profile.shared import SharedError
from noisegate.inference.profile.sum_law import checked_level, cumulant_intervals, sum_law
from noisegate.inference.roles import Layout

__all__ = [
    "AT_MOST",
    "EQUAL",
    "GRID",
    "Bools",
    "CellEstimates",
    "Evidence",
    "Flat",
    "Floats",
    "Identities",
    "Intensities",
    "Ints",
    "Layout",
    "LevelTotal",
    "Model",
    "NegativeBinomial",
    "NoisySums",
    "Observation",
    "Observed",
    "Options",
    "Part",
    "Pmfs",
    "Posterior",
    "Prior",
    "Problem",
    "ProfileEffect",
    "Report",
    "RowMap",
    "Schedule",
    "Score",
    "SharedError",
    "SumEstimates",
    "Sums",
    "as_codes",
    "bells",
    "cell_laws",
    "checked_level",
    "compact",
    "contradiction",
    "costs",
    "crossed",
    "cumulant_intervals",
    "estimate_all_sums",
    "estimate_sums",
    "fit_levels",
    "fit_prior",
    "fit_profile",
    "from_residual",
    "infer",
    "lattice_law",
    "level_logs",
    "level_posterior",
    "parts_of",
    "spread",
    "suits",
    "sum_law",
    "tally",
    "tilt",
]
