"""Published counts on a domain (values, a status for each cell, how they were made), margins beside a base, and releases."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError
from noisegate.laws import LatticeLaw
from noisegate.mechanisms import Known, Marker, Threshold
from noisegate.tables.axis import Axis, Ints, Mask
from noisegate.tables.card import Card
from noisegate.tables.dimension import Dimension
from noisegate.tables.domain import Domain
from noisegate.tables.margin import Margin

Codes = NDArray[np.int32]
Counts = NDArray[np.int64] | NDArray[np.float64]
Floats = NDArray[np.float64]
#: How values came about: counted with noise of their own, summed from another table, or estimated from several.
Origin = Literal["measured", "summed", "estimate"]

_ALL_SHOWN = Threshold(value=None, rule=None, cut=None, sure=1.0, evidence="nothing is left out")


class Status(IntEnum):
    """What is published of a cell."""

    PUBLISHED = 0
    HIDDEN = 1
    ABSENT = 2
    IMPOSSIBLE = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Table:
    """Counts over a domain. It is sparse: it costs what it shows, however large the domain is.

    Attributes
    ----------
    name
        What it is called.
    domain
        All cells that it may hold.
    margin
        Where the cells of the base add up here; None for the base itself.
    cells, values
        The published cells, ascending, and the count that is published of each.
    hidden
        Cells that the table names without a count, ascending.
    markers, marks
        What stands in hidden cells instead of a count, each with the range of counts that it can stand for (both ends
        included) and why, as the evidence in the files has it; and for each hidden cell which of them it shows, -1 where
        nothing is known of its marker. `ranges` gives the range of any cell.
    threshold
        Where it was cut.
    count_name
        What the column of counts is called.
    absent
        What it means that a cell has no row, as a marker with a range; None if nothing is known of that.
    mechanism
        How a raw count of it became a published one; None if it has no noise of its own, or before anybody has looked.
    origin
        How its values came about.
    """

    name: str
    domain: Domain
    margin: Margin | None = None
    cells: Ints
    values: Counts
    hidden: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    markers: tuple[Marker, ...] = ()
    marks: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    threshold: Threshold = _ALL_SHOWN
    count_name: str = "count"
    absent: Marker | None = None
    mechanism: Known | None = None
    origin: Origin = "measured"

    def __post_init__(self) -> None:
        if self.cells.shape != self.values.shape:
            raise InternalError(f"the values of table {self.name!r} do not line up with its cells")
        if self.marks.size != self.hidden.size:
            if self.marks.size:
                raise InternalError(
                    f"the markers of table {self.name!r} do not line up with its hidden cells"
                )
            object.__setattr__(self, "marks", np.full(self.hidden.size, -1, np.int64))

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """With every value that the domain has, also where this table does not show it."""
        return self.domain.dimensions

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The domain is their product; refused where values are merged in places, since it is none then."""
        if len(self.domain.blocks) > 1:
            raise InternalError(f"the cells of table {self.name!r} are no product of axes")
        return self.domain.blocks[0].axes

    @property
    def shape(self) -> tuple[int, ...]:
        """How many entries each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells are possible."""
        return self.domain.size

    @property
    def published(self) -> int:
        """How many cells are published."""
        return int(self.cells.size)

    @property
    def suppressed(self) -> int:
        """How many possible cells are not published."""
        return self.size - self.published

    def entries(self, cells: Ints, /) -> list[Ints]:
        """The entry of each axis for each of these cells."""
        return [entry.astype(np.int64) for entry in self.domain.blocks[0].entries(cells)] if self.axes else []

    def codes(self, cells: Ints, /) -> Codes:
        """Shape (dimensions, cells): the label codes of these cells."""
        out = np.empty((len(self.dimensions), cells.size), dtype=np.int32)
        self.domain.decode_into(list(out), cells)
        return out

    def locate(self, codes: NDArray[np.integer], /) -> Ints:
        """The cell with each column of label codes; -1 where the domain has none."""
        return locate(self.domain, codes)

    def labels(self, cells: Ints, /) -> dict[str, NDArray[np.object_]]:
        """The labels of these cells, by dimension."""
        return self.domain.labels(cells)

    @property
    def law(self) -> LatticeLaw | None:
        """The noise of its own measurement; None if it has none or it is not known."""
        return None if self.mechanism is None else cast("LatticeLaw", self.mechanism.mechanism.law)

    def status(self, cells: Ints, /) -> NDArray[np.int8]:
        """What is published of each of these cells, as codes of `Status`; -1 is no cell at all."""
        found = np.full(np.shape(cells), Status.ABSENT, np.int8)
        found[_among(cells, self.hidden)] = Status.HIDDEN
        found[_among(cells, self.cells)] = Status.PUBLISHED
        found[np.asarray((cells < 0) | (cells >= self.size))] = Status.IMPOSSIBLE
        return found

    def at(self, cells: Ints, /) -> Floats:
        """The published counts of these cells, NaN where there is none."""
        there = _among(cells, self.cells)
        found = np.full(np.shape(cells), np.nan)
        found[there] = self.values[np.searchsorted(self.cells, cells[there])]
        return found

    def marker(self, cell: int, /) -> Marker | None:
        """What stands in a cell instead of its count, or what it means that it has no row; None if nothing is known."""
        status = int(self.status(np.array([cell]))[0])
        if status == Status.ABSENT:
            return self.absent
        if status != Status.HIDDEN:
            return None
        mark = int(self.marks[np.searchsorted(self.hidden, cell)])
        return None if mark < 0 else self.markers[mark]

    def ranges(self, cells: Ints | None = None, /) -> tuple[Floats, Floats]:
        """The least and the largest value that each of these cells can hold by what the table shows of it.

        All cells of the domain if none are given. Both ends are the count where one is published; the range of its marker
        where it is hidden, and of `absent` where it has no row; 0 and infinity where nothing is known. It is the range of
        the value *before it was hidden*: noise or rounding, if there is any, comes on top. NaN for what is no cell.

        Examples
        --------
        >>> domain = Domain.product([Dimension(name="town", values=("A", "B", "C"))])
        >>> table = Table(name="towns", domain=domain, cells=np.array([0]), values=np.array([12]), hidden=np.array([1]),
        ...               markers=(Marker(text="<5", low=1, high=4),), marks=np.array([0]))
        >>> table.ranges()
        (array([12.,  1.,  0.]), array([12.,  4., inf]))
        """
        least, most = (0.0, np.inf) if self.absent is None else _ends(self.absent)
        known = np.array([*map(_ends, self.markers), (0.0, np.inf)])
        if cells is None:
            low, high = np.full(self.size, least), np.full(self.size, most)
            low[self.hidden], high[self.hidden] = known[self.marks].T
            low[self.cells] = high[self.cells] = self.values
            return low, high
        asked = cells
        status = self.status(asked)
        low, high = np.full(asked.shape, least), np.full(asked.shape, most)
        here = np.asarray(status == Status.HIDDEN)
        low[here], high[here] = known[self.marks[np.searchsorted(self.hidden, asked[here])]].T
        shown = np.asarray(status == Status.PUBLISHED)
        low[shown] = high[shown] = self.at(asked[shown])
        gone = np.asarray(status == Status.IMPOSSIBLE)
        low[gone] = high[gone] = np.nan
        return low, high

    def filled(self) -> tuple[NDArray[Any], Mask]:
        """For each cell of the domain its published count, 0 where there is none, and whether it has one."""
        if self.published == self.size:
            return self.values, np.ones(self.size, bool)
        values, shown = np.zeros(self.size, self.values.dtype), np.zeros(self.size, bool)
        values[self.cells], shown[self.cells] = self.values, True
        return values, shown

    def dense(self) -> Floats:
        """The published count of every cell of the domain; NaN where there is none."""
        values = np.full(self.size, np.nan)
        values[self.cells] = self.values
        return values

    def __repr__(self) -> str:
        names = ", ".join(self.domain.names)
        return f"Table {self.name} ({names}): {len(self.values):,} rows of {self.domain.size:,} cells"


def _ends(marker: Marker, /) -> tuple[float, float]:
    return float(marker.low), np.inf if marker.high is None else float(marker.high)


def _among(cells: Ints, known: Ints, /) -> Mask:
    """Which cells are among the known ones, which ascend."""
    if not known.size:
        return np.zeros(np.shape(cells), bool)
    place = np.minimum(np.searchsorted(known, cells), known.size - 1)
    return np.asarray(known[place] == cells)


def locate(domain: Domain, codes: NDArray[np.integer], /) -> Ints:
    """The cell with each column of label codes; -1 where the domain has none.

    A table without dimensions has one cell, and every column of nothing is in it.
    """
    return domain.encode(*codes) if domain.dimensions else np.zeros(codes.shape[1], np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginLink:
    """A margin beside the base, cell by cell: what the published parts of its cells add up to.

    Attributes
    ----------
    base, margin
        The two tables; the margin's knows where the cells of the base add up.
    members
        For each cell of the margin, how many base cells add up to it; 0 where the base does not cover it.
    shown
        How many of these are published; `parts` is the sum of their counts.
    """

    base: Table
    margin: Table
    members: Ints = field(init=False, repr=False)
    shown: Ints = field(init=False, repr=False)
    parts: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups = self.group_of(self.base.cells)
        inside, size = groups >= 0, self.margin.size
        members = self.map.terms(np.arange(size, dtype=np.int64))
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "shown", np.bincount(groups[inside], minlength=size))
        sums = np.bincount(groups[inside], weights=self.base.values[inside], minlength=size)
        object.__setattr__(self, "parts", sums.astype(np.float64))

    @property
    def map(self) -> Margin:
        """Where the cells of the base add up."""
        if self.margin.margin is None:
            raise InternalError(f"table {self.margin.name!r} is no margin")
        return self.margin.margin

    @property
    def summed(self) -> tuple[str, ...]:
        """Names of the base's dimensions that the margin sums over."""
        kept = set(self.map.dimensions)
        return tuple(d.name for place, d in enumerate(self.base.dimensions) if place not in kept)

    @property
    def coarser(self) -> tuple[str, ...]:
        """Names of the margin's dimensions that it has in wider bins or groups than the base."""
        fine = [self.base.dimensions[place] for place in self.map.dimensions]
        pairs = zip(fine, self.margin.dimensions, strict=True)
        return tuple(
            wide.name
            for one, wide in pairs
            if (one.step and wide.step and wide.step > one.step) or set(one.keys).isdisjoint(wide.keys)
        )

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Values of dimensions that are summed over which exist in other tables but not in the base.

        The margin may count them, the base does not list them.
        """
        return self.map.unlisted

    def group_of(self, cells: Ints, /) -> Ints:
        """The cell of the margin that each of these base cells adds to; -1 for none."""
        return self.map.of(cells)

    def groups(self) -> Ints:
        """The cell of the margin of every base cell, in order; -1 for none.

        With `margin.dense()`, what `noisegate.inference.linked.Sums.by` takes.
        """
        return self.map.every()

    @property
    def published(self) -> Mask:
        """Which cells of the margin are published."""
        mask = np.zeros(self.margin.size, dtype=bool)
        mask[self.margin.cells] = True
        return mask

    @property
    def comparable(self) -> Mask:
        """Which cells of the margin are sums of base cells at all."""
        return np.asarray(self.members > 0)

    @property
    def complete(self) -> Mask:
        """Which cells of the margin are published together with every base cell that adds up to them."""
        return np.asarray(self.published & self.comparable & (self.shown == self.members))

    def coverage(self) -> list[Coverage]:
        """For each axis of the margin that the base covers only in part: which part.

        Nothing where values are merged in places: such a domain is stated, not found, and covers all.
        """
        found: list[Coverage] = []
        if len(self.base.domain.blocks) > 1:
            return found
        for axis, (_, entries) in zip(self.margin.axes, self.map.entry_maps(), strict=True):
            met = np.zeros(axis.size, dtype=bool)
            met[entries[entries >= 0]] = True
            if not met.all():
                names = tuple(self.margin.dimensions[d].name for d in axis.dimensions)
                values = [
                    " / ".join(
                        self.margin.dimensions[d].labels[code]
                        for d, code in zip(axis.dimensions, entry, strict=True)
                    )
                    for entry in axis.entries.T.tolist()
                ]
                inside = tuple(value for value, hit in zip(values, met.tolist(), strict=True) if hit)
                outside = tuple(value for value, hit in zip(values, met.tolist(), strict=True) if not hit)
                found.append(Coverage(dimensions=names, inside=inside, outside=outside))
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedMargin:
    """What two tables both sum to, neither of which is a margin of the other.

    Time by mode and origin by destination by mode share the totals by mode: for every cell of the shared domain, the cells of
    `left` that add up there and those of `right` have the same raw sum, as far as both cover it.

    Attributes
    ----------
    left, right
        The two tables.
    onto_left, onto_right
        Where the cells of each add up. Both have the same `domain`, so equal numbers are the same cell; -1 is a cell of a
        table that the other does not cover.
    how
        Why they are taken to be the same, in words: equal names, equal values, a lookup file.
    """

    left: Table
    right: Table
    onto_left: Margin
    onto_right: Margin
    how: str = ""

    @property
    def domain(self) -> Domain:
        """The cells that both sum to."""
        return self.onto_left.domain

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions that they share."""
        return self.domain.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which values of a margin's dimensions the base covers (`inside`) and which it does not."""

    dimensions: tuple[str, ...]
    inside: tuple[str, ...]
    outside: tuple[str, ...]

    def describe(self, limit: int = 3) -> str:
        """In words: the shorter of what is in and what is out."""
        name = " and ".join(self.dimensions)
        total = len(self.inside) + len(self.outside)
        if len(self.inside) <= len(self.outside):
            return f"{name}: only {_some(self.inside, limit)} ({len(self.inside)} of {total})"
        return f"{name}: all but {_some(self.outside, limit)} ({len(self.inside)} of {total})"


def _some(values: tuple[str, ...], limit: int) -> str:
    rest = len(values) - limit
    return ", ".join(values[:limit]) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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

    def table(self, name: str, /) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)

    @property
    def domain(self) -> Domain:
        """The cells of the base."""
        return self.base.domain

    @property
    def name(self) -> str:
        """The name on the card, else that of the base."""
        return self.base.name if self.card is None or self.card.name is None else self.card.name

    def __repr__(self) -> str:
        return "\n".join([f"Release {self.name}", *(f"  {table!r}" for table in self.tables)])
