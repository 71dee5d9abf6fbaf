"""Tables of very many cells under totals with noise of their own: learnt from all of them, worked out block by block.

*Learnt once, from everything:* the profile of each part (which place is busy when), how many shown values exceed their counts by, and whether a learnt law may be trusted. With millions of cells all of it
is known with next to no error, and is held.

*Worked out when asked for:* given a profile, cells that share no total say nothing of each other. A *slab* is all cells that agree in every dimension that all margins have (a mode, a direction, a day); some slabs of
one part, drawn at random, make a *block* of some hundred thousand cells, which a `Posterior` of its own works out. Each cell is in one block, whoever asks, so that it has one law.
What cells of several blocks err together, by levels of what they were predicted from, is added.

*Questions that touch more blocks than can be worked out* are answered by rows, profiles and records (`many_cells`).

An assessment looks at such blocks, too, and says so (`looked_at`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.inference.block_map import BlockMap
from noisegate.inference.evidence import Evidence, Population
from noisegate.inference.hidden import ShownTotals
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import Bools, Flat, Floats, Ints, NegativeBinomial, Prior
from noisegate.inference.many_cells import SumsOfMany
from noisegate.inference.posterior import CellMoments, Posterior, placed
from noisegate.inference.profile.profile import ProfileFit
from noisegate.inference.profile.sum_law import Beside
from noisegate.inference.trial import FitCheck, against_totals, settled
from noisegate.inference.uncertainty import ByValues, CellErrors, SumSpread, SumWord, withdraw
from noisegate.tables import compact, numbers_in

#: Blocks that are worked out at the same time: most of the work runs without the interpreter's lock.
_THREADS = 2
_BESIDE = tuple(one.name for one in fields(Beside))
#: A block is this part of what an assessment looks at, or one slab.
_BLOCKS_LOOKED_AT = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PartFit:
    """The profile of a part: its cells that could hold something, what they are predicted from, and how."""

    cells: NDArray[np.int32]
    effects: tuple[NDArray[np.integer], ...]
    fit: ProfileFit

    def at(self, cells: Ints, /) -> tuple[list[Ints], ProfileFit]:
        """The same of some of its cells."""
        at = np.searchsorted(self.cells, cells)
        fit = replace(self.fit, mean=self.fit.mean[at], shape=self.fit.shape[at], logs=None)
        return [codes[at].astype(np.int64) for codes in self.effects], fit


@dataclass(slots=True, kw_only=True, eq=False)
class BlockPosterior:
    """What is known of every cell and sum of very many; `whole` is what all of them tell, and is never worked out itself.

    `laws_of_noise` is how many laws and scales of noise are averaged over: the more, the fewer cells are looked at.
    """

    whole: Posterior
    blocks: BlockMap
    laws_of_noise: int = 1
    _fits: dict[int, _PartFit] = field(default_factory=dict)
    _worked_out: dict[int, Posterior] = field(init=False, default_factory=dict)
    _populations: dict[int, Population | None] = field(init=False, default_factory=dict)
    _many: SumsOfMany = field(init=False)

    def __post_init__(self) -> None:
        self._many = SumsOfMany(engine=self)

    @classmethod
    def of(cls, whole: Posterior, /, *, laws_of_noise: int = 1) -> BlockPosterior | None:
        """The engine for what a posterior of all cells would take too long for; None where cells cannot be told apart."""
        allowed = limits.current()
        told = whole.errors.totals.margins
        if not whole.knows_sums or not told:
            return None
        found = BlockMap.of(whole, most=max(1, allowed.looked_cells // _BLOCKS_LOOKED_AT))
        return None if found is None else cls(whole=whole, blocks=found, laws_of_noise=laws_of_noise)

    @property
    def evidence(self) -> Evidence:
        """All that speaks about the cells."""
        return self.whole.evidence

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.whole.size

    @property
    def knows_sums(self) -> bool:
        """Whether it knows how unsure the means of cells are: it was learnt, so it does."""
        return True

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""
        return False

    @property
    def looked_at(self) -> list[Ints]:
        """The cells of each block that is looked at where not all can be, drawn at random."""
        return [self.blocks.cells[block].astype(np.int64) for block in self.drawn()]

    def drawn(self) -> list[int]:
        """The blocks that are looked at where not all can be, drawn at random."""
        return self.blocks.drawn(limits.current().looked_cells // self.laws_of_noise)

    def fit(self, part: int, /) -> _PartFit:
        """The profile of a part, learnt from all of its cells."""
        found = self._fits.get(part)
        if found is None:
            cells = np.flatnonzero(self.whole.part_of == part)
            cells = cells[self.whole.live(cells)]
            effects, fit = self.whole.fitted(part, cells)
            found = self._fits[part] = _PartFit(
                cells=cells.astype(np.int32),
                effects=tuple(one.astype(np.min_scalar_type(int(one.max(initial=0)))) for one in effects),
                fit=fit,
            )
        return found

    def learn(self, parts: Sequence[int], /) -> None:
        """Learn the profiles of some parts, two at a time."""
        missing = [part for part in parts if part >= 0 and part not in self._fits]
        _ = self.evidence.excess  # once, not by each of them
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            for done, _ in enumerate(pool.map(self.fit, missing), 1):
                self.whole.report("learning how counts vary", done, len(missing))

    def _population(self, part: int, /) -> Population | None:
        """What all cells of a part tell of how many hidden ones hold 0, 1, 2 ..."""
        if part not in self._populations:
            self._populations[part] = self.evidence.population(self.fit(part).cells.astype(np.int64))
        return self._populations[part]

    def _block(self, number: int, /) -> Posterior:
        """One block, worked out."""
        found = self._worked_out.get(number)
        if found is None:
            cells, part = self.blocks.cells[number].astype(np.int64), self.blocks.part[number]
            evidence = self.evidence.block(cells)
            evidence.learn_from(self.evidence, None if part < 0 else self._population(part))
            whole = self.whole
            found = Posterior(evidence=evidence, attacker=whole.attacker, _trust=whole.trust)
            if part >= 0:
                effects, fit = self.fit(part).at(cells[whole.live(cells)])
                found.effects[0], found.fits[0], found.wide = effects, fit, True
            found.prepare()
            self._worked_out[number] = found
        return found

    def work_out(self, numbers: Sequence[int], /) -> list[Posterior]:
        """Some blocks, worked out, two at a time."""
        self.whole.judge(np.concatenate([self.blocks.cells[number] for number in numbers]).astype(np.int64))
        self.learn(sorted({self.blocks.part[number] for number in numbers}))
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            found = []
            for done, one in enumerate(pool.map(self._block, numbers), 1):
                self.whole.report("working out what is missing", done, len(numbers))
                found.append(one)
        return found

    def _touched(self, cells: Ints, /) -> list[tuple[int, Ints, Ints]]:
        """The blocks that some cells are in, with the places of these among the cells, and their numbers in the block."""
        block = self.blocks.block_of[cells]
        order = np.argsort(block, kind="stable")
        found = []
        for number in numbers_in(block).tolist():
            first, last = np.searchsorted(block[order], [number, number + 1])
            places = order[first:last]
            found.append((number, places, np.searchsorted(self.blocks.cells[number], cells[places])))
        return found

    def laws(self, cells: Ints, /) -> Pmfs:
        """The laws of some cells."""
        pieces, order = [], []
        for number, places, local in self._touched(cells):
            pieces.append(self._block(number).laws(local))
            order.append(places)
        return Pmfs.joined(pieces).take(np.argsort(np.concatenate(order)))

    def prior(self, cells: Ints, /) -> Prior:
        """What was believed of some cells beforehand."""
        pieces = []
        self.work_out(numbers_in(self.blocks.block_of[cells]).tolist())
        for number, places, local in self._touched(cells):
            held = self._block(number).prior(local)
            if isinstance(held, Flat):
                return held
            if isinstance(held, NegativeBinomial):
                pieces.append((places, held))
        return placed(pieces, len(cells))

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell that is looked at; all others are as if nothing were known of them."""
        return self._looked(level, lambda one: one.cells(level))

    def alone(self, level: float, /) -> CellEstimates:
        """The same under the same beliefs, from the record of each cell alone."""
        return self._looked(level, lambda one: one.alone(level))

    def _looked(self, level: float, ask: Callable[[Posterior], CellEstimates], /) -> CellEstimates:
        found = CellEstimates.empty(self.size, level=level)
        found.exact[:] = False
        said = []
        for number, block in zip(self.drawn(), self.work_out(self.drawn()), strict=True):
            said.append(ask(block))
            cells = self.blocks.cells[number]
            for mine, theirs in zip(found.arrays, said[-1].arrays, strict=True):
                mine[cells] = theirs
        return found.judged(
            iterations=max(one.iterations for one in said),
            change=max(one.change for one in said),
            unsettled=sum(one.unsettled for one in said),
        )

    def moments(self) -> CellMoments:
        """Mean and standard deviation of every cell that is looked at."""
        mean, sd = np.zeros(self.size), np.zeros(self.size)
        said = []
        for number, block in zip(self.drawn(), self.work_out(self.drawn()), strict=True):
            said.append(block.moments())
            cells = self.blocks.cells[number]
            mean[cells], sd[cells] = said[-1].mean, said[-1].sd
        return CellMoments(
            mean=mean,
            sd=sd,
            iterations=max(one.iterations for one in said),
            change=max(one.change for one in said),
            unsettled=sum(one.unsettled for one in said),
        )

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to; cell k is in group `groups[k]`."""
        live = self.whole.live(cells)
        cells, groups = cells[live], groups[live]
        touched = numbers_in(self.blocks.block_of[cells]).tolist()
        many = sum(len(self.blocks.cells[block]) for block in touched)
        trust = self.whole.judge(cells)
        if many * self.laws_of_noise > limits.current().looked_cells:
            found, surest = self._many.estimates(cells, groups, size, level), self._many.spread
        else:
            self.work_out(touched)
            found = self._word(cells, groups, size).estimates(cells, groups, self.laws, level=level)
            surest = lambda *asked: self._word(*asked).surest  # noqa: E731
        if trust is None or trust.holds:
            return found
        return withdraw(self.whole.errors, found, cells, groups, surest=surest)

    def _word(self, cells: Ints, groups: Ints, size: int, /) -> SumWord:
        """What all blocks together say of sums."""
        said: list[tuple[Ints, SumWord]] = []
        levels: list[_LevelMoves] = []
        several = self._in_several(cells, groups, size)
        for number, places, local in self._touched(cells):
            some, group = compact(groups[places])
            block, part = self._block(number), self.blocks.part[number]
            said.append((some, block.word(local, group, len(some))))
            if part >= 0 and several[groups[places]].any():
                levels.append(
                    _LevelMoves(
                        part=part,
                        block=len(said) - 1,
                        groups=groups[places],
                        local=local,
                        errors=block.errors,
                        effects=len(self.fit(part).effects),
                    )
                )

        def added(of: Callable[[SumWord], Floats]) -> Floats:
            found = np.zeros(size)
            for some, one in said:
                found[some] += of(one)
            return found

        def together(of: Callable[[SumWord], SumSpread]) -> SumSpread:
            more = _between_blocks(levels, [(some, of(one).shared) for some, one in said], size)
            # Of sums over several blocks that any of their rows is nothing like the law is one kind of error among others.
            summed = SumSpread.plain(
                added(lambda one: of(one).centre),
                added(lambda one: of(one).variance) + more,
                shared=added(lambda one: of(one).shared) + more,
                third=added(lambda one: of(one).third),
                fourth=added(lambda one: of(one).fourth),
            )
            beside = {name: added(partial(_of_beside, of, name)) for name in _BESIDE}
            own = replace(
                summed,
                mean=added(lambda one: of(one).mean),
                own=added(lambda one: of(one).own),
                beside=Beside(**beside),
            )
            return summed.where(several, own)

        return SumWord(
            mean=added(lambda one: one.mean),
            alone=added(lambda one: one.alone),
            spread=together(lambda one: one.spread),
            surest=together(lambda one: one.surest),
            only_hidden=~several & (added(lambda one: one.only_hidden.astype(np.float64)) > 0),
            values=ByValues(
                away=added(lambda one: one.values.away),
                noise=added(lambda one: one.values.noise),
                doubt=added(lambda one: one.values.doubt),
            ),
            split=added(lambda one: one.split),
        )

    def _in_several(self, cells: Ints, groups: Ints, size: int, /) -> Bools:
        """Which groups have cells in several blocks."""
        block = self.blocks.block_of[cells].astype(np.int64)
        first = np.full(size, -1, np.int64)
        first[groups] = block
        return np.bincount(groups, weights=first[groups] != block, minlength=size) > 0

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known."""
        numbers = list(range(len(self.blocks.cells)))
        if cells is not None:
            numbers = numbers_in(self.blocks.block_of[cells]).tolist()
        samplers = [block.samplers() for block in self.work_out(numbers)]
        sizes = {
            part: [int(codes.max(initial=0)) + 1 for codes in self.fit(part).effects]
            for part in sorted({self.blocks.part[number] for number in numbers} - {-1})
        }
        for _ in range(n):
            together = rng.standard_normal(2)
            levels = {part: [rng.standard_normal(size) for size in some] for part, some in sizes.items()}
            counts = np.zeros(self.size, np.int64)
            for number, some in zip(numbers, samplers, strict=True):
                for one in some:
                    drawn = one.draw(rng, together, levels=levels.get(self.blocks.part[number], ()))
                    counts[self.blocks.cells[number][one.cells]] = drawn
            yield counts if cells is None else counts[cells]

    def under(self, evidence: Evidence, /) -> BlockPosterior:
        """What would be known under other noise, what was learnt and how far it is trusted held as they are."""
        self.whole.judge(np.arange(self.size))
        return self._beside(evidence)

    def without(self, *tables: str) -> BlockPosterior:
        """What would be known without some tables, what was learnt held as it is."""
        return self._beside(self.evidence.without(*tables))

    def _beside(self, evidence: Evidence, /) -> BlockPosterior:
        whole, errors = copy.copy(self.whole), self.whole.errors
        whole.evidence = evidence
        whole.errors = CellErrors(
            evidence=evidence,
            totals=ShownTotals(evidence=evidence),
            part_of=errors.part_of,
            unit_of=errors.unit_of,
            same=errors.same,
        )
        return BlockPosterior(
            whole=whole, blocks=self.blocks, laws_of_noise=self.laws_of_noise, _fits=self._fits
        )

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What it found when it tried itself on the tables: on all of them, and on the blocks that were worked out, if any were."""
        worked_out, whole = list(self._worked_out.values()), self.whole
        if not worked_out:
            return (*whole.heard, *(() if whole.trust is None else (whole.trust.check,)))
        unsettled = np.sum([one.unsettled for one in worked_out], axis=0)
        found = settled(unsettled=int(unsettled[0]), cells=int(unsettled[1]))
        beside = [one for block in worked_out for one in block.beside]
        held, trust = whole.held_out(), whole.trust
        tried = tuple(one.check for one in (held, trust) if one is not None)
        if trust is not None and trust.beside is not None:
            tried = (*tried, trust.beside)
        return (found, *self.whole.heard, *against_totals(beside), *tried)


def _of_beside(of: Callable[[SumWord], SumSpread], name: str, word: SumWord, /) -> Floats:
    return np.asarray(getattr(of(word).beside, name))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LevelMoves:
    """Cells of one block that are in sums, and how levels of what they were predicted from move them."""

    part: int
    block: int
    groups: Ints
    local: Ints
    errors: CellErrors
    effects: int

    def of(self) -> Iterator[tuple[tuple[int, int], Ints, Floats]]:
        """For each error that other blocks have too its name, the level of each cell, and how far it moves the cell."""
        shared = self.errors.shared[0]
        for number in range(self.effects):
            yield (
                (self.part, number),
                shared.codes[number][self.local].astype(np.int64),
                shared.moves[number][self.local].astype(np.float64),
            )
        none = np.zeros(len(self.local), np.int64)
        yield (-1, 0), none, self.errors.common_moves(self.local)
        yield (-1, 1), none, self.errors.unseen_moves(self.local)


def _between_blocks(
    levels: Sequence[_LevelMoves], shared: Sequence[tuple[Ints, Floats]], size: int, /
) -> Floats:
    """What sums over several blocks vary by more because blocks err together, if what each errs by is divided among levels as it is before totals have their say."""
    if not levels:
        return np.zeros(size)
    moved: dict[tuple[int, int], list[tuple[int, Ints, Ints, Floats]]] = {}
    raw = np.zeros((len(levels), size))
    for block, one in enumerate(levels):
        for name, codes, moves in one.of():
            span = int(codes.max(initial=0)) + 1
            keys, place = compact(one.groups * span + codes)
            sums = np.bincount(place, weights=moves, minlength=len(keys)).astype(np.float64)
            group, level = np.divmod(keys, span)
            raw[block] += np.bincount(group, weights=sums**2, minlength=size)
            moved.setdefault(name, []).append((block, group, level, sums))
    held = np.zeros((len(levels), size))
    for block, one in enumerate(levels):
        some, variance = shared[one.block]
        held[block, some] = variance
    scale = np.sqrt(np.maximum(held, 0.0) / np.maximum(raw, 1e-12))
    scale = np.where(raw > 0, np.minimum(scale, 1.0), 0.0)
    found = np.zeros(size)
    for pieces in moved.values():
        if len(pieces) > 1:
            group, level = (np.concatenate([one[k] for one in pieces]) for k in (1, 2))
            sums = np.concatenate([scale[block, mine] * one for block, mine, _, one in pieces])
            span = int(level.max(initial=0)) + 1
            keys, place = compact(group * span + level)
            joint = np.bincount(place, weights=sums) ** 2 - np.bincount(place, weights=sums**2)
            found += np.bincount(keys // span, weights=joint, minlength=size)
    return np.maximum(found, 0.0)
