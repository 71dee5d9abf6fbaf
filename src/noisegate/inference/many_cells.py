"""Sums of so many cells that these cannot all be worked out: by whole rows, by blocks that were drawn, by profiles and records.

Whole rows of a margin answer for themselves, up to their noise. Hidden cells of rows that are not shown hold what such cells hold in blocks that were drawn at random. All other cells have the law that
the profile and their own record give; as far as totals moved such cells in blocks that were drawn, they are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from noisegate.inference.block_map import FEWEST_BLOCKS, BlockMap
from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.hidden import PRIOR_OFF, FromRows
from noisegate.inference.linked.inference import infer
from noisegate.inference.linked.posterior import SumEstimates
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.posterior import Posterior
from noisegate.inference.profile.profile import cell_laws, suits
from noisegate.inference.profile.sum_law import SharedError
from noisegate.inference.trial import law_off
from noisegate.inference.uncertainty import ByValues, SumSpread
from noisegate.tables import numbers_in

if TYPE_CHECKING:
    from noisegate.inference.blocks import BlockPosterior

#: A cell keeps at least this share of its variance for itself.
_LEAST_OWN = 0.05
#: Shown cells are told apart by how large they are: by these shares of all of them.
_QUANTILES = (0.1, 0.25, 0.5, 0.75)


@dataclass(slots=True, kw_only=True, eq=False)
class SumsOfMany:
    """Sums of very many cells, as an engine knows them that has worked out some blocks."""

    engine: BlockPosterior
    _lost: dict[str, tuple[float, float, float]] = field(init=False, default_factory=dict)
    _moved: _Moved | None = field(init=False, default=None)

    @property
    def whole(self) -> Posterior:
        """What all cells tell."""
        return self.engine.whole

    @property
    def evidence(self) -> Evidence:
        """All that speaks about the cells."""
        return self.engine.evidence

    @property
    def blocks(self) -> BlockMap:
        """The blocks of the cells."""
        return self.engine.blocks

    def estimates(self, cells: Ints, groups: Ints, size: int, level: float, /) -> SumEstimates:
        """Estimates of sums of so many cells that only rows, profiles and records are asked."""
        found, values = self._told(cells, groups, size)
        mean = np.maximum(found.centre, 0.0)
        low, high = values.held(*found.intervals(level), found.variance)
        return SumEstimates(
            level=level,
            mean=mean,
            sd=np.sqrt(found.variance),
            low=np.maximum(np.minimum(low, np.floor(mean).astype(np.int64)), 0),
            high=np.maximum(high, np.ceil(mean).astype(np.int64)),
        )

    def spread(self, cells: Ints, groups: Ints, size: int, /) -> SumSpread:
        """Where sums are, and how uncertain."""
        return self._told(cells, groups, size)[0]

    def _told(self, cells: Ints, groups: Ints, size: int, /) -> tuple[SumSpread, ByValues]:
        """Whole rows by what they show, up to their noise; cells of rows that are not shown as such cells are in blocks that were drawn; all others by the profile and their own record, beside what their values say."""
        margins = self.whole.errors.totals.margins
        which, taken, found = self._whole_rows(cells, groups, size)
        for place, margin in enumerate(margins):
            mine = ~taken & (which == place)[groups]
            row = margin.where.of(cells[mine])
            lost = np.flatnonzero(mine)[(row < 0) | ~margin.shown(np.maximum(row, 0))]
            taken[lost] = True
            if lost.size:
                found = found.plus(self._in_hidden_rows(margin, cells[lost], groups[lost], size))
        values = ByValues.none(size)
        if not taken.all():
            records, values = self._by_records(cells[~taken], groups[~taken], size)
            found = found.plus(records)
        return replace(found, own=np.maximum(found.own, 1e-12)), values

    def _whole_rows(self, cells: Ints, groups: Ints, size: int, /) -> tuple[Ints, Bools, SumSpread]:
        """For each group the margin that says most of it, which cells are in whole rows of that, and what these say."""
        totals = self.whole.errors.totals
        best: list[FromRows] = []
        which, most = np.zeros(size, np.int64), np.full(size, -1.0)
        least = np.full(size, np.inf)
        for place, margin in enumerate(totals.margins):
            found = totals.of(margin).of_groups(cells, groups, size)
            many = np.bincount(groups, weights=found.taken, minlength=size)
            better = (many > most) | ((many == most) & (found.variance < least))
            which, most = np.where(better, place, which), np.where(better, many, most)
            least = np.where(better, found.variance, least)
            best.append(found)
        zero = np.zeros(size)
        taken, centre, variance, fourth = np.zeros(len(cells), bool), zero, zero, zero
        for place, found in enumerate(best):
            mine = which == place
            taken |= found.taken & mine[groups]
            centre = np.where(mine, found.sum, centre)
            variance = np.where(mine, found.variance, variance)
            fourth = np.where(mine, found.fourth, fourth)
        said = SumSpread.plain(centre, variance, shared=zero, third=zero, fourth=fourth)
        return which, taken, said

    def _in_hidden_rows(self, margin: Observation, cells: Ints, groups: Ints, size: int, /) -> SumSpread:
        """Sums of cells of rows that a margin does not show: hidden ones as in blocks that were drawn, shown ones by their values."""
        base = self.evidence.base
        values = base.values[cells]
        hidden = np.isnan(values)
        mean, variance, off = self._drawn_in_hidden_rows(margin)
        number = np.bincount(groups[hidden], minlength=size).astype(np.float64)
        net = np.where(hidden, 0.0, np.nan_to_num(values) - self.evidence.excess.over(values))
        shared = (off * mean * number) ** 2
        return SumSpread.plain(
            mean * number + np.bincount(groups, weights=net, minlength=size),
            variance * number + base.noise * np.bincount(groups[~hidden], minlength=size) + shared,
            shared=shared,
            third=np.zeros(size),
            fourth=np.zeros(size),
        )

    def _drawn_in_hidden_rows(self, margin: Observation, /) -> tuple[float, float, float]:
        """The mean and the variance of a hidden cell of a row that a margin does not show, and by which share the mean differs between blocks."""
        known = self._lost.get(margin.name)
        if known is None:
            drawn = self.engine.drawn()
            said, width, number = [], [], []
            for block_number, block in zip(drawn, self.engine.work_out(drawn), strict=True):
                cells = self.blocks.cells[block_number].astype(np.int64)
                row = margin.where.of(cells)
                lost = np.isnan(self.evidence.base.values[cells]) & block.live(np.arange(block.size))
                lost &= (row < 0) | ~margin.shown(np.maximum(row, 0))
                said.append(float(block.mean[lost].sum()))
                width.append(float(block.errors.variance[lost].sum()))
                number.append(float(lost.sum()))
            ratio, off = _ratio(np.array(said), np.array(number))
            # Of one sum it is as far off as blocks are from each other.
            off = min(off * float(np.sqrt(len(drawn))), PRIOR_OFF) + _trusted(self.whole)
            known = self._lost[margin.name] = (ratio, sum(width) / max(sum(number), 1.0), off)
        return known

    def _by_records(self, cells: Ints, groups: Ints, size: int, /) -> tuple[SumSpread, ByValues]:
        """Sums of cells by the profile and the record of each, moved as totals move such cells in blocks that were drawn, and what the values among the records say."""
        part_of = self.whole.part_of[cells]
        parts = numbers_in(part_of).tolist()
        self.engine.learn(parts)
        moved = self._moved_by_totals()
        centre, alone, shared, third, common, unseen, elsewhere = (np.zeros(size) for _ in range(7))
        values, law_off = ByValues.none(size), self._law_off()
        off = np.zeros((moved.kinds, size))
        for part in parts:
            here = np.flatnonzero(part_of == part)
            one, group = moved.applied(self._record(part, cells[here])), groups[here]

            def added(what: Floats, group: Ints = group) -> Floats:
                return np.bincount(group, weights=what, minlength=size).astype(np.float64)

            centre += added(one.mean)
            alone += added(one.alone)
            third += added(one.third)
            common += added(one.shared.common)
            shared += one.shared.variance(np.arange(len(here)), group, size=size)
            kind, by = moved.doubt(one)
            off += np.bincount(kind * size + group, weights=by, minlength=off.size).reshape(off.shape)
            lacking = self.whole.errors.lacking(cells[here])
            unseen += _trusted(self.whole) * added(np.where(lacking, one.mean, 0.0))
            elsewhere += law_off * added(np.where(np.isnan(one.values) & ~lacking, one.mean, 0.0))
            values = values.plus(ByValues.of(self.evidence, cells[here], group, size, one.mean))
        shared = shared + common**2 + unseen**2 + elsewhere**2 + (off**2).sum(axis=0)
        spread = SumSpread.plain(centre, alone + shared, shared=shared, third=third, fourth=np.zeros(size))
        return spread, values

    def _law_off(self) -> float:
        """By which share the law is off about hidden cells, in blocks that were drawn."""
        drawn = self.engine.work_out(self.engine.drawn())
        return law_off([one for block in drawn for one in block.beside])

    def _record(self, part: int, cells: Ints, /) -> _Records:
        """What the profile and the record of each say of some cells of a part."""
        effects, fit = self.engine.fit(part).at(cells)
        base = self.evidence.base
        values = base.values[cells]
        if suits(base.mechanism):
            laws = cell_laws(values, mechanism=base.mechanism, prior=fit.law)
            mean, variance, third = laws.mean, laws.variance, laws.third
        else:
            own = infer(self.evidence.problem(cells, linked=False), prior=fit.law)
            mean, variance, third = own.mean, own.sd**2, np.zeros(len(cells))
        shared = SharedError.of(effects, own=fit.own, common=fit.common, prior=fit.prior, variance=variance)
        return _Records(
            values=values,
            mean=mean,
            alone=np.maximum(variance - shared.joint, _LEAST_OWN * variance),
            third=third,
            shared=shared,
        )

    def _moved_by_totals(self) -> _Moved:
        """How far totals move cells from what profile and records say, by blocks that were drawn."""
        if self._moved is None:
            drawn = [number for number in self.engine.drawn() if self.blocks.part[number] >= 0]
            pairs = []
            for number, block in zip(drawn, self.engine.work_out(drawn) if drawn else (), strict=True):
                live = block.live(np.arange(block.size))
                cells = self.blocks.cells[number][live].astype(np.int64)
                pairs.append((self._record(self.blocks.part[number], cells), block.mean[live]))
            self._moved = _Moved.of(pairs)
        return self._moved


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Records:
    """What profile and records say of cells: moments, the variance that each shares with no other, and what they err together; `values` are NaN where nothing is shown."""

    values: Floats
    mean: Floats
    alone: Floats
    third: Floats
    shared: SharedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moved:
    """How totals move cells: hidden ones by a factor, shown ones by so much each, by how large they are (`edges`); and how unsure each of these is."""

    factor: float
    factor_off: float
    edges: Floats
    shift: Floats
    shift_off: Floats

    @classmethod
    def of(cls, pairs: Sequence[tuple[_Records, Floats]], /) -> _Moved:
        """From what records say of the cells of some blocks, and what they were worked out to hold."""
        hidden = [np.isnan(one.values) for one, _ in pairs]
        said = np.array([mean[gone].sum() for (_, mean), gone in zip(pairs, hidden, strict=True)])
        given = np.array([one.mean[gone].sum() for (one, _), gone in zip(pairs, hidden, strict=True)])
        factor, off = _ratio(said, given)
        seen = np.concatenate(
            [one.values[~gone] for (one, _), gone in zip(pairs, hidden, strict=True)] or [np.zeros(0)]
        )
        edges = np.unique(np.quantile(seen, _QUANTILES)) if seen.size else np.zeros(0)
        kinds = len(edges) + 1
        more, cells = np.zeros((len(pairs), kinds)), np.zeros((len(pairs), kinds))
        for block, ((one, mean), gone) in enumerate(zip(pairs, hidden, strict=True)):
            kind = np.searchsorted(edges, one.values[~gone])
            more[block] = np.bincount(kind, weights=(mean - one.mean)[~gone], minlength=kinds)
            cells[block] = np.bincount(kind, minlength=kinds)
        number = np.maximum(cells.sum(axis=0), 1.0)
        shift = more.sum(axis=0) / number
        spread = np.sqrt(((more - shift * cells) ** 2).sum(axis=0) * len(pairs) / max(len(pairs) - 1, 1))
        return cls(factor=factor, factor_off=off, edges=edges, shift=shift, shift_off=spread / number)

    @property
    def kinds(self) -> int:
        """How many kinds of cells are moved each by its own: hidden ones, and shown ones by how large they are."""
        return len(self.shift) + 1

    def _kind(self, values: Floats, /) -> Ints:
        hidden = np.isnan(values)
        return np.where(hidden, 0, 1 + np.searchsorted(self.edges, np.where(hidden, 0.0, values)))

    def applied(self, one: _Records, /) -> _Records:
        """The same, moved."""
        hidden = np.isnan(one.values)
        shift = np.append(0.0, self.shift)[self._kind(one.values)]
        return replace(one, mean=np.where(hidden, self.factor * one.mean, one.mean + shift))

    def doubt(self, one: _Records, /) -> tuple[Ints, Floats]:
        """The kind of each cell that was moved, and by how much a standard deviation of what its kind is moved by moves it."""
        kind = self._kind(one.values)
        shown = np.append(0.0, self.shift_off)[kind]
        return kind, np.where(kind == 0, self.factor_off * one.mean, shown)


def _trusted(whole: Posterior, /) -> float:
    """By which share what no total tells may be off."""
    return 0.0 if whole.trust is None else whole.trust.off


def _ratio(said: Floats, given: Floats, /) -> tuple[float, float]:
    """The ratio of two sums over blocks, and its standard deviation as a share of it: as unsure as a prior if there is one block or none."""
    if len(said) < FEWEST_BLOCKS or given.sum() <= 0:
        return 1.0, PRIOR_OFF
    found = float(said.sum() / given.sum())
    away = said - found * given
    spread = np.sqrt(len(said) / (len(said) - 1) * float((away**2).sum()))
    return found, float(spread / max(said.sum(), 1e-9))
