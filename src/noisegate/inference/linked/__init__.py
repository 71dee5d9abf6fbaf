"""Calibrated posteriors of cells that were suppressed or published with noise, over linked tables (MATH 4).

`infer` takes a `Problem` (cells, tables of noisy sums, identities, structural zeros) and a prior
(`Flat`, or what `fit_levels` or `fit_prior` learnt from the tables) and returns a `CellEstimates` for every
cell. Small linked sets are solved exactly, large ones by message passing. `enumerate_exact` is
the brute-force oracle.
"""

from __future__ import annotations

from noisegate.inference.linked.fit import Fit, fit_levels, fit_prior
from noisegate.inference.linked.inference import Options, Schedule, infer
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import (
    Flat,
    Humps,
    Identities,
    NegativeBinomial,
    Prior,
    Problem,
    Sums,
    crossed,
)

__all__ = [
    "CellEstimates",
    "Fit",
    "Flat",
    "Humps",
    "Identities",
    "NegativeBinomial",
    "Options",
    "Prior",
    "Problem",
    "Schedule",
    "SumEstimates",
    "Sums",
    "crossed",
    "fit_levels",
    "fit_prior",
    "infer",
]
