"""A public domain cut into products that can be reconciled one by one.

A domain with merged or impossible values is a union of blocks, each a product (`tables.domain`). Least squares and
rounding work on products. Two blocks that add to a common margin cell belong together; blocks that
do not can be treated apart, since nothing ties their cells. A *piece* is a set of blocks that belong together. It is
usable if its blocks fit together into one product: hours beside quarter-hours along the time axis do. Or into a product but for one
nested axis (`nested.py`): the stops of several modes under a margin that leaves out the mode do.

All of this depends on the public domain and the names of the tables, so it can be asked before anything is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.margins.design import Box, Design, MeasuredTable, TableShape
from noisegate.margins.integers import ConsistentTables, round_consistent
from noisegate.margins.nested import (
    Ladder,
    NestedBox,
    NestedDesign,
    NestedReconciled,
    NestedShape,
    NestedTables,
    reconcile_nested,
    round_nested,
)
from noisegate.margins.plan import plan_rounding
from noisegate.margins.reconcile import Measurement, Reconciled, reconcile
from noisegate.margins.stretches import check_size
from noisegate.tables import Axis, Domain, Groups, Ints, Margin

Floats = NDArray[np.float64]


Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTable:
    """The noisy counts of all cells of one table, by cell number, and the variance of their noise."""

    values: Ints
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeTables:
    """Published counts by cell number: whole, not negative, every margin the sum of its base cells."""

    base: Ints
    margins: dict[str, Ints]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EstimatedTables:
    """Least-squares estimates by cell number: real, signed, unbiased; every margin the sum of its base cells."""

    base: Floats
    margins: dict[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PiecePart:
    """A part of one block: where the block stands, which entries of its axes are meant, and where they go in a piece."""

    start: int
    shape: tuple[int, ...]
    chosen: tuple[Ints | None, ...]
    places: tuple[Ints, ...]

    def view(self, flat: NDArray[Number], /) -> tuple[NDArray[Number], Any]:
        """The block as a dense array, and the index of what is meant of it."""
        block = flat[self.start : self.start + math.prod(self.shape)].reshape(self.shape)
        if sum(one is not None for one in self.chosen) > 1:
            places = zip(self.shape, self.chosen, strict=True)
            return block, np.ix_(*(np.arange(size) if one is None else one for size, one in places))
        return block, tuple(slice(None) if one is None else _range(one) for one in self.chosen)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """A part of a domain that is a product and shares no margin cell with the rest of it.

    `labels` has the label codes along each axis, `parts` says where the cells stand in the domain and in the piece;
    `margin_cells` holds the cell numbers of each margin in the shape it has within the piece.
    """

    shape: TableShape
    labels: tuple[Ints, ...]
    parts: tuple[PiecePart, ...]
    margin_cells: dict[str, Ints]
    margin_axes: dict[str, tuple[str, ...]]

    def take(self, flat: Ints, /) -> Ints:
        """The piece's part of an array over the domain, as a dense array."""
        if len(self.parts) == 1:
            block, index = self.parts[0].view(flat)
            return np.ascontiguousarray(block[index]).reshape(self.shape.sizes)
        dense = np.empty(self.shape.sizes, flat.dtype)
        for part in self.parts:
            block, index = part.view(flat)
            dense[np.ix_(*part.places)] = block[index].reshape([place.size for place in part.places])
        return dense

    def put(self, dense: NDArray[Number], flat: NDArray[Number], /) -> None:
        """Write a dense array of the piece into an array over the domain."""
        for part in self.parts:
            block, index = part.view(flat)
            taken = dense if len(self.parts) == 1 else dense[np.ix_(*part.places)]
            block[index] = taken.reshape(block[index].shape)

    def estimate(self, base: NoisyTable, measured: Mapping[str, NoisyTable], /) -> Reconciled:
        """The least-squares estimate of the piece, given arrays over the whole domain."""
        whole = Measurement(axes=self.shape.axes, values=self.take(base.values), variance=base.variance)
        parts = [
            Measurement(
                axes=self.margin_axes[name],
                values=table.values[self.margin_cells[name]],
                variance=table.variance,
            )
            for name, table in measured.items()
        ]
        return reconcile(whole, parts)

    def rounded(self, estimate: Any, /) -> ConsistentTables:
        """Whole numbers near an estimate of the piece."""
        return round_consistent(estimate, margins=self.margin_axes.values())

    def design(self, variances: Mapping[tuple[str, ...], float], /) -> Design:
        """The measured tables, by the dimensions of each, and the variance of their noise."""
        return Design(
            shape=self.shape,
            measured=tuple(
                MeasuredTable(table=self.shape.table(names), variance=variance)
                for names, variance in variances.items()
            ),
        )

    def cell(self, design: Any, names: Iterable[str], /) -> Box:
        """A cell of a table as a box; all have the same error."""
        return dict.fromkeys(design.shape.table(names), 1)

    def boxes(self, cells: Groups, /) -> Ints:
        """For each group of a question, how many labels of each axis lie in it; zeros if none do."""
        names, selection = self.shape.axes, cells.selection
        taken = np.zeros((cells.size, len(names)), np.int64)
        inside = {
            name: labels[selection.mask(name)[labels]]
            for name, labels in zip(names, self.labels, strict=True)
        }
        if not all(codes.size for codes in inside.values()):
            return taken
        grids = [inside[name] for name in selection.by]
        places = (
            np.ravel_multi_index(np.ix_(*grids), cells.group_shape).reshape(-1) if grids else np.zeros(1, int)
        )
        taken[places] = [1 if name in selection.by else codes.size for name, codes in inside.items()]
        return taken

    def box(self, taken: Ints, /) -> Box | None:
        """A row of `boxes` as a box; None if nothing lies in it."""
        return dict(zip(self.shape.axes, taken.tolist(), strict=True)) if taken.all() else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedPart:
    """A part of one block: the place of the axes that are nested, and the row of each combination of their entries."""

    part: PiecePart
    front: tuple[int, ...]
    rows: Ints

    def dense(self, flat: NDArray[Number], /) -> NDArray[Number]:
        """The part with its nested axes first, a view if possible."""
        block, index = self.part.view(flat)
        return np.moveaxis(block[index], self.front, range(len(self.front)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedPiece:
    """A part of a domain that is a product but for a nested axis, and shares no margin cell with the rest of it."""

    shape: NestedShape
    labels: tuple[Ints, ...]
    parts: tuple[NestedPart, ...]
    margin_cells: dict[str, Ints]
    margin_axes: dict[str, tuple[str, ...]]

    def take(self, flat: NDArray[Number], /) -> NDArray[Number]:
        """The piece's part of an array over the domain, as a dense array with the nested axis first."""
        plain: list[int] = [size for _, size in self.shape.plain]
        dense = np.empty((self.shape.ladder.size, *plain), flat.dtype)
        for part in self.parts:
            dense[part.rows] = part.dense(flat).reshape(part.rows.size, *plain)
        return dense

    def put(self, dense: NDArray[Number], flat: NDArray[Number], /) -> None:
        """Write a dense array of the piece into an array over the domain."""
        for part in self.parts:
            block, index = part.part.view(flat)
            moved = np.moveaxis(block[index], part.front, range(len(part.front)))
            taken = dense[part.rows].reshape(moved.shape)
            block[index] = np.moveaxis(taken, range(len(part.front)), part.front)

    def estimate(self, base: NoisyTable, measured: Mapping[str, NoisyTable], /) -> NestedReconciled:
        """The least-squares estimate of the piece, given arrays over the whole domain."""
        margins = {
            self.margin_axes[name]: (table.values[self.margin_cells[name]], table.variance)
            for name, table in measured.items()
        }
        return reconcile_nested(self.shape, (self.take(base.values), base.variance), margins)

    def rounded(self, estimate: Any, /) -> NestedTables:
        """Whole numbers near an estimate of the piece."""
        return round_nested(estimate, self.margin_axes.values())

    def design(self, variances: Mapping[tuple[str, ...], float], /) -> NestedDesign:
        """The measured tables, by the dimensions of each, and the variance of their noise."""
        return NestedDesign(
            shape=self.shape,
            measured=tuple(
                MeasuredTable(table=self.shape.table(names), variance=variance)
                for names, variance in variances.items()
            ),
        )

    def cell(self, design: Any, names: Iterable[str], /) -> NestedBox:
        """The cell of a table with the largest error, as a box."""
        found: NestedBox = design.widest(self.shape.table(names))
        return found

    def boxes(self, cells: Groups, /) -> Ints:
        """For each group of a question how many labels of each plain axis lie in it, then how many entries of each class."""
        selection, ladder = cells.selection, self.shape.ladder
        weights = dict(zip(selection.by, _weights(cells.group_shape), strict=True))
        classes = ladder.sizes[-2]
        taken = np.zeros((cells.size, len(self.shape.plain) + classes), np.int64)
        meant = np.ones(ladder.size, bool)
        terms = np.zeros(ladder.size, np.int64)
        for name, codes in zip(ladder.names, ladder.entries, strict=True):
            meant &= selection.mask(name)[codes]
            terms += codes * weights.get(name, 0)
        inside = [
            labels[selection.mask(name)[labels]]
            for (name, _), labels in zip(self.shape.plain, self.labels, strict=True)
        ]
        if not meant.any() or not all(codes.size for codes in inside):
            return taken
        starts, which = np.unique(terms[meant], return_inverse=True)
        counts = np.zeros((starts.size, classes), np.int64)
        np.add.at(counts, (which, ladder.levels[-2][meant]), 1)
        places = starts
        for (name, _), codes in zip(self.shape.plain, inside, strict=True):
            if name in weights:
                places = np.add.outer(places, codes * weights[name])
        flat = places.reshape(starts.size, -1)
        taken[flat, : len(inside)] = [
            1 if name in weights else codes.size
            for (name, _), codes in zip(self.shape.plain, inside, strict=True)
        ]
        taken[flat, len(inside) :] = counts[:, np.newaxis, :]
        return taken

    def box(self, taken: Ints, /) -> NestedBox | None:
        """A row of `boxes` as a box; None if nothing lies in it."""
        plain, entries = taken[: len(self.shape.plain)], taken[len(self.shape.plain) :]
        if not plain.all() or not entries.any():
            return None
        return NestedBox(plain=tuple(plain.tolist()), entries=tuple(entries.tolist()))


AnyPiece = Piece | NestedPiece


def _weights(shape: tuple[int, ...], /) -> list[int]:
    return [math.prod(shape[place + 1 :]) for place in range(len(shape))]


def pieces(domain: Domain, margins: Mapping[str, Margin], /) -> tuple[AnyPiece, ...]:
    """The domain's pieces under these margins; refuses what cannot be reconciled, with the way out.

    Examples
    --------
    >>> from noisegate.tables.dimension import Dimension
    >>> domain = Domain.product([Dimension(name="day", values=("Mon", "Tue")),
    ...                          Dimension(name="stop", values=("A", "B", "C"))])
    >>> [piece.shape.sizes for piece in pieces(domain, {"days": Margin.over(domain, ["day"])})]
    [(2, 3)]
    """
    check_size(domain, margins)
    plan_rounding(
        TableShape(axes=domain.names, sizes=(1,) * len(domain.names)),
        [margin.domain.names for margin in margins.values()],
    )
    return tuple(_piece(domain, margins, group) for group in _together(domain, margins))


def reconcile_tables(
    domain: Domain,
    margins: Mapping[str, Margin],
    /,
    *,
    base: NoisyTable,
    measured: Mapping[str, NoisyTable],
) -> WholeTables:
    """Published counts of the base and all `margins` from the noisy counts of those that were measured.

    A margin that was not measured is summed from the estimate of the base, and kept close to it all the same.
    """
    out = WholeTables(
        base=np.empty(domain.size, np.int64),
        margins={name: np.empty(margin.domain.size, np.int64) for name, margin in margins.items()},
    )
    for piece, estimate in _estimates(domain, margins, base, measured):
        tables = piece.rounded(estimate)
        piece.put(tables.base, out.base)
        for name, axes in piece.margin_axes.items():
            out.margins[name][piece.margin_cells[name]] = tables.table(axes)
    return out


def estimate_tables(
    domain: Domain,
    margins: Mapping[str, Margin],
    /,
    *,
    base: NoisyTable,
    measured: Mapping[str, NoisyTable],
) -> EstimatedTables:
    """What `reconcile_tables` rounds: the estimates before they are made whole and non-negative."""
    out = EstimatedTables(
        base=np.empty(domain.size),
        margins={name: np.empty(margin.domain.size) for name, margin in margins.items()},
    )
    for piece, estimate in _estimates(domain, margins, base, measured):
        piece.put(estimate.base, out.base)
        for name, axes in piece.margin_axes.items():
            out.margins[name][piece.margin_cells[name]] = estimate.table(axes)
    return out


def _estimates(
    domain: Domain, margins: Mapping[str, Margin], base: NoisyTable, measured: Mapping[str, NoisyTable], /
) -> Iterator[tuple[AnyPiece, Any]]:
    """Every piece of the domain with its estimate."""
    _check_length(base, domain.size)
    for name, table in measured.items():
        _check_length(table, margins[name].domain.size)
    for piece in pieces(domain, margins):
        yield piece, piece.estimate(base, measured)


def _range(places: Ints, /) -> slice | Ints:
    """Places as a slice, if they are neighbours: an array is then not copied."""
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first + 1 == places.size else places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tied:
    """Entries of the axes of one block that margins tie together; None for axes that are taken whole."""

    index: int
    chosen: tuple[Ints | None, ...]

    def axes(self, domain: Domain, /) -> list[Axis]:
        """The axes with only these entries."""
        axes = domain.blocks[self.index].axes
        return [
            axis if one is None else axis.take(np.isin(np.arange(axis.size), one))
            for axis, one in zip(axes, self.chosen, strict=True)
        ]


def _together(domain: Domain, margins: Mapping[str, Margin], /) -> list[list[_Tied]]:
    """Parts of blocks that share a margin cell, directly or through others."""
    nodes, ties = list[_Tied](), list[tuple[int, int]]()
    starts, split = list[int](), list[list[Ints]]()
    for index, block in enumerate(domain.blocks):
        split.append([_components(domain, margins, index, place) for place in range(len(block.axes))])
        starts.append(len(nodes))
        chosen = [
            [np.flatnonzero(parts == n) for n in range(int(parts.max()) + 1)] if parts.max() else [None]
            for parts in split[-1]
        ]
        nodes += [_Tied(index=index, chosen=tuple(one)) for one in product(*chosen)]
        for other in range(index):
            tied = _tied(margins, (index, other), (split[index], split[other]))
            ties += [(starts[index] + i, starts[other] + j) for i, j in np.argwhere(tied).tolist()]
    return [[nodes[n] for n in group] for group in _groups(len(nodes), ties)]


def _components(domain: Domain, margins: Mapping[str, Margin], index: int, place: int, /) -> Ints:
    """For each entry of one axis of a block the part that it is in: margins add up entries of one part only."""
    size = domain.blocks[index].axes[place].size
    found = np.zeros(size, np.int64)
    if len(domain.axes[place]) == 1 or any(place not in margin.sources for margin in margins.values()):
        return found
    found, before = np.arange(size), np.full(size, -1)
    while not np.array_equal(found, before):
        before = found
        for margin in margins.values():
            labels = margin.maps[index][margin.sources.index(place)]
            groups = Axis.of(tuple(range(len(labels))), labels).find(list(labels))
            least = np.full(int(groups.max()) + 1, size)
            np.minimum.at(least, groups, found)
            found = least[groups]
    return np.unique(found, return_inverse=True)[1]


def _tied(
    margins: Mapping[str, Margin], blocks: tuple[int, int], split: tuple[list[Ints], list[Ints]], /
) -> NDArray[np.bool_]:
    """Which parts of one block share a margin cell with which parts of another."""
    found = np.zeros([math.prod(int(parts.max()) + 1 for parts in one) for one in split], bool)
    for margin in margins.values():
        if margin.meet(*blocks):
            tied = np.ones((1, 1), bool)
            for place, (mine, theirs) in enumerate(zip(*split, strict=True)):
                tied = np.kron(tied, _tied_along(margin, blocks, place, (mine, theirs)))
            found |= tied
    return found


def _tied_along(
    margin: Margin, blocks: tuple[int, int], place: int, split: tuple[Ints, Ints], /
) -> NDArray[np.bool_]:
    sizes = [int(parts.max()) + 1 for parts in split]
    if place not in margin.sources:
        return np.ones(sizes, bool)
    mine, theirs = (margin.maps[index][margin.sources.index(place)] for index in blocks)
    both = Axis.of(tuple(range(len(mine))), np.concatenate([mine, theirs], axis=1))
    seen = [np.zeros((size, both.size), np.int64) for size in sizes]
    for shown, parts, labels in zip(seen, split, (mine, theirs), strict=True):
        shown[parts, both.find(list(labels))] = 1
    return seen[0] @ seen[1].T > 0


def _groups(size: int, ties: list[tuple[int, int]], /) -> list[list[int]]:
    """Numbers that are tied, directly or through others, in order."""
    home = list(range(size))
    for one, other in ties:
        a, b = sorted((home[one], home[other]))
        if a != b:
            home = [a if place == b else place for place in home]
    found: dict[int, list[int]] = {}
    for number, place in enumerate(home):
        found.setdefault(place, []).append(number)
    return list(found.values())


def _piece(domain: Domain, margins: Mapping[str, Margin], group: list[_Tied], /) -> AnyPiece:
    order = [d for axis in domain.axes for d in axis]
    axes = [
        {d: axis.entries[axis.place(d)] for axis in part.axes(domain) for d in axis.dimensions}
        for part in group
    ]
    labels = tuple(np.unique(np.concatenate([one[d] for one in axes])) for d in order)
    sizes = tuple(codes.size for codes in labels)
    if math.prod(sizes) != sum(math.prod(axis.size for axis in part.axes(domain)) for part in group):
        return _nested_piece(domain, margins, group)
    shape = TableShape(axes=tuple(domain.names[d] for d in order), sizes=sizes)
    tables = {name: shape.table(margin.domain.names) for name, margin in margins.items()}
    return Piece(
        shape=shape,
        labels=labels,
        parts=tuple(
            PiecePart(
                start=int(domain.offsets[part.index]),
                shape=domain.blocks[part.index].shape,
                chosen=part.chosen,
                places=tuple(
                    np.searchsorted(every, np.unique(own[d])) for d, every in zip(order, labels, strict=True)
                ),
            )
            for part, own in zip(group, axes, strict=True)
        ),
        margin_cells={
            name: _margin_cells(margin, tables[name], shape, labels) for name, margin in margins.items()
        },
        margin_axes=tables,
    )


def _nested_piece(domain: Domain, margins: Mapping[str, Margin], group: list[_Tied], /) -> NestedPiece:
    """Parts that are a product but for one nested axis: made of the axes in which they differ or are no product."""
    axes = [part.axes(domain) for part in group]
    front = tuple(
        place for place in range(len(domain.axes)) if any(_uneven(one[place], axes[0][place]) for one in axes)
    )
    rest = [d for place, axis in enumerate(domain.axes) if place not in front for d in axis]
    dimensions = tuple(d for place in front for d in domain.axes[place])
    combined = [_outer([one[place] for place in front]) for one in axes]
    entries = Axis.of(dimensions, np.concatenate(combined, axis=1)).entries
    labels = {d: np.unique(axis.entries[axis.place(d)]) for axis in axes[0] for d in axis.dimensions}
    if entries.shape[1] > limits.current().nested_entries:
        raise SpecError(
            "'margins: reconcile' cannot handle a margin that adds up parts of the domain with values as different as "
            f"these: {entries.shape[1]:,} combinations, at most {limits.current().nested_entries:,} are allowed. Keep in every margin the "
            "dimension that the merges depend on, or use 'margins: derive'."
        )
    names = tuple(domain.names[d] for d in dimensions)
    kept = [margin.domain.names for margin in margins.values()]
    ladder = Ladder.of(names, entries, kept)
    shape = NestedShape(
        axes=tuple(domain.names[d] for axis in domain.axes for d in axis),
        plain=tuple((domain.names[d], labels[d].size) for d in rest),
        ladder=ladder,
    )
    plan_rounding(shape, kept)
    tables = {name: shape.table(margin.domain.names) for name, margin in margins.items()}
    known = Axis.of(dimensions, ladder.entries)
    order = np.argsort(known.find(list(ladder.entries)))
    return NestedPiece(
        shape=shape,
        labels=tuple(labels[d] for d in rest),
        parts=tuple(
            NestedPart(
                part=PiecePart(
                    start=int(domain.offsets[part.index]),
                    shape=domain.blocks[part.index].shape,
                    chosen=part.chosen,
                    places=(),
                ),
                front=front,
                rows=order[known.find(list(own))],
            )
            for part, own in zip(group, combined, strict=True)
        ),
        margin_cells={
            name: _nested_cells(margin, tables[name], shape, {domain.names[d]: labels[d] for d in rest})
            for name, margin in margins.items()
        },
        margin_axes=tables,
    )


def _uneven(axis: Axis, other: Axis, /) -> bool:
    """Whether an axis has other entries than another, or entries that are no product of its dimensions' labels."""
    sizes = [np.unique(codes).size for codes in axis.entries]
    return not np.array_equal(axis.entries, other.entries) or math.prod(sizes) != axis.size


def _outer(axes: list[Axis], /) -> Ints:
    """The label codes of every combination of the entries of some axes, in the order of an array over them."""
    places = np.indices([axis.size for axis in axes]).reshape(len(axes), -1)
    return np.concatenate([axis.entries[:, place] for axis, place in zip(axes, places, strict=True)])


def _nested_cells(
    margin: Margin, table: tuple[str, ...], shape: NestedShape, labels: Mapping[str, Ints], /
) -> Ints:
    """The numbers of the margin's cells within a piece, as an array of its table."""
    ladder, level = shape.ladder, shape.level(table)
    first = np.unique(ladder.levels[level], return_index=True)[1]
    plain = shape.plain_axes(table)
    grid = np.indices([first.size, *(labels[name].size for name in plain)])
    codes = {name: labels[name][place] for name, place in zip(plain, grid[1:], strict=True)}
    codes |= {name: row[first][grid[0]] for name, row in zip(ladder.names, ladder.entries, strict=True)}
    cells = margin.domain.encode(*(codes[name] for name in margin.domain.names))
    return cells if level else np.asarray(cells[0])


def _margin_cells(
    margin: Margin, axes: tuple[str, ...], shape: TableShape, labels: tuple[Ints, ...], /
) -> Ints:
    """The numbers of the margin's cells within a piece, in the order of the base's dimensions."""
    grids = np.meshgrid(*(labels[shape.axes.index(axis)] for axis in axes), indexing="ij")
    by_name: dict[str, NDArray[np.int64]] = dict(zip(axes, grids, strict=True))
    return margin.domain.encode(*(by_name[name] for name in margin.domain.names))


def _check_length(table: NoisyTable, cells: int, /) -> None:
    if table.values.shape != (cells,) or table.values.dtype != np.int64:
        raise DataError(f"a noisy table needs one 64-bit integer for each of its {cells:,} cells.")
