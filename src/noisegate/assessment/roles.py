"""What the dimensions of a published table are to a timetable: mode, date, tap, time, location."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.tables import Axis, Block, Dimension, Kind, Table
from noisegate.timetable import (
    DAY_S,
    NO_TIME,
    ROLES,
    Feed,
    Role,
    StopMatching,
    TableGrid,
    folded,
    match_locations,
    mode_codes,
    mode_of_word,
    tap_codes,
)

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimetableRoles:
    """A published table as a timetable sees it.

    Attributes
    ----------
    cells
        The table.
    place
        For each role that the table has, the place of its dimension. Other dimensions say nothing to a timetable.
    """

    cells: Table
    place: Mapping[Role, int]

    @classmethod
    def of(cls, cells: Table, feed: Feed, /) -> TimetableRoles:
        """The roles of the dimensions: dates and times by kind, taps and modes by words, the location by its values.

        The location is what has most values that are names, ids or codes of stops; if none has any, what has most values.
        Everything else (fares, kinds of card) means nothing to a timetable.

        Raises
        ------
        DataError
            If the table has no dates.
        """
        place: dict[Role, int] = {}
        for at, dimension in enumerate(cells.dimensions):
            role = _role(dimension)
            if role is not None and role not in place:
                place[role] = at
        if "date" not in place:
            raise DataError(
                f"A timetable is linked by dates, and {cells.name} has none; leave --gtfs out, or assess a table that has them."
            )
        rest = [at for at in range(len(cells.dimensions)) if at not in place.values()]
        known = {folded(name) for name in feed.stops.names} | {*feed.stops.ids, *feed.stops.codes}
        if rest:
            place["location"] = max(
                rest, key=lambda at: (_hits(cells.dimensions[at], known), cells.dimensions[at].size)
            )
        return cls(cells=cells, place=place)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that the table has, in the order of all roles."""
        return tuple(role for role in ROLES if role in self.place)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each of them has."""
        return tuple(self.dimension(role).size for role in self.roles)

    def dimension(self, role: Role, /) -> Dimension:
        """The dimension that has this role."""
        return self.cells.dimensions[self.place[role]]

    def labels(self, role: Role, /) -> tuple[str, ...]:
        """The values of a role as written; none if the table does not have it."""
        return self.dimension(role).labels if role in self.place else ()

    def numbers(self, flat: Ints, /) -> Ints:
        """The grid cell of each of these cells of the table."""
        codes = self.cells.codes(flat)
        rows = tuple(codes[self.place[role]].astype(np.int64) for role in self.roles)
        return np.asarray(np.ravel_multi_index(rows, self.sizes), dtype=np.int64)

    def in_domain(self, numbers: Ints, /) -> NDArray[np.bool_]:
        """Whether the table has any cell with these values of its roles."""
        codes = dict(zip(self.roles, np.unravel_index(numbers, self.sizes), strict=True))
        blocks = self.cells.domain.blocks
        parts = [self._in_block(block, codes, numbers.shape) for block in blocks]
        return np.asarray(np.logical_or.reduce(parts))

    def _in_block(
        self, block: Block, codes: Mapping[Role, Ints], shape: tuple[int, ...], /
    ) -> NDArray[np.bool_]:
        """Whether a part of the domain has any cell with these values."""
        inside = np.ones(shape, dtype=bool)
        for axis in block.axes:
            mine = [
                (role, axis.place(self.place[role]))
                for role in self.roles
                if self.place[role] in axis.dimensions
            ]
            if not mine:
                continue
            known = Axis.of(tuple(range(len(mine))), axis.entries[[row for _, row in mine]])
            inside &= known.find([codes[role] for role, _ in mine]) >= 0
        return inside

    def match(self, feed: Feed, /, *, given: Mapping[str, str]) -> StopMatching:
        """The stops of the table's locations; where modes and locations depend on each other, mode by mode."""
        return match_locations(
            feed, self.labels("location"), of_mode=self._locations_of_modes(feed), given=given
        )

    def _locations_of_modes(self, feed: Feed, /) -> dict[str, list[str]] | None:
        """The locations that occur with each mode of the feed; None if the table does not tell."""
        if "mode" not in self.place or "location" not in self.place:
            return None
        blocks = self.cells.domain.blocks
        if len(blocks) == 1 and not self._together(blocks[0]):
            return None
        mode, location = np.concatenate([self._pairs(block) for block in blocks], axis=1)
        labels = np.array(self.labels("location"), dtype=object)
        codes = mode_codes(feed, self.labels("mode"))
        return {
            name: list(labels[np.unique(location[mode == code])])
            for name, code in zip(feed.modes, codes.tolist(), strict=True)
            if code >= 0
        }

    def _together(self, block: Block, /) -> bool:
        """Whether modes and locations share an axis."""
        return block.axis(self.place["mode"]) == block.axis(self.place["location"])

    def _pairs(self, block: Block, /) -> Ints:
        """The modes and locations that go together in a part of the domain, as two rows."""
        mode, location = self.place["mode"], self.place["location"]
        if self._together(block):
            axis = block.axes[block.axis(location)]
            return axis.entries[[axis.place(mode), axis.place(location)]]
        grid = np.meshgrid(block.labels(mode), block.labels(location), indexing="ij")
        return np.stack([one.reshape(-1) for one in grid])

    def grid(self, feed: Feed, matching: StopMatching, /, *, whole_day: bool = False) -> TableGrid:
        """What the codes of the table mean to the timetable; cells are numbered by roles alone.

        With `whole_day`, the times are all bins of a day, in order, whether the table shows them or not.
        """
        starts_s, bin_s = self._times()
        dates = self.dimension("date")
        sizes = self.sizes
        if whole_day and "time" in self.place:
            starts_s = np.arange(0, DAY_S, bin_s, dtype=np.int64)
            sizes = tuple(
                starts_s.size if role == "time" else n for role, n in zip(self.roles, sizes, strict=True)
            )
        return TableGrid(
            roles=self.roles,
            sizes=sizes,
            locate=lambda *codes: np.asarray(np.ravel_multi_index(codes, sizes), dtype=np.int64),
            decode=lambda numbers: np.unravel_index(numbers, sizes),
            days=np.where(dates.unknown, NO_TIME, dates.ordinals),
            starts_s=starts_s,
            bin_s=bin_s,
            taps=tap_codes(self.labels("tap")) if "tap" in self.place else (0, 0),
            modes=mode_codes(feed, self.labels("mode"))
            if "mode" in self.place
            else np.zeros(len(feed.modes), dtype=np.int64),
            places=matching.places if "location" in self.place else np.zeros_like(matching.places),
        )

    def _times(self) -> tuple[Ints, int]:
        """The start of each time bin in seconds, and the width of all."""
        if "time" not in self.place:
            return np.zeros(1, dtype=np.int64), DAY_S
        clock = self.dimension("time")
        starts = np.where(clock.unknown, NO_TIME, 60 * np.where(clock.unknown, 0, clock.ordinals))
        known = starts[~clock.unknown]
        step = 60 * clock.step if clock.step else math.gcd(DAY_S, *known.tolist())
        if not known.size or DAY_S % step or (known % step).any():
            raise SpecError(
                f"The time bins of {self.cells.name} must divide the day and start at multiples of their width "
                "to be linked to a timetable; leave --gtfs out."
            )
        return starts, step


def _hits(dimension: Dimension, known: Collection[str], /) -> int:
    """How many values of a dimension are names, ids or codes of stops."""
    return sum(label.strip() in known or folded(label) in known for label in dimension.labels)


def _role(dimension: Dimension, /) -> Role | None:
    """The role that the values of a dimension give it; None if it can only be a location."""
    if dimension.kind is Kind.DATE:
        return "date"
    if dimension.kind is Kind.TIME:
        return "time"
    known = [
        label
        for label, unknown in zip(dimension.labels, dimension.unknown.tolist(), strict=True)
        if not unknown
    ]
    if known and all(mode_of_word(label) is not None for label in known):
        return "mode"
    try:
        on, off = tap_codes(known)
    except SpecError:
        return None
    return "tap" if known and (on >= 0) + (off >= 0) == len(known) else None
