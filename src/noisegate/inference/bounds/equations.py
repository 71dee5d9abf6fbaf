"""Whole counts within ranges, and the equations among them, as compressed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import InternalError

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Signs = NDArray[np.int8]

#: The upper end of a range that has none. Small enough that sums of a million such numbers stay in 64 bits.
ENDLESS = 1 << 42


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Equations:
    """Sums of cells, each with a sign, that equal a number.

    Attributes
    ----------
    starts
        Where the terms of each equation begin, and where those of the last one end.
    cells, signs
        The cell of each term and its coefficient, 1 or -1. A cell stands in an equation once.
    right
        What each sum equals.
    """

    starts: Ints
    cells: Ints
    signs: Signs
    right: Ints

    def __post_init__(self) -> None:
        if self.starts.size != self.right.size + 1 or self.cells.shape != self.signs.shape:
            raise InternalError("the parts of equations do not line up")

    def __len__(self) -> int:
        return int(self.right.size)

    @classmethod
    def of(
        cls,
        rows: Sequence[tuple[ArrayLike, ArrayLike]],
        /,
        *,
        right: ArrayLike | None = None,
    ) -> Equations:
        """Equations from one pair each: cells that are added, and cells that are taken away.

        Examples
        --------
        >>> len(Equations.of([([0, 1], [2])]))  # cell 0 + cell 1 = cell 2
        1
        """
        added = [np.asarray(plus, np.int64).reshape(-1) for plus, _ in rows]
        taken = [np.asarray(minus, np.int64).reshape(-1) for _, minus in rows]
        pairs = [np.concatenate(pair) for pair in zip(added, taken, strict=True)]
        signs = [
            np.repeat(np.array([1, -1], np.int8), [plus.size, minus.size])
            for plus, minus in zip(added, taken, strict=True)
        ]
        return cls(
            starts=np.concatenate([[0], np.cumsum([pair.size for pair in pairs])]).astype(np.int64),
            cells=np.concatenate([np.zeros(0, np.int64), *pairs]),
            signs=np.concatenate([np.zeros(0, np.int8), *signs]),
            right=np.zeros(len(rows), np.int64) if right is None else np.asarray(right, np.int64),
        )

    @classmethod
    def sums(cls, groups: Ints, parts: Ints, totals: Ints, /) -> Equations:
        """One equation for each of `totals`: it is the sum of the `parts` whose group is its place; -1 is no group."""
        inside = groups >= 0
        order = np.argsort(groups[inside], kind="stable")
        members, owner = parts[inside][order], groups[inside][order]
        sizes = np.bincount(owner, minlength=totals.size)
        starts = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.int64)
        cells, signs = np.empty(starts[-1], np.int64), np.ones(starts[-1], np.int8)
        cells[np.arange(members.size) + owner] = members
        cells[starts[1:] - 1], signs[starts[1:] - 1] = totals, -1
        return cls(starts=starts, cells=cells, signs=signs, right=np.zeros(totals.size, np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Equations], /) -> Equations:
        """All of these, in order."""
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(one.starts) for one in parts)])
        return cls(
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            cells=np.concatenate([np.zeros(0, np.int64), *(one.cells for one in parts)]),
            signs=np.concatenate([np.zeros(0, np.int8), *(one.signs for one in parts)]),
            right=np.concatenate([np.zeros(0, np.int64), *(one.right for one in parts)]),
        )

    @property
    def owner(self) -> Ints:
        """The equation of each term."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, rows: ArrayLike, /) -> Equations:
        """Those of these numbers, or where a mask is true, in that order."""
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return Equations(
            starts=starts, cells=self.cells[place], signs=self.signs[place], right=self.right[chosen]
        )

    def terms(self, row: int, /) -> tuple[Ints, Signs]:
        """The cells of one equation and their signs."""
        part = slice(int(self.starts[row]), int(self.starts[row + 1]))
        return self.cells[part], self.signs[part]

    def among(self, values: Ints, free: Mask, /) -> tuple[Equations, Ints]:
        """The equations among the `free` cells alone, with all others at `values`; and which equations these are."""
        live = free[self.cells]
        fixed = np.where(live, 0, values[self.cells] * self.signs)
        sums = np.concatenate([[0], np.cumsum(fixed)])
        right = self.right - (sums[self.starts[1:]] - sums[self.starts[:-1]])
        sizes = np.bincount(self.owner[live], minlength=len(self))
        kept = np.flatnonzero(sizes)
        reduced = Equations(
            starts=np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64),
            cells=self.cells[live],
            signs=self.signs[live],
            right=right[kept],
        )
        return reduced, kept

    def sums_of(self, values: Ints, /) -> Ints:
        """What the left side of each equation comes to with these values of all cells."""
        terms = np.concatenate([[0], np.cumsum(values[self.cells] * self.signs)])
        return np.asarray(terms[self.starts[1:]] - terms[self.starts[:-1]])

    def by_cell(self, cells: int, /) -> tuple[Ints, Ints, Signs]:
        """Where the terms of each cell begin, and the equation and sign of each term."""
        order = np.argsort(self.cells, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.cells, minlength=cells))]).astype(np.int64)
        return starts, self.owner[order], self.signs[order]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Equations that cannot all hold within the ranges of their cells; none of them can be left out.

    Attributes
    ----------
    equations
        Their numbers, ascending.
    whole
        Whether they could hold if counts need not be whole.
    """

    equations: tuple[int, ...]
    whole: bool = False
