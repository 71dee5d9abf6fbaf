"""How many rows a table could have, and how many it has: in all, or for some values of its dimensions.

A row is possible if its *series* (the combination of all values but dates and times) is shown by some table at
some time. Nobody taps on at UNKNOWN, so a light rail with 23 stops has 23 series of tap-ons and 24 of tap-offs. Values that
a person declares although no table shows them are possible with everything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.reading import Structure
from noisegate.tables import Axis, Kind, MarginLink, Table

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """Rows of one table: those that are possible, and those that are published."""

    table: str
    possible: int
    published: int

    @property
    def suppressed(self) -> int:
        """Rows that are possible and not published."""
        return self.possible - self.published

    @property
    def share(self) -> float | None:
        """The share of possible rows that is not published; None if no row is possible."""
        return self.suppressed / self.possible if self.possible else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PossibleRows:
    """The rows that the tables of a structure could have.

    `shown[i]` says which series of table i some table shows, over its axes without dates and times; None
    where there are too many to list.
    """

    structure: Structure
    shown: tuple[Flags | None, ...]

    @classmethod
    def of(cls, structure: Structure, /) -> PossibleRows:
        """The series that the tables show: what one shows, the others could."""
        own = [_own_series(cells) for cells in structure.tables]
        base, margins = own[0], own[1:]
        for link, margin in zip(structure.links, margins, strict=True):
            places = None if base is None or margin is None else _series_map(link)
            if base is not None and margin is not None and places is not None:
                base |= np.where(places >= 0, margin[places], False)
        for link, margin in zip(structure.links, margins, strict=True):
            places = None if base is None or margin is None else _series_map(link, onto_margin=True)
            if base is not None and margin is not None and places is not None:
                margin[places[base & (places >= 0)]] = True
        for cells, shown in zip(structure.tables, (base, *margins), strict=True):
            if shown is not None:
                _allow_unseen(cells, shown)
        return cls(structure=structure, shown=(base, *margins))

    def count(self, cells: Table, chosen: Mapping[int, int], /) -> RowCount:
        """The rows of a table with some of its values fixed: `chosen` maps dimensions to codes."""
        place = next(i for i, one in enumerate(self.structure.tables) if one is cells)
        shown = self.shown[place]
        if shown is None:
            possible = sum(
                math.prod(int(_fits(axis, chosen).sum()) for axis in block.axes)
                for block in cells.domain.blocks
            )
        else:
            fits = [_fits(axis, chosen) for axis in cells.axes]
            steady = _steady(cells)
            moving = math.prod(int(fits[i].sum()) for i in range(len(fits)) if i not in steady)
            inside = shown.reshape([cells.axes[i].size for i in steady])
            for row, i in enumerate(steady):
                inside = np.compress(fits[i], inside, axis=row)
            possible = moving * int(inside.sum())
        return RowCount(table=cells.name, possible=possible, published=int(chosen_cells(cells, chosen).sum()))


def chosen_cells(cells: Table, chosen: Mapping[int, int], /) -> Flags:
    """Which published cells have the chosen values."""
    out = np.ones(cells.cells.size, dtype=bool)
    for place, code in chosen.items():
        out &= cells.domain.label_codes(place, cells.cells) == code
    return out


def _fits(axis: Axis, chosen: Mapping[int, int], /) -> Flags:
    """Which entries of an axis have the chosen values."""
    out = np.ones(axis.size, dtype=bool)
    for row, place in enumerate(axis.dimensions):
        if place in chosen:
            out &= axis.entries[row] == chosen[place]
    return out


def _moves(cells: Table, axis: Axis, /) -> bool:
    """Whether an axis holds dates and times and nothing else."""
    return all(cells.dimensions[place].kind in (Kind.DATE, Kind.TIME) for place in axis.dimensions)


def _steady(cells: Table, /) -> list[int]:
    return [i for i, axis in enumerate(cells.axes) if not _moves(cells, axis)]


def _own_series(cells: Table, /) -> Flags | None:
    """The series that a table shows itself; None if there are too many to list, or values are merged in places."""
    if len(cells.domain.blocks) > 1:
        return None
    steady = _steady(cells)
    sizes = [cells.axes[i].size for i in steady]
    if math.prod(sizes) > limits.current().series_cells:
        return None
    out = np.zeros(math.prod(sizes), dtype=bool)
    for flat in (cells.cells, cells.hidden):
        entries = cells.entries(flat)
        number = np.zeros(flat.size, dtype=np.int64)
        for i, size in zip(steady, sizes, strict=True):
            number = number * size + entries[i]
        out[number] = True
    return out


def _allow_unseen(cells: Table, shown: Flags, /) -> None:
    """Values that no table shows were declared by a person: every series with them is possible."""
    cube = shown.reshape([cells.axes[i].size for i in _steady(cells)])
    unseen = [
        ~cube.any(axis=tuple(other for other in range(cube.ndim) if other != axis))
        for axis in range(cube.ndim)
    ]
    for axis, entries in enumerate(unseen):
        np.moveaxis(cube, axis, 0)[entries] = True


def _series_map(link: MarginLink, /, *, onto_margin: bool = False) -> Ints | None:
    """For each series of the base, that of the margin; -1 for none.

    None if the margin lacks an axis of the series, unless the base is to be projected onto the margin.
    """
    steady, margin = _steady(link.base), _steady(link.margin)
    maps = link.map.entry_maps()
    kept = [maps[i][0] for i in margin]
    if not set(kept) <= set(steady) or (not onto_margin and set(kept) != set(steady)):
        return None
    sizes = [link.base.axes[i].size for i in steady]
    if math.prod(sizes) > limits.current().series_cells:
        return None
    index = np.unravel_index(np.arange(math.prod(sizes)), sizes) if sizes else ()
    number, inside = np.zeros(math.prod(sizes), dtype=np.int64), np.ones(math.prod(sizes), dtype=bool)
    for i, place in zip(margin, kept, strict=True):
        entry = maps[i][1][index[steady.index(place)]]
        inside &= entry >= 0
        number = number * link.margin.axes[i].size + entry
    return np.where(inside, number, -1)
