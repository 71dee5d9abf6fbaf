"""Margins: consistent tables from noisy measurements of one base and sums of it (MATH 7).

    Measurement, ...  ->  reconcile  ->  Reconciled        real, signed, unbiased, smallest variance
                                         |
                                         v
                          round_consistent  ->  ConsistentTables   whole, non-negative, all sums exact

`reconcile_tables` does both for a whole public domain, piece by piece. Everything here is post-processing of
noisy values and draws no randomness. `best_split` says beforehand how to share epsilon among the tables, `pieces`
and `plan_rounding` whether a set of margins can be handled at all, and `error_figures` what a card may
state; none of them looks at data.
"""

from __future__ import annotations

from noisegate.margins._nonnegative import fit_matrix, fit_vector
from noisegate.margins._rounding import fix_matrix, fix_vector, round_matrix, round_vector
from noisegate.margins.descent import descend
from noisegate.margins.design import Box, Design, Influence, MeasuredTable, Table, TableShape
from noisegate.margins.error import (
    ErrorFigures,
    ErrorLaw,
    ErrorTerm,
    Method,
    SumErrors,
    characteristic,
    error_figures,
)
from noisegate.margins.integers import ConsistentTables, derive, load_loops, round_consistent
from noisegate.margins.minimax import minimax_split
from noisegate.margins.nested import Ladder
from noisegate.margins.pieces import (
    AnyPiece,
    EstimatedTables,
    NestedPiece,
    NoisyTable,
    Piece,
    WholeTables,
    estimate_tables,
    pieces,
    reconcile_tables,
)
from noisegate.margins.plan import Apportion, Join, Nearest, Step, coarse_tables, plan_rounding
from noisegate.margins.prediction import LEVEL, Prediction, predict
from noisegate.margins.reconcile import Measurement, Reconciled, reconcile
from noisegate.margins.series import (
    DENOMINATOR,
    Participation,
    SeriesStrategy,
    plan_series,
    prefix_strategy,
    strategy_of,
)
from noisegate.margins.split import best_split, error_ratios
from noisegate.margins.strategy import (
    Objective,
    TableStrategy,
    best_strategy,
    variance_of_box,
    variance_of_sums,
)
from noisegate.margins.stretches import Stretch, is_separable, stretch_cells, stretches

__all__ = [
    "DENOMINATOR",
    "LEVEL",
    "AnyPiece",
    "Apportion",
    "Box",
    "ConsistentTables",
    "Design",
    "ErrorFigures",
    "ErrorLaw",
    "ErrorTerm",
    "EstimatedTables",
    "Influence",
    "Join",
    "Ladder",
    "MeasuredTable",
    "Measurement",
    "Method",
    "Nearest",
    "NestedPiece",
    "NoisyTable",
    "Objective",
    "Participation",
    "Piece",
    "Prediction",
    "Reconciled",
    "SeriesStrategy",
    "Step",
    "Stretch",
    "SumErrors",
    "Table",
    "TableShape",
    "TableStrategy",
    "WholeTables",
    "best_split",
    "best_strategy",
    "characteristic",
    "coarse_tables",
    "derive",
    "descend",
    "error_figures",
    "error_ratios",
    "estimate_tables",
    "fit_matrix",
    "fit_vector",
    "fix_matrix",
    "fix_vector",
    "is_separable",
    "load_loops",
    "minimax_split",
    "pieces",
    "plan_rounding",
    "plan_series",
    "predict",
    "prefix_strategy",
    "reconcile",
    "reconcile_tables",
    "round_consistent",
    "round_matrix",
    "round_vector",
    "strategy_of",
    "stretch_cells",
    "stretches",
    "variance_of_box",
    "variance_of_sums",
]
