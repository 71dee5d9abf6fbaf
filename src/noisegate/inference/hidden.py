"""What shown totals say of sums of cells, with no prior at all (MATH 10 e).

A row of a margin less those of its shown cells that nobody asked for is the sum of all the others: of its hidden cells, and of any shown ones. Shown values hold too much
noise on average, which is taken off (`threshold`). What is left is known up to noise whose law is known, whatever the law of the counts.

Where tables are sums of one estimate they share its error. No linear estimate of a sum is surer than the least-squares one, so none surer than the
weighted mean of what every measured table says that has the sum as whole rows; for a total of everything both are the same (`margins.design`).

*Anchor.* Hidden cells that add up to what shown totals leave for them: the totals say how many, the prior only where.

One tilt exp(t * count) moves the laws of all hidden cells of a part alike, so that their means add up to the hidden sum that needs no prior (`hidden`). Shown
cells near the threshold are moved in the same way, by what shown values exceed raw counts, so that cells of whole rows add up to the row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.excess import ThresholdExcess
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.linked.totals import SumEstimates
from noisegate.inference.profile.profile import CellLaws
from noisegate.inference.profile.sum_law import cumulant_intervals
from noisegate.inference.roles import numbered
from noisegate.laws import compiled

#: The prior may be off by this share of all hidden cells of a part together.
PRIOR_OFF = 0.4
#: Hidden cells keep at least this share of what the prior gives them, whatever totals say.
_LEAST_LEFT = 0.02
#: The prior may be off by this share of what it draws shown values down by.
_DRAWN = 0.25
#: Values further above the threshold than so many scales of the noise are as they are.
_NEAR_SCALES = 6.0
_TILTS, _LONGEST_TILT = 12, 0.5
#: Ends of laws that hold less than this are not kept.
_TRIM = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptLaws:
    """Laws of cells number by number, in single precision; `mean`, `variance` and `third` are central moments."""

    mean: Floats
    variance: Floats
    third: Floats
    low: NDArray[np.int32]
    start: Ints
    mass: NDArray[np.float32]

    @classmethod
    def of(cls, estimates: CellEstimates, /) -> KeptLaws:
        """The laws that were kept with estimates."""
        assert estimates.pmfs is not None
        pmfs = estimates.pmfs.trimmed(_TRIM)
        offset = np.arange(len(pmfs.p)) - np.repeat(pmfs.start[:-1], pmfs.sizes)
        away = offset + np.repeat(pmfs.low - estimates.mean, pmfs.sizes)
        return cls(
            mean=estimates.mean,
            variance=estimates.sd**2,
            third=np.add.reduceat(pmfs.p * away**3, pmfs.start[:-1]),
            low=pmfs.low.astype(np.int32),
            start=pmfs.start,
            mass=pmfs.p.astype(np.float32),
        )

    def tilted(self, cells: Ints, tilt: float, /) -> KeptLaws:
        """The same, with the laws of some cells times exp(tilt * count)."""
        mean, variance, third = self.mean.copy(), self.variance.copy(), self.third.copy()
        mass = self.mass.copy()
        _tilt_kept(cells, tilt, self.low, self.start, mass, mean, variance, third)
        return replace(self, mean=mean, variance=variance, third=third, mass=mass)

    def pmfs(self, cells: Ints, /) -> Pmfs:
        """The laws of some cells."""
        first, sizes = self.start[cells], np.diff(self.start)[cells]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(first - start[:-1], sizes) + np.arange(start[-1])
        return Pmfs(low=self.low[cells].astype(np.int64), start=start, p=self.mass[places].astype(np.float64))


@compiled
def _tilt_kept(
    cells: Ints,
    tilt: float,
    low: NDArray[np.int32],
    start: Ints,
    mass: NDArray[np.float32],
    mean: Floats,
    variance: Floats,
    third: Floats,
) -> None:
    """Tilt laws in place, with their moments."""
    for cell in cells:
        a, b = start[cell], start[cell + 1]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(a, b):
            d = float(k - a)
            w = mass[k] * np.exp(tilt * (d - (b - 1 - a if tilt > 0 else 0)))
            mass[k] = w
            s0 += w
            s1 += w * d
            s2 += w * d * d
            s3 += w * d * d * d
        for k in range(a, b):
            mass[k] /= s0
        m = s1 / s0
        mean[cell] = low[cell] + m
        variance[cell] = max(s2 / s0 - m * m, 0.0)
        third[cell] = s3 / s0 - 3 * m * s2 / s0 + 2 * m * m * m


AnyLaws = CellLaws | KeptLaws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """What shown totals say of the cells of a unit, as one number for each part; cells that hold the same count as others are left as they are."""

    totals: ShownTotals
    cells: Ints
    parts: Ints
    free: Bools

    def hold(self, laws: AnyLaws, /) -> AnyLaws:
        """The laws with hidden cells that add up to what shown totals leave.

        By the margin that shows most of the hidden cells. A total whose noise is large beside what the prior may be off by leaves the
        prior its word.
        """
        hidden = self.free & np.isnan(self._evidence.base.values[self.cells])
        margins = self.totals.margins
        for part in np.unique(self.parts[hidden]).tolist() if margins else ():
            places = np.flatnonzero(hidden & (self.parts == part))
            found = [self._left_for(margin, places) for margin in margins]
            margin, (taken, left, variance) = max(
                zip(margins, found, strict=True), key=lambda one: (int(one[1][0].sum()), -one[1][2])
            )
            laws, more = self._less_excess(laws, self._beside(margin, hidden, part))
            mean = float(laws.mean[places[taken]].sum())
            doubt = (PRIOR_OFF * mean) ** 2
            wanted = ((left + more) * doubt + mean * variance) / max(doubt + variance, 1e-12)
            laws = _moved(laws, places[taken], max(wanted, _LEAST_LEFT * mean))
        return laws

    @property
    def _evidence(self) -> Evidence:
        return self.totals.evidence

    def _left_for(self, margin: Observation, places: Ints, /) -> tuple[Bools, float, float]:
        """Which hidden cells a margin says something about, what it leaves for them together, and with what variance."""
        found = self.totals.of(margin).of_groups(self.cells[places], np.zeros(len(places), np.int64), 1)
        return found.taken, float(found.sum[0]), float(found.variance[0])

    def _beside(self, margin: Observation, hidden: Bools, part: int, /) -> Ints:
        """The shown cells of the shown rows of a margin."""
        row = margin.where.of(self.cells)
        there = self.free & ~hidden & (self.parts == part) & (row >= 0)
        return np.flatnonzero(there & margin.shown(row))

    def _less_excess(self, laws: AnyLaws, shown: Ints, /) -> tuple[AnyLaws, float]:
        """Laws of shown cells that hold what values exceed raw counts by, and how much more that is than the histogram says.

        The prior has its own word on it, by how far it draws single values down; each counts as far as it is sure.
        """
        values = self._evidence.base.values[self.cells[shown]]
        there = np.isfinite(values)
        shown, values = shown[there], values[there]
        if not shown.size:
            return laws, 0.0
        seen, doubt = self._evidence.excess.added(values, np.zeros(len(values), np.int64), 1)
        drawn = float(values.sum() - laws.mean[shown].sum())
        own = (_DRAWN * drawn) ** 2
        excess = float((seen[0] * own + drawn * doubt[0]) / max(own + doubt[0], 1e-12))
        near = shown[values < self._evidence.excess.edge + _NEAR_SCALES * self._evidence.excess.scale]
        total = float(laws.mean[near].sum()) + drawn - excess
        return _moved(laws, near, total), excess - float(seen[0])


def _moved(laws: AnyLaws, cells: Ints, total: float, /) -> AnyLaws:
    """Laws of cells tilted alike, so that their means add up to `total`."""
    for _ in range(_TILTS):
        off = total - float(laws.mean[cells].sum())
        width = float(laws.variance[cells].sum())
        if not cells.size or abs(off) < 1e-4 * max(total, 1.0) or width <= 0:
            break
        laws = laws.tilted(cells, float(np.clip(off / width, -_LONGEST_TILT, _LONGEST_TILT)))
    return laws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FromRows:
    """What rows of a margin say of groups of cells: the sum of the cells that `taken` marks, and the variance of its noise.

    `hidden` is how many of these cells are not shown.
    """

    taken: Bools
    sum: Floats
    variance: Floats
    hidden: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTotals:
    """The shown rows of one margin, and what their cells show: for each row how many are hidden, how many shown, and what these add up to.

    `open` says which rows are shown and evidence; `excess` and `doubt` are what shown values hold too much, and how unsure that is; `over` and `over_doubt` the same of the rows themselves.
    """

    evidence: Evidence
    margin: Observation
    open: Bools
    hidden: Ints
    shown: Ints
    total: Floats
    excess: Floats
    doubt: Floats
    over: Floats
    over_doubt: Floats

    @classmethod
    def of(cls, evidence: Evidence, margin: Observation, live: Ints, /) -> RowTotals:
        """The rows of a margin over cells that could hold something."""
        row, size = margin.where.of(live), len(margin.values)
        inside = row >= 0
        row, values = row[inside], evidence.base.values[live[inside]]
        there = ~np.isnan(values)
        usable = np.ones(size, bool) if margin.usable is None else margin.usable.copy()
        if evidence.base.usable is not None:
            usable[row[~evidence.base.usable[live[inside]]]] = False
        excess, doubt = evidence.excess.added(values, np.where(there, row, -1), size)
        told = ~np.isnan(margin.values)
        lacking = int((~told & (evidence.cells_in(margin) > 0)).sum())
        rows = ThresholdExcess.of(margin.values[told], margin.mechanism, hidden=lacking)
        # Totals that are sums of one estimate are not selected by noise of their own.
        own = margin.measured and not evidence.consistent
        codes = np.where(np.isnan(margin.values) | (not own), -1, np.arange(size))
        over, over_doubt = rows.added(margin.values, codes, size)
        return cls(
            evidence=evidence,
            margin=margin,
            open=~np.isnan(margin.values) & usable,
            hidden=np.bincount(row[~there], minlength=size),
            shown=np.bincount(row[there], minlength=size),
            total=np.bincount(row[there], weights=values[there], minlength=size).astype(np.float64),
            excess=excess,
            doubt=doubt,
            over=over,
            over_doubt=over_doubt,
        )

    def of_groups(self, cells: Ints, groups: Ints, size: int, /) -> FromRows:
        """What shown rows say of each of `size` groups: of those rows of which a group has all hidden cells."""
        rows = len(self.margin.values)
        row = self.margin.where.of(cells)
        values = self.evidence.base.values[cells]
        there = ~np.isnan(values)
        keys, place = numbered(groups * rows + np.maximum(row, 0))
        group, at = np.divmod(keys, rows)
        outside = np.bincount(place, weights=row < 0, minlength=len(keys)) > 0
        asked = np.bincount(place, weights=there, minlength=len(keys)).astype(np.int64)
        lacking = np.bincount(place, weights=~there, minlength=len(keys)).astype(np.int64)
        whole = self.open[at] & ~outside & (lacking == self.hidden[at])
        # Of a row without hidden cells single cells are better asked for themselves.
        whole &= (lacking > 0) | (asked == self.shown[at])
        seen = np.bincount(place, weights=np.nan_to_num(values), minlength=len(keys))
        mine = self.evidence.excess.seen(np.where(there, values, np.nan)) * (1 + self.evidence.excess.below)
        over = np.bincount(place, weights=mine, minlength=len(keys))
        left = self.margin.total(at) - self.over[at] - (self.total[at] - seen) + (self.excess[at] - over)
        others = self.shown[at] - asked
        share = np.divide(others, self.shown[at], out=np.zeros(len(at)), where=self.shown[at] > 0)

        def added(what: Floats) -> Floats:
            return np.bincount(group[whole], weights=what[whole], minlength=size).astype(np.float64)

        taken = np.asarray(whole[place])
        noise = self._noise(cells[taken], groups[taken], size, added(others.astype(np.float64)))
        below = self.evidence.excess
        doubt = added(share * self.doubt[at] + self.over_doubt[at])
        if below.below > 0:
            # How the histogram goes on below the threshold is one doubt for all rows.
            together = below.doubt / (1 + below.below) ** 2
            doubt += together * (added(share * self.excess[at]) ** 2 - added((share * self.excess[at]) ** 2))
        return FromRows(
            taken=taken,
            sum=added(left),
            variance=noise + doubt,
            hidden=added(lacking.astype(np.float64)).astype(np.int64),
        )

    def _noise(self, cells: Ints, groups: Ints, size: int, others: Floats, /) -> Floats:
        """The variance of the noise in what rows leave, when so many shown cells are taken off."""
        base, terms = self.evidence.base, np.bincount(groups, minlength=size)
        if not self.evidence.consistent:
            return np.asarray(
                self.margin.noise * self._rows(self.margin, cells, groups, size) + base.noise * others
            )
        # The estimate over the cells themselves, or over whole rows less the others.
        precision = 1 / (base.noise * np.maximum(terms, 1))
        for margin in self.evidence.margins:
            if margin.measured:
                taken = self._rows(margin, cells, groups, size)
                usable = self._all_whole(margin, cells, groups, size) & (taken > 0) & (others == 0)
                precision[usable] += 1 / (margin.noise * taken[usable])
        return np.asarray(np.where(terms > 0, 1 / precision, 0.0))

    def _rows(self, margin: Observation, cells: Ints, groups: Ints, size: int, /) -> Ints:
        """How many rows of a margin each group touches."""
        row = margin.where.of(cells)
        keys, _ = numbered((groups * len(margin.values) + row)[row >= 0])
        return np.bincount(keys // len(margin.values), minlength=size)

    def _all_whole(self, margin: Observation, cells: Ints, groups: Ints, size: int, /) -> Bools:
        """Which groups have only whole rows of a margin."""
        row = margin.where.of(cells)
        keys, place = numbered((groups * len(margin.values) + row)[row >= 0])
        terms = np.bincount(place, minlength=len(keys))
        every = self.evidence.cells_in(margin)
        broken = terms != every[keys % len(margin.values)]
        bad = np.bincount(keys // len(margin.values), weights=broken, minlength=size)
        return np.asarray((bad == 0) & (np.bincount(groups, weights=row < 0, minlength=size) == 0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShownTotals:
    """The margins that say what sums of cells are, each with its rows, which are added up when they are first asked for."""

    evidence: Evidence
    _rows: dict[str, RowTotals] = field(default_factory=dict, init=False, repr=False)

    @property
    def margins(self) -> tuple[Observation, ...]:
        """Those whose noise is known: their own, or that of an estimate that all tables are sums of."""
        consistent = self.evidence.consistent
        return tuple(margin for margin in self.evidence.margins if margin.measured or consistent)

    def of(self, margin: Observation, /) -> RowTotals:
        """The rows of a margin."""
        if margin.name not in self._rows:
            self._rows[margin.name] = RowTotals.of(self.evidence, margin, self.evidence.live)
        return self._rows[margin.name]

    def hidden_sum(self, cells: Ints, mean: Floats, variance: Floats, /, *, level: float) -> SumEstimates:
        """What hidden cells add up to: by the margin that says most of it, and by their moments where no shown row says anything.

        Where only a prior speaks it may be off for all cells at once, by `PRIOR_OFF` of them.
        """
        none = np.zeros(len(cells), np.int64)
        found = [self.of(margin).of_groups(cells, none, 1) for margin in self.margins]
        best = max(found, key=lambda one: (int(one.taken.sum()), -float(one.variance[0])), default=None)
        others = np.ones(len(cells), bool) if best is None else ~best.taken
        alone = float(mean[others].sum())
        centre = alone + (0.0 if best is None else float(best.sum[0]))
        spread = (
            float(variance[others].sum())
            + (PRIOR_OFF * alone) ** 2
            + (0.0 if best is None else float(best.variance[0]))
        )
        middle = np.array([max(centre, 0.0)])
        low, high = cumulant_intervals(np.array([centre]), np.array([spread]), np.zeros(1), level=level)
        ends = np.floor(middle).astype(np.int64), np.ceil(middle).astype(np.int64)
        return SumEstimates(
            level=level,
            mean=middle,
            sd=np.sqrt(np.array([spread])),
            low=np.minimum(low, ends[0]),
            high=np.maximum(high, ends[1]),
        )
