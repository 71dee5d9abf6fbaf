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

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError
from noisegate.inference.linked.inference import infer
from noisegate.inference.linked.prior import NegativeBinomial
from noisegate.inference.linked.problem import Problem
from noisegate.inference.profile.cellwise import CellLaws, cell_laws, suits
from noisegate.inference.profile.profile import ProfileFit, fit_profile
from noisegate.inference.profile.shared import SharedError
from noisegate.query.evidence import Evidence, Shown
from noisegate.query.roles import Roles
from noisegate.tables.domain import Domain, Ints
from noisegate.tables.selection import Selection

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Called with what is being done, and how far it is.
Report = Callable[[str, int, int], None]

#: Parts that are worked out at the same time: most of the work runs without the interpreter's lock.
_THREADS = 2
#: Linked parts of at most this many cells are left to `core.linked`.
_FEW_CELLS = 4_000


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
    def evidence(self) -> Evidence:
        """What is known of sums of the cells."""
        return Evidence(shown=self.shown, linked=self.linked, consistent=self.consistent)

    @property
    def domain(self) -> Domain:
        """The cells."""
        return self.shown.table.domain

    def prepare(self, selection: Selection, /, *, report: Report) -> None:
        """Work out every part that the selection touches and that is not there yet."""
        wanted = [(number, cells) for number, cells in self._parts(selection) if number not in self.parts]
        largest = max((len(cells) for _, cells in wanted), default=0)
        if largest > limits.current().fitted_cells:
            raise DataError(
                f"the question touches {largest:,} cells that must be fitted together, at most "
                f"{limits.current().fitted_cells:,} are allowed; this release is too fine for intervals of sums with missing rows."
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
        whole = Selection.of_masks(self.domain, masks, by=self.roles.apart).groups(self.domain)
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
            remainders=self.evidence.left_over(cells),
        )
        laws = self._laws(cells, fit.prior)
        shared = _shared(effects, fit, laws.variance)
        self.mean[cells] = laws.mean
        self.common[cells] = shared.common
        self.variance[cells] = np.maximum(laws.variance - shared.joint, 0.05 * laws.variance)
        self.third[cells] = laws.third
        self.place[cells] = np.arange(len(cells))
        self.part_of[cells] = number
        self.parts[number] = PartBelief(laws=laws, shared=shared)

    def _laws(self, cells: Ints, prior: NegativeBinomial, /) -> CellLaws | KeptLaws:
        """One law for each cell: of few cells with all that links them, of many by what wide sums say."""
        mechanism = self.shown.mechanism
        if not suits(mechanism) or (self.linked and len(cells) <= _FEW_CELLS):
            return KeptLaws.of(self.evidence.problem(cells), prior)
        return cell_laws(
            self.shown.at(cells), mechanism=mechanism, prior=prior, sums=self.evidence.wide_sums(cells)
        )


def _shared(effects: list[Ints], fit: ProfileFit, variance: Floats, /) -> SharedError:
    return SharedError.of(effects, own=fit.own, common=fit.common, prior=fit.prior, variance=variance)
