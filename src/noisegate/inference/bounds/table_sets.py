"""Which tables of a release hurt together: the smallest sets of tables that give a hidden count away, and what is cheapest to leave out.

A hidden count is given away if the equations among the tables leave one value. That depends on which tables there are: a table that is
not published says nothing of its cells, though everybody still knows how they would add up. More tables never tell less, so for each
count the sets of tables that give it away are all those that contain one of some *smallest* sets. They are found without trying all:
a candidate must have a table in common with every set whose absence was seen to keep the count hidden; the smallest such
candidate is tried, and either it is an answer, or it grows to the largest set that tells nothing and what is missing there is one more
condition. The tables to leave out follow in the same way: the cheapest that have one in common with every set that is known
to give something away, until none does. Both are exact: they equal the answers of trying every set (in the tests, up to 12 tables).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisegate.inference.bounds.equations import ENDLESS, Ints
from noisegate.inference.bounds.linked import LinkedCells
from noisegate.inference.bounds.solve import Bounds
from noisegate.inference.bounds.solver import WholeSolutions

Tables = frozenset[int]

#: Solutions that many cells leave their counts in are looked for this near to what is published, and so many times for each table.
_NEAR, _TURNS = 12, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAway:
    """A count that several tables give away together.

    Attributes
    ----------
    cell
        Its number among the linked cells.
    value
        The count.
    sets
        The smallest sets of tables that give it away, as numbers of tables; all of that size, if `proven`.
    proven
        Whether there is no smaller one; if not, time ran out, and no table of these can be spared.
    """

    cell: int
    value: int
    sets: tuple[tuple[int, ...], ...]
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSets:
    """Which tables give counts away together, and what would protect them.

    Attributes
    ----------
    tables
        Names of the tables, in the order of their numbers.
    cells
        The counts that the whole release gives away, as far as they were looked at.
    looked_at, given_away
        How many of them were, and how many there are.
    drop
        The cheapest tables to leave out so that none of these is given away any more; None if time ran out before that was known.
    cost
        What they cost, by `costs`.
    costs
        What each table is worth; unless said otherwise, how many counts it shows.
    solved
        How many sets of tables were tried.
    """

    tables: tuple[str, ...]
    cells: tuple[GivenAway, ...]
    looked_at: int
    given_away: int
    drop: tuple[int, ...] | None
    cost: float | None
    costs: tuple[float, ...]
    solved: int
    seconds: float

    @property
    def drop_names(self) -> tuple[str, ...] | None:
        """The names of the tables to leave out."""
        return None if self.drop is None else tuple(self.tables[one] for one in self.drop)

    def by_set(self) -> dict[tuple[str, ...], int]:
        """For each smallest set, how many counts it gives away; the smallest sets first."""
        found: dict[tuple[int, ...], int] = {}
        for one in self.cells:
            for names in one.sets:
                found[names] = found.get(names, 0) + 1
        order = sorted(found, key=lambda names: (len(names), -found[names], names))
        return {tuple(self.tables[one] for one in names): found[names] for names in order}

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "given_away": self.given_away,
            "looked_at": self.looked_at,
            "proven": all(one.proven for one in self.cells),
            "sets": [{"tables": list(names), "cells": n} for names, n in list(self.by_set().items())[:50]],
            "drop": None if self.drop_names is None else list(self.drop_names),
            "cost": self.cost,
            "solved": self.solved,
        }


def find_table_sets(
    linked: LinkedCells,
    /,
    *,
    bounds: Bounds | None = None,
    targets: Ints | None = None,
    costs: Sequence[float] | None = None,
    seconds: float = 20.0,
    most: int = 2_000,
) -> TableSets:
    """The smallest sets of tables that give each hidden count away, and the cheapest tables to leave out.

    Parameters
    ----------
    linked
        The cells of all tables and the sums among them.
    bounds
        What all tables together say, if it was worked out before.
    targets
        The cells to look at; all that the whole release gives away if not given.
    costs
        What each table is worth; unless said, the number of counts that it shows.
    seconds, most
        How long to look, in seconds of the processor so that a busy machine finds as much; and at how many counts.
    """
    begun = time.process_time()
    whole = linked.solve(seconds=seconds / 2) if bounds is None else bounds
    exact = whole.exact
    exact[linked.offsets[-1] :] = False
    given = np.flatnonzero(exact) if targets is None else targets[exact[targets]]
    prices = (
        tuple(float(table.published) for table in linked.tables)
        if costs is None
        else tuple(map(float, costs))
    )
    search = _Search(
        linked=linked,
        low=linked.low,
        high=linked.high,
        values=whole.low,
        until=begun + seconds,
        solutions=WholeSolutions(linked.low, linked.high, linked.equations),
    )
    search.learn(given[:most], whole, until=begun + seconds / 2)
    cells, known = list[GivenAway](), list[Tables]()
    for cell in given[:most].tolist():
        if search.late and cells:
            break
        found = _smallest(int(cell), search)
        known += [one for one in map(frozenset, found.sets) if one not in known]
        cells.append(found)
    looked = np.array([one.cell for one in cells], np.int64)
    drop = _cheapest(looked, prices, search, known)
    return TableSets(
        tables=tuple(table.name for table in linked.tables),
        cells=tuple(cells),
        looked_at=len(cells),
        given_away=int(given.size),
        drop=None if drop is None else tuple(sorted(drop)),
        cost=None if drop is None else sum(prices[one] for one in drop),
        costs=prices,
        solved=search.solved,
        seconds=time.process_time() - begun,
    )


@dataclass(eq=False)
class _Search:
    """What is known so far: other solutions (witnesses), and sets of tables that were seen to give a cell away.

    A witness is a list of counts that satisfies all sums, and the set of tables whose shown counts it satisfies. No part of that set
    gives away a cell in which the witness has another count than the release: one witness answers many questions.
    """

    linked: LinkedCells
    low: Ints
    high: Ints
    values: Ints
    until: float
    solutions: WholeSolutions
    witnesses: list[tuple[Ints, Tables]] = field(default_factory=list)
    giving: dict[int, list[Tables]] = field(default_factory=dict)
    solved: int = 0

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.process_time() > self.until

    @property
    def every(self) -> Tables:
        """All tables."""
        return frozenset(range(len(self.linked.tables)))

    def hides(self, cell: int, /) -> list[Tables]:
        """Sets of tables that are known to keep a cell hidden."""
        return [tables for counts, tables in self.witnesses if counts[cell] != self.values[cell]]

    def gives(self, tables: Tables, cell: int, /) -> bool:
        """Whether these tables give a cell away."""
        if any(one <= tables for one in self.giving.get(cell, ())):
            return True
        if any(tables <= one for one in self.hides(cell)):
            return False
        found = self._other(tables, cell)
        if found is None:
            self.giving.setdefault(cell, []).append(tables)
            return True
        self.witnesses.append((found, self._fits(found)))
        return False

    def _fits(self, counts: Ints, /) -> Tables:
        good = (counts >= self.low) & (counts <= self.high)
        ends = zip(self.linked.offsets, self.linked.offsets[1:], strict=False)
        return frozenset(number for number, (begin, end) in enumerate(ends) if good[begin:end].all())

    def _other(self, tables: Tables, cell: int, /) -> Ints | None:
        """A solution with another count in `cell` that these tables allow; None if there is none."""
        for end in (-1, 1):
            found = self._solution(tables, cell, end)
            if found is not None:
                return found
        return None

    def _solution(self, tables: Tables, cell: int, end: int, /) -> Ints | None:
        low, high = self._ranges(tables)
        value = self.values[cell]
        if end < 0:
            high[cell] = min(high[cell], value - 1)
        else:
            low[cell] = max(low[cell], value + 1)
        if low[cell] > high[cell]:
            return None
        self.solved += 1
        found, none = self.solutions.find(low, high, seconds=max(0.5, self.until - time.process_time()))
        if found is None and not none:
            raise _LateError
        return found

    def _ranges(self, tables: Tables, /) -> tuple[Ints, Ints]:
        """The ranges of all cells that these tables tell; of all others nothing is known."""
        low, high = np.zeros(self.low.size, np.int64), np.full(self.high.size, ENDLESS)
        for number in tables:
            here = slice(*self.linked.offsets[number : number + 2].tolist())
            low[here], high[here] = self.low[here], self.high[here]
        return low, high

    def learn(self, cells: Ints, bounds: Bounds, /, *, until: float) -> None:
        """Which tables the proofs of these cells rest on, and solutions without each of those tables in which many cells have other counts."""
        tables = frozenset[int]()
        for cell in cells.tolist():
            rests_on = self._tables_of(bounds.proof(cell))
            if rests_on:
                self.giving[cell] = [rests_on]
                tables |= rests_on
        rng = np.random.default_rng(0)
        near = np.maximum(self.low - _NEAR, 0), np.minimum(self.high, bounds.high) + _NEAR
        for one in sorted(tables):
            low, high = self._ranges(self.every - {one})
            low, high = np.maximum(low, near[0]), np.minimum(high, near[1])
            for _ in range(_TURNS):
                if time.process_time() > until:
                    return
                costs = np.zeros(low.size)
                costs[cells] = rng.choice([-1.0, 1.0], cells.size) * rng.uniform(0.5, 1.5, cells.size)
                left = max(0.5, self.until - time.process_time())
                self.solved += 1
                found, _ = self.solutions.find(low, high, seconds=left, costs=costs)
                if found is None:
                    break
                self.witnesses.append((found, self._fits(found)))

    def _tables_of(self, equations: Sequence[int], /) -> Tables:
        """The tables whose cells stand in these equations."""
        cells = self.linked.equations.take(np.asarray(equations, np.int64)).cells
        numbers = np.searchsorted(self.linked.offsets, cells, side="right") - 1
        return frozenset(numbers[cells < self.linked.offsets[-1]].tolist())


class _LateError(Exception):
    """Time ran out inside the solver."""


def _smallest(cell: int, search: _Search, /) -> GivenAway:
    """The smallest sets for one cell: by sets that must each be met, until the smallest candidate is an answer."""
    every, answers = search.every, list[Tables]()
    proven = False
    try:
        while not search.late:
            must = [every - one for one in search.hides(cell)]
            candidate = _hitting(must, [1.0] * len(every), barred=answers)
            if candidate is None or (answers and len(candidate) > len(answers[0])):
                proven = True
                break
            if search.gives(candidate, cell):
                answers.append(candidate)
            else:
                _grow(candidate, cell, search)
        if not answers:
            known = min(search.giving.get(cell, []), key=len, default=every)
            answers = [_shrunk(known, lambda one: search.gives(one, cell))]
    except _LateError:
        answers = answers or [every]
    sets = tuple(sorted(tuple(sorted(one)) for one in answers))
    return GivenAway(cell=cell, value=int(search.values[cell]), sets=sets, proven=proven)


def _grow(tables: Tables, cell: int, search: _Search, /) -> None:
    """Look for witnesses that more tables allow: each rules out more candidates."""
    tables = max((one for one in search.hides(cell) if tables <= one), key=len)
    for one in sorted(search.every - tables):
        if not search.gives(tables | {one}, cell):
            tables = max((known for known in search.hides(cell) if tables | {one} <= known), key=len)


def _shrunk(tables: Tables, gives: Callable[[Tables], bool], /) -> Tables:
    """A set within these of which no table can be spared."""
    for one in sorted(tables):
        if gives(tables - {one}):
            tables -= {one}
    return tables


def _hitting(
    must: Sequence[Tables], prices: Sequence[float], /, *, barred: Sequence[Tables] = ()
) -> Tables | None:
    """The cheapest tables that have one in common with each of `must` and contain none of `barred`; None if there are none."""
    from scipy.optimize import Bounds as SolverBounds
    from scipy.optimize import LinearConstraint, milp

    if not must:
        return None if any(not one for one in barred) else frozenset()
    rows = [[float(k in one) for k in range(len(prices))] for one in (*must, *barred)]
    low = [*(1.0 for _ in must), *(-np.inf for _ in barred)]
    high = [*(np.inf for _ in must), *(len(one) - 1.0 for one in barred)]
    answer = milp(
        c=np.asarray(prices, float),
        constraints=LinearConstraint(np.array(rows), low, high),
        bounds=SolverBounds(0, 1),
        integrality=np.ones(len(prices), np.int64),
    )
    return None if answer.x is None else frozenset(np.flatnonzero(answer.x > 0.5).tolist())


def _cheapest(
    cells: Ints, prices: Sequence[float], search: _Search, known: Sequence[Tables], /
) -> Tables | None:
    """The cheapest tables without which none of the cells is given away; None if time runs out first."""
    must = list(known)
    try:
        while not search.late:
            drop = _hitting(must, prices)
            if drop is None:
                return None
            left = search.every - drop
            still = next((int(cell) for cell in cells if search.gives(left, int(cell))), None)
            if still is None:
                return drop
            must.append(_shrunk(left, lambda one, cell=still: search.gives(one, cell)))  # type: ignore[misc]
    except _LateError:
        return None
    return None
