"""Least squares over a nested axis: stops within modes, some margins by stop, some by mode, some over all.

`design.py` splits each axis into its mean and its contrasts, which works for groups of one size. An axis whose entries fall into groups of
unequal size (three modes with 20, 70 and 200 stops) is not split. Along it a vector keeps all its entries, and table S sees the
sums B_S x over the groups of its own *level*: entries, groups of them, groups of groups, or all. Along all other
axes the split stays: in the subspace U the precision of the estimate is now a matrix,

    M_U = sum over the measured S that see U of  p_S B_S' B_S,        p_S = n_S / v_S,

with n_S the number of base cells along the other axes in one cell of S. Groups of one level lie within those of the next, so M_U is
the identity times a number plus, level by level, a matrix of rank one for each group. `Ladder.solve` inverts it from
fine to coarse by the formula of Sherman and Morrison, in time linear in the entries; nothing is approximated.

The estimate is y_base + sum over margins S of spread( sum over U of M_U^-1 B_S' p_S P_U r_S ) / n_S, with r_S the residual of S;
and one noise of S enters the sum over a box with what the same operator, transposed, makes of the box.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, InternalError, SpecError
from noisegate.margins.design import Influence, MeasuredTable, Table, subsets
from noisegate.margins.integers import BEND_SDS, Rounding, fixed_point
from noisegate.margins.plan import Apportion, Nearest, Step, coarse_tables, plan_rounding
from noisegate.tables import Axis, Ints

Floats = NDArray[np.float64]

#: What the nested axis is called among the axes of an array.
NEST = "\0nest"


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder:
    """A nested axis: its entries in ever finer groups, from all of them together to each by itself.

    `names` are its dimensions, `entries` their label codes; `levels` has for each level the group of each entry. Groups of
    each level are neighbours, and lie within those of the level before.
    """

    names: tuple[str, ...]
    entries: Ints
    levels: tuple[Ints, ...]
    _levels: dict[frozenset[str], int] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, names: tuple[str, ...], entries: Ints, kept: Iterable[Iterable[str]], /) -> Ladder:
        """The ladder of the levels that tables need which keep some of the names; refuses levels that cross."""
        size = entries.shape[1]
        found = [np.zeros(size, np.int64), *(_groups(entries, names, one) for one in kept), np.arange(size)]
        distinct = {groups.tobytes(): groups for groups in found}
        chain = sorted(distinct.values(), key=lambda groups: int(groups.max()))
        for coarse, fine in pairwise(chain):
            if Axis.of((0, 1), np.stack([coarse, fine])).size != fine.max() + 1:
                raise SpecError(
                    f"'margins: reconcile' cannot handle margins that divide {' and '.join(names)} in ways that cross; keep "
                    "in every margin the dimension that the others depend on, or use 'margins: derive'."
                )
        order = np.lexsort(chain[::-1])
        return cls(
            names=names, entries=entries[:, order], levels=tuple(_in_order(one[order]) for one in chain)
        )

    @property
    def size(self) -> int:
        """How many entries there are."""
        return int(self.entries.shape[1])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many groups each level has."""
        return tuple(int(groups[-1]) + 1 for groups in self.levels)

    @cached_property
    def firsts(self) -> tuple[Ints, ...]:
        """The first entry of each group, for each level."""
        return tuple(np.flatnonzero(np.diff(groups, prepend=-1)) for groups in self.levels)

    @cached_property
    def closures(self) -> tuple[frozenset[str], ...]:
        """The names that are the same throughout each group, for each level."""
        return tuple(
            frozenset(
                name
                for name, codes in zip(self.names, self.entries, strict=True)
                if Axis.of((0, 1), np.stack([groups, codes])).size == groups[-1] + 1
            )
            for groups in self.levels
        )

    def level(self, names: Iterable[str], /) -> int:
        """The level of a table that keeps these names."""
        kept = frozenset(names).intersection(self.names)
        if kept not in self._levels:
            groups = _groups(self.entries, self.names, kept)
            self._levels[kept] = next(
                n for n, known in enumerate(self.levels) if np.array_equal(known, groups)
            )
        return self._levels[kept]

    def starts(self, coarse: int, fine: int, /) -> Ints:
        """Where each group of a coarse level starts among those of a finer one."""
        return self.levels[fine][self.firsts[coarse]]

    def summed(self, values: NDArray[Any], fine: int, coarse: int, /) -> NDArray[Any]:
        """Sums along the first axis of an array, from one level to a coarser one."""
        if fine == coarse:
            return values
        return np.asarray(np.add.reduceat(values, self.starts(coarse, fine), axis=0))

    def lifted(self, values: NDArray[Any], level: int, /) -> NDArray[Any]:
        """Values of groups, along the first axis, for each of their entries."""
        return np.asarray(values[self.levels[level]])

    def solve(self, weights: Sequence[float], right: Floats, /) -> Floats:
        """M^-1 times `right` along its first axis, where M is the sum over levels of weight times B'B."""
        top = len(self.levels) - 1
        found, ones = right / weights[top], np.full(self.size, 1 / weights[top])
        shape = (-1, *[1] * (right.ndim - 1))
        for level in range(top - 1, -1, -1):
            if weights[level] == 0:
                continue
            groups = self.levels[level]
            scale = weights[level] / (1 + weights[level] * self.summed(ones, top, level))
            sums = self.summed(found, top, level) * scale.reshape(shape)
            found = found - ones.reshape(shape) * sums[groups]
            ones = ones * (1 - scale * self.summed(ones, top, level))[groups]
        return np.asarray(found)

    def variances(self, weights: Sequence[float], level: int, /) -> Floats:
        """1' M^-1 1 for each group of a level."""
        top = len(self.levels) - 1
        ones = np.full(self.size, 1 / weights[top])
        found = self.summed(ones, top, level)
        for coarse in range(top - 1, -1, -1):
            if weights[coarse] == 0:
                continue
            sums = self.summed(ones, top, coarse)
            scale = weights[coarse] / (1 + weights[coarse] * sums)
            if coarse >= level:
                # The groups of the level are made of whole groups of this one.
                found = found - self.summed(sums**2 * scale, coarse, level)
            else:
                own = self.summed(ones, top, level)
                home = self.levels[coarse][self.firsts[level]]
                found = found - own**2 * scale[home]
            ones = ones * (1 - scale * sums)[self.levels[coarse]]
        return np.asarray(found)


def _groups(entries: Ints, names: Sequence[str], kept: Iterable[str], /) -> Ints:
    """Entries that agree in the names that are kept have one number."""
    wanted = set(kept)
    rows = [codes for name, codes in zip(names, entries, strict=True) if name in wanted]
    if not rows:
        return np.zeros(entries.shape[1], np.int64)
    codes = np.stack(rows)
    return _in_order(Axis.of(tuple(range(len(rows))), codes).find(list(codes)))


def _in_order(groups: Ints, /) -> Ints:
    """Numbers in the order in which they first appear."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[place], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedShape:
    """Named axes of a base, some of which are one nested axis; what `TableShape` is to a product.

    A table is named by the dimensions it keeps, with those of the ladder that follow from them. Its array has the
    nested axis first, at the table's level; no such axis if that is the coarsest.
    """

    axes: Table
    plain: tuple[tuple[str, int], ...]
    ladder: Ladder

    @property
    def cells(self) -> int:
        """Cells of the base."""
        return self.ladder.size * math.prod(size for _, size in self.plain)

    def table(self, axes: Iterable[str], /) -> Table:
        """The table that keeps `axes`, in the order of the base."""
        wanted = set(axes)
        for axis in wanted:
            if axis not in self.axes:
                raise SpecError.for_choice("a table's dimension", found=axis, allowed=self.axes)
        wanted |= self.ladder.closures[self.ladder.level(wanted)]
        return tuple(axis for axis in self.axes if axis in wanted)

    def level(self, table: Iterable[str], /) -> int:
        """The level of the nested axis that a table has."""
        return self.ladder.level(table)

    def plain_axes(self, table: Iterable[str], /) -> Table:
        """The other axes that a table keeps."""
        kept = set(table)
        return tuple(axis for axis, _ in self.plain if axis in kept)

    def array_axes(self, table: Table, /) -> Table:
        """The axes of a table's array."""
        return ((NEST,) if self.level(table) else ()) + self.plain_axes(table)

    def shared_axes(self, table: Table, within: Table, /) -> Table:
        """The axes of a table's array that a coarser one has just so: groups within groups are another axis."""
        same = self.level(table) == self.level(within)
        return tuple(axis for axis in self.array_axes(table) if axis in within or (axis == NEST and same))

    def named(self, axes: Iterable[str], table: Table, /) -> Table:
        """The table that keeps these axes of the array of another."""
        kept = set(axes)
        names = self.ladder.closures[self.level(table)] if NEST in kept else frozenset[str]()
        return self.table(kept - {NEST} | names)

    def repeats(self, table: Iterable[str], /) -> int:
        """Base cells along the axes that a table leaves out, the nested one apart."""
        kept = set(table)
        return math.prod(size for axis, size in self.plain if axis not in kept)

    def terms(self, table: Table, /) -> float:
        """Base cells that add up to one cell of `table`, on average."""
        return self.repeats(table) * self.ladder.size / self.ladder.sizes[self.level(table)]

    def summed(self, values: NDArray[Any], wide: Table, table: Table, /) -> NDArray[Any]:
        """The sums of an array of one table over what another does not keep."""
        have, want = self.level(wide), self.level(table)
        axes = self.array_axes(wide)
        kept = set(table)
        gone = tuple(place for place, axis in enumerate(axes) if axis != NEST and axis not in kept)
        found = np.asarray(values.sum(axis=gone)) if gone else values
        if not have:
            return found
        found = self.ladder.summed(found, have, want)
        return found if want else np.asarray(found[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Plain axes that are kept by the same measured tables, taken as one."""

    axes: Table
    size: int
    kept_by: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedBox:
    """A sum of cells: how many values of each plain axis, and how many entries of each group of the finest level but one."""

    plain: tuple[int, ...]
    entries: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class NestedDesign:
    """The measured tables of one base with a nested axis; what `Design` is to a product."""

    shape: NestedShape
    measured: tuple[MeasuredTable, ...]
    groups: tuple[_Group, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.shape.axes not in (one.table for one in self.measured):
            raise SpecError("the base table must be among the measured tables.")
        found: dict[frozenset[int], list[tuple[str, int]]] = {}
        for axis, size in self.shape.plain:
            kept_by = frozenset(i for i, one in enumerate(self.measured) if axis in one.table)
            found.setdefault(kept_by, []).append((axis, size))
        groups = tuple(
            _Group(axes=tuple(a for a, _ in axes), size=math.prod(n for _, n in axes), kept_by=kept_by)
            for kept_by, axes in found.items()
        )
        object.__setattr__(self, "groups", groups)

    def precision_of(self, source: int, /) -> float:
        """p_S of the module's docstring."""
        one = self.measured[source]
        return self.shape.repeats(one.table) / one.variance

    def weights(self, contrasts: Iterable[_Group], /) -> list[float]:
        """For each level the precision of the tables that see the subspace with contrasts along these groups."""
        seen = frozenset(range(len(self.measured))).intersection(*(group.kept_by for group in contrasts))
        found = [0.0] * len(self.shape.ladder.levels)
        for source in seen:
            found[self.shape.level(self.measured[source].table)] += self.precision_of(source)
        return found

    def variances(self, table: Table, /) -> Floats:
        """The variance of the cells of a table, for each group of its level."""
        kept = self.shape.plain_axes(table)
        level, total = self.shape.level(table), np.zeros(1)
        for inside in subsets(range(len(self.groups))):
            length = 1.0
            for i, group in enumerate(self.groups):
                taken = math.prod(
                    size for axis, size in self.shape.plain if axis in group.axes and axis not in kept
                )
                mean = taken * taken / group.size
                length *= taken - mean if i in inside else mean
            if length:
                weights = self.weights(self.groups[i] for i in inside)
                total = total + length * self.shape.ladder.variances(weights, level)
        return np.asarray(total)

    def variance(self, table: Table, /) -> float:
        """The variance of a cell of a table, on average."""
        return float(self.variances(table).mean())

    def ratio(self, table: Table, /) -> float:
        """The standard deviation of a cell over that of a sum of as many noises of variance 1, on average."""
        level = self.shape.level(table)
        terms = np.bincount(self.shape.ladder.levels[level]) * self.shape.repeats(table)
        return float(np.sqrt(self.variances(table) / terms).mean())

    def widest(self, table: Table, /) -> NestedBox:
        """The cell of a table with the largest variance, as a box."""
        level = self.shape.level(table)
        group = int(self.variances(table).argmax())
        kept = self.shape.plain_axes(table)
        finest = self.shape.ladder.levels[-2]
        inside = self.shape.ladder.levels[level] == group
        return NestedBox(
            plain=tuple(1 if axis in kept else size for axis, size in self.shape.plain),
            entries=tuple(np.bincount(finest[inside], minlength=self.shape.ladder.sizes[-2]).tolist()),
        )

    def influences(self, box: NestedBox, /) -> tuple[Influence, ...]:
        """How each measured noise enters the estimated sum over a box, alike noises together."""
        ladder = self.shape.ladder
        start = ladder.starts(len(ladder.levels) - 2, len(ladder.levels) - 1)
        place = np.arange(ladder.size) - start[ladder.levels[-2]]
        chosen = (place < np.array(box.entries)[ladder.levels[-2]]).astype(np.float64)
        counts = dict(zip((axis for axis, _ in self.shape.plain), box.plain, strict=True))
        taken = [math.prod(counts[axis] for axis in group.axes) for group in self.groups]
        found: list[Influence] = []
        for source in range(len(self.measured)):
            found += self._of_source(source, chosen, taken)
        return tuple(found)

    def _of_source(self, source: int, chosen: Floats, taken: list[int], /) -> list[Influence]:
        ladder, level = self.shape.ladder, self.shape.level(self.measured[source].table)
        kept = [i for i, group in enumerate(self.groups) if source in group.kept_by]
        outside = math.prod(
            taken[i] / group.size for i, group in enumerate(self.groups) if source not in group.kept_by
        )
        solved = {}
        for inside in subsets(kept):
            weights = self.weights(self.groups[i] for i in inside)
            solved[inside] = self.precision_of(source) * ladder.summed(
                ladder.solve(weights, chosen), len(ladder.levels) - 1, level
            )
        found = []
        for hit in subsets(kept):
            copies = math.prod(taken[i] if i in hit else self.groups[i].size - taken[i] for i in kept)
            if copies:
                total = np.zeros(ladder.sizes[level])
                for inside, values in solved.items():
                    product = outside
                    for i in kept:
                        mean = taken[i] / self.groups[i].size
                        product *= (i in hit) - mean if i in inside else mean
                    total += product * values
                # Equal but for rounding: entries of groups of one size.
                near, times = np.unique(np.array([float(f"{one:.12e}") for one in total]), return_counts=True)
                found += [
                    Influence(source=source, coefficient=value, copies=copies * number)
                    for value, number in zip(near.tolist(), times.tolist(), strict=True)
                ]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedReconciled:
    """The estimated base of a nested shape, real and signed; all tables are its sums."""

    design: NestedDesign
    base: Floats

    @property
    def shape(self) -> NestedShape:
        """The axes of the base."""
        return self.design.shape

    def variance(self, axes: Iterable[str], /) -> float:
        """The variance of a cell of the table that keeps `axes`, on average."""
        return self.design.variance(self.shape.table(axes))

    def table(self, axes: Iterable[str], /) -> Floats:
        """The estimate of the table that keeps `axes`."""
        shape = self.design.shape
        return np.asarray(shape.summed(self.base, shape.axes, shape.table(axes)))


def reconcile_nested(
    shape: NestedShape,
    base: tuple[NDArray[Any], float],
    margins: Mapping[Table, tuple[NDArray[Any], float]],
    /,
) -> NestedReconciled:
    """The best linear unbiased estimate of the base; tables come as arrays with the variance of their noise."""
    measured = [MeasuredTable(table=shape.axes, variance=base[1])]
    measured += [MeasuredTable(table=table, variance=variance) for table, (_, variance) in margins.items()]
    design = NestedDesign(shape=shape, measured=tuple(measured))
    estimate = base[0].astype(np.float64)
    for source, (table, (values, _)) in enumerate(margins.items(), start=1):
        before = shape.summed(base[0], shape.axes, table)
        if values.shape != before.shape:
            raise DataError(
                f"margin {', '.join(table) or '(total)'} has shape {values.shape}, not {before.shape}."
            )
        change = _weighed(design, source, (values - before).astype(np.float64))
        spread = [size if axis in table else 1 for axis, size in shape.plain]
        estimate += (change / shape.repeats(table)).reshape(shape.ladder.size, *spread)
    return NestedReconciled(design=design, base=estimate)


def _weighed(design: NestedDesign, source: int, residual: Floats, /) -> Floats:
    """The change of the base's entries that a margin's residual asks for, over the plain axes it has."""
    shape, table = design.shape, design.measured[source].table
    level, axes = shape.level(table), shape.plain_axes(table)
    groups = [g for g in design.groups if source in g.kept_by]
    along = [tuple(1 + axes.index(axis) for axis in group.axes) for group in groups]

    def part(values: Floats, place: int, contrasts: list[_Group]) -> Floats:
        if place == len(groups):
            right = shape.ladder.lifted(values, level)
            return design.precision_of(source) * shape.ladder.solve(design.weights(contrasts), right)
        mean = values.mean(axis=along[place], keepdims=True)
        flat = part(mean, place + 1, contrasts)
        return flat + part(values - mean, place + 1, [*contrasts, groups[place]])

    return part(residual if level else residual[np.newaxis], 0, [])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedTables:
    """A base of whole numbers; every other table is its sums."""

    shape: NestedShape
    base: Ints

    def table(self, axes: Iterable[str], /) -> Ints:
        """The table that keeps `axes`: sums of the base."""
        return np.asarray(self.shape.summed(self.base, self.shape.axes, self.shape.table(axes)))


def round_nested(estimate: NestedReconciled, margins: Iterable[Iterable[str]], /) -> NestedTables:
    """Non-negative whole numbers close to `estimate` that add up to every margin exactly; see `integers.round_consistent`.

    Along the nested axis each group that is fixed already is a problem of its own, and a product.
    """
    shape = estimate.design.shape
    rounder = _NestedRounder(estimate)
    wanted = tuple(shape.table(axes) for axes in margins)
    before = coarse_tables(estimate, wanted, values_of=estimate.table)
    for step in plan_rounding(shape, (*wanted, *before)):
        rounder.take(step)
    return rounder.result()


class _NestedRounder:
    """Carries out a plan; `fixed` holds the whole tables found so far."""

    def __init__(self, estimate: NestedReconciled, /) -> None:
        self.estimate, self.shape = estimate, estimate.design.shape
        self.fixed: dict[Table, Ints] = {}
        self.shift, self.tolerance = fixed_point(estimate.base)

    def take(self, step: Step) -> None:
        """Fix one more table."""
        values = np.asarray(self.estimate.table(step.table))
        if isinstance(step, Nearest):
            self.fixed[step.table] = np.asarray(np.rint(np.maximum(values, 0.0)).astype(np.int64))
            return
        tables = (step.within,) if isinstance(step, Apportion) else (step.rows, step.columns)
        known = {table: self._known(table) for table in tables}
        shared = min(self.shape.level(table) for table in tables)
        rounding = Rounding(
            bend=BEND_SDS * math.sqrt(self.estimate.design.variance(step.table)),
            tolerance=self.tolerance,
            shift=self.shift,
        )
        axes = self.shape.array_axes(step.table)
        if shared in (0, self.shape.level(step.table)):
            sums = {self.shape.array_axes(table): values for table, values in known.items()}
            self.fixed[step.table] = rounding.near(values, axes, sums=sums)
            return
        found = np.empty(values.shape, np.int64)
        stretches = {table: self._stretches(shared, table) for table in (step.table, *tables)}
        for number, here in enumerate(stretches[step.table]):
            sums = {}
            for table, own in known.items():
                kept = self.shape.array_axes(table)
                if self.shape.level(table) == shared:
                    sums[kept[1:]] = np.asarray(own[number])
                else:
                    sums[kept] = own[stretches[table][number]]
            found[here] = rounding.near(values[here], axes, sums=sums)
        self.fixed[step.table] = found

    def _stretches(self, level: int, table: Table) -> list[slice]:
        """The stretch of a table's nested axis that lies in each group of a coarser level."""
        ladder, own = self.shape.ladder, self.shape.level(table)
        starts = ladder.starts(level, own).tolist()
        return [slice(a, b) for a, b in zip(starts, [*starts[1:], ladder.sizes[own]], strict=True)]

    def _known(self, table: Table) -> Ints:
        """The whole numbers of `table`, from any fixed table that contains it."""
        for wider, values in self.fixed.items():
            if set(table) <= set(wider):
                return np.asarray(self.shape.summed(values, wider, table))
        raise InternalError("a table was rounded before the sums it must have.")

    def result(self) -> NestedTables:
        """The base, once every table that was fixed is seen to be its sums."""
        tables = NestedTables(shape=self.shape, base=self.fixed[self.shape.axes])
        if tables.base.min(initial=0) < 0:
            raise InternalError("a rounded table has a negative count.")
        for table, values in self.fixed.items():
            if not np.array_equal(tables.table(table), values):
                raise InternalError("a rounded table does not add up to its margins.")
        return tables
