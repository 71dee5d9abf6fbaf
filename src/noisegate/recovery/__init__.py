"""Recovering the noise of published tables from identities among raw counts (MATH 2).

`fit_noise` finds law, scale and rounding from identities, or says why it cannot. `find_pairs` finds
identities in the tables themselves. The rest says what follows: how much sharper coupled cells are
known (`sharpen`), whether zeros were perturbed (`weigh_zeros`), and the picture (`difference_curve`).
The mathematics is in docs/explanation/noise-recovery.md.
"""

from __future__ import annotations

from noisegate.recovery.candidates import CANDIDATES
from noisegate.recovery.coupling import Sharpening, sharpen
from noisegate.recovery.curve import DifferenceCurve, difference_curve
from noisegate.recovery.equality import Equality, compare
from noisegate.recovery.fit import fit_noise
from noisegate.recovery.goodness import Goodness
from noisegate.recovery.identities import (
    ResidualIdentities,
    margin_identities,
    pair_identities,
    residual_identities,
)
from noisegate.recovery.outcome import LawEvidence, NoiseFit
from noisegate.recovery.pair_search import CoupledSeries, find_pairs
from noisegate.recovery.zero_rule import ZeroTest, weigh_zeros

__all__ = [
    "CANDIDATES",
    "CoupledSeries",
    "DifferenceCurve",
    "Equality",
    "Goodness",
    "LawEvidence",
    "NoiseFit",
    "ResidualIdentities",
    "Sharpening",
    "ZeroTest",
    "compare",
    "difference_curve",
    "find_pairs",
    "fit_noise",
    "margin_identities",
    "pair_identities",
    "residual_identities",
    "sharpen",
    "weigh_zeros",
]
