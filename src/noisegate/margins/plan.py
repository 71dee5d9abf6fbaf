"""In which order tables are rounded so that all can be met exactly, and the coarse tables that are made whole first.

Coarse tables are fixed first and finer ones are made to add up to them: an accurate total is never
spoilt by the clamping of its parts. There are three kinds of step, and each of them always has a solution
in non-negative integers:

* `Nearest`: nothing coarser to add up to; round each cell.
* `Apportion`: the cells add up to one coarser table that is fixed already.
* `Join`: the cells add up to two fixed tables that agree on the axes they share. In each
  slice (one cell of the shared table) that is a matrix with given row and column sums.

A set of margins can be handled if it is *acyclic*: margins can be taken away one by one, each time one
whose axes shared with the rest lie within a single other margin (an *ear*). Then the axes that an ear shares
with the rest are a table that is fixed first, and ear and rest are joined. Chains (a total, its parts,
their parts), one or two margins of any kind, and all tables of a star or tree are acyclic. The three
two-way margins of three dimensions are not: they may have no common integer table at all.

Counts are made non-negative table by table, from coarse to fine. Each time noise in empty cells is raised to zero, other
cells pay for it: a little in each cell, always in the same direction. Summed over many cells it can exceed the noise.
The remedy is to make the sums right first. A margin by time for each mode and day is the same pattern over and over again:
what it adds up to over days is far above its noise where a single day is not. So before the margin, the table
without the days is fixed, and the margin has to add up to it. The same goes for a base that has to add up to one margin or to none.

That helps along axes whose labels repeat one pattern (days, mostly). Along an axis whose labels have patterns of their own (a stop
belongs to one mode) it would hurt: the finer table is mostly empty, clamping it takes away most of its noise, and the coarser
table has all of that noise. Which is which is read from the estimate itself: by the cosine of the patterns of two
labels, which is 1 for proportional and 0 for disjoint patterns.

Only the noisy estimate is looked at, so this is post-processing like all that follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.margins.design import Table

_Axes = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Round each cell of `table` for itself."""

    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Apportion:
    """Round `table` so that it adds up to `within`."""

    table: Table
    within: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Round `table` so that it adds up to `rows` and to `columns`."""

    table: Table
    rows: Table
    columns: Table


Step = Nearest | Apportion | Join


class NamedAxes(Protocol):
    """A shape as far as a plan needs it: its axes, and a table's axes with all that follow from them."""

    @property
    def axes(self) -> Table:
        """The axes of the base."""
        ...

    def table(self, axes: Iterable[str], /) -> Table:
        """The table that keeps `axes`."""
        ...


def plan_rounding(shape: NamedAxes, margins: Iterable[Iterable[str]], /) -> tuple[Step, ...]:
    """The steps that end with a base that adds up to every one of `margins`.

    Raises
    ------
    SpecError
        If the margins go round in a circle, so that an integer solution need not exist. It depends on the
        names of dimensions only, so it can be asked before anything is spent.

    Examples
    --------
    >>> from noisegate.margins.design import TableShape
    >>> shape = TableShape(axes=("day", "time", "location"), sizes=(2, 4, 3))
    >>> for step in plan_rounding(shape, [("day", "time"), ("day", "location")]):
    ...     print(step)
    Nearest(table=('day',))
    Apportion(table=('day', 'time'), within=('day',))
    Apportion(table=('day', 'location'), within=('day',))
    Join(table=('day', 'time', 'location'), rows=('day', 'time'), columns=('day', 'location'))
    """
    wanted = [frozenset(shape.table(axes)) for axes in margins]
    planner = _Planner(shape=shape, margins=wanted)
    planner.fix(frozenset(shape.axes))
    return tuple(planner.steps)


@dataclass(slots=True, kw_only=True)
class _Planner:
    """Collects steps; `fixed` are the tables whose integers are known by then, all in agreement."""

    shape: NamedAxes
    margins: list[_Axes]
    fixed: list[_Axes] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def fix(self, target: _Axes) -> None:
        """Add the steps that fix `target` and every margin within it."""
        if any(target <= table for table in self.fixed):
            return
        below = _maximal([m for m in self.margins if m < target] + [target & table for table in self.fixed])
        if not below:
            self._done(target, Nearest(table=self._name(target)))
        elif len(below) == 1:
            self._apportion(target, below[0])
        else:
            self._apportion(target, self._join(below))

    def _apportion(self, target: _Axes, within: _Axes) -> None:
        self.fix(within)
        if target != within:
            self._done(target, Apportion(table=self._name(target), within=self._name(within)))

    def _join(self, tables: list[_Axes]) -> _Axes:
        """Fix the union of `tables`, two or more, none of which contains another."""
        ear = self._ear(tables)
        rest = _union(table for table in tables if table != ear)
        for table in (ear & rest, rest, ear):
            self.fix(table)
        both = ear | rest
        step = Join(table=self._name(both), rows=self._name(rest), columns=self._name(ear))
        self._done(both, step)
        return both

    def _ear(self, tables: list[_Axes]) -> _Axes:
        for ear in reversed(tables):
            others = [table for table in tables if table != ear]
            shared = ear & _union(others)
            if any(shared <= table for table in others):
                return ear
        names = "; ".join(", ".join(self._name(table)) for table in tables)
        raise SpecError(
            f"margins {names} go round in a circle, so no consistent whole numbers need exist for them. "
            "Use 'margins: derive', or leave one of them out."
        )

    def _done(self, table: _Axes, step: Step) -> None:
        self.steps.append(step)
        self.fixed.append(table)

    def _name(self, axes: _Axes) -> Table:
        return self.shape.table(axes)


def _union(tables: Iterable[_Axes], /) -> _Axes:
    return frozenset().union(*tables)


def _maximal(tables: list[_Axes], /) -> list[_Axes]:
    """Those that no other one contains, each once, in the order given."""
    return [t for t in dict.fromkeys(tables) if not any(t < other for other in tables)]


Floats = NDArray[np.float64]

#: Labels whose patterns have at least this cosine, on average, repeat one pattern.
ALIKE = 0.5
# A label's pattern is seen if its sum of squares exceeds that of noise by so many of its standard deviations.
_SEEN_SDS = 4.0


class ArrayShape(NamedAxes, Protocol):
    """A shape whose tables are arrays: the axes of each, and the table that keeps some of them."""

    def array_axes(self, table: Table, /) -> Table:
        """The axes of a table's array."""
        ...

    def shared_axes(self, table: Table, within: Table, /) -> Table:
        """Those that a coarser table has just so."""
        ...

    def named(self, axes: Iterable[str], table: Table, /) -> Table:
        """The table that keeps these axes of the array of another."""
        ...


class Estimated(Protocol):
    """An estimate of a base that knows the variance of the cells of any table."""

    @property
    def shape(self) -> ArrayShape:
        """The axes of the base."""
        ...

    def variance(self, axes: Iterable[str], /) -> float:
        """The variance of a cell of the table that keeps `axes`."""
        ...


def coarse_tables(
    estimate: Estimated, margins: Iterable[Table], /, *, values_of: Callable[[Table], Floats]
) -> tuple[Table, ...]:
    """The tables to make whole before `margins` and the base, none of which is among them.

    Every step of the rounding that is tied to one coarser table (`Apportion`) or to none (`Nearest`, as if all axes but the
    longest were one) is looked at: it gets tables of its own axes and of those others whose labels do not repeat one pattern, and
    again with one more axis at a time, the one with the most uneven totals first, since small labels need the company of
    others most. What this adds is looked at in turn. Margins stay acyclic: finer tables are left out until they are.

    `values_of` has the estimate of any table.
    """
    shape, wanted = estimate.shape, tuple(margins)
    found: tuple[Table, ...] = ()
    seen: set[Step] = set()
    while True:
        steps = [step for step in plan_rounding(shape, (*wanted, *found)) if step not in seen]
        tied = next((step for step in steps if isinstance(step, Apportion | Nearest) and step.table), None)
        if tied is None:
            return found
        seen.add(tied)
        more = [t for t in _before(estimate, tied, values_of) if t not in (*wanted, *found, shape.axes)]
        while more and not _can_be_rounded(shape, (*wanted, *found, *more)):
            more.pop()
        found += tuple(more)


def _before(
    estimate: Estimated, step: Apportion | Nearest, values_of: Callable[[Table], Floats], /
) -> list[Table]:
    """The coarse tables that help with one step."""
    shape, table = estimate.shape, step.table
    values, axes = values_of(table), shape.array_axes(table)
    if isinstance(step, Apportion):
        return _chain(estimate, values, table, shape.shared_axes(table, step.within))
    if not axes:
        return []
    longest = axes[int(np.argmax(values.shape))]
    shared = tuple(axis for axis in axes if axis != longest)
    return [shape.named(shared, table), *_chain(estimate, values, table, shared)]


def _chain(estimate: Estimated, values: Floats, table: Table, shared: Table, /) -> list[Table]:
    """Tables of the own axes of `table` and ever more of those it shares, the coarsest first."""
    chain: list[Table] = []
    axes = estimate.shape.array_axes(table)
    left = sorted(shared, key=lambda axis: -_unevenness(values, axes.index(axis)))
    kept = tuple(axis for axis in axes if axis not in shared)
    while True:
        apart = [axis for axis in left if _likeness(estimate, values, table, axis, kept) < ALIKE]
        if not apart:
            if not left:
                return chain
            chain.append(estimate.shape.named(kept, table))
            apart = left[:1]
        kept += tuple(apart)
        left = [axis for axis in left if axis not in apart]


def _likeness(estimate: Estimated, values: Floats, table: Table, axis: str, kept: Table, /) -> float:
    """The mean cosine of the patterns along `kept` of two labels of `axis`, free of noise; 0 if fewer than two are seen."""
    axes = estimate.shape.array_axes(table)
    gone = tuple(place for place, name in enumerate(axes) if name not in (axis, *kept))
    names = [name for name in axes if name in (axis, *kept)]
    patterns = np.moveaxis(values.sum(axis=gone), names.index(axis), 0)
    patterns = patterns.reshape(patterns.shape[0], -1)
    cells, variance = patterns.shape[1], estimate.variance(estimate.shape.named(names, table))
    squares = np.einsum("ij,ij->i", patterns, patterns)
    energy = squares - cells * variance
    seen = energy > _SEEN_SDS * variance * math.sqrt(2 * cells)
    labels = int(seen.sum())
    if labels < 2:
        return 0.0
    weights = np.where(seen, 1 / np.sqrt(np.where(seen, energy, 1.0)), 0.0)
    total = weights @ patterns
    pairs = total @ total - (weights**2 * squares).sum()
    return float(pairs) / (labels * (labels - 1))


def _unevenness(values: Floats, place: int, /) -> float:
    """The standard deviation of the totals of an axis' labels, over their mean."""
    totals = np.maximum(values.sum(axis=tuple(p for p in range(values.ndim) if p != place)), 0.0)
    mean = float(totals.mean())
    return float(totals.std()) / mean if mean > 0 else 0.0


def _can_be_rounded(shape: NamedAxes, tables: Iterable[Table], /) -> bool:
    try:
        plan_rounding(shape, tables)
    except SpecError:
        return False
    return True
