"""Margins: tables whose cells are sums of cells of the base."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisegate.errors import SpecError
from noisegate.tables.domain import Block, Domain, Ints
from noisegate.tables.merging import cut


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin:
    """The table over some dimensions of a base: its domain, and where each base cell adds up.

    Assumes nothing about data. Guarantee: every base cell adds to exactly one cell of the margin, so
    whoever changes k base cells by one each changes the margin by at most k in total.

    Examples
    --------
    >>> from noisegate.reading.domain import Dimension
    >>> base = Domain.product([Dimension(name="tap", values=("on", "off")),
    ...                        Dimension(name="hour", values=("06", "07", "08"))])
    >>> margin = Margin.over(base, ["hour"])
    >>> margin.of([0, 4, 5])
    array([0, 1, 2])
    >>> margin.terms([0])
    array([2])
    """

    base: Domain
    domain: Domain
    axes: tuple[int, ...] = field(repr=False)

    @classmethod
    def over(cls, base: Domain, names: Sequence[str], /) -> Self:
        """The margin that keeps the dimensions `names`, in that order."""
        if not names or len(set(names)) != len(names):
            raise SpecError(f"a table names each of its dimensions once, got [{', '.join(names)}].")
        axes = tuple(base.axis(name) for name in names)
        blocks: list[Block] = []
        for block in base.blocks:
            blocks += _new_parts(Block(maps=tuple(block.maps[axis] for axis in axes)), blocks, names=names)
        domain = Domain(dimensions=tuple(base.dimensions[axis] for axis in axes), blocks=tuple(blocks))
        return cls(base=base, domain=domain, axes=axes)

    def of(self, cells: ArrayLike, /) -> Ints:
        """The cell of the margin that each base cell adds to."""
        flat = np.asarray(cells, dtype=np.int64)
        if not self.base.is_product:
            codes = self.base.decode(flat)
            return self.domain.encode(*(codes[axis] for axis in self.axes))
        block, out = self.base.blocks[0], np.zeros(flat.shape, dtype=np.int64)
        for axis, stride in zip(self.axes, self.domain.blocks[0].strides, strict=True):
            out += flat // block.strides[axis] % block.axes[axis].size * stride
        return out

    def terms(self, cells: ArrayLike, /) -> Ints:
        """How many base cells add up to each of these cells of the margin."""
        codes = self.domain.decode(cells)
        total = np.zeros(np.shape(cells), dtype=np.int64)
        for block in self.base.blocks:
            held = [np.isin(column, block.axes[axis]) for column, axis in zip(codes, self.axes, strict=True)]
            dropped = math.prod(size for axis, size in enumerate(block.shape) if axis not in self.axes)
            total += dropped * np.logical_and.reduce(held)
        return total


def _new_parts(shadow: Block, known: list[Block], /, *, names: Sequence[str]) -> list[Block]:
    """The parts of `shadow` that no known block holds; refuse it where the two merge differently."""
    parts = [shadow]
    for other in known:
        _check_agree(shadow, other, names=names)
        met = [codes >= 0 for codes in other.maps]
        parts = [rest for part in parts for rest in cut(part, met)[1]]
    return parts


def _check_agree(one: Block, other: Block, /, *, names: Sequence[str]) -> None:
    """Refuse two blocks that share values but show them under different labels."""
    shared = [(a >= 0) & (b >= 0) for a, b in zip(one.maps, other.maps, strict=True)]
    if not all(mask.any() for mask in shared):
        return
    for name, a, b, mask in zip(names, one.maps, other.maps, shared, strict=True):
        if not np.array_equal(a[mask], b[mask]):
            raise SpecError(
                f"a table over [{', '.join(names)}] would mix cells of different widths, because {name} is merged "
                "under a condition on a dimension that the table leaves out; list that dimension in the table too."
            )
