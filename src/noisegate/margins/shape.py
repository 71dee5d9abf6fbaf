"""The shape of a base table and the tables that are sums of it.

A *table* is named by the axes it keeps: a tuple in the order of the base. The base keeps all axes;
the empty tuple is the grand total. Everything here is public: it knows sizes, never counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
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

    def check_dense(self) -> None:
        """Refuse a base that is too large to be held cell by cell."""
        most = limits.current().reconciled_cells
        if self.cells > most:
            raise SpecError(
                f"'margins: reconcile' holds every cell of the domain in memory; this one has {self.cells:,} "
                f"cells and at most {most:,} are allowed. Use 'margins: derive', or split the release."
            )


def _check_sums_fit(base: NDArray[Any], terms: int, /) -> None:
    """Refuse sums that 64 bits might not hold; the message names no count."""
    if base.size and max(int(base.max()), -int(base.min())) * terms >= 2**63:
        raise DataError("sums of this table do not fit into 64 bits; its values cannot be counts.")
