"""The minimal attacker's prior: a level for each total, and one number for how cells differ.

A prior that is flat in every cell is not flat in their sums. There are far more ways to make 60 of
80 cells than to make 10, so it pulls every total upwards: a suppressed one beyond its threshold, a
published one away from its value by many times its noise, and all quiet cells with them. Here the
cells of a total share a level that the tables tell, and a cell strays from the product of its
levels as widely as the tables tell, at most (and if they do not tell) geometrically, which is as
flat as a law with a mean can be. Nothing is learnt from other days, and nothing about which place is busy when.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noisegate.inference.linked.codes import codes_of_cells
from noisegate.inference.linked.fit import fit_prior
from noisegate.inference.linked.prior import Flat, NegativeBinomial, Prior
from noisegate.inference.linked.problem import Bools, Ints, Problem, Sums, unheard

#: A geometric law with such a mean is flat for all that is suppressed.
_FLAT_MEAN = 1e6


def fit_levels(
    problem: Problem,
    /,
    *,
    groups: ArrayLike | None = None,
    threads: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Prior:
    """What an attacker believes who knows how the tables were made, and nothing of what they count.

    `groups` is a code for each cell; groups (a mode, a direction, a day) share no number. Cells that
    are in no total of several cells keep a flat prior, and so do groups of which no number was published.

    Notes
    -----
    *Assumes* that a cell's mean is near a product of one level for each total it is in.
    """
    levels = [codes for table in problem.tables for codes in _codes_of(table, problem)]
    group = codes_of_cells(np.zeros(problem.cells) if groups is None else groups, cells=problem.cells)
    told = np.logical_or.reduce([codes > 0 for codes in levels], initial=False) & _published(problem, group)
    if not told.any():
        return Flat()
    _refuse_unheard(problem)
    fitted = fit_prior(
        problem, effects=levels, groups=group, plain=True, threads=threads, progress=progress
    ).prior
    return NegativeBinomial(
        mean=np.where(told | problem.zeros, fitted.mean, _FLAT_MEAN),
        shape=np.where(told, fitted.shape, 1.0),
        zero_share=fitted.zero_share,
    )


def _refuse_unheard(problem: Problem, /) -> None:
    heard = problem.zeros.copy()
    for table in problem.tables:
        heard[table.indices] = True
    if not heard.all():
        raise unheard()


def _published(problem: Problem, group: Ints, /) -> Bools:
    """Whether a number was published of any cell of the same group."""
    shown = np.zeros(int(group.max()) + 1, dtype=bool)
    for table in problem.tables:
        shown[group[table.indices[np.repeat(~np.isnan(table.values), np.diff(table.indptr))]]] = True
    return shown[group]


def _codes_of(table: Sums, problem: Problem, /) -> list[Ints]:
    """The total that each cell is in, counted from 1; lists go on while cells are in more than one."""
    live = ~problem.zeros[table.indices]
    row = np.repeat(np.arange(table.rows), np.diff(table.indptr))
    several: Bools = np.bincount(row[live], minlength=table.rows) > 1
    chosen = live & several[row]
    cell, total = table.indices[chosen], row[chosen] + 1
    lists = []
    while cell.size:
        codes = np.zeros(problem.cells, dtype=np.int64)
        first = np.unique(cell, return_index=True)[1]
        codes[cell[first]] = total[first]
        lists.append(codes)
        cell, total = np.delete(cell, first), np.delete(total, first)
    return lists
