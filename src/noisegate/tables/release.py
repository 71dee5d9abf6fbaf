"""A published table on its domain, and a release: tables and the card that says how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError
from noisegate.laws._law import LatticeLaw
from noisegate.mechanisms.known import Known, Marker
from noisegate.tables.card import Card
from noisegate.tables.domain import Domain, Ints, Mask
from noisegate.tables.margin import Margin

Floats = NDArray[np.float64]
#: How the values came about: counted with noise of their own, summed from another table, or estimated from several.
Origin = Literal["measured", "summed", "estimate"]


class Status(IntEnum):
    """What is published of a cell."""

    PUBLISHED = 0
    HIDDEN = 1
    ABSENT = 2
    IMPOSSIBLE = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Published counts over some dimensions; sparse, so that what is absent costs nothing.

    Attributes
    ----------
    name
        The name of its file.
    domain
        All cells that it may hold.
    margin
        How base cells add up to its own; None for the base.
    cells, values
        The published cells in ascending order, and their counts.
    hidden
        For each marker the cells, ascending, that have a row but no count.
    absent
        What it means that a cell has no row; None if nothing is known of that.
    mechanism
        How a raw count of it became a published one; None if it has no noise of its own or nothing is known.
    origin
        How its values came about.
    """

    name: str
    domain: Domain
    cells: Ints
    values: NDArray[Any]
    margin: Margin | None = None
    hidden: Mapping[Marker, Ints] = field(default_factory=dict)
    absent: Marker | None = None
    mechanism: Known | None = None
    origin: Origin = "measured"

    def __post_init__(self) -> None:
        if self.cells.shape != self.values.shape or (np.diff(self.cells) <= 0).any():
            raise InternalError(f"the cells of table {self.name!r} must ascend, with one value each")

    @property
    def rows(self) -> int:
        """How many counts are published."""
        return int(self.cells.size)

    @property
    def law(self) -> LatticeLaw | None:
        """The noise of its own measurement; None if it has none or it is not known."""
        return None if self.mechanism is None else cast("LatticeLaw", self.mechanism.mechanism.law)

    @property
    def threshold(self) -> int | None:
        """The least count that is shown, as far as it is known; None if all are."""
        absent = self.absent
        return (
            absent.high + 1
            if absent is not None and absent.cause == "primary" and absent.high is not None
            else None
        )

    def status(self, cells: Ints, /) -> NDArray[np.int8]:
        """What is published of each of these cells, as codes of `Status`; -1 is no cell at all."""
        found = np.full(np.shape(cells), Status.ABSENT, np.int8)
        for hidden in self.hidden.values():
            found[_among(cells, hidden)] = Status.HIDDEN
        found[_among(cells, self.cells)] = Status.PUBLISHED
        found[np.asarray((cells < 0) | (cells >= self.domain.size))] = Status.IMPOSSIBLE
        return found

    def at(self, cells: Ints, /) -> Floats:
        """The published values of these cells, NaN where there is none."""
        there = _among(cells, self.cells)
        found = np.full(np.shape(cells), np.nan)
        found[there] = self.values[np.searchsorted(self.cells, cells[there])]
        return found

    def dense(self) -> tuple[NDArray[Any], Mask]:
        """For each cell of the domain its published value, 0 where there is none, and whether it has one."""
        if self.rows == self.domain.size:
            return self.values, np.ones(self.rows, bool)
        values, shown = np.zeros(self.domain.size, self.values.dtype), np.zeros(self.domain.size, bool)
        values[self.cells], shown[self.cells] = self.values, True
        return values, shown


def _among(cells: Ints, known: Ints, /) -> Mask:
    """Which cells are among the known ones, which ascend."""
    if not known.size:
        return np.zeros(np.shape(cells), bool)
    place = np.minimum(np.searchsorted(known, cells), known.size - 1)
    return np.asarray(known[place] == cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """Published tables, the base first, and the card that says how they were made, if there is one."""

    tables: tuple[Table, ...]
    card: Card | None = None
    folder: Path | None = None

    @property
    def base(self) -> Table:
        """The finest table."""
        return self.tables[0]

    @property
    def margins(self) -> tuple[Table, ...]:
        """All tables but the base."""
        return self.tables[1:]

    @property
    def domain(self) -> Domain:
        """The cells of the base."""
        return self.base.domain

    @property
    def name(self) -> str:
        """The name on the card, else that of the base."""
        return self.base.name if self.card is None or self.card.name is None else self.card.name
