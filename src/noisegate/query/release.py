"""A published release, opened for questions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference.evidence import Evidence, Observation, RowMap
from noisegate.inference.posterior import Posterior, Report
from noisegate.inference.profile.sum_law import checked_level
from noisegate.inference.roles import Layout
from noisegate.margins.sum_errors import SumErrors
from noisegate.mechanisms.mechanism import Mechanism
from noisegate.query.answers import Answers
from noisegate.query.published import Shown, read_values
from noisegate.query.statement import Statement, read_statement
from noisegate.tables.selection import Groups, Selection
from noisegate.tables.where import Where


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

    @property
    def name(self) -> str:
        """The name on the card."""
        return self.statement.name

    @property
    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """The labels of each dimension."""
        return {d.name: d.labels for d in self.statement.domain.dimensions}

    def query(self, *, where: Where = None, by: str | Sequence[str] = (), level: float = 0.95) -> Any:
        """How many events meet the conditions, as an Arrow table with one row for each group.

        Parameters
        ----------
        where
            Conditions by dimension: `{"mode": "ferry", "time": "06:00..09:00"}`, or the same as text. Values are
            labels, ranges, integers, dates, times, or lists of these.
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

    def answer(self, *, where: Where = None, by: str | Sequence[str] = (), level: float = 0.95) -> Answers:
        """The same as `query`, in full."""
        sure = checked_level(level)
        statement = self.statement
        selection = Selection.parse(where, statement.domain, by=by)
        cells = self.errors.tables(selection)
        if not cells[statement.base.name].parts:
            raise SpecError("no published cell meets all conditions; the card rules this combination out.")
        if statement.base.least is None and statement.base.zeros == "perturb":
            return self._exactly(cells, sure)
        return self._believed(cells[statement.base.name], sure)

    @cached_property
    def values(self) -> dict[str, Shown]:
        """The published tables."""
        found = {}
        for table in self.statement.tables:
            values, shown = read_values(self.statement.folder, table)
            found[table.name] = Shown(table=table, values=values, shown=shown)
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

    def _exactly(self, cells_of: dict[str, Groups], level: float, /) -> Answers:
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

    def _believed(self, cells: Groups, level: float, /) -> Answers:
        """Rows are missing: the posterior of each sum of base cells, the same that an assessment reads."""
        base = self.values[self.statement.base.name]
        terms = cells.counts()
        groups = np.flatnonzero(terms)
        numbers, group = cells.numbers()
        rank = np.full(cells.size, -1, np.int64)
        rank[groups] = np.arange(len(groups))
        found = self.posterior.sums(numbers, rank[group], size=len(groups), level=level)
        return Answers(
            labels=cells.labels(groups),
            estimate=found.mean,
            low=found.low,
            high=found.high,
            cells=terms[groups],
            suppressed=np.rint(cells.sums(~base.shown)[groups]).astype(np.int64),
            published=np.rint(cells.sums(base.values)[groups]).astype(np.int64),
            level=level,
            table=base.table.name,
        )

    @cached_property
    def posterior(self) -> Posterior:
        """What is known of every cell, worked out as far as questions need it."""
        return Posterior(evidence=evidence_of(self.statement, self.values), report=self.report)


def evidence_of(statement: Statement, shown: Mapping[str, Shown], /) -> Evidence:
    """What the tables of a release say about the cells of its base, by its card."""
    margins = [] if statement.method == "derive" else statement.margins
    return Evidence(
        layout=Layout.of(statement.domain),
        base=_observation(shown[statement.base.name], statement),
        margins=tuple(_observation(shown[margin.name], statement) for margin in margins),
        consistent=statement.method == "reconcile",
    )


def _observation(shown: Shown, statement: Statement, /) -> Observation:
    """A table as evidence, by its own noise."""
    table = shown.table
    law = table.law if table.law is not None else statement.base.law
    assert law is not None
    # A zero that is kept is not listed, and neither is a noisy value of zero: both were shown as nothing.
    missing = 0.0 if table.least is None else np.nan
    return Observation(
        name=table.name,
        values=np.where(shown.shown, shown.values.astype(np.float64), missing),
        mechanism=Mechanism(law=law, threshold=table.least, rule="ge", zeros=table.zeros),
        rows=None if table.margin is None else RowMap.between(table.margin),
        measured=table.law is not None,
    )
