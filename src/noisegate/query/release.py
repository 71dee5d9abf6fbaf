"""A published release, opened for questions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.core.domain import Ints
from noisegate.core.margins import ErrorLaw
from noisegate.core.mechanism import Mechanism
from noisegate.core.workload import (
    Cells,
    Selection,
    SumErrors,
    checked_level,
    cumulant_intervals,
    lattice_law,
    sum_law,
)
from noisegate.errors import SpecError
from noisegate.query.answers import Answers
from noisegate.query.beliefs import Beliefs, Report, Shown
from noisegate.query.published import read_values
from noisegate.query.statement import StatedTable, Statement, read_statement
from noisegate.query.where import Where, conditions_of, select

Floats = NDArray[np.float64]

#: Sums of at most this many cells get the exact convolution, if all groups together have not too many.
_FEW_CELLS = 64
_FEW_IN_ALL = 40_000


def open_release(
    folder: str | os.PathLike[str], /, *, report: Report = lambda _what, _done, _all: None
) -> Release:
    """The release in `folder`, ready for questions.

    Needs the card beside the tables. What missing rows were is worked out when a question first needs it, for the
    part of the release that it touches, and kept; `report` is told how far that is.

    Examples
    --------
    >>> open_release("nowhere")
    Traceback (most recent call last):
    ...
    noisegate.errors.DataError: There is no directory 'nowhere'; give the directory that 'noisegate release' made.
    """
    statement = read_statement(Path(folder))
    found = Release(statement=statement, report=report)
    _ = found.values
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Published tables and their card. Nothing here has seen more than what was published."""

    statement: Statement
    report: Report
    _beliefs: dict[str, Beliefs] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        """The name on the card."""
        return self.statement.name

    @property
    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """The labels of each dimension."""
        return {d.name: d.labels for d in self.statement.domain.dimensions}

    def query(
        self, *, where: Where | Iterable[str] = None, by: str | Sequence[str] = (), level: float = 0.95
    ) -> Any:
        """How many events meet the conditions, as an Arrow table with one row for each group.

        Parameters
        ----------
        where
            Conditions by dimension: `{"mode": "ferry", "time": "06:00..09:00"}`, or the same as text.
        by
            A dimension, or several, whose labels are told apart.
        level
            Of the intervals: each holds the truth with this probability.

        Returns
        -------
        pyarrow.Table
            Dimensions of `by`, then estimate, low, high, level, cells, suppressed, published, table.

        Notes
        -----
        The truth is the count of events as bounded for the release (`max_cells`); what bounding left out is not in
        any published number. Where rows are missing, intervals assume that counts are near a product of place,
        time and day effects; how near is learnt from the release.
        """
        return self.answer(where=where, by=by, level=level).to_arrow()

    def answer(
        self, *, where: Where | Iterable[str] = None, by: str | Sequence[str] = (), level: float = 0.95
    ) -> Answers:
        """The same as `query`, in full."""
        names = (by,) if isinstance(by, str) else tuple(by)
        sure = checked_level(level)
        statement = self.statement
        selection = select(statement.domain, where=conditions_of(where), by=names, merged=statement.merged)
        cells = self.errors.tables(selection)
        if not cells[statement.base.name].parts:
            raise SpecError("no published cell meets all conditions; the card rules this combination out.")
        if statement.base.least is None and statement.base.zeros == "perturb":
            return self._exactly(cells, sure)
        return self._believed(cells, selection, sure)

    @cached_property
    def values(self) -> dict[str, Shown]:
        """The published tables."""
        found = {}
        for table in self.statement.tables:
            values, shown = read_values(self.statement.folder, table)
            found[table.name] = Shown(
                table=table, mechanism=self._mechanism(table), values=values, shown=shown
            )
        return found

    @cached_property
    def errors(self) -> SumErrors:
        """The laws of the errors of sums, from the card alone."""
        statement = self.statement
        return SumErrors.of(
            statement.domain,
            base=statement.base.name,
            margins={table.name: table.margin for table in statement.margins if table.margin is not None},
            laws={table.name: table.law for table in statement.tables if table.law is not None},
            method=statement.method,
        )

    def _mechanism(self, table: StatedTable, /) -> Mechanism:
        """How a table's counts became what is published of it, its own noise only."""
        law = table.law if table.law is not None else self.statement.base.law
        assert law is not None
        return Mechanism(law=law, threshold=table.least, rule="ge", zeros=table.zeros)

    def _exactly(self, cells_of: dict[str, Cells], level: float, /) -> Answers:
        """Nothing is missing: the published sum, with the exact law of its error."""
        table = self.errors.best_table(cells_of)
        cells = cells_of[table]
        terms = cells.counts()
        groups = np.flatnonzero(terms)
        laws = self.errors.laws_of(cells, table, groups)
        half = {id(law): law.half_width(level) for law in {id(law): law for law in laws}.values()}
        found = np.rint(cells.sums(self.values[table].values)[groups]).astype(np.int64)
        width = np.array([half[id(law)] for law in laws], dtype=np.int64)
        return Answers(
            labels=cells.labels(groups),
            estimate=np.maximum(found, 0).astype(np.float64),
            low=np.maximum(found - width, 0),
            high=np.maximum(found + width, 0),
            cells=terms[groups],
            suppressed=np.zeros(len(groups), np.int64),
            published=found,
            level=level,
            table=table,
        )

    def _believed(self, cells_of: dict[str, Cells], selection: Selection, level: float, /) -> Answers:
        """Rows are missing: the posterior law of each sum, by the table that leaves it least uncertain."""
        answers = []
        for table in self.statement.tables:
            derived = self.statement.method == "derive" and table.margin is not None
            if table.name in cells_of and not derived:
                beliefs = self._belief(table)
                beliefs.prepare(selection, report=self.report)
                answers.append(_sums(beliefs, cells_of[table.name], level))
        return _sharpest(answers)

    def _belief(self, table: StatedTable, /) -> Beliefs:
        if table.name not in self._beliefs:
            own = self.values[table.name]
            if table.margin is None:
                linked = (
                    ()
                    if self.statement.method == "derive"
                    else tuple(self.values[m.name] for m in self.statement.margins)
                )
                consistent = self.statement.method == "reconcile"
                self._beliefs[table.name] = Beliefs(shown=own, linked=linked, consistent=consistent)
            else:
                self._beliefs[table.name] = Beliefs(shown=self._alone(own))
        return self._beliefs[table.name]

    def _alone(self, own: Shown, /) -> Shown:
        """A margin taken by itself: after reconciling, its error is that of the estimate."""
        if self.statement.method != "reconcile":
            return own
        law = lattice_law(self._cell_error(own.table))
        mechanism = Mechanism(law=law, threshold=own.mechanism.threshold, rule="ge", zeros="perturb")
        return Shown(table=own.table, mechanism=mechanism, values=own.values, shown=own.shown)

    def _cell_error(self, table: StatedTable, /) -> ErrorLaw:
        """The law of the error of a cell of the table; the widest, where parts of the domain differ."""
        domain = table.domain
        masks = tuple(np.ones(len(d.labels), bool) for d in self.statement.domain.dimensions)
        every = Cells(domain, Selection(domain=self.statement.domain, masks=masks, by=domain.names))
        groups = np.flatnonzero(every.counts())
        laws = self.errors.laws_of(every, table.name, groups)
        return max(laws, key=lambda law: law.standard_deviation)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Answers of one table, with the variance that decides which table is used."""

    answers: Answers
    variance: Floats


def _sums(beliefs: Beliefs, cells: Cells, level: float, /) -> _Sums:
    terms = cells.counts()
    groups = np.flatnonzero(terms)
    numbers, group = cells.numbers()
    rank = np.full(cells.groups, -1, np.int64)
    rank[groups] = np.arange(len(groups))
    group = rank[group]
    shared = _shared(beliefs, numbers, group, len(groups)) + cells.sums(beliefs.common)[groups] ** 2
    mean = cells.sums(beliefs.mean)[groups]
    variance = cells.sums(beliefs.variance)[groups]
    third = cells.sums(beliefs.third)[groups]
    low, high = cumulant_intervals(mean, variance + shared, third, level=level)
    few = terms[groups] <= _FEW_CELLS
    if terms[groups][few].sum() <= _FEW_IN_ALL:
        _convolve(beliefs, numbers, group, few, shared, level, low, high)
    shown = beliefs.shown
    answers = Answers(
        labels=cells.labels(groups),
        estimate=mean,
        low=low,
        high=high,
        cells=terms[groups],
        suppressed=np.rint(cells.sums(~shown.shown)[groups]).astype(np.int64),
        published=np.rint(cells.sums(shown.values)[groups]).astype(np.int64),
        level=level,
        table=shown.table.name,
    )
    return _Sums(answers=answers, variance=variance + shared)


def _shared(beliefs: Beliefs, numbers: Ints, group: Ints, size: int, /) -> Floats:
    """What cells err together, part by part."""
    found = np.zeros(size)
    part = beliefs.part_of[numbers]
    for number in np.unique(part).tolist():
        here = part == number if number >= 0 else slice(0)
        cells = beliefs.place[numbers[here]].astype(np.int64)
        found += beliefs.parts[number].shared.variance(cells, group[here], size=size)
    return found


def _convolve(
    beliefs: Beliefs,
    numbers: Ints,
    group: Ints,
    few: NDArray[np.bool_],
    shared: Floats,
    level: float,
    low: Ints,
    high: Ints,
    /,
) -> None:
    """Replace the intervals of sums of few cells by exact ones."""
    kept = few[group]
    if not kept.any():
        return
    order = np.argsort(group[kept], kind="stable")
    numbers, group = numbers[kept][order], group[kept][order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for first, members in zip(starts, np.split(numbers, starts[1:]), strict=True):
        g = int(group[first])
        lows, masses = [], []
        for cell in members.tolist():
            part = beliefs.parts[int(beliefs.part_of[cell])]
            place = int(beliefs.place[cell])
            lows.append(int(part.low[place]))
            masses.append(part.mass[part.start[place] : part.start[place + 1]].astype(np.float64))
        law = sum_law(lows, masses, shared_variance=float(shared[g]))
        low[g], high[g] = law.interval(level)


def _sharpest(found: Sequence[_Sums], /) -> Answers:
    """The answers of the table with the least uncertainty; all tables have the same groups."""
    return min(found, key=lambda one: float(np.sqrt(one.variance).sum())).answers
