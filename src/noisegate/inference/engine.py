"""The one seam of inference: evidence in, posteriors of cells and of sums out.

Two engines stand behind it. `Posterior` learns a profile of counts part by part and serves releases whose card describes them;
`LinkedPosterior` passes messages between all tables at once under the beliefs of an attacker, and serves tables of any maker.
Which of them it is hangs on the evidence and on the attacker (`engine_for`), never on who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from noisegate.inference.checks import FitCheck, settled
from noisegate.inference.draws import CellSampler, TiedSums
from noisegate.inference.evidence import Evidence
from noisegate.inference.hidden import PRIOR_OFF, ShownTotals
from noisegate.inference.linked.fit import fit_levels, fit_prior
from noisegate.inference.linked.inference import infer
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Flat, Ints, Prior, Problem, crossed
from noisegate.inference.linked.totals import SumEstimates
from noisegate.inference.posterior import Posterior, Report, representatives
from noisegate.inference.roles import Layout

Attacker = Literal["minimal", "informed"]

#: Values of a dimension that set its groups apart (a mode, a direction); with more it is a row.
_FEW_VALUES = 12


class Engine(Protocol):
    """What is known of every cell and of every sum of cells, from one body of evidence."""

    @property
    def evidence(self) -> Evidence:
        """All that speaks about the cells."""

    @property
    def law(self) -> Prior:
        """What is believed of every cell before single ones are looked at."""

    @property
    def knows_sums(self) -> bool:
        """Whether it knows how unsure the means of cells are, on which a sum of many depends."""

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell, with intervals of this level."""

    def alone(self, level: float, /) -> CellEstimates:
        """The same under the same beliefs, from the record of each cell alone."""

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to; cell k is in group `groups[k]`."""

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known.

        Whole numbers of at least zero; any margin of a draw is a sum of its cells. Means, spreads and what cells have in common are those
        of `cells` and `sums`.
        """

    def without(self, *tables: str) -> Engine:
        """What would be known without some tables, what is believed beforehand held as it is."""

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What it found when it tried itself on the tables, and what it made of it."""


def engine_for(
    evidence: Evidence, /, *, attacker: Attacker = "informed", released: bool, report: Report | None = None
) -> Engine:
    """The engine that serves this evidence; `released` says whether a card describes all of its tables."""
    say = report or (lambda _what, _done, _all: None)
    if attacker == "informed" and released:
        return Posterior(evidence=evidence, report=say)
    return LinkedPosterior(evidence=evidence, attacker=attacker, report=say)


@dataclass(kw_only=True, eq=False)
class LinkedPosterior:
    """The laws of all cells under what an attacker believes.

    The *minimal* one takes each day by itself and knows only the levels of the totals that were published; with no
    totals, nothing. The *informed* one learns from all tables which place is busy when, and how alike days are.
    """

    evidence: Evidence
    attacker: Attacker
    report: Report
    held: Prior | None = None
    _found: dict[float, CellEstimates] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _problem(self) -> Problem:
        return self.evidence.problem()

    @cached_property
    def law(self) -> Prior:
        """What is believed of every cell before single ones are looked at."""
        if self.held is not None:
            return self.held
        roles = _Roles.of(self.evidence.layout)

        def progress(done: int, most: int) -> None:
            self.report("learning how counts vary", done, most)

        if self.attacker == "minimal":
            return fit_levels(self._problem, groups=roles.group_and_day, progress=progress)
        if not roles.effects:
            return Flat()
        return fit_prior(self._problem, effects=roles.effects, groups=roles.group, progress=progress).prior

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""
        return isinstance(self.law, Flat)

    @property
    def knows_sums(self) -> bool:
        """Only somebody informed does; and many small cells add up to what no flat prior knows."""
        return self.attacker == "informed" and not self.flat

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell, with intervals of this level."""
        if level not in self._found:
            self._found[level] = infer(
                self._problem,
                prior=self.law,
                level=level,
                progress=lambda done, whole: self.report("inferring cells", done, whole),
            )
        return self._found[level]

    def alone(self, level: float, /) -> CellEstimates:
        """The same under the same beliefs, from the record of each cell alone."""
        return infer(self.evidence.problem(linked=False), prior=self.law, level=level)

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to: by shown totals, and by the cells' moments where none says anything."""
        known = self.cells(level)
        shown = ShownTotals(evidence=self.evidence)
        found = [
            shown.hidden_sum(mine, known.mean[mine], known.sd[mine] ** 2, level=level)
            for mine in (cells[groups == group] for group in range(size))
        ]
        mean, sd, low, high = (
            np.concatenate([getattr(one, name) for one in found]) for name in ("mean", "sd", "low", "high")
        )
        return SumEstimates(level=level, mean=mean, sd=sd, low=low, high=high)

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known."""
        sampler = self._sampler
        for _ in range(n):
            counts = sampler.draw(rng, rng.standard_normal(1))
            yield counts if cells is None else counts[cells]

    @cached_property
    def _sampler(self) -> CellSampler:
        """All cells with their laws and shown totals; where no total speaks the prior may be off for all of them at once."""
        known = infer(self._problem, prior=self.law, keep=True)
        assert known.pmfs is not None
        every = np.arange(self.evidence.layout.size)
        ties = TiedSums.of(ShownTotals(evidence=self.evidence), every)
        told = np.logical_or.reduce([tie.codes >= 0 for tie in ties], initial=False)
        hidden = np.isnan(self.evidence.base.values) & ~told
        return CellSampler(
            cells=every,
            mean=known.mean,
            alone=known.sd**2,
            laws=known.pmfs,
            together=(np.where(hidden, PRIOR_OFF * known.mean, 0.0),),
            ties=ties,
            same=representatives(self.evidence),
        )

    def without(self, *tables: str) -> LinkedPosterior:
        """What would be known without some tables, what is believed beforehand held as it is."""
        return replace(self, evidence=self.evidence.without(*tables), held=self.law)

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """Whether messages settled."""
        known = next(iter(self._found.values()), None) or self.cells(0.95)
        return (settled(unsettled=known.unsettled, cells=known.cells),)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Roles:
    """What each dimension is to a prior, as codes for every cell.

    Dates are days, times of day are columns, the dimension with the most values is the row; dimensions of
    few values (a mode, a direction) are groups that share nothing, and any other one splits rows.
    """

    effects: tuple[Ints, ...]
    group: Ints
    group_and_day: Ints

    @classmethod
    def of(cls, layout: Layout, /) -> _Roles:
        codes = np.stack(layout.decode(np.arange(layout.size)))
        sizes = list(layout.labels.values())
        day = next((j for j, name in enumerate(layout.names) if name in layout.days), None)
        column = next((j for j, name in enumerate(layout.names) if name in layout.times), None)
        rest = sorted((j for j in range(len(sizes)) if j not in (day, column)), key=lambda j: -sizes[j])
        if column is None and len(rest) > 1:
            column = rest.pop(1)
        rows = [j for k, j in enumerate(rest) if k == 0 or sizes[j] > _FEW_VALUES]
        group = _joined(codes, [j for j in rest if j not in rows], sizes)
        row = _within(group, _joined(codes, rows, sizes))
        days = group if day is None else _within(group, codes[day])
        effects: tuple[Ints, ...] = (row,) if rows else ()
        if day is not None or column is not None:
            effects = crossed(
                row=row,
                column=_within(group, codes[column]) if column is not None else group,
                day=None if day is None else days,
            )
        return cls(effects=effects, group=group, group_and_day=days)


def _joined(codes: Ints, which: Sequence[int], sizes: Sequence[int], /) -> Ints:
    """One code for the combination of some dimensions."""
    joined = np.zeros(codes.shape[1], dtype=np.int64)
    for j in sorted(which):
        joined = joined * sizes[j] + codes[j]
    return joined


def _within(group: Ints, codes: Ints, /) -> Ints:
    return group * (int(codes.max(initial=0)) + 1) + codes
