"""Bounds where cells stand in more than two equations: linear programmes kept warm, whole-number ones where those leave doubt.

Every whole solution that turns up shows what all its cells can be, so that most ends need no programme of their own. The
relaxed optimum, rounded inward, bounds the end, and its dual prices name the equations that prove it. Where no whole solution
attains that bound, an integer programme decides; if time runs out the bound stands, not proven to be sharp.

In tables of more than two dimensions relaxed optima are hardly ever whole. From one whole solution others are found by small
integer programmes: a few cells that share many equations are free, all others stay. Each takes milliseconds and shows new counts.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.bounds.equations import ENDLESS, Equations, Ints, Mask
from noisegate.inference.bounds.propagation import HIGH, LOW

Floats = NDArray[np.float64]

_WHOLE, _PRICE = 1e-6, 1e-7
#: Programmes with a random aim, to begin with, as long as each still shows something new.
_SCOUTS = 12
#: The share of the time left that the search for a first whole solution may take, and that any one end may take.
_FIRST, _EACH = 0.25, 0.05
#: Cells that are free in one step from a whole solution to the next, how many join at a time, and its time.
_FREE, _JOIN, _STEP = 150, 12, 1.0
#: Up to so many cells all are free.
_ALL_FREE = 24
#: So many steps in a row without anything new end the search; and the share of the time left that it may take.
_IDLE, _SEARCH = 60, 0.4


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


class _Solver:
    """One HiGHS model of cells shifted to begin at 0; the aim changes, everything else stays.

    Relaxed programmes go on from the last optimum by the primal simplex method: another aim leaves it feasible.
    """

    def __init__(self, low: Ints, high: Ints, equations: Equations, /, *, whole: bool) -> None:
        import highspy

        highs: Any = highspy.Highs
        self._core: Any = highspy
        self._shift = low
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = low.size, len(equations)
        model.col_cost_ = np.zeros(low.size)
        model.col_lower_ = np.zeros(low.size)
        width = (high - low).astype(np.float64)
        model.col_upper_ = np.where(high >= ENDLESS, math.inf, width)
        right = (equations.right - equations.sums_of(low)).astype(np.float64)
        model.row_lower_ = model.row_upper_ = right
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = equations.starts.astype(np.int32)
        model.a_matrix_.index_ = equations.cells.astype(np.int32)
        model.a_matrix_.value_ = equations.signs.astype(np.float64)
        self._solver = highs()
        if whole:
            model.integrality_ = [highspy.HighsVarType.kInteger] * low.size
        if not whole:
            self._solver.setOptionValue("presolve", "off")
            self._solver.setOptionValue("simplex_strategy", 4)
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 0.999),
            ("random_seed", 1),
        ):
            self._solver.setOptionValue(option, value)
        self._solver.passModel(model)
        self._aim: Ints = np.zeros(0, np.int64)

    def begin_at(self, solution: Ints, /) -> None:
        """Go on from a whole solution."""
        start = self._core.HighsSolution()
        start.col_value = (solution - self._shift).astype(np.float64).tolist()
        self._solver.setSolution(start)

    def loosen(self, gap: float, /) -> None:
        """Be content with a solution that is this share off the best."""
        self._solver.setOptionValue("mip_rel_gap", gap)

    def aim(self, cells: Ints, costs: Floats, /) -> None:
        """From now on, minimise the sum of `costs` times `cells`."""
        change = np.union1d(self._aim, cells)
        values = np.zeros(self._shift.size)
        values[cells] = costs
        self._solver.changeColsCost(change.size, change.astype(np.int32), values[change])
        self._aim = cells

    def narrow(self, cell: int, low: int, high: int, /) -> None:
        """Keep a cell within its bounds."""
        shift = int(self._shift[cell])
        most = math.inf if high >= ENDLESS else float(high - shift)
        self._solver.changeColBounds(int(cell), float(low - shift), most)

    def run(self, seconds: float, /) -> str:
        """`optimal`, `infeasible`, `unbounded`, or `open` if time ran out."""
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(seconds, 0.01))
        self._solver.run()
        status = self._solver.getModelStatus()
        kinds = self._core.HighsModelStatus
        if status == kinds.kOptimal:
            return "optimal"
        if status == kinds.kInfeasible:
            return "infeasible"
        if status in {kinds.kUnbounded, kinds.kUnboundedOrInfeasible}:
            return "unbounded"
        return "open"

    @property
    def value(self) -> Floats:
        """The solution, not shifted back."""
        return np.asarray(self._solver.getSolution().col_value)

    @property
    def goal(self) -> float:
        """The least value of the aim that is proven possible or not excluded."""
        info = self._solver.getInfo()
        return float(info.mip_dual_bound if info.mip_dual_bound > -1e29 else info.objective_function_value)

    @property
    def objective(self) -> float:
        """The value of the aim at the optimum."""
        return float(self._solver.getInfo().objective_function_value)

    def prices(self) -> tuple[Ints, Floats]:
        """The equations with a dual price, and that price."""
        duals = np.asarray(self._solver.getSolution().row_dual)
        rows = np.flatnonzero(np.abs(duals) > _PRICE)
        return rows, duals[rows]

    def whole_solution(self) -> Ints | None:
        """The solution as counts; None if they are not whole."""
        value = self.value
        near = np.rint(value)
        if value.size != self._shift.size or np.abs(value - near).max(initial=0.0) > _WHOLE:
            return None
        return near.astype(np.int64) + self._shift


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
        if work.has_whole:
            work.search(rng)
        work.relaxed()
        work.search(rng)
        work.whole()
    return work.found


class _Work:
    """One system under work."""

    def __init__(self, low: Ints, high: Ints, equations: Equations, /, *, until: float) -> None:
        self._solver = _Solver(low, high, equations, whole=False)
        self._integer = _Solver(low, high, equations, whole=True)
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
        self._owner = equations.owner

    @property
    def has_whole(self) -> bool:
        """Whether a whole solution is known."""
        return self._at is not None

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def _run(self) -> str:
        self.found.programmes += 1
        return self._solver.run(self._left)

    def _witness(self, solver: _Solver, /) -> bool:
        """Whether the solution at hand is whole, satisfies everything, and shows something new."""
        solution = solver.whole_solution()
        return solution is not None and self._seen(solution)

    def _seen(self, solution: Ints, /) -> bool:
        """Whether counts satisfy everything and show something new."""
        if (self._equations.sums_of(solution) != self._equations.right).any():
            return False
        if (solution < self._low).any() or (solution > self._high).any():
            return False
        found = self.found
        self._at = solution
        new = bool((solution < found.seen_low).any() or (solution > found.seen_high).any())
        np.minimum(found.seen_low, solution, out=found.seen_low)
        np.maximum(found.seen_high, solution, out=found.seen_high)
        return new

    def begin(self) -> bool:
        """Whether there is a solution; the first whole one becomes a witness."""
        status = self._run()
        if status == "infeasible":
            self.found.infeasible = "relaxed"
            return False
        if status != "optimal":
            return False
        if not self._witness(self._solver):
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
        """Aims at many ends at once, as long as that shows new counts."""
        for turn in range(_SCOUTS):
            open_low, open_high = self._open()
            cells = np.flatnonzero(open_low | open_high)
            if not cells.size or self._left <= 0:
                return
            costs = rng.uniform(0.5, 1.5, cells.size)
            down = open_low[cells] & (~open_high[cells] | (rng.random(cells.size) < 0.5))
            if turn < 2:
                down = open_low[cells] if turn else ~open_high[cells]
            self._solver.aim(cells, np.where(down, costs, -costs))
            if self._run() != "optimal" or not self._witness(self._solver):
                return

    def search(self, rng: np.random.Generator, /) -> None:
        """Goes from one whole solution to others nearby, towards ends that none attains yet, as long as that shows new counts."""
        if self._at is None:
            self._first(0.5)
        until, idle = time.monotonic() + _SEARCH * self._left, 0
        while self._at is not None and idle < _IDLE and time.monotonic() < until:
            low, high = self._open()
            ends = np.flatnonzero(low | high)
            if not ends.size:
                return
            idle = 0 if self._step(int(rng.choice(ends)), low, high, rng) else idle + 1

    def _step(self, target: int, low: Mask, high: Mask, rng: np.random.Generator, /) -> bool:
        """One small integer programme around a cell; whether it showed anything new."""
        assert self._at is not None
        free = self._around(target, rng)
        cells = np.flatnonzero(free)
        part, _ = self._equations.among(self._at, free)
        local = Equations(
            starts=part.starts,
            cells=np.searchsorted(cells, part.cells),
            signs=part.signs,
            right=part.right,
        )
        solver = _Solver(self._low[cells], self._high[cells], local, whole=True)
        solver.loosen(0.3)
        down = low[cells] & (~high[cells] | (rng.random(cells.size) < 0.5))
        costs = np.where(down, 1.0, np.where(high[cells], -1.0, 0.0)) * rng.uniform(0.5, 1.5, cells.size)
        costs[cells == target] *= 10
        solver.aim(np.arange(cells.size), costs)
        solver.begin_at(self._at[cells])
        self.found.integer_programmes += 1
        solver.run(min(_STEP, max(self._left, 0.01)))
        moved = solver.whole_solution()
        if moved is None:
            return False
        whole = self._at.copy()
        whole[cells] = moved
        return self._seen(whole)

    def _around(self, target: int, rng: np.random.Generator, /) -> Mask:
        """A cell and others that share many equations with it and with each other: there solutions can move."""
        size, terms, owner = self._low.size, self._equations.cells, self._owner
        most, join = min(_FREE, size // 2), min(_JOIN, max(size // 8, 1))
        free = np.zeros(size, bool)
        free[target] = True
        if size <= _ALL_FREE:
            return ~np.zeros(size, bool)
        score = rng.random(size)
        new = free
        while free.sum() < most:
            touched = np.bincount(owner[new[terms]], minlength=len(self._equations))
            score += np.bincount(terms, weights=touched[owner], minlength=size) * rng.random(size)
            best = np.argpartition(np.where(free, np.inf, -score), join)[:join]
            new = np.zeros(size, bool)
            new[best] = True
            new &= ~free
            free |= new
        return free

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
        self._witness(self._solver)
        goal = self._solver.objective
        shift = int(self._low[cell])
        bound = math.ceil(goal - _WHOLE) + shift if end == LOW else math.floor(-goal + _WHOLE) + shift
        if (bound > found.low[cell]) if end == LOW else (bound < found.high[cell]):
            found.prices[cell, end] = self._solver.prices()
            self._set(cell, end, bound)
        if self._open()[end][cell]:
            self._doubtful.append((cell, end))

    def _set(self, cell: int, end: int, bound: int, /) -> None:
        found = self.found
        if end == LOW:
            found.low[cell] = bound
        else:
            found.high[cell] = bound

    def whole(self) -> None:
        """An integer programme for each end that no whole solution attains."""
        for cell, end in self._doubtful:
            if self._left <= 0:
                return
            if self._open()[end][cell]:
                self._whole_end(cell, end)

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
        bound = math.ceil(goal - _WHOLE) + shift if end == LOW else math.floor(-goal + _WHOLE) + shift
        if (bound > found.low[cell]) if end == LOW else (bound < found.high[cell]):
            found.prices[cell, end] = (np.arange(len(self._equations)), None)
            self._set(cell, end, bound)


def solvable(low: Ints, high: Ints, equations: Equations, /, *, whole: bool, seconds: float = 10.0) -> bool:
    """Whether there is a solution, in whole counts if `whole`; True if time runs out before that is known."""
    return _Solver(low, high, equations, whole=whole).run(seconds) != "infeasible"


def whole_solution(low: Ints, high: Ints, equations: Equations, /, *, seconds: float = 10.0) -> Ints | None:
    """One solution in whole counts; None if there is none, or none was found in time."""
    solver = _Solver(low, high, equations, whole=True)
    return solver.whole_solution() if solver.run(seconds) == "optimal" else None
