"""Sums of cells with missing rows: posterior laws added up, with what the cells err together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.core.domain import Ints
from noisegate.core.workload import Cells, cumulant_intervals, sum_law
from noisegate.query.answers import Answers
from noisegate.query.beliefs import Beliefs

Floats = NDArray[np.float64]

#: Sums of at most this many cells get the exact convolution, if all groups together have not too many.
_FEW_CELLS = 64
_FEW_IN_ALL = 4_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BelievedSums:
    """Answers of one table, with the variance that decides which table is used."""

    answers: Answers
    variance: Floats


def believed_sums(beliefs: Beliefs, cells: Cells, /, *, level: float) -> BelievedSums:
    """The answer of one table by its posterior laws; every part that `cells` touches has been worked out."""
    terms = cells.counts()
    groups = np.flatnonzero(terms)
    numbers, group = cells.numbers()
    rank = np.full(cells.groups, -1, np.int64)
    rank[groups] = np.arange(len(groups))
    group = rank[group]
    shared = _shared(beliefs, numbers, group, len(groups)) + cells.sums(beliefs.common)[groups] ** 2
    mean = cells.sums(beliefs.mean)[groups]
    variance = cells.sums(beliefs.variance)[groups]
    third = cells.sums(beliefs.third)[groups]
    low, high = cumulant_intervals(mean, variance + shared, third, level=level)
    few = terms[groups] <= _FEW_CELLS
    if terms[groups][few].sum() <= _FEW_IN_ALL:
        _convolve(beliefs, numbers, group, few, shared, level, low, high)
    shown = beliefs.shown
    answers = Answers(
        labels=cells.labels(groups),
        estimate=mean,
        low=low,
        high=high,
        cells=terms[groups],
        suppressed=np.rint(cells.sums(~shown.shown)[groups]).astype(np.int64),
        published=np.rint(cells.sums(shown.values)[groups]).astype(np.int64),
        level=level,
        table=shown.table.name,
    )
    return BelievedSums(answers=answers, variance=variance + shared)


def _shared(beliefs: Beliefs, numbers: Ints, group: Ints, size: int, /) -> Floats:
    """What cells err together, part by part."""
    found = np.zeros(size)
    part = beliefs.part_of[numbers]
    for number in np.unique(part).tolist():
        here = part == number if number >= 0 else slice(0)
        cells = beliefs.place[numbers[here]].astype(np.int64)
        found += beliefs.parts[number].shared.variance(cells, group[here], size=size)
    return found


def _convolve(
    beliefs: Beliefs,
    numbers: Ints,
    group: Ints,
    few: NDArray[np.bool_],
    shared: Floats,
    level: float,
    low: Ints,
    high: Ints,
    /,
) -> None:
    """Replace the intervals of sums of few cells by exact ones."""
    kept = few[group]
    if not kept.any():
        return
    order = np.argsort(group[kept], kind="stable")
    numbers, group = numbers[kept][order], group[kept][order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for first, members in zip(starts, np.split(numbers, starts[1:]), strict=True):
        g = int(group[first])
        lows, masses = [], []
        for cell in members.tolist():
            laws = beliefs.parts[int(beliefs.part_of[cell])].laws
            least, mass = laws.law(int(beliefs.place[cell]))
            lows.append(least)
            masses.append(mass)
        law = sum_law(lows, masses, shared_variance=float(shared[g]))
        low[g], high[g] = law.interval(level)


def sharpest(found: Sequence[BelievedSums], /) -> Answers:
    """The answers of the table with the least uncertainty; all tables have the same groups."""
    return min(found, key=lambda one: float(np.sqrt(one.variance).sum())).answers
