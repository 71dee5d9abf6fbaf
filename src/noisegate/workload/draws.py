"""Tables with fresh noise, before and after small values are left out.

The noise is drawn for measuring and thrown away; nothing of it is published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate.laws.entropy import Entropy
from noisegate.margins.pieces import NoisyTable, estimate_tables, reconcile_tables
from noisegate.releases.plan import Plan, TablePlan
from noisegate.tables.domain import Domain

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Published:
    """What would be published of a table: values by cell, 0 where there is no row, and which cells have one."""

    values: NDArray[np.int64]
    shown: NDArray[np.bool_]


class BaseCounts(Protocol):
    """Counts of the base without its zeros: raw ones, or others in their place."""

    @property
    def cells(self) -> NDArray[np.int64]:
        """Numbers of cells in ascending order."""
        ...

    @property
    def raw_counts(self) -> NDArray[np.int64]:
        """The count of each."""
        ...


def draw_tables(
    plan: Plan, counts: BaseCounts, entropy: Entropy, /
) -> tuple[dict[str, Floats], dict[str, Published]]:
    """All tables with fresh noise: before anything is left out, and as they would be published."""
    return made_tables(plan, counts, noisy_tables(plan, counts, entropy))


def noisy_tables(plan: Plan, counts: BaseCounts, entropy: Entropy, /) -> dict[str, NoisyTable]:
    """Every measured table with fresh noise, and nothing done to it."""
    return {
        table.name: _noisy(plan, table, counts, entropy) for table in plan.tables if table.noise is not None
    }


def unrestricted_tables(plan: Plan, noisy: Mapping[str, NoisyTable], /) -> dict[str, Floats]:
    """What the plan's predictions are about: reconciled, but neither whole nor kept from being negative."""
    if plan.spec.privacy.margins != "reconcile":
        return {name: table.values.astype(np.float64) for name, table in noisy.items()}
    found = estimate_tables(plan.spec.domain, plan.spec.margins, **_by_role(plan, noisy))
    return {plan.base.name: found.base, **found.margins}


def made_tables(
    plan: Plan, counts: BaseCounts, noisy: Mapping[str, NoisyTable], /
) -> tuple[dict[str, Floats], dict[str, Published]]:
    """All tables made of noisy ones: before anything is left out, and as they would be published."""
    if plan.spec.privacy.margins == "reconcile":
        whole = reconcile_tables(plan.spec.domain, plan.spec.margins, **_by_role(plan, noisy))
        full = {plan.base.name: whole.base, **whole.margins}
    else:
        full = {name: table.values for name, table in noisy.items()}
        if plan.spec.privacy.zeros == "keep":
            full = {name: np.where(raw_table(plan, name, counts) > 0, v, 0) for name, v in full.items()}
    noised, published = {}, {}
    for table in plan.tables:
        if table.name not in full:
            continue
        values = full[table.name]
        shown = np.ones(len(values), bool) if table.least is None else values >= table.least
        noised[table.name] = values.astype(np.float64)
        published[table.name] = Published(values=np.where(shown, values, 0), shown=shown)
    return noised, published


def _by_role(plan: Plan, noisy: Mapping[str, NoisyTable], /) -> dict[str, Any]:
    """The base, and the measured margins."""
    margins = {name: table for name, table in noisy.items() if name != plan.base.name}
    return {"base": noisy[plan.base.name], "measured": margins}


def _noisy(plan: Plan, table: TablePlan, counts: BaseCounts, entropy: Entropy, /) -> NoisyTable:
    assert table.noise is not None
    values = table.noise.draw(table.cells, entropy=entropy) + raw_table(plan, table.name, counts)
    return NoisyTable(values=values, variance=table.noise.law.variance)


def table_domain(plan: Plan, name: str, /) -> Domain:
    """The cells of a planned table."""
    return plan.spec.domain if name == plan.base.name else plan.spec.margins[name].domain


def raw_table(plan: Plan, name: str, counts: BaseCounts, /) -> NDArray[np.int64]:
    """The raw counts of a table, zeros included."""
    if name == plan.base.name:
        values = np.zeros(plan.base.cells, np.int64)
        values[counts.cells] = counts.raw_counts
        return values
    margin = plan.spec.margins[name]
    sums = np.bincount(margin.of(counts.cells), weights=counts.raw_counts, minlength=margin.domain.size)
    return sums.astype(np.int64)
