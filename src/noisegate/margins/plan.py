"""In which order tables are rounded so that all of them can be met exactly.

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
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from noisegate.errors import SpecError
from noisegate.margins.shape import Table

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
    >>> from noisegate.margins.shape import TableShape
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
