"""Recovering the noise of published tables from identities among raw counts (MATH 2).

`fit_noise` finds law, scale and rounding from identities, or says why it cannot. `find_pairs` finds
identities in the tables themselves. The rest says what follows: how much sharper coupled cells are
known (`sharpen`), whether zeros were perturbed (`weigh_zeros`), and the picture (`difference_curve`).
The mathematics is in docs/explanation/noise-recovery.md.
"""

from __future__ import annotations

from noisegate.recovery.candidates import CANDIDATES
from noisegate.recovery.couplings import (
    Coupling,
    FixedValues,
    Moments,
    Statement,
    couple,
    equal_pairs,
    least_published,
    names,
    not_stated,
    parse_lag,
    published,
    selected,
    stated_couplings,
    value_code,
)
from noisegate.recovery.equality import CoupledSeries, Equality, compare, find_pairs
from noisegate.recovery.families import Family, IdentityLedger, weigh_identities
from noisegate.recovery.fit import fit_noise
from noisegate.recovery.free_law import Excluded
from noisegate.recovery.goodness import Goodness
from noisegate.recovery.identities import (
    ResidualIdentities,
    edge_density,
    margin_identities,
    pair_identities,
    residual_identities,
)
from noisegate.recovery.identity_sets import (
    IdentitySet,
    family_set,
    margin_set,
    pair_sets,
    stated_sets,
)
from noisegate.recovery.lattice import RoundingBase, find_lattice, rounding_bases
from noisegate.recovery.likelihood import columns, observe
from noisegate.recovery.makers import Makers, Noise, Seen
from noisegate.recovery.margin_rows import MarginRows, Pieces, find_pieces, perturbed_apart
from noisegate.recovery.noise_sums import NoiseSums, free_law, half_of
from noisegate.recovery.outcome import DifferenceCurve, LawEvidence, NoiseFit, difference_curve
from noisegate.recovery.recognising import recognise, recognise_all
from noisegate.recovery.recognition import (
    UNBOUNDED_KINDS,
    MechanismKind,
    Recognition,
)
from noisegate.recovery.recover import recover
from noisegate.recovery.residual_law import SHELLS, Points, ResidualLaw, common_step, lattice_for
from noisegate.recovery.residual_noise import noise_interval, noise_law
from noisegate.recovery.rivals import Rivals, rivals_of
from noisegate.recovery.search import Search, describe, equal_cells, pair_numbers, search
from noisegate.recovery.sharpening import Sharpening, sharpen
from noisegate.recovery.stopped_laws import open_stop, stopped, stopped_laws
from noisegate.recovery.zeros import ZeroRule, ZeroTest, weigh_zeros, zero_rule

__all__ = [
    "CANDIDATES",
    "SHELLS",
    "UNBOUNDED_KINDS",
    "CoupledSeries",
    "Coupling",
    "DifferenceCurve",
    "Equality",
    "Excluded",
    "Family",
    "FixedValues",
    "Goodness",
    "IdentityLedger",
    "IdentitySet",
    "LawEvidence",
    "Makers",
    "MarginRows",
    "MechanismKind",
    "Moments",
    "Noise",
    "NoiseFit",
    "NoiseSums",
    "Pieces",
    "Points",
    "Recognition",
    "ResidualIdentities",
    "ResidualLaw",
    "Rivals",
    "RoundingBase",
    "Search",
    "Seen",
    "Sharpening",
    "Statement",
    "ZeroRule",
    "ZeroTest",
    "columns",
    "common_step",
    "compare",
    "couple",
    "describe",
    "difference_curve",
    "edge_density",
    "equal_cells",
    "equal_pairs",
    "family_set",
    "find_lattice",
    "find_pairs",
    "find_pieces",
    "fit_noise",
    "free_law",
    "half_of",
    "lattice_for",
    "least_published",
    "margin_identities",
    "margin_set",
    "names",
    "noise_interval",
    "noise_law",
    "not_stated",
    "observe",
    "open_stop",
    "pair_identities",
    "pair_numbers",
    "pair_sets",
    "parse_lag",
    "perturbed_apart",
    "published",
    "recognise",
    "recognise_all",
    "recover",
    "residual_identities",
    "rivals_of",
    "rounding_bases",
    "search",
    "selected",
    "sharpen",
    "stated_couplings",
    "stated_sets",
    "stopped",
    "stopped_laws",
    "value_code",
    "weigh_identities",
    "weigh_zeros",
    "zero_rule",
]
