"""A published release, opened for questions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np

from noisegate.inference import Engine, Evidence, Report, checked_level, engine_for
from noisegate.margins import Method, SumErrors
from noisegate.query.answers import Answers
from noisegate.query.askable import Askable, Asking
from noisegate.query.published import read_release
from noisegate.recovery import equal_cells
from noisegate.tables import Card, Groups, Release, Selection, Table, Where


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
class OpenRelease(Askable):
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
    def tables(self) -> tuple[Table, ...]:
        """The tables, the base first."""
        return self.release.tables

    @property
    def method(self) -> Method:
        """How its margins were made."""
        return cast("Method", self.card.margins)

    def answer(self, *, where: Where = None, by: str | Sequence[str] = (), level: float = 0.95) -> Answers:
        """The same as `query`, in full."""
        sure = checked_level(level)
        cells = self.errors.tables(Selection.parse(where, self.domain, by=by))
        asking = Asking.of(cells[self.release.base.name])
        return self._exactly(cells, sure) if self._all_shown else self._believed(asking, sure)

    @property
    def _all_shown(self) -> bool:
        """Whether no row is missing, so that sums are known up to noise alone."""
        return self.release.base.threshold.value is None and self.card.zeros == "perturb"

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

    @cached_property
    def posterior(self) -> Engine:
        """What is known of every cell, worked out as far as questions need it."""
        evidence = Evidence.of(self.release, equal=equal_cells(self.release.base))
        return engine_for(evidence, report=self.report)

    def __repr__(self) -> str:
        return f"{self.release!r}\n  ask with .answer(where=..., by=...)"
