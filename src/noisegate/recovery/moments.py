"""Where the cells of a table lie in time, and which cell lies a given lag later.

A *moment* is a date and a time of day. Tables may have both, one or none of them; unknown times have no
moment. The *rest* of a cell is all its other values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.tables import Kind, Table

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_DAY = 1440


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """The time dimensions of a table.

    Attributes
    ----------
    date, time
        Places of the dimensions; None where the table has none.
    step
        Minutes from one moment to the next; None without any time dimension.
    """

    cells: Table
    date: int | None
    time: int | None
    step: int | None

    @classmethod
    def of(cls, cells: Table, /) -> Moments:
        """The time dimensions of `cells`: its first date and its first time of day."""
        kinds = [dimension.kind for dimension in cells.dimensions]
        date = kinds.index(Kind.DATE) if Kind.DATE in kinds else None
        time = kinds.index(Kind.TIME) if Kind.TIME in kinds else None
        step = cells.dimensions[time].step if time is not None else None
        if step is None and date is not None and time is None:
            step = _DAY
        return cls(cells=cells, date=date, time=time, step=step)

    @property
    def rest(self) -> tuple[int, ...]:
        """Places of the other dimensions."""
        return tuple(i for i in range(len(self.cells.dimensions)) if i not in {self.date, self.time})

    def check(self, lag: int, /) -> None:
        """Refuse a lag (in minutes) that leads from no bin to another."""
        if lag == 0:
            return
        if self.step is None:
            raise SpecError(
                f"--lag {lag}min: {self.cells.name} has no dates or times to shift; leave --lag out."
            )
        if lag % self.step:
            raise SpecError(
                f"--lag must be a multiple of the {self.step} minutes of a bin in {self.cells.name}, got {lag} min."
            )

    def later(self, codes: Codes, lag: int, /) -> Codes:
        """The same cells `lag` minutes later (earlier, if negative), as codes; -1 where there is no such time."""
        if lag == 0:
            return codes
        out = codes.copy()
        days = np.zeros(codes.shape[1], dtype=np.int64)
        if self.time is None:
            days += lag // _DAY
        else:
            clock = self.cells.dimensions[self.time]
            known = ~clock.unknown[codes[self.time]]
            found, moved = _clock_later(clock.ordinals, np.where(known, codes[self.time], 0), lag)
            out[self.time], days = np.where(known, found, -1), np.where(known, moved, 0)
        if self.date is None:
            out[0, days != 0] = -1
            return out
        dates = self.cells.dimensions[self.date]
        known = ~dates.unknown[codes[self.date]]
        goal = np.where(known, dates.ordinals[codes[self.date]], 0) + days
        moved_to = np.where(known, _place(dates.ordinals, goal), -1)
        out[self.date] = np.where(days == 0, codes[self.date], moved_to)
        return out


def _clock_later(ordinals: Ints, codes: Codes, lag: int, /) -> tuple[Codes, Ints]:
    """The code of each time of day `lag` later, and by how many days the date moves."""
    goal = ordinals[codes] + lag
    same = _place(ordinals, goal)
    days = np.where(same >= 0, 0, goal // _DAY)
    return np.where(same >= 0, same, _place(ordinals, goal - days * _DAY)), days


def _place(ordinals: Ints, wanted: Ints, /) -> Codes:
    """The place of each wanted ordinal; -1 where there is none."""
    order = np.argsort(ordinals, kind="stable")
    at = np.minimum(np.searchsorted(ordinals, wanted, sorter=order), len(ordinals) - 1)
    return np.where(ordinals[order[at]] == wanted, order[at], -1).astype(np.int32)
