"""The tables to measure, and the share of the budget for each, that make the errors of stated sums least.

`design.py` and `nested.py` split the space of base vectors into orthogonal subspaces in which all tables measure the same
coordinates. So the variance of a sum is a sum over subspaces k,

    variance = sum over k of  length_k / sum over tables S of  sees_Sk / v_S,

where length_k is the squared length of the sum in k, v_S the variance of the noise of table S and sees_Sk the number of base cells in a cell of S
(0 if S does not see k). Along a nested axis whose groups are all of one size, such as quarter-hours within hours, subspaces are
the contrasts of one level within the groups of the next; groups of unequal size have no such split, and are not handled here.

A weighted sum of the variances of all questions is then as simple, with few subspaces. With Gaussian noise 1/v_S is the share of S over its squared
sensitivity, and the problem is convex: measuring the marginals that are asked for reaches the optimum of ResidualPlanner (arXiv 2305.08175)
to within 2 %. With Laplace noise it is the square of the share: what pays is measured with much, the rest not at all, so tables
are added one by one as long as that helps, and taken away again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.margins.design import Group, Table, TableShape, subsets
from noisegate.margins.nested import NestedShape
from noisegate.margins.pieces import AnyPiece, Piece
from noisegate.tables import Groups

Floats = NDArray[np.float64]

#: Shares are multiples of one over this.
_STEPS = 10**6
_LEAST_BASE = 0.005
#: A table is added only if the objective falls by more than this share.
_WORTH = 1e-3
_MOST_GROUPS = 200
#: The share that a table which is tried starts with.
_NEW = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A weighted sum of variances: `lengths` of each subspace, and what each table (a column) sees of it."""

    lengths: Floats
    sees: Floats

    def __call__(self, precisions: Floats, /) -> float:
        """The sum, with tables of these precisions (1/v)."""
        return float((self.lengths / np.maximum(self.sees @ precisions, 1e-300)).sum())

    def slope(self, precisions: Floats, /) -> Floats:
        """Its derivative by the precisions."""
        seen = np.maximum(self.sees @ precisions, 1e-300)
        return np.asarray(-(self.lengths / seen**2) @ self.sees)

    def plus(self, *others: Objective) -> Objective:
        """Several of the same tables together; subspaces that all tables see alike are one."""
        every = [self, *others]
        sees, place = np.unique(np.concatenate([one.sees for one in every]), axis=0, return_inverse=True)
        lengths = np.concatenate([one.lengths for one in every])
        total = np.zeros(len(sees))
        np.add.at(total, place.reshape(-1), lengths)
        return Objective(lengths=total, sees=sees)

    def times(self, weight: float, /) -> Objective:
        """The same so many times."""
        return Objective(lengths=weight * self.lengths, sees=self.sees)


def variance_of_box(shape: TableShape, tables: Sequence[Table], box: Mapping[str, int], /) -> Objective:
    """The variance of the sum over a box of a product, by the tables that are measured."""
    groups = _axis_groups(shape.axes, tables, shape.size)
    return _objective(_product_terms(shape, tables, groups, box))


def variance_of_sums(piece: AnyPiece, tables: Sequence[Table], cells: Groups, /) -> Objective | None:
    """The mean variance of the groups of a question in one piece of a domain, over all groups; None if none of them is in it.

    Raises `SpecError` where the piece has a nested axis with groups of unequal size.
    """
    boxes = piece.boxes(cells)
    rows, times = np.unique(boxes, axis=0, return_counts=True)
    groups = int((cells.counts() > 0).sum())
    found = []
    for row, many in zip(rows, times.tolist(), strict=True):
        box = piece.box(row)
        if box is None:
            continue
        if isinstance(piece, Piece):
            one = variance_of_box(piece.shape, tables, box)  # type: ignore[arg-type]
        else:
            one = _nested(piece.shape, tables, box)
        found.append(one.times(many / groups))
        if len(found) > _MOST_GROUPS:
            raise SpecError("the groups of a question differ too much for a strategy that is made for it.")
    return found[0].plus(*found[1:]) if found else None


def _axis_groups(
    axes: Sequence[str], tables: Sequence[Table], size: Callable[[str], int], /
) -> tuple[Group, ...]:
    """Axes that are kept by the same tables, taken as one."""
    found: dict[frozenset[int], list[str]] = {}
    for axis in axes:
        found.setdefault(frozenset(i for i, one in enumerate(tables) if axis in one), []).append(axis)
    return tuple(
        Group(axes=tuple(names), size=int(np.prod([size(name) for name in names])), kept_by=kept)
        for kept, names in found.items()
    )


def _splits(
    groups: Sequence[Group], box: Mapping[str, int], sizes: Mapping[str, int], /
) -> Iterator[tuple[float, frozenset[int] | None]]:
    """The squared length of a box in each subspace of the plain axes, and the tables that see it; None is all of them."""
    taken = [float(np.prod([box.get(axis, sizes[axis]) for axis in group.axes])) for group in groups]
    for inside in subsets(range(len(groups))):
        length, seen = 1.0, None
        for place, (group, many) in enumerate(zip(groups, taken, strict=True)):
            mean = many * many / group.size
            length *= many - mean if place in inside else mean
            if place in inside:
                seen = group.kept_by if seen is None else seen & group.kept_by
        if length > 1e-12:
            yield length, seen


def _product_terms(
    shape: TableShape, tables: Sequence[Table], groups: Sequence[Group], box: Mapping[str, int], /
) -> list[tuple[float, Floats]]:
    terms = np.array([float(shape.terms(table)) for table in tables])
    sizes = dict(zip(shape.axes, shape.sizes, strict=True))
    return [(length, _seen(terms, seen)) for length, seen in _splits(groups, box, sizes)]


def _seen(terms: Floats, seen: frozenset[int] | None, /) -> Floats:
    if seen is None:
        return terms
    return np.where(np.isin(np.arange(len(terms)), list(seen)), terms, 0.0)


def _nested(shape: NestedShape, tables: Sequence[Table], box: object, /) -> Objective:
    """The same along a nested axis with groups of one size at every level."""
    ladder, plain = shape.ladder, [name for name, _ in shape.plain]
    per = [ladder.size / count for count in ladder.sizes]
    for groups in ladder.levels:
        if np.unique(np.bincount(groups)).size > 1:
            raise SpecError("a strategy for a workload needs groups of one size along a nested dimension.")
    sizes = dict(shape.plain)
    taken = dict(zip(plain, box.plain, strict=True))  # type: ignore[attr-defined]
    entries = np.asarray(box.entries, dtype=np.float64)  # type: ignore[attr-defined]
    squares = []
    for level in range(len(ladder.levels) - 1):
        counts = np.add.reduceat(entries, ladder.starts(level, len(ladder.levels) - 2))
        squares.append(float((counts**2).sum()) / per[level])
    squares.append(float(entries.sum()))
    levels = np.array([shape.level(table) for table in tables])
    repeats = np.array([float(shape.repeats(table)) for table in tables])
    whole = repeats * np.array([per[level] for level in levels])
    found = []
    for length, seen in _splits(_axis_groups(plain, tables, lambda name: sizes[name]), taken, sizes):
        for level, square in enumerate(squares):
            own = square - (squares[level - 1] if level else 0.0)
            if own > 1e-12:
                found.append((length * own, np.where(levels >= level, _seen(whole, seen), 0.0)))
    return _objective(found)


def _objective(terms: list[tuple[float, Floats]], /) -> Objective:
    return Objective(
        lengths=np.array([length for length, _ in terms]), sees=np.array([sees for _, sees in terms])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStrategy:
    """Shares of the budget by table, exact, adding up to 1; tables that are not there are not measured. `value` is the objective."""

    shares: dict[Table, Fraction]
    value: float


def best_strategy(
    objective: Objective,
    tables: Sequence[Table],
    /,
    *,
    squares: Mapping[Table, float] | None = None,
    kept: Sequence[Table] = (),
    allowed: Callable[[Sequence[Table]], bool] = lambda _tables: True,
) -> TableStrategy:
    """The tables among `tables`, the first of which is the base, and the shares that make an objective least.

    Parameters
    ----------
    objective
        Of all `tables`, in that order.
    squares
        Squared L2 sensitivities, for Gaussian noise; without them the noise is Laplace's, of which variances are those at a share of 1 over the
        square of the share.
    kept
        Tables that are there in any case (they may have no share), such as those that are published.
    allowed
        Whether tables can be made to agree in whole numbers.
    """
    search = _Search(objective=objective, tables=tuple(tables), squares=squares)
    always = {0, *(n for n, table in enumerate(tables) if table in kept)}
    chosen, best = search.grown({0}, always=always, allowed=allowed)
    full, other = search.trimmed(always)
    if other[1] < best[1]:
        chosen, best = search.grown(full, always=always, allowed=allowed)
    shares = search.rounded(chosen, best[0])
    value = objective(search.precisions(np.array([float(share) for share in shares])))
    return TableStrategy(
        shares={table: share for table, share in zip(tables, shares, strict=True) if share}, value=value
    )


Found = tuple[Floats, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    objective: Objective
    tables: tuple[Table, ...]
    squares: Mapping[Table, float] | None

    def precisions(self, shares: Floats, /) -> Floats:
        """1/v of each table, for its share of the budget."""
        if self.squares is None:
            return np.asarray(shares**2)
        return np.asarray(shares / np.array([float(self.squares[table]) for table in self.tables]))

    def grown(
        self, start: set[int], /, *, always: set[int], allowed: Callable[[Sequence[Table]], bool]
    ) -> tuple[set[int], Found]:
        """Add the table that helps most as long as one does, then take away what no longer helps."""
        chosen, best = set(start), self._descended(start)
        while True:
            tried = []
            for one in range(len(self.tables)):
                if one in chosen or not allowed([self.tables[n] for n in sorted(chosen | always | {one})]):
                    continue
                tried.append((self._descended(chosen | {one}, near=best[0]), one))
            if not tried:
                break
            found, one = min(tried, key=lambda pair: pair[0][1])
            if found[1] > best[1] * (1 - _WORTH):
                break
            chosen, best = chosen | {one}, found
        return self.trimmed(chosen)

    def trimmed(self, start: set[int], /) -> tuple[set[int], Found]:
        """Take away tables as long as that helps; what is published is there without a share too."""
        chosen, best = set(start), self._descended(start)
        while True:
            tried = [(self._descended(chosen - {one}, near=best[0]), one) for one in chosen - {0}]
            found, one = min(tried, key=lambda pair: pair[0][1], default=(best, 0))
            if not one or found[1] >= best[1]:
                return chosen, best
            chosen, best = chosen - {one}, found

    def _descended(self, chosen: set[int], /, *, near: Floats | None = None) -> Found:
        """The best shares of these tables: from equal ones, and from those of a set that differs in one table."""
        from scipy import optimize

        free = sorted(chosen)
        others = 1 - _LEAST_BASE

        def shares_of(logits: Floats) -> Floats:
            weights = np.exp(logits - logits.max())
            own = others * weights / weights.sum()
            shares = np.zeros(len(self.tables))
            shares[free] = own
            shares[0] += _LEAST_BASE
            return shares

        def cost(logits: Floats) -> tuple[float, Floats]:
            shares = shares_of(logits)
            precisions = self.precisions(shares)
            value = self.objective(precisions)
            slope = self.objective.slope(precisions)
            slope = slope * (2 * shares if self.squares is None else self.precisions(np.ones(len(shares))))
            own = shares[free] - np.where(np.array(free) == 0, _LEAST_BASE, 0.0)
            inner = slope[free]
            by_logit = own * (inner - (own * inner).sum() / others)
            return float(np.log(value)), by_logit / value

        found: list[Found] = []
        starts = [np.zeros(len(free))]
        if near is not None:
            # Laplace noise has a minimum for each choice of tables to measure; a new one starts with a fifth.
            around = np.log(np.where(near[free] > 0, near[free], _NEW))
            starts = [around] if self.squares is not None else [around, *starts]
        for start in starts:
            answer = optimize.minimize(
                cost, start, jac=True, method="L-BFGS-B", bounds=[(-25, 25)] * len(free)
            )
            shares = shares_of(np.asarray(answer.x, dtype=np.float64))
            found.append((shares, self.objective(self.precisions(shares))))
        return min(found, key=lambda one: one[1])

    def rounded(self, chosen: set[int], shares: Floats, /) -> list[Fraction]:
        """The shares as multiples of a millionth; the base has what is left."""
        made = [
            Fraction(round(float(share) * _STEPS), _STEPS) if place in chosen and place else Fraction(0)
            for place, share in enumerate(shares)
        ]
        made[0] = 1 - sum(made, Fraction(0))
        return made
