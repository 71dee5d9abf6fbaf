"""From raw counts to published tables, by each way of making margins (MATH 7).

*derive*: the base is perturbed and cut, margins are sums of what is published.
*reconcile*: base and margins are measured with noise, then made consistent; the cut comes last.
*independent*: every table is perturbed and cut on its own, as in 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.engine import Counts
from noisegate.laws import Entropy
from noisegate.margins import NoisyTable, reconcile_tables
from noisegate.mechanisms import PublishedCells, perturb
from noisegate.releases.plan import Plan, TablePlan
from noisegate.tables import Margin

Ints = NDArray[np.int64]


def publish_tables(plan: Plan, counts: Counts, /, *, entropy: Entropy) -> dict[str, PublishedCells]:
    """The published cells of every table. Draws noise: the loss must have been charged."""
    make: Mapping[str, Callable[[Plan, Counts, Entropy], dict[str, PublishedCells]]] = {
        "derive": _derived,
        "reconcile": _reconciled,
        "independent": _independent,
    }
    made = make[plan.spec.privacy.margins](plan, counts, entropy)
    return {table.name: made[table.name] for table in plan.tables}


def _derived(plan: Plan, counts: Counts, entropy: Entropy, /) -> dict[str, PublishedCells]:
    base = _perturbed(plan, plan.base, counts.cells, counts.raw_counts, entropy)
    whole = len(base.cells) == plan.base.cells
    sums = {
        name: _summed(margin, base.cells, base.values, whole=whole)
        for name, margin in plan.spec.margins.items()
    }
    return {plan.base.name: base, **sums}


def _independent(plan: Plan, counts: Counts, entropy: Entropy, /) -> dict[str, PublishedCells]:
    made = {plan.base.name: _perturbed(plan, plan.base, counts.cells, counts.raw_counts, entropy)}
    for table in plan.margins:
        raw = _summed(plan.spec.margins[table.name], counts.cells, counts.raw_counts)
        made[table.name] = _perturbed(plan, table, raw.cells, raw.values, entropy)
    return made


def _reconciled(plan: Plan, counts: Counts, entropy: Entropy, /) -> dict[str, PublishedCells]:
    margins = plan.spec.margins
    measured = {}
    for table in plan.margins:
        if table.noise is not None:
            raw = _summed(margins[table.name], counts.cells, counts.raw_counts)
            measured[table.name] = _measured(table, raw.cells, raw.values, entropy)
    base = _measured(plan.base, counts.cells, counts.raw_counts, entropy)
    whole = reconcile_tables(plan.spec.domain, margins, base=base, measured=measured)
    cut = {table.name: table.least for table in plan.tables}
    return {
        name: _cut(values, cut[name])
        for name, values in {plan.base.name: whole.base, **whole.margins}.items()
    }


def _perturbed(plan: Plan, table: TablePlan, cells: Ints, raw: Ints, entropy: Entropy, /) -> PublishedCells:
    return perturb(cells, raw, size=table.cells, perturbation=plan.perturbation(table), entropy=entropy)


def _measured(table: TablePlan, cells: Ints, raw: Ints, entropy: Entropy, /) -> NoisyTable:
    """Noise on every cell of the table, zeros included, and nothing cut."""
    if table.noise is None:
        raise AssertionError("only measured tables are measured")
    values = table.noise.draw(table.cells, entropy=entropy)
    values[cells] += raw
    return NoisyTable(values=values, variance=table.noise.law.variance)


def _summed(margin: Margin, cells: Ints, values: Ints, /, *, whole: bool = False) -> PublishedCells:
    """The non-zero cells of a margin, given those of the base; or all, if the base has all."""
    groups = margin.of(cells)
    if margin.domain.size <= limits.current().summed_cells:
        # Sums in floating point are exact below 2**53; more events than that there are not.
        sums = np.bincount(groups, weights=values, minlength=margin.domain.size).astype(np.int64)
        where = np.arange(len(sums)) if whole else np.flatnonzero(sums)
        return PublishedCells(cells=where, values=sums[where])
    order = np.argsort(groups, kind="stable")
    found, starts = np.unique(groups[order], return_index=True)
    return PublishedCells(cells=found, values=np.add.reduceat(values[order], starts))


def _cut(values: Ints, least: int | None, /) -> PublishedCells:
    where = np.flatnonzero(values >= least) if least is not None else np.arange(len(values))
    return PublishedCells(cells=where, values=values[where])
