"""Hidden cells that add up to what shown totals leave for them: the totals say how many, the prior only where.

Three steps, each from what needs no prior (`hidden`, `excess`):

*Shape.* Hidden cells together have the histogram that the published values, the number of hidden cells and the totals tell: two humps, lumps, many empty ones. The laws of
all hidden cells are weighed by one function of the count, so that expected counts of zeros, ones, twos ... are those of that histogram, as far as it is known.

*Level.* One tilt exp(t * count) moves the laws of all hidden cells of a part alike, so that their means add up to the hidden sum. Shown cells are
moved in the same way, so that their values exceed them by what selection adds.

*Rows.* The same row by row. If a prior is right, what rows leave strays from it by so much and no more; as far as it strays more, the prior is wrong about rows, and
rows have their way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.excess import (
    ThresholdExcess,
    ThresholdSelection,
    shown_histogram,
    threshold_of,
)
from noisegate.inference.hidden import PRIOR_OFF, LeftInRows, ShownTotals
from noisegate.inference.linked.pmfs import Pmfs, gathered
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.profile.profile import CellLaws
from noisegate.inference.trial import LawBeside
from noisegate.laws import compiled
from noisegate.tables import compact

#: Ends of laws that hold less than this are not kept.
_TRIM = 1e-7
#: Hidden cells keep at least this share of what the prior gives them, whatever totals say.
_LEAST_LEFT = 0.02
#: The prior may be off by this share of what it draws shown values down by, or of what they exceed by.
_DRAWN = 0.25
_TILTS, _LONGEST_TILT = 12, 0.5
#: Of fewer hidden or shown cells no histogram is learnt.
_FEW_HIDDEN, _FEW_SHOWN = 30, 30
#: The log-histogram of the prior is off by about this, before the tables are looked at.
_SHAPE_OFF = 0.7
_SHAPE_ROUNDS, _LONGEST_SHAPE = 4, 3.0
#: Of more hidden cells than this some tell the histogram of all: to about 1 %, where the tables tell it to several.
_MOST_LOOKED_AT = 30_000
#: A total says far more than its shown cells do if their variance is this many times that of its noise.
_FAR_MORE = 10.0
#: Rows of which totals say less than this are left alone.
_LEAST_ROWS = 2
#: Of fewer rows with noise than this the middle one says nothing of most.
_MOST_ROWS_TELL = 8
_ROW_ROUNDS = 3
#: Laws of several humps stray further by chance: rows have their way if they stray by so many standard deviations more.
_CLEARLY = 8.0
#: Noise below this share of what the cells of a row vary by is none.
_EXACT = 0.01
#: Half of all squares of normal errors are below this.
_MEDIAN = 0.455
#: Humps were learnt from what totals leave: all hidden cells of a part together are off by this share at most.
_HUMPS_OFF = 0.05
#: Of normal laws further from zero than this, in standard deviations, nothing is cut off.
_TRUNCATED = 6.0
_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptLaws:
    """Laws of cells number by number, in single precision; `mean`, `variance` and `third` are central moments."""

    mean: Floats
    variance: Floats
    third: Floats
    low: Ints
    start: Ints
    mass: NDArray[np.float32]

    @classmethod
    def of(cls, estimates: CellEstimates, /) -> KeptLaws:
        """The laws that were kept with estimates."""
        assert estimates.pmfs is not None
        pmfs = estimates.pmfs.trimmed(_TRIM)
        return cls(
            mean=estimates.mean,
            variance=estimates.sd**2,
            third=_thirds(pmfs.low, pmfs.start, pmfs.p, estimates.mean),
            low=pmfs.low,
            start=pmfs.start,
            mass=pmfs.p.astype(np.float32),
        )

    @classmethod
    def listed(cls, pmfs: Pmfs, /) -> KeptLaws:
        """Laws that are listed, with their moments."""
        none = np.zeros(pmfs.count)
        found = cls(
            mean=none.copy(),
            variance=none.copy(),
            third=none.copy(),
            low=pmfs.low,
            start=pmfs.start,
            mass=pmfs.p.astype(np.float32),
        )
        found.tilt(np.arange(pmfs.count), none)
        return found

    def replaced(self, cells: Ints, pmfs: Pmfs, /) -> KeptLaws:
        """The same with other laws of some cells."""
        of = np.full(len(self.low), -1)
        of[cells] = np.arange(len(cells))
        rest = np.flatnonzero(of < 0)
        order = np.empty(len(self.low), np.int64)
        order[rest], order[cells] = np.arange(len(rest)), len(rest) + np.arange(len(cells))
        every = Pmfs.joined([self.pmfs(rest), pmfs]).take(order)
        found = replace(self.copied(), low=every.low, start=every.start, mass=every.p.astype(np.float32))
        found.tilt(cells, np.zeros(len(cells)))
        return found

    def copied(self) -> KeptLaws:
        """The same, free to be moved."""
        return replace(
            self,
            mean=self.mean.copy(),
            variance=self.variance.copy(),
            third=self.third.copy(),
            mass=self.mass.copy(),
        )

    def without_moments(self) -> KeptLaws:
        """The same, once somebody else has the moments."""
        none = np.zeros(0)
        return replace(self, mean=none, variance=none, third=none)

    def tilt(self, cells: Ints, tilts: Floats, /) -> None:
        """Take the laws of some cells times exp(tilt * count), each with its own tilt, in place."""
        flat = np.ones(1)
        _tilt_and_weigh(
            cells, tilts, flat, self.low, self.start, self.mass, self.mean, self.variance, self.third
        )

    def weigh(self, cells: Ints, weights: Floats, /) -> KeptLaws:
        """The laws of some cells times a weight of each count, the last one for all larger ones, in place; itself."""
        none = np.zeros(len(cells))
        _tilt_and_weigh(
            cells, none, weights, self.low, self.start, self.mass, self.mean, self.variance, self.third
        )
        return self

    def pmfs(self, cells: Ints, /) -> Pmfs:
        """The laws of some cells."""
        sizes = np.diff(self.start)[cells]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        masses = gathered(self.start, cells, start, self.mass)
        return Pmfs(low=self.low[cells], start=start, p=masses)


@compiled
def _thirds(low: Ints, start: Ints, p: Floats, mean: Floats) -> Floats:
    """The third moment of each of many laws about a mean."""
    found = np.zeros(len(low))
    for i in range(len(low)):
        for k in range(start[i], start[i + 1]):
            away = low[i] + k - start[i] - mean[i]
            found[i] += p[k] * away * away * away
    return found


@compiled
def _tilt_and_weigh(
    cells: Ints,
    tilts: Floats,
    weights: Floats,
    low: Ints,
    start: Ints,
    mass: NDArray[np.float32],
    mean: Floats,
    variance: Floats,
    third: Floats,
) -> None:
    """Tilt and weigh laws in place, with their moments; a law that would vanish stays as it is."""
    longest = 0
    for i in range(len(cells)):
        longest = max(longest, start[cells[i] + 1] - start[cells[i]])
    moved = np.empty(longest)
    for i in range(len(cells)):
        cell, tilt = cells[i], tilts[i]
        a, b = start[cell], start[cell + 1]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(a, b):
            d = float(k - a)
            w = mass[k] * np.exp(tilt * (d - (b - 1 - a if tilt > 0 else 0)))
            w *= weights[min(low[cell] + k - a, len(weights) - 1)]
            moved[k - a] = w
            s0 += w
            s1 += w * d
            s2 += w * d * d
            s3 += w * d * d * d
        if s0 < 1e-30:
            continue
        for k in range(a, b):
            mass[k] = moved[k - a] / s0
        m = s1 / s0
        mean[cell] = low[cell] + m
        variance[cell] = max(s2 / s0 - m * m, 0.0)
        third[cell] = s3 / s0 - 3 * m * s2 / s0 + 2 * m * m * m


@compiled
def added(low: Ints, start: Ints, p: Floats, size: int, /) -> Floats:
    """How many of many laws' cells are expected to hold 0, 1, ... size - 1 (or more)."""
    found = np.zeros(size)
    for i in range(len(low)):
        for k in range(start[i], start[i + 1]):
            found[min(low[i] + k - start[i], size - 1)] += p[k]
    return found


@compiled
def expected(low: Ints, start: Ints, p: Floats, values: Floats, /) -> Floats:
    """What each of many laws expects of a value for each count, the last one for all larger ones."""
    found = np.zeros(len(low))
    for i in range(len(low)):
        for k in range(start[i], start[i + 1]):
            found[i] += p[k] * values[min(low[i] + k - start[i], len(values) - 1)]
    return found


AnyLaws = CellLaws | KeptLaws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchored:
    """Laws that agree with shown totals, how far one standard deviation of what these leave moves each cell, and how the law did by itself."""

    laws: AnyLaws
    moves: Floats
    beside: tuple[LawBeside, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """What shown totals say of the cells of a unit; cells that hold the same count as others are left as they are.

    `intensity` are intensities that totals alone tell and `loose` their relative variances, NaN elsewhere, and `share` what cells add to how sums vary, as a share of the variances of their laws.
    """

    totals: ShownTotals
    cells: Ints
    parts: Ints
    free: Bools
    loose: Floats
    intensity: Floats
    share: Floats
    humps: bool = False

    def hold(self, given: AnyLaws, /) -> Anchored:
        """The laws with hidden cells that add up to what shown totals leave."""
        hidden = self.free & np.isnan(self._evidence.base.values[self.cells])
        margins = self.totals.margins
        if not hidden.any() and self._evidence.base.mechanism.threshold is None:
            laws = self._shaped_all(given.copied())
            for told in self._told(self.free) * _ROW_ROUNDS:
                self._hold_rows(laws, told)
            return Anchored(laws=laws, moves=np.zeros(len(self.cells)), beside=())
        if not margins or not hidden.any():
            return Anchored(laws=given, moves=np.zeros(len(self.cells)), beside=())
        laws = self._shaped(given.copied(), hidden)
        self._steady(laws, np.flatnonzero(hidden & ~np.isnan(self.intensity)))
        wanted = [
            self._wanted(given, laws, np.flatnonzero(hidden & (self.parts == part)))
            for part in np.unique(self.parts[hidden])
        ]
        every = self._told(np.ones(len(self.cells), bool))
        for rows in (self._told(hidden), *[every] * _ROW_ROUNDS):
            self._hold_levels(laws, wanted)
            for told in rows:
                self._hold_rows(laws, told)
        self._hold_levels(laws, wanted)
        # What is exact has the last word.
        for told in every * _ROW_ROUNDS:
            self._hold_rows(laws, told, exact=True)
        for told in every * _ROW_ROUNDS:
            self._hold_shown(laws, told)
        moves = np.zeros(len(self.cells))
        for level in wanted:
            for places, sd in ((level.hidden, level.sd), (level.shown, -level.sd)):
                width = laws.variance[places]
                moves[places] += sd * width / max(float(width.sum()), 1e-12)
        return Anchored(laws=laws, moves=moves, beside=tuple(level.beside for level in wanted))

    def _wanted(self, given: AnyLaws, laws: AnyLaws, places: Ints, /) -> _Level:
        """What hidden cells of a part are to add up to, and shown ones beside them, by the margin that shows most of the hidden cells.

        A total whose noise is large beside what the prior may be off by leaves the prior its word.
        """
        margins = self.totals.margins
        found = [self._left_for(margin, places) for margin in margins]
        margin, (taken, left, variance) = max(
            zip(margins, found, strict=True), key=lambda one: (int(one[1][0].sum()), -one[1][2])
        )
        shown = self._beside(margin, places[taken])
        excess, seen = self._excess(laws, shown, places[taken])
        beside = LawBeside(
            left=left,
            variance=variance,
            said=float(given.mean[places[taken]].sum()),
            excess=seen.mean,
            excess_variance=seen.variance + self._strays(laws, shown),
            drawn=seen.drawn,
        )
        left, variance = left + excess.mean - seen.mean, max(variance - seen.variance, 0.0) + excess.variance
        mean = float(laws.mean[places[taken]].sum())
        doubt = self._doubt(laws, places[taken], mean)
        total = (left * doubt + mean * variance) / max(doubt + variance, 1e-12)
        total = max(total, _LEAST_LEFT * mean)
        # What a sure law gives hidden cells more than totals leave, shown ones have less.
        given_way = total - left if self.humps else 0.0
        return _Level(
            hidden=places[taken],
            sum=total,
            sd=float(np.sqrt(doubt * variance / max(doubt + variance, 1e-12))),
            shown=shown,
            shown_sum=float(self._evidence.base.values[self.cells[shown]].sum()) - excess.mean - given_way,
            beside=beside,
        )

    def _steady(self, laws: AnyLaws, hidden: Ints, /) -> None:
        """Move hidden cells to where they are if counts vary by a share of what their laws say: from their intensities by that share of it."""
        wanted = self.intensity[hidden] + self.share[hidden] * (laws.mean[hidden] - self.intensity[hidden])
        move_groups(laws, hidden, np.arange(len(hidden)), wanted, np.ones(len(hidden)))

    def _doubt(self, laws: AnyLaws, hidden: Ints, mean: float, /) -> float:
        """The variance of what laws give hidden cells together."""
        # Sums of one estimate repeat its errors: humps that were learnt from them are no surer than they are.
        sure = self.humps and not self._evidence.consistent
        doubt, loose = ((_HUMPS_OFF if sure else PRIOR_OFF) * mean) ** 2, self.loose[hidden]
        if np.isnan(loose).any():
            return doubt
        # Counts that hardly vary around intensities that totals tell are off by what is left of either.
        one = np.zeros(len(hidden), np.int64)
        off = self.totals.loosely(self.cells[hidden], laws.mean[hidden], loose, one, 1)
        return min(doubt, float(off[0] + (self.share[hidden] * laws.variance[hidden]).sum()))

    def _excess(self, laws: AnyLaws, shown: Ints, hidden: Ints, /) -> tuple[_Excess, _Excess]:
        """By how much some shown values exceed raw counts, by all that is known and by their share in all excess alone.

        What all shown values exceed by is known without a prior; how much of it is that of some rows is not, if rows differ: a prior that knows which rows are
        busy has its word, by how far it draws single values down. Each counts as far as it is sure. Where these rows are so many that their own histogram and totals
        tell it better, they do: a prior says where hidden people are, and not how many.
        """
        evidence = self._evidence
        values = evidence.base.values[self.cells[shown]]
        seen, doubt = evidence.excess.added(values, np.zeros(len(values), np.int64), 1)
        every = evidence.base.values[np.isfinite(evidence.base.values)]
        whole = evidence.excess.added(every, np.zeros(len(every), np.int64), 1)[0]
        share = float(seen[0] / whole[0]) if whole[0] > 0 else 1.0
        apart = (float(seen[0]) * (1 - share)) ** 2
        drawn = float((values - laws.mean[shown]).sum())
        own = (_DRAWN * max(drawn, float(seen[0]))) ** 2 + 1e-6
        alone = _Excess(mean=float(seen[0]), variance=float(doubt[0]), drawn=drawn)
        # Laws of cells of one estimate follow the errors that it has: they tell nothing of what values leave open.
        told = 0.0 if evidence.consistent else max(alone.variance, 0.0)
        unsure = apart + told
        both = (alone.mean * own + drawn * unsure) / (own + unsure)
        variance = alone.variance - told + own * unsure / (own + unsure)
        mixed = _Excess(mean=both, variance=variance, drawn=drawn)
        # Sums of one estimate hold what making counts non-negative shifted, which is told by all of them.
        by_rows = self._own_excess(shown, hidden, drawn) if apart > 0 and not evidence.consistent else None
        return by_rows if by_rows is not None and by_rows.variance < mixed.variance else mixed, alone

    def _own_excess(self, shown: Ints, hidden: Ints, drawn: float, /) -> _Excess | None:
        """By how much shown values of some rows exceed raw counts, by their own histogram and totals; None if these do not tell."""
        evidence = self._evidence
        told = evidence.population(np.sort(self.cells[np.concatenate([shown, hidden])]))
        if told is None or len(told.values) < len(shown):
            return None
        made = ThresholdExcess.of(
            told.values, evidence.base.mechanism, hidden=len(told.hidden), total=told.total
        )
        found, doubt = made.added(told.values, np.zeros(len(told.values), np.int64), 1)
        return _Excess(mean=float(found[0]), variance=float(doubt[0]), drawn=drawn)

    def _strays(self, laws: AnyLaws, shown: Ints, /) -> float:
        """The variance of what a law takes off shown values, by their noise."""
        noise = self._evidence.base.noise * len(shown)
        return max(noise - float(laws.variance[shown].sum()), 0.0)

    def _hold_levels(self, laws: AnyLaws, wanted: Sequence[_Level], /) -> None:
        """Move hidden cells of each part, and shown ones, so that they add up to what is wanted."""
        for level in wanted:
            _move(laws, level.shown, level.shown_sum, self.share[level.shown])
            _move(laws, level.hidden, level.sum, self.share[level.hidden])

    @property
    def _evidence(self) -> Evidence:
        return self.totals.evidence

    def _shaped(self, laws: AnyLaws, hidden: Bools, /) -> AnyLaws:
        """The laws with the histogram of hidden cells that the tables tell, as far as they tell another one than the laws do."""
        selection, told = self._evidence.selection, self._evidence.population(self.cells[self.free])
        if selection is None or told is None or self.humps:
            return laws
        places = np.flatnonzero(hidden)
        places = places[np.isin(self.cells[places], told.hidden, assume_unique=True)]
        shown = np.flatnonzero(np.isin(self.cells, told.shown, assume_unique=True))
        if len(places) < _FEW_HIDDEN or len(shown) < _FEW_SHOWN:
            return laws
        size = selection.size + 1
        before = self._histogram(laws, places, size)
        believed = before + self._histogram(laws, shown, size)
        wider = self._evidence.wider
        if wider is not None:
            believed, told = believed * (len(wider.hidden) / len(told.hidden)), wider
        off = selection.departure(believed, told.values, hidden=len(told.hidden), total=told.total)
        return self._weighed(laws, places, before * np.exp(np.append(off, off[-1])))

    def _shaped_all(self, laws: AnyLaws, /) -> AnyLaws:
        """The laws of cells that are all shown with the histogram of raw counts that their values tell, as far as they do."""
        places = np.flatnonzero(self.free)
        base = self._evidence.base
        if len(places) < _FEW_HIDDEN or not 0 < base.noise < np.inf:
            return laws
        told = shown_histogram(base.values[self.cells[places]], base.mechanism)
        if told is None:
            return laws
        number, doubt = told
        own = np.log(np.maximum(self._histogram(laws, places, len(number)), 1e-9))
        away = np.clip(np.log(np.maximum(number, 1e-9)) - own, -_LONGEST_SHAPE, _LONGEST_SHAPE)
        return self._weighed(laws, places, np.exp(own + away / (1 + doubt / _SHAPE_OFF**2)))

    def _weighed(self, laws: AnyLaws, places: Ints, wanted: Floats, /) -> AnyLaws:
        """The laws of some cells with so many of 0, 1, 2 ... together, as a share of them."""
        for _ in range(_SHAPE_ROUNDS):
            now = self._histogram(laws, places, len(wanted))
            ratio = np.clip(wanted / wanted.sum() * now.sum() / np.maximum(now, 1e-9), 0.02, 50.0)
            laws = laws.weigh(places, ratio)
        return laws

    def crossed(self, laws: AnyLaws, /) -> tuple[Floats, Floats]:
        """What the law of each shown cell says that it adds to the excess of shown values, and how unsure that is, as a variance: its own noise if its count is below the threshold, and else what such a count adds on average."""
        mean, variance = np.zeros((2, len(self.cells)))
        evidence = self._evidence
        at = threshold_of(evidence.base.mechanism)
        if at is None:
            return mean, variance
        selection = ThresholdSelection.of(evidence.base.mechanism, edge=at[0], scale=at[1])
        values = evidence.base.values[self.cells]
        above = selection.crossing(at[0])
        counts = np.arange(float(len(above)))
        below = (counts < at[0]).astype(np.float64)
        told = below, below * counts, below * counts**2, above, above**2
        places = np.flatnonzero(self.free & np.isfinite(values))
        for first in range(0, len(places), _AT_ONCE):
            some = places[first : first + _AT_ONCE]
            pmfs = laws.pmfs(some)
            chance, held, squares, more, other = (expected(pmfs.low, pmfs.start, pmfs.p, one) for one in told)
            y = values[some]
            mean[some] = y * chance - held + more
            square = y**2 * chance - 2 * y * held + squares + other
            variance[some] = np.maximum(square - mean[some] ** 2, 0.0)
        return mean, variance

    def _histogram(self, laws: AnyLaws, places: Ints, size: int, /) -> Floats:
        """How many of some cells are expected to hold 0, 1, 2, ..., the last number for all larger ones."""
        some = places
        if len(places) > _MOST_LOOKED_AT:
            some = np.sort(np.random.default_rng(1).choice(places, _MOST_LOOKED_AT, replace=False))
        pmfs = laws.pmfs(some)
        return added(pmfs.low, pmfs.start, pmfs.p, size) * (len(places) / max(len(some), 1))

    def _left_for(self, margin: Observation, places: Ints, /) -> tuple[Bools, float, float]:
        """Which hidden cells a margin says something about, what it leaves for them together, and with what variance."""
        found = self.totals.of(margin).of_groups(self.cells[places], np.zeros(len(places), np.int64), 1)
        return found.taken, float(found.sum[0]), float(found.variance[0])

    def _told(self, which: Bools, /) -> list[LeftInRows]:
        """What the rows of every margin leave for some cells, fewest rows first."""
        margins = sorted(self.totals.margins, key=lambda one: len(one.values))
        return [self.totals.left_in(margin, self.cells, which) for margin in margins]

    def _hold_rows(self, laws: AnyLaws, rows: LeftInRows, /, *, exact: bool = False) -> None:
        """Move some cells row by row to what rows leave for them, as far as the prior is wrong about rows; or only those of rows that are exact."""
        free = self.free[rows.places]
        tied, size = rows.places[~free], len(rows.left)
        held = [
            np.bincount(rows.codes[~free], weights=one[tied], minlength=size)
            for one in (laws.mean, laws.variance)
        ]
        clear, places = _CLEARLY if self.humps else 1.0, rows.places[free]
        left, noise = rows.left - held[0], rows.noise + held[1]
        hidden = bool(np.isnan(self._evidence.base.values[self.cells[places]]).any())
        _settle(
            laws,
            places,
            rows.codes[free],
            left,
            noise,
            share=self.share[places],
            clear=clear,
            hidden=hidden,
            only=exact,
        )

    def _hold_shown(self, laws: AnyLaws, rows: LeftInRows, /) -> None:
        """Move shown cells of rows of which the total says far more than they do, so that cells add up to what it leaves.

        The noise of a hundred shown values is ten times that of their total: whatever a prior and selection say of each, together they are
        what the total says. Hidden cells stay as they are.
        """
        size, shown = len(rows.left), self.free[rows.places]
        shown &= np.isfinite(self._evidence.base.values[self.cells[rows.places]])
        width = np.bincount(rows.codes[shown], weights=laws.variance[rows.places[shown]], minlength=size)
        mean = np.bincount(rows.codes, weights=laws.mean[rows.places], minlength=size)
        clear = width > _FAR_MORE * np.maximum(rows.noise, 1e-9)
        off = np.where(clear, (rows.left - mean) * width / np.maximum(width + rows.noise, 1e-12), 0.0)
        chosen = shown & clear[rows.codes]
        now = np.bincount(rows.codes[chosen], weights=laws.mean[rows.places[chosen]], minlength=size)
        (which, codes), places = compact(rows.codes[chosen]), rows.places[chosen]
        move_groups(laws, places, codes, np.maximum((now + off)[which], 0.0), self.share[places])

    def _beside(self, margin: Observation, hidden: Ints, /) -> Ints:
        """The shown cells of those rows of a margin that hold some hidden ones."""
        row = margin.where.of(self.cells)
        rows = np.zeros(len(margin.values), bool)
        rows[row[hidden]] = True
        there = self.free & np.isfinite(self._evidence.base.values[self.cells]) & (row >= 0)
        return np.flatnonzero(there & rows[np.maximum(row, 0)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Level:
    """What some hidden cells, and the shown ones beside them, are to add up to; `sd` is how unsure the first is, and what it has too much the second lacks."""

    hidden: Ints
    sum: float
    sd: float
    shown: Ints
    shown_sum: float
    beside: LawBeside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Excess:
    """By how much shown values exceed raw counts, and what a law takes off them."""

    mean: float
    variance: float
    drawn: float


def _settle(
    laws: AnyLaws,
    places: Ints,
    codes: Ints,
    left: Floats,
    noise: Floats,
    /,
    *,
    share: Floats,
    clear: float,
    hidden: bool,
    only: bool = False,
) -> None:
    """Move cells of rows to what is left for them, known up to noise of this variance, as far as the prior is wrong about rows.

    If it is right, what is left strays from the means of the cells by so much: as far as it strays more, rows have their way.
    """
    rows, codes = compact(codes)
    if len(rows) < _LEAST_ROWS:
        return
    left, noise = left[rows], np.maximum(noise[rows], 1e-9)
    mean = np.bincount(codes, weights=laws.mean[places])
    width = np.maximum(np.bincount(codes, weights=share * laws.variance[places]), 1e-9)
    # A row that is exact beside what its cells vary by has its way whatever strays, and says nothing of others: cells are as near to it as messages had settled.
    exact = noise <= _EXACT * width
    squares = (left - mean) ** 2 * (width + noise) / noise**2
    weights = np.where(exact, 0.0, noise / (width + noise))
    strays = float((weights * squares).sum() / max(float(weights.sum()), 1e-12))
    loose = int((~exact).sum())
    if (share < 1).any() and loose:
        # Counts that hardly vary are as far from most rows as noise lets them be: those that a single value took away say nothing of others.
        usual = float(np.median(squares[~exact])) / _MEDIAN if loose >= _MOST_ROWS_TELL else 1.0
        strays = min(strays, usual)
    strays = max(1.0, strays - clear * np.sqrt(2 / max(loose, 1)))
    wanted = np.where(exact, left, left - (left - mean) / strays)
    sd = np.sqrt(noise * (1 - noise / (strays * (width + noise))))
    moved = _at_least_nothing(wanted, sd)
    if only:
        moved = np.where(exact, wanted, mean)
    if not hidden:
        # Laws of shown cells know that there are no counts below 0: a row that is not to move stays, and one that is to fall does not rise.
        moved = np.where(wanted < mean, np.minimum(moved, mean), wanted)
    move_groups(laws, places, codes, np.maximum(moved, _LEAST_LEFT * mean), share)


def _at_least_nothing(mean: Floats, sd: Floats, /) -> Floats:
    """The means of normal laws of which only what is not negative is left."""
    away = mean / np.maximum(sd, 1e-9)
    more = sd * np.exp(-0.5 * away**2 - special.log_ndtr(away)) / np.sqrt(2 * np.pi)
    return np.where(np.abs(away) < _TRUNCATED, mean + more, np.maximum(mean, 0.0))


def _move(laws: AnyLaws, cells: Ints, total: float, share: Floats, /) -> None:
    """Tilt laws of cells alike, so that their means add up to `total`."""
    move_groups(laws, cells, np.zeros(len(cells), np.int64), np.array([total]), share)


def move_groups(laws: AnyLaws, cells: Ints, codes: Ints, totals: Floats, share: Floats, /) -> None:
    """Tilt laws of cells in each group so that the means of each group add up to its total: alike, or less where counts vary by a share of what their laws say."""
    size = len(totals)
    for _ in range(_TILTS if cells.size else 0):
        off = totals - np.bincount(codes, weights=laws.mean[cells], minlength=size)
        width = np.bincount(codes, weights=share * laws.variance[cells], minlength=size)
        moving = (np.abs(off) > 1e-4 * np.maximum(totals, 1.0)) & (width > 0)
        if not moving.any():
            break
        step, chosen = off / np.maximum(width, 1e-12), moving[codes]
        tilts = np.clip(step[codes[chosen]] * share[chosen], -_LONGEST_TILT, _LONGEST_TILT)
        laws.tilt(cells[chosen], tilts)
