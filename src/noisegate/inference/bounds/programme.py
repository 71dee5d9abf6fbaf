"""Bounds where cells stand in more than two equations: linear programmes kept warm, whole-number ones where those leave doubt.

Every whole solution that turns up shows what all its cells can be, so that most ends need no programme of their own. The
relaxed optimum, rounded inward, bounds the end, and its dual prices name the equations that prove it. Where no whole solution
attains that bound, an integer programme decides; if time runs out the bound stands, not proven to be sharp.

In tables of more than two dimensions relaxed optima are hardly ever whole, but nearly: the cells that are not, together with those
that stand in no other equations than these, are solved once more in whole counts while all other cells stay. Such a repair
takes milliseconds, and from then on one relaxed optimum towards many ends at once shows counts of many cells.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from noisegate.inference.bounds.equations import ENDLESS, Equations, Ints, Mask
from noisegate.inference.bounds.propagation import HIGH, LOW
from noisegate.inference.bounds.solver import WHOLE, Floats, LinearSolver, repaired

#: Programmes towards many ends at once, at most; another one follows as long as the last attained this share of the open ends.
_SCOUTS, _WORTH = 60, 0.02
#: The share of the time left that the search for a first whole solution may take, and that any one end may take.
_FIRST, _EACH = 0.25, 0.05


@dataclass(slots=True, kw_only=True, eq=False)
class ProgrammeBounds:
    """What programmes say of the cells; filled while they are solved.

    Attributes
    ----------
    low, high
        Proven bounds.
    seen_low, seen_high
        The least and the largest count of each cell in whole solutions.
    prices
        By cell and end: the equations that prove the bound, and the multiplier of each; None for these where only the
        search of an integer programme proves it.
    infeasible
        `relaxed` if there is no solution at all, `whole` if there is none in whole counts.
    """

    low: Ints
    high: Ints
    seen_low: Ints
    seen_high: Ints
    prices: dict[tuple[int, int], tuple[Ints, Floats | None]] = field(default_factory=dict)
    infeasible: str = ""
    programmes: int = 0
    integer_programmes: int = 0

    @property
    def sharp(self) -> Mask:
        """Whether both bounds are attained by whole solutions."""
        return np.asarray((self.seen_low == self.low) & (self.seen_high == self.high))


def programme_bounds(
    low: Ints,
    high: Ints,
    equations: Equations,
    /,
    *,
    until: float,
    seed: int = 0,
) -> ProgrammeBounds:
    """Bounds of all cells under all equations together, by the clock's time `until` (`time.monotonic`)."""
    work = _Work(low, high, equations, until=until)
    if work.begin():
        rng = np.random.default_rng(seed)
        work.scout(rng)
        work.relaxed()
        work.narrow()
        work.scout(rng)
        work.whole()
    return work.found


class _Work:
    """One system under work."""

    def __init__(self, low: Ints, high: Ints, equations: Equations, /, *, until: float) -> None:
        self._solver = LinearSolver(low, high, equations, whole=False)
        self._integer = LinearSolver(low, high, equations, whole=True)
        self._equations, self._until = equations, until
        self._low, self._high = low, high
        self.found = ProgrammeBounds(
            low=low.copy(),
            high=high.copy(),
            seen_low=np.full(low.size, np.iinfo(np.int64).max),
            seen_high=np.full(low.size, np.iinfo(np.int64).min),
        )
        self._doubtful: list[tuple[int, int]] = []
        self._at: Ints | None = None

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def _run(self) -> str:
        self.found.programmes += 1
        return self._solver.run(self._left)

    def _witness(self, solver: LinearSolver, /) -> bool:
        """Whether the solution at hand is whole and satisfies everything."""
        solution = solver.whole_solution()
        return solution is not None and self._seen(solution)

    def _shown(self) -> bool:
        """Whether the relaxed solution at hand is whole, or a repair makes it so."""
        return self._witness(self._solver) or self._repaired()

    def _repaired(self) -> bool:
        """Whether a repair of the relaxed solution is whole and satisfies everything."""
        found = self.found
        solution, tries = repaired(
            self._solver.value + self._low, found.low, found.high, self._equations, until=self._until
        )
        found.integer_programmes += tries
        return solution is not None and self._seen(solution)

    def _seen(self, solution: Ints, /) -> bool:
        """Whether counts satisfy everything; if so, what they show is kept."""
        if (self._equations.sums_of(solution) != self._equations.right).any():
            return False
        if (solution < self._low).any() or (solution > self._high).any():
            return False
        found = self.found
        self._at = solution
        np.minimum(found.seen_low, solution, out=found.seen_low)
        np.maximum(found.seen_high, solution, out=found.seen_high)
        return True

    def begin(self) -> bool:
        """Whether there is a solution; the first whole one becomes a witness."""
        status = self._run()
        if status == "infeasible":
            self.found.infeasible = "relaxed"
            return False
        if status != "optimal":
            return False
        if not self._shown():
            self._first(_FIRST)
        return not self.found.infeasible

    def _first(self, share: float, /) -> None:
        """Looks for a first whole solution, for a share of the time left."""
        self.found.integer_programmes += 1
        status = self._integer.run(share * self._left)
        if status == "infeasible":
            self.found.infeasible = "whole"
        elif status == "optimal":
            self._witness(self._integer)

    def scout(self, rng: np.random.Generator, /) -> None:
        """Aims at many ends at once, as long as that attains a good share of those that are open."""
        for _ in range(_SCOUTS):
            low, high = self._open()
            cells = np.flatnonzero(low | high)
            if not cells.size or self._left <= 0:
                return
            down = low[cells] & (~high[cells] | (rng.random(cells.size) < 0.5))
            self._solver.aim(cells, np.where(down, 1.0, -1.0) * rng.uniform(0.5, 1.5, cells.size))
            before = int(low.sum() + high.sum())
            if self._run() != "optimal" or not self._shown():
                return
            low, high = self._open()
            if before - int(low.sum() + high.sum()) < max(1, _WORTH * before):
                return

    def _open(self) -> tuple[Mask, Mask]:
        """Which lower and which upper ends no whole solution attains yet."""
        found = self.found
        return np.asarray(found.seen_low > found.low), np.asarray(found.seen_high < found.high)

    def relaxed(self) -> None:
        """One programme for each end that is still open; what it bounds, and whether that is attained."""
        for cell in range(self._low.size):
            for end in (LOW, HIGH):
                if self._left <= 0:
                    return
                if self._open()[end][cell]:
                    self._relaxed_end(cell, end)

    def _relaxed_end(self, cell: int, end: int, /) -> None:
        found = self.found
        self._solver.aim(np.array([cell]), np.array([1.0 if end == LOW else -1.0]))
        status = self._run()
        if status == "unbounded" and end == HIGH and found.high[cell] >= ENDLESS:
            found.seen_high[cell] = ENDLESS
        if status != "optimal":
            return
        self._shown()
        goal = self._solver.objective
        shift = int(self._low[cell])
        bound = math.ceil(goal - WHOLE) + shift if end == LOW else math.floor(-goal + WHOLE) + shift
        if (bound > found.low[cell]) if end == LOW else (bound < found.high[cell]):
            self._set(cell, end, bound, self._solver.prices())
        if self._open()[end][cell]:
            self._doubtful.append((cell, end))

    def _set(self, cell: int, end: int, bound: int, prices: tuple[Ints, Floats | None], /) -> None:
        found = self.found
        found.prices[cell, end] = prices
        if end == LOW:
            found.low[cell] = bound
        else:
            found.high[cell] = bound

    def narrow(self) -> None:
        """From now on the programmes know the bounds that were found: whole solutions keep to them."""
        found = self.found
        for cell in np.flatnonzero((found.low > self._low) | (found.high < self._high)).tolist():
            for solver in (self._solver, self._integer):
                solver.narrow(cell, int(found.low[cell]), int(found.high[cell]))

    def whole(self) -> None:
        """Whether whole solutions attain the ends that none does yet."""
        for cell, end in self._doubtful:
            status = "infeasible"
            while self._left > 0 and self._open()[end][cell] and status == "infeasible":
                status = self._attain(cell, end)
                if status == "infeasible":
                    self._set(cell, end, self._next(cell, end), (np.arange(len(self._equations)), None))
            if self._left > 0 and self._open()[end][cell]:
                self._whole_end(cell, end)

    def _attain(self, cell: int, end: int, /) -> str:
        """Looks for a whole solution that attains an end; `optimal` if there is one, `infeasible` if there is none."""
        found = self.found
        bound = int((found.high if end else found.low)[cell])
        for solver in (self._solver, self._integer):
            solver.narrow(cell, bound, bound)
            solver.aim(np.zeros(0, np.int64), np.zeros(0))
        status = self._run()
        if status == "optimal" and not self._shown():
            found.integer_programmes += 1
            status = self._integer.run(_EACH * self._left)
            self._witness(self._integer)
        for solver in (self._solver, self._integer):
            solver.narrow(cell, int(found.low[cell]), int(found.high[cell]))
        return status

    def _next(self, cell: int, end: int, /) -> int:
        """The count after an end that no solution attains."""
        return int(self.found.low[cell]) + 1 if end == LOW else int(self.found.high[cell]) - 1

    def _whole_end(self, cell: int, end: int, /) -> None:
        found, solver = self.found, self._integer
        found.integer_programmes += 1
        solver.narrow(cell, int(found.low[cell]), int(found.high[cell]))
        solver.aim(np.array([cell]), np.array([1.0 if end == LOW else -1.0]))
        if self._at is not None:
            solver.begin_at(self._at)
        status = solver.run(min(self._left, max(1.0, _EACH * self._left)))
        self._witness(solver)
        if status not in {"optimal", "open"}:
            return
        goal, shift = solver.goal, int(self._low[cell])
        bound = math.ceil(goal - WHOLE) + shift if end == LOW else math.floor(-goal + WHOLE) + shift
        if (bound > found.low[cell]) if end == LOW else (bound < found.high[cell]):
            self._set(cell, end, bound, (np.arange(len(self._equations)), None))
