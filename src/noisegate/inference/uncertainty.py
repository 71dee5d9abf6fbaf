"""How uncertain sums of cells are, by what is known of the cells and by what shown totals say.

A sum of cells errs by what each cell errs by itself, by what cells err together because what they are predicted from is not known for certain, and less so
if the cells make up much of a shown row: what some have too much, the others lack. Where a sum holds all hidden cells of shown rows, the rows
say it with no prior (`hidden`).

*Withdrawn* estimates: what the tables do not tell is given by bounds. A hidden cell holds at most what the threshold lets pass, a hidden row of a margin likewise, and a row that is shown no more than it shows. Where a learnt law did not stand its trial, sums
of cells that no total tells lie between nothing and these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.hidden import SPREAD_OFF, RowMisfit, ShownTotals
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.profile.sum_law import (
    Beside,
    SharedError,
    SumLaw,
    law_of_few,
    outward_intervals,
    quantile_of_two,
    sum_law,
)
from noisegate.laws import compiled
from noisegate.tables import numbered, paired, sorted_by, summed

#: A cell keeps at least this share of its variance for itself, and so does a sum.
_LEAST_OWN = 0.05
#: What is hidden may lie above the threshold by so many standard deviations of noise.
_FAR = 2.0
#: Bounds of less than this share of an interval are taken as part of it.
_SLIGHT = 0.1
#: Sums of at most this many cells get the exact convolution, if all groups together have not too many.
_FEW_TERMS, _FEW_IN_ALL = 64, 4_000
#: Rows and cells whose sums are further apart than so many standard deviations of what rows say contradict each other.
_APART = 1.96
#: Sums differ from those of their values by chance, by at least this share of the noise of these.
_LEAST_APART = 0.1
#: A sum whose variance is less than this share of the noise of its values is told by rows: by cells it is hardly ever half as unsure as its values are.
_FAR_SURER = 0.25
#: Sums that rows tell with less variance than this are known to a number; and what is a hair off it is that number.
_TO_A_NUMBER, _HAIR = 1e-4, 1e-3
#: Laws of cells have this share of the word at least on what shown values hold too much.
_LAWS_WORD = 0.5
#: What they say of it they are off by, by this share of itself, however sure they are of each cell. All that is hidden, independent totals, 60 worlds, seed 9001, 95 / 50 and interval score, with 0, 0.1 and 0.2: a busy corner, which is no product of rows and columns, 85 / 37, 372; 87 / 47, 316; 92 / 44, 271; rural 97 / 48, 73; 97 / 47, 74; 97 / 47, 75.
_LAWS_OFF = 0.2
#: Bounds no wider than this share of the estimate widen it and do not replace it.
_NEAR_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumSpread:
    """Where sums are and how uncertain: by their cells (`mean`; `own` is the variance of those that no row tells, of which `shared` is what cells err together), and by what rows say of the others (`beside`); third central moment and fourth cumulant."""

    mean: Floats
    own: Floats
    shared: Floats
    third: Floats
    fourth: Floats
    beside: Beside

    @classmethod
    def plain(
        cls, centre: Floats, variance: Floats, /, *, shared: Floats, third: Floats, fourth: Floats
    ) -> SumSpread:
        """What is all of one kind, whoever says it."""
        return cls(
            mean=centre,
            own=variance,
            shared=shared,
            third=third,
            fourth=fourth,
            beside=Beside.none(len(centre)),
        )

    @property
    def centre(self) -> Floats:
        """Where sums are on average."""
        return np.asarray(self.mean + self.beside.moved)

    @property
    def variance(self) -> Floats:
        """How unsure they are in all."""
        return np.asarray(self.own + self.beside.variance)

    def intervals(self, level: float, /) -> tuple[Ints, Ints]:
        """Intervals of the sums."""
        rows = self.beside
        near = self.mean + rows.near, self.own + rows.sure, self.third, self.fourth
        far = self.mean + rows.far, self.own + rows.loose, rows.chance
        return outward_intervals(lambda share: quantile_of_two(near, *far, share), level=level)

    def plus(self, other: SumSpread, /) -> SumSpread:
        """The same of sums with more cells, which err apart from these."""
        return SumSpread.plain(
            self.centre + other.centre,
            self.variance + other.variance,
            shared=self.shared + other.shared,
            third=self.third + other.third,
            fourth=self.fourth + other.fourth,
        )

    def where(self, mine: Bools, other: SumSpread, /) -> SumSpread:
        """Some of these, and the others of another."""
        return SumSpread(
            mean=np.where(mine, self.mean, other.mean),
            own=np.where(mine, self.own, other.own),
            shared=np.where(mine, self.shared, other.shared),
            third=np.where(mine, self.third, other.third),
            fourth=np.where(mine, self.fourth, other.fourth),
            beside=self.beside.where(mine, other.beside),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByValues:
    """What shown values of sums say by themselves, with no prior: how far their sum, less what selection adds, is from that of the means of their cells (`away`), the variance of their noise, and that of what selection adds (`doubt`)."""

    away: Floats
    noise: Floats
    doubt: Floats

    @classmethod
    def of(cls, evidence: Evidence, cells: Ints, groups: Ints, size: int, means: Floats, /) -> ByValues:
        """Of the shown ones of the cells of each of `size` groups, whose means these are."""
        base = evidence.base
        values = base.values[cells]
        shown = np.isfinite(values)
        if not 0 < base.noise < np.inf or not shown.any():
            return cls.none(size)
        values, group = values[shown], groups[shown]
        excess, doubt = evidence.excess.added(values, group, size)
        away = np.bincount(group, weights=values - means[shown], minlength=size) - excess
        noise = np.asarray(base.noise * np.bincount(group, minlength=size), dtype=np.float64)
        return cls(away=away, noise=noise, doubt=doubt)

    @classmethod
    def none(cls, size: int, /) -> ByValues:
        """Of sums without shown values."""
        return cls(away=np.zeros(size), noise=np.zeros(size), doubt=np.zeros(size))

    def plus(self, other: ByValues, /) -> ByValues:
        """The same of sums with more cells."""
        return ByValues(
            away=self.away + other.away, noise=self.noise + other.noise, doubt=self.doubt + other.doubt
        )

    def held(self, low: Ints, high: Ints, variance: Floats, /) -> tuple[Ints, Ints]:
        """Intervals of sums that are known up to this variance, such that they hold what values say as well where the two contradict each other."""
        return _holding(low, high, self.contradict(variance))

    def contradict(self, variance: Floats, /) -> Floats:
        """How far values are from sums that are known up to this variance, where that is clearly further than their noise lets them be; nothing of sums that are far surer than their values, which rows tell.

        If all is right a sum and the sum of its values differ by the noise that the sum is surer by.
        """
        chance = np.maximum(self.noise - variance, _LEAST_APART * self.noise) + self.doubt
        clear = (variance > _FAR_SURER * self.noise) & (np.abs(self.away) > _APART * np.sqrt(chance))
        return np.where(clear, self.away, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumWord:
    """What is known of sums of cells: their `mean`, which is that of their cells, the variances of cells added up (`alone`), and how uncertain sums are by cells (`spread`) and by whatever is surest.

    `only_hidden` says which are sums of hidden cells that rows tell, `values` what shown values say by themselves, and `split` how far sums move if hidden people lie elsewhere in their rows.
    """

    mean: Floats
    alone: Floats
    spread: SumSpread
    surest: SumSpread
    only_hidden: Bools
    values: ByValues
    split: Floats

    def estimates(
        self, cells: Ints, groups: Ints, laws: Callable[[Ints], Pmfs], /, *, level: float
    ) -> SumEstimates:
        """Estimates with intervals of this level; sums of few cells get theirs from the laws of these."""
        mean = self.mean
        spread, surest = (replace(one, own=one.own + self.split**2) for one in (self.spread, self.surest))
        low, high = surest.intervals(level)
        few = _few(groups, len(mean))
        free = np.asarray(surest.variance == spread.variance)
        # Laws of cells hold the errors of what they are predicted from, each as its own: the rest is what cells err together.
        more = np.maximum(spread.variance - self.alone, 0.0)
        for group, some in _laws_of(cells, groups, few & free, laws):
            low[group], high[group] = _of_few(some, float(more[group]), level)
        rows = few & ~free & self.only_hidden
        for group, some in _laws_of(cells, groups, rows, laws):
            low[group], high[group] = self._of_rows(some, group).interval(level)
        off = mean - surest.centre
        # Where rows clearly say something else than their cells do, either may be right: the interval holds both, each with the noise of rows.
        apart = np.where(np.abs(off) > _APART * np.sqrt(surest.variance), off, 0.0)
        # So may shown values, of sums that rows tell no better than these do.
        values = self.values.contradict(surest.variance)
        apart = np.where(np.abs(values) > np.abs(apart), values, apart)
        # What rows tell to a number is no wider for means of cells that are a hair off it; laws that are as sure may be wrong.
        known = ~free & (surest.variance < _TO_A_NUMBER)
        low, high = _holding(low, high, np.where(known, 0.0, apart))
        told = np.where(known, surest.centre, mean)
        least, most = (one.astype(np.int64) for one in (np.floor(told + _HAIR), np.ceil(told - _HAIR)))
        return SumEstimates(
            level=level,
            mean=mean,
            # The mean is off by what they differ by, too.
            sd=np.sqrt(surest.variance + off**2),
            low=np.maximum(np.where(rows, low, np.minimum(low, least)), 0),
            high=np.where(rows, high, np.maximum(high, most)),
        )

    def _of_rows(self, laws: Pmfs, group: int, /) -> SumLaw:
        """The law of a sum of few cells of which rows tell as well."""
        beside = self.surest.beside
        kurtosis = float(self.surest.fourth[group] / beside.sure[group] ** 2)
        return law_of_few(*_listed(laws), beside=beside, group=group, kurtosis=min(kurtosis, 3.0))


def _holding(low: Ints, high: Ints, apart: Floats, /) -> tuple[Ints, Ints]:
    """Intervals that also hold what is so far from their middle, as surely."""
    return (
        np.floor(low + np.minimum(apart, 0.0)).astype(np.int64),
        np.ceil(high + np.maximum(apart, 0.0)).astype(np.int64),
    )


def _few(groups: Ints, size: int, /) -> Bools:
    """Which sums are of few cells, if these are not too many in all."""
    terms = np.bincount(groups, minlength=size)
    few = (terms > 0) & (terms <= _FEW_TERMS)
    return few if terms[few].sum() <= _FEW_IN_ALL else np.zeros(size, bool)


def _of_few(laws: Pmfs, shared: float, level: float, /) -> tuple[int, int]:
    """The exact interval of a sum of few cells; one cell has its own."""
    if len(laws.low) == 1:
        own = CellEstimates.from_pmfs(laws, level=level)
        return int(own.low[0]), int(own.high[0])
    return sum_law(*_listed(laws), shared_variance=shared).interval(level)


def _laws_of(
    cells: Ints, groups: Ints, which: Bools, laws: Callable[[Ints], Pmfs], /
) -> Iterator[tuple[int, Pmfs]]:
    """The laws of the cells of some groups, group by group."""
    kept = np.flatnonzero(which[groups])
    if not kept.size:
        return
    kept = kept[np.argsort(groups[kept], kind="stable")]
    every = laws(cells[kept])
    ends = np.flatnonzero(np.diff(groups[kept], append=-1)) + 1
    for first, last in zip(np.concatenate([[0], ends[:-1]]).tolist(), ends.tolist(), strict=True):
        yield int(groups[kept[first]]), every.take(np.arange(first, last))


def _listed(laws: Pmfs, /) -> tuple[list[int], list[Floats]]:
    """The least count of each law, and the chances of it and of the next ones."""
    return laws.low.tolist(), [laws.one(k) for k in range(len(laws.low))]


@dataclass(slots=True, kw_only=True, eq=False)
class CellErrors:
    """What is known of single cells, as far as it has been worked out, and what follows for sums of them.

    Attributes
    ----------
    mean, variance, third
        Moments of every cell; `alone` is the variance that it shares with no other, `common` what the one error of all that is little seen moves it by, `crossed` what it says of the excess of shown values, and `crossed_doubt` the variance of that, `loose` the relative variance of its intensity where totals alone tell that, NaN elsewhere.
    in_rows
        What a cell adds to the variance of whole rows, as a share of its own.
    width_doubt
        How unsure the variance is that a cell adds to sums, which all cells are alike: of counts that hardly vary it is not known how little.
    part_of, place
        The part of each cell, and its place there (`unit_of` is the unit of each part); `shared` is what the cells of each part err together, and `cells_of` which these are.
    same
        For each cell one of those that hold its count; None if all differ.
    unseen
        What no row of some margin shows is known by its prior alone, and that may be wrong for all of it: by this share of it. How large it is, a trial says (`trial`).
    law_off
        By which share the law is off about all hidden cells of rows that are shown, beyond what the noise of these lets it be.
    """

    evidence: Evidence
    totals: ShownTotals
    part_of: NDArray[np.int32]
    unit_of: Ints
    same: Ints | None
    unseen: float = 0.0
    law_off: float = 0.0
    mean: Floats = field(init=False)
    variance: Floats = field(init=False)
    third: Floats = field(init=False)
    alone: Floats = field(init=False)
    common: Floats = field(init=False)
    crossed: Floats = field(init=False)
    crossed_doubt: Floats = field(init=False)
    loose: Floats = field(init=False)
    in_rows: Floats = field(init=False)
    width_doubt: Floats = field(init=False)
    place: NDArray[np.int32] = field(init=False)
    shared: dict[int, SharedError] = field(init=False, default_factory=dict)
    cells_of: dict[int, Ints] = field(init=False, default_factory=dict)
    _row_variance: dict[str, Floats] = field(init=False)
    _lacking: Bools | None = field(init=False, default=None)
    _misfits: dict[str, tuple[int, RowMisfit]] = field(init=False, default_factory=dict)
    _lacks: dict[tuple[str, str], tuple[int, tuple[float, float, float]]] = field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        size = self.evidence.layout.size
        self.mean, self.variance, self.third, self.alone, self.common = (np.zeros(size) for _ in range(5))
        self.crossed, self.crossed_doubt, self.width_doubt = np.zeros((3, size))
        self.loose, self.in_rows = np.full(size, np.nan), np.ones(size)
        self.place = np.zeros(size, np.int32)
        self._row_variance = {margin.name: np.zeros(len(margin.values)) for margin in self.evidence.margins}

    def moments(self, cells: Ints, mean: Floats, variance: Floats, third: Floats, /) -> None:
        """Take up the moments of some cells."""
        self.mean[cells], self.variance[cells], self.third[cells] = mean, variance, third

    def note(self, part: int, cells: Ints, shared: SharedError, /) -> None:
        """Take up the cells of one part, whose moments are there, and what they err together."""
        variance = self.variance[cells]
        self.alone[cells] = np.maximum(variance - shared.joint, _LEAST_OWN * variance)
        self.place[cells] = np.arange(len(cells))
        self.cells_of[part] = cells
        left = self._told_by_totals(shared, cells)
        if left.common.any():  # else memory for zeros would be taken up
            self.common[cells] = left.common
        self._note_rows(cells, left)
        self.shared[part] = left.without_sums()

    def misfit(self, margin: Observation, /) -> RowMisfit:
        """How far the law is off in the rows of a margin, as far as parts are worked out."""
        known = self._misfits.get(margin.name)
        if known is None or known[0] != len(self.shared):
            live = self.evidence.live
            units = self.unit_of[self.part_of[live]]
            width = self.variance[live] * self.in_rows[live]
            crossed = self.crossed[live], self.crossed_doubt[live]
            moments = self.mean[live], width, *crossed, self.loose[live]
            found = RowMisfit.of(self.totals.of(margin), live, units, *moments, self.totals)
            known = self._misfits[margin.name] = (len(self.shared), found)
        return known[1]

    def sums(self, cells: Ints, groups: Ints, size: int, /) -> tuple[SumSpread, SumSpread]:
        """How uncertain the sum of each of `size` groups of cells is: by the cells, and by rows of the margin that says most of it."""
        by_cells = self.by_cells(cells, groups, size)
        best, taken = by_cells, np.zeros(size)
        for margin in self.totals.margins if size else ():
            found, more = self._by_rows(margin, cells, groups, size, by_cells)
            better = (more > taken) | ((more == taken) & (more > 0) & (found.variance < best.variance))
            best, taken = best.where(~better, found), np.maximum(taken, more)
        return by_cells, best

    def split(self, cells: Ints, groups: Ints, size: int, /) -> Floats:
        """How far sums move if hidden people lie elsewhere in their rows than the law has them, by a standard deviation of what all of them are off by together.

        Whole rows do not move. A law that is off about how many are hidden in all is no surer about where they are.
        """
        if not self.law_off or not size:
            return np.zeros(size)
        hidden = np.isnan(self.evidence.base.values[cells])
        found = np.full(size, np.inf)
        for margin in self.totals.margins:
            row = margin.where.of(cells)
            inside = hidden & (row >= 0) & margin.shown(np.maximum(row, 0))
            group, at, place = paired(groups[inside], row[inside], len(margin.values))
            mine = np.bincount(place, weights=self.mean[cells[inside]], minlength=len(at))
            rest = np.maximum(1 - mine / np.maximum(self.misfit(margin).mean[at], 1e-9), 0.0)
            found = np.minimum(found, np.bincount(group, weights=mine * rest, minlength=size))
        return np.where(np.isfinite(found), self.law_off * found, 0.0)

    def _told_by_totals(self, shared: SharedError, cells: Ints, /) -> SharedError:
        """What cells err together, once shown totals have said what whole levels of an effect add up to.

        A total holds the errors of all effects, of cells and of noise. The share that one of them has in all of these is gone.
        """
        alone = self.alone[cells]
        moves = []
        for codes, move in zip(shared.codes, shared.moves, strict=True):
            levels, size = codes.astype(np.int64), int(codes.max(initial=0)) + 1
            left, own, whole = np.ones(size), None, None
            for margin in self.totals.margins:
                rows = self.totals.of(margin)
                inside = _whole_rows(margin.where.of(cells), levels, rows.open, size)
                if not inside.any():
                    continue
                found = rows.of_groups(cells[inside], levels[inside], size)
                every = np.bincount(levels[inside], weights=found.taken, minlength=size)
                every = (every > 0) & (every == np.bincount(levels, minlength=size))
                if not every.any():
                    continue
                if own is None or whole is None:
                    own = np.bincount(levels, weights=move, minlength=size) ** 2
                    whole = shared.variance(np.arange(len(cells)), levels, size=size)
                    whole += np.bincount(levels, weights=alone, minlength=size)
                share = own / np.maximum(whole + found.variance, 1e-12)
                left = np.where(every, np.minimum(left, 1 - share), left)
            moves.append((move * np.sqrt(np.maximum(left, 0.0))[levels]).astype(np.float32))
        return replace(shared, moves=tuple(moves))

    def _note_rows(self, cells: Ints, shared: SharedError, /) -> None:
        """How unsure what rows of margins add up to would be, if they were not shown."""
        every = np.arange(len(cells))
        for margin in self.evidence.margins:
            rows, codes = numbered(margin.where.of(cells))
            inside = codes >= 0
            together = shared.variance(every[inside], codes[inside], size=len(rows))
            alone = np.bincount(codes[inside], weights=self.alone[cells[inside]], minlength=len(rows))
            self._row_variance[margin.name][rows] += together + alone

    def _tied(self, margin: Observation, cells: Ints, groups: Ints, size: int, /) -> Floats:
        """By how much sums are surer because cells of a shown row add up to it: what one has too much the others lack."""
        row = margin.where.of(cells)
        inside = np.flatnonzero((row >= 0) & margin.shown(row))
        mine = cells if len(inside) == len(cells) else cells[inside]
        group, rows, place = paired(groups[inside], row[inside], len(margin.values))
        own = summed(self.variance, mine, place, len(rows))
        every = self.evidence.base.noise * self.evidence.cells_in(margin)[rows]
        noise = np.full(len(rows), margin.noise) if margin.measured else every
        gone = own**2 / np.maximum(self._row_variance[margin.name][rows] + noise, 1e-12)
        return np.asarray(np.bincount(group, weights=gone, minlength=size))

    def _added(self, values: Floats, cells: Ints, groups: Ints, size: int, /) -> Floats:
        return summed(values, cells, groups, size)

    def by_cells(self, cells: Ints, groups: Ints, size: int, /) -> SumSpread:
        """How uncertain sums of cells are, as far as cells and their prior tell."""
        alone = self._added(self.alone, cells, groups, size)
        shared, left = self._shared(cells, groups, size), np.ones(size)
        for margin in self.totals.margins if size and self.same is None else ():
            tied = self._tied(margin, cells, groups, size)
            left *= np.maximum(1 - tied / np.maximum(alone + shared, 1e-12), _LEAST_OWN)
        alone, shared = left * alone, left * shared + self._unseen(cells, groups, size)
        if self.same is not None:
            alone += self._twice(cells, groups, size)
        return SumSpread(
            mean=self._added(self.mean, cells, groups, size),
            own=alone + shared,
            shared=shared,
            third=self._added(self.third, cells, groups, size),
            fourth=_of_unsure_width(left * self._added(self.width_doubt, cells, groups, size)),
            beside=Beside.none(size),
        )

    def lacking(self, cells: Ints, /) -> Bools:
        """Which of these cells are hidden, and of no shown row of some margin."""
        size = len(self.mean)
        if self._lacking is None and len(cells) == size:
            self._lacking = self._are_lacking(np.arange(size))
        return self._are_lacking(cells) if self._lacking is None else self._lacking[cells]

    def _are_lacking(self, cells: Ints, /) -> Bools:
        hidden = np.isnan(self.evidence.base.values[cells])
        if self.evidence.zero is not None:
            hidden &= ~self.evidence.zero[cells]
        if not self.totals.margins:
            return hidden
        lacking = np.zeros(len(cells), bool)
        for margin in self.totals.margins:
            row = margin.where.of(cells)
            lacking |= (row < 0) | ~margin.shown(np.maximum(row, 0))
        return hidden & lacking

    def unseen_moves(self, cells: Ints, /) -> Floats:
        """How far the one error of what no row shows moves each cell."""
        if not self.unseen:
            return np.zeros(len(cells))
        lacking = self.lacking(cells)
        moves = np.where(lacking, self.unseen * self.mean[cells], 0.0)
        for margin, other in () if self.evidence.consistent else permutations(self.totals.margins, 2):
            here = self._told_by_other(margin, other, cells) & lacking
            if here.any():
                share = self._share_left(margin, other)
                moves[here] = np.minimum(moves[here], share * self.mean[cells[here]])
        return np.asarray(moves)

    def _told_by_other(self, margin: Observation, other: Observation, cells: Ints, /) -> Bools:
        """Which cells are in no shown row of a margin, but in one of another."""
        mine, theirs = margin.where.of(cells), other.where.of(cells)
        hidden = (mine < 0) | ~margin.shown(np.maximum(mine, 0))
        return np.asarray(hidden & (theirs >= 0) & other.shown(np.maximum(theirs, 0)))

    def _share_left(self, margin: Observation, other: Observation, /) -> float:
        """By which share of itself what a margin lacks and another shows may be off, once the difference of the two has told it."""
        total, _, variance = self._difference(margin, other)
        return float((self.unseen**-2 + total**2 / variance) ** -0.5)

    def _difference(self, margin: Observation, other: Observation, /) -> tuple[float, float, float]:
        """What a margin lacks and another shows, what the one error of all that is little seen moves it by, and the variance of the difference of the two margins (MATH 10 f)."""
        known = self._lacks.get((margin.name, other.name))
        if known is None or known[0] != len(self.shared):
            live = self.evidence.live
            hidden = live[np.isnan(self.evidence.base.values[live])]
            lacks = hidden[self._told_by_other(margin, other, hidden)]
            variance = sum(self.totals.of(one).hidden_variance for one in (margin, other))
            told = float(self.mean[lacks].sum()), float(self.common[lacks].sum()), max(variance, 1e-9)
            known = self._lacks[margin.name, other.name] = (len(self.shared), told)
        return known[1]

    def common_moves(self, cells: Ints, /) -> Floats:
        """How far the one error of all that is little seen moves each cell: margins that lack it, beside others, tell how large it is."""
        left = 1.0
        for margin, other in () if self.evidence.consistent else permutations(self.totals.margins, 2):
            _, moved, variance = self._difference(margin, other)
            left = min(left, (1 + moved**2 / variance) ** -0.5)
        return np.asarray(left * self.common[cells])

    def _unseen(self, cells: Ints, groups: Ints, size: int, /) -> Floats:
        """The variance of what no row of a margin shows."""
        if not self.unseen:
            return np.zeros(size)
        return np.asarray(np.bincount(groups, weights=self.unseen_moves(cells), minlength=size) ** 2)

    def _by_rows(
        self, margin: Observation, cells: Ints, groups: Ints, size: int, by_cells: SumSpread, /
    ) -> tuple[SumSpread, Floats]:
        """Where sums are and how uncertain if what shown rows say counts beside the laws of cells, and how many cells it says something of.

        What rows say is known up to their noise, what the law says as far as it is right about rows (`misfit`). Where the two are further apart than both let
        them be, the law is off for these rows, and its word counts for less.
        """
        found = self.totals.of(margin).of_groups(cells, groups, size)
        if not found.taken.any():
            return by_cells, np.zeros(size)
        others = ~found.taken
        rest = self.by_cells(cells[others], groups[others], size)
        told = cells[found.taken], groups[found.taken]
        moments = self.mean, self.third * self.in_rows**1.5, self.variance * self.in_rows, self.width_doubt
        centre, third, own, loose = (self._added(one, *told, size) for one in moments)
        if self.same is not None:
            own += self._twice(*told, size)
        misfit = self.misfit(margin)
        own, off = np.maximum(own, 1e-12), misfit.off(found.group, found.row, size)
        # By what laws of cells, and not values alone, say that shown ones hold too much: rows may differ in kind.
        crossed, unsure = (
            np.bincount(found.group, weights=found.share * one[found.row], minlength=size)
            for one in (misfit.crossed, misfit.crossed_doubt)
        )
        apart = np.where(found.excess > 0, crossed - found.excess, 0.0)
        # Both words have the noise of the same values in them; what else values leave open is no more in their mean than what the two differ by.
        alone = found.doubt * (found.doubt / np.maximum(found.variance, 1e-12)) ** 2
        noise = found.variance - np.where(found.excess > 0, alone, 0.0)
        # Laws have half of the word at least, and more where they are surer than values.
        unsure = unsure + (_LAWS_OFF * crossed) ** 2
        word = np.maximum(found.doubt / np.maximum(found.doubt + unsure, 1e-12), _LAWS_WORD)
        noise = np.maximum(noise + word * (1 - word) * apart**2, 1e-12)
        away = found.sum + word * apart - centre
        if misfit.apart:
            rare, alike = (of(found.group, found.row, size) for of in (misfit.rare_in, misfit.alike_in))
            kept = Beside.of(away, own, off, noise, rare=rare, alike=alike)
        else:
            kept = Beside.of_one_estimate(away, own, off, noise)
        spread = SumSpread(
            mean=rest.mean + centre,
            own=rest.own,
            shared=rest.shared,
            third=rest.third + third * kept.law**3,
            fourth=found.fourth * (1 - kept.law) ** 4 + _of_unsure_width(kept.law**2 * SPREAD_OFF * loose),
            beside=kept,
        )
        return spread, np.bincount(told[1], minlength=size).astype(np.float64)

    def _shared(self, cells: Ints, groups: Ints, size: int, /) -> Floats:
        """The variance of what cells err together, part by part."""
        found = np.bincount(groups, weights=self.common_moves(cells), minlength=size).astype(np.float64) ** 2
        part_of = self.part_of[cells]
        order, starts = sorted_by(part_of, int(part_of.max(initial=-1)) + 1)
        for part in np.flatnonzero(np.diff(starts)).tolist():
            here = order[starts[part] : starts[part + 1]]
            places = self.place[cells[here]].astype(np.int64)
            found += self.shared[part].variance(places, groups[here], size=size)
        return np.asarray(found, dtype=np.float64)

    def _twice(self, cells: Ints, groups: Ints, size: int, /) -> Floats:
        """What cells of equal counts add to the variance of a sum that holds several of them."""
        assert self.same is not None
        key = groups * len(self.mean) + self.same[cells]
        distinct, place = numbered(key)
        sd = np.sqrt(self.alone[cells])
        together = np.bincount(place, weights=sd) ** 2 - np.bincount(place, weights=sd**2)
        return np.asarray(np.bincount(distinct // len(self.mean), weights=together, minlength=size))


def _of_unsure_width(doubt: Floats, /) -> Floats:
    """The fourth cumulant of normal errors whose variance is unsure by so much: some are far smaller, and few larger."""
    return np.asarray(3 * doubt**2)


@compiled
def _whole_rows(row: Ints, levels: Ints, shown: Bools, size: int, /) -> Bools:
    """Which cells are in levels of whole rows that are shown: no row of theirs has cells of another level."""
    first, whole, bad = np.full(len(shown), -1, np.int64), shown.copy(), np.zeros(size, np.bool_)
    for i in range(len(row)):
        if row[i] >= 0:
            if first[row[i]] < 0:
                first[row[i]] = levels[i]
            whole[row[i]] &= first[row[i]] == levels[i]
    for i in range(len(row)):
        bad[levels[i]] |= row[i] < 0 or not whole[row[i]]
    return ~bad[levels]


def withdraw(
    errors: CellErrors,
    found: SumEstimates,
    cells: Ints,
    groups: Ints,
    /,
    *,
    surest: Callable[[Ints, Ints, int], SumSpread] | None = None,
) -> SumEstimates:
    """The same estimates, widened to bounds or replaced by them where sums hang on cells that no total tells.

    `surest` says what is known of sums of the other cells, if that is more than the errors do.
    """
    size = len(found.mean)
    lacking = errors.lacking(cells)
    most, left = np.full(size, np.inf), lacking.copy()
    best = np.full(size, -1)
    options: list[Bools] = [lacking]
    for margin in errors.totals.margins:
        taken = errors.totals.of(margin).of_groups(cells, groups, size).taken
        options.append(lacking & ~taken)
    for place, option in enumerate(options):
        bound = _most(errors, cells[option], groups[option], size)
        better = bound < most
        most, best = np.where(better, bound, most), np.where(better, place, best)
    for place, option in enumerate(options):
        left = np.where(best[groups] == place, option, left)
    wide = most > _SLIGHT * (found.high - found.low) + 1
    if not wide.any():
        return found
    rest = ~left & wide[groups]
    known = surest or (lambda *asked: errors.sums(*asked)[1])
    spread = known(cells[rest], groups[rest], size)
    low, high = spread.intervals(found.level)
    high = high + np.ceil(most).astype(np.int64)
    # Widened first: bounds that are near each other are an interval like any other.
    near = high - low <= _NEAR_SHARE * found.mean
    gone = wide & ~near
    return replace(
        found,
        low=np.where(gone, low, np.where(wide, np.minimum(low, found.low), found.low)),
        high=np.where(gone, high, np.where(wide, np.maximum(high, found.high), found.high)),
        withdrawn=gone,
    )


def widen_cells(errors: CellErrors, found: CellEstimates, /) -> None:
    """Give cells that no row of any margin shows the interval from nothing to what the threshold lets pass, in place."""
    made = errors.evidence.base.mechanism
    if made.whole_threshold is None:
        return
    every = np.arange(len(found.mean))
    cells = every[errors.lacking(every)]
    for margin in errors.totals.margins:
        row = margin.where.of(cells)
        cells = cells[(row < 0) | ~margin.shown(np.maximum(row, 0))]
    found.low[cells] = 0
    found.high[cells] = np.maximum(found.high[cells], made.whole_threshold - 1)


def _most(errors: CellErrors, cells: Ints, groups: Ints, size: int, /) -> Floats:
    """What hidden cells of each group can hold at most: by themselves, or by the rows of the margin that binds them most."""
    base = errors.evidence.base
    one = float((base.mechanism.whole_threshold or 1) - 1)
    number = np.bincount(groups, minlength=size).astype(np.float64)
    found = one * number + _FAR * np.sqrt(base.noise * number)
    for margin in errors.totals.margins:
        found = np.minimum(found, _by_rows(errors, margin, cells, groups, size, one))
    return np.where(number > 0, found, 0.0)


def _by_rows(
    errors: CellErrors, margin: Observation, cells: Ints, groups: Ints, size: int, one: float, /
) -> Floats:
    """The same by the rows of one margin: what a shown row leaves, or what the threshold lets pass of one that is not."""
    row = margin.where.of(cells)
    rows = len(margin.values)
    keys, place = numbered(groups * (rows + 1) + np.where(row < 0, rows, row))
    group, at = np.divmod(keys, rows + 1)
    alone = one * np.bincount(place, minlength=len(keys))
    inside = at < rows
    at = np.minimum(at, rows - 1)
    known = errors.totals.of(margin)
    left = np.maximum(known.margin.total(at) - known.total[at], 0.0)
    cut = margin.mechanism.whole_threshold
    bound = np.where(margin.shown(at), left, np.inf if cut is None else float(cut - 1))
    bound = np.where(inside, np.minimum(bound, alone), alone)
    noise = np.where(inside, margin.noise + errors.evidence.base.noise * known.shown[at], 0.0)
    added = np.bincount(group, weights=bound, minlength=size)
    return np.asarray(added + _FAR * np.sqrt(np.bincount(group, weights=noise, minlength=size)))
