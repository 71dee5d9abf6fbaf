"""Questions answered from the release alone: answers with intervals, as any reader gets them; utility without the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.query import Answers, OpenRelease, open_release
from noisegate.tables import Question
from noisegate.workload.frame import WorkloadSource


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAnswer:
    """One question: its answers, or the reason why there are none.

    `noise_half_width` is what a card predicts of noise alone; the answers' intervals allow for missing rows too.
    """

    name: str
    answers: Answers | None = None
    reason: str | None = None
    noise_half_width: int | None = None

    @property
    def half_width(self) -> float:
        """Half the mean interval of a group."""
        return 0.0 if self.answers is None else float((self.answers.high - self.answers.low).mean() / 2)

    @property
    def relative(self) -> float | None:
        """The median over groups of half the interval as a share of the estimate; None if all are near zero."""
        if self.answers is None:
            return None
        some = self.answers.estimate >= 1
        half = (self.answers.high - self.answers.low)[some] / 2
        return float(np.median(half / self.answers.estimate[some])) if some.any() else None

    @property
    def missing(self) -> float:
        """The share of cells without a row."""
        if self.answers is None:
            return 0.0
        return float(self.answers.suppressed.sum() / max(1, self.answers.cells.sum()))

    def as_json(self) -> dict[str, Any]:
        """The answers as plain data."""
        if self.answers is None:
            return {"name": self.name, "answered": False, "reason": self.reason}
        return {
            "name": self.name,
            "answered": True,
            "noise_half_width": self.noise_half_width,
            "half_width": self.half_width,
            "relative": self.relative,
            "missing": self.missing,
            "answers": self.answers.to_rows(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Answers to the questions of a workload; nothing here has seen more than what was published."""

    source: str
    level: float
    questions: tuple[WorkloadAnswer, ...]

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "source": self.source,
            "measured": False,
            "level": self.level,
            "questions": [_question(one) for one in self.questions],
        }


def answer_workload(release: OpenRelease, /, *, level: float = 0.95) -> tuple[WorkloadAnswer, ...]:
    """Answers to all questions of the card's workload.

    Raises
    ------
    SpecError
        If the card lists none.
    """
    if not release.card.workload:
        raise SpecError(
            f"the card of {release.name!r} lists no questions; ask your own with --where and --by, or give the spec a "
            "workload before the next release."
        )
    found = []
    for stated in release.card.workload:
        one = answer_question(release, stated.question, level=level)
        noise = None if one.answers is None or stated.noise is None else int(stated.noise.half_width)
        found.append(replace(one, noise_half_width=noise))
    return tuple(found)


def answer_question(release: OpenRelease, question: Question, /, *, level: float) -> WorkloadAnswer:
    """The answers to one question, or why there are none."""
    if question.reason is not None:
        return WorkloadAnswer(name=question.name, reason=question.reason)
    try:
        answers = release.answer_question(question, level=level)
    except SpecError as refusal:
        return WorkloadAnswer(name=question.name, reason=str(refusal))
    return WorkloadAnswer(name=question.name, answers=answers)


def answer_questions(asked: WorkloadSource, /, *, level: float, report: Callable[[str], None]) -> Answered:
    """The answers from the release in `asked.folder`.

    Raises
    ------
    SpecError
        If there is no card, which alone says how the noise was made.
    """
    if asked.folder is None:
        raise SpecError(
            "--workload asks questions of tables that have no card beside them, so there are no intervals; give the "
            "directory of a release, or the raw events with --truth."
        )
    report("answering the workload")
    try:
        release = open_release(asked.folder)
    except DataError as problem:
        questions = [WorkloadAnswer(name=one.name, reason=str(problem)) for one in asked.wanted]
    else:
        questions = [answer_question(release, one, level=level) for one in asked.wanted]
    said = (replace(one, reason=one.reason and one.reason.removesuffix(".")) for one in questions)
    return Answered(source=asked.kind, level=level, questions=tuple(said))


def _question(one: WorkloadAnswer, /) -> dict[str, Any]:
    if one.answers is None:
        return one.as_json()
    rows = one.answers.to_rows()
    return {
        "name": one.name,
        "answered": True,
        "table": one.answers.table,
        "answers": len(rows),
        "half_width": one.half_width,
        "relative": one.relative,
        "missing": one.missing,
        "intervals": [
            {name: value for name, value in row.items() if name not in ("level", "table")}
            for row in rows[: limits.current().listed_answers]
        ],
    }
