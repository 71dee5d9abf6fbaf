"""A public domain cut into products that can be reconciled one by one.

A domain with merged or impossible values is a union of blocks, each a product (`core.domain`). Least squares and
rounding work on products. Two blocks that add to a common margin cell belong together; blocks that
do not can be treated apart, since nothing ties their cells. A *piece* is a set of blocks that belong together. It is
usable if its blocks fit together into one product: hours beside quarter-hours along the time axis do;
the stops of two modes under a margin that leaves out the mode do not.

All of this depends on the public domain and the names of the tables, so it can be asked before anything is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.margins.integers import round_consistent
from noisegate.margins.plan import plan_rounding
from noisegate.margins.reconcile import Measurement, Reconciled, reconcile
from noisegate.margins.shape import TableShape
from noisegate.tables.domain import Block, Domain, Ints
from noisegate.tables.margin import Margin

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
class Piece:
    """A part of a domain that is a product and shares no margin cell with the rest of it.

    `blocks` says where the cells of each block stand in the domain and in the piece; `margin_cells`
    holds the cell numbers of each margin in the shape it has within the piece.
    """

    shape: TableShape
    blocks: tuple[tuple[slice, tuple[Ints, ...]], ...]
    margin_cells: dict[str, Ints]
    margin_axes: dict[str, tuple[str, ...]]

    def take(self, flat: Ints, /) -> Ints:
        """The piece's part of an array over the domain, as a dense array."""
        if len(self.blocks) == 1:
            return flat[self.blocks[0][0]].reshape(self.shape.sizes)
        dense = np.empty(self.shape.sizes, flat.dtype)
        for where, places in self.blocks:
            dense[np.ix_(*places)] = flat[where].reshape([place.size for place in places])
        return dense

    def put(self, dense: NDArray[Number], flat: NDArray[Number], /) -> None:
        """Write a dense array of the piece into an array over the domain."""
        if len(self.blocks) == 1:
            flat[self.blocks[0][0]] = dense.reshape(-1)
            return
        for where, places in self.blocks:
            flat[where] = dense[np.ix_(*places)].reshape(-1)


def pieces(domain: Domain, margins: Mapping[str, Margin], /) -> tuple[Piece, ...]:
    """The domain's pieces under these margins; refuses what cannot be reconciled, with the way out.

    Examples
    --------
    >>> from noisegate.reading.domain import Dimension
    >>> domain = Domain.product([Dimension(name="day", values=("Mon", "Tue")),
    ...                          Dimension(name="stop", values=("A", "B", "C"))])
    >>> [piece.shape.sizes for piece in pieces(domain, {"days": Margin.over(domain, ["day"])})]
    [(2, 3)]
    """
    TableShape(axes=("cells",), sizes=(domain.size,)).check_dense()
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
        tables = round_consistent(estimate, margins=piece.margin_axes.values())
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
) -> Iterator[tuple[Piece, Reconciled]]:
    """Every piece of the domain with its estimate."""
    _check_length(base, domain.size)
    for name, table in measured.items():
        _check_length(table, margins[name].domain.size)
    for piece in pieces(domain, margins):
        whole = Measurement(axes=piece.shape.axes, values=piece.take(base.values), variance=base.variance)
        parts = [
            Measurement(
                axes=piece.margin_axes[name],
                values=table.values[piece.margin_cells[name]],
                variance=table.variance,
            )
            for name, table in measured.items()
        ]
        yield piece, reconcile(whole, parts)


def _together(domain: Domain, margins: Mapping[str, Margin], /) -> list[list[int]]:
    """Blocks that share a margin cell, directly or through others."""
    groups: list[list[int]] = []
    for index, block in enumerate(domain.blocks):
        tied = [
            group
            for group in groups
            if any(_share_cells(block, domain.blocks[other], m) for other in group for m in margins.values())
        ]
        groups = [group for group in groups if group not in tied]
        groups.append(sorted([index, *(other for group in tied for other in group)]))
    return sorted(groups)


def _share_cells(one: Block, other: Block, margin: Margin, /) -> bool:
    """Whether two blocks add to a common cell of the margin: a label means the same in every block."""
    return all(np.intersect1d(one.axes[axis], other.axes[axis]).size > 0 for axis in margin.axes)


def _piece(domain: Domain, margins: Mapping[str, Margin], group: list[int], /) -> Piece:
    blocks = [domain.blocks[index] for index in group]
    labels = [np.unique(np.concatenate(codes)) for codes in zip(*(b.axes for b in blocks), strict=True)]
    sizes = tuple(codes.size for codes in labels)
    if math.prod(sizes) != sum(block.size for block in blocks):
        raise SpecError(
            "'margins: reconcile' cannot handle a margin that adds up parts of the domain with different "
            "values (stops that only one mode has, say). Keep in every margin the dimension that the merges and "
            "'only' depend on, or use 'margins: derive'."
        )
    shape = TableShape(axes=domain.names, sizes=sizes)
    axes = {name: shape.table(margin.domain.names) for name, margin in margins.items()}
    return Piece(
        shape=shape,
        blocks=tuple(
            (
                slice(int(domain.offsets[index]), int(domain.offsets[index + 1])),
                tuple(np.searchsorted(all_, own) for all_, own in zip(labels, block.axes, strict=True)),
            )
            for index, block in zip(group, blocks, strict=True)
        ),
        margin_cells={
            name: _margin_cells(margin, axes[name], shape, labels) for name, margin in margins.items()
        },
        margin_axes=axes,
    )


def _margin_cells(margin: Margin, axes: tuple[str, ...], shape: TableShape, labels: list[Ints], /) -> Ints:
    """The numbers of the margin's cells within a piece, in the order of the base's dimensions."""
    grids = np.meshgrid(*(labels[shape.axes.index(axis)] for axis in axes), indexing="ij")
    by_name: dict[str, NDArray[np.int64]] = dict(zip(axes, grids, strict=True))
    return margin.domain.encode(*(by_name[name] for name in margin.domain.names))


def _check_length(table: NoisyTable, cells: int, /) -> None:
    if table.values.shape != (cells,) or table.values.dtype != np.int64:
        raise DataError(f"a noisy table needs one 64-bit integer for each of its {cells:,} cells.")
