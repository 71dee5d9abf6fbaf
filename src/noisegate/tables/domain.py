"""The public domain: every cell that a table may hold, with a number for each.

A *dimension* lists its values. Without merging and nesting, the domain is the product of its dimensions. Dimensions that depend
on each other (a stop belongs to one mode) share an *axis* that lists the combinations that exist: the domain is then a product
of axes. A spec may also merge values in places (postcodes instead of stops for buses, hours instead of quarters at
night). The domain is then a disjoint union of *blocks*, each a product of its own axes: the cells of a block are numbered by
mixed-radix arithmetic, the blocks one after the other. Nothing is ever listed cell by cell, so three billion cells cost no
more than three.

Guarantee: a domain is a function of its dimensions, merges and nesting alone; no event can change it. Every
combination of values lies in at most one cell, and a label means the same values wherever it appears.

Two kinds of code are told apart. A *value code* numbers what an event can hold (a stop, a
quarter of an hour). A *label code* numbers what a table can show (a value, or a group of
merged values); value codes are also label codes, groups come after them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate import limits
from noisegate.errors import InternalError, SpecError
from noisegate.tables.axis import Axis, Block, Ints, Mask
from noisegate.tables.dimension import Dimension

__all__ = ["Dimension", "Domain", "Ints", "Lookup", "Mask"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lookup:
    """What the values of one axis add to the number of a cell.

    `keys` has a row of value codes for each of its dimensions, `terms` for each block what each key adds; -1 if it is
    not in the block.
    """

    dimensions: tuple[int, ...]
    keys: Ints
    terms: tuple[Ints, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Domain:
    """All cells of a table: its dimensions, and blocks that share no cell and have the same axes.

    Examples
    --------
    >>> domain = Domain.product([Dimension(name="tap", values=("on", "off")),
    ...                          Dimension(name="hour", values=("06", "07", "08"))])
    >>> domain.size
    6
    >>> domain.locate([1], [2])
    array([5])
    >>> [codes.tolist() for codes in domain.decode([5])]
    [[1], [2]]
    """

    dimensions: tuple[Dimension, ...]
    blocks: tuple[Block, ...]
    offsets: Ints = field(init=False)

    def __post_init__(self) -> None:
        if self.size >= limits.current().domain_cells:
            raise SpecError(
                f"the domain has {self.size:.3g} cells, at most 2**62 are allowed; merge some values."
            )
        if len(self.blocks) > limits.current().domain_blocks:
            raise SpecError(
                f"the merges cut the domain into {len(self.blocks)} blocks, at most {limits.current().domain_blocks} are allowed; "
                "use fewer merges or fewer different conditions."
            )
        if len({tuple(axis.dimensions for axis in block.axes) for block in self.blocks}) != 1:
            raise InternalError("the blocks of a domain must have the same axes")
        sizes = [block.size for block in self.blocks]
        object.__setattr__(self, "offsets", np.cumsum([0, *sizes], dtype=np.int64))

    @classmethod
    def product(cls, dimensions: Iterable[Dimension], /) -> Self:
        """The domain of all combinations of values."""
        dims = tuple(dimensions)
        if not dims:
            raise SpecError("a table needs at least one dimension.")
        if len({dim.name for dim in dims}) != len(dims):
            raise SpecError(f"a table names each dimension once, got {', '.join(dim.name for dim in dims)}.")
        whole = Block.of(*(np.arange(len(dim.values), dtype=np.int64) for dim in dims))
        return cls(dimensions=dims, blocks=(whole,))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions, in order."""
        return tuple(dim.name for dim in self.dimensions)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return sum(block.size for block in self.blocks)

    @property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions of each axis, by position; the same in every block."""
        return tuple(axis.dimensions for axis in self.blocks[0].axes)

    @property
    def nests(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions of each axis that has several."""
        return tuple(axis for axis in self.axes if len(axis) > 1)

    @property
    def is_product(self) -> bool:
        """Whether every combination of labels is a cell."""
        return len(self.blocks) == 1 and not self.nests

    def axis(self, name: str, /) -> int:
        """The position of a dimension."""
        if name not in self.names:
            raise SpecError.for_choice("dimension", found=name, allowed=self.names)
        return self.names.index(name)

    def merge(self, name: str, /, *, groups: Sequence[str], where: Mapping[str, Mask]) -> Domain:
        """The domain with the values of dimension `name` shown as their groups wherever all conditions hold.

        Every combination of values that had a cell has exactly one cell afterwards.

        Parameters
        ----------
        name
            The dimension whose values are merged.
        groups
            The label of the group of each value; values with the same label become one, and a value alone under
            its own label stays what it is.
        where
            For each dimension that has a condition, which of its values meet it; may include `name`.

        Examples
        --------
        >>> modes = Dimension(name="mode", values=("train", "bus"))
        >>> stops = Dimension(name="stop", values=("A", "B", "C"))
        >>> whole = Domain.product([modes, stops])
        >>> whole.merge("stop", groups=["x", "x", "y"], where={"mode": np.array([False, True])}).size
        5
        """
        axis = self.axis(name)
        met = [where.get(dim.name, np.ones(len(dim.values), dtype=bool)) for dim in self.dimensions]
        new = _with_groups(self.dimensions[axis], groups, met[axis])
        codes = {label: code for code, label in enumerate(new.labels)}
        target = np.array([codes.get(label, -1) for label in groups], dtype=np.int64)
        blocks: list[Block] = []
        for block in self.blocks:
            inside, outside = block.split(met)
            blocks += outside
            if inside is not None:
                _check_merges(inside, axis, target, new)
                blocks.append(inside.shown_as(axis, target))
        dims = (*self.dimensions[:axis], new, *self.dimensions[axis + 1 :])
        merged = Domain(dimensions=dims, blocks=tuple(blocks))
        _check_labels(merged)
        return merged

    def nest(self, child: str, parent: str, allowed: ArrayLike, /) -> Domain:
        """The domain without the combinations of two dimensions that are ruled out in public.

        Both become one axis, with those they depend on already. A merged label is kept whole where at least one of its
        values is allowed, so that it keeps its meaning: merge first, then nest.

        Parameters
        ----------
        child, parent
            Two dimensions.
        allowed
            Two rows: value codes of the child, and the value code of the parent that each may go with.

        Examples
        --------
        >>> modes = Dimension(name="mode", values=("train", "bus"))
        >>> stops = Dimension(name="stop", values=("A", "B", "C"))
        >>> Domain.product([modes, stops]).nest("stop", "mode", [[0, 1, 2], [0, 1, 1]]).size
        3
        """
        places = self.axis(child), self.axis(parent)
        pairs = np.asarray(allowed, dtype=np.int64).reshape(2, -1)
        blocks = [block.nested(*places, pairs) for block in self.blocks]
        kept = tuple(block for block in blocks if block is not None)
        if not kept:
            raise SpecError(
                f"no value of {child} may go with any value of {parent}; the domain would have no cell."
            )
        return Domain(dimensions=self.dimensions, blocks=kept)

    def lookups(self) -> tuple[Lookup, ...]:
        """For each axis, what its values add to the number of a cell.

        The number of an event's cell is the sum of its terms over the axes, in the one block
        where none of them is -1. An engine that can look up and add can therefore count.
        """
        return tuple(self._lookup(place, axis) for place, axis in enumerate(self.axes))

    def locate(self, *value_codes: ArrayLike) -> Ints:
        """The cell of each event, given one array of value codes for each dimension; -1 outside."""
        codes = self._columns(value_codes, [len(dim.values) for dim in self.dimensions])
        return self._sum_terms(codes, Axis.locate)

    def encode(self, *label_codes: ArrayLike) -> Ints:
        """The cell with these labels, given one array of label codes for each dimension; -1 if none has."""
        codes = self._columns(label_codes, [len(dim.labels) for dim in self.dimensions])
        return self._sum_terms(codes, Axis.find)

    def decode(self, cells: ArrayLike, /) -> tuple[Ints, ...]:
        """The label codes of each cell, one array for each dimension."""
        flat = np.asarray(cells, dtype=np.int64)
        out = tuple(np.empty_like(flat) for _ in self.dimensions)
        self.decode_into(out, flat)
        return out

    def decode_into(self, out: Sequence[NDArray[np.integer]], cells: Ints, /) -> None:
        """Write the label codes of cells to one array for each dimension."""
        for index, here, flat in self._by_block(cells):
            block = self.blocks[index]
            for axis, entry in zip(block.axes, block.entries(flat), strict=True):
                for row, dimension in enumerate(axis.dimensions):
                    out[dimension][here] = entry if axis.plain(row) else axis.entries[row][entry]

    def label_codes(self, dimension: int, cells: Ints, /) -> Ints:
        """The label codes of one dimension for each cell; the others are not worked out."""
        out = np.empty(cells.shape, np.int64)
        for index, here, flat in self._by_block(cells):
            block = self.blocks[index]
            place = block.axis(dimension)
            axis = block.axes[place]
            entry = flat // block.strides[place] % axis.size
            row = axis.place(dimension)
            out[here] = entry if axis.plain(row) else axis.entries[row][entry]
        return out

    def _by_block(self, cells: Ints, /) -> Iterator[tuple[int, Ints | EllipsisType, Ints]]:
        """Each block that has some of the cells, the places of these, and their numbers counted from its start."""
        if cells.size and (cells.min() < 0 or cells.max() >= self.size):
            raise InternalError("a cell number is outside the domain")
        if len(self.blocks) == 1:
            yield 0, ..., cells
            return
        home = self.block_of(cells)
        for index in np.unique(home).tolist():
            here = np.flatnonzero(home == index)
            yield index, here, cells[here] - self.offsets[index]

    def block_of(self, cells: Ints, /) -> Ints:
        """The block that each cell lies in."""
        return np.searchsorted(self.offsets, cells, side="right") - 1

    def labels(self, cells: ArrayLike, /) -> dict[str, NDArray[Any]]:
        """The labels of each cell as text, by dimension."""
        columns = self.decode(cells)
        return {
            dim.name: np.array(dim.labels, dtype=object)[codes]
            for dim, codes in zip(self.dimensions, columns, strict=True)
        }

    def slices(self, most: int, /) -> list[range]:
        """The cells in stretches of at most `most`, in order."""
        return [range(start, min(start + most, self.size)) for start in range(0, self.size, most)]

    def _lookup(self, place: int, axis: tuple[int, ...], /) -> Lookup:
        axes = [block.axes[place] for block in self.blocks]
        if len(axis) == 1:
            keys = np.arange(len(self.dimensions[axis[0]].values), dtype=np.int64)[np.newaxis, :]
        else:
            keys = Axis.of(axis, np.concatenate([one.keys for one in axes], axis=1)).keys
        terms = []
        for block, offset in zip(self.blocks, self.offsets.tolist(), strict=False):
            entry = block.axes[place].locate(list(keys))
            start = offset if place == 0 else 0
            terms.append(np.where(entry >= 0, start + entry * block.strides[place], -1))
        return Lookup(dimensions=axis, keys=keys, terms=tuple(terms))

    def _columns(self, codes: Sequence[ArrayLike], sizes: list[int], /) -> list[Ints]:
        if len(codes) != len(sizes):
            raise InternalError(f"expected {len(sizes)} columns of codes, got {len(codes)}")
        columns = [np.asarray(column, dtype=np.int64) for column in codes]
        for column, size in zip(columns, sizes, strict=True):
            if column.size and (column.min() < -1 or column.max() >= size):
                raise InternalError("a code is outside its dimension")
        return columns

    def _sum_terms(self, codes: list[Ints], find: Callable[[Axis, list[Ints]], Ints], /) -> Ints:
        cells = np.full(codes[0].shape, -1, dtype=np.int64)
        for block, offset in zip(self.blocks, self.offsets.tolist(), strict=False):
            number = np.full(codes[0].shape, offset, dtype=np.int64)
            inside = np.ones(codes[0].shape, dtype=bool)
            for axis, stride in zip(block.axes, block.strides, strict=True):
                entry = find(axis, [codes[dimension] for dimension in axis.dimensions])
                inside &= entry >= 0
                number += entry * stride
            if len(self.blocks) == 1 and inside.all():
                return number
            cells[inside] = number[inside]
        return cells

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim.name} {len(dim.labels):,}" for dim in self.dimensions)
        nested = "".join(
            f", {' in '.join(self.names[i] for i in reversed(nest))} nested" for nest in self.nests
        )
        return f"Domain of {self.size:,} cells ({sizes}{nested})"


def _with_groups(dimension: Dimension, groups: Sequence[str], met: Mask, /) -> Dimension:
    """`dimension` with labels for the groups of the values that are meant."""
    members: dict[str, list[str]] = {}
    for value, label, here in zip(dimension.values, groups, met, strict=True):
        if here:
            members.setdefault(label, []).append(value)
    added = [g for g, values in members.items() if values != [g] and g not in dimension.groups]
    return dimension.with_groups(tuple(added))


def _check_merges(block: Block, axis: int, target: Ints, dimension: Dimension, /) -> None:
    """Refuse to show as one group what is shown as another already."""
    values, old = block.members(axis)
    merged = old >= len(dimension.values)
    if not np.array_equal(old[merged], target[values[merged]]):
        raise SpecError(
            f"two merges of {dimension.name} meet in the same cells and disagree; make their conditions disjoint."
        )


def _check_labels(domain: Domain, /) -> None:
    """Refuse a label that would stand for different values in different blocks."""
    for axis, dim in enumerate(domain.dimensions):
        shown = [block.members(axis) for block in domain.blocks]
        pairs = np.concatenate([np.stack(pair) for pair in shown], axis=1)
        members = np.bincount(Axis.of((0, 1), pairs).entries[1], minlength=len(dim.labels))
        for _, labels in shown:
            here = np.bincount(labels, minlength=len(dim.labels))
            torn = np.flatnonzero((here > 0) & (here != members))
            if torn.size:
                raise SpecError(
                    f"the merged {dim.name} {dim.labels[torn[0]]!r} would mean different things in different "
                    f"cells, because a condition cuts through it; let conditions on {dim.name} cover it whole."
                )
