"""A block of a domain: a product of axes, cut along public conditions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from noisegate.tables.axis import Axis, Ints, Mask, join


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """A product of axes; `strides` are their weights in the number of a cell, counted from the start of the block."""

    axes: tuple[Axis, ...]
    strides: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.shape
        object.__setattr__(self, "strides", tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes))))

    @classmethod
    def of(cls, *maps: Ints) -> Self:
        """The product of dimensions, given the label code of each value code; -1 for what is not in here."""
        return cls(axes=tuple(Axis.of_map(place, codes) for place, codes in enumerate(maps)))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many entries each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells it has."""
        return math.prod(self.shape)

    def axis(self, dimension: int, /) -> int:
        """The place of the axis that has this dimension."""
        return next(place for place, axis in enumerate(self.axes) if dimension in axis.dimensions)

    def members(self, dimension: int, /) -> tuple[Ints, Ints]:
        """The value codes of one dimension in here, and the label code that each is shown as."""
        return self.axes[self.axis(dimension)].members(dimension)

    def labels(self, dimension: int, /) -> Ints:
        """The label codes of one dimension in here, ascending."""
        axis = self.axes[self.axis(dimension)]
        return np.unique(axis.entries[axis.place(dimension)])

    def cut(self, met: Sequence[Mask], /) -> tuple[Block | None, list[Block]]:
        """The part where all conditions hold, and the disjoint parts where one does not.

        `met` has for each axis which of its keys meet the condition.
        """
        if not all(mask.any() for mask in met):
            return None, [self]
        inside = tuple(
            axis if mask.all() else axis.cut(mask) for axis, mask in zip(self.axes, met, strict=True)
        )
        return Block(axes=inside), list(self._remainders(inside, met))

    def _remainders(self, inside: tuple[Axis, ...], met: Sequence[Mask], /) -> Iterator[Block]:
        for place, mask in enumerate(met):
            if not mask.all():
                yield Block(axes=(*inside[:place], self.axes[place].cut(~mask), *self.axes[place + 1 :]))

    def split(self, values: Sequence[Mask], /) -> tuple[Block | None, list[Block]]:
        """The same for conditions on each dimension's values, one dimension after the other.

        So a block is always told by its labels: it has the combinations that exist of the labels it has.
        """
        inside, outside = self, list[Block]()
        for dimension, met in enumerate(values):
            place = inside.axis(dimension)
            axis = inside.axes[place]
            mask = met[axis.keys[axis.place(dimension)]]
            if not mask.any():
                return None, [self]
            if not mask.all():
                outside.append(inside._with(place, axis.cut(~mask)))
                inside = inside._with(place, axis.cut(mask))
        return inside, outside

    def shown_as(self, dimension: int, target: Ints, /) -> Block:
        """The block with the values of one dimension shown as the labels in `target`."""
        place = self.axis(dimension)
        axis = self.axes[place]
        row = axis.place(dimension)
        labels = axis.entries[:, axis.onto].copy()
        labels[row] = target[axis.keys[row]]
        return self._with(place, Axis.shown(axis.dimensions, keys=axis.keys, labels=labels))

    def _with(self, place: int, axis: Axis, /) -> Block:
        return Block(axes=(*self.axes[:place], axis, *self.axes[place + 1 :]))

    def nested(self, child: int, parent: int, allowed: Ints, /) -> Block | None:
        """The block with only those combinations of two dimensions that are allowed; None if none is.

        `allowed` has the pairs of value codes, as two rows. A merged label is kept whole where one of its values is allowed.
        """
        one, other = self.axis(child), self.axis(parent)
        pairs = _label_pairs(self.members(child), self.members(parent), allowed)
        if not pairs.size:
            return None
        if one == other:
            joined = _filtered(self.axes[one], (child, parent, pairs))
        else:
            joined = join(self.axes[one], self.axes[other], (child, parent, pairs))
        if not joined.size:
            return None
        rest = [axis for place, axis in enumerate(self.axes) if place not in (one, other)]
        return Block(axes=tuple(sorted([*rest, joined], key=lambda axis: axis.dimensions[0])))


def _label_pairs(child: tuple[Ints, Ints], parent: tuple[Ints, Ints], allowed: Ints, /) -> Ints:
    """The pairs of labels that stand for a pair of values that is allowed."""
    shown = []
    for (values, labels), codes in zip((child, parent), allowed, strict=True):
        place = np.minimum(np.searchsorted(values, codes), values.size - 1)
        shown.append(np.where(values[place] == codes, labels[place], -1))
    pairs = np.stack(shown)
    return Axis.of((0, 1), pairs[:, (pairs >= 0).all(axis=0)]).entries


def _filtered(axis: Axis, allowed: tuple[int, int, Ints], /) -> Axis:
    """The entries of a compound axis that are allowed."""
    child, parent, pairs = allowed
    listed = Axis.of((0, 1), pairs)
    return axis.take(listed.find([axis.entries[axis.place(d)] for d in (child, parent)]) >= 0)
