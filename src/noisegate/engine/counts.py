"""What counting gives: the raw counts, and the tallies for the custodian's eyes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What became of the events. Raw numbers: for the custodian's console, never for a release or a log.

    Attributes
    ----------
    events
        Events that were read.
    outside
        For each reason, the events that lie outside the public domain.
    repeated
        Events beyond `max_per_cell` in one cell of one unit.
    beyond
        Events of cells beyond `max_cells` of one unit, not counting repeated ones.
    """

    events: int = field(repr=False)
    outside: Mapping[str, int] = field(repr=False)
    repeated: int = field(default=0, repr=False)
    beyond: int = field(default=0, repr=False)

    @property
    def counted(self) -> int:
        """Events that are in the counts."""
        return self.events - sum(self.outside.values()) - self.repeated - self.beyond

    def lines(self) -> list[str]:
        """The tally in words, one line for each thing that happened."""
        said = [f"{self.events:,} events read, {self.counted:,} counted"]
        said += [f"{number:,} outside the domain: {reason}" for reason, number in self.outside.items()]
        if self.repeated:
            said.append(f"{self.repeated:,} left out: the same unit again in the same cell")
        if self.beyond:
            said.append(f"{self.beyond:,} left out: in cells beyond the most that a unit may add to")
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Clipping:
    """What bounding did, in figures that one unit changes little. Raw numbers: to be perturbed before anybody sees them.

    Attributes
    ----------
    units
        Units with an event inside the domain: one unit changes it by 1.
    beyond
        Units that had more than counts: one unit changes it by 1.
    kept, lost
        Events that count, and events that do not, of the latter at most as many of one unit as its bound: one unit changes
        each by its bound at most.
    """

    units: int = field(default=0, repr=False)
    beyond: int = field(default=0, repr=False)
    kept: int = field(default=0, repr=False)
    lost: int = field(default=0, repr=False)

    def __add__(self, other: Clipping, /) -> Clipping:
        return Clipping(
            units=self.units + other.units,
            beyond=self.beyond + other.beyond,
            kept=self.kept + other.kept,
            lost=self.lost + other.lost,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """The raw counts of the base table after bounding, without its zeros.

    `cells` are numbers of cells of the spec's domain in ascending order, each once; `raw_counts` how
    often each was counted, at least once; `clipping` what bounding did, if that was asked for. They are raw data: they do not
    show in `repr`.
    """

    cells: Ints = field(repr=False)
    raw_counts: Ints = field(repr=False)
    tally: Tally
    clipping: Clipping | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.cells.shape != self.raw_counts.shape:
            raise InternalError("cells and counts differ in length")
        if self.cells.size and not (self.cells[0] >= 0 and (np.diff(self.cells) > 0).all()):
            raise InternalError("cells are not in ascending order")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedCounts:
    """Raw counts with every unit held to its bound, on average over the lots that units with too many cells draw.

    Raw data: for the custodian's eyes only, and nothing that is published is made of them.

    Attributes
    ----------
    cells
        Numbers of cells in ascending order.
    sure
        Events that count in any case.
    drawing
        Events that draw lots.
    kept
        How many of these count on average; how many really did in some release nobody wrote down.
    """

    cells: Ints = field(repr=False)
    sure: Ints = field(repr=False)
    drawing: Ints = field(repr=False)
    kept: Floats = field(repr=False)

    @classmethod
    def sure_of(cls, cells: Ints, counts: Ints, /) -> Self:
        """Counts in which nothing was left to lots; a cell may be there several times."""
        return cls.sum_of(
            [cls(cells=cells, sure=counts, drawing=np.zeros_like(counts), kept=np.zeros(counts.size))]
        )

    @classmethod
    def sum_of(cls, parts: Sequence[ExpectedCounts], /) -> Self:
        """What several add up to; a cell may be in several of them, and several times in one."""
        nothing = np.zeros(0, dtype=np.int64)
        every = np.concatenate([nothing, *(one.cells for one in parts)])
        cells, place = np.unique(every, return_inverse=True)

        def sums(name: str) -> Floats:
            weights = np.concatenate([nothing, *(getattr(one, name) for one in parts)])
            return np.bincount(place, weights=weights, minlength=cells.size).astype(np.float64)

        sure, drawing = (np.rint(sums(name)).astype(np.int64) for name in ("sure", "drawing"))
        return cls(cells=cells, sure=sure, drawing=drawing, kept=sums("kept"))

    @property
    def mean(self) -> Floats:
        """The expected count of each cell."""
        return self.sure + self.kept

    @property
    def variance(self) -> Floats:
        """The variance of each count by the lots, as if they were drawn event by event."""
        return self.kept * (1 - self.kept / np.maximum(self.drawing, 1))

    def take(self, which: NDArray[np.bool_] | Ints, /) -> ExpectedCounts:
        """Some of the cells."""
        return ExpectedCounts(
            cells=self.cells[which],
            sure=self.sure[which],
            drawing=self.drawing[which],
            kept=self.kept[which],
        )
