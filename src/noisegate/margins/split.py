"""How to share one budget among the base and its margins.

With Laplace noise losses add up: a table measured with share s of epsilon has standard deviation proportional to 1/s, and
the L1 sensitivity is the same in every table, since each counts the same events. With Gaussian noise squared losses add up:
share s of rho gives a variance of w/s, w being the squared L2 sensitivity of the table over that of the base. That is 1
for the base; in a margin all cells of a unit may fall into one cell, so w can be as large as the number of cells that a
unit is in. The same shares would be far from best for both.

Against *derive* (the whole budget on the base, margins summed from it) the error of table T is then

    ratio_T(s) = sd of T after reconciling, with shares s  /  sd of T by derive,

which depends on sizes, shares and w alone: the budget itself cancels. For the base it is a little below 1/s_base (Gaussian:
its square root); for a margin of n cells measured alone it is 1/(s_T sqrt(n)) (Gaussian: sqrt(w/(s_T n))).

The default split minimises the sum of ratio_T over the declared tables, the base among them, subject to

* ratio_T <= `goal` (one third) for every margin for which that is affordable, and
* the base keeps at least `base_floor` (one half).

A margin of n cells needs a share of about 1/(goal sqrt(n)), or w/(goal^2 n), to reach the goal. Goals are granted from the largest n
down while their shares fit into 1 - `base_floor`. A margin of few cells (n < w/goal^2) can
never reach it; it still counts in the sum, and gets no share at all where measuring it does not pay.

The ratios describe the signed estimate. Published counts are made non-negative afterwards, which
lowers the base's error where counts are small; `docs/explanation/margins.md` has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError, SpecError
from noisegate.margins.descent import descend
from noisegate.margins.design import Design, MeasuredTable, Table, TableShape, subsets
from noisegate.margins.nested import NestedDesign, NestedShape

_STEPS = 1000
_MOST_STARTS = 16
_LEAST_SHARE = 1e-9
Floats = NDArray[np.float64]
AnyShape = TableShape | NestedShape


def error_ratios(
    shape: TableShape,
    shares: Mapping[Table, Fraction],
    /,
    *,
    squares: Mapping[Table, float | Fraction] | None = None,
) -> dict[Table, float]:
    """Standard deviation of each table after reconciling, over that of `derive` with the same budget.

    A table with share 0 is not measured; it is summed from the reconciled base. `squares` as for `best_split`.

    Examples
    --------
    >>> shape = TableShape(axes=("time", "location"), sizes=(96, 500))
    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> ratios = error_ratios(shape, {shape.axes: half, ("time",): quarter, ("location",): quarter})
    >>> round(ratios[("time",)], 3), round(ratios[("location",)], 3)
    (0.178, 0.4)
    """
    _check_shares(shape, shares)
    values = [float(share) for share in shares.values()]
    budget = _Budget.of(squares, shape.axes)
    return dict(zip(shares, _ratios(shape, list(shares), values, budget), strict=True))


def best_split(
    shapes: AnyShape | Sequence[AnyShape],
    tables: Mapping[str, Iterable[str]],
    /,
    *,
    goal: Fraction = Fraction(1, 3),
    base_floor: Fraction = Fraction(1, 2),
    squares: Mapping[str, float | Fraction] | None = None,
) -> dict[str, Fraction]:
    """The share of the budget for each named table: exact rationals that sum to 1.

    `squares` is the squared L2 sensitivity of each table, and shares are then of rho, as Gaussian noise has it. Without it
    the noise is Laplace's: shares are of epsilon, and the sensitivity is the same in every table. The objective is in the
    module's docstring. A domain in several pieces has several shapes over the same axes; ratios are then means over
    pieces, weighted by their cells.

    Examples
    --------
    >>> shape = TableShape(axes=("day", "time", "location"), sizes=(14, 96, 500))
    >>> tables = {"base": shape.axes, "time": ("day", "time"), "loc": ("day", "location")}
    >>> split = best_split(shape, tables)
    >>> sum(split.values()), split["base"] > Fraction(1, 2)
    (Fraction(1, 1), True)
    """
    if not (0 < goal < 1 and 0 < base_floor < 1):
        raise SpecError(
            f"goal and base_floor must lie strictly between 0 and 1, got {goal} and {base_floor}."
        )
    pieces = (shapes,) if isinstance(shapes, TableShape | NestedShape) else tuple(shapes)
    shape = pieces[0]
    named = {name: tuple(axis for axis in shape.axes if axis in set(axes)) for name, axes in tables.items()}
    for axes in tables.values():
        shape.table(axes)
    if len(set(named.values())) != len(named):
        raise SpecError("two tables have the same dimensions; declare each table once.")
    if shape.axes not in named.values():
        raise SpecError("the tables to split epsilon over must include the base, which keeps all dimensions.")
    weights = None if squares is None else {named[name]: square for name, square in squares.items()}
    problem = _Problem(
        pieces=pieces,
        budget=_Budget.of(weights, shape.axes),
        margins=tuple(table for table in named.values() if table != shape.axes),
        goal=float(goal),
        base_floor=float(base_floor),
    )
    shares = problem.solve()
    return {name: shares[table] for name, table in named.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budget:
    """How noisy a table is with a share of the budget; `weights` is None if losses add up, else if their squares do."""

    weights: Mapping[Table, float] | None

    @classmethod
    def of(cls, squares: Mapping[Table, float | Fraction] | None, base: Table, /) -> _Budget:
        """With squared L2 sensitivities, or without."""
        if squares is None:
            return cls(weights=None)
        return cls(weights={table: float(square / squares[base]) for table, square in squares.items()})

    def variance(self, table: Table, share: float, /) -> float:
        """Over that of the base with the whole budget."""
        return share**-2 if self.weights is None else self.weights[table] / share

    def share(self, table: Table, variance: float, /) -> float:
        """The share that gives this variance."""
        return variance**-0.5 if self.weights is None else self.weights[table] / variance


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """The minimisation over the margins' shares; the base has what they leave."""

    pieces: tuple[AnyShape, ...]
    budget: _Budget
    margins: tuple[Table, ...]
    goal: float
    base_floor: float

    def solve(self) -> dict[Table, Fraction]:
        best = np.zeros(len(self.margins))
        for start in self._starts():
            found = self._descend(start)
            if self._feasible(found) and (not self._feasible(best) or self.cost(found) < self.cost(best)):
                best = found
        # Upwards, so that a goal that is met stays met; the base gives what is missing.
        rounded = [
            Fraction(math.ceil(s * _STEPS - 1e-6), _STEPS) if s > 1 / _STEPS else Fraction(0) for s in best
        ]
        left = 1 - sum(rounded, Fraction(0))
        if left <= 0:
            raise InternalError("the split leaves nothing to the base.")
        return {self.pieces[0].axes: left, **dict(zip(self.margins, rounded, strict=True))}

    def cost(self, margin_shares: Floats) -> float:
        """The sum of the ratios."""
        return float(self.ratios(margin_shares).sum())

    def ratios(self, margin_shares: Floats) -> Floats:
        """Those of the base and then of each margin."""
        shares = [max(1 - float(margin_shares.sum()), _LEAST_SHARE), *map(float, margin_shares)]
        tables = [self.pieces[0].axes, *self.margins]
        return np.average(
            [_ratios(shape, tables, shares, self.budget) for shape in self.pieces],
            axis=0,
            weights=self._weights(),
        )

    def _weights(self) -> list[int]:
        return [shape.cells for shape in self.pieces]

    def _wanted(self, table: Table) -> float:
        """The share with which `table`, measured alone, reaches the goal."""
        alone = [
            self.budget.share(table, self.goal**2 * shape.terms(shape.table(table))) for shape in self.pieces
        ]
        return float(np.average(alone, weights=self._weights()))

    @cached_property
    def granted(self) -> list[int]:
        """The margins whose goal is affordable, dearest last."""
        left, granted = 1 - self.base_floor, []
        for i in sorted(range(len(self.margins)), key=lambda i: self._wanted(self.margins[i])):
            if self._wanted(self.margins[i]) > left:
                break
            left -= self._wanted(self.margins[i])
            granted.append(i)
        return granted

    def _starts(self) -> list[Floats]:
        """One start for each choice of margins to measure: the cost has a local minimum for each."""
        if not self.margins:
            return []
        wanted = np.array([self._wanted(table) for table in self.margins])
        room = 1 - self.base_floor
        guess = room * np.sqrt(wanted) / (1 / math.sqrt(self.goal) + np.sqrt(wanted).sum())
        granted = self.granted
        guess[granted] = wanted[granted]
        guess *= min(1.0, room / max(float(guess.sum()), _LEAST_SHARE))
        optional = [i for i in range(len(self.margins)) if i not in granted]
        starts = []
        for dropped in subsets(optional):
            start = guess.copy()
            start[list(dropped)] = 0.0
            starts.append(start)
        return starts[:_MOST_STARTS]

    def _descend(self, start: Floats) -> Floats:
        found = descend(self._cost_and_slack, start)
        return self._descend_with_scipy(start) if found is None else found

    def _descend_with_scipy(self, start: Floats) -> Floats:
        from scipy import optimize

        found = optimize.minimize(
            self.cost,
            start,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(start),
            constraints=optimize.NonlinearConstraint(lambda x: self._cost_and_slack(x)[1], 0.0, np.inf),
        )
        return np.clip(np.asarray(found.x, dtype=np.float64), 0.0, 1.0)

    def _cost_and_slack(self, shares: Floats) -> tuple[float, Floats]:
        """The cost, and what is not negative where the base keeps its floor and every granted goal is met."""
        ratios = self.ratios(shares)
        goals = self.goal - ratios[1:][self.granted]
        return float(ratios.sum()), np.concatenate([[1 - self.base_floor - float(shares.sum())], goals])

    def _feasible(self, shares: Floats) -> bool:
        return bool((self._cost_and_slack(shares)[1] >= -1e-6).all())


def _ratios(shape: AnyShape, tables: list[Table], shares: list[float], budget: _Budget) -> list[float]:
    """Square roots of variance ratios; derive gives a variance of one per base cell."""
    measured = [
        MeasuredTable(table=table, variance=budget.variance(table, share))
        for table, share in zip(tables, shares, strict=True)
        if share > _LEAST_SHARE or table == shape.axes
    ]
    if isinstance(shape, NestedShape):
        nested = NestedDesign(
            shape=shape,
            measured=tuple(MeasuredTable(table=shape.table(m.table), variance=m.variance) for m in measured),
        )
        return [nested.ratio(shape.table(t)) for t in tables]
    design = Design(shape=shape, measured=tuple(measured))
    return [math.sqrt(design.variance(design.cell_of(t)) / shape.terms(t)) for t in tables]


def _check_shares(shape: TableShape, shares: Mapping[Table, Fraction], /) -> None:
    if shape.axes not in shares or shares[shape.axes] <= 0:
        raise SpecError("the base table needs a share of epsilon above 0.")
    if any(share < 0 for share in shares.values()) or sum(shares.values()) > 1:
        raise SpecError("shares of epsilon must not be negative and must sum to at most 1.")
