"""Bounds of every hidden cell, jointly over all equations, and the equations that prove them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError
from noisegate.inference.bounds.equations import ENDLESS, Contradiction, Equations, Ints, Mask
from noisegate.inference.bounds.network import FlowBounds, as_graph, flow_bounds
from noisegate.inference.bounds.programme import ProgrammeBounds, programme_bounds
from noisegate.inference.bounds.propagation import HIGH, LOW, Narrowed, narrow
from noisegate.inference.bounds.solver import solvable
from noisegate.inference.linked.problem import components

Way = Literal["propagation", "network", "programme"]

#: Among so many contradictory equations those that can be left out are looked for one by one; of more, in groups.
_ONE_BY_ONE = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """Open cells that hang together, their equations, and what was found of them."""

    cells: Ints
    rows: Ints
    flow: FlowBounds | None = None
    programme: ProgrammeBounds | None = None

    def multipliers(self, place: int, end: int, /) -> tuple[Ints, NDArray[np.float64] | None] | None:
        """Equations whose combination proves an end of the cell at `place`; None if the end is as it came."""
        if self.flow is not None:
            cut = int(self.flow.cuts[place, end])
            if cut < 0:
                return None
            rows = self.flow.sets[cut]
            return self.rows[rows], self.flow.flips[rows].astype(np.float64)
        if self.programme is None or (place, end) not in self.programme.prices:
            return None
        rows, prices = self.programme.prices[place, end]
        return self.rows[rows], prices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """What equations and ranges together say of every cell.

    Attributes
    ----------
    low, high
        No solution in whole counts lies outside; `high` is `ENDLESS` where nothing bounds it.
    sharp
        Whether it is proven that solutions attain both ends. Where it is not, time ran out or the equations contradict
        each other: the ends hold all the same, but may not be the best.
    contradictions
        Families of equations that cannot hold together. Cells that hang together with one keep the ranges that they
        came with.
    ways
        How many open cells each method was needed for.
    """

    low: Ints
    high: Ints
    sharp: Mask
    contradictions: tuple[Contradiction, ...]
    ways: dict[Way, int]
    seconds: float
    _given: tuple[Ints, Ints] = field(repr=False)
    _narrowed: Narrowed = field(repr=False)
    _parts: tuple[_Part, ...] = field(repr=False)
    _part_of: Ints = field(repr=False)

    @property
    def exact(self) -> Mask:
        """Which cells came with a range of several counts, of which one is left."""
        low, high = self._given
        return np.asarray((low < high) & (self.low == self.high))

    @property
    def narrowed(self) -> Mask:
        """Which cells have fewer possible counts than they came with."""
        low, high = self._given
        return np.asarray((self.low > low) | (self.high < high))

    def proof(self, cell: int, /) -> tuple[int, ...]:
        """The equations that prove the bounds of a cell, ascending; empty if its bounds are the range it came with."""
        low, high = self._given
        moved = ((LOW, self.low[cell] > low[cell]), (HIGH, self.high[cell] < high[cell]))
        found = [self._end_proof(cell, end) for end, is_moved in moved if is_moved]
        return tuple(np.unique(np.concatenate([np.zeros(0, np.int64), *found])).tolist())

    def _end_proof(self, cell: int, end: int, /) -> Ints:
        """The equations that prove one end of one cell."""
        number = int(self._part_of[cell])
        part = self._parts[number] if number >= 0 else None
        combined = None if part is None else part.multipliers(int(np.searchsorted(part.cells, cell)), end)
        if combined is None:
            return self._narrowed.proof(np.array([[cell, end]], np.int64))
        rows, multipliers = combined
        ends = _ends_used(self._narrowed.equations.take(rows), multipliers, cell, end)
        return np.union1d(rows, self._narrowed.proof(ends))


def _ends_used(equations: Equations, multipliers: NDArray[np.float64] | None, cell: int, end: int, /) -> Ints:
    """The ends of other cells, shape (n, 2), that bound one end of `cell` in a combination of equations."""
    cells, place = np.unique(equations.cells, return_inverse=True)
    if multipliers is None:
        return np.stack([np.repeat(cells, 2), np.tile([LOW, HIGH], cells.size)], axis=1)
    weights = multipliers[equations.owner] * equations.signs
    total = np.bincount(place, weights=weights, minlength=cells.size)
    own = total[np.searchsorted(cells, cell)]
    used = (np.abs(total) > 1e-7) & (cells != cell)
    least = (total > 0) == ((own > 0) == (end == HIGH))
    ends: Ints = np.stack([cells, np.where(least, LOW, HIGH)], axis=1)[used]
    return ends


def solve_bounds(
    low: Ints,
    high: Ints,
    equations: Equations,
    /,
    *,
    seconds: float = 60.0,
) -> Bounds:
    """The least and the largest count that every cell can have.

    Parameters
    ----------
    low, high
        What is known of each cell alone: equal where it is published exactly; `ENDLESS` is no upper end.
    equations
        What the counts satisfy together.
    seconds
        When to stop looking for sharper bounds; 0 is by one equation at a time alone.

    Examples
    --------
    Two hidden cells of 1 to 4 and their total of 8:

    >>> found = solve_bounds(np.array([1, 1, 8]), np.array([4, 4, 8]), Equations.of([([0, 1], [2])]))
    >>> found.low.tolist(), found.high.tolist(), found.proof(0)
    ([4, 4, 8], [4, 4, 8], (0,))
    """
    work = _Solving(low.astype(np.int64), np.minimum(high, ENDLESS).astype(np.int64), equations, seconds)
    work.propagate()
    if seconds > 0:
        work.solve_parts()
    return work.result()


class _Solving:
    """One system under work: what is known so far."""

    def __init__(self, low: Ints, high: Ints, equations: Equations, seconds: float, /) -> None:
        if (low > high).any():
            raise InternalError("a range of counts ends before it begins")
        self._begun, self._seconds = time.monotonic(), seconds
        self._given, self._equations = (low, high), equations
        self._contradictions: list[Contradiction] = []
        self._blamed = np.zeros(len(equations), bool)
        self._parts: list[_Part] = []
        self._part_of = np.full(low.size, -1, np.int64)
        self._ways: dict[Way, int] = {"propagation": 0, "network": 0, "programme": 0}

    @property
    def _until(self) -> float:
        return self._begun + self._seconds

    def propagate(self) -> None:
        """Ranges from single equations; contradictory ones are set aside with all that hangs together with them."""
        low, high = self._given
        group = _groups(self._equations, low < high)
        alone = _impossible(low, high, self._equations)
        self._contradictions += [Contradiction(equations=(int(row),)) for row in np.flatnonzero(alone)]
        self._blamed = np.isin(group, group[alone])
        while True:
            sound = np.flatnonzero(~self._blamed)
            narrowed = narrow(low, high, self._equations.take(sound))
            if narrowed.conflict < 0:
                break
            family = sound[narrowed.conflict_proof()]
            self._blame(family, group)
        self._narrowed = _renumbered(narrowed, self._equations, sound)
        self._low, self._high = narrowed.low.copy(), narrowed.high.copy()
        self._sharp = narrowed.low == narrowed.high

    def _blame(self, family: Ints, group: Ints, /) -> None:
        self._contradictions.append(smallest_contradiction(*self._given, self._equations, family))
        self._blamed |= group == group[family[0]]

    def solve_parts(self) -> None:
        """Every part of the cells that propagation left open, by the method that suits it."""
        open_cells = self._low < self._high
        rows = np.flatnonzero(~self._blamed)
        cells_in_use = np.zeros(open_cells.size, bool)
        sound = self._equations.take(rows)
        cells_in_use[sound.cells] = True
        blamed_cells = np.zeros(open_cells.size, bool)
        blamed_cells[self._equations.take(self._blamed).cells] = True
        self._sharp |= ~cells_in_use & ~blamed_cells
        reduced, kept = sound.among(self._low, open_cells)
        groups = _groups(reduced, open_cells)
        order = np.argsort(groups, kind="stable")
        edges = np.flatnonzero(np.diff(groups[order], prepend=-1, append=-1))
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self._solve_part(reduced, order[begin:end], rows[kept])

    def _solve_part(self, reduced: Equations, members: Ints, numbers: Ints, /) -> None:
        """One part: equations `members` of `reduced`, which have these `numbers` among all."""
        mine = reduced.take(np.sort(members))
        cells = np.unique(mine.cells)
        local = Equations(
            starts=mine.starts, cells=np.searchsorted(cells, mine.cells), signs=mine.signs, right=mine.right
        )
        low, high = self._low[cells], self._high[cells]
        part = _Part(cells=cells, rows=numbers[np.sort(members)])
        if len(local) == 1 and self._narrowed.settled:
            self._ways["propagation"] += cells.size
            self._sharp[cells] = True
            return
        graph = as_graph(local, cells.size)
        if graph is not None:
            flow = flow_bounds(low, high, local, graph, until=self._until)
            self._keep(_Part(cells=cells, rows=part.rows, flow=flow), "network")
        else:
            found = programme_bounds(low, high, local, until=self._until)
            self._keep(_Part(cells=cells, rows=part.rows, programme=found), "programme")

    def _keep(self, part: _Part, way: Way, /) -> None:
        """Takes over what was found of a part, or what contradicts itself in it."""
        self._ways[way] += part.cells.size
        conflict = _conflict_of(part)
        if conflict is not None:
            rows = part.rows[conflict]
            used = self._equations.take(rows).cells
            ends = np.stack([np.repeat(used, 2), np.tile([LOW, HIGH], used.size)], axis=1)
            family = np.union1d(rows, self._narrowed.proof(ends))
            self._contradictions.append(smallest_contradiction(*self._given, self._equations, family))
            given_low, given_high = self._given
            self._low[part.cells], self._high[part.cells] = given_low[part.cells], given_high[part.cells]
            return
        found = part.flow if part.flow is not None else part.programme
        if found is None:
            raise InternalError("a part of the cells was not solved")
        self._low[part.cells], self._high[part.cells] = found.low, found.high
        self._sharp[part.cells] = found.sharp
        self._part_of[part.cells] = len(self._parts)
        self._parts.append(part)

    def result(self) -> Bounds:
        """All of it."""
        return Bounds(
            low=self._low,
            high=self._high,
            sharp=self._sharp,
            contradictions=tuple(self._contradictions),
            ways=self._ways,
            seconds=time.monotonic() - self._begun,
            _given=self._given,
            _narrowed=self._narrowed,
            _parts=tuple(self._parts),
            _part_of=self._part_of,
        )


def _conflict_of(part: _Part, /) -> Ints | None:
    """The equations of a part that contradict each other, by their place in it; None if none do."""
    if part.flow is not None:
        return part.flow.conflict
    if part.programme is not None and part.programme.infeasible:
        return np.arange(part.rows.size)
    return None


def _groups(equations: Equations, joins: Mask, /) -> Ints:
    """For each equation the number of the group that hangs together through cells in `joins`."""
    used = joins[equations.cells]
    size = len(equations) + joins.size
    group = components(equations.owner[used], equations.cells[used] + len(equations), size)
    return group[: len(equations)]


def _impossible(low: Ints, high: Ints, equations: Equations, /) -> Mask:
    """Which equations no counts within the ranges satisfy."""
    plus = equations.signs > 0
    ends = np.stack([low[equations.cells], high[equations.cells]])
    least = np.where(plus, ends[0], -ends[1])
    most = np.where(plus, ends[1], -ends[0])
    sums = [np.concatenate([[0], np.cumsum(terms)]) for terms in (least, most)]
    first, last = (one[equations.starts[1:]] - one[equations.starts[:-1]] for one in sums)
    return np.asarray((first > equations.right) | (last < equations.right))


def _renumbered(narrowed: Narrowed, equations: Equations, numbers: Ints, /) -> Narrowed:
    """The log in terms of all equations, where it was made with those of these numbers."""
    steps = narrowed.steps.copy()
    steps[:, 2] = numbers[steps[:, 2]]
    return Narrowed(
        equations=equations,
        low=narrowed.low,
        high=narrowed.high,
        conflict=-1,
        settled=narrowed.settled,
        last=narrowed.last,
        steps=steps,
    )


def smallest_contradiction(
    low: Ints, high: Ints, equations: Equations, family: Ints, /, *, seconds: float = 10.0
) -> Contradiction:
    """A family of contradictory equations within `family` of which none can be left out.

    Parameters
    ----------
    seconds
        When to stop leaving out; what is left then is contradictory, but may be larger than it need be.
    """
    until = time.monotonic() + seconds
    kept = family
    if not _consistent(low, high, equations.take(family), whole=False):
        kept = _shortened(low, high, equations, kept, whole=False, until=until)
    if kept.size <= _ONE_BY_ONE:
        kept = _shortened(low, high, equations, kept, whole=True, until=until)
    whole = _consistent(low, high, equations.take(kept), whole=False)
    return Contradiction(equations=tuple(kept.tolist()), whole=whole)


def _shortened(
    low: Ints, high: Ints, equations: Equations, family: Ints, /, *, whole: bool, until: float
) -> Ints:
    """The family without what can be left out of it, in groups first, then one by one."""
    kept, step = family, max(1, family.size // _ONE_BY_ONE)
    while time.monotonic() < until:
        at = 0
        while at < kept.size and kept.size > 1 and time.monotonic() < until:
            fewer = np.delete(kept, slice(at, at + step))
            if fewer.size and not _consistent(low, high, equations.take(fewer), whole=whole):
                kept = fewer
            else:
                at += step
        if step == 1:
            break
        step = max(1, step // 4)
    return kept


def _consistent(low: Ints, high: Ints, equations: Equations, /, *, whole: bool) -> bool:
    """Whether equations can hold; with `whole` false, for counts that need not be whole."""
    cells = np.unique(equations.cells)
    local = Equations(
        starts=equations.starts,
        cells=np.searchsorted(cells, equations.cells),
        signs=equations.signs,
        right=equations.right,
    )
    narrowed = narrow(low[cells], high[cells], local)
    if narrowed.conflict >= 0:
        return False
    open_cells = narrowed.low < narrowed.high
    reduced, _ = local.among(narrowed.low, open_cells)
    if not len(reduced):
        return True
    return solvable(narrowed.low, narrowed.high, reduced, whole=whole)
