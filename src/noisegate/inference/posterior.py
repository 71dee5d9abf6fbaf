"""What is known of every cell of a published table, and of sums of cells, worked out piece by piece when it is asked for.

`assess` and `query` hand the same evidence to the same engine and so read the same numbers: the mean of a sum is the
sum of the means of its cells, always.

A *part* is what a profile of counts is fitted to (`Roles`); a *unit* is the parts that tables and equal counts tie to each
other, and is solved at once. The laws of its cells come from `linked.infer`, or, where a unit is large or nothing ties
its cells, from `cell_laws`. Which of the two it is depends on the evidence alone, never on who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError
from noisegate.inference.anchor import Anchor, KeptLaws
from noisegate.inference.division import Divided, Division, divided, division_check
from noisegate.inference.draws import CellSampler, LevelErrors, TiedSums
from noisegate.inference.evidence import Evidence
from noisegate.inference.hidden import ShownTotals
from noisegate.inference.linked.fit import fit_levels
from noisegate.inference.linked.inference import Options, infer
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import (
    Bools,
    Flat,
    Floats,
    Humps,
    Ints,
    NegativeBinomial,
    Prior,
    components,
)
from noisegate.inference.profile.humps import (
    MOST_SEEN,
    HiddenWidth,
    HumpFit,
    RivalWord,
    fit_humps,
    rivals_say,
)
from noisegate.inference.profile.profile import CellLaws, ProfileFit, cell_laws, fit_profile, suits
from noisegate.inference.profile.sum_law import SharedError
from noisegate.inference.roles import Roles, group_and_day
from noisegate.inference.trial import (
    FitCheck,
    HeldOut,
    HeldOutCheck,
    LawBeside,
    Retold,
    Trust,
    ValueWindow,
    against_totals,
    judge_held_out,
    law_off,
    settled,
    shapes,
    some_parts,
    tried,
    without_remainders,
)
from noisegate.inference.uncertainty import ByValues, CellErrors, SumSpread, SumWord, widen_cells, withdraw
from noisegate.tables import numbers_in, summed

#: Who asks: the *informed* one, and every analyst, learns a profile from all tables, which place is busy when and how alike days are. The
#: *minimal* one takes each day by itself and knows only the levels of the totals that were published; with no totals, nothing.
Attacker = Literal["minimal", "informed"]
#: Called with what is being done, and how far it is.
Report = Callable[[str, int, int], None]

#: Units that are worked out at the same time: most of the work runs without the interpreter's lock.
_THREADS = 2
#: Linked units of at most this many cells pass messages between tables; for more only what wide sums say is used.
FEW_CELLS = 100_000
#: Estimates of cells are written this many at a time.
_AT_ONCE = 100_000
#: How units are solved.
_SOLVE = Options(threads=1)
#: Of units with more cells than this, totals that take more multiplications than so many pass messages too: 100,000 cells under 2,000 totals took 19 s, six times as long as under two margins, and take 0.7.
_MANY_CELLS, _EXACT_OF_MANY = 20_000, 1e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Unit:
    """Cells that were solved together, ascending, and how."""

    cells: Ints
    fits: tuple[tuple[NDArray[np.int32], ProfileFit], ...]
    levels: Prior | None
    laws: CellLaws | KeptLaws
    exact: Bools
    sweeps: int
    change: float
    unsettled: int

    @property
    def prior(self) -> Prior:
        """What was believed of its cells beforehand."""
        return _joined(self.fits, len(self.cells)) if self.levels is None else self.levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """Cells of one fit: the unit they were solved in, and their places there."""

    unit: _Unit
    places: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellMoments:
    """Mean and standard deviation of every cell; for the rest see `CellEstimates`."""

    mean: Floats
    sd: Floats
    iterations: int
    change: float
    unsettled: int


@dataclass(slots=True, kw_only=True, eq=False)
class Posterior:
    """The laws of all cells, as an attacker knows them, and of sums of them.

    `prepare` works out the units of some cells; `cells` and `sums` do it themselves. With `plain` counts have one hump around their intensities, whatever they look like.
    `heard` is what margins said of each other, if they were `asked` already. `effects` are what the cells of a part are predicted from, where its fit is of more cells than these; `wide` says that they are some of a part whose sums are over very many cells.
    """

    evidence: Evidence
    attacker: Attacker = "informed"
    report: Report = lambda _what, _done, _all: None
    plain: bool = False
    errors: CellErrors = field(init=False)
    unit_of: Ints = field(init=False)
    fits: dict[int, ProfileFit] = field(default_factory=dict)
    held: dict[int, Prior] = field(default_factory=dict)
    effects: dict[int, list[Ints]] = field(default_factory=dict)
    wide: bool = False
    _parts: dict[int, _Part] = field(init=False, default_factory=dict)
    _samplers: dict[int, CellSampler] = field(init=False, default_factory=dict)
    _trust: Trust | None = None
    heard: tuple[FitCheck, ...] = ()
    asked: bool = False
    beside: list[LawBeside] = field(init=False, default_factory=list)
    divisions: list[Division] = field(init=False, default_factory=list)
    _window: ValueWindow | None = field(init=False, default=None)
    _held: dict[int, HeldOut] = field(init=False, default_factory=dict)
    _some: Ints | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if not self.asked:
            self.evidence, self.heard = without_remainders(self.evidence)
        part_of, self.unit_of = _split(self.evidence)
        totals, same = ShownTotals(evidence=self.evidence), representatives(self.evidence)
        self._window = ValueWindow.of(self.evidence.base.mechanism) if self.knows_sums else None
        self.errors = CellErrors(
            evidence=self.evidence, totals=totals, part_of=part_of, unit_of=self.unit_of, same=same
        )

    def __getstate__(self) -> dict[str, Any]:
        """All that was worked out; not who is told how far it is, nor what draws, which is known by where it lies in memory."""
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        return kept | {"report": None, "_samplers": {}}

    def __setstate__(self, kept: dict[str, Any], /) -> None:
        for name, value in kept.items():
            setattr(self, name, value)
        self.report = lambda _what, _done, _all: None

    @property
    def trust(self) -> Trust | None:
        """How far the learnt law may be trusted where no total speaks; None if nobody has asked."""
        return self._trust

    @property
    def worked_out(self) -> int:
        """How many of its parts were worked out so far."""
        return len(self._parts)

    @property
    def mean(self) -> Floats:
        """What each cell is expected to hold, of those that were worked out."""
        return self.errors.mean

    @property
    def knows_sums(self) -> bool:
        """Whether how cells err together is part of it: only a profile tells, and many small cells add up to what no flat prior knows."""
        return self.attacker == "informed"

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""
        self.prepare()
        return all(isinstance(unit.levels, Flat) for unit in self._units())

    @property
    def looked_at(self) -> list[Ints] | None:
        """None: it looks at all cells."""
        return None

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.mean)

    @property
    def part_of(self) -> NDArray[np.int32]:
        """The part of each cell: what a profile is fitted to by itself."""
        return self.errors.part_of

    def prepare(self, cells: Ints | None = None, /) -> None:
        """Work out every unit that these cells touch, or every one, if it is not there yet; with all of them also what every sum needs."""
        touched = np.arange(len(self.unit_of)) if cells is None else numbers_in(self.part_of[cells])
        missing = np.unique(self.unit_of[[part for part in touched.tolist() if part not in self._parts]])
        if not missing.size:
            return
        units = self._members(missing)
        largest = max(len(unit) for unit in units)
        most = limits.current().fitted_cells
        if largest > most:
            raise DataError(
                f"the question touches {largest:,} cells that must be fitted together, at most "
                f"{most:,} are allowed; this release is too fine for intervals of sums with missing rows."
            )
        self.report("working out what is missing", 0, len(units))
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            for done, _ in enumerate(pool.map(self._work_out, units), 1):
                self.report("working out what is missing", done, len(units))
        if cells is None and self.knows_sums:
            # Else the first sum would wait for it.
            self.judge(np.arange(self.size))
            for margin in self.errors.totals.margins:
                self.errors.misfit(margin)

    def _members(self, units: Ints, /) -> list[Ints]:
        """The cells of each unit, ascending."""
        number = np.full(int(self.unit_of.max()) + 1, -1)
        number[units] = np.arange(len(units))
        unit = number[self.unit_of[self.part_of]]
        order = np.argsort(unit, kind="stable")
        starts = np.searchsorted(unit[order], np.arange(len(units) + 1))
        return [order[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]

    def _work_out(self, cells: Ints, /) -> None:
        """Fit every part of a unit, and solve it."""
        if not self.knows_sums:
            self._work_out_levels(cells)
            return
        part_of = self.part_of[cells]
        live = self.live(cells)
        fits = [
            (part, *self.fitted(part, cells[places]), places)
            for part in numbers_in(part_of[live]).tolist()
            for places in [np.flatnonzero(live & (part_of == part)).astype(np.int32)]
        ]
        known = tuple((places, fit) for _, _, fit, places in fits)
        errors = self.errors
        for places, fit in known:
            errors.loose[cells[places]] = np.nan if fit.loose is None else fit.loose
        unit, level = self._anchored(self._solved(cells, known, None))
        ways = self._divided(unit)
        found = unit.laws
        if ways is not None:
            self.divisions.append(ways.about)
            found = ways.laws
        unit = replace(unit, laws=found)
        share, in_rows, doubt = self._tighter(unit, found.variance)
        errors.moments(cells, found.mean, share * found.variance, share**1.5 * found.third)
        errors.in_rows[cells] = in_rows / share
        if doubt.any():
            errors.width_doubt[cells] = doubt
        unit = replace(unit, laws=found.without_moments())
        for part, effects, fit, places in fits:
            shared = SharedError.of(
                effects, own=fit.own, common=fit.common, prior=fit.prior, variance=found.variance[places]
            )
            shared = shared.beside(level[places])
            if ways is not None:
                for way in ways.moves:
                    shared = shared.beside(way[places], within=ways.listed)
            mine = cells if len(places) == len(cells) else cells[places]
            errors.note(part, mine, shared)
            self._parts[part] = _Part(unit=unit, places=places)

    def _tighter(self, unit: _Unit, variance: Floats, /) -> tuple[Floats, Floats, Floats]:
        """What each cell adds to how sums vary, and to how whole rows do, as a share of the variance of its law, and how unsure the variance is that it adds, which all cells are alike: of what the law says of counts that hardly vary, not of cells that may stray from it.

        That hidden counts may vary more than shown ones do, as these are near a capacity, is said of cells and of parts of rows: by how much whole rows stray they say themselves (`RowMisfit`).
        """
        found, in_rows, doubt = np.ones(len(unit.cells)), np.ones(len(unit.cells)), np.zeros(len(unit.cells))
        hidden = np.isnan(self.evidence.base.values[unit.cells])
        for places, fit in unit.fits:
            if fit.humps is not None and fit.humps.tight:
                some = places[hidden[places]]
                if some.size:
                    mechanism, tighter = self.evidence.base.mechanism, fit.humps.tighter
                    one = HiddenWidth.of(fit.humps, fit.mean[hidden[places]], mechanism)
                    more = one.capped * np.maximum(one.wide - one.narrow, 0.0)
                    less, whole = (1 - tighter) * one.narrow, np.maximum(variance[some], one.narrow + more)
                    whole = np.maximum(whole, 1e-12)
                    found[some] = 1 - (1 - one.capped) * less / whole
                    in_rows[some] = 1 - (less + more) / whole
                    doubt[some] = fit.humps.tighter_sd * one.narrow
        return found, in_rows, doubt

    def _work_out_levels(self, cells: Ints, /) -> None:
        """Solve a unit under the levels of its totals: what cells err together is not known then."""
        evidence = self.evidence
        law = self.held.get(int(cells[0])) or fit_levels(
            evidence.problem(cells), groups=group_and_day(evidence.layout, cells)
        )
        self.held[int(cells[0])] = law
        unit = self._solved(cells, (), law)
        errors, found = self.errors, unit.laws
        errors.moments(cells, found.mean, found.variance, found.third)
        unit = replace(unit, laws=found.without_moments())
        part_of = self.part_of[cells]
        for part in numbers_in(part_of).tolist():
            places = np.flatnonzero(part_of == part).astype(np.int32)
            errors.note(part, cells[places], SharedError.none(len(places)))
            self._parts[part] = _Part(unit=unit, places=places)

    def _anchored(self, unit: _Unit, /) -> tuple[_Unit, Floats]:
        """The unit with hidden cells that add up to what shown totals leave for them, and how far the error of that moves each cell."""
        evidence = self.evidence
        within = all(evidence.roles.serves(margin.where.labels) for margin in self.errors.totals.margins)
        parts = self.part_of[unit.cells].astype(np.int64) if within else np.zeros(len(unit.cells), np.int64)
        humps = any(fit.humps is not None for _, fit in unit.fits)
        anchor = Anchor(
            totals=self.errors.totals,
            cells=unit.cells,
            parts=parts,
            free=self._free(unit.cells),
            humps=humps,
            loose=self.errors.loose[unit.cells],
            intensity=self._intensity(unit),
            share=self._tighter(unit, unit.laws.variance)[1],
        )
        found = anchor.hold(unit.laws)
        self.beside += found.beside
        if self.errors.totals.margins:
            errors = self.errors
            errors.crossed[unit.cells], errors.crossed_doubt[unit.cells] = anchor.crossed(found.laws)
        return replace(unit, laws=found.laws), found.moves

    def _divided(self, unit: _Unit, /) -> Divided | None:
        """The laws of a unit, rows of which little is shown divided in all ways that they may be, if some cells are not told by several margins."""
        totals = self.errors.totals
        if not (totals.alone or (totals.margins and self.errors.lacking(unit.cells).any())):
            return None
        mean, shape, dispersion = np.ones((3, len(unit.cells)))
        for places, fit in unit.fits:
            # By all cells: what others say of a hidden cell is more than of a shown one beside it, as its own record is left out.
            mean[places] = fit.mean if fit.logs is None else np.exp(fit.logs)
            shape[places], dispersion[places] = fit.shape, fit.dispersion
        return divided(
            self.evidence,
            totals.margins,
            unit.laws,
            cells=unit.cells,
            free=self._free(unit.cells),
            intensity=mean,
            shape=shape,
            dispersion=dispersion,
        )

    def _free(self, cells: Ints, /) -> Bools:
        """Which of these cells could hold something, and do not hold the count of another."""
        free, same = self.live(cells), self.errors.same
        return free if same is None else free & (np.bincount(same)[same[cells]] == 1)

    def _intensity(self, unit: _Unit, /) -> Floats:
        """The intensities of cells of which totals alone tell them, NaN for others."""
        found = np.full(len(unit.cells), np.nan)
        for places, fit in unit.fits:
            if fit.loose is not None:
                found[places] = fit.mean
        return found

    def live(self, cells: Ints, /) -> Bools:
        """Which of these cells could hold something."""
        zero = self.evidence.zero
        return np.ones(len(cells), bool) if zero is None else ~zero[cells]

    def fitted(self, part: int, cells: Ints, /) -> tuple[list[Ints], ProfileFit]:
        """What the cells of a part are predicted from, and how; a fit that is there already stays."""
        evidence, roles = self.evidence, self.evidence.roles
        effects = self.effects.get(part)
        if effects is None:
            effects = roles.effects(evidence.layout, cells)
        if part not in self.fits:
            fit = fit_profile(
                evidence.base.values[cells],
                effects,
                mechanism=evidence.base.mechanism,
                mains=roles.mains(effects),
                remainders=evidence.left_over(cells),
                kinds=self._told_alone(cells, effects),
            )
            if fit.by_kind:
                effects = self.effects[part] = list(fit.by_kind)
            held = self._held[part] = HeldOut.of(evidence.base.values[cells], fit.prior, self._window)
            prior = held.widened(fit.prior)
            found, loose = self._humps(cells, prior, fit.logs)
            mean, humps = (prior.mean, None) if found is None else (found.mean, found.humps)
            odd = judge_held_out([held])
            self.fits[part] = replace(
                fit,
                mean=mean,
                shape=prior.shape,
                humps=humps,
                loose=loose,
                logs=None if self._large(cells) else fit.logs,
                by_kind=(),
                odd=odd is not None and not odd.holds,
            )
        return effects, self.fits[part]

    def _large(self, cells: Ints, /) -> bool:
        """Whether cells that are solved together are so many that what wide sums say of each is enough: not of exact sums, of which what is not known is few and hangs on each other."""
        return self.wide or (len(cells) > FEW_CELLS and self._noisy)

    @property
    def _noisy(self) -> bool:
        """Whether all tables have noise."""
        return self.evidence.base.noise > 0 and all(margin.noise > 0 for margin in self.evidence.margins)

    def _told_alone(self, cells: Ints, effects: Sequence[Ints], /) -> int | None:
        """Which of the effects is that of rows that alone have totals; None if there is none such."""
        totals = self.errors.totals
        if not totals.alone:
            return None
        row = max(totals.margins, key=lambda one: len(one.where.labels)).where.of(cells)
        for place, codes in enumerate(effects):
            _, first, at = np.unique(codes, return_index=True, return_inverse=True)
            if len(first) > 1 and (row[first][at] == row).all() and len(np.unique(row)) == len(first):
                return place
        return None

    def _humps(
        self, cells: Ints, prior: NegativeBinomial, logs: Floats | None, /
    ) -> tuple[HumpFit | None, Floats | None]:
        """Humps that counts of a part have around their intensities, as far as totals tell what hidden cells hold; and how loose intensities are that totals alone tell."""
        if self.plain or self._large(cells):
            return None, None
        values, totals = self.evidence.base.values[cells], self.errors.totals
        rows = [totals.left_in(margin, cells, np.isnan(values)) for margin in totals.margins]
        told = totals.raked(cells, prior.mean) if totals.tell_intensities else None
        found = fit_humps(
            values,
            prior,
            mechanism=self.evidence.base.mechanism,
            rows=rows,
            departs=self._departs(cells),
            told=told,
        )
        if found is None or not found.told or logs is None:
            return found, None
        # Laws are judged by what other cells say of each: what all say has its own value in it.
        raked = totals.raked(cells, np.exp(logs))
        return replace(found, mean=raked.mean), raked.doubt

    def _departs(self, cells: Ints, /) -> Callable[[Floats], Floats] | None:
        """By which log-ratio the tables tell more cells of 0, 1, 2, ... than a histogram of all cells of a part has; None if they do not."""
        selection, told = self.evidence.selection, self.evidence.population(cells)
        if selection is None or told is None:
            return None

        def found(believed: Floats) -> Floats:
            grown = np.zeros(selection.size + 1)
            size = min(len(believed), len(grown))
            grown[:size] = believed[:size]
            grown[-1] += believed[size:].sum()
            return selection.departure(grown, told.values, hidden=len(told.hidden), total=told.total)

        return found

    def _solved(
        self, cells: Ints, fits: tuple[tuple[NDArray[np.int32], ProfileFit], ...], levels: Prior | None, /
    ) -> _Unit:
        """The laws of the cells of one unit, given the fits of its parts, or levels."""
        evidence, prior = self.evidence, _joined(fits, len(cells)) if levels is None else levels
        large, usable = self._large(cells), evidence.base.usable
        every = usable is None or (large and bool(usable[cells].all()))
        plain = suits(evidence.base.mechanism) and evidence.zero is None and every
        plain &= self._noisy
        tied = evidence.equal_among(cells).size > 0
        alone = not evidence.margins and not tied
        if (
            isinstance(prior, NegativeBinomial)
            and plain
            and (alone or (large and not tied and self._one_part(cells)))
        ):
            laws = cell_laws(
                evidence.base.values[cells],
                mechanism=evidence.base.mechanism,
                prior=prior,
                sums=[] if alone else evidence.wide_sums(cells),
            )
            if len(fits) == 1 and len(fits[0][0]) == len(cells):
                laws = replace(laws, shape=fits[0][1].shape)  # the same numbers, held once
            exact = np.full(len(cells), alone)
            return _Unit(
                cells=cells,
                fits=fits,
                levels=levels,
                laws=laws,
                exact=exact,
                sweeps=0,
                change=0.0,
                unsettled=0,
            )
        options = _SOLVE
        if len(cells) > _MANY_CELLS:
            options = replace(options, exact_limit=min(options.exact_limit, _EXACT_OF_MANY))
        found = infer(evidence.problem(cells), prior=prior, keep=True, options=options)
        return _Unit(
            cells=cells,
            fits=fits,
            levels=levels,
            laws=KeptLaws.of(found),
            exact=found.exact,
            sweeps=found.iterations,
            change=found.change,
            unsettled=found.unsettled,
        )

    def _one_part(self, cells: Ints, /) -> bool:
        parts = self.part_of[cells]
        return bool((parts == parts[0]).all())

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell, with intervals of this level."""
        self.prepare()
        found = CellEstimates.empty(self.size, level=level)
        units = self._units()
        for unit in units:
            for start in range(0, len(unit.cells), _AT_ONCE):
                places = np.arange(start, min(start + _AT_ONCE, len(unit.cells)))
                found.write(unit.cells[places], unit.laws.pmfs(places), exact=unit.exact[places])
        # Once all is worked out, means stay what they are: they need not be held twice.
        found = replace(found, mean=self.mean)
        np.sqrt(self.errors.variance, out=found.sd)
        trust = self.judge(np.arange(self.size))
        if trust is not None and not trust.holds:
            widen_cells(self.errors, found)
        return found.judged(
            iterations=max(unit.sweeps for unit in units),
            change=max(unit.change for unit in units),
            unsettled=sum(unit.unsettled for unit in units),
        )

    def moments(self) -> CellMoments:
        """Mean and standard deviation of every cell, and how they were found."""
        self.prepare()
        units = self._units()
        return CellMoments(
            # Once all is worked out, means stay what they are: they need not be held twice.
            mean=self.mean,
            sd=np.sqrt(self.errors.variance),
            iterations=max(unit.sweeps for unit in units),
            change=max(unit.change for unit in units),
            unsettled=sum(unit.unsettled for unit in units),
        )

    def prior(self, cells: Ints, /) -> Prior:
        """What was believed of some cells beforehand: flat if no table says anything."""
        self.prepare()
        if self.flat:
            return Flat()
        pieces = []
        part_of, live = self.part_of[cells], self.live(cells)
        for part in numbers_in(part_of[live]).tolist():
            here = np.flatnonzero(live & (part_of == part))
            places, held = self.errors.place[cells[here]], self._parts[part].unit.levels
            if held is None:
                pieces.append((here, self.fits[part].law_at(places)))
            elif isinstance(held, NegativeBinomial):
                pieces.append((here, held.at(self._parts[part].places[places].astype(np.int64))))
        return placed(pieces, len(cells))

    def alone(self, level: float, /) -> CellEstimates:
        """The same under the same prior, from the record of each cell alone."""
        self.prepare()
        found = CellEstimates.empty(self.size, level=level)
        for unit in self._units():
            problem = self.evidence.problem(unit.cells, linked=False)
            own = infer(problem, prior=unit.prior, level=level)
            for mine, theirs in zip(found.arrays, own.arrays, strict=True):
                mine[unit.cells] = theirs
        return found

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known.

        With `cells`, only what these touch is worked out, and their counts are given.
        """
        samplers = self.samplers(cells)
        for _ in range(n):
            together = rng.standard_normal(2)
            counts = np.zeros(self.size, np.int64)
            for sampler in samplers:
                counts[sampler.cells] = sampler.draw(rng, together)
            yield counts if cells is None else counts[cells]

    def samplers(self, cells: Ints | None = None, /) -> list[CellSampler]:
        """What draws the counts of the units that some cells touch, or of all."""
        self.prepare(cells)
        self.judge(np.arange(self.size) if cells is None else cells)
        touched = None if cells is None else set(numbers_in(self.part_of[cells]).tolist())
        return [self._sampler(unit) for unit in self._units(touched)]

    def _sampler(self, unit: _Unit, /) -> CellSampler:
        """What draws the counts of a unit."""
        found = self._samplers.get(id(unit))
        if found is None:
            errors, cells = self.errors, unit.cells
            place = np.full(self.size, -1, np.int64)
            place[cells] = np.arange(len(cells))
            effects = [
                LevelErrors(
                    places=place[errors.cells_of[part]],
                    codes=codes.astype(np.int64),
                    moves=moves.astype(np.float64),
                )
                for part in numbers_in(self.part_of[cells]).tolist()
                if part in errors.shared
                for codes, moves in zip(errors.shared[part].codes, errors.shared[part].moves, strict=True)
            ]
            found = CellSampler(
                cells=cells,
                hidden=np.isnan(self.evidence.base.values[cells]),
                mean=errors.mean[cells],
                alone=errors.alone[cells],
                laws=unit.laws.pmfs(np.arange(len(cells))),
                effects=effects,
                together=(errors.common_moves(cells), errors.unseen_moves(cells)),
                ties=TiedSums.of(errors.totals, cells, errors.misfit),
                same=None if errors.same is None else _first_places(errors.same[cells]),
            )
            self._samplers[id(unit)] = found
        return found

    def without(self, *tables: str) -> Posterior:
        """What would be known without some tables, what is believed beforehand held as it is.

        Only what questions touch is worked out again.
        """
        self.prepare()
        return Posterior(
            evidence=self.evidence.without(*tables),
            attacker=self.attacker,
            report=self.report,
            fits=dict(self.fits),
            effects=dict(self.effects),
        )

    def under(self, evidence: Evidence, /) -> Posterior:
        """What would be known under other noise, what is believed beforehand and how far it is trusted held as they are."""
        self.prepare()
        self.judge(np.arange(self.size))
        return Posterior(
            evidence=evidence,
            attacker=self.attacker,
            report=self.report,
            fits=dict(self.fits),
            effects=dict(self.effects),
            held=dict(self.held),
            heard=self.heard,
            asked=True,
            _trust=self._trust,
        )

    @property
    def unsettled(self) -> tuple[int, int]:
        """Of how many cells that were worked out messages had not settled, and how many these are in all."""
        units = self._units()
        return sum(unit.unsettled for unit in units), sum(len(unit.cells) for unit in units)

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What it found when it tried itself on the tables."""
        self.prepare()
        unsettled, cells = self.unsettled
        trust = self.judge(np.arange(self.size))
        found = settled(unsettled=unsettled, cells=cells)
        held = self.held_out() if self.knows_sums else None
        tried_out = tuple(one.check for one in (held, trust) if one is not None)
        if trust is not None and trust.beside is not None:
            tried_out = (*tried_out, trust.beside)
        of_rows = division_check(self.divisions)
        return (found, *self.heard, *against_totals(self.beside), *of_rows, *self._of_humps(), *tried_out)

    def _of_humps(self) -> tuple[FitCheck, ...]:
        """What was learnt of the shape of counts around their intensities; nothing where one negative binomial is enough."""
        parts = [one for _, one in sorted(self.fits.items()) if one.humps is not None]
        return shapes([(one.humps, float(one.mean.mean())) for one in parts if one.humps is not None])

    def _units(self, parts: set[int] | None = None, /) -> list[_Unit]:
        """The units that were worked out, or those of some parts."""
        if parts is not None:
            chosen = [self._parts[part].unit for part in sorted(parts) if part in self._parts]
            return list({id(unit): unit for unit in chosen}.values())
        return list({id(part.unit): part.unit for part in self._parts.values()}.values())

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to; cell k is in group `groups[k]`.

        The mean is the sum of the means of the cells. The variance is that of independent cells, and of what cells err together
        because what they are predicted from is not known for certain. But whole rows of a margin that shows them are known
        up to the margin's noise, with no prior: where that is surer, the interval is theirs, and holds the mean as well. Sums of few hidden cells
        have the law of these and of rows (`beside`), whose shortest half may well be without the mean.
        """
        self.prepare(cells)
        live = self.live(cells)
        cells, groups = cells[live], groups[live]
        trust = self.judge(cells)
        found = self.word(cells, groups, size).estimates(cells, groups, self.laws, level=level)
        return found if trust is None or trust.holds else withdraw(self.errors, found, cells, groups)

    def word(self, cells: Ints, groups: Ints, size: int, /) -> SumWord:
        """What is known of each of `size` sums of cells that could hold something, before intervals are made of it."""
        self.prepare(cells)
        self.judge(cells)
        self.errors.law_off = law_off(self.beside)
        spread, surest = self.errors.sums(cells, groups, size)
        hidden = self._only_hidden(cells, groups, surest)
        values = ByValues.of(self.evidence, cells, groups, size, self.mean[cells])
        return SumWord(
            mean=spread.mean,
            alone=summed(self.errors.variance, cells, groups, size),
            spread=spread,
            surest=surest,
            only_hidden=hidden,
            values=values,
            split=self.errors.split(cells, groups, size),
        )

    def judge(self, cells: Ints, /) -> Trust | None:
        """Whether the learnt law may speak of those of these cells that no total tells; None if there are none, or nothing was learnt."""
        if not self.knows_sums or not self.errors.lacking(cells).any():
            return None
        if self._trust is None:
            trust = tried(self.evidence, self._on_trial(), self._learnt_again)
            held = self.held_out()
            trust = trust.among(self._rivals())
            self._trust = trust if held is None or held.holds else replace(trust, holds=False)
        self.errors.unseen = self._trust.off
        return self._trust

    def _on_trial(self) -> Ints:
        """The cells on which the law is tried."""
        if self._some is None:
            self._some = some_parts(self.evidence, self.part_of)
        return self._some

    def held_out(self) -> HeldOutCheck | None:
        """What published cells say that were held out: those of the parts on which the law is tried, whatever was asked before."""
        parts = numbers_in(self.part_of[self._on_trial()]).tolist()
        for part in parts:
            if part not in self.fits:
                cells = np.flatnonzero(self.part_of == part)
                self.fitted(part, cells[self.live(cells)])
        return judge_held_out([self._held[part] for part in parts if part in self._held])

    def _rivals(self) -> RivalWord | None:
        """What rivals of the learnt law say of hidden cells that no total tells, of those on which it is tried; None if there is too little to tell them by."""
        cells = self._on_trial()
        cells = cells[self.live(cells)]
        if len(cells) > MOST_SEEN:
            cells = np.sort(np.random.default_rng(1).choice(cells, MOST_SEEN, replace=False))
        part_of, pieces = self.part_of[cells], []
        for part in numbers_in(part_of).tolist():
            every = np.flatnonzero(self.part_of == part)
            every = every[self.live(every)]
            here = np.flatnonzero(part_of == part)
            law = self.fitted(part, every)[1].prior
            pieces.append((here, law.at(np.searchsorted(every, cells[here]))))
        return rivals_say(
            self.evidence.base.values[cells],
            self.errors.lacking(cells),
            placed(pieces, len(cells)),
            mechanism=self.evidence.base.mechanism,
        )

    def _learnt_again(self, evidence: Evidence, cells: Ints, /) -> Retold:
        """What the same engine makes of other evidence."""
        other = Posterior(evidence=evidence, attacker=self.attacker)
        other.prepare(np.arange(other.size))
        spread = other.errors.by_cells(cells, np.zeros(len(cells), np.int64), 1)
        off = float(np.sqrt(spread.shared[0]) / max(spread.centre[0], 1.0))
        return Retold(laws=other.laws(cells), off=off)

    def _only_hidden(self, cells: Ints, groups: Ints, spread: SumSpread, /) -> Bools:
        """Which sums are of hidden cells that rows tell, each of which adds to how the sum varies what its law says."""
        size = len(spread.mean)
        apart = ~np.isnan(self.evidence.base.values[cells])
        tight = [part for part, fit in self.fits.items() if fit.humps is not None and fit.humps.tight]
        if tight:
            apart |= np.isin(self.part_of[cells], tight)
        other = np.bincount(groups[apart], minlength=size)
        return np.asarray((other == 0) & (spread.own == 0) & (spread.beside.sure > 0))

    def laws(self, cells: Ints, /) -> Pmfs:
        """The laws of some cells."""
        part_of = self.part_of[cells]
        pieces, order = [], []
        for number in numbers_in(part_of).tolist():
            here, part = np.flatnonzero(part_of == number), self._parts[number]
            places = part.places[self.errors.place[cells[here]]].astype(np.int64)
            pieces.append(part.unit.laws.pmfs(places))
            order.append(here)
        return Pmfs.joined(pieces).take(np.argsort(np.concatenate(order)))


def _joined(fits: Sequence[tuple[NDArray[np.int32], ProfileFit]], size: int, /) -> NegativeBinomial:
    """The priors of parts put together."""
    if len(fits) == 1 and len(fits[0][0]) == size:
        return fits[0][1].law
    return placed([(places, fit.law) for places, fit in fits], size)


def placed(pieces: Sequence[tuple[NDArray[np.integer], NegativeBinomial]], size: int, /) -> NegativeBinomial:
    """Priors put together, each at its places; no count elsewhere."""
    mean, shape, share, stray = np.zeros(size), np.ones(size), np.zeros(size), np.zeros(size)
    humps: list[Humps] = []
    hump_of = np.full(size, -1, np.int64)
    for places, law in pieces:
        mean[places], shape[places] = law.mean, law.shape
        share[places], stray[places] = law.zero_share, law.stray_share
        hump_of[places] = np.where(law.hump_of < 0, -1, law.hump_of + len(humps))
        humps += law.humps
    return NegativeBinomial(
        mean=mean, shape=shape, zero_share=share, stray_share=stray, humps=tuple(humps), hump_of=hump_of
    )


def _split(evidence: Evidence, /) -> tuple[NDArray[np.int32], Ints]:
    """The part of each cell, and the unit of each part."""
    layout, roles = evidence.layout, Roles.of(evidence.layout)
    part = np.zeros(layout.size, np.int32)
    if roles.apart:
        for start in range(0, layout.size, 1 << 20):
            cells = np.arange(start, min(start + (1 << 20), layout.size))
            part[cells] = layout.joined(cells, roles.apart)
        part = _without_gaps(part)
    count = int(part.max(initial=0)) + 1
    ties = [np.zeros((2, 0), np.int64)]
    if count > 1:
        first = np.full(count, -1, np.int64)
        first[part[::-1]] = np.arange(layout.size)[::-1]
        for margin in evidence.margins:
            if margin.measured and not roles.serves(margin.where.labels):
                key = layout.joined(first, [name for name in roles.apart if name in margin.where.labels])
                ties.append(_chains(key))
        if evidence.equal is not None:
            ties.append(np.unique(part[evidence.equal].astype(np.int64), axis=1))
    edges = np.concatenate(ties, axis=1)
    return part, components(edges[0], edges[1], count)


def parts_of_cells(evidence: Evidence, /) -> NDArray[np.int32]:
    """The part of each cell: what a profile is fitted to by itself."""
    return _split(evidence)[0]


def _without_gaps(codes: NDArray[np.int32], /) -> NDArray[np.int32]:
    there = np.bincount(codes) > 0
    return (np.cumsum(there) - 1).astype(np.int32)[codes]


def _chains(keys: Ints, /) -> Ints:
    """Edges that tie places of the same key to each other."""
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    return np.stack([order[:-1][same], order[1:][same]])


def _first_places(codes: Ints, /) -> Ints:
    """For each place the first one with the same code."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(first[place])


def representatives(evidence: Evidence, /) -> Ints | None:
    """For each cell one of those that hold its count; None if all differ."""
    if evidence.equal is None or not evidence.equal.size:
        return None
    size, (left, right) = evidence.layout.size, evidence.equal
    return components(left, right, size)
