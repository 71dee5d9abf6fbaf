"""What making counts non-negative takes off shown values, by doing it again.

A reconciled table is the nearest one to an estimate that has no negative count and keeps all sums (`margins`). Noise below zero in empty cells is raised to zero, and every row and every column pays for its own. How much that takes off shown
values depends on how many empty cells stand in the rows and columns of each, so it is tried: hidden cells get counts of the histogram that tables tell of them, all cells noise, and the step that made the
table is taken again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import Law

#: So many tables are tried, each in so many sweeps over its sums.
_TABLES, _SWEEPS = 6, 25


def taken_off(shown: Floats, hidden: Floats, rows: Sequence[Ints], noise: Law, weights: Floats, /) -> float:
    """What all shown values lose.

    `shown` has NaN for hidden cells, of which `hidden` has so many of 0, 1, 2, ...; `rows` says for each margin which row each cell is in, and `weights` by how much cells give way (of hidden ones all).
    """
    rng, missing = np.random.default_rng(1), np.isnan(shown)
    share = hidden / hidden.sum()
    found = []
    for _ in range(_TABLES):
        raw = np.where(missing, rng.choice(len(share), len(shown), p=share), np.nan_to_num(shown))
        value = raw + noise.sample(len(raw), rng=rng)
        settled = _nearest(value, np.where(missing, 1.0, weights), rows)
        found.append(float((value - settled)[~missing].sum()))
    return float(np.mean(found))


def _nearest(value: Floats, weights: Floats, rows: Sequence[Ints], /) -> Floats:
    """The nearest table without negative counts whose sums stay, rows of each margin in turn."""
    moved = np.zeros(len(value))
    wanted = [np.maximum(np.bincount(codes, weights=value), 0.0) for codes in rows]
    for _ in range(_SWEEPS):
        for codes, sums in zip(rows, wanted, strict=True):
            there = value + weights * moved
            now = np.bincount(codes, weights=np.maximum(there, 0.0), minlength=len(sums))
            slope = np.bincount(codes, weights=weights * (there > 0), minlength=len(sums))
            moved += ((sums - now) / np.maximum(slope, 1.0))[codes]
    return np.asarray(np.maximum(value + weights * moved, 0.0))
