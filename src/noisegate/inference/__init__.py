"""What published tables tell of the counts behind them: posteriors of cells and of sums."""

from __future__ import annotations

from noisegate.inference.blocks import BlockPosterior
from noisegate.inference.bounds import (
    ENDLESS,
    Bounds,
    Contradiction,
    Equations,
    GivenAway,
    LinkedCells,
    SumFamily,
    TableSets,
    find_table_sets,
    link_cells,
    smallest_contradiction,
    solve_bounds,
)
from noisegate.inference.draws import CellSampler
from noisegate.inference.engine import Engine, engine_for
from noisegate.inference.evidence import Evidence, Observation, RivalNoise, RowMap
from noisegate.inference.excess import ThresholdExcess, shown_histogram
from noisegate.inference.hidden import FromRows, ShownTotals
from noisegate.inference.latent import LatentScale, likely_scale
from noisegate.inference.linked.effects import Intensities
from noisegate.inference.linked.fit import fit_levels, fit_prior
from noisegate.inference.linked.inference import Options, Schedule, infer
from noisegate.inference.linked.model import Model
from noisegate.inference.linked.part import Part, parts_of
from noisegate.inference.linked.pmfs import Pmfs, bells, costs, spread, tilt
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import (
    Bools,
    Flat,
    Floats,
    Humps,
    Identities,
    Ints,
    NegativeBinomial,
    Prior,
    Problem,
    Sums,
    as_codes,
    contradiction,
    crossed,
    tally,
)
from noisegate.inference.mixture import MixedNoise
from noisegate.inference.posterior import Attacker, Posterior, Report
from noisegate.inference.profile.humps import HiddenWidth
from noisegate.inference.profile.levels import GRID, LevelTotal, ProfileEffect, level_logs, level_posterior
from noisegate.inference.profile.observed import AT_MOST, EQUAL, NoisySums, Observed
from noisegate.inference.profile.profile import cell_laws, fit_profile, suits
from noisegate.inference.profile.sum_law import (
    Beside,
    SharedError,
    checked_level,
    cumulant_intervals,
    lattice_law,
    law_of_few,
    quantile_of_two,
    sum_law,
    with_means,
)
from noisegate.inference.roles import Layout
from noisegate.inference.trial import FitCheck, HeldOut, ValueWindow, judge_held_out

__all__ = [
    "AT_MOST",
    "ENDLESS",
    "EQUAL",
    "GRID",
    "Attacker",
    "Beside",
    "BlockPosterior",
    "Bools",
    "Bounds",
    "CellEstimates",
    "CellSampler",
    "Contradiction",
    "Engine",
    "Equations",
    "Evidence",
    "FitCheck",
    "Flat",
    "Floats",
    "FromRows",
    "GivenAway",
    "HeldOut",
    "HiddenWidth",
    "Humps",
    "Identities",
    "Intensities",
    "Ints",
    "LatentScale",
    "Layout",
    "LevelTotal",
    "LinkedCells",
    "MixedNoise",
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
    "RivalNoise",
    "RowMap",
    "Schedule",
    "SharedError",
    "ShownTotals",
    "SumEstimates",
    "SumFamily",
    "Sums",
    "TableSets",
    "ThresholdExcess",
    "ValueWindow",
    "as_codes",
    "bells",
    "cell_laws",
    "checked_level",
    "contradiction",
    "costs",
    "crossed",
    "cumulant_intervals",
    "engine_for",
    "find_table_sets",
    "fit_levels",
    "fit_prior",
    "fit_profile",
    "infer",
    "judge_held_out",
    "lattice_law",
    "law_of_few",
    "level_logs",
    "level_posterior",
    "likely_scale",
    "link_cells",
    "parts_of",
    "quantile_of_two",
    "shown_histogram",
    "smallest_contradiction",
    "solve_bounds",
    "spread",
    "suits",
    "sum_law",
    "tally",
    "tilt",
    "with_means",
]
