"""What is known of every cell of a table with missing rows, worked out part by part when a question touches it.

A missing row is evidence: its noisy count was below the threshold. Together with what the other cells suggest (a prior
fitted to the published table) and with the margins that are linked to it, it gives each cell a posterior law
(`core.linked`). How the tables hang together depends on how they were made:

*derive*: margins are sums of published base cells and say nothing new; the base stands alone.
*independent*: each table has its own noise; margins are further observations of sums of base cells.
*reconcile*: the published tables are sums of one estimate e of the counts x. Its likelihood is that of independent
observations, the base's e with the base's noise and each measured margin's sums of e with that margin's noise:
the precision of e is the sum over measured tables of M'M / v. So the tables can be used like independent
ones with their *own* noise, although what is published of them is consistent. Consistency says one thing more: a shown
total less its shown cells is the sum of e over the missing ones, with one noise of the base for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.core.domain import Domain, Ints
from noisegate.core.laws import LatticeLaw, RoundedGaussian
from noisegate.core.linked import NegativeBinomial, Problem, Sums, infer
from noisegate.core.mechanism import Mechanism
from noisegate.core.workload import (
    CellLaws,
    Cells,
    NoisySums,
    Remainders,
    Selection,
    SharedError,
    bounded_totals,
    cell_laws,
    fit_profile,
    suits,
)
from noisegate.errors import DataError
from noisegate.query.roles import Roles
from noisegate.query.statement import StatedTable

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Called with what is being done, and how far it is.
Report = Callable[[str, int, int], None]

#: The most cells that are fitted together.
MOST_TOGETHER = 8_000_000
#: Sums of more noises than this are taken as normal.
_FEW_NOISES = 12
#: Parts that are worked out at the same time: most of the work runs without the interpreter's lock.
_THREADS = 4
#: Linked parts of at most this many cells are left to `core.linked`.
_FEW_CELLS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A published table: its values by cell, and which cells have one."""

    table: StatedTable
    mechanism: Mechanism
    values: Ints
    shown: Bools

    def at(self, cells: Ints, /) -> Floats:
        """Published values of some cells, NaN where there is none."""
        seen = self.values[cells].astype(np.float64)
        # A zero that is kept is not listed, and neither is a noisy value of zero: both were shown as nothing.
        missing = 0.0 if self.mechanism.threshold is None else np.nan
        return np.where(self.shown[cells], seen, missing)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartBelief:
    """The posterior laws of the cells of one part; `shared` is about the same cells, in this order."""

    laws: CellLaws | KeptLaws
    shared: SharedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptLaws:
    """Posterior laws that `core.linked` worked out, kept number by number."""

    mean: Floats
    variance: Floats
    third: Floats
    low: NDArray[np.int32]
    start: Ints
    mass: NDArray[np.float32]

    @classmethod
    def of(cls, problem: Problem, prior: NegativeBinomial, /) -> KeptLaws:
        """The laws of a problem's cells."""
        posterior = infer(problem, prior=prior, keep=True)
        assert posterior.pmfs is not None
        pmfs = posterior.pmfs.trimmed(1e-7)
        offset = np.arange(len(pmfs.p)) - np.repeat(pmfs.start[:-1], pmfs.sizes)
        away = offset + np.repeat(pmfs.low - posterior.mean, pmfs.sizes)
        return cls(
            mean=posterior.mean,
            variance=posterior.sd**2,
            third=np.add.reduceat(pmfs.p * away**3, pmfs.start[:-1]),
            low=pmfs.low.astype(np.int32),
            start=pmfs.start,
            mass=pmfs.p.astype(np.float32),
        )

    def law(self, cell: int, /) -> tuple[int, Floats]:
        """The least count of one cell and the probabilities from there on."""
        return int(self.low[cell]), self.mass[self.start[cell] : self.start[cell + 1]].astype(np.float64)


@dataclass(slots=True, kw_only=True, eq=False)
class Beliefs:
    """Mean, variance and third central moment of every cell, and the laws behind them.

    `linked` are margins that observe sums of the cells; `consistent` says that they are exact sums of one estimate.
    """

    shown: Shown
    linked: tuple[Shown, ...] = ()
    consistent: bool = False
    mean: Floats = field(init=False)
    variance: Floats = field(init=False)
    third: Floats = field(init=False)
    common: Floats = field(init=False)
    place: NDArray[np.int32] = field(init=False)
    roles: Roles = field(init=False)
    parts: dict[int, PartBelief] = field(init=False, default_factory=dict)
    part_of: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        size = self.domain.size
        self.mean, self.variance, self.third, self.common = (np.zeros(size) for _ in range(4))
        self.place = np.zeros(size, np.int32)
        self.part_of = np.full(size, -1, np.int32)
        self.roles = Roles.of(self.domain)
        self.linked = tuple(m for m in self.linked if self.roles.serves(m.table.domain.names))

    @property
    def domain(self) -> Domain:
        """The cells."""
        return self.shown.table.domain

    def prepare(self, selection: Selection, /, *, report: Report) -> None:
        """Work out every part that the selection touches and that is not there yet."""
        wanted = [(number, cells) for number, cells in self._parts(selection) if number not in self.parts]
        largest = max((len(cells) for _, cells in wanted), default=0)
        if largest > MOST_TOGETHER:
            raise DataError(
                f"the question touches {largest:,} cells that must be fitted together, at most "
                f"{MOST_TOGETHER:,} are allowed; this release is too fine for intervals of sums with missing rows."
            )
        report("working out what is missing", 0, len(wanted))
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            for done, _ in enumerate(pool.map(lambda one: self._work_out(*one), wanted), 1):
                report("working out what is missing", done, len(wanted))

    def _parts(self, selection: Selection, /) -> Iterator[tuple[int, Ints]]:
        """The number and the cells of each part that the selection touches."""
        names, masks = self.domain.names, []
        for name in names:
            apart = name in self.roles.apart
            mask = selection.mask(name)
            masks.append(mask if apart else np.ones(len(mask), bool))
        whole = Cells(
            self.domain,
            Selection(domain=self.domain, masks=tuple(masks), by=self.roles.apart),
        )
        cells, groups = whole.numbers()
        order = np.argsort(groups, kind="stable")
        cells, groups = cells[order], groups[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        for group, part in zip(groups[starts].tolist(), np.split(cells, starts[1:]), strict=True):
            yield group, np.sort(part)

    def _work_out(self, number: int, cells: Ints, /) -> None:
        effects = self.roles.effects(self.domain, cells)
        fit = fit_profile(
            self.shown.at(cells),
            effects,
            mechanism=self.shown.mechanism,
            mains=self.roles.mains(effects),
            remainders=[self._left_over(cells, margin) for margin in self.linked],
        )
        laws = self._laws(cells, fit.prior)
        shared = SharedError.of(effects, fit.uncertainty, prior=fit.prior, variance=laws.variance)
        common = shared.common
        if isinstance(laws, CellLaws):
            for margin in self.linked:
                laws, common = self._bounded(cells, margin, laws, common)
            shared = SharedError.of(effects, fit.uncertainty, prior=fit.prior, variance=laws.variance)
        self.mean[cells] = laws.mean
        self.common[cells] = np.minimum(common, shared.common)
        self.variance[cells] = np.maximum(laws.variance - shared.own, 0.05 * laws.variance)
        self.third[cells] = laws.third
        self.place[cells] = np.arange(len(cells))
        self.part_of[cells] = number
        self.parts[number] = PartBelief(laws=laws, shared=shared)

    def _laws(self, cells: Ints, prior: NegativeBinomial, /) -> CellLaws | KeptLaws:
        """One law for each cell: of few cells with all that links them, of many by what wide sums say."""
        mechanism = self.shown.mechanism
        if not suits(mechanism) or (self.linked and len(cells) <= _FEW_CELLS):
            return KeptLaws.of(self._problem(cells), prior)
        return cell_laws(self.shown.at(cells), mechanism=mechanism, prior=prior, sums=self._wide_sums(cells))

    def _bounded(
        self, cells: Ints, margin: Shown, laws: CellLaws, common: Floats, /
    ) -> tuple[CellLaws, Floats]:
        """Laws and common errors of cells, once missing rows of a margin have bounded their sums."""
        where = margin.table.margin
        assert where is not None
        distinct, codes = np.unique(where.of(cells), return_inverse=True)
        rows = np.flatnonzero(~margin.shown[distinct])
        if margin.table.law is None or margin.mechanism.threshold is None or not rows.size:
            return laws, common
        mean, own, moved = (
            np.bincount(codes, weights=of)[rows].astype(np.float64)
            for of in (laws.mean, laws.variance, common)
        )
        found, spread = bounded_totals(mean, own + moved**2, mechanism=margin.mechanism)
        surer = np.ones(len(distinct))
        surer[rows] = np.minimum(np.sqrt(spread / (own + moved**2)), 1.0)
        for _ in range(2):
            smaller = np.ones(len(distinct))
            smaller[rows] = np.clip(
                found / np.maximum(np.bincount(codes, weights=laws.mean)[rows], 1e-9), 0.01, 1.0
            )
            laws = laws.scaled(smaller[codes])
        return laws, common * surer[codes]

    def _wide_sums(self, cells: Ints, /) -> list[NoisySums]:
        """What linked margins say of sums of these cells."""
        found = []
        for margin in self.linked:
            where, law = margin.table.margin, margin.table.law
            assert where is not None
            if law is not None:
                distinct, codes = np.unique(where.of(cells), return_inverse=True)
                there = margin.shown[distinct]
                seen = np.where(
                    there, margin.values[distinct].astype(np.float64), float(margin.table.least or 0)
                )
                variance = np.full(len(distinct), law.variance)
                found.append(NoisySums(codes=codes, seen=seen, variance=variance, upper=~there))
        if self.consistent and self.linked:
            found.append(self._left_of(cells, self._sharpest()))
        return found

    def _left_of(self, cells: Ints, margin: Shown, /) -> NoisySums:
        """Shown totals less their shown cells: sums over the missing ones, one noise of the base for each."""
        where = margin.table.margin
        assert where is not None
        distinct, codes = np.unique(where.of(cells), return_inverse=True)
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        rest = margin.values[distinct].astype(np.float64) - seen
        usable = margin.shown[distinct] & (missing > 0) & (rest >= 0)
        return NoisySums(
            codes=np.where(hidden & usable[codes], codes, -1),
            seen=rest,
            variance=np.maximum(missing, 1) * self.shown.mechanism.law.variance,
            upper=~usable,
        )

    def _problem(self, cells: Ints, /) -> Problem:
        own = self.shown.at(cells)
        tables = [Sums.of_cells(own, mechanism=self.shown.mechanism)]
        for margin in self.linked:
            where = margin.table.margin
            assert where is not None
            distinct, codes = np.unique(where.of(cells), return_inverse=True)
            if margin.table.law is not None:
                tables.append(Sums.by(codes, margin.at(distinct), mechanism=margin.mechanism))
        if self.consistent and self.linked:
            tables += self._remainders(cells, self._sharpest())
        return Problem(cells=len(cells), tables=tuple(tables))

    def _left_over(self, cells: Ints, margin: Shown, /) -> Remainders:
        """What a margin leaves for the missing cells, and with how much noise."""
        where = margin.table.margin
        base = self.shown.mechanism.law.variance
        assert where is not None
        distinct, codes = np.unique(where.of(cells), return_inverse=True)
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        there = margin.shown[distinct]
        least = float(margin.table.least or 0)
        rest = np.where(there, margin.values[distinct], least) - seen
        own = math.inf if margin.table.law is None else margin.table.law.variance
        noise = own + (np.bincount(codes) - missing) * base
        if self.consistent:
            noise = 1 / (1 / noise + 1 / np.maximum(missing * base, 1e-9))
        usable = np.isfinite(noise) & (missing > 0)
        return Remainders(
            codes=np.where(hidden & usable[codes], codes, -1),
            rest=np.maximum(rest, 0.0),
            variance=np.where(usable, noise, 1.0),
            upper=~there,
        )

    def _sharpest(self) -> Shown:
        """The margin whose remainders are used: one without noise of its own, else the one of the fewest cells."""

        def rank(margin: Shown) -> tuple[bool, float]:
            return margin.table.law is not None, self.domain.size / margin.table.domain.size

        return min(self.linked, key=rank)

    def _remainders(self, cells: Ints, margin: Shown, /) -> Iterator[Sums]:
        """Shown totals less their shown cells: noisy sums over the missing ones, by how many these are."""
        where, law = margin.table.margin, self.shown.table.law
        assert where is not None
        assert law is not None
        distinct, codes = np.unique(where.of(cells), return_inverse=True)
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden).astype(np.int64)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        rest = margin.values[distinct] - seen
        usable = margin.shown[distinct] & (missing > 0) & (rest >= 0)
        steps = np.where(missing <= _FEW_NOISES, missing, _steps(missing))
        for step in np.unique(steps[usable]).tolist():
            rows = usable & (steps == step)
            number = np.where(rows, np.cumsum(rows) - 1, -1)
            asked = np.where(hidden, number[codes], -1)
            mechanism = Mechanism(law=_many(law, int(step)), zeros="perturb")
            yield Sums.by(asked, rest[rows], mechanism=mechanism, name="remainders")


def _steps(counts: Ints, /) -> Ints:
    """Counts rounded to about five in a hundred, so that alike sums share a law."""
    steps = np.rint(np.log(np.maximum(counts, 1).astype(np.float64)) * 20)
    return np.asarray(np.rint(np.exp(steps / 20)), dtype=np.int64)


def _many(law: LatticeLaw, count: int, /) -> LatticeLaw:
    if count <= _FEW_NOISES:
        return law.sum_of(count)
    return RoundedGaussian(float(np.sqrt(count * law.variance)))
