"""What a question selects of a release: how much of each label, which dimensions to tell apart, and the sums over it.

A label is asked for wholly (1), not at all (0) or in part: half of an hour, three of ten stops of a postcode. A part of a
cell is taken to hold its even share of what the cell counts; that is all a reader of the tables can do, and a question that
must be exact refuses it (`whole=True`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.tables.axis import Block, Ints, Mask
from noisegate.tables.dimension import find_dimension
from noisegate.tables.domain import Domain
from noisegate.tables.where import Where, conditions_of, label_shares, value_shares

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """How much of each label of a base is meant, and the dimensions to tell apart.

    Attributes
    ----------
    domain
        The cells of the base.
    shares
        For each dimension of the base a number from 0 to 1 for each of its labels.
    by
        The dimensions whose labels are told apart, in the order of the answer.

    Examples
    --------
    >>> from noisegate.tables.dimension import Dimension
    >>> domain = Domain.product([Dimension(name="mode", values=("train", "ferry")),
    ...                          Dimension(name="hour", values=("06:00", "07:00"))])
    >>> ferries = Selection.parse("mode=ferry", domain, by=["hour"])
    >>> ferries.groups(domain).sums(np.array([5, 6, 7, 8])).tolist()
    [7.0, 8.0]
    """

    domain: Domain
    shares: tuple[Floats, ...]
    by: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls,
        where: Where,
        domain: Domain,
        /,
        *,
        by: str | Sequence[str] = (),
        whole: bool = True,
        at: str = "",
    ) -> Self:
        """The selection that conditions mean in `domain`.

        Parameters
        ----------
        where
            Conditions as `noisegate.tables.where` describes them: text, a mapping, or nothing.
        by
            A dimension, or several, whose labels are told apart.
        whole
            Refuse a condition that cuts through what is published as one, or that means nothing.
        at
            The place of the conditions, such as "workload.rush.where", for messages.

        Raises
        ------
        SpecError
            If the domain does not have what a condition names.
        """
        conditions: dict[int, tuple[str, ...]] = {}
        for name, parts in conditions_of(where).items():
            axis = find_dimension(name, domain.names)
            if axis in conditions:
                raise SpecError(
                    f"{domain.names[axis]} has two conditions; write {domain.names[axis]}=A|B for either."
                )
            conditions[axis] = parts
        names = tuple(
            domain.names[find_dimension(name, domain.names)]
            for name in ((by,) if isinstance(by, str) else by)
        )
        if len(set(names)) != len(names):
            raise SpecError(f"'by' names each dimension once, got {', '.join(names)}.")
        shares = []
        for axis, dimension in enumerate(domain.dimensions):
            own, subject = None, f"{at}.{dimension.name}" if at else dimension.name
            if axis in conditions:
                own = value_shares(domain, axis, conditions[axis], subject=subject, some=whole)
            shares.append(label_shares(domain, axis, own))
        found = cls(domain=domain, shares=tuple(shares), by=names)
        if whole:
            found.check_whole()
        return found

    @classmethod
    def of_masks(cls, domain: Domain, masks: Sequence[Mask], /, *, by: Sequence[str] = ()) -> Self:
        """The selection of whole labels: for each dimension of `domain` which of its labels are meant."""
        return cls(domain=domain, shares=tuple(mask.astype(np.float64) for mask in masks), by=tuple(by))

    @classmethod
    def everything(cls, domain: Domain, /, *, by: Sequence[str] = ()) -> Self:
        """The selection of all cells."""
        return cls(
            domain=domain, shares=tuple(np.ones(len(d.labels)) for d in domain.dimensions), by=tuple(by)
        )

    @property
    def restricted(self) -> frozenset[str]:
        """The dimensions that a table must have to answer."""
        limited = {
            d.name for d, share in zip(self.domain.dimensions, self.shares, strict=True) if (share < 1).any()
        }
        return frozenset(limited | set(self.by))

    @property
    def whole(self) -> bool:
        """Whether every label is meant wholly or not at all."""
        return all(bool(np.isin(share, (0.0, 1.0)).all()) for share in self.shares)

    @property
    def empty(self) -> bool:
        """Whether no cell of the base is meant."""
        return not any(_meets(block, self.shares) for block in self.domain.blocks)

    def share(self, name: str, /) -> Floats:
        """How much of each label of one dimension is meant."""
        return self.shares[self.domain.axis(name)]

    def mask(self, name: str, /) -> Mask:
        """Which labels of one dimension are meant, wholly or in part."""
        return np.asarray(self.share(name) > 0)

    def groups(self, domain: Domain, /) -> Groups:
        """The selected cells of the base, or of a margin that has all dimensions of `restricted`."""
        return Groups(domain, self)

    def check_whole(self) -> None:
        """Refuse a selection that means a part of what a selected cell shows as one."""
        for axis, dimension in enumerate(self.domain.dimensions):
            partly = np.asarray((self.shares[axis] > 0) & (self.shares[axis] < 1))
            others = [*self.shares[:axis], partly.astype(np.float64), *self.shares[axis + 1 :]]
            for block in self.domain.blocks if partly.any() else ():
                if _meets(block, others):
                    codes = block.labels(axis)
                    label = dimension.labels[int(codes[partly[codes]][0])]
                    raise SpecError(
                        f"the question asks for a part of {dimension.name} {label!r}, which is published only as a "
                        "whole; choose borders between labels, or ask for all of it."
                    )


def _entries(block: Block, /) -> list[tuple[tuple[int, ...], Ints]]:
    """The axes of a block: the dimensions of each, and a row of label codes for each of them."""
    return [(axis.dimensions, axis.entries) for axis in block.axes]


def _weights(shares: Sequence[Floats], dimensions: tuple[int, ...], entries: Ints, /) -> Floats:
    """How much of each entry of an axis is meant."""
    found = np.ones(entries.shape[1])
    for dimension, codes in zip(dimensions, entries, strict=True):
        found = found * shares[dimension][codes]
    return found


def _meets(block: Block, shares: Sequence[Floats], /) -> bool:
    """Whether a block has a cell with a share of more than 0 along every axis."""
    return all(bool((_weights(shares, dims, entries) > 0).any()) for dims, entries in _entries(block))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Along:
    """The selected entries along one axis of a block: how much of each is meant, and which groups they are in.

    `codes` are the distinct terms that the entries add to the number of a group; `place` says which of them each adds.
    """

    entries: Ints
    weights: Floats
    codes: Ints
    place: Ints

    @property
    def slice(self) -> slice:
        """The entries, where they stand in a row: these cost no copy."""
        first, last = int(self.entries[0]), int(self.entries[-1]) + 1
        return slice(first, last) if last - first == self.entries.size else slice(None)

    @property
    def summed(self) -> bool:
        """Whether all entries lie in one group."""
        return self.codes.size == 1

    @property
    def apart(self) -> bool:
        """Whether each entry has a group of its own, in the order of the groups."""
        return bool(self.codes.size == self.entries.size and (np.diff(self.place) > 0).all())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """The selected part of one block: where the block stands, its axes, and the groups of its sums."""

    start: int
    shape: tuple[int, ...]
    axes: tuple[_Along, ...]
    groups: Ints
    whole: bool

    def sums(self, array: NDArray[Any], /) -> Floats:
        """What the selected cells add up to, in the order of `groups`."""
        taken = array[self.start : self.start + math.prod(self.shape)].reshape(self.shape)
        taken = taken[tuple(axis.slice for axis in self.axes)]
        for number, axis in enumerate(self.axes):
            if axis.slice == slice(None) and axis.entries.size < self.shape[number]:
                taken = np.take(taken, axis.entries, axis=number)
        if not self.whole:
            for number, axis in enumerate(self.axes):
                taken = taken * _along(axis.weights, number, len(self.axes))
        summed = tuple(n for n, axis in enumerate(self.axes) if axis.summed)
        found = taken.sum(axis=summed, dtype=np.float64, keepdims=True)
        for number, axis in enumerate(self.axes):
            if not axis.summed and not axis.apart:
                order = np.argsort(axis.place, kind="stable")
                starts = np.searchsorted(axis.place[order], np.arange(axis.codes.size))
                found = np.add.reduceat(np.take(found, order, axis=number), starts, axis=number)
        return np.asarray(found).reshape(-1)

    def members(self) -> Ints:
        """The group of every selected cell."""
        sizes = [axis.entries.size for axis in self.axes]
        codes = [axis.codes if axis.summed else axis.codes[axis.place] for axis in self.axes]
        found = _outer(codes, np.add, 0).reshape([code.size for code in codes])
        return np.asarray(np.broadcast_to(found, sizes).reshape(-1))


def _along(values: NDArray[Any], number: int, axes: int, /) -> NDArray[Any]:
    return values.reshape([-1 if n == number else 1 for n in range(axes)])


def _outer(parts: Sequence[NDArray[Any]], combine: Any, start: int, /) -> NDArray[Any]:
    """One number for each combination of entries, the axes in their order."""
    found: NDArray[Any] = np.full((1,) * len(parts), start, np.int64)
    for number, values in enumerate(parts):
        found = combine(found, _along(values, number, len(parts)))
    return found.reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The selected cells of a table, in groups numbered over all labels of the dimensions of `by`."""

    domain: Domain
    selection: Selection
    parts: tuple[_Part, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.size > limits.current().question_groups:
            raise SpecError(
                f"'by' would give {self.size:,} rows, at most {limits.current().question_groups:,} are allowed; "
                "tell fewer dimensions apart."
            )
        object.__setattr__(self, "parts", tuple(self._parts()))

    @property
    def group_shape(self) -> tuple[int, ...]:
        """How many labels each dimension of `by` has."""
        return tuple(len(self.domain.dimensions[self.domain.axis(n)].labels) for n in self.selection.by)

    @property
    def size(self) -> int:
        """How many groups there could be."""
        return math.prod(self.group_shape)

    def _parts(self) -> Iterator[_Part]:
        shares = [self.selection.share(name) for name in self.domain.names]
        whole = self.selection.whole
        for block, offset in zip(self.domain.blocks, self.domain.offsets.tolist(), strict=False):
            axes = []
            for dims, entries in _entries(block):
                weights = _weights(shares, dims, entries)
                chosen = np.flatnonzero(weights > 0)
                terms = self._terms(dims, entries[:, chosen])
                codes, place = np.unique(terms, return_inverse=True)
                axes.append(_Along(entries=chosen, weights=weights[chosen], codes=codes, place=place))
            if not all(axis.entries.size for axis in axes):
                continue
            groups = _outer([axis.codes for axis in axes], np.add, 0)
            shape = tuple(entries.shape[1] for _, entries in _entries(block))
            yield _Part(start=offset, shape=shape, axes=tuple(axes), groups=groups, whole=whole)

    def _terms(self, dimensions: tuple[int, ...], entries: Ints, /) -> Ints:
        """What each entry of an axis adds to the number of its group."""
        shape, found = self.group_shape, np.zeros(entries.shape[1], np.int64)
        for place, name in enumerate(self.selection.by):
            axis = self.domain.axis(name)
            if axis in dimensions:
                found += entries[dimensions.index(axis)] * math.prod(shape[place + 1 :])
        return found

    def sums(self, array: NDArray[Any], /) -> Floats:
        """The sum of an array over the table's cells for each group; a cell meant in part counts by its share."""
        out = np.zeros(self.size)
        for part in self.parts:
            out[part.groups] += part.sums(array)
        return out

    def counts(self) -> Ints:
        """How many cells each group has, wholly or in part."""
        out = np.zeros(self.size, np.int64)
        for part in self.parts:
            many = [np.bincount(axis.place, minlength=axis.codes.size) for axis in part.axes]
            out[part.groups] += _outer(many, np.multiply, 1)
        return out

    def numbers(self) -> tuple[Ints, Ints]:
        """The number of every selected cell, and its group."""
        cells, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in self.parts:
            strides = [math.prod(part.shape[n + 1 :]) for n in range(len(part.shape))]
            terms = [axis.entries * stride for axis, stride in zip(part.axes, strides, strict=True)]
            cells.append(_outer(terms, np.add, part.start))
            groups.append(part.members())
        return np.concatenate(cells), np.concatenate(groups)

    def weights(self) -> Floats:
        """How much of every selected cell is meant, in the order of `numbers`."""
        found = [_outer([axis.weights for axis in part.axes], np.multiply, 1) for part in self.parts]
        return np.concatenate([np.zeros(0), *found])

    def labels(self, groups: Ints, /) -> dict[str, list[str]]:
        """The labels of groups, by dimension."""
        codes = np.unravel_index(groups, self.group_shape) if self.selection.by else ()
        return {
            name: [self.domain.dimensions[self.domain.axis(name)].labels[code] for code in column.tolist()]
            for name, column in zip(self.selection.by, codes, strict=True)
        }
