"""Which scheduled vehicles could have produced each cell of a table.

Every visit opens a window in time for tap-ons around its departure and one for tap-offs around
its arrival, as wide as the tolerance says. A vehicle could have produced a cell if such a window of one of
its visits touches the cell's bin at the cell's location.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import ArrayLike

from noisegate.errors import SpecError
from noisegate.timetable.calendar import EPOCH
from noisegate.timetable.feed import Feed
from noisegate.timetable.grid import NO_TIME, TableGrid
from noisegate.timetable.punctuality import OFF, ON, Tolerance, bounds_s, by_mode
from noisegate.timetable.visits import DAY_S, Flags, Ints, Ints32, Visits

_VISITS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linkage:
    """Cells and the visits that could have produced them.

    Cell `cells[i]` could have come from the visits `visit[start[i]]` up to (not with) `visit[start[i + 1]]`, in
    the order of their runs. Cells that are not listed could have come from no vehicle.

    Attributes
    ----------
    cells
        Cells that at least one vehicle could have produced, ascending.
    vehicles
        For each of them, how many different vehicles.
    """

    visits: Visits
    grid: TableGrid
    tolerances: tuple[Tolerance, ...]
    cells: Ints
    start: Ints
    visit: Ints32
    vehicles: Ints32

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def bin(self) -> Ints:
        """The time bin of each cell, counted from the midnight of the first date of the visits."""
        return self.grid.bins_of(self.cells, first_day=int(self.visits.days[0]))

    @property
    def tap(self) -> Ints:
        """ON or OFF for each cell."""
        return self.grid.taps_of(self.cells)

    @property
    def hour(self) -> Ints:
        """The hour of the day in which the bin of each cell starts."""
        return self.bin % self.grid.bins * self.grid.bin_s // 3600

    @property
    def first_visit(self) -> Ints32:
        """The first visit of each cell: the only one that matters for a cell of one vehicle and one stop."""
        return self.visit[self.start[:-1]]

    @property
    def mode(self) -> Ints32:
        """The timetable's mode of each cell: that of its first visit."""
        return self.visits.mode[self.first_visit]

    def find(self, cells: ArrayLike, /) -> Ints:
        """The place of each cell in `cells`; -1 where no vehicle could have produced it."""
        wanted = np.asarray(cells, dtype=np.int64)
        if not len(self):
            return np.full(wanted.shape, -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.cells, wanted), len(self) - 1)
        return np.where(self.cells[place] == wanted, place, -1)

    def visits_of(self, cell: int, /) -> Ints32:
        """The visits that could have produced `cell`."""
        place = int(self.find([cell])[0])
        return self.visit[self.start[place] : self.start[place + 1]] if place >= 0 else self.visit[:0]

    def vehicles_of(self, cell: int, /) -> Ints32:
        """The runs that could have produced `cell`, ascending."""
        return np.unique(self.visits.run[self.visits_of(cell)])

    def vehicle_counts(self, cells: ArrayLike, /) -> Ints:
        """How many vehicles could have produced each cell."""
        place = self.find(cells)
        return np.where(place >= 0, np.append(self.vehicles, 0)[place], 0)

    def sole_stops(self) -> Ints:
        """For each cell, the one stop that all its visits are at; -1 where there are several."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        stop = self.visits.stop[self.visit]
        least = np.minimum.reduceat(stop, self.start[:-1])
        most = np.maximum.reduceat(stop, self.start[:-1])
        return np.where(least == most, least, -1).astype(np.int64)

    def impossible(self, cells: ArrayLike, /) -> Flags:
        """Whether each cell is a structural zero: no vehicle, so no tap.

        Assumes that the timetable is complete for the modes and dates it has, and that every tap lies within
        the tolerance of a scheduled call at its own stop. A cell is judged only if its location matches a stop of its
        mode (or matches one of another mode, and every stop of its own has a location), its mode has a vehicle on
        its date, and its time and tap are known; otherwise it is never called impossible.
        """
        wanted = np.asarray(cells, dtype=np.int64)
        return (self.find(wanted) < 0) & self.judged(wanted)

    def judged(self, cells: ArrayLike, /) -> Flags:
        """Whether the timetable has anything to say about each cell."""
        codes = self.grid.codes(np.asarray(cells, dtype=np.int64))
        out = np.ones(np.shape(cells), dtype=bool)
        if "time" in codes:
            out &= self.grid.known_labels("time", self.grid.starts_s != NO_TIME)[codes["time"]]
        if "location" in codes:
            known = self.grid.known_labels(
                "location", self.grid.known_labels("mode", self._matched()), axis=1
            )
            out &= known[codes.get("mode", np.zeros_like(codes["location"])), codes["location"]]
        if "tap" in codes:
            known = np.zeros(self.grid.size("tap"), dtype=bool)
            known[[code for code in self.grid.taps if code >= 0]] = True
            out &= self.grid.known_labels("tap", known)[codes["tap"]]
        return out & self._served(codes.get("mode"), codes.get("date"), out.shape)

    def _matched(self) -> Flags:
        """For each mode and location of the table, whether the timetable says who stops there."""
        grid, visits = self.grid, self.visits
        own = np.zeros((grid.size("mode"), grid.size("location")), dtype=bool)
        mode, stop = np.nonzero((grid.places >= 0) & (grid.modes >= 0)[:, None])
        own[grid.modes[mode], grid.places[mode, stop]] = True
        nowhere = np.unique(visits.mode[grid.places[visits.mode, visits.stop] < 0])
        all_placed = np.ones((grid.size("mode"), 1), dtype=bool)
        all_placed[grid.modes[nowhere[grid.modes[nowhere] >= 0]]] = False
        return np.asarray(own | (own.any(axis=0) & all_placed))

    def _served(self, mode: Ints | None, date: Ints | None, shape: tuple[int, ...], /) -> Flags:
        """Whether the cell's mode has a vehicle on the cell's date; for a merged label, each one of its values."""
        grid, visits = self.grid, self.visits
        served = np.zeros((grid.size("mode"), grid.days.size), dtype=bool)
        of_visit = grid.modes[visits.mode]
        for at_s in (visits.arrival_s, visits.departure_s):
            day = visits.days[0] + at_s.astype(np.int64) // DAY_S
            code = grid.date_codes(day)
            inside = (code >= 0) & (of_visit >= 0)
            served[of_visit[inside], code[inside]] = True
        of_mode: Flags = (
            np.any(served, axis=0, keepdims=True)
            if mode is None
            else grid.known_labels("mode", served, axis=0)
        )
        dated: Flags = np.all(of_mode[:, grid.days != NO_TIME], axis=1, keepdims=True)
        known = dated if date is None else grid.known_labels("date", of_mode, axis=1)
        none = np.zeros(shape, dtype=np.int64)
        return np.asarray(known[none if mode is None else mode, none if date is None else date])


def link(visits: Visits, /, *, grid: TableGrid, tolerance: Tolerance | Sequence[Tolerance]) -> Linkage:
    """The vehicles that could have produced each cell of a table.

    Parameters
    ----------
    visits
        The calls on the dates of the table, with a margin of at least the tolerance.
    tolerance
        How far from the timetable a card may be read; one for all modes, or one for each.
    """
    tolerances = by_mode(tolerance, grid.modes.size)
    reach = max(bounds.reach_s for bounds in tolerances)
    if visits.margin_s < reach:
        raise SpecError(
            f"visits with a margin of {visits.margin_s} s cannot answer for a tolerance of {reach} s."
        )
    cells: list[Ints] = []
    rows: list[Ints32] = []
    for at in range(0, len(visits), _VISITS_AT_ONCE):
        for tap in (ON, OFF):
            cell, visit = _entries(
                visits, slice(at, at + _VISITS_AT_ONCE), tap, grid=grid, tolerances=tolerances
            )
            cells.append(cell)
            rows.append(visit)
    cell, visit = _sorted_pairs(cells, rows, visits=len(visits))
    new = np.ones(cell.size, dtype=bool)
    new[1:] = cell[1:] != cell[:-1]
    starts = np.flatnonzero(new)
    run = visits.run[visit]
    new[1:] |= run[1:] != run[:-1]
    seen = np.concatenate([[0], np.cumsum(new)])
    start = np.append(starts, cell.size)
    return Linkage(
        visits=visits,
        grid=grid,
        tolerances=tolerances,
        cells=cell[starts],
        start=start,
        visit=visit,
        vehicles=np.diff(seen[start]).astype(np.int32),
    )


def link_feed(feed: Feed, /, *, grid: TableGrid, tolerance: Tolerance | Mapping[str, Tolerance]) -> Linkage:
    """The vehicles of `feed` that could have produced each cell of a table."""
    tolerances = tolerances_of(feed, tolerance)
    margin_s = max(bounds.reach_s for bounds in tolerances)
    dates = [EPOCH + timedelta(days=day) for day in grid.wanted_days.tolist()]
    return link(feed.visits(dates, margin_s=margin_s), grid=grid, tolerance=tolerances)


def tolerances_of(
    feed: Feed, tolerance: Tolerance | Mapping[str, Tolerance], /, *, default: Tolerance | None = None
) -> tuple[Tolerance, ...]:
    """A tolerance for each mode of the feed, from one for all or one by the name of the mode."""
    if isinstance(tolerance, Tolerance):
        return by_mode(tolerance, len(feed.modes))
    for name in tolerance:
        if name not in feed.modes:
            raise SpecError.for_choice("mode", found=name, allowed=feed.modes)
    return tuple(tolerance.get(name, default or Tolerance()) for name in feed.modes)


def _sorted_pairs(cells: list[Ints], rows: list[Ints32], /, *, visits: int) -> tuple[Ints, Ints32]:
    """All pairs of cell and visit, by cell and then by visit, each once; the lists are emptied."""
    if not cells:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    most = max(int(piece.max(initial=0)) for piece in cells)
    names = None if (most + 1) * visits < 2**62 else np.unique(np.concatenate(cells))
    keys = np.concatenate(cells)
    cells.clear()
    if names is not None:
        keys = np.searchsorted(names, keys)
    keys *= visits
    done = 0
    for piece in rows:
        keys[done : done + piece.size] += piece
        done += piece.size
    rows.clear()
    keys.sort()
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
    cell, visit = keys // visits, (keys % visits).astype(np.int32)
    return (cell if names is None else names[cell]), visit


def _entries(
    visits: Visits, part: slice, tap: int, /, *, grid: TableGrid, tolerances: Sequence[Tolerance]
) -> tuple[Ints, Ints32]:
    """Cell and visit for every bin that a window of these visits touches."""
    mode, stop = visits.mode[part], visits.stop[part]
    able = (visits.boards if tap == ON else visits.alights)[part]
    place = grid.places[mode, stop]
    rows = np.flatnonzero(able & (place >= 0) & (grid.modes[mode] >= 0) & (grid.taps[tap] >= 0))
    mode = mode[rows]
    at = (visits.departure_s if tap == ON else visits.arrival_s)[part][rows].astype(np.int64)
    slack = visits.runs.slack_s[visits.run[part][rows]]
    before, after = bounds_s(tolerances, tap)
    low = (at - before[mode] - slack) // grid.bin_s
    count = (at + after[mode] + slack) // grid.bin_s - low + 1
    row = np.repeat(np.arange(rows.size), count)
    bins = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count) + low[row]
    codes = {
        "mode": grid.modes[mode[row]],
        "date": grid.date_codes(visits.days[0] + bins // grid.bins),
        "tap": np.full(row.size, grid.taps[tap], dtype=np.int64),
        "time": grid.time_codes()[bins % grid.bins],
        "location": place[rows[row]].astype(np.int64),
    }
    inside = (codes["date"] >= 0) & (codes["time"] >= 0)
    cell = np.full(row.size, -1, dtype=np.int64)
    cell[inside] = grid.cells({role: code[inside] for role, code in codes.items()})  # type: ignore[misc]  # roles
    kept = cell >= 0
    return cell[kept], (rows[row[kept]] + part.start).astype(np.int32)
