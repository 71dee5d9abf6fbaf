"""What counting gives: the raw counts, and the tallies for the custodian's eyes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError

Ints = NDArray[np.int64]


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """The raw counts of the base table after bounding, without its zeros.

    `cells` are numbers of cells of the spec's domain in ascending order, each once; `raw_counts` how
    often each was counted, at least once. They are raw data: they do not show in `repr`.
    """

    cells: Ints = field(repr=False)
    raw_counts: Ints = field(repr=False)
    tally: Tally

    def __post_init__(self) -> None:
        if self.cells.shape != self.raw_counts.shape:
            raise InternalError("cells and counts differ in length")
        if self.cells.size and not (self.cells[0] >= 0 and (np.diff(self.cells) > 0).all()):
            raise InternalError("cells are not in ascending order")
