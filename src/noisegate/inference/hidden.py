"""What shown totals say of sums of cells, with no prior at all (MATH 10 e).

A row of a margin less those of its shown cells that nobody asked for is the sum of all the others: of its hidden cells, and of any shown ones. Shown values hold too much
noise on average, which is taken off (`threshold`). What is left is known up to noise whose law is known, whatever the law of the counts.

Where tables are sums of one estimate they share its error. No linear estimate of a sum is surer than the least-squares one, so none surer than the
weighted mean of what every measured table says that has the sum as whole rows; for a total of everything both are the same (`margins.design`).

*Misfit.* How far a learnt law is off for what is hidden in rows of a margin, by what the rows themselves say.

The hidden cells of row r have means that add up to M_r, and variances that add up to W_r; the row says L_r, up to noise of variance N_r. Wherever the means come from, if they are right (L - M)^2 is N at most on average,
and less as far as they follow the row. What it is more than that, the law is off by.

All rows of a unit together may be off by one factor as well: that is known only as well as other rows tell it. The posterior of the hidden sum of some rows then is the mean of what they say and of what the law and all
other rows say, each weighed by how sure it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.excess import ThresholdExcess
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.profile.sum_law import chance_apart, quantile
from noisegate.laws import compiled
from noisegate.tables import compact, paired

#: The prior may be off by this share of all hidden cells of a part together.
PRIOR_OFF = 0.7
#: What hidden cells of a row add up to varies by so many times what their laws say: these are learnt from cells that are shown.
SPREAD_OFF = 1.5
#: Rows that are nothing like the law, beforehand, and as how many rows that counts: what rows themselves say of it has the rest. Tried at 0.025 and 0.1 on fixed and lognormal counts and a stadium day as in 2016 (8 worlds each, seed 777): shares held differ by 0.3 points at most,
#: interval scores of fixed counts are 6.6 and 7.7 (6.9 here), others the same.
_ROWS_APART, _AS_ROWS = 0.05, 20.0
_APART_ROUNDS = 5
#: Intensities are raked so often, and rows keep at least this share of theirs.
_RAKED, _LEAST_RAKED = 5, 0.2
#: Where counts hardly vary, what rows stray by is the law's fault if it is more than chance by so many standard deviations: noise is far larger than what cells vary by, and so is what it strays by by chance.
#: Groups of fixed counts, as in 2016 and with exact margins (24 worlds, seed 4242): at 1 99 / 60 and 96 / 63, interval scores 17 and 17; at 2 95 / 52 and 96 / 57, 16 and 11; at 4 95 / 49 and 96 / 51, 15 and 9.
_CLEARLY = 2.0
#: So many margins tell the intensity of a cell, by what they show of its rows.
_TELLING = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FromRows:
    """What rows of a margin say of groups of cells: the sum of the cells that `taken` marks, and the variance and the fourth cumulant of its noise; `doubt` is what of the variance is of what shown values hold too much, and not the noise of these.

    `hidden` is how many of these cells are not shown, and `excess` what was added because shown values of the rows hold too much. `group` and `row` are the pairs of a group and a row that says something of it, and `share` is how much of the shown cells of the row the group does not hold.
    """

    taken: Bools
    sum: Floats
    variance: Floats
    doubt: Floats
    fourth: Floats
    hidden: Ints
    excess: Floats
    group: Ints
    row: Ints
    share: Floats

    def half_width(self, level: float, /) -> Floats:
        """How far the sum is from the truth at most, with a chance of this level."""
        none = np.zeros(len(self.sum))
        return quantile(none, self.variance, none, (1 + level) / 2, fourth=self.fourth)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTotals:
    """The shown rows of one margin, and what their cells show: for each row how many are hidden, how many shown, and what these add up to.

    `open` says which rows are shown and evidence; `dead` is how many cells are hidden and empty for a public reason; `excess` and `doubt` are what shown values hold too much, and how unsure that is; `lost` is what of it they lack where counts were made non-negative; `over` and `over_doubt` are excess and doubt of the rows themselves.
    """

    evidence: Evidence
    margin: Observation
    open: Bools
    hidden: Ints
    shown: Ints
    dead: Ints
    total: Floats
    excess: Floats
    doubt: Floats
    over: Floats
    over_doubt: Floats
    lost: Floats

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
        # Totals that were only summed are not selected by noise of their own.
        codes = np.where(np.isnan(margin.values) | (not margin.measured), -1, np.arange(size))
        over, over_doubt = rows.added(margin.values, codes, size)
        return cls(
            evidence=evidence,
            margin=margin,
            open=~np.isnan(margin.values) & usable,
            hidden=np.bincount(row[~there], minlength=size),
            shown=np.bincount(row[there], minlength=size),
            dead=_dead(evidence, margin),
            total=np.bincount(row[there], weights=values[there], minlength=size).astype(np.float64),
            excess=excess,
            doubt=doubt,
            over=over,
            over_doubt=over_doubt,
            lost=evidence.excess.lost(values, np.where(there, row, -1), size),
        )

    def of_groups(self, cells: Ints, groups: Ints, size: int, /) -> FromRows:
        """What shown rows say of each of `size` groups: of those rows of which a group has all hidden cells."""
        rows = len(self.margin.values)
        row = self.margin.where.of(cells)
        values = self.evidence.base.values[cells]
        zero = self.evidence.zero
        within = row.min(initial=0) >= 0
        group, at, place = paired(groups, row if within else np.maximum(row, 0), rows)
        whole = self.open[at]
        # Cells that are empty for a public reason are no part of what rows leave.
        live = np.ones(len(cells), bool) if zero is None else ~zero[cells]
        lacking, asked, beyond, seen = _by_pair(place, row, values, live, len(at))
        whole &= ~beyond & (lacking == self.hidden[at])
        # Of a row without hidden cells single cells are better asked for themselves.
        whole &= (lacking > 0) | (asked == self.shown[at])
        there = np.flatnonzero(~np.isnan(values) & live)
        mine = self.evidence.excess.over(values[there])
        extra = self.excess[at] - np.bincount(place[there], weights=mine, minlength=len(at))
        taken = whole[place] & live
        some = np.flatnonzero(whole)
        group, at, lacking, asked = (one[some] for one in (group, at, lacking, asked))
        seen, extra = seen[some], extra[some]
        others = self.shown[at] - asked
        share = np.divide(others, self.shown[at], out=np.ones(len(at)), where=self.shown[at] > 0)

        def added(what: Floats | Ints | Bools) -> Floats:
            return np.bincount(group, weights=what, minlength=size).astype(np.float64, copy=False)

        gone = added(others)
        if self.evidence.consistent:
            noise = self._noise_of_one(cells[taken], groups[taken], size, gone, added(self.dead[at]))
        else:
            noise = self.margin.noise * added(lacking + asked > 0) + self.evidence.base.noise * gone
        below = self.evidence.excess
        doubt = added(share * self.doubt[at] + self.over_doubt[at])
        if below.amplitude > 0 or below.lack > 0:
            # How the histogram goes on below the threshold is one doubt for all rows.
            doubt += below.together(share * self.excess[at], share * self.lost[at], group, size)
        return FromRows(
            taken=taken,
            sum=added(self.margin.total(at) - self.over[at] - (self.total[at] - seen) + extra),
            variance=noise + np.maximum(doubt, 0.0),
            doubt=np.maximum(doubt, 0.0),
            fourth=np.zeros(size)
            if self.evidence.consistent
            else self.margin.fourth * np.bincount(group, minlength=size) + self.evidence.base.fourth * gone,
            hidden=added(lacking).astype(np.int64),
            excess=added(extra),
            group=group,
            row=at,
            share=share,
        )

    @property
    def hidden_variance(self) -> float:
        """The variance of what all shown rows leave for their hidden cells together, of tables with noise of their own."""
        rows = self.open & (self.hidden > 0)
        one = np.zeros(int(rows.sum()), np.int64)
        noise = self.margin.noise * len(one) + self.evidence.base.noise * float(self.shown[rows].sum())
        doubt = float((self.doubt + self.over_doubt)[rows].sum())
        doubt += float(self.evidence.excess.together(self.excess[rows], self.lost[rows], one, 1)[0])
        return noise + max(doubt, 0.0)

    def _noise_of_one(self, cells: Ints, groups: Ints, size: int, others: Floats, dead: Floats, /) -> Floats:
        """The variance of the noise in what rows of sums of one estimate leave, when so many shown cells are taken off; estimates of `dead` cells are noise, and in the rows."""
        base, terms = self.evidence.base, np.bincount(groups, minlength=size)
        # The estimate over the cells themselves, or over whole rows less the others.
        precision = 1 / (base.noise * np.maximum(terms + dead, 1))
        # No estimate from all tables errs by more than one from the base and a single margin.
        gone = np.zeros(size)
        for margin in self.evidence.margins:
            if margin.measured:
                touched = self._touched(margin, cells, groups, size)
                usable = touched.whole & (touched.rows > 0) & (others == 0)
                precision[usable] += 1 / (margin.noise * touched.rows[usable])
                gone = max(gone, self._gone(margin, touched, size), key=lambda one: float(one.sum()))
        single = np.maximum(base.noise * (terms + dead) - gone, 0.0)
        return np.asarray(np.where(terms > 0, np.minimum(1 / precision, single), 0.0))

    def _touched(self, margin: Observation, cells: Ints, groups: Ints, size: int, /) -> _Touched:
        """What groups of cells have of the rows of a margin."""
        row, many = margin.where.of(cells), len(margin.values)
        inside = row >= 0
        if inside.all():
            group, at, place = paired(groups, row, many)
            bad = np.zeros(size)
        else:
            group, at, place = paired(groups[inside], row[inside], many)
            bad = np.bincount(groups, weights=~inside, minlength=size).astype(np.float64)
        mine = np.bincount(place, minlength=len(at))
        bad += np.bincount(group, weights=mine != self.evidence.cells_in(margin)[at], minlength=size)
        rows = np.bincount(group, minlength=size)
        return _Touched(group=group, at=at, mine=mine, rows=rows, whole=np.asarray(bad == 0))

    def _gone(self, margin: Observation, touched: _Touched, size: int, /) -> Floats:
        """By how much a margin that was measured lessens the variance of the base over groups of cells."""
        noise = self.evidence.base.noise
        every = self.evidence.cells_in(margin) + _dead(self.evidence, margin)
        gone = (noise * touched.mine) ** 2 / (noise * every[touched.at] + margin.noise)
        return np.bincount(touched.group, weights=gone, minlength=size).astype(np.float64)


@compiled
def _by_pair(
    place: Ints, row: Ints, values: Floats, live: Bools, size: int
) -> tuple[Ints, Ints, Bools, Floats]:
    """How many cells of each pair are hidden and how many are shown, of those that could hold something; whether it has cells that are in no row, and what shown ones add up to."""
    hidden, shown = np.zeros(size, np.int64), np.zeros(size, np.int64)
    beyond, seen = np.zeros(size, np.bool_), np.zeros(size)
    for i in range(len(place)):
        pair = place[i]
        if row[i] < 0:
            beyond[pair] = True
        if not live[i]:
            continue
        if np.isnan(values[i]):
            hidden[pair] += 1
        else:
            shown[pair] += 1
            seen[pair] += values[i]
    return hidden, shown, beyond, seen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Touched:
    """Pairs of a group of cells and a row of a margin (`at`) of which it has some cells (`mine`); for each group how many rows these are (`rows`), and whether it has all of them and nothing else."""

    group: Ints
    at: Ints
    mine: Ints
    rows: Ints
    whole: Bools


def _dead(evidence: Evidence, margin: Observation, /) -> Ints:
    """How many cells of each row are hidden and empty for a public reason."""
    size = len(margin.values)
    if evidence.zero is None:
        return np.zeros(size, np.int64)
    row = margin.where.of(np.flatnonzero(evidence.zero & np.isnan(evidence.base.values)))
    return np.bincount(row[row >= 0], minlength=size)


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

    @property
    def tell_intensities(self) -> bool:
        """Whether intensities that add up to them are better than those that cells tell: not if totals repeat the errors of cells, nor if of a grid only the rows have totals and columns are told by shown cells alone."""
        return not self.evidence.consistent and len(self.margins) >= _TELLING

    @property
    def alone(self) -> bool:
        """Whether there are totals of one kind of rows alone, others being totals of these: none says how rows are divided."""
        names = [{name for name, many in one.where.labels.items() if many > 1} for one in self.margins]
        return bool(names) and all(one <= max(names, key=len) for one in names)

    def of(self, margin: Observation, /) -> RowTotals:
        """The rows of a margin."""
        if margin.name not in self._rows:
            self._rows[margin.name] = RowTotals.of(self.evidence, margin, self.evidence.live)
        return self._rows[margin.name]

    def raked(self, cells: Ints, mean: Floats, /) -> Raked:
        """Intensities of the cells of a part, moved row by row until they add up to what margins show: each total beside what the cells of its row say, as far as it is surer.

        Of counts that do not vary around their intensities this is all that is known of these.
        """
        found, doubt, wanted, totals = mean.copy(), np.zeros(len(mean)), [], 0
        for margin in self.margins:
            row, size = margin.where.of(cells), len(margin.values)
            inside = (row >= 0) & margin.shown(np.maximum(row, 0))
            row = np.where(inside, row, 0)
            held = np.bincount(row, weights=inside * mean, minlength=size)
            number = np.bincount(row, weights=inside, minlength=size)
            # A row that reaches beyond the part says nothing of it alone.
            inside &= (number == self.evidence.cells_in(margin))[row]
            # A hidden cell is known by cells alone up to its own size.
            unsure = np.where(np.isnan(self.evidence.base.values[cells]), mean**2, self.evidence.base.noise)
            noise = np.bincount(row, weights=inside * unsure, minlength=size)
            share = noise / np.maximum(noise + margin.noise, 1e-12)
            wanted.append((row, inside, held + share * (margin.total(np.arange(size)) - held)))
            doubt += np.where(inside, (share * margin.noise / np.maximum(held, 1.0) ** 2)[row], 0.0)
            totals += len(np.unique(row[inside]))
        for _ in range(_RAKED if len(wanted) > 1 else 1):
            for row, inside, total in wanted:
                held = np.bincount(row, weights=inside * found, minlength=len(total))
                factor = np.maximum(total, _LEAST_RAKED * held) / np.maximum(held, 1e-9)
                found = np.where(inside, found * factor[row], found)
        return Raked(mean=found, doubt=doubt, totals=totals)

    def loosely(
        self,
        cells: Ints,
        mean: Floats,
        loose: Floats,
        groups: Ints,
        size: int,
        /,
        *,
        but: Observation | None = None,
    ) -> Floats:
        """The variance of what cells of each group are off by together if totals alone tell their intensities, so loosely: all cells of a row with its noise; or by all margins but one.

        Without bound for cells that fewer than two margins show: one alone does not tell how a row is divided.
        """
        found, seen = np.zeros(size), np.full(len(cells), 0 if but is None else 1)
        for margin in self.margins:
            if but is None or margin.name != but.name:
                row = margin.where.of(cells)
                there = (row >= 0) & margin.shown(np.maximum(row, 0))
                move = np.where(there, mean * np.sqrt(np.minimum(loose, margin.relative_noise(row))), 0.0)
                group, _, place = paired(groups, np.maximum(row, 0), len(margin.values))
                moved = np.bincount(place, weights=move, minlength=len(group))
                found += np.bincount(group, weights=moved**2, minlength=size)
                seen += there
        unseen = np.bincount(groups, weights=seen < _TELLING, minlength=size) > 0
        return np.where(unseen, np.inf, found)

    def left_in(self, margin: Observation, cells: Ints, which: Bools, /) -> LeftInRows:
        """What the rows of a margin leave for those of some cells that are chosen; laws do not matter for it."""
        row = margin.where.of(cells)
        inside = np.flatnonzero(which & (row >= 0))
        said = self.of(margin).of_groups(cells[inside], row[inside], len(margin.values))
        rows, codes = compact(row[inside][said.taken])
        known, noise = self.of(margin), said.variance[rows]
        common = self.evidence.excess.common(known.excess[rows], known.lost[rows])
        return LeftInRows(
            places=inside[said.taken],
            codes=codes,
            left=said.sum[rows],
            noise=noise,
            common=np.minimum(common, np.sqrt(noise)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Raked:
    """Intensities that add up to so many shown totals, and their relative variances."""

    mean: Floats
    doubt: Floats
    totals: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeftInRows:
    """What rows of a margin leave for cells at some places, up to noise of this variance; `codes` is the row of each place.

    `common` is the standard deviation of the part of it that all rows have alike: how much shown values hold too much is one doubt for all.
    """

    places: Ints
    codes: Ints
    left: Floats
    noise: Floats
    common: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowMisfit:
    """For each row of a margin what the law gives its hidden cells (`mean`), what it leaves open beside the variances of cells (`more`), what of that is noise of the row itself, where it tells intensities (`alike`), and how much the row tells of one factor for all rows of its unit (`told`, and `told_in` all of them together).

    `apart` says whether rows have noise of their own: what sums of one estimate say is in the records of cells as well, and the law adds little to it. `crossed` is what shown values of a row hold too much by the laws of its cells, and `crossed_doubt` the variance of that. `common` is the variance of the factor of each unit which no row can tell, as all have the same doubt. `rare` is the share of the rows of each unit that are nothing like the law, and `room` what all cells of a unit together may be off by beforehand, as a relative variance.
    """

    mean: Floats
    more: Floats
    alike: Floats
    told: Floats
    crossed: Floats
    crossed_doubt: Floats
    unit: Ints
    told_in: Floats
    common: Floats
    apart: bool
    rare: Floats
    room: Floats

    @classmethod
    def of(
        cls,
        rows: RowTotals,
        cells: Ints,
        units: Ints,
        mean: Floats,
        variance: Floats,
        crossed: Floats,
        crossed_doubt: Floats,
        loose: Floats,
        others: ShownTotals,
        /,
    ) -> RowMisfit:
        """From the means and variances of the cells of a margin's rows, what they say of excess, how loose their intensities are, and the unit that each cell was solved in; what is not solved yet has no mean."""
        margin, size = rows.margin, len(rows.margin.values)
        row = margin.where.of(cells)
        values = rows.evidence.base.values[cells]
        inside = row >= 0
        hidden = np.isnan(values) & inside
        unit, many = np.zeros(size, np.int64), int(units.max(initial=0)) + 1
        unit[row[inside]] = units[inside]
        found = rows.of_groups(cells[hidden], row[hidden], size)
        taken = np.flatnonzero(hidden)[found.taken]
        noise = found.variance

        def added(which: Ints, what: Floats) -> Floats:
            return np.bincount(row[which], weights=what[which], minlength=size).astype(np.float64)

        def in_unit(what: Floats) -> Floats:
            return np.bincount(unit, weights=what, minlength=many).astype(np.float64)

        own, width = added(taken, mean), added(taken, variance)
        some = (own > 0) & (noise > 0)
        strayed = np.where(some, (found.sum - own) ** 2 / np.maximum(noise, 1e-12), 0.0)
        number = np.maximum(in_unit(some.astype(np.float64)), 1.0)
        # Where totals tell intensities, all cells of a row are off with the noise of its total.
        sure, loose = np.bincount(units[taken], np.isnan(loose[taken]), many) == 0, np.nan_to_num(loose)
        # Rows that stray by no more than chance do not stray.
        tails = in_unit(np.where(some, found.fourth / np.maximum(noise, 1e-12) ** 2, 0.0)) / number
        chance = np.where(sure, _CLEARLY, 1.0) * np.sqrt((2 + tails) / number)
        strays = np.maximum(in_unit(strayed) / number - chance, 1.0)
        more = (strays[unit] - 1) * (width + noise) + (SPREAD_OFF - 1) * width
        alone = np.minimum(loose, margin.relative_noise(row))
        alike = np.minimum(added(taken, mean * np.sqrt(alone)) ** 2, noise)
        more += alike + added(taken, mean**2 * (loose - alone))
        told = own**2 / np.maximum(width + more + noise, 1e-9)
        # All hidden cells together are off by no more than one of them may be: counts that do not vary leave no room.
        squares = np.bincount(units[taken], weights=mean[taken] ** 2, minlength=many)
        room = np.minimum(in_unit(width) / np.maximum(squares, 1e-9), PRIOR_OFF**2)
        # Where totals tell intensities, those of other margins tell that factor.
        beside = others.loosely(cells[taken], mean[taken], loose[taken], units[taken], many, but=margin)
        room = np.where(sure, np.minimum(room, beside / np.maximum(in_unit(own) ** 2, 1e-9)), room)
        every = rows.of_groups(cells[taken], units[taken], many)
        common = np.maximum(every.variance - in_unit(noise), 0.0) / np.maximum(in_unit(own) ** 2, 1e-9)
        misfit = cls(
            mean=own,
            more=more,
            alike=alike,
            told=told,
            crossed=added(np.flatnonzero(inside), crossed),
            crossed_doubt=added(np.flatnonzero(inside), crossed_doubt),
            unit=unit,
            told_in=in_unit(told),
            common=common,
            apart=not rows.evidence.consistent,
            rare=np.full(many, _ROWS_APART),
            room=room,
        )
        both = width + misfit.off_alone() + noise
        away = np.where(
            some, ((found.sum - own) * (width + noise)) ** 2 / np.maximum(noise**2 * both, 1e-12), 0.0
        )
        return misfit._told_apart(away, some.astype(np.float64))

    def _told_apart(self, squares: Floats, some: Floats, /) -> RowMisfit:
        """The same, once rows have said how many of them are nothing like the law."""
        rare, many = self.rare, len(self.rare)
        number = np.bincount(self.unit, weights=some, minlength=many)
        for _ in range(_APART_ROUNDS):
            chance = some * chance_apart(squares, rare[self.unit])
            seen = np.bincount(self.unit, weights=chance, minlength=many)
            rare = (_ROWS_APART * _AS_ROWS + seen) / (_AS_ROWS + number)
        return replace(self, rare=rare)

    def rare_in(self, group: Ints, row: Ints, size: int, /) -> Floats:
        """The share of rows that are nothing like the law, for each of `size` groups of rows."""
        found = np.bincount(group, weights=self.rare[self.unit[row]], minlength=size)
        return np.asarray(found / np.maximum(np.bincount(group, minlength=size), 1))

    def off(self, group: Ints, row: Ints, size: int, /) -> Floats:
        """The variance of what the law is off by beyond cells, for each of `size` groups of whole rows: pairs of a group and a row of it."""
        of, unit, place = paired(group, self.unit[row], len(self.told_in))
        mean = np.bincount(place, weights=self.mean[row], minlength=len(of))
        others = self.told_in[unit] - np.bincount(place, weights=self.told[row], minlength=len(of))
        # Rows tell the factor up to a doubt that all of them have alike, and there is no more room for it than that.
        told = self.apart / (1 / np.maximum(others, 1e-9) + self.common[unit])
        factor = 1 / (1 / np.maximum(self.room[unit], 1e-9) + told)
        found = np.bincount(group, weights=self.more[row], minlength=size)
        return np.asarray(found + np.bincount(of, weights=factor * mean**2, minlength=size))

    def alike_in(self, group: Ints, row: Ints, size: int, /) -> Floats:
        """What of that is noise of the rows themselves."""
        return np.bincount(group, weights=self.alike[row], minlength=size).astype(np.float64)

    def off_alone(self) -> Floats:
        """The same for each row by itself."""
        every = np.arange(len(self.mean))
        return self.off(every, every, len(every))
