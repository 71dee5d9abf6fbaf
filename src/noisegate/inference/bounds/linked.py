"""Cells of linked tables as one system: which counts each can be, and which sums of cells are which totals.

Every margin is a sum of the coarsest finer tables that have all of it. A table of towns by age adds up to a table of towns, and
that one to the total: going by steps keeps equations short, and two-way tables networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.bounds.equations import ENDLESS, Equations, Ints
from noisegate.inference.bounds.solve import Bounds, solve_bounds
from noisegate.inference.bounds.solver import whole_solution
from noisegate.tables import Table

Ranges = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SumFamily:
    """A margin whose cells are sums of the cells of a finer table.

    Attributes
    ----------
    total, parts
        Numbers of the two tables.
    summed
        The dimensions that are summed over.
    rest
        Whether totals count more than the parts list.
    words
        For totals that no table here has, because a table beside these tells them: each in words. Then `total` is -1.
    """

    total: int
    parts: int
    summed: tuple[str, ...]
    rest: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedCells:
    """The cells of all tables, one after another, and the sums among them.

    Attributes
    ----------
    tables
        The base first.
    offsets
        Where the cells of each table begin, and where those of the last one end; what follows are rests that totals count
        beyond the parts that are listed.
    low, high
        The counts that each cell can be by itself.
    equations, family
        The sums, and for each the number of its family in `families`.
    """

    tables: tuple[Table, ...]
    offsets: Ints
    low: Ints
    high: Ints
    equations: Equations
    family: Ints
    families: tuple[SumFamily, ...]
    _said: dict[int, str] = field(default_factory=dict, repr=False)

    def without(self, refused: Sequence[int], /) -> LinkedCells:
        """The same without the equations of these families."""
        kept = ~np.isin(self.family, refused)
        return LinkedCells(
            tables=self.tables,
            offsets=self.offsets,
            low=self.low,
            high=self.high,
            equations=self.equations.take(kept),
            family=self.family[kept],
            families=self.families,
        )

    def within(self, ranges: Sequence[Ranges], /) -> LinkedCells:
        """The same with other ranges, for each table those of its cells."""
        low, high = _ends(ranges, self.low.size - int(self.offsets[-1]))
        return replace(self, low=low, high=high)

    def with_sums(
        self, groups: Ints, low: Ints, high: Ints, /, *, summed: tuple[str, ...], words: Sequence[str]
    ) -> LinkedCells:
        """The same with sums of cells of the base whose ranges a table beside these tells.

        Parameters
        ----------
        groups
            For each cell of the base the number of its sum; -1 for none.
        low, high
            The least and the largest of each sum.
        summed
            The dimensions that are summed over.
        words
            Each sum in words.
        """
        begin = self.low.size
        found = Equations.sums(groups, np.arange(groups.size), begin + np.arange(low.size))
        family = SumFamily(total=-1, parts=0, summed=summed, words=tuple(words))
        return LinkedCells(
            tables=self.tables,
            offsets=self.offsets,
            low=np.concatenate([self.low, low]),
            high=np.concatenate([self.high, high]),
            equations=Equations.joined([self.equations, found]),
            family=np.append(self.family, np.full(low.size, len(self.families))),
            families=(*self.families, family),
        )

    def solve(self, *, seconds: float = 60.0) -> Bounds:
        """The bounds of every cell."""
        return solve_bounds(self.low, self.high, self.equations, seconds=seconds)

    def solution(self, *, seconds: float = 10.0) -> Ints | None:
        """One solution in whole counts; None if there is none, or none was found in time."""
        return whole_solution(self.low, self.high, self.equations, seconds=seconds)

    def table_of(self, cell: int, /) -> tuple[int, int]:
        """The table that a cell belongs to, and its number in it."""
        table = int(np.searchsorted(self.offsets, cell, side="right")) - 1
        return table, cell - int(self.offsets[table])

    def describe(self, equation: int, /) -> str:
        """An equation in words: which total is the sum of what."""
        if equation not in self._said:
            self._said[equation] = self._sentence(equation)
        return self._said[equation]

    def _sentence(self, equation: int, /) -> str:
        family = self.families[int(self.family[equation])]
        cells, signs = self.equations.terms(equation)
        if family.words:
            first = int(np.searchsorted(self.family, self.family[equation]))
            return f"{family.words[equation - first]}: total of {int((signs > 0).sum())} over {' and '.join(family.summed)}"
        total = self.tables[family.total]
        cell = int(cells[signs < 0][0]) - int(self.offsets[family.total])
        labels = total.labels(np.array([cell]))
        where = ", ".join(f"{name} {values[0]}" for name, values in labels.items())
        parts = int((signs > 0).sum()) - family.rest
        over = " and ".join(family.summed) or "its parts"
        shown = total.at(np.array([cell]))[0]
        value = f" ({shown:,.0f})" if np.isfinite(shown) else ""
        more = " and what is not listed" if family.rest else ""
        return f"{where or 'all'}{value}: total of {parts} over {over}{more}"


def link_cells(tables: Sequence[Table], ranges: Sequence[Ranges] | None = None, /) -> LinkedCells:
    """The cells of a base and its margins as one system.

    Parameters
    ----------
    tables
        The base first; margins know where its cells add up.
    ranges
        For each table the least and the largest raw count of every cell, as `Table.ranges` gives them where counts are
        published as they are, which is taken if they are not given.
    """
    given = [table.ranges() for table in tables] if ranges is None else list(ranges)
    offsets = np.concatenate([[0], np.cumsum([table.size for table in tables])]).astype(np.int64)
    groups = [_groups(table, tables[0].size) for table in tables]
    families, parts, extra = [], [], 0
    labels = [cache(partial(table.codes, np.arange(table.size, dtype=np.int64))) for table in tables]
    for total in range(1, len(tables)):
        for finer in _finer(total, groups, tables):
            mapped = _by_labels(tables[finer], tables[total], labels[finer])
            if mapped is None:
                mapped = _mapped(groups[finer], groups[total], tables[finer].size)
            totals = np.arange(tables[total].size)[_met(mapped, tables[total].size)]
            margin = tables[total].margin
            rest = margin is not None and not _lists(tables[finer], margin.unlisted)
            place = np.full(tables[total].size + 1, -1)
            place[totals] = np.arange(totals.size)
            found = Equations.sums(
                place[mapped], offsets[finer] + np.arange(tables[finer].size), offsets[total] + totals
            )
            if rest:
                found = _with_rest(found, int(offsets[-1]) + extra)
                extra += totals.size
            names = tuple(n for n in tables[finer].domain.names if n not in tables[total].domain.names)
            families.append(SumFamily(total=total, parts=finer, summed=names, rest=rest))
            parts.append(found)
    low, high = _ends(given, extra)
    sizes = [len(one) for one in parts]
    return LinkedCells(
        tables=tuple(tables),
        offsets=offsets,
        low=low,
        high=high,
        equations=Equations.joined(parts),
        family=np.repeat(np.arange(len(families)), sizes),
        families=tuple(families),
    )


def _ends(ranges: Sequence[Ranges], extra: int, /) -> tuple[Ints, Ints]:
    """The least and the largest count of every cell, and of so many rests."""
    low, high = (
        np.concatenate([*(pair[end] for pair in ranges), np.full(extra, fill)])
        for end, fill in ((0, 0.0), (1, np.inf))
    )
    bounded = np.isfinite(high)
    return (
        np.ceil(np.nan_to_num(low)).astype(np.int64),
        np.where(bounded, np.floor(np.where(bounded, high, 0)), ENDLESS).astype(np.int64),
    )


def _groups(table: Table, size: int, /) -> Ints:
    """The cell of a table that each cell of the base adds to; -1 for none."""
    every = np.arange(size, dtype=np.int64)
    return every if table.margin is None else np.asarray(table.margin.of(every))


def _mapped(fine: Ints, wide: Ints, size: int, /) -> Ints:
    """The cell of the wider table that each cell of the finer one adds to; -1 for none."""
    found = np.full(size, -1, np.int64)
    inside = fine >= 0
    found[fine[inside]] = wide[inside]
    return found


def _by_labels(fine: Table, wide: Table, codes: Callable[[], NDArray[np.int32]], /) -> Ints | None:
    """The same from the labels of the cells, also of those that the base does not list; None if labels differ. `codes` are those of `fine`."""
    names = fine.domain.names
    if any(one.name not in names for one in wide.dimensions):
        return None
    places = [names.index(one.name) for one in wide.dimensions]
    if any(
        fine.dimensions[place].labels != one.labels
        for place, one in zip(places, wide.dimensions, strict=True)
    ):
        return None
    return wide.locate(codes()[places])


def _lists(table: Table, values: Sequence[str], /) -> bool:
    """Whether a table has cells for values that the base does not list, each as dimension=value."""
    cells = np.arange(table.size, dtype=np.int64)
    for one in values:
        name, _, value = one.partition("=")
        if name not in table.domain.names or value not in set(map(str, table.labels(cells)[name])):
            return False
    return True


def _met(mapped: Ints, size: int, /) -> NDArray[np.bool_]:
    met = np.zeros(size, bool)
    met[mapped[mapped >= 0]] = True
    return met


def _finer(total: int, groups: Sequence[Ints], tables: Sequence[Table], /) -> list[int]:
    """The tables that add up to table `total` without another one in between; the base if there is none but it."""
    able = [one for one in range(len(tables)) if one != total and _refines(one, total, groups, tables)]
    return [
        one
        for one in able
        if not any(other != one and _refines(one, other, groups, tables) for other in able)
    ]


def _refines(fine: int, wide: int, groups: Sequence[Ints], tables: Sequence[Table], /) -> bool:
    """Whether each cell of the wide table is a sum of whole cells of the fine one, and these are more, or it is the base."""
    if tables[fine].size < tables[wide].size or (tables[fine].size == tables[wide].size and fine):
        return False
    one, other = groups[fine], groups[wide]
    if ((one < 0) & (other >= 0)).any():
        return False
    inside = one >= 0
    mapped = _mapped(one, other, tables[fine].size)
    return bool((mapped[one[inside]] == other[inside]).all())


def _with_rest(equations: Equations, first: int, /) -> Equations:
    """The same equations with one more part each, numbered from `first` on."""
    sizes = np.diff(equations.starts)
    starts = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.int64)
    cells, signs = np.empty(starts[-1], np.int64), np.ones(starts[-1], np.int8)
    place = np.arange(equations.cells.size) + equations.owner
    cells[place], signs[place] = equations.cells, equations.signs
    cells[starts[1:] - 1] = first + np.arange(len(equations))
    return Equations(starts=starts, cells=cells, signs=signs, right=equations.right)
