"""Sums of cells with missing rows: posterior laws added up, with what the cells err together.

A margin says best what its shown rows were. What its missing rows were is better told by the base, which shows some of
their cells and leaves out others one by one. So an answer from a margin takes shown rows from the margin, and the
cells of missing rows from the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.profile.sum_law import cumulant_intervals, sum_law
from noisegate.query.answers import Answers
from noisegate.query.beliefs import Beliefs
from noisegate.tables.domain import Ints
from noisegate.tables.selection import Groups

Floats = NDArray[np.float64]

#: Sums of at most this many cells get the exact convolution, if all groups together have not too many.
_FEW_CELLS = 64
_FEW_IN_ALL = 4_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BelievedSums:
    """Answers of one table, with the variance that decides which table is used."""

    answers: Answers
    variance: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Cells of one table, each in a group; their laws have been worked out."""

    beliefs: Beliefs
    numbers: Ints
    group: Ints

    @classmethod
    def of(cls, beliefs: Beliefs, cells: Groups, groups: Ints, /) -> Members:
        """The cells of a question; `groups` are the numbers of the groups that have any."""
        numbers, group = cells.numbers()
        rank = np.full(cells.size, -1, np.int64)
        rank[groups] = np.arange(len(groups))
        return cls(beliefs=beliefs, numbers=numbers, group=rank[group])

    def only(self, kept: NDArray[np.bool_], /) -> Members:
        """Some of the cells."""
        return Members(beliefs=self.beliefs, numbers=self.numbers[kept], group=self.group[kept])

    def sums(self, of: Floats, size: int, /) -> Floats:
        """An array over all cells of the table, added up by group."""
        return np.asarray(np.bincount(self.group, weights=of[self.numbers], minlength=size), dtype=np.float64)

    def shared(self, size: int, /) -> Floats:
        """The variance of what cells err together, part by part."""
        found = self.sums(self.beliefs.common, size) ** 2
        part = self.beliefs.part_of[self.numbers]
        for number in np.unique(part).tolist():
            here = part == number
            cells = self.beliefs.place[self.numbers[here]].astype(np.int64)
            found += self.beliefs.parts[number].shared.variance(cells, self.group[here], size=size)
        return found


def believed_sums(
    beliefs: Beliefs, cells: Groups, /, *, level: float, base: tuple[Beliefs, Groups] | None = None
) -> BelievedSums:
    """The answer of one table by its posterior laws; every part that `cells` touches has been worked out.

    With a `base`, the missing rows of the table are added up from the base's cells.
    """
    terms = cells.counts()
    groups = np.flatnonzero(terms)
    size, shown = len(groups), beliefs.shown
    whole = Members.of(beliefs, cells, groups)
    members = [whole]
    if base is not None:
        members = [whole.only(shown.shown[whole.numbers]), _missing(beliefs, base, groups)]
    mean, variance, third, shared = np.zeros((4, size))
    for one in members:
        mean += one.sums(one.beliefs.mean, size)
        variance += one.sums(one.beliefs.variance, size)
        third += one.sums(one.beliefs.third, size)
        shared += one.shared(size)
    low, high = cumulant_intervals(mean, variance + shared, third, level=level)
    _convolve(members, shared, level, low, high)
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


def _missing(margin: Beliefs, base: tuple[Beliefs, Groups], groups: Ints, /) -> Members:
    """The base's cells that lie in missing rows of a margin."""
    where = margin.shown.table.margin
    assert where is not None
    inside = Members.of(*base, groups)
    return inside.only(~margin.shown.shown[where.of(inside.numbers)])


def _convolve(members: Sequence[Members], shared: Floats, level: float, low: Ints, high: Ints, /) -> None:
    """Replace the intervals of sums of few cells by exact ones."""
    size = len(low)
    terms = sum((np.bincount(one.group, minlength=size) for one in members), start=np.zeros(size, np.int64))
    few = terms <= _FEW_CELLS
    if not 0 < terms[few].sum() <= _FEW_IN_ALL:
        return
    laws: dict[int, list[tuple[int, Floats]]] = {}
    for one in members:
        kept = one.only(few[one.group])
        for cell, group in zip(kept.numbers.tolist(), kept.group.tolist(), strict=True):
            part = kept.beliefs.parts[int(kept.beliefs.part_of[cell])]
            laws.setdefault(group, []).append(part.laws.law(int(kept.beliefs.place[cell])))
    for group, found in laws.items():
        lows, masses = zip(*found, strict=True)
        low[group], high[group] = sum_law(lows, masses, shared_variance=float(shared[group])).interval(level)


def sharpest(found: Sequence[BelievedSums], /) -> Answers:
    """The answers of the table with the least uncertainty; all tables have the same groups."""
    return min(found, key=lambda one: float(np.sqrt(one.variance).sum())).answers
