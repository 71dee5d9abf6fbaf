"""What a timetable gives away about the cells of a table: cells of one vehicle, by hour, and vehicle by vehicle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.timetable.linkage import Linkage
from noisegate.timetable.visits import Ints, Ints32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UniqueCells:
    """Cells that exactly one vehicle could have produced.

    Attributes
    ----------
    cells
        Their numbers, ascending.
    run
        The vehicle of each.
    stop
        The one stop of each, where the location merges several and only one of them is served; -1 otherwise.
    bin
        The time bin of each, counted from the midnight of the first date of the visits.
    """

    cells: Ints
    run: Ints32
    stop: Ints
    bin: Ints

    def __len__(self) -> int:
        return len(self.cells)

    def trails(self, *, least: int = 2) -> list[tuple[int, Ints]]:
        """Vehicles that have at least so many cells to themselves, each with these cells in order of time.

        What is published in such cells is the load of one vehicle as it goes along.
        """
        order = np.lexsort((self.bin, self.run))
        runs, starts = np.unique(self.run[order], return_index=True)
        pieces = np.split(order, starts[1:])
        return [
            (int(run), self.cells[piece])
            for run, piece in zip(runs, pieces, strict=True)
            if len(piece) >= least
        ]


def unique_cells(linkage: Linkage, /) -> UniqueCells:
    """The cells that exactly one vehicle could have produced."""
    alone = linkage.vehicles == 1
    return UniqueCells(
        cells=linkage.cells[alone],
        run=linkage.visits.run[linkage.first_visit[alone]],
        stop=linkage.sole_stops()[alone],
        bin=linkage.grid.bins_of(linkage.cells[alone], first_day=int(linkage.visits.days[0])),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hours:
    """How many cells each mode (row) has in each hour of the day (column).

    Attributes
    ----------
    cells
        Cells that a vehicle could have produced.
    one_vehicle
        Those that exactly one vehicle could have produced.
    one_stop
        Those of them in which it calls at one stop only.
    """

    cells: Ints
    one_vehicle: Ints
    one_stop: Ints

    def unprotected(self, *, share: float = 0.5) -> list[tuple[int, int]]:
        """Modes and hours in which more than `share` of the cells belong to one vehicle: binning stops protecting."""
        found = np.argwhere((self.cells > 0) & (self.one_vehicle > share * self.cells))
        return [(int(mode), int(hour)) for mode, hour in found]


def by_hour(linkage: Linkage, /) -> Hours:
    """How many cells have one vehicle, by mode and hour of the day."""
    modes = linkage.grid.modes.size
    key = linkage.mode * 24 + linkage.hour
    alone = linkage.vehicles == 1
    one_stop = alone & (linkage.sole_stops() >= 0)
    tables = [
        np.bincount(key[which], minlength=24 * modes).reshape(modes, 24)
        for which in (np.ones(len(linkage), dtype=bool), alone, one_stop)
    ]
    return Hours(cells=tables[0], one_vehicle=tables[1], one_stop=tables[2])
