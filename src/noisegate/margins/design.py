"""Which tables of one base are measured, how noisily, and what that says about any sum of cells.

A *table* is named by the axes it keeps: a tuple in the order of the base. The base keeps all axes;
the empty tuple is the grand total. Everything here is public: it knows sizes, never counts.

The base x is a vector with one entry per cell. Each measured table S is seen as y_S = M_S x + noise,
where M_S sums x over the axes that S lacks and the noise is independent with variance v_S. Write n_S for
the number of base cells in one cell of S.

Along one axis a vector is its mean plus a contrast. So the space of base vectors is the orthogonal sum of
2^k subspaces, one for each set U of axes: contrast along the axes of U, mean along the others. Table S sees
subspace U exactly if U is a subset of S. For a unit vector e of U, the inner product of e with x is
then measured by S with variance v_S / n_S: M_S maps e to sqrt(n_S) times a unit vector, on which the
noise has variance v_S. So within U all tables measure the *same* coordinates, each with the scalar precision
n_S / v_S; the least-squares estimate is their weighted mean and has precision

    precision(U) = sum of n_S / v_S over the measured S that contain U.

The subspaces are orthogonal, so nothing else is coupled. Every sum over a box (m_a of the n_a values of
axis a) has in U the squared length  prod_{a in U} (m_a - m_a^2/n_a) * prod_{a not in U} m_a^2/n_a,
and its variance is the sum over U of that length divided by precision(U). One cell of the base is the
box with all m_a = 1; one cell of table T has m_a = 1 on T's axes and m_a = n_a elsewhere.

Axes that are kept by the same measured tables act as one (their mean-contrast splits share every
precision), so the number of subspaces is 2^(groups), typically 8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError

Table = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """Named axes of a base table and how many values each has.

    Examples
    --------
    >>> shape = TableShape(axes=("date", "time", "location"), sizes=(14, 96, 500))
    >>> shape.terms(("date", "time"))
    500
    """

    axes: Table
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.axes) != len(self.sizes) or len(set(self.axes)) != len(self.axes):
            raise SpecError(
                f"a table shape needs distinct axes and one size for each, got {self.axes} and {self.sizes}."
            )
        for axis, size in zip(self.axes, self.sizes, strict=True):
            if size < 1:
                raise SpecError.for_value(f"the size of axis {axis!r}", found=size, allowed="at least 1")

    @property
    def cells(self) -> int:
        """Cells of the base."""
        return math.prod(self.sizes)

    def size(self, axis: str, /) -> int:
        """Values of one axis."""
        return self.sizes[self.axes.index(axis)]

    def table(self, axes: Iterable[str], /) -> Table:
        """The table that keeps `axes`, in the order of the base."""
        wanted = list(axes)
        for axis in wanted:
            if axis not in self.axes:
                raise SpecError.for_choice("a table's dimension", found=axis, allowed=self.axes)
        if len(set(wanted)) != len(wanted):
            raise SpecError(f"a table names each dimension once, got {', '.join(wanted)}.")
        return tuple(axis for axis in self.axes if axis in wanted)

    def array_axes(self, table: Table, /) -> Table:
        """The axes of a table's array."""
        return table

    def shared_axes(self, table: Table, within: Table, /) -> Table:
        """The axes of a table that a coarser one has too."""
        return tuple(axis for axis in table if axis in within)

    def named(self, axes: Iterable[str], _table: Table, /) -> Table:
        """The table that keeps these axes."""
        return self.table(axes)

    def lengths(self, table: Table, /) -> tuple[int, ...]:
        """The array shape of `table`."""
        return tuple(self.size(axis) for axis in table)

    def terms(self, table: Table, /) -> int:
        """Base cells that add up to one cell of `table`."""
        return self.cells // math.prod(self.lengths(table))

    def summed(self, base: NDArray[Any], table: Table, /) -> NDArray[Any]:
        """The sums of an array of the base's shape over all axes that `table` does not keep."""
        gone = tuple(i for i, axis in enumerate(self.axes) if axis not in table)
        if base.dtype.kind == "i" and gone:
            _check_sums_fit(base, self.terms(table))
        return np.asarray(base.sum(axis=gone))

    def spread(self, values: NDArray[Any], table: Table, /) -> NDArray[Any]:
        """An array of `table`, with axes of length 1 for those it lacks: broadcasts against the base."""
        return values.reshape([self.size(a) if a in table else 1 for a in self.axes])


def _check_sums_fit(base: NDArray[Any], terms: int, /) -> None:
    """Refuse sums that 64 bits might not hold; the message names no count."""
    if base.size and max(int(base.max()), -int(base.min())) * terms >= 2**63:
        raise DataError("sums of this table do not fit into 64 bits; its values cannot be counts.")


Box = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTable:
    """One table, every cell of which got independent noise of one variance."""

    table: Table
    variance: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.variance) and self.variance > 0):
            raise SpecError.for_value(
                "the variance of a measured table", found=self.variance, allowed="a finite number above 0"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Axes that are kept by the same measured tables, taken as one axis of `size` values."""

    axes: Table
    size: int
    kept_by: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """`copies` noises of measured table `source` enter an estimate with the same `coefficient`."""

    source: int
    coefficient: float
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The measured tables of one base; the base itself is among them.

    Assumes independent noise, equal variance within a table. Guarantees that variances and influences are
    exact for the least-squares estimate (before it is made non-negative and whole).
    """

    shape: TableShape
    measured: tuple[MeasuredTable, ...]

    def __post_init__(self) -> None:
        for one in self.measured:
            if self.shape.table(one.table) != one.table:
                raise SpecError(f"table {one.table} must list its axes in the order {self.shape.axes}.")
        if self.shape.axes not in (one.table for one in self.measured):
            raise SpecError("the base table must be among the measured tables.")

    def groups(self) -> tuple[Group, ...]:
        """The axes, grouped by which measured tables keep them."""
        found: dict[frozenset[int], list[str]] = {}
        for axis in self.shape.axes:
            kept_by = frozenset(i for i, one in enumerate(self.measured) if axis in one.table)
            found.setdefault(kept_by, []).append(axis)
        return tuple(
            Group(axes=tuple(axes), size=math.prod(self.shape.lengths(tuple(axes))), kept_by=kept_by)
            for kept_by, axes in found.items()
        )

    def precision_of(self, source: int, /) -> float:
        """n_S / v_S: what measured table `source` adds to the precision of each subspace it sees."""
        one = self.measured[source]
        return self.shape.terms(one.table) / one.variance

    def precision(self, contrasts: Iterable[Group], /) -> float:
        """The precision of the estimate in the subspace with contrasts along these groups."""
        return sum(self.precision_of(source) for source in self.seen_by(contrasts))

    def seen_by(self, contrasts: Iterable[Group], /) -> frozenset[int]:
        """The measured tables that see the subspace with contrasts along these groups."""
        everyone = frozenset(range(len(self.measured)))
        return everyone.intersection(*(group.kept_by for group in contrasts))

    def cell_of(self, table: Table, /) -> dict[str, int]:
        """One cell of `table` as a box."""
        return dict.fromkeys(table, 1)

    def variance(self, box: Box, /) -> float:
        """The exact variance of the estimated sum over a box; axes it does not name are summed over.

        Examples
        --------
        >>> shape = TableShape(axes=("time", "location"), sizes=(2, 3))
        >>> base = MeasuredTable(table=("time", "location"), variance=2.0)
        >>> Design(shape=shape, measured=(base,)).variance({"time": 1})
        6.0
        """
        groups = self.groups()
        parts = [self._taken(group, box) for group in groups]
        total = 0.0
        for inside in subsets(range(len(groups))):
            length = 1.0
            for i, (group, taken) in enumerate(zip(groups, parts, strict=True)):
                mean = taken * taken / group.size
                length *= taken - mean if i in inside else mean
            if length:
                total += length / self.precision(groups[i] for i in inside)
        return total

    def influences(self, box: Box, /) -> tuple[Influence, ...]:
        """How each measured noise enters the estimated sum over a box, alike noises together."""
        groups = self.groups()
        found = []
        for source in range(len(self.measured)):
            kept = [group for group in groups if source in group.kept_by]
            outside = math.prod(self._taken(g, box) / g.size for g in groups if source not in g.kept_by)
            for hit in subsets(range(len(kept))):
                copies = math.prod(
                    self._taken(g, box) if i in hit else g.size - self._taken(g, box)
                    for i, g in enumerate(kept)
                )
                if copies:
                    value = outside * self._coefficient(source, kept, hit, box)
                    found.append(Influence(source=source, coefficient=value, copies=copies))
        return tuple(found)

    def _coefficient(self, source: int, kept: list[Group], hit: frozenset[int], box: Box) -> float:
        """Weight of one cell of `source` that lies in the box along the groups of `hit` only."""
        total = 0.0
        for inside in subsets(range(len(kept))):
            product = self.precision_of(source) / self.precision(kept[i] for i in inside)
            for i, group in enumerate(kept):
                mean = self._taken(group, box) / group.size
                product *= (i in hit) - mean if i in inside else mean
            total += product
        return total

    def _taken(self, group: Group, box: Box) -> int:
        """How many values of the merged axis lie in the box."""
        for axis, count in box.items():
            if axis not in self.shape.axes or not 1 <= count <= self.shape.size(axis):
                raise SpecError(
                    f"a box takes between 1 and all values of a dimension, got {axis!r}: {count!r}."
                )
        return math.prod(box.get(axis, self.shape.size(axis)) for axis in group.axes)


def subsets(items: Iterable[int], /) -> Iterator[frozenset[int]]:
    """All subsets, smallest first."""
    pool = tuple(items)
    for size in range(len(pool) + 1):
        for chosen in combinations(pool, size):
            yield frozenset(chosen)
