"""What a question selects of a table, and adding it up group by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.tables.axis import Axis
from noisegate.tables.domain import Domain, Ints, Mask

#: The most rows that one question may have.
MOST_GROUPS = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """For each dimension of a base which labels are meant, and the dimensions to tell apart."""

    domain: Domain
    masks: tuple[Mask, ...]
    by: tuple[str, ...]

    @property
    def restricted(self) -> frozenset[str]:
        """The dimensions that a table must have to answer."""
        cut = {d.name for d, mask in zip(self.domain.dimensions, self.masks, strict=True) if not mask.all()}
        return frozenset(cut | set(self.by))

    @property
    def empty(self) -> bool:
        """Whether no cell of the base is meant."""
        return not any(
            all(meant(axis, self.masks).size for axis in block.axes) for block in self.domain.blocks
        )

    def mask(self, name: str, /) -> Mask:
        """Which labels of one dimension are meant."""
        return self.masks[self.domain.axis(name)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """The selected part of one block: where it stands, and the group of each place along the axes that tell `by` apart.

    Several places share a group where an axis has more dimensions than `by`.
    """

    start: int
    shape: tuple[int, ...]
    places: tuple[Ints, ...]
    groups: Ints
    summed: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The selected cells of a table, in groups numbered over all labels of the dimensions of `by`."""

    domain: Domain
    selection: Selection
    parts: tuple[_Part, ...] = field(init=False)

    def __post_init__(self) -> None:
        if math.prod(self.group_shape) > MOST_GROUPS:
            raise SpecError(
                f"'by' would give {math.prod(self.group_shape):,} rows, at most {MOST_GROUPS:,} are allowed; "
                "tell fewer dimensions apart."
            )
        object.__setattr__(self, "parts", tuple(self._parts()))

    @property
    def group_shape(self) -> tuple[int, ...]:
        """How many labels each dimension of `by` has."""
        return tuple(len(self.domain.dimensions[self.domain.axis(n)].labels) for n in self.selection.by)

    @property
    def groups(self) -> int:
        """How many groups there could be."""
        return math.prod(self.group_shape)

    def _parts(self) -> Iterator[_Part]:
        masks = [self.selection.mask(name) for name in self.domain.names]
        for block, offset in zip(self.domain.blocks, self.domain.offsets.tolist(), strict=False):
            places = tuple(meant(axis, masks) for axis in block.axes)
            if not all(place.size for place in places):
                continue
            # Axes in the order of the block; groups in the order of `by`.
            group, kept = np.zeros((1,) * len(places), np.int64), set()
            for name, weight in zip(self.selection.by, self._weights(), strict=True):
                dimension = self.domain.axis(name)
                at = block.axis(dimension)
                axis = block.axes[at]
                codes = axis.entries[axis.place(dimension), places[at]] * weight
                group = group + codes.reshape([-1 if a == at else 1 for a in range(len(places))])
                kept.add(at)
            summed = tuple(a for a in range(len(places)) if a not in kept)
            yield _Part(
                start=offset, shape=block.shape, places=places, groups=group.reshape(-1), summed=summed
            )

    def _weights(self) -> list[int]:
        shape = self.group_shape
        return [math.prod(shape[i + 1 :]) for i in range(len(shape))]

    def sums(self, array: NDArray[Any], /) -> NDArray[np.float64]:
        """The sum of an array over the table's cells, for each group."""
        out = np.zeros(self.groups)
        for part in self.parts:
            size = math.prod(part.shape)
            block = array[part.start : part.start + size].reshape(part.shape)
            taken = block[np.ix_(*part.places)].sum(axis=part.summed, dtype=np.float64)
            out += np.bincount(part.groups, weights=taken.reshape(-1), minlength=self.groups)
        return out

    def counts(self) -> Ints:
        """How many cells each group has."""
        out = np.zeros(self.groups, np.int64)
        for part in self.parts:
            terms = math.prod(part.places[axis].size for axis in part.summed)
            out += terms * np.bincount(part.groups, minlength=self.groups)
        return out

    def numbers(self) -> tuple[Ints, Ints]:
        """The number of every selected cell, and its group."""
        cells, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in self.parts:
            index: Any = np.int64(part.start)
            dims = len(part.places)
            for axis, place in enumerate(part.places):
                stride = math.prod(part.shape[axis + 1 :])
                index = index + (place * stride).reshape([-1 if a == axis else 1 for a in range(dims)])
            shape = [1 if axis in part.summed else part.places[axis].size for axis in range(dims)]
            cells.append(np.asarray(index).reshape(-1))
            groups.append(np.broadcast_to(part.groups.reshape(shape), np.shape(index)).reshape(-1))
        return np.concatenate(cells), np.concatenate(groups)

    def labels(self, groups: Ints, /) -> dict[str, list[str]]:
        """The labels of groups, by dimension."""
        codes = np.unravel_index(groups, self.group_shape) if self.selection.by else ()
        return {
            name: [self.domain.dimensions[self.domain.axis(name)].labels[code] for code in column.tolist()]
            for name, column in zip(self.selection.by, codes, strict=True)
        }


def meant(axis: Axis, masks: Sequence[Mask], /) -> Ints:
    """The entries of an axis all of whose labels are meant."""
    rows = zip(axis.dimensions, axis.entries, strict=True)
    return np.flatnonzero(np.logical_and.reduce([masks[dimension][codes] for dimension, codes in rows]))
