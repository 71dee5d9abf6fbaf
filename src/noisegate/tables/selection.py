"""What a question selects of a table, and adding it up group by group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.tables.domain import Domain, Ints, Mask


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

    def mask(self, name: str, /) -> Mask:
        """Which labels of one dimension are meant."""
        return self.masks[self.domain.axis(name)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """The selected part of one block: where it stands, and the group of each place along `by`."""

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
        if math.prod(self.group_shape) > limits.current().question_groups:
            raise SpecError(
                f"'by' would give {math.prod(self.group_shape):,} rows, at most {limits.current().question_groups:,} are allowed; "
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
            places = tuple(np.flatnonzero(mask[axis]) for mask, axis in zip(masks, block.axes, strict=True))
            if not all(place.size for place in places):
                continue
            # Axes in the order of the block; groups in the order of `by`.
            group = np.zeros((1,) * len(places), np.int64)
            for name, weight in zip(self.selection.by, self._weights(), strict=True):
                axis = self.domain.axis(name)
                codes = block.axes[axis][places[axis]] * weight
                group = group + codes.reshape([-1 if a == axis else 1 for a in range(len(places))])
            summed = tuple(a for a, name in enumerate(self.domain.names) if name not in self.selection.by)
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
            out[part.groups] += taken.reshape(-1)
        return out

    def counts(self) -> Ints:
        """How many cells each group has."""
        out = np.zeros(self.groups, np.int64)
        for part in self.parts:
            terms = math.prod(part.places[axis].size for axis in part.summed)
            out[part.groups] += terms
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
