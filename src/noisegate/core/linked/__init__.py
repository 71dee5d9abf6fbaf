"""Calibrated posteriors of cells that were suppressed or published with noise, over linked tables (MATH 4).

`infer` takes a `Problem` (cells, tables of noisy sums, identities, structural zeros) and a prior
(`Flat`, or what `fit_levels` or `fit_prior` learnt from the tables) and returns a `Posterior` for every
cell. Small linked sets are solved exactly, large ones by message passing. `enumerate_exact` is
the brute-force oracle.
"""

from __future__ import annotations

from noisegate.core.linked.codes import crossed
from noisegate.core.linked.enumeration import enumerate_exact
from noisegate.core.linked.fit import Fit, fit_prior
from noisegate.core.linked.inference import Options, infer
from noisegate.core.linked.levels import fit_levels
from noisegate.core.linked.posterior import Posterior
from noisegate.core.linked.prior import Flat, NegativeBinomial, Prior
from noisegate.core.linked.problem import Identities, Problem, Sums
from noisegate.core.linked.propagation import Schedule
from noisegate.core.linked.residual import from_residual
from noisegate.core.linked.score import Score
from noisegate.core.linked.totals import SumEstimates, estimate_all_sums, estimate_sums

__all__ = [
    "Fit",
    "Flat",
    "Identities",
    "NegativeBinomial",
    "Options",
    "Posterior",
    "Prior",
    "Problem",
    "Schedule",
    "Score",
    "SumEstimates",
    "Sums",
    "crossed",
    "enumerate_exact",
    "estimate_all_sums",
    "estimate_sums",
    "fit_levels",
    "fit_prior",
    "from_residual",
    "infer",
]
