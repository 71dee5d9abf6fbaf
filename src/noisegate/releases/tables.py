"""From raw counts to published tables, by each way of making margins (MATH 7).

*derive*: the base is perturbed and cut, margins are sums of what is published.
*reconcile*: base and margins are measured with noise, then made consistent; the cut comes last.
*independent*: every table is perturbed and cut on its own, as in 2016.

Noise is drawn where the counts are, slice by slice (`engine.SlicedCounts`); what comes here is noisy already. Only `reconcile`
holds a table whole, up to its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.engine import (
    Counts,
    LocalCounts,
    NoiseWork,
    PublishedSlices,
    SlicedCounts,
    SliceStore,
    sum_published,
)
from noisegate.laws import Entropy
from noisegate.margins import NoisyTable, reconcile_tables, stretch_cells, stretches
from noisegate.mechanisms import Perturbation, PublishedCells, PublishedNoise
from noisegate.releases.files import equal_stretches
from noisegate.releases.plan import Plan, TablePlan

Ints = NDArray[np.int64]


def publish_tables(
    plan: Plan, counts: Counts | SlicedCounts, /, *, entropy: Entropy
) -> dict[str, PublishedSlices]:
    """The published cells of every table. Draws noise: the loss must have been charged."""
    sliced = LocalCounts.held(counts, cells=plan.base.cells) if isinstance(counts, Counts) else counts
    make: Mapping[str, Callable[[Plan, SlicedCounts, Entropy], dict[str, PublishedSlices]]] = {
        "derive": _derived,
        "reconcile": _reconciled,
        "independent": _independent,
    }
    made = make[plan.spec.privacy.margins](plan, sliced, entropy)
    return {table.name: made[table.name] for table in plan.tables}


def _derived(plan: Plan, counts: SlicedCounts, entropy: Entropy, /) -> dict[str, PublishedSlices]:
    base = counts.publish([_cut_work(plan, plan.base)], entropy=entropy)[plan.base.name]
    return _summed(plan, base)


def _summed(plan: Plan, base: PublishedSlices, /) -> dict[str, PublishedSlices]:
    """The base as it is published, and the sums of what is published of it."""
    sums = {
        name: sum_published(margin, base, whole=base.rows == plan.base.cells)
        for name, margin in plan.spec.margins.items()
    }
    return {plan.base.name: base, **sums}


def _independent(plan: Plan, counts: SlicedCounts, entropy: Entropy, /) -> dict[str, PublishedSlices]:
    works = [_cut_work(plan, table) for table in (plan.base, *plan.margins)]
    return counts.publish(works, entropy=entropy)


def _reconciled(plan: Plan, counts: SlicedCounts, entropy: Entropy, /) -> dict[str, PublishedSlices]:
    found = counts.publish(_measuring(plan), entropy=entropy)
    if plan.base.cells > limits.current().reconciled_cells:
        return _by_stretches(plan, found)
    return _whole(
        plan,
        {
            name: NoisyTable(values=found.pop(name).values, variance=noise.law.variance)
            for name, noise in _noises(plan).items()
        },
    )


def _by_stretches(plan: Plan, found: dict[str, PublishedSlices], /) -> dict[str, PublishedSlices]:
    """The same stretch by stretch of the base, which is nowhere held whole."""
    domain, margins = plan.spec.domain, plan.spec.margins
    base, least = found.pop(plan.base.name), {table.name: table.least for table in plan.tables}
    variances = {name: noise.law.variance for name, noise in _noises(plan).items()}
    measured = {name: table.values for name, table in found.items()}
    store = SliceStore(place=base.place)
    sums = {name: np.empty(margin.domain.size, np.int64) for name, margin in margins.items()}
    values = (part.values for part in equal_stretches(base, stretch_cells(domain)))
    for stretch, noisy in zip(stretches(domain, margins), values, strict=True):
        whole = reconcile_tables(
            stretch.domain,
            stretch.margins,
            base=NoisyTable(values=noisy, variance=variances[plan.base.name]),
            measured={
                name: NoisyTable(values=stretch.take(name, known), variance=variances[name])
                for name, known in measured.items()
            },
        )
        part = _cut(whole.base, least[plan.base.name])
        store.add(PublishedCells(cells=part.cells + stretch.start, values=part.values))
        for name, known in whole.margins.items():
            stretch.put(name, known, sums[name])
    cut = {name: PublishedSlices.held(_cut(known, least[name])) for name, known in sums.items()}
    return {plan.base.name: store.finish(), **cut}


def tables_of_values(plan: Plan, values: Mapping[str, Ints], /) -> dict[str, PublishedSlices]:
    """Published tables from noisy values of every cell of the measured ones, by the plan's way of making margins."""
    if plan.spec.privacy.margins == "derive":
        base = PublishedSlices.held(_cut(values[plan.base.name], plan.base.least))
        made = _summed(plan, base)
    else:
        made = _whole(
            plan,
            {
                name: NoisyTable(values=values[name], variance=noise.law.variance)
                for name, noise in _noises(plan).items()
            },
        )
    return {table.name: made[table.name] for table in plan.tables}


def _whole(plan: Plan, measured: dict[str, NoisyTable], /) -> dict[str, PublishedSlices]:
    """Whole tables that agree, from noisy ones; then the cut."""
    base = measured.pop(plan.base.name)
    whole = reconcile_tables(plan.spec.domain, plan.spec.margins, base=base, measured=measured)
    cut = {table.name: table.least for table in plan.tables}
    return {
        name: PublishedSlices.held(_cut(values, cut[name]))
        for name, values in {plan.base.name: whole.base, **whole.margins}.items()
    }


def _cut_work(plan: Plan, table: TablePlan, /) -> NoiseWork:
    """A table with its noise and its threshold."""
    return NoiseWork(
        name=table.name,
        margin=plan.spec.margins.get(table.name),
        perturbation=plan.perturbation(table),
        cells=table.cells,
    )


def _noises(plan: Plan, /) -> dict[str, PublishedNoise]:
    """The noise of each table that is measured."""
    tables: Sequence[TablePlan] = [*plan.margins, plan.base]
    return {table.name: table.noise for table in tables if table.noise is not None}


def _measuring(plan: Plan, /) -> list[NoiseWork]:
    """Noise on every cell of the measured tables, zeros included, and nothing cut."""
    tables = {table.name: table for table in plan.tables}
    return [
        NoiseWork(
            name=name,
            margin=plan.spec.margins.get(name),
            perturbation=Perturbation(noise=noise),
            cells=tables[name].cells,
        )
        for name, noise in _noises(plan).items()
    ]


def _cut(values: Ints, least: int | None, /) -> PublishedCells:
    where = np.flatnonzero(values >= least) if least is not None else np.arange(len(values))
    return PublishedCells(cells=where, values=values[where])
