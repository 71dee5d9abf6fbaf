"""Least-squares estimate of the base from all measured tables, in time linear in the cells.

`design.py` shows that in the subspace U every table measures the same coordinates with its own scalar
precision. So the estimate is, in U, the mean of the tables' values with weights
w_S(U) = precision of S / precision(U). Write the base's value plus what the margins add to it:

    x = y_base + sum over margins T of spread( A_T r_T ) / n_T,
    r_T = y_T - (sums of y_base),      A_T = sum over U within T of w_T(U) P_U,

where P_U projects a table onto U (contrast along U, mean along the rest). All the work on the base is one
sum and one addition for each margin; A_T acts on margins only and needs only means along axes.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.margins.design import Design, Group, MeasuredTable, Table, TableShape

Floats = NDArray[np.float64]

#: Cells from which on threads share the work, and how many they are.
_MANY, _THREADS = 1 << 16, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """Noisy values of one table: raw sums plus independent noise of known variance, signed."""

    axes: Table
    values: NDArray[Any]
    variance: float

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.axes):
            raise DataError(
                f"a measured table over {len(self.axes)} dimensions needs as many array axes, "
                f"got {self.values.ndim}."
            )
        if self.values.dtype.kind not in "if":
            raise DataError(f"measured values must be numbers, got {self.values.dtype}.")
        if self.values.dtype.kind == "f" and not np.isfinite(self.values).all():
            raise DataError("measured values must be finite.")
        MeasuredTable(table=self.axes, variance=self.variance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reconciled:
    """The estimated base, real and signed; all tables are its sums, so they agree with each other.

    Guarantees: unbiased; of all unbiased linear estimates the one with the smallest variance, for every
    cell and every sum of cells. `variance` is exact.
    """

    design: Design
    base: Floats

    @property
    def shape(self) -> TableShape:
        """The axes of the base."""
        return self.design.shape

    def table(self, axes: Iterable[str], /) -> Floats:
        """The estimate of the table that keeps `axes`."""
        shape = self.design.shape
        return np.asarray(shape.summed(self.base, shape.table(axes)))

    def variance(self, axes: Iterable[str], /) -> float:
        """The variance of each cell of that table; the same for all its cells."""
        return self.design.variance(self.design.cell_of(self.design.shape.table(axes)))

    @property
    def margins(self) -> tuple[Table, ...]:
        """The measured tables other than the base, each once."""
        tables = dict.fromkeys(one.table for one in self.design.measured)
        return tuple(table for table in tables if table != self.design.shape.axes)


def reconcile(base: Measurement, margins: Iterable[Measurement] = (), /) -> Reconciled:
    """The best linear unbiased estimate of the base, given it and any margins of it.

    Assumes
    -------
    Independent noise with mean zero and the stated variance, one variance for each table.
    The noise is all there is: nothing was clamped, suppressed or rounded before.

    Examples
    --------
    >>> base = Measurement(axes=("time", "location"), values=np.array([[3, 1], [0, 2]]), variance=2.0)
    >>> total = Measurement(axes=(), values=np.array(10), variance=8.0)
    >>> reconcile(base, [total]).base.sum()
    np.float64(8.0)
    """
    shape = TableShape(axes=base.axes, sizes=base.values.shape)
    others = [_in_order(shape, margin) for margin in margins]
    measured = [MeasuredTable(table=one.axes, variance=one.variance) for one in (base, *others)]
    design = Design(shape=shape, measured=tuple(measured))
    residuals = [one.values - shape.summed(base.values, one.axes) for one in others]
    changes = []
    for source, (margin, residual) in enumerate(zip(others, residuals, strict=True), start=1):
        change = _weighed(design, source, residual.astype(np.float64))
        changes.append(shape.spread(change / shape.terms(margin.axes), margin.axes))
    return Reconciled(design=design, base=_changed(base.values, changes))


def _changed(values: NDArray[Any], changes: list[Floats], /) -> Floats:
    """Values plus all changes, entry by entry of the first axis: what was just written is still at hand for the next change, and threads share the entries."""
    if not values.ndim:
        return np.asarray(sum(changes, start=values.astype(np.float64)))
    estimate = np.empty(values.shape)

    def work(place: int) -> None:
        estimate[place] = values[place]
        for change in changes:
            estimate[place] += change[place if len(change) > 1 else 0]

    if values.size < _MANY:
        for place in range(len(values)):
            work(place)
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(work, range(len(values))))
    return estimate


def _in_order(shape: TableShape, margin: Measurement, /) -> Measurement:
    """`margin` with its axes in the order of the base."""
    table = shape.table(margin.axes)
    values = np.transpose(margin.values, [margin.axes.index(axis) for axis in table])
    if values.shape != shape.lengths(table):
        raise DataError(
            f"margin {', '.join(table) or '(total)'} has shape {values.shape}; "
            f"the base says {shape.lengths(table)}."
        )
    return Measurement(axes=table, values=values, variance=margin.variance)


def _weighed(design: Design, source: int, residual: Floats, /) -> Floats:
    """A_T of the module's docstring: each part of the residual times the weight it gets there."""
    table = design.measured[source].table
    groups = [g for g in design.groups() if source in g.kept_by and len(g.kept_by) < len(design.measured)]
    along = [tuple(table.index(axis) for axis in group.axes) for group in groups]

    def part(values: Floats, level: int, contrasts: list[Group]) -> Floats:
        if level == len(groups):
            return values * (design.precision_of(source) / design.precision(contrasts))
        mean = values.mean(axis=along[level], keepdims=True)
        flat = part(mean, level + 1, contrasts)
        return flat + part(values - mean, level + 1, [*contrasts, groups[level]])

    return part(residual, 0, [])
