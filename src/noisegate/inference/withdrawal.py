"""Estimates that are withdrawn: what the tables do not tell is given by bounds.

A hidden cell holds at most what the threshold lets pass, a hidden row of a margin likewise, and a row that is shown no more than it shows. Where a learnt law did not stand its trial, sums
of cells that no total tells lie between nothing and these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noisegate.inference.evidence import Observation
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.linked.totals import SumEstimates
from noisegate.inference.profile.sum_law import cumulant_intervals
from noisegate.inference.roles import numbered
from noisegate.inference.uncertainty import CellErrors

#: What is hidden may lie above the threshold by so many standard deviations of noise.
_FAR = 2.0
#: Bounds of less than this share of an interval are taken as part of it.
_SLIGHT = 0.1
#: Bounds no wider than this share of the estimate widen it and do not replace it.
_NEAR_SHARE = 0.1


def withdraw(errors: CellErrors, found: SumEstimates, cells: Ints, groups: Ints, /) -> SumEstimates:
    """The same estimates, widened to bounds or replaced by them where sums hang on cells that no total tells."""
    size = len(found.mean)
    lacking = errors.lacking(cells)
    most, left = np.full(size, np.inf), lacking.copy()
    best = np.full(size, -1)
    options: list[Bools] = [lacking]
    for margin in errors.totals.margins:
        taken = errors.totals.of(margin).of_groups(cells, groups, size).taken
        options.append(lacking & ~taken)
    for place, option in enumerate(options):
        bound = _most(errors, cells[option], groups[option], size)
        better = bound < most
        most, best = np.where(better, bound, most), np.where(better, place, best)
    for place, option in enumerate(options):
        left = np.where(best[groups] == place, option, left)
    wide = most > _SLIGHT * (found.high - found.low) + 1
    if not wide.any():
        return found
    rest = ~left & wide[groups]
    spread = errors.sums(cells[rest], groups[rest], size)[1]
    low, high = cumulant_intervals(spread.centre, spread.variance, spread.third, level=found.level)
    high = high + np.ceil(most).astype(np.int64)
    # Widened first: bounds that are near each other are an interval like any other.
    near = high - low <= _NEAR_SHARE * found.mean
    gone = wide & ~near
    return replace(
        found,
        low=np.where(gone, low, np.where(wide, np.minimum(low, found.low), found.low)),
        high=np.where(gone, high, np.where(wide, np.maximum(high, found.high), found.high)),
        withdrawn=gone,
    )


def widen_cells(errors: CellErrors, found: CellEstimates, /) -> None:
    """Give cells that no row of any margin shows the interval from nothing to what the threshold lets pass, in place."""
    made = errors.evidence.base.mechanism
    if made.whole_threshold is None:
        return
    every = np.arange(len(found.mean))
    cells = every[errors.lacking(every)]
    for margin in errors.totals.margins:
        row = margin.where.of(cells)
        cells = cells[(row < 0) | ~margin.shown(np.maximum(row, 0))]
    found.low[cells] = 0
    found.high[cells] = np.maximum(found.high[cells], made.whole_threshold - 1)


def _most(errors: CellErrors, cells: Ints, groups: Ints, size: int, /) -> Floats:
    """What hidden cells of each group can hold at most: by themselves, or by the rows of the margin that binds them most."""
    base = errors.evidence.base
    one = float((base.mechanism.whole_threshold or 1) - 1)
    number = np.bincount(groups, minlength=size).astype(np.float64)
    found = one * number + _FAR * np.sqrt(base.noise * number)
    for margin in errors.totals.margins:
        found = np.minimum(found, _by_rows(errors, margin, cells, groups, size, one))
    return np.where(number > 0, found, 0.0)


def _by_rows(
    errors: CellErrors, margin: Observation, cells: Ints, groups: Ints, size: int, one: float, /
) -> Floats:
    """The same by the rows of one margin: what a shown row leaves, or what the threshold lets pass of one that is not."""
    row = margin.where.of(cells)
    rows = len(margin.values)
    keys, place = numbered(groups * (rows + 1) + np.where(row < 0, rows, row))
    group, at = np.divmod(keys, rows + 1)
    alone = one * np.bincount(place, minlength=len(keys))
    inside = at < rows
    at = np.minimum(at, rows - 1)
    known = errors.totals.of(margin)
    left = np.maximum(known.margin.total(at) - known.total[at], 0.0)
    cut = margin.mechanism.whole_threshold
    bound = np.where(margin.shown(at), left, np.inf if cut is None else float(cut - 1))
    bound = np.where(inside, np.minimum(bound, alone), alone)
    noise = np.where(inside, margin.noise + errors.evidence.base.noise * known.shown[at], 0.0)
    added = np.bincount(group, weights=bound, minlength=size)
    return np.asarray(added + _FAR * np.sqrt(np.bincount(group, weights=noise, minlength=size)))
