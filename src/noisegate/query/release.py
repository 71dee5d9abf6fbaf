"""A published release, opened for questions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference.profile.combination import lattice_law
from noisegate.inference.profile.sum_law import checked_level
from noisegate.margins.error import ErrorLaw
from noisegate.margins.sum_errors import Method, SumErrors
from noisegate.mechanisms.mechanism import Mechanism, Zeros
from noisegate.query.answers import Answers
from noisegate.query.beliefs import Beliefs, Report
from noisegate.query.evidence import Shown
from noisegate.query.published import read_release
from noisegate.query.sums import BelievedSums, believed_sums, sharpest
from noisegate.tables.card import Card
from noisegate.tables.domain import Domain
from noisegate.tables.question import Question
from noisegate.tables.release import Release
from noisegate.tables.selection import Groups, Selection
from noisegate.tables.table import Table
from noisegate.tables.where import Where


def open_release(
    folder: str | os.PathLike[str], /, *, report: Report = lambda _what, _done, _all: None
) -> OpenRelease:
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
    return OpenRelease(release=read_release(Path(folder)), report=report)


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenRelease:
    """A release that answers questions. Nothing here has seen more than what was published."""

    release: Release
    report: Report
    _beliefs: dict[str, Beliefs] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        """The name on the card."""
        return self.release.name

    @property
    def card(self) -> Card:
        """How it was made."""
        assert self.release.card is not None
        return self.release.card

    @property
    def domain(self) -> Domain:
        """The cells of the base."""
        return self.release.domain

    @property
    def method(self) -> Method:
        """How its margins were made."""
        return cast("Method", self.card.margins)

    @property
    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """The labels of each dimension."""
        return {d.name: d.labels for d in self.domain.dimensions}

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
        base = self.release.base
        selection = Selection.parse(where, self.domain, by=by)
        cells = self.errors.tables(selection)
        if not cells[base.name].parts:
            raise SpecError("no published cell meets all conditions; the card rules this combination out.")
        if base.threshold.value is None and self.card.zeros == "perturb":
            return self._exactly(cells, sure)
        return self._believed(cells, selection, sure)

    def answer_question(self, question: Question, /, *, level: float = 0.95) -> Answers:
        """The answers to one question, the largest only if it asks for these."""
        answers = self.answer(where=question.where, by=question.by, level=level)
        return answers if question.top is None else answers.largest(question.top)

    @cached_property
    def values(self) -> dict[str, Shown]:
        """The published tables."""
        found = {}
        for table in self.release.tables:
            values, shown = table.filled()
            found[table.name] = Shown(
                table=table, mechanism=self._mechanism(table), values=values, shown=shown
            )
        return found

    @cached_property
    def errors(self) -> SumErrors:
        """The laws of the errors of sums, from the card alone."""
        release = self.release
        return SumErrors.of(
            release.domain,
            base=release.base.name,
            margins={table.name: table.margin for table in release.margins if table.margin is not None},
            laws={table.name: table.law for table in release.tables if table.law is not None},
            method=self.method,
        )

    def _mechanism(self, table: Table, /) -> Mechanism:
        """How a table's counts became what is published of it, its own noise only."""
        law = table.law if table.law is not None else self.release.base.law
        assert law is not None
        return Mechanism(
            law=law, threshold=table.threshold.value, rule="ge", zeros=cast("Zeros", self.card.zeros)
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

    def _believed(self, cells_of: dict[str, Groups], selection: Selection, level: float, /) -> Answers:
        """Rows are missing: the posterior law of each sum, by the table that leaves it least uncertain."""
        answers: list[BelievedSums] = []
        base = self.release.base
        for table in sorted(self.release.tables, key=lambda one: one.domain.size):
            derived = self.method == "derive" and table.margin is not None
            if table.name not in cells_of or derived:
                continue
            cells = cells_of[table.name]
            beliefs = self._prepared(table, selection)
            complete = not cells.sums(~beliefs.shown.shown).any()
            missing = None
            if table.margin is not None and not complete:
                missing = self._prepared(base, selection), cells_of[base.name]
            answers.append(believed_sums(beliefs, cells, level=level, base=missing))
            if complete:
                break  # All of it is shown, in the table of the fewest cells: a finer one has more noise.
        return sharpest(answers)

    def _prepared(self, table: Table, selection: Selection, /) -> Beliefs:
        """What is known of a table, worked out as far as a question needs it."""
        beliefs = self._belief(table)
        beliefs.prepare(selection, report=self.report)
        return beliefs

    def _belief(self, table: Table, /) -> Beliefs:
        if table.name not in self._beliefs:
            own = self.values[table.name]
            if table.margin is None:
                linked = (
                    ()
                    if self.method == "derive"
                    else tuple(self.values[m.name] for m in self.release.margins)
                )
                consistent = self.method == "reconcile"
                self._beliefs[table.name] = Beliefs(shown=own, linked=linked, consistent=consistent)
            else:
                self._beliefs[table.name] = Beliefs(shown=self._alone(own))
        return self._beliefs[table.name]

    def _alone(self, own: Shown, /) -> Shown:
        """A margin taken by itself: after reconciling, its error is that of the estimate."""
        if self.method != "reconcile":
            return own
        law = lattice_law(self._cell_error(own.table))
        mechanism = Mechanism(law=law, threshold=own.mechanism.threshold, rule="ge", zeros="perturb")
        return Shown(table=own.table, mechanism=mechanism, values=own.values, shown=own.shown)

    def _cell_error(self, table: Table, /) -> ErrorLaw:
        """The law of the error of a cell of the table; the widest, where parts of the domain differ."""
        domain = table.domain
        every = Selection.everything(self.domain, by=domain.names).groups(domain)
        groups = np.flatnonzero(every.counts())
        laws = self.errors.laws_of(every, table.name, groups)
        return max(laws, key=lambda law: law.standard_deviation)
