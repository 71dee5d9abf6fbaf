"""The questions of the workload from the release alone: answers with intervals, as any reader gets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.query import OpenRelease, WorkloadAnswer, open_release
from noisegate.tables.question import Question
from noisegate.workload.frame import WorkloadSource


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
        questions = [_refused(wanted, str(problem)) for wanted in asked.wanted]
    else:
        questions = [_answer(release, wanted, level) for wanted in asked.wanted]
    return Answered(source=asked.kind, level=level, questions=tuple(questions))


def _answer(release: OpenRelease, wanted: Question, level: float, /) -> WorkloadAnswer:
    if wanted.reason is not None:
        return _refused(wanted, wanted.reason)
    try:
        answers = release.answer_question(wanted, level=level)
    except SpecError as refusal:
        return _refused(wanted, str(refusal))
    return WorkloadAnswer(name=wanted.name, answers=answers, reason=None, noise_half_width=None)


def _refused(wanted: Question, reason: str, /) -> WorkloadAnswer:
    return WorkloadAnswer(
        name=wanted.name, answers=None, reason=reason.removesuffix("."), noise_half_width=None
    )


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
