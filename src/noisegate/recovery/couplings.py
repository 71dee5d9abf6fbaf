"""Couplings: two sets of cells of one table whose raw counts are equal, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.recovery.equality import Equality
from noisegate.recovery.moments import Codes, Ints, Moments
from noisegate.recovery.selection import FixedValues
from noisegate.tables import Table, condition_text, split_conditions

Floats = NDArray[np.float64]
Source = Literal["stated", "found"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coupling:
    """Cells of one table that come in pairs.

    Attributes
    ----------
    first, second
        What the two sides have in common, in words.
    lag
        By how many minutes the second side is later.
    left, right
        The cells, pair by pair; every pair of which at least one is published.
    values
        Shape (2, pairs): the published counts; not-a-number where suppressed.
    source, equality
        Whether a person stated it or the search found it, and then the evidence.
    """

    cells: Table
    first: str
    second: str
    lag: int
    left: Ints
    right: Ints
    source: Source
    equality: Equality | None = None
    values: Floats = field(init=False)

    def __post_init__(self) -> None:
        values = np.stack([published(self.cells, self.left), published(self.cells, self.right)])
        object.__setattr__(self, "values", values)

    @property
    def both(self) -> NDArray[np.bool_]:
        """The pairs of which both counts are published."""
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @property
    def title(self) -> str:
        """The coupling in words."""
        later = f" {self.lag} min later" if self.lag else ""
        sides = [" ".join(value for _, value in split_conditions(side)) for side in (self.first, self.second)]
        return f"{sides[0]} = {sides[1]}{later}"

    def examples(self, limit: int = 3, /) -> list[str]:
        """Some pairs by name, the largest first."""
        rows = np.flatnonzero(self.both)
        rows = rows[np.argsort(-self.values[:, rows].sum(axis=0), kind="stable")][:limit]
        left, right = names(self.cells, self.left[rows]), names(self.cells, self.right[rows])
        return [
            f"{one}: {a:g}; {two}: {b:g}"
            for one, two, (a, b) in zip(left, right, self.values[:, rows].T.tolist(), strict=True)
        ]


def couple(
    cells: Table,
    first: FixedValues,
    second: FixedValues,
    /,
    *,
    lag: int,
    source: Source,
    equality: Equality | None = None,
) -> Coupling:
    """The pairs of cells in which `first` becomes `second`, `lag` minutes later, all else being equal.

    Raises
    ------
    SpecError
        If the two sides fix different dimensions, are the same, or the lag fits no bin.
    DataError
        If no cell of either side is published.
    """
    if set(first.codes) != set(second.codes):
        raise SpecError(
            f"--pair: {first.text!r} and {second.text!r} must name the same dimensions; "
            f"one names {_dimensions(cells, first)}, the other {_dimensions(cells, second)}."
        )
    if dict(first.codes) == dict(second.codes) and lag == 0:
        raise SpecError(f"--pair: both sides are {first.text!r}; name two different sets of cells.")
    moments = Moments.of(cells)
    fixed = {moments.date, moments.time} & set(first.codes)
    if fixed and lag:
        raise SpecError("--pair fixes a date or a time, so --lag cannot shift it; leave one of them out.")
    moments.check(lag)
    codes = cells.codes(cells.cells)
    left, right = _partners(cells, moments, codes[:, _matches(codes, first)], second, lag)
    there, here = _partners(cells, moments, codes[:, _matches(codes, second)], first, -lag)
    if not left.size and not here.size:
        raise DataError(
            f"No published cell of {cells.name} has {first.text} or {second.text}, with a partner "
            f"{lag} min away; there is nothing to compare."
        )
    pairs = np.unique(np.stack([np.concatenate([left, here]), np.concatenate([right, there])]), axis=1)
    return Coupling(
        cells=cells,
        first=first.text,
        second=second.text,
        lag=lag,
        left=pairs[0],
        right=pairs[1],
        source=source,
        equality=equality,
    )


def equal_pairs(couplings: Sequence[Coupling], /) -> Ints:
    """The pairs of all couplings whose two cells the domain has, shape (2, pairs)."""
    pairs = [np.stack([one.left, one.right]) for one in couplings]
    both = np.concatenate([np.zeros((2, 0), np.int64), *pairs], axis=1)
    return np.asarray(both[:, (both >= 0).all(axis=0)])


def _matches(codes: Codes, selection: FixedValues, /) -> NDArray[np.bool_]:
    hits = [codes[place] == code for place, code in selection.codes.items()]
    return np.asarray(np.logical_and.reduce(hits))


def _partners(
    cells: Table, moments: Moments, codes: Codes, other: FixedValues, lag: int, /
) -> tuple[Ints, Ints]:
    """The cells with these codes, and their partners; only those whose partner exists."""
    moved = moments.later(codes, lag).copy()
    for place, code in other.codes.items():
        moved[place] = np.where(moved[place] >= 0, code, -1)
    exists = (moved >= 0).all(axis=0)
    own, partner = cells.locate(codes[:, exists]), cells.locate(moved[:, exists])
    return own[partner >= 0], partner[partner >= 0]


def _dimensions(cells: Table, selection: FixedValues, /) -> str:
    return ", ".join(cells.dimensions[place].name for place in selection.codes)


def published(cells: Table, flat: Ints, /) -> Floats:
    """The published counts of these cells; not-a-number where suppressed."""
    at = np.minimum(np.searchsorted(cells.cells, flat), max(cells.cells.size - 1, 0))
    return np.where(cells.cells[at] == flat, cells.values[at], np.nan).astype(np.float64)


def names(cells: Table, flat: Ints, /) -> list[str]:
    """The cells by name: their values as written, in the order of the columns."""
    columns = list(cells.labels(flat).values())
    return [" ".join(map(str, row)) for row in zip(*columns, strict=True)] if columns else ["all"] * len(flat)


def least_published(cells: Table, /) -> float:
    """The least count that the table shows; minus infinity where small ones are not suppressed."""
    if cells.threshold.value is None and cells.suppressed == 0:
        return -np.inf
    return float(cells.values.min()) if cells.values.size else -np.inf


def selected(cells: Table, places: Sequence[int], codes: Sequence[int], /) -> FixedValues:
    """The selection that fixes these dimensions to these codes."""
    words = ",".join(
        condition_text(cells.dimensions[place].name, cells.dimensions[place].labels[code])
        for place, code in zip(places, codes, strict=True)
    )
    return FixedValues(text=words, codes=dict(zip(places, codes, strict=True)))
