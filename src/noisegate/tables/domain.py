"""The public domain: every cell that a table may hold, with a number for each.

A *dimension* lists its values. Without merging, the domain is the product of its dimensions. A spec
may merge values in places (postcodes instead of stops for buses, hours instead of quarters at night)
or declare pairs impossible (a ferry wharf and a train). The domain is then a disjoint union of
*blocks*, each a product of its own: the cells of a block are numbered by mixed-radix arithmetic,
the blocks one after the other. Nothing is ever listed cell by cell, so three billion cells cost no
more than three.

Guarantee: a domain is a function of its dimensions and merges alone; no event can change it. Every
combination of values lies in at most one cell, and a label means the same values wherever it appears.

Two kinds of code are told apart. A *value code* numbers what an event can hold (a stop, a
quarter of an hour). A *label code* numbers what a table can show (a value, or a group of
merged values); value codes are also label codes, groups come after them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate import limits
from noisegate.errors import InternalError, SpecError

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """An attribute with a public, finite list of values; `groups` are labels of merged values."""

    name: str
    values: tuple[str, ...]
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.values:
            raise SpecError(f"dimension {self.name!r} has no values; list at least one.")
        if len(set(self.labels)) != len(self.labels):
            seen: set[str] = set()
            twice = next(label for label in self.labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]
            raise SpecError(
                f"dimension {self.name!r} would show {twice!r} for two things; rename one of them."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """What a table can show: the values, then the groups."""
        return self.values + self.groups


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """A product of labels: for each dimension, the label code of each value code, -1 if not in here.

    `axes` holds the label codes of each dimension in ascending order; `strides` their weights in the
    number of a cell, counted from the start of the block.
    """

    maps: tuple[Ints, ...]
    axes: tuple[Ints, ...] = field(init=False)
    strides: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        axes = tuple(np.unique(codes[codes >= 0]) for codes in self.maps)
        sizes = [axis.size for axis in axes]
        strides = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "strides", strides)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many labels each dimension has in here."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells it has."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domain:
    """All cells of a table: its dimensions, and blocks that share no cell.

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
        whole = Block(maps=tuple(np.arange(len(dim.values), dtype=np.int64) for dim in dims))
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
    def is_product(self) -> bool:
        """Whether one block holds all cells, so that a dense array of its shape is the table."""
        return len(self.blocks) == 1

    def axis(self, name: str, /) -> int:
        """The position of a dimension."""
        if name not in self.names:
            raise SpecError.for_choice("dimension", found=name, allowed=self.names)
        return self.names.index(name)

    def terms(self, axis: int, /) -> list[Ints]:
        """For each block, what a value code of one dimension adds to the cell number; -1 if not in the block.

        The number of an event's cell is the sum of its terms over the dimensions, in the one block
        where none of them is -1. An engine that can look up and add can therefore count.
        """
        found = []
        for block, offset in zip(self.blocks, self.offsets.tolist(), strict=False):
            codes, labels = block.maps[axis], block.axes[axis]
            start = offset if axis == 0 else 0
            place = np.searchsorted(labels, np.maximum(codes, 0))
            found.append(np.where(codes >= 0, start + place * block.strides[axis], -1))
        return found

    def locate(self, *value_codes: ArrayLike) -> Ints:
        """The cell of each event, given one array of value codes for each dimension; -1 outside."""
        codes = self._columns(value_codes, [len(dim.values) for dim in self.dimensions])
        return self._sum_terms(codes, [self.terms(axis) for axis in range(len(self.dimensions))])

    def encode(self, *label_codes: ArrayLike) -> Ints:
        """The cell with these labels, given one array of label codes for each dimension; -1 if none has."""
        codes = self._columns(label_codes, [len(dim.labels) for dim in self.dimensions])
        return self._sum_terms(codes, [self._label_terms(axis) for axis in range(len(self.dimensions))])

    def decode(self, cells: ArrayLike, /) -> tuple[Ints, ...]:
        """The label codes of each cell, one array for each dimension."""
        flat = np.asarray(cells, dtype=np.int64)
        if flat.size and (flat.min() < 0 or flat.max() >= self.size):
            raise InternalError("a cell number is outside the domain")
        if self.is_product:
            return self._decode_block(0, flat)
        out = tuple(np.empty_like(flat) for _ in self.dimensions)
        home = self.block_of(flat)
        for index in np.unique(home).tolist():
            here = home == index
            for column, codes in zip(out, self._decode_block(index, flat[here]), strict=True):
                column[here] = codes
        return out

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

    def _decode_block(self, index: int, flat: Ints, /) -> tuple[Ints, ...]:
        block, rest = self.blocks[index], flat - self.offsets[index]
        return tuple(
            axis[rest // stride % axis.size] for axis, stride in zip(block.axes, block.strides, strict=True)
        )

    def _label_terms(self, axis: int, /) -> list[Ints]:
        found = []
        for block, offset in zip(self.blocks, self.offsets.tolist(), strict=False):
            terms = np.full(len(self.dimensions[axis].labels), -1, dtype=np.int64)
            labels = block.axes[axis]
            terms[labels] = (offset if axis == 0 else 0) + np.arange(labels.size) * block.strides[axis]
            found.append(terms)
        return found

    def _columns(self, codes: Sequence[ArrayLike], sizes: list[int], /) -> list[Ints]:
        if len(codes) != len(sizes):
            raise InternalError(f"expected {len(sizes)} columns of codes, got {len(codes)}")
        columns = [np.asarray(column, dtype=np.int64) for column in codes]
        for column, size in zip(columns, sizes, strict=True):
            if column.size and (column.min() < -1 or column.max() >= size):
                raise InternalError("a code is outside its dimension")
        return columns

    def _sum_terms(self, codes: list[Ints], terms: list[list[Ints]], /) -> Ints:
        cells = np.full(codes[0].shape, -1, dtype=np.int64)
        known = np.logical_and.reduce([column >= 0 for column in codes])
        for index in range(len(self.blocks)):
            parts = [term[index][column] for term, column in zip(terms, codes, strict=True)]
            inside = np.logical_and.reduce([part >= 0 for part in parts]) & known
            cells[inside] = sum(part[inside] for part in parts)
        return cells
