"""An axis of a domain: one dimension, or several that depend on each other as the combinations that exist.

A stop belongs to one mode, or to a few. Pairing every stop with every mode would make most of a domain impossible; an
axis over both lists the pairs that exist, and the rest of the domain does not notice: it is still a product of axes.

What events hold and what tables show are told apart. A *key* is a combination of value codes, an *entry* one of label codes;
several keys share an entry where values are merged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import InternalError

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: A table of all combinations up to this size costs less than a search in those that exist.
_DENSE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """Combinations of one or more dimensions.

    Attributes
    ----------
    dimensions
        Their positions in the domain, ascending.
    keys
        Shape (dimensions, keys): the value codes that lie in here, in ascending order.
    entries
        Shape (dimensions, entries): the label codes that they are shown as, in ascending order.
    onto
        The entry of each key.

    Examples
    --------
    >>> axis = Axis.of((0, 1), np.array([[0, 0, 1], [2, 3, 4]]))
    >>> axis.size
    3
    >>> axis.find([np.array([0, 1]), np.array([3, 3])])
    array([ 1, -1])
    """

    dimensions: tuple[int, ...]
    keys: Ints
    entries: Ints
    onto: Ints

    @classmethod
    def of(cls, dimensions: tuple[int, ...], codes: NDArray[Any], /) -> Self:
        """The axis of every combination that occurs among the columns of `codes`, each shown as itself."""
        whole = np.asarray(codes, dtype=np.int64)
        return cls.shown(dimensions, keys=whole, labels=whole)

    @classmethod
    def shown(cls, dimensions: tuple[int, ...], /, *, keys: Ints, labels: Ints) -> Self:
        """The axis of these keys, each shown as the column of `labels` at its place."""
        known, _ = _distinct(keys)
        shown = labels[:, known]
        first, onto = _distinct(shown)
        return cls(dimensions=dimensions, keys=keys[:, known], entries=shown[:, first], onto=onto)

    @classmethod
    def of_map(cls, dimension: int, codes: Ints, /) -> Self:
        """The axis of one dimension, given the label code of each value code; -1 where it is not in here."""
        values = np.flatnonzero(codes >= 0)
        entries, onto = np.unique(codes[values], return_inverse=True)
        return cls(
            dimensions=(dimension,),
            keys=values[np.newaxis, :],
            entries=entries.astype(np.int64)[np.newaxis, :],
            onto=onto,
        )

    @property
    def size(self) -> int:
        """How many entries there are."""
        return int(self.entries.shape[1])

    @property
    def compound(self) -> bool:
        """Whether several dimensions share it."""
        return len(self.dimensions) > 1

    def place(self, dimension: int, /) -> int:
        """Which row of `keys` and `entries` is about this dimension."""
        return self.dimensions.index(dimension)

    def find(self, codes: Sequence[NDArray[Any]] | NDArray[Any], /) -> Ints:
        """The entry of each combination of label codes; -1 where there is none."""
        return _found(self.entries, np.arange(self.size), codes)

    def locate(self, codes: Sequence[NDArray[Any]] | NDArray[Any], /) -> Ints:
        """The entry of each combination of value codes; -1 where there is none."""
        return _found(self.keys, self.onto, codes)

    def take(self, entries: Mask, /) -> Axis:
        """The axis with only some of its entries."""
        return self.cut(entries[self.onto])

    def cut(self, keys: Mask, /) -> Axis:
        """The axis with only some of its keys, and the entries that they are shown as."""
        return Axis.shown(self.dimensions, keys=self.keys[:, keys], labels=self.entries[:, self.onto[keys]])

    def moved(self, places: dict[int, int], /) -> Axis:
        """The axis of those dimensions that `places` gives a new position, in the order of the new ones."""
        kept = sorted((new, self.place(old)) for old, new in places.items() if old in self.dimensions)
        rows = [row for _, row in kept]
        labels = self.entries[:, self.onto]
        return Axis.shown(tuple(new for new, _ in kept), keys=self.keys[rows], labels=labels[rows])

    def members(self, dimension: int, /) -> tuple[Ints, Ints]:
        """The value codes of one dimension in here, and the label code that each is shown as."""
        row = self.place(dimension)
        values, first = np.unique(self.keys[row], return_index=True)
        return values, self.entries[row, self.onto[first]]


def join(one: Axis, other: Axis, allowed: tuple[int, int, Ints], /) -> Axis:
    """The axis of both, with the combinations that are allowed.

    `allowed` has a dimension of `one`, a dimension of `other`, and the pairs of their label codes that may go together,
    as two rows.
    """
    left, right, pairs = allowed
    mine, theirs = (
        axis.entries[axis.place(dimension), axis.onto] for axis, dimension in ((one, left), (other, right))
    )
    i, j = _matches(mine, theirs, pairs)
    dimensions = (*one.dimensions, *other.dimensions)
    order = np.argsort(dimensions)
    keys = np.concatenate([one.keys[:, i], other.keys[:, j]])[order]
    labels = np.concatenate([one.entries[:, one.onto[i]], other.entries[:, other.onto[j]]])[order]
    return Axis.shown(tuple(sorted(dimensions)), keys=keys, labels=labels)


def combine(codes: Sequence[NDArray[Any]], sizes: Sequence[int], /) -> Ints:
    """One number for each combination of codes; ascending combinations have ascending numbers."""
    if math.prod(sizes) >= limits.current().domain_cells:
        raise InternalError("an axis has too many combinations to number")
    numbers = np.asarray(codes[0], dtype=np.int64)
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        numbers = numbers * size + column
    return numbers


def _sizes(codes: Ints, /) -> list[int]:
    return [int(row.max(initial=0)) + 1 for row in codes]


def _distinct(codes: Ints, /) -> tuple[Ints, Ints]:
    """Where each distinct column is first, in ascending order of the columns; and which of them each column is."""
    _, first, which = np.unique(combine(list(codes), _sizes(codes)), return_index=True, return_inverse=True)
    return first.astype(np.int64, copy=False), which.astype(np.int64, copy=False)


def _found(known: Ints, onto: Ints, codes: Sequence[NDArray[Any]] | NDArray[Any], /) -> Ints:
    """For each combination what `onto` says of it; -1 for those that are not known."""
    sizes = _sizes(known)
    columns = [np.asarray(column, dtype=np.int64) for column in codes]
    inside = np.logical_and.reduce(
        [(column >= 0) & (column < size) for column, size in zip(columns, sizes, strict=True)]
    )
    numbers = np.where(inside, combine(columns, sizes), 0)
    listed, size = combine(list(known), sizes), math.prod(sizes)
    if not listed.size:
        return np.full(numbers.shape, -1, dtype=np.int64)
    if size <= max(_DENSE, 4 * numbers.size):
        table = np.full(size, -1, dtype=np.int64)
        table[listed] = onto
        return np.where(inside, table[numbers], -1)
    place = np.minimum(np.searchsorted(listed, numbers), listed.size - 1)
    return np.where(inside & (listed[place] == numbers), onto[place], -1)


def _matches(left: Ints, right: Ints, pairs: Ints, /) -> tuple[Ints, Ints]:
    """All places i and j such that (left[i], right[j]) is one of the columns of `pairs`."""
    order, others = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    start, end = (np.searchsorted(left[order], pairs[0], side=side) for side in ("left", "right"))
    begin, stop = (np.searchsorted(right[others], pairs[1], side=side) for side in ("left", "right"))
    across = stop - begin
    number = (end - start) * across
    pair = np.repeat(np.arange(number.size), number)
    within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    i = order[start[pair] + within // across[pair]]
    return i, others[begin[pair] + within % across[pair]]
