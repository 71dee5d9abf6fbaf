"""A table on its public domain as far as tables reveal it, and how the cells of a margin are sums of cells of the base.

Cells are numbered by *axes*. Most axes are one dimension with its values; dimensions that depend on
each other (a location belongs to one mode) share an axis that lists the combinations that exist. The
domain is the product of the axes, so nothing is ever listed cell by cell.

"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError, InternalError
from noisegate.mechanisms.thresholds import Threshold
from noisegate.reading.published import Bools, Codes, Counts, Dimension, Ints, PublishedTable


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
        if math.prod(self.sizes) >= limits.current().domain_cells:
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


def check_size(axes: tuple[Axis, ...], name: str, /, *, most: int) -> None:
    """Refuse a domain with `most` cells or more."""
    size = math.prod(axis.size for axis in axes)
    if size >= most:
        raise DataError(
            f"The values in {name} combine to {size:.2g} cells, fewer than {most:.2g} are allowed; perhaps a column that "
            "is no dimension was taken for one. Name it under 'ignore' in the spec, or assess a part of the table."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """A margin of a base, cell by cell.

    Every axis of the margin comes from one axis of the base, so the cell of the margin that a base cell
    adds to is found by one look-up for each axis.

    Attributes
    ----------
    base, margin
        The two tables on their domains.
    from_axis, maps
        For each axis of the margin: the axis of the base, and for each entry of that the entry of the
        margin that it adds to; -1 where the margin does not cover it.
    summed, coarser
        Names of the base's dimensions that the margin sums over, and of those it has in wider bins.
    unlisted
        Values of dimensions that are summed over which exist in other tables but not in the base: the
        margin may count them, the base does not list them.
    members
        For each cell of the margin, how many base cells add up to it; 0 where the base does not cover it.
    shown
        How many of these are published; `parts` is the sum of their counts.
    """

    base: Cells
    margin: Cells
    from_axis: tuple[int, ...]
    maps: tuple[Ints, ...]
    summed: tuple[str, ...]
    coarser: tuple[str, ...]
    unlisted: tuple[str, ...] = ()
    members: Ints = field(init=False)
    shown: Ints = field(init=False)
    parts: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        groups = self.group_of(self.base.flat)
        inside = groups >= 0
        size = self.margin.size
        object.__setattr__(self, "members", self._members())
        object.__setattr__(self, "shown", np.bincount(groups[inside], minlength=size))
        sums = np.bincount(groups[inside], weights=self.base.counts[inside], minlength=size)
        object.__setattr__(self, "parts", sums.astype(np.float64))

    def _members(self) -> Ints:
        kept = set(self.from_axis)
        summed = math.prod(size for place, size in enumerate(self.base.shape) if place not in kept)
        members = np.full((), summed, dtype=np.int64)
        for axis, entries in zip(self.margin.axes, self.maps, strict=True):
            members = np.multiply.outer(members, np.bincount(entries[entries >= 0], minlength=axis.size))
        return members.ravel()

    def group_of(self, flat: Ints, /) -> Ints:
        """The cell of the margin that each of these base cells adds to; -1 for none."""
        index = self.base.entries(flat)
        groups = np.zeros(flat.size, dtype=np.int64)
        inside = np.ones(flat.size, dtype=bool)
        for axis, place, entries in zip(self.margin.axes, self.from_axis, self.maps, strict=True):
            entry = entries[index[place]]
            inside &= entry >= 0
            groups = groups * axis.size + entry
        return np.where(inside, groups, -1)

    def groups(self) -> Ints:
        """The cell of the margin of every base cell, in order; -1 for none.

        With `margin.dense()`, what `noisegate.inference.linked.Sums.by` takes.
        """
        return self.group_of(np.arange(self.base.size, dtype=np.int64))

    @property
    def published(self) -> Bools:
        """Which cells of the margin are published."""
        mask = np.zeros(self.margin.size, dtype=bool)
        mask[self.margin.flat] = True
        return mask

    @property
    def comparable(self) -> Bools:
        """Which cells of the margin are sums of base cells at all."""
        return np.asarray(self.members > 0)

    @property
    def complete(self) -> Bools:
        """Which cells of the margin are published together with every base cell that adds up to them."""
        return np.asarray(self.published & self.comparable & (self.shown == self.members))

    def coverage(self) -> list[Coverage]:
        """For each axis of the margin that the base covers only in part: which part."""
        found = []
        for axis, entries in zip(self.margin.axes, self.maps, strict=True):
            met = np.zeros(axis.size, dtype=bool)
            met[entries[entries >= 0]] = True
            if not met.all():
                names = tuple(self.margin.dimensions[d].name for d in axis.dimensions)
                values = [
                    " / ".join(
                        self.margin.dimensions[d].labels[code]
                        for d, code in zip(axis.dimensions, entry, strict=True)
                    )
                    for entry in axis.entries.T.tolist()
                ]
                inside = tuple(value for value, hit in zip(values, met.tolist(), strict=True) if hit)
                outside = tuple(value for value, hit in zip(values, met.tolist(), strict=True) if not hit)
                found.append(Coverage(dimensions=names, inside=inside, outside=outside))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which values of a margin's dimensions the base covers (`inside`) and which it does not."""

    dimensions: tuple[str, ...]
    inside: tuple[str, ...]
    outside: tuple[str, ...]

    def describe(self, limit: int = 3) -> str:
        """In words: the shorter of what is in and what is out."""
        name = " and ".join(self.dimensions)
        total = len(self.inside) + len(self.outside)
        if len(self.inside) <= len(self.outside):
            return f"{name}: only {_some(self.inside, limit)} ({len(self.inside)} of {total})"
        return f"{name}: all but {_some(self.outside, limit)} ({len(self.inside)} of {total})"


def _some(values: tuple[str, ...], limit: int) -> str:
    rest = len(values) - limit
    return ", ".join(values[:limit]) + (f" and {rest} more" if rest > 0 else "")
