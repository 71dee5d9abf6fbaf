"""A published release, opened for questions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference import Engine, Evidence, Report, checked_level, engine_for
from noisegate.margins import Method, SumErrors
from noisegate.query.answers import Answers
from noisegate.query.published import read_release
from noisegate.recovery import equal_cells
from noisegate.tables import Card, Domain, Groups, Question, Release, Selection, Where


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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenRelease:
    """A release that answers questions. Nothing here has seen more than what was published."""

    release: Release
    report: Report

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
        return self._believed(cells[base.name], sure)

    def answer_question(self, question: Question, /, *, level: float = 0.95) -> Answers:
        """The answers to one question, the largest only if it asks for these."""
        answers = self.answer(where=question.where, by=question.by, level=level)
        return answers if question.top is None else answers.largest(question.top)

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

    def _exactly(self, cells_of: dict[str, Groups], level: float, /) -> Answers:
        """Nothing is missing: the published sum, with the exact law of its error."""
        table = self.errors.best_table(cells_of)
        cells = cells_of[table]
        terms = cells.counts()
        groups = np.flatnonzero(terms)
        laws = self.errors.laws_of(cells, table, groups)
        half = {id(law): law.half_width(level) for law in {id(law): law for law in laws}.values()}
        values, _ = self.release.table(table).filled()
        found = np.rint(cells.sums(values)[groups]).astype(np.int64)
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
        terms = cells.counts()
        groups = np.flatnonzero(terms)
        numbers, group = cells.numbers()
        rank = np.full(cells.size, -1, np.int64)
        rank[groups] = np.arange(len(groups))
        found = self.posterior.sums(numbers, rank[group], size=len(groups), level=level)
        values, shown = self._base
        return Answers(
            labels=cells.labels(groups),
            estimate=found.mean,
            low=found.low,
            high=found.high,
            cells=terms[groups],
            suppressed=np.rint(cells.sums(~shown)[groups]).astype(np.int64),
            published=np.rint(cells.sums(values)[groups]).astype(np.int64),
            level=level,
            table=self.release.base.name,
        )

    @cached_property
    def _base(self) -> tuple[Any, Any]:
        """The values of the base's cells, and which of them are shown."""
        return self.release.base.filled()

    @cached_property
    def posterior(self) -> Engine:
        """What is known of every cell, worked out as far as questions need it."""
        evidence = Evidence.of(self.release, equal=equal_cells(self.release.base))
        return engine_for(evidence, report=self.report)

    def __repr__(self) -> str:
        return f"{self.release!r}\n  ask with .answer(where=..., by=...)"
