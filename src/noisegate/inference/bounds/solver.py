"""The solver under bounds: HiGHS kept warm, and the repair of a relaxed solution that is nearly whole."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.bounds.equations import ENDLESS, Equations, Ints

Floats = NDArray[np.float64]

#: A value this near to a count is that count; a dual price below this is none.
WHOLE, _PRICE = 1e-6, 1e-7
#: A repair may free cells that stand in up to so many equations beside those of the broken ones; its time in seconds, and how many
#: cells may be free, or a quarter of all. On the rounded tables of a census (3,800 cells) 150 cells are broken, 250 free, 12 ms.
_REACH, _STEP, _MOST_FREE = 2, 1.0, 1_000


class LinearSolver:
    """One HiGHS model of cells shifted to begin at 0; the aim changes, everything else stays.

    Relaxed programmes go on from the last optimum by the primal simplex method: another aim leaves it feasible. Where ranges change
    and aims do not, the dual one is the better.
    """

    def __init__(
        self, low: Ints, high: Ints, equations: Equations, /, *, whole: bool, dual: bool = False
    ) -> None:
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
            self._solver.setOptionValue("simplex_strategy", 1 if dual else 4)
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

    def within(self, low: Ints, high: Ints, /) -> None:
        """Keep all cells within other ranges."""
        most = np.where(high >= ENDLESS, math.inf, high - self._shift)
        every = np.arange(low.size, dtype=np.int32)
        self._solver.changeColsBounds(low.size, every, (low - self._shift).astype(np.float64), most)

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
        if value.size != self._shift.size or np.abs(value - near).max(initial=0.0) > WHOLE:
            return None
        return near.astype(np.int64) + self._shift


def repaired(
    value: Floats, low: Ints, high: Ints, equations: Equations, /, *, until: float
) -> tuple[Ints | None, int]:
    """A whole solution that differs from a relaxed one where that is broken, and close by; None if none was found; and programmes solved."""
    if value.size != low.size:
        return None, 0
    near = np.rint(value)
    broken = np.abs(value - near) > WHOLE
    counts, owner = near.astype(np.int64), equations.owner
    touched = np.zeros(len(equations), bool)
    touched[owner[broken[equations.cells]]] = True
    beside = np.bincount(equations.cells, weights=~touched[owner], minlength=low.size)
    for reach in range(_REACH + 1):
        free = broken | (beside <= reach)
        left = until - time.monotonic()
        if left <= 0 or free.sum() > max(_MOST_FREE, free.size // 4):
            return None, reach
        cells = np.flatnonzero(free)
        part, _ = equations.among(counts, free)
        local = Equations(
            starts=part.starts, cells=np.searchsorted(cells, part.cells), signs=part.signs, right=part.right
        )
        moved = whole_solution(low[cells], high[cells], local, seconds=min(_STEP, left))
        if moved is not None:
            counts[cells] = moved
            return counts, reach + 1
    return None, _REACH + 1


class WholeSolutions:
    """Whole solutions of one system of equations whose ranges change from one question to the next."""

    def __init__(self, low: Ints, high: Ints, equations: Equations, /) -> None:
        self._equations, self._low = equations, low
        self._solver = LinearSolver(low, high, equations, whole=False, dual=True)

    def find(
        self, low: Ints, high: Ints, /, *, seconds: float, costs: Floats | None = None
    ) -> tuple[Ints | None, bool]:
        """A whole solution within these ranges, None if none was found; and whether it is certain that there is none.

        Parameters
        ----------
        costs
            What to keep small, for every cell; then what is found need not be the best.
        """
        until = time.monotonic() + seconds
        every = np.arange(low.size)
        self._solver.within(low, high)
        self._solver.aim(every if costs is not None else every[:0], np.zeros(0) if costs is None else costs)
        status = self._solver.run(seconds)
        if status == "infeasible":
            return None, True
        if status == "optimal":
            solution = self._solver.whole_solution()
            if solution is None:
                solution, _ = repaired(
                    self._solver.value + self._low, low, high, self._equations, until=until
                )
            if solution is not None and (self._equations.sums_of(solution) == self._equations.right).all():
                return solution, False
        if costs is not None:
            return None, False
        solver = LinearSolver(low, high, self._equations, whole=True)
        status = solver.run(until - time.monotonic())
        return solver.whole_solution() if status == "optimal" else None, status == "infeasible"


def solvable(low: Ints, high: Ints, equations: Equations, /, *, whole: bool, seconds: float = 10.0) -> bool:
    """Whether there is a solution, in whole counts if `whole`; True if time runs out before that is known."""
    return LinearSolver(low, high, equations, whole=whole).run(seconds) != "infeasible"


def whole_solution(low: Ints, high: Ints, equations: Equations, /, *, seconds: float = 10.0) -> Ints | None:
    """One solution in whole counts; None if there is none, or none was found in time."""
    solver = LinearSolver(low, high, equations, whole=True)
    return solver.whole_solution() if solver.run(seconds) == "optimal" else None
