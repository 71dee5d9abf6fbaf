"""Whole tables drawn from what is known: counts of all cells at once, so that any computation can be put through them.

Each cell has its law, cells err together as sums of them say (`uncertainty`), and shown totals hold the cells of their rows together. A draw

1. gives every cell a normal error: its own, those of what it is predicted from, and those that all little-seen cells have in common;
2. moves the errors of each shown row so that their sum is as sure as the row makes it, and no surer;
3. turns each error into a count by the cell's own law (a Gaussian copula), so that single cells keep their laws to the last digit;
4. moves single counts up or down by one, each as far as its law lets it, until rows add up to the sums of step 2.

Counts are whole and never negative, and all margins of a draw are sums of its cells: draws are consistent tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.evidence import Observation
from noisegate.inference.hidden import RowMisfit, ShownTotals
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.laws import compiled

#: Ends of laws that hold less than this are not drawn.
_TRIM = 1e-7
#: A total surer than this is taken as it is.
_SURE = 0.05
#: A cell keeps at least this share of its variance when rows are moved.
_LEAST_OWN = 0.02
_ROUNDS, _PASSES = 6, 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiedSums:
    """Groups of cells whose sums are known: the group of each cell (-1 for none), the variance of each sum, what the law may be `off` by beyond the cells, as a variance, and the sum itself where it is sure (else NaN).

    Single counts are moved (`mended`) until the sums are whole numbers that go together; with one sum over very many cells that is not worth it.
    """

    codes: Ints
    variance: Floats
    off: Floats
    exactly: Floats
    mended: bool = True

    @classmethod
    def of(
        cls, totals: ShownTotals, cells: Ints, misfit: Callable[[Observation], RowMisfit], /
    ) -> list[TiedSums]:
        """The shown rows of every margin over these cells, the margin that is surest of their total first."""
        found = []
        for margin in totals.margins:
            row = margin.where.of(cells)
            inside = row >= 0
            said = totals.of(margin).of_groups(cells[inside], row[inside], len(margin.values))
            codes = np.full(len(cells), -1, np.int64)
            codes[np.flatnonzero(inside)[said.taken]] = row[inside][said.taken]
            used, place = np.unique(codes[codes >= 0], return_inverse=True)
            if not used.size:
                continue
            codes[codes >= 0] = place
            sure = np.where(said.variance[used] < _SURE, np.rint(said.sum[used]), np.nan)
            off = misfit(margin).off_alone()[used]
            found.append(cls(codes=codes, variance=said.variance[used], off=off, exactly=sure))
        found = sorted(found, key=lambda one: (int((one.codes < 0).sum()), float(one.variance.sum())))
        return found + cls._hidden(totals, cells, misfit)

    @classmethod
    def _hidden(
        cls, totals: ShownTotals, cells: Ints, misfit: Callable[[Observation], RowMisfit], /
    ) -> list[TiedSums]:
        """All hidden cells together, by the margin that says most of them."""
        hidden = np.flatnonzero(np.isnan(totals.evidence.base.values[cells]))
        best: tuple[tuple[int, float], TiedSums] | None = None
        for margin in totals.margins if hidden.size else ():
            said = totals.of(margin).of_groups(cells[hidden], np.zeros(len(hidden), np.int64), 1)
            rank = (int(said.taken.sum()), -float(said.variance[0]))
            if rank[0] > 1 and (best is None or rank > best[0]):
                codes = np.full(len(cells), -1, np.int64)
                codes[hidden[said.taken]] = 0
                off = misfit(margin).off(said.group, said.row, 1)
                sums = cls(
                    codes=codes, variance=said.variance, off=off, exactly=np.full(1, np.nan), mended=False
                )
                best = (rank, sums)
        return [] if best is None else [best[1]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelErrors:
    """Errors that cells of one level of an effect have in common: one standard deviation of it moves cell `places[k]` by `moves[k]`."""

    places: Ints
    codes: Ints
    moves: Floats

    @property
    def levels(self) -> int:
        """How many errors there are."""
        return int(self.codes.max(initial=-1)) + 1


@dataclass(slots=True, kw_only=True, eq=False)
class CellSampler:
    """Draws the counts of cells that were solved together.

    Attributes
    ----------
    cells
        Their numbers, and which of them are not shown (`hidden`).
    mean, alone
        Their means, and the variance that each shares with no other.
    laws
        Their laws.
    effects, together
        What cells err together: by levels of effects, and with one error for all cells of all samplers (one list for each such error).
    ties
        Sums of them that are known.
    same
        For each cell the place of one that holds its count.
    """

    cells: Ints
    hidden: Bools
    mean: Floats
    alone: Floats
    laws: Pmfs
    effects: Sequence[LevelErrors] = ()
    together: Sequence[Floats] = ()
    ties: Sequence[TiedSums] = ()
    same: Ints | None = None
    _plans: list[_Tie] = field(init=False, repr=False)
    _mended: list[_Tie] = field(init=False, repr=False)
    _sd: Floats = field(init=False, repr=False)
    _table: _Repair = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.laws = self.laws.trimmed(_TRIM)
        variance = self.alone.copy()
        for level in self.effects:
            np.add.at(variance, level.places, level.moves**2)
        for one in self.together:
            variance += one**2
        self._plans = []
        for tie in self.ties:
            plan = _Tie.of(tie, variance, self._shared(tie), self.mean)
            self._plans.append(plan)
            variance = plan.left(variance)
        self._sd = np.sqrt(np.maximum(variance, 1e-12))
        tied = np.zeros(len(self.cells), bool)
        if self.same is not None:
            tied = np.bincount(self.same, minlength=len(self.cells))[self.same] > 1
        self._mended = [plan for plan, tie in zip(self._plans, self.ties, strict=True) if tie.mended]
        self._table = _Repair.of(self._mended, free=~tied & (self.laws.sizes > 1))

    def _shared(self, tie: TiedSums, /) -> Floats:
        """What cells err together, in the variance of each tied sum."""
        size = len(tie.variance)
        inside = tie.codes >= 0
        found = np.zeros(size)
        for one in self.together:
            found += np.bincount(tie.codes[inside], weights=one[inside], minlength=size) ** 2
        for level in self.effects:
            group = tie.codes[level.places]
            there = group >= 0
            key = group[there] * level.levels + level.codes[there]
            distinct, place = np.unique(key, return_inverse=True)
            moved = np.bincount(place, weights=level.moves[there])
            own = np.bincount(place, weights=level.moves[there] ** 2)
            found += np.bincount(distinct // level.levels, weights=moved**2 - own, minlength=size)
        return found

    def draw(self, rng: np.random.Generator, together: Floats, /, *, levels: Sequence[Floats] = ()) -> Ints:
        """One table; `together` are the errors that all cells of all samplers have in common, `levels` those of the first effects, if other samplers have them too."""
        error = np.sqrt(self.alone) * rng.standard_normal(len(self.cells))
        for place, level in enumerate(self.effects):
            drawn = levels[place] if place < len(levels) else rng.standard_normal(level.levels)
            np.add.at(error, level.places, level.moves * drawn[level.codes])
        for one, z in zip(self.together, together.tolist(), strict=True):
            error += one * z
        if self.same is not None:
            error = error[self.same]
        wanted = [plan.moved(error, rng) for plan in self._plans]
        for _ in range(_PASSES):
            for plan, sums in zip(reversed(self._plans), reversed(wanted), strict=True):
                plan.set(error, sums)
        laws = self.laws
        counts = _quantiles(laws.low, laws.start, laws.p, special.ndtr(error / self._sd))
        self._table.mend(counts, laws, [plan.target(error) for plan in self._mended], rng)
        return counts if self.same is None else counts[self.same]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tie:
    """How the errors of tied sums are moved: the share of each that is kept, what is new in it, and the weight of each cell."""

    codes: Ints
    inside: Ints
    weights: Floats
    whole: Floats
    kept: Floats
    new: Floats
    mean: Floats
    exactly: Floats

    @classmethod
    def of(cls, tie: TiedSums, variance: Floats, shared: Floats, mean: Floats, /) -> _Tie:
        inside = np.flatnonzero(tie.codes >= 0)
        codes, size = tie.codes[inside], len(tie.variance)
        own = np.bincount(codes, weights=variance[inside], minlength=size)
        whole = np.maximum(own + np.maximum(shared, 0.0), 1e-12)
        # Beside its cells, the law may be off for all of a sum at once.
        doubt = whole + tie.off
        variance_of = tie.variance * doubt / (tie.variance + doubt)
        kept = np.minimum(variance_of / whole, 1.0)
        return cls(
            codes=tie.codes,
            inside=inside,
            weights=variance[inside] / np.maximum(own[codes], 1e-12),
            whole=whole,
            kept=kept,
            new=np.sqrt(np.maximum(variance_of - kept**2 * whole, 0.0)),
            mean=np.bincount(codes, weights=mean[inside], minlength=size).astype(np.float64),
            exactly=tie.exactly,
        )

    def left(self, variance: Floats, /) -> Floats:
        """The variance of every cell once sums are moved."""
        found = variance.copy()
        codes = self.codes[self.inside]
        gone = self.weights**2 * (self.whole * (1 - self.kept))[codes]
        found[self.inside] = np.maximum(variance[self.inside] - gone, _LEAST_OWN * variance[self.inside])
        return found

    def sums(self, error: Floats, /) -> Floats:
        return np.asarray(
            np.bincount(self.codes[self.inside], weights=error[self.inside], minlength=len(self.kept))
        )

    def moved(self, error: Floats, rng: np.random.Generator, /) -> Floats:
        """Move errors so that sums are as unsure as they should be, in place; what they then add up to."""
        wanted = self.kept * self.sums(error) + self.new * rng.standard_normal(len(self.kept))
        wanted = np.where(np.isnan(self.exactly), wanted, self.exactly - self.mean)
        self.set(error, wanted)
        return wanted

    def set(self, error: Floats, wanted: Floats, /) -> None:
        """Move errors so that they add up to what is wanted, in place."""
        off = wanted - self.sums(error)
        error[self.inside] += self.weights * off[self.codes[self.inside]]

    def target(self, error: Floats, /) -> Ints:
        """The whole numbers that counts are to add up to."""
        found = np.where(np.isnan(self.exactly), self.mean + self.sums(error), self.exactly)
        return np.maximum(np.rint(found), 0).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Repair:
    """The members of all tied sums, for moving single counts until sums are right."""

    codes: Ints
    offset: Ints
    indptr: Ints
    members: Ints
    free: Bools

    @classmethod
    def of(cls, plans: Sequence[_Tie], /, *, free: Bools) -> _Repair:
        none = np.zeros(0, np.int64)
        sizes = np.array([len(plan.kept) for plan in plans], np.int64)
        offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        members, counts = [none], [none]
        for plan in plans:
            open_ones = plan.inside[free[plan.inside]]
            codes = plan.codes[open_ones]
            members.append(open_ones[np.argsort(codes, kind="stable")])
            counts.append(np.bincount(codes, minlength=len(plan.kept)).astype(np.int64))
        return cls(
            codes=np.stack([plan.codes for plan in plans]) if plans else np.zeros((0, len(free)), np.int64),
            offset=offset,
            indptr=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
            members=np.concatenate(members),
            free=free,
        )

    def mend(self, counts: Ints, laws: Pmfs, targets: Sequence[Ints], rng: np.random.Generator, /) -> None:
        """Move counts one by one, in place, until sums are what they should be or laws forbid it."""
        if not targets:
            return
        off = []
        for codes, target in zip(self.codes, targets, strict=True):
            inside = codes >= 0
            have = np.bincount(codes[inside], weights=counts[inside], minlength=len(target))
            off.append(target - have.astype(np.int64))
        seed = np.array([rng.integers(1, 1 << 62)], np.uint64)
        _mend(
            counts,
            laws.low,
            laws.start,
            laws.p,
            self.codes,
            self.offset,
            np.concatenate(off),
            self.indptr,
            self.members,
            seed,
        )


@compiled
def _quantiles(low: Ints, start: Ints, p: Floats, share: Floats, /) -> Ints:
    """The least count of each law that has at least a share of it at or below."""
    found = np.empty(len(low), np.int64)
    for i in range(len(low)):
        k, below = start[i], p[start[i]]
        while k < start[i + 1] - 1 and below < share[i]:
            k += 1
            below += p[k]
        found[i] = low[i] + k - start[i]
    return found


@compiled
def _uniform(state: NDArray[np.uint64], /) -> float:
    """The next number between 0 and 1 of a xorshift generator."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return float(x >> np.uint64(11)) / 9007199254740992.0


@compiled
def _worse(i: int, step: int, codes: Ints, offset: Ints, off: Ints, /) -> int:
    """By how much the squares of what sums are off by grow when a count takes a step."""
    found = 0
    for q in range(len(codes)):
        if codes[q, i] >= 0:
            found += 1 - 2 * step * off[offset[q] + codes[q, i]]
    return found


@compiled
def _mend(
    counts: Ints,
    low: Ints,
    start: Ints,
    p: Floats,
    codes: Ints,
    offset: Ints,
    off: Ints,
    indptr: Ints,
    members: Ints,
    state: NDArray[np.uint64],
    /,
) -> None:
    """Single steps towards the sums that are wanted, each taken as likely as the cell's law has it."""
    for _ in range(_ROUNDS):
        left = 0
        for g in range(len(off)):
            a, b = indptr[g], indptr[g + 1]
            tries, most = 0, 20 + (b - a) + 12 * abs(off[g])
            while b > a and off[g] != 0 and tries < most:
                tries += 1
                i = members[a + int(_uniform(state) * (b - a))]
                step = 1 if off[g] > 0 else -1
                at = start[i] + counts[i] - low[i]
                if at + step < start[i] or at + step >= start[i + 1]:
                    continue
                worse = _worse(i, step, codes, offset, off)
                chance = p[at + step] / p[at] if p[at] > 0 else 1.0
                if _uniform(state) < chance * np.exp(-0.5 * max(worse, 0)):
                    counts[i] += step
                    for q in range(len(codes)):
                        if codes[q, i] >= 0:
                            off[offset[q] + codes[q, i]] -= step
            left += abs(off[g])
        if left == 0:
            break
