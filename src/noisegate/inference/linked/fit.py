"""The priors of the two attackers, learnt from the published tables themselves.

Expectation: what each cell is, given the tables and the prior so far (margins included).
Maximisation: intensities as products of effects (`effects`), then how far cells stray from them
(`dispersion`). What the intensities leave uncertain is added to each cell's dispersion.

A prior that is flat in every cell is not flat in their sums. There are far more ways to make 60 of
80 cells than to make 10, so it pulls every total upwards: a suppressed one beyond its threshold, a
published one away from its value by many times its noise, and all quiet cells with them. Here the
cells of a total share a level that the tables tell, and a cell strays from the product of its
levels as widely as the tables tell, at most (and if they do not tell) geometrically, which is as
flat as a law with a mean can be. Nothing is learnt from other days, and nothing about which place is busy when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noisegate.errors import DataError
from noisegate.inference.linked.dispersion import Dispersion, Expectation, vague
from noisegate.inference.linked.effects import Expected, Intensities
from noisegate.inference.linked.model import Model
from noisegate.inference.linked.part import in_order, parts_of
from noisegate.inference.linked.problem import (
    Bools,
    Flat,
    Floats,
    Ints,
    NegativeBinomial,
    Prior,
    Problem,
    Sums,
    as_codes,
    codes_of_cells,
    unheard,
)

_FIRST_SWEEPS, _SWEEPS = 10, 2
_FIRST_ROUNDS, _INNER_ROUNDS = 20, 2
_REFIT_EVERY = 3
#: Unknowns with more than this share of their information at hand count as shown.
_SHOWN = 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A fitted prior. `change` is how much the mean cell still moved in the last round."""

    prior: NegativeBinomial
    dispersion: Floats
    zero_share: Floats
    rounds: int
    change: float


def fit_prior(
    problem: Problem,
    /,
    *,
    effects: Sequence[ArrayLike],
    groups: ArrayLike | None = None,
    plain: bool = False,
    rounds: int = 12,
    tolerance: float = 0.002,
    threads: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """A negative binomial prior for every cell, fitted to `problem` by EM.

    Parameters
    ----------
    effects
        Lists of codes, one code for each cell; see `crossed`.
    groups
        A code for each cell: groups (a mode, a direction) share no multiplier and no dispersion.
    plain
        One dispersion for each group and nothing else about how cells stray from their means.
    rounds, tolerance
        Stop after so many rounds, or when the mean cell moves by less than the tolerance, as a
        share of the mean count.
    progress
        Called with rounds done and rounds at most.

    Notes
    -----
    *Assumes* that a cell's intensity is near a product of effects. How near is learnt from how
    well cells are predicted from the others, so intervals widen where it is not so.
    """
    model = Model.of(problem)
    if model.unknowns == 0:
        raise DataError("every cell is structurally zero; there is nothing to fit.")
    codes = [_of_unknowns(effect, problem, model) for effect in effects]
    group = _of_unknowns(
        np.zeros(problem.cells, dtype=np.int64) if groups is None else groups, problem, model
    )
    dispersion = Dispersion.start(int(group.max()) + 1, plain=plain)
    learner = _Learner.of(model, problem.cells, codes, group, dispersion, threads=threads)
    change, done = np.inf, 0
    while done < rounds and change > tolerance:
        if done % _REFIT_EVERY == 0:
            learner.judge()
        change = learner.round()
        done += 1
        if progress is not None:
            progress(done, rounds)
    return Fit(
        prior=_of_cells(learner.prior(), problem, model),
        dispersion=learner.dispersion.variance,
        zero_share=learner.dispersion.zero_share,
        rounds=done,
        change=change,
    )


@dataclass(slots=True, kw_only=True, eq=False)
class _Learner:
    """Everything EM carries from round to round."""

    expectations: list[Expectation]
    bounds: Ints
    intensities: Intensities
    dispersion: Dispersion
    expected: Expected
    threads: int

    @classmethod
    def of(
        cls,
        model: Model,
        cells: int,
        codes: list[Ints],
        group: Ints,
        dispersion: Dispersion,
        /,
        *,
        threads: int,
    ) -> _Learner:
        """Expectations under a vague prior, and intensities fitted to them."""
        made = list(in_order(parts_of(model), lambda item: Expectation.of(item[1], cells), threads=threads))
        starts = [span.start for (span, _), _ in made]
        nothing = np.zeros(len(group))
        learner = cls(
            expectations=[expectation for _, expectation in made],
            bounds=np.array([*starts, model.unknowns], dtype=np.int64),
            intensities=Intensities.of([], group, np.ones(len(group))),
            dispersion=dispersion,
            expected=Expected(z=nothing, known=nothing, active=nothing),
            threads=threads,
        )
        learner.expect(vague(len(group)), sweeps=_FIRST_SWEEPS)
        learner.intensities = Intensities.of(codes, group, learner.expected.z)
        learner.maximise(rounds=_FIRST_ROUNDS)
        return learner

    def expect(self, prior: NegativeBinomial, /, *, sweeps: int) -> None:
        """Renew what is expected of every unknown."""

        def one(j: int) -> tuple[Floats, Floats, Floats]:
            here = np.arange(self.bounds[j], self.bounds[j + 1])
            return self.expectations[j].under(prior.at(here), sweeps=sweeps)

        z, variance, empty = (np.empty(int(self.bounds[-1])) for _ in range(3))
        for j, found in in_order(range(len(self.expectations)), one, threads=self.threads):
            here = slice(self.bounds[j], self.bounds[j + 1])
            z[here], variance[here], empty[here] = found
        dispersion = self.dispersion.variance[self.intensities.group]
        self.expected = Expected.of(z=z, variance=variance, empty=empty, prior=prior, dispersion=dispersion)

    def maximise(self, *, rounds: int) -> None:
        """Renew intensities and their uncertainty."""
        dispersion = self.dispersion.variance[self.intensities.group]
        self.intensities.maximise(self.expected, dispersion, rounds=rounds)
        self.intensities.weigh(self.expected, dispersion)

    def judge(self) -> None:
        """Renew the dispersion and the share of zeros."""
        self.dispersion.refit(self.intensities, self.expectations, self.bounds, threads=self.threads)

    def round(self) -> float:
        """One round of EM; how much the mean cell moved, as a share of the mean count."""
        before = self.expected.z
        self.expect(self.prior(), sweeps=_SWEEPS)
        self.maximise(rounds=_INNER_ROUNDS)
        return float(np.abs(self.expected.z - before).mean() / max(before.mean(), 1e-9))

    def prior(self) -> NegativeBinomial:
        """The prior of every unknown as it stands.

        An unknown that shows itself well is predicted from the others, lest its own noise speak
        twice. One that hides has no say of its own to take out.
        """
        of = self.intensities
        shown = self.expected.known > _SHOWN
        mean = np.where(shown, of.apart_mean, of.mean)
        spread = np.where(shown, of.apart_spread, of.spread)
        return self.dispersion.around(mean, spread, of.group)


def _of_unknowns(codes: ArrayLike, problem: Problem, model: Model, /) -> Ints:
    return as_codes(codes_of_cells(codes, cells=problem.cells)[model.first_cell])


def _of_cells(prior: NegativeBinomial, problem: Problem, model: Model, /) -> NegativeBinomial:
    """The prior of every cell; structural zeros have mean zero."""
    live = model.unknown_of >= 0
    which = model.unknown_of[live]
    mean, shape, share = np.zeros(problem.cells), np.ones(problem.cells), np.zeros(problem.cells)
    mean[live], shape[live], share[live] = prior.mean[which], prior.shape[which], prior.zero_share[which]
    return NegativeBinomial(mean=mean, shape=shape, zero_share=share)


#: A geometric law with such a mean is flat for all that is suppressed.
_FLAT_MEAN = 1e6


def fit_levels(
    problem: Problem,
    /,
    *,
    groups: ArrayLike | None = None,
    threads: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Prior:
    """What an attacker believes who knows how the tables were made, and nothing of what they count.

    `groups` is a code for each cell; groups (a mode, a direction, a day) share no number. Cells that
    are in no total of several cells keep a flat prior, and so do groups of which no number was published.

    Notes
    -----
    *Assumes* that a cell's mean is near a product of one level for each total it is in.
    """
    levels = [codes for table in problem.tables for codes in _codes_of(table, problem)]
    group = codes_of_cells(np.zeros(problem.cells) if groups is None else groups, cells=problem.cells)
    told = np.logical_or.reduce([codes > 0 for codes in levels], initial=False) & _published(problem, group)
    if not told.any():
        return Flat()
    _refuse_unheard(problem)
    fitted = fit_prior(
        problem, effects=levels, groups=group, plain=True, threads=threads, progress=progress
    ).prior
    return NegativeBinomial(
        mean=np.where(told | problem.zeros, fitted.mean, _FLAT_MEAN),
        shape=np.where(told, fitted.shape, 1.0),
        zero_share=fitted.zero_share,
    )


def _refuse_unheard(problem: Problem, /) -> None:
    heard = problem.zeros.copy()
    for table in problem.tables:
        heard[table.indices] = True
    if not heard.all():
        raise unheard()


def _published(problem: Problem, group: Ints, /) -> Bools:
    """Whether a number was published of any cell of the same group."""
    shown = np.zeros(int(group.max()) + 1, dtype=bool)
    for table in problem.tables:
        shown[group[table.indices[np.repeat(~np.isnan(table.values), np.diff(table.indptr))]]] = True
    return shown[group]


def _codes_of(table: Sums, problem: Problem, /) -> list[Ints]:
    """The total that each cell is in, counted from 1; lists go on while cells are in more than one."""
    live = ~problem.zeros[table.indices]
    row = np.repeat(np.arange(table.rows), np.diff(table.indptr))
    several: Bools = np.bincount(row[live], minlength=table.rows) > 1
    chosen = live & several[row]
    cell, total = table.indices[chosen], row[chosen] + 1
    lists = []
    while cell.size:
        codes = np.zeros(problem.cells, dtype=np.int64)
        first = np.unique(cell, return_index=True)[1]
        codes[cell[first]] = total[first]
        lists.append(codes)
        cell, total = np.delete(cell, first), np.delete(total, first)
    return lists
