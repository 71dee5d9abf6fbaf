"""Axes of a domain, one dimension or several that depend on each other, and blocks: products of axes.

A stop belongs to one mode, or to a few. Pairing every stop with every mode would make most of a domain impossible; an
axis over both lists the pairs that exist, and the rest of the domain does not notice: it is still a product of axes.

What events hold and what tables show are told apart. A *key* is a combination of value codes, an *entry* one of label codes;
several keys share an entry where values are merged. A *block* is a product of axes, cut along public conditions.

Numbers that stand for cells, rows and groups lie close together more often than not: which there are, and the place of each, is counted then, not sorted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import InternalError
from noisegate.laws import compiled

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: A table of all combinations up to this size costs less than a search in those that exist.
_DENSE = 1 << 16
#: Cells below this number are worked with in 32 bits.
_NARROW = 1 << 31
#: Fewer codes than this are sorted.
_WORTH_HASHING = 5_000


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
        if not self.compound and self.plain(0):
            (column,) = codes
            entry = np.asarray(column, dtype=np.int64)
            if not entry.size or (entry.min() >= 0 and entry.max() < self.size):
                return entry
            return np.where((entry >= 0) & (entry < self.size), entry, -1)
        return _found(self.entries, np.arange(self.size), codes)

    def locate(self, codes: Sequence[NDArray[Any]] | NDArray[Any], /) -> Ints:
        """The entry of each combination of value codes; -1 where there is none."""
        return _found(self.keys, self.onto, codes)

    def plain(self, row: int, /) -> bool:
        """Whether entries are numbered as the labels of one of its dimensions are."""
        codes = self.entries[row]
        return bool(codes.size and codes[0] == 0 and (np.diff(codes) == 1).all())

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

    def entries(self, cells: Ints, /) -> list[NDArray[np.integer]]:
        """The entry of each axis for each of these cells, counted from the start of the block; 32 bits wide where that is enough."""
        if not self.axes:
            return []
        rest: NDArray[np.integer] = cells.astype(np.int32) if self.size < _NARROW else cells
        found = []
        for axis in self.axes[:0:-1]:
            whole = rest // axis.size
            found.append(rest - whole * axis.size)
            rest = whole
        return [rest, *reversed(found)]

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


def how_many(codes: NDArray[np.integer], /) -> int:
    """How many different numbers there are.

    Examples
    --------
    >>> how_many(np.array([7, -1, 7]))
    2
    """
    present = _present(codes)
    return len(compact(codes)[0]) if present is None else int(np.count_nonzero(present))


def numbers_in(codes: NDArray[np.integer], /) -> Ints:
    """The different numbers among small ones, ascending; sorting or hashing millions of them takes longer than counting."""
    return np.flatnonzero(np.bincount(codes)).astype(np.int64)


@compiled
def sorted_by(codes: NDArray[np.integer], size: int, /) -> tuple[Ints, Ints]:
    """The places of codes below `size`, those of each code together and in their order, and where those of each code start."""
    starts = np.zeros(size + 1, np.int64)
    for i in range(len(codes)):
        starts[codes[i] + 1] += 1
    for code in range(size):
        starts[code + 1] += starts[code]
    ends, order = starts.copy(), np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        order[ends[codes[i]]] = i
        ends[codes[i]] += 1
    return order, starts


@compiled
def summed(values: NDArray[np.float64], cells: Ints, groups: Ints, size: int, /) -> NDArray[np.float64]:
    """The values of some cells, added up by their groups."""
    found = np.zeros(size)
    for i in range(len(cells)):
        found[groups[i]] += values[cells[i]]
    return found


def compact(codes: NDArray[np.integer], /) -> tuple[Ints, Ints]:
    """The distinct codes in order, and the place of each code among them."""
    present = _present(codes)
    if present is None:
        if len(codes) < _WORTH_HASHING:
            distinct, place = np.unique(codes, return_inverse=True)
            return distinct, place.astype(np.int64)
        distinct, place = _by_hash(np.ascontiguousarray(codes, dtype=np.int64), len(codes).bit_length() + 1)
        order = np.argsort(distinct)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return distinct[order], rank[place]
    least = int(codes.min(initial=0))
    rank = np.cumsum(present) - 1
    return np.flatnonzero(present) + least, rank[codes - least]


def _present(codes: NDArray[np.integer], /) -> NDArray[np.bool_] | None:
    """Which numbers there are, from the least one or 0 on; None if they lie far apart."""
    least = int(codes.min(initial=0))
    span = int(codes.max(initial=0)) - least + 1
    if span > 4 * len(codes) + 1000:
        return None
    present = np.zeros(span, dtype=bool)
    present[codes - least] = True
    return present


@compiled
def _by_hash(codes: Ints, bits: int, /) -> tuple[Ints, Ints]:
    """The distinct codes as they appear, and the place of each code among them; sorting all of them would take several times as long."""
    size = 1 << bits
    held, place_of = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    distinct, place = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        slot = np.int64((np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        while place_of[slot] >= 0 and held[slot] != code:
            slot = (slot + 1) & (size - 1)
        if place_of[slot] < 0:
            held[slot], place_of[slot] = code, count
            distinct[count] = code
            count += 1
        place[i] = place_of[slot]
    return distinct[:count], place


@compiled
def _groups_of(groups: Ints, rows: Ints, size: int, /) -> tuple[Ints, bool]:
    """The group of each row, -1 for none, and whether every row is of one group."""
    first = np.full(size, -1, np.int64)
    for i in range(len(rows)):
        known = first[rows[i]]
        if known < 0:
            first[rows[i]] = groups[i]
        elif known != groups[i]:
            return first, False
    return first, True


def numbered(codes: Ints, /) -> tuple[Ints, Ints]:
    """The distinct codes in their order, and the place of each code among them; -1 is none, and so is its place."""
    distinct, place = compact(codes)
    none = int(distinct.size > 0 and distinct[0] < 0)
    return distinct[none:], place - none


def paired(groups: Ints, rows: Ints, size: int, /) -> tuple[Ints, Ints, Ints]:
    """The distinct pairs of a group and one of `size` rows, in any order, and the place of each cell's pair among them."""
    first, one = _groups_of(groups, rows, size)
    if one:
        at = np.flatnonzero(first >= 0)
        if len(at) == size:
            return first, at, rows
        rank = np.empty(size, np.int64)
        rank[at] = np.arange(len(at))
        return first[at], at, rank[rows]
    many = int(groups.max(initial=-1)) + 1
    row_of, one = _groups_of(rows, groups, many) if groups.min(initial=0) >= 0 else (first, False)
    if one:
        at = np.flatnonzero(row_of >= 0)
        rank = np.empty(many, np.int64)
        rank[at] = np.arange(len(at))
        return at, row_of[at], rank[groups]
    pairs = np.ascontiguousarray(groups * size + rows, dtype=np.int64)
    hashed = len(pairs) >= _WORTH_HASHING
    keys, place = _by_hash(pairs, len(pairs).bit_length() + 1) if hashed else compact(pairs)
    return *np.divmod(keys, size), place
