"""A published release, opened for questions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from noisegate.inference import Engine, Evidence, FitCheck, Posterior, Report, checked_level, engine_for
from noisegate.margins import Method, SumErrors
from noisegate.query.answers import Answers
from noisegate.query.askable import Askable, Asking
from noisegate.query.kept import Kept
from noisegate.tables import CARD, Card, Groups, Release, Selection, Table, Where


def open_release(
    folder: str | os.PathLike[str],
    /,
    *,
    report: Report = lambda _what, _done, _all: None,
    remember: bool = False,
) -> OpenRelease:
    """The release in `folder`, ready for questions.

    Needs the card beside the tables. What missing rows were is worked out when a question first needs it, for the
    part of the release that it touches, and kept; `report` is told how far that is. With `remember`, as the command line has it, it
    is kept in private files of this user as well (`NOISEGATE_CACHE`, else the user's cache directory), once `keep` is called.

    Examples
    --------
    >>> open_release("nowhere")
    Traceback (most recent call last):
    ...
    noisegate.errors.DataError: There is no directory 'nowhere'; give the directory that 'noisegate release' made.
    """
    path = Path(folder)
    kept = Kept.of(path) if remember and path.is_dir() else None
    found = None if kept is None else kept.load(_STATE)
    if isinstance(found, _State):
        known = found.posterior
        return OpenRelease(
            release=found.beside(path),
            report=report,
            kept=kept,
            known=known,
            worked_out=0 if known is None else known.worked_out,
        )
    from noisegate.query.published import read_release

    return OpenRelease(release=read_release(path), report=report, kept=kept)


#: The name of what is kept of a release as a whole.
_STATE = "state"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    """What is kept of a release: its tables, and what was worked out of them."""

    release: Release
    posterior: Posterior | None

    def beside(self, folder: Path, /) -> Release:
        """The release, at the place where it was opened."""
        card = self.release.card
        return replace(
            self.release, folder=folder, card=None if card is None else replace(card, path=folder / CARD)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Told:
    """What is kept of one question: the answers, and what the engine had found about itself then."""

    answers: Answers
    checks: tuple[FitCheck, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenRelease(Askable):
    """A release that answers questions. Nothing here has seen more than what was published.

    `kept` is where answers are remembered, if they are; `known` what was worked out before, and `worked_out` how many parts of it, -1 if
    the tables were read anew.
    """

    release: Release
    report: Report
    kept: Kept | None = None
    known: Posterior | None = None
    worked_out: int = -1
    _heard: list[tuple[FitCheck, ...]] = field(default_factory=list)

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

        def work_out() -> Answers:
            sure = checked_level(level)
            cells = self.errors.tables(Selection.parse(where, self.domain, by=by))
            asking = Asking.of(cells[self.release.base.name])
            return self._exactly(cells, sure) if self._all_shown else self._believed(asking, sure)

        return self._remembered(["answer", where, by, level], work_out)

    def compare(self, **asked: Any) -> Answers:
        """As of all tables that answer questions; what was compared before is remembered."""
        return self._remembered(["compare", asked], lambda: super(OpenRelease, self).compare(**asked))

    def ranking(self, **asked: Any) -> Answers:
        """As of all tables that answer questions; what was ranked before is remembered."""
        return self._remembered(["ranking", asked], lambda: super(OpenRelease, self).ranking(**asked))

    def change(self, since: Askable, /, **asked: Any) -> Answers:
        """As of all tables that answer questions; what was compared before is remembered if both releases are."""

        def work_out() -> Answers:
            return super(OpenRelease, self).change(since, **asked)

        other = since.kept if isinstance(since, OpenRelease) else None
        return work_out() if other is None else self._remembered(["change", other.key, asked], work_out)

    def _remembered(self, question: list[Any], work_out: Callable[[], Answers], /) -> Answers:
        """The answers to a question in plain words, from before if it was asked before."""
        try:
            words = None if self.kept is None else json.dumps(question, sort_keys=True)
        except TypeError:  # dates and the like: answered all the same
            words = None
        if self.kept is None or words is None:
            return work_out()
        found = self.kept.load(words)
        if isinstance(found, _Told):
            self._heard.append(found.checks)
            return found.answers
        answers = work_out()
        self.kept.save(words, _Told(answers=answers, checks=self.checks))
        return answers

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What the engine found when it tried itself on the tables; nothing if no question has needed it yet."""
        return super().checks or (self._heard[-1] if self._heard else ())

    def keep(self) -> None:
        """Keep what was worked out for the next question to the same release, if it was opened to be remembered."""
        found = self.__dict__.get("posterior")
        posterior = found if isinstance(found, Posterior) else None
        worked_out = 0 if posterior is None else posterior.worked_out
        if self.kept is None or worked_out <= self.worked_out:
            return
        if not self.kept.save(_STATE, _State(release=self.release, posterior=posterior)):
            self.kept.save(_STATE, _State(release=self.release, posterior=None))

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
        if self.known is not None:
            self.known.report = self.report
            return self.known
        from noisegate.recovery import equal_cells

        evidence = Evidence.of(self.release, equal=equal_cells(self.release.base))
        return engine_for(evidence, report=self.report)

    def __repr__(self) -> str:
        return f"{self.release!r}\n  ask with .answer(where=..., by=...)"
