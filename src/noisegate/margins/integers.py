"""Consistent non-negative whole numbers close to a reconciled estimate.

The estimate is real and signed. The published counts are whole and not negative, and every margin is the
sum of its base cells. Tables are fixed from the coarsest to the finest (`plan.py`), with some coarse ones that nobody asked for
at the beginning (`coarse.py`); each is first moved to the nearest
non-negative table with the sums already fixed (`_nonnegative.py`), then rounded so that these sums stay exact
(`_controlled.py`).

Guarantees, always: no negative count; every planned margin equals the sum of its base cells; every cell
is the floor or the ceiling of the real non-negative table it was rounded from.

What it costs: the estimate is unbiased, counts that cannot be negative are not. Cells near zero are biased upwards
and small positive cells downwards, by less than the noise. `docs/explanation/margins.md` has measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, InternalError
from noisegate.margins._rounding import round_groups, round_slices
from noisegate.margins.design import Table, TableShape
from noisegate.margins.plan import Apportion, Join, Step, coarse_tables, plan_rounding
from noisegate.margins.reconcile import Measurement, Reconciled, reconcile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Number = TypeVar("Number", np.float64, np.int64)

#: Estimates below this many standard deviations give way first when a table is made non-negative.
BEND_SDS = 2.0
_MOST_SHIFT = 24
_MOST_TOTAL_BITS = 50
_SWEEPS = 200
_TOLERANCE = 0.01
#: Cells from which on threads share the work, how many they are, and in how many parts.
_MANY, _THREADS, _SHARES = 1 << 16, 2, 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsistentTables:
    """A base of whole numbers; every other table is its sums, and some are `known` already."""

    shape: TableShape
    base: Ints
    known: Mapping[Table, Ints] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.base.dtype != np.int64 or self.base.shape != self.shape.sizes:
            raise DataError("a base of counts must be 64-bit integers in the shape of its dimensions.")

    def table(self, axes: Iterable[str], /) -> Ints:
        """The table that keeps `axes`: sums of the base."""
        table = self.shape.table(axes)
        return self.known[table] if table in self.known else np.asarray(self.shape.summed(self.base, table))


def derive(shape: TableShape, published: Ints, /) -> ConsistentTables:
    """Margins as sums of a published base: consistent, and no further loss of privacy.

    The noise of a sum of n cells has n times the variance of one (`Design` with the base alone says so), and
    whatever clamping or suppression did to the base adds up: sums of suppressed tables are biased downwards,
    sums of tables clamped at zero upwards.
    """
    return ConsistentTables(shape=shape, base=published)


def round_consistent(
    estimate: Reconciled, /, *, margins: Iterable[Iterable[str]] | None = None
) -> ConsistentTables:
    """Non-negative whole numbers close to `estimate`; deterministic, so pure post-processing.

    Parameters
    ----------
    estimate
        From `reconcile`.
    margins
        The margins that must stay close to their estimates; by default those that were measured. Every other
        table is consistent too, being a sum of the base. Sums over what repeats stay close as well (`coarse.py`); of other
        tables parts may have been clamped first.
    """
    shape = estimate.design.shape
    wanted = estimate.margins if margins is None else tuple(shape.table(axes) for axes in margins)
    tables = {table: estimate.table(table) for table in wanted}
    rounder = _Rounder(estimate, tables)
    before = coarse_tables(estimate, tables, values_of=rounder.estimated)
    for step in plan_rounding(shape, (*tables, *before)):
        rounder.take(step)
    return rounder.result()


class _Rounder:
    """Carries out a plan; `known` holds estimated tables, `fixed` the whole ones found so far."""

    def __init__(self, estimate: Reconciled, tables: Mapping[Table, Floats], /) -> None:
        self.estimate = estimate
        self.known = {estimate.design.shape.axes: estimate.base, **tables}
        self.shape = estimate.design.shape
        self.fixed: dict[Table, Ints] = {}
        self.shift, self.tolerance = fixed_point(estimate.base)

    def take(self, step: Step) -> None:
        """Fix one more table."""
        values = self.estimated(step.table)
        if isinstance(step, Apportion):
            found = self._apportion(step, values)
        elif isinstance(step, Join):
            found = self._join(step, values)
        else:
            found = np.asarray(np.rint(np.maximum(values, 0.0)).astype(np.int64))
        self.fixed[step.table] = found

    def result(self) -> ConsistentTables:
        """The base, once every table that was fixed is seen to be its sums."""
        tables = ConsistentTables(shape=self.shape, base=self.fixed[self.shape.axes], known=self.fixed)
        if tables.base.min(initial=0) < 0:
            raise InternalError("a rounded table has a negative count.")
        # From the finest to the coarsest, each summed from the smallest one that was seen to be right: sums of sums of the base are its sums.
        right: dict[Table, Ints] = {}
        for table, values in sorted(self.fixed.items(), key=lambda one: len(one[0]), reverse=True):
            if right and not np.array_equal(_summed(right, table), values):
                raise InternalError("a rounded table does not add up to its margins.")
            right[table] = values
        return tables

    def _apportion(self, step: Apportion, values: Floats) -> Ints:
        return self.limits(step.table).apportion(
            values, step.table, within=step.within, sums=self._known(step.within)
        )

    def _join(self, step: Join, values: Floats) -> Ints:
        sums = {table: self._known(table) for table in (step.rows, step.columns)}
        return self.limits(step.table).join(values, step.table, sums=sums)

    def estimated(self, table: Table) -> Floats:
        """The estimate of `table`, from the smallest known one that contains it."""
        return _summed(self.known, table)

    def _known(self, table: Table) -> Ints:
        """The whole numbers of `table`, from any fixed table that contains it."""
        if not any(set(table) <= set(wider) for wider in self.fixed):
            raise InternalError("a table was rounded before the sums it must have.")
        return _summed(self.fixed, table)

    def limits(self, table: Table) -> Rounding:
        """How the cells of a table are rounded."""
        bend = BEND_SDS * math.sqrt(self.estimate.variance(table))
        return Rounding(bend=bend, tolerance=self.tolerance, shift=self.shift)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """How far estimates bend, how near sums come before they are mended, and the bits behind the point."""

    bend: float
    tolerance: float
    shift: int

    def near(self, values: Floats, table: Table, /, *, sums: Mapping[Table, Ints]) -> Ints:
        """Whole numbers near `values` that add up to one coarser table, or to two."""
        if len(sums) == 1:
            ((within, known),) = sums.items()
            return self.apportion(values, table, within=within, sums=known)
        return self.join(values, table, sums=sums)

    def apportion(self, values: Floats, table: Table, /, *, within: Table, sums: Ints) -> Ints:
        """Whole numbers near `values` that add up to the given sums over what `within` does not keep."""
        rest = tuple(axis for axis in table if axis not in within)
        view = _arranged(values, table, (within, rest))
        out = np.empty(view.shape, np.int64)
        known = sums.reshape(-1)

        def work(part: slice) -> bool:
            first = part.start
            round_groups(view[part], self.bend, known[part], self.tolerance, self.shift, first, out[part])
            return True

        _in_threads(work, view)
        return _restored(out, (within, rest), table, values.shape)

    def join(self, values: Floats, table: Table, /, *, sums: Mapping[Table, Ints]) -> Ints:
        """Whole numbers near `values` that add up to two tables, which agree on the axes they share."""
        rows, columns = sums
        shared = tuple(axis for axis in rows if axis in columns)
        short, long = sorted((rows, columns), key=lambda t: sums[t].size)
        parts = (shared, *(tuple(axis for axis in side if axis not in shared) for side in (short, long)))
        view = _arranged(values, table, parts)
        given = [
            _arranged(sums[side], side, (shared, own))
            for side, own in zip((short, long), parts[1:], strict=True)
        ]
        out = np.empty(view.shape, np.int64)

        def work(part: slice) -> bool:
            short, long, first = given[0][part], given[1][part], part.start
            tolerance, shift = self.tolerance, self.shift
            return round_slices(
                view[part], self.bend, short, long, tolerance, _SWEEPS, shift, first, out[part]
            )

        if not _in_threads(work, view):
            raise InternalError("controlled rounding found no augmenting path.")
        return _restored(out, parts, table, values.shape)


def _summed(known: Mapping[Table, NDArray[Number]], table: Table, /) -> NDArray[Number]:
    """A table as the sums of the smallest known one that contains it."""
    wider = min((t for t in known if set(table) <= set(t)), key=lambda t: known[t].size)
    gone = tuple(place for place, axis in enumerate(wider) if axis not in table)
    return np.asarray(known[wider].sum(axis=gone)) if gone else known[wider]


def fixed_point(base: Floats, /) -> tuple[int, float]:
    """The bits behind the point for a table like this, and how near sums can come; refuses what cannot be counts."""
    rows = base.reshape(len(base), -1) if base.ndim else base.reshape(1, 1)
    total = float(sum(np.abs(row).sum() for row in rows)) + base.size
    bits = math.ceil(math.log2(total)) + 1
    if bits > _MOST_TOTAL_BITS:
        raise DataError(
            f"the table's values add up to more than 2^{_MOST_TOTAL_BITS}; they cannot be counts."
        )
    return min(_MOST_SHIFT, 62 - bits), max(_TOLERANCE, total * 1e-12)


def _in_threads(work: Callable[[slice], bool], view: Floats, /) -> bool:
    """Whether `work` says yes to all groups or slices along the first axis; many cells are shared out among threads."""
    size = len(view)
    if view.size < _MANY or size < 2:
        return work(slice(0, size))
    borders = [size * n // _SHARES for n in range(_SHARES + 1)]
    with ThreadPoolExecutor(_THREADS) as pool:
        return all(pool.map(work, [slice(a, b) for a, b in pairwise(borders) if b > a]))


def load_loops() -> None:
    """Have everything compiled and loaded that rounding needs: takes half a second, which can pass beside other work."""
    shape = TableShape(axes=("a", "b", "c"), sizes=(2, 2, 2))
    tables = (shape.axes, ("a", "b"), ("a", "c"))
    measured = [
        Measurement(axes=table, values=np.ones(shape.lengths(table), np.int64), variance=1.0)
        for table in tables
    ]
    round_consistent(reconcile(measured[0], measured[1:]))


def _restored(values: Ints, parts: tuple[Table, ...], table: Table, shape: tuple[int, ...], /) -> Ints:
    """An array over merged `parts` as an array of `table`."""
    order = [axis for part in parts for axis in part]
    split = values.reshape([shape[table.index(axis)] for axis in order])
    return np.ascontiguousarray(np.transpose(split, [order.index(axis) for axis in table]))


def _arranged(values: NDArray[Number], table: Table, parts: tuple[Table, ...]) -> NDArray[Number]:
    """An array of `table` with one axis for each of `parts`, in their order."""
    order = [axis for part in parts for axis in part]
    turned = np.transpose(values, [table.index(axis) for axis in order])
    sizes = [math.prod(values.shape[table.index(axis)] for axis in part) for part in parts]
    return np.ascontiguousarray(turned.reshape(sizes))
