"""The public domain of a table as far as tables reveal it, and which of its cells are published.

Cells are numbered by *axes*. Most axes are one dimension with its values; dimensions that depend on
each other (a location belongs to one mode) share an axis that lists the combinations that exist. The
domain is the product of the axes, so nothing is ever listed cell by cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, InternalError
from noisegate.mechanisms.thresholds import Threshold
from noisegate.reading._table import Codes, Counts, Dimension, Ints, PublishedTable

#: Cells are numbered in 64-bit integers.
MOST_CELLS = 2**62
#: A margin holds a few numbers for each of its cells.
MOST_MARGIN_CELLS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """Combinations of values of one or more dimensions.

    Attributes
    ----------
    dimensions
        Positions of the dimensions in their table.
    sizes
        How many values each of them has.
    entries
        Shape (dimensions, entries): the codes of each combination, in ascending order.
    """

    dimensions: tuple[int, ...]
    sizes: tuple[int, ...]
    entries: Codes
    _ids: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if math.prod(self.sizes) >= MOST_CELLS:
            raise InternalError("an axis has too many combinations to number")
        ids = self._number(self.entries)
        if ids.size > 1 and not (np.diff(ids) > 0).all():
            raise InternalError("the entries of an axis must ascend")
        object.__setattr__(self, "_ids", ids)

    @classmethod
    def of(cls, dimensions: tuple[int, ...], sizes: tuple[int, ...], codes: Codes, /) -> Axis:
        """The axis with every combination that occurs among the columns of `codes`."""
        ids = np.unique(_radix(codes, sizes))
        entries = np.array(np.unravel_index(ids, sizes), dtype=np.int32).reshape(len(sizes), ids.size)
        return cls(dimensions=dimensions, sizes=sizes, entries=entries)

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return int(self.entries.shape[1])

    def find(self, codes: Codes, /) -> Ints:
        """The entry of each column of `codes`; -1 where there is none."""
        ids = self._number(codes)
        place = np.minimum(np.searchsorted(self._ids, ids), max(self.size - 1, 0))
        if not self.size:
            return np.full(ids.size, -1, dtype=np.int64)
        return np.where(self._ids[place] == ids, place, -1)

    def take(self, which: NDArray[np.bool_], /) -> Axis:
        """The axis with only some of its entries."""
        return Axis(dimensions=self.dimensions, sizes=self.sizes, entries=self.entries[:, which])

    def _number(self, codes: Codes) -> Ints:
        return _radix(codes, self.sizes)


def _radix(codes: Codes, sizes: tuple[int, ...]) -> Ints:
    ids = np.zeros(codes.shape[1], dtype=np.int64)
    for row, size in zip(codes, sizes, strict=True):
        ids = ids * size + row
    return ids


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """A table on its domain.

    Attributes
    ----------
    name, source
        The table's name, and the table as it was read.
    dimensions
        With every value that the domain has, also where this table does not show it.
    axes
        The domain is their product; together they cover every dimension once.
    flat
        The published cells, ascending. `counts` are theirs.
    hidden
        Cells that the file names without a count, ascending.
    threshold
        Where the table was cut.
    """

    name: str
    source: PublishedTable
    dimensions: tuple[Dimension, ...]
    axes: tuple[Axis, ...]
    flat: Ints
    counts: Counts
    hidden: Ints
    threshold: Threshold

    @property
    def shape(self) -> tuple[int, ...]:
        """How many entries each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells are possible."""
        return math.prod(self.shape)

    @property
    def published(self) -> int:
        """How many cells are published."""
        return int(self.flat.size)

    @property
    def suppressed(self) -> int:
        """How many possible cells are not published."""
        return self.size - self.published

    def entries(self, flat: Ints, /) -> list[Ints]:
        """The entry of each axis for each of these cells."""
        if not self.axes:
            return []
        return list(np.unravel_index(flat, self.shape))

    def codes(self, flat: Ints, /) -> Codes:
        """Shape (dimensions, cells): the codes of these cells."""
        out = np.empty((len(self.dimensions), flat.size), dtype=np.int32)
        for axis, index in zip(self.axes, self.entries(flat), strict=True):
            out[list(axis.dimensions)] = axis.entries[:, index]
        return out

    def locate(self, codes: Codes, /) -> Ints:
        """The cell with these codes; -1 where the domain has none."""
        return locate(self.axes, codes)

    def labels(self, flat: Ints, /) -> dict[str, NDArray[np.object_]]:
        """The values of these cells as written, by dimension."""
        return {
            dimension.name: np.array(dimension.labels, dtype=object)[codes]
            for dimension, codes in zip(self.dimensions, self.codes(flat), strict=True)
        }

    def dense(self) -> NDArray[np.float64]:
        """The published count of every cell of the domain; NaN where there is none."""
        values = np.full(self.size, np.nan)
        values[self.flat] = self.counts
        return values


def locate(axes: tuple[Axis, ...], codes: Codes, /) -> Ints:
    """The cell with each column of `codes` in the product of the axes; -1 where there is none."""
    flat = np.zeros(codes.shape[1], dtype=np.int64)
    inside = np.ones(codes.shape[1], dtype=bool)
    for axis in axes:
        index = axis.find(codes[list(axis.dimensions)])
        inside &= index >= 0
        flat = flat * axis.size + index
    return np.where(inside, flat, -1)


def check_size(axes: tuple[Axis, ...], name: str, /, *, most: int = MOST_CELLS) -> None:
    """Refuse a domain with `most` cells or more."""
    size = math.prod(axis.size for axis in axes)
    if size >= most:
        raise DataError(
            f"The values in {name} combine to {size:.2g} cells, fewer than {most:.2g} are allowed; perhaps a column that "
            "is no dimension was taken for one. Name it under 'ignore' in the spec, or assess a part of the table."
        )
