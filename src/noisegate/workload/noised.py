"""Tables with noise and nothing left out: of a plan with fresh noise, of a published release as far as it can be told.

Fresh noise is drawn for measuring and thrown away; nothing of it is published.

Of a published table rows that are shown are as they are. The noise of a row that is not is gone. Its mean is not: it follows
from the law of the noise, and from the row's having stayed below the threshold. With it the errors of noise and of
suppression have, over many releases, the means that they would have if the noise had been written down. Where margins were
reconciled they are sums of the base, missing rows included; so a shown row of a margin says what its missing base cells add
up to, and their means are moved to agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.engine import ExpectedCounts
from noisegate.inference import lattice_law
from noisegate.laws import Entropy, LatticeLaw
from noisegate.margins import ErrorLaw, NoisyTable, estimate_tables, reconcile_tables
from noisegate.query import OpenRelease
from noisegate.releases import Plan, TablePlan
from noisegate.tables import Domain, Selection
from noisegate.workload.frame import Frame, FrameTable
from noisegate.workload.raw import RawCells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The law of the noise is looked at as far as it has this probability, in nats.
_NATS = 45.0
_ROWS = 1 << 14


@dataclass(frozen=True, kw_only=True)
class MissingRows:
    """The mean of a noisy count that was left out, for any raw count.

    Attributes
    ----------
    law
        Of the noise.
    threshold
        The least value that is published.
    zeros
        `keep` if empty cells get no noise.
    floor
        None if values may be negative. Else all were lowered by this much, and then raised to zero where they would be
        below it: what is gained there is taken from the others, so that sums stay what they are.
    """

    law: LatticeLaw
    threshold: int
    zeros: str
    floor: float | None

    def means(self, kept: ExpectedCounts, /) -> Floats:
        """The mean of each of these missing rows.

        Lots are taken to be drawn event by event, each with the mean chance of its cell.
        """
        chances, moments = self._below
        last = chances.size - 1
        found = np.empty(kept.sure.size)
        for events in np.unique(kept.drawing).tolist():
            rows = np.flatnonzero(kept.drawing == events)
            for part in np.array_split(rows, -(-rows.size * (events + 1) // (_ROWS * 64)) or 1):
                counts = np.minimum(kept.sure[part, None] + np.arange(events + 1), last)
                share = np.clip(kept.kept[part] / max(events, 1), 0.0, 1.0)
                lots = _binomial(events, share[:, None])
                below = (lots * chances[counts]).sum(axis=1)
                mean = (lots * moments[counts]).sum(axis=1)
                # A row that cannot be missing is as large as a missing one can be.
                found[part] = np.where(
                    below > 0, mean / np.where(below > 0, below, 1.0), self.threshold - 1.0
                )
        return found

    @cached_property
    def _below(self) -> tuple[Floats, Floats]:
        """For each raw count from 0 the chance of staying below the threshold, and the mean on that event."""
        reach = self.law.reach(_NATS)
        count = np.arange(self.threshold + reach + 1)
        noise = np.arange(-2 * reach - self.threshold - 1, self.threshold)
        mass = np.exp(self.law.logpmf(noise))
        chance, moment = np.cumsum(mass), np.cumsum(noise * mass)
        top = self.threshold - 1 - count - noise[0]
        chances = chance[top]
        moments = moment[top] + count * chance[top]
        if self.floor is not None:
            bottom = math.ceil(self.floor) - 1 - count - noise[0]
            below = np.minimum(bottom, top)
            moments -= moment[below] + count * chance[below] + self.floor * (chance[top] - chance[below])
        if self.zeros == "keep":
            chances[0], moments[0] = 1.0, 0.0
        return chances, moments


#: A sum of missing rows is off if it is so many standard deviations of the total's noise above what is left for it.
_CLEAR_SDS = 1.0
#: The most that cells are lowered by, in standard deviations of their noise, and how finely that is found.
_MOST_SHIFT, _HALVINGS = 8.0, 12
#: Rounds over all margins in which means of missing cells are moved towards shown sums.
_ROUNDS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Noised:
    """The tables of a release with noise and nothing left out, as far as the raw data and the card tell."""

    frame: Frame
    raw: RawCells
    kept: ExpectedCounts = field(init=False)
    _known: dict[str, Floats] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", self.raw.kept)

    def bounded(self, table: FrameTable, /) -> Floats:
        """The raw counts of a table with each unit held to its bound, on average over the lots."""
        return table.sums(self.kept.cells, self.kept.mean)

    def spread(self, table: FrameTable, /) -> Floats:
        """The variance of these counts by the lots, as if they were drawn event by event."""
        return table.sums(self.kept.cells, self.kept.variance)

    def of(self, table: FrameTable, /) -> Floats:
        """The values of a table before any row was left out.

        Without a card the law of the noise is not known, and missing rows are taken to have had none.
        """
        if table.name not in self._known:
            self._known[table.name] = self._with_missing(table)
        return self._known[table.name]

    def _with_missing(self, table: FrameTable, /) -> Floats:
        missing = ~table.shown
        if not missing.any():
            return table.values.astype(np.float64)
        release = self.frame.release
        if release is None:
            return np.where(table.shown, table.values, self.bounded(table))
        if self.frame.method != "reconcile":
            return np.where(table.shown, table.values, self._means(table, _own_rows(release, table)))
        means = self._reconciled(table, release)
        if table.margin is not None:
            return np.where(table.shown, table.values, means)
        return self._agreeing(table, means)

    def _means(self, table: FrameTable, rows: MissingRows | None, /) -> Floats:
        """The mean of every cell, if it is missing; nothing where no row is left out."""
        if rows is None:
            return np.zeros(table.domain.size)
        zero = np.zeros(1, np.int64)
        found = np.full(table.domain.size, rows.means(ExpectedCounts.sure_of(zero, zero))[0])
        kept = self.kept
        if table.margin is not None:
            kept = ExpectedCounts.sum_of([replace(kept, cells=table.margin.of(kept.cells))])
        kept = kept.take((kept.sure + kept.drawing > 0) & ~table.shown[kept.cells])
        found[kept.cells] = rows.means(kept)
        return found

    def _reconciled(self, table: FrameTable, release: OpenRelease, /) -> Floats:
        """The mean of every cell, if it is missing, of tables that were made to agree and non-negative.

        Sums of all cells have no bias, so what empty cells gained by being raised to zero was taken from the others. How
        much that is for one cell follows from what the shown rows leave of the expected total, where that is clear
        of the total's noise.
        """
        threshold = release.release.table(table.name).threshold.value
        if threshold is None:
            return np.zeros(table.domain.size)
        rows = MissingRows(
            law=lattice_law(_cell_error(release, table)), threshold=int(threshold), zeros="perturb", floor=0.0
        )
        missing = ~table.shown
        left = float(self.bounded(table).sum() - table.values[table.shown].sum())
        sure = _CLEAR_SDS * _total_error(release, table).standard_deviation
        means = self._means(table, rows)
        low, high = 0.0, rows.law.variance**0.5 * _MOST_SHIFT
        if means[missing].sum() - max(left, 0.0) <= sure:
            return means
        for _ in range(_HALVINGS):
            floor = (low + high) / 2
            means = self._means(table, replace(rows, floor=floor))
            low, high = (floor, high) if means[missing].sum() > left else (low, floor)
        return means

    def _agreeing(self, base: FrameTable, means: Floats, /) -> Floats:
        """The base with missing cells moved so that they add up to what shown rows of margins leave for them."""
        missing = np.flatnonzero(~base.shown)
        found = np.where(base.shown, base.values, 0).astype(np.float64)
        moved, cells = means[missing], np.arange(found.size)
        margins = [
            (one.margin.of(missing), np.maximum(self.of(one) - one.sums(cells, found), 0.0))
            for one in self.frame.tables
            if one.margin is not None
        ]
        for _ in range(_ROUNDS):
            for place, left in margins:
                sums = np.bincount(place, weights=moved, minlength=left.size)
                moved = moved * np.divide(left, sums, out=np.ones_like(left), where=sums > 0)[place]
        found[missing] = moved
        return found


def _own_rows(release: OpenRelease, table: FrameTable, /) -> MissingRows | None:
    """Missing rows of a table with noise of its own."""
    stated = release.release.table(table.name)
    if stated.law is None or stated.threshold.value is None or stated.mechanism is None:
        return None
    return MissingRows(
        law=stated.law.rounded(),
        threshold=int(stated.threshold.value),
        zeros=stated.mechanism.mechanism.zeros,
        floor=None,
    )


def _cell_error(release: OpenRelease, table: FrameTable, /) -> ErrorLaw:
    """The law of the error of one cell of a table, in the largest block of its domain."""
    block = max(table.domain.blocks, key=lambda one: one.size)
    masks = {}
    for axis in block.axes:
        for place, code in zip(axis.dimensions, axis.entries[:, 0].tolist(), strict=True):
            dimension = table.domain.dimensions[place]
            masks[dimension.name] = np.zeros(len(dimension.labels), bool)
            masks[dimension.name][code] = True
    return _error(release, table, masks)


def _total_error(release: OpenRelease, table: FrameTable, /) -> ErrorLaw:
    """The law of the error of the sum of all cells of a table."""
    return _error(release, table, {})


def _error(release: OpenRelease, table: FrameTable, masks: Mapping[str, NDArray[np.bool_]], /) -> ErrorLaw:
    """The law of the error of the sum of some cells of a table."""
    whole = release.domain
    every = {d.name: np.ones(len(d.labels), bool) for d in whole.dimensions} | dict(masks)
    selection = Selection.of_masks(whole, [every[name] for name in whole.names])
    return release.errors.laws_of(selection.groups(table.domain), table.name, np.zeros(1, np.int64))[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnTable:
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
) -> tuple[dict[str, Floats], dict[str, DrawnTable]]:
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
) -> tuple[dict[str, Floats], dict[str, DrawnTable]]:
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
        published[table.name] = DrawnTable(values=np.where(shown, values, 0), shown=shown)
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


def _binomial(events: int, share: Floats, /) -> Floats:
    """P(0), P(1), ..., P(events) of so many lots with this chance each."""
    kept = np.arange(events + 1)
    ways = special.gammaln(events + 1) - special.gammaln(kept + 1) - special.gammaln(events - kept + 1)
    return np.asarray(np.exp(ways + special.xlogy(kept, share) + special.xlog1py(events - kept, -share)))
