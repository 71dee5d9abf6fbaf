"""The questions on a card, answered from the release alone: utility without the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisegate.errors import SpecError
from noisegate.query.answers import Answers
from noisegate.query.release import OpenRelease
from noisegate.tables.card import StatedQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAnswer:
    """One question of a card: its answers, or the reason why there are none.

    `noise_half_width` is what the card predicts of noise alone; the answers' intervals allow for missing rows too.
    """

    name: str
    answers: Answers | None
    reason: str | None
    noise_half_width: int | None

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


def answer_workload(release: OpenRelease, /, *, level: float = 0.95) -> tuple[WorkloadAnswer, ...]:
    """Answers to all questions of the card's workload; refuses a card without one."""
    stated = release.card.workload
    if not stated:
        raise SpecError(
            f"the card of {release.name!r} lists no questions; ask your own with --where and --by, or give the spec a "
            "workload before the next release."
        )
    return tuple(_answer(release, entry, level) for entry in stated)


def _answer(release: OpenRelease, entry: StatedQuestion, level: float, /) -> WorkloadAnswer:
    question, noise = entry.question, entry.noise
    if noise is None:
        return WorkloadAnswer(name=question.name, answers=None, reason=question.reason, noise_half_width=None)
    try:
        answers = release.answer_question(question, level=level)
    except SpecError as refusal:
        return WorkloadAnswer(name=question.name, answers=None, reason=str(refusal), noise_half_width=None)
    return WorkloadAnswer(
        name=question.name, answers=answers, reason=None, noise_half_width=int(noise.half_width)
    )
