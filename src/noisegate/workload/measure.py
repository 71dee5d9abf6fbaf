"""The error of every question against the raw events, taken apart: for the custodian's eyes only.

One question is put to five states of the data (`noisegate.workload.error_parts`): the raw events as asked, the same from
the cells that are published, the same with every unit held to its bound, with noise, and as published. The steps between
them are the errors of aggregation, bounding, noise and suppression; they add up to the whole error, question by question
and group by group.

Before a release (`measure`) fresh noise is drawn again and again on the custodian's machine, never the noise that is
published. Of tables that were published (`Workload`) two of the states were never written down and are means: who kept
which cells when lots were drawn, and the noise in rows that were left out.

Figures that were measured against the truth are not private: they belong on no card and into no release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisegate import limits
from noisegate.engine import CountPlan, Counts
from noisegate.errors import SpecError
from noisegate.laws import Entropy, as_entropy
from noisegate.margins import Prediction, predict
from noisegate.releases import Plan, asked_questions, sum_errors
from noisegate.tables import Asked, Question
from noisegate.workload.error_parts import Floats, Measured, Reader, StagedAnswers
from noisegate.workload.frame import Frame, FrameTable
from noisegate.workload.noised import Noised, draw_tables, raw_table, table_domain
from noisegate.workload.raw import RawCells, count_raw

DRAWS = 20
#: Fewer large cells say nothing about whether raw data fit; with more, the mean error, or the mean square, in standard
#: deviations may be so many of its own above what it should be. A squared Laplace has a variance of five.
_LEAST_CELLS, _MOST_SDS, _SQUARE, _VARIANCE_OF_SQUARE = 10, 6.0, 2.0, 5.0


def measure(
    plan: Plan,
    counts: Counts,
    /,
    *,
    entropy: Entropy,
    draws: int = DRAWS,
    connection: Any = None,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[Measured, ...]:
    """The error of each question of the plan's workload, over `draws` fresh draws of the noise.

    Parameters
    ----------
    plan, counts
        The plan, and the raw counts after bounding, as the release uses them.
    entropy
        For the draws; they are not published, and cost nothing as long as the result stays with the custodian.
    connection
        Where the events are, as for counting.
    """
    as_entropy(entropy)
    if draws < 2:
        raise SpecError.for_value("draws", found=draws, allowed="at least 2")
    if plan.base.cells > limits.current().measured_cells:
        raise SpecError(
            f"measuring holds all {plan.base.cells:,} cells in memory; at most {limits.current().measured_cells:,} are allowed."
        )
    questions = asked_questions(plan.spec)
    readers, predictions = _readers(plan, questions)
    raw = count_raw(
        CountPlan.of(plan.spec), [one.asked.question for one in readers.values()], connection=connection
    )
    answers = {
        name: StagedAnswers(before=_before_noise(reader, plan, raw, counts))
        for name, reader in readers.items()
    }
    for draw in range(draws):
        report(draw, draws)
        noised, published = draw_tables(plan, counts, entropy)
        for name, reader in readers.items():
            answers[name].add(reader, noised[reader.table], published[reader.table])
    report(draws, draws)
    return tuple(
        answers[one.name].measured(
            one.name,
            table=readers[one.name].table,
            top=one.question.top,
            prediction=predictions[one.name],
        )
        if one.name in answers
        else Measured(name=one.name, reason=one.reason)
        for one in questions
    )


def _readers(
    plan: Plan, questions: tuple[Asked, ...], /
) -> tuple[Mapping[str, Reader], Mapping[str, Prediction]]:
    """The questions that can be answered, put to the tables with the least noise; and what is predicted of them."""
    errors = sum_errors(plan)
    predictions = {one.name: predict(one, errors) for one in questions if one.reason is None}
    tables = {name: prediction.table for name, prediction in predictions.items()}
    readers = {
        one.name: Reader.of(one, tables[one.name], table_domain(plan, tables[one.name]))
        for one in questions
        if one.name in tables
    }
    return readers, predictions


def _before_noise(
    reader: Reader, plan: Plan, raw: RawCells, counts: Counts, /
) -> tuple[Floats, Floats, Floats]:
    """Truth, aggregated and bounded answers; `counts` are within the bound."""
    margin = plan.spec.margins.get(reader.table)
    aggregated = reader.answer(raw.sums(margin))
    bounded = reader.answer(raw_table(plan, reader.table, counts))
    return raw.answer(reader, aggregated), aggregated, bounded


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """A release, its raw data, and what was worked out for one question that the next can use."""

    frame: Frame
    raw: RawCells
    _noised: Noised = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_noised", Noised(frame=self.frame, raw=self.raw))

    @property
    def joint(self) -> bool:
        """Whether noise and bounding cannot be told apart."""
        return self.raw.expected is None

    @property
    def fits(self) -> bool:
        """Whether cells that are far above the threshold differ from the raw counts by about as much as noise does.

        More means that the release counted other events. Where bounding cannot be told, only published counts that are
        too large do. Without a card nothing is known of the noise, and nothing is refused.
        """
        base, release = self.frame.base, self.frame.release
        law = None if release is None else release.release.base.law
        if release is None or law is None:
            return True
        count, spread = self._noised.bounded(base), self._noised.spread(base) + law.variance
        large = base.shown & (count >= (release.release.base.threshold.value or 0) + 2 * np.sqrt(spread))
        off = (base.values - count)[large] / np.sqrt(spread[large])
        if off.size < _LEAST_CELLS:
            return True
        if self.joint:
            return bool(off.mean() <= _MOST_SDS / math.sqrt(off.size))
        return bool((off**2).mean() <= _SQUARE + _MOST_SDS * math.sqrt(_VARIANCE_OF_SQUARE / off.size))

    def measure(self, question: Question, /) -> Measured:
        """The error of one question, or why it has no answer."""
        try:
            asked = question.put(self.frame.domain)
            if asked.reason is not None:
                return Measured(name=question.name, reason=asked.reason)
            table = self.frame.answering(asked.selection)
            reader = Reader.of(asked, table.name, table.domain)
            before = self._before_noise(reader, table)
        except SpecError as refusal:
            return Measured(name=question.name, reason=str(refusal).removesuffix("."))
        answers = StagedAnswers(before=before)
        answers.add(reader, self._noised.of(table), table)
        return answers.measured(question.name, table=table.name, top=question.top, joint=self.joint)

    def _before_noise(self, reader: Reader, table: FrameTable, /) -> tuple[Floats, Floats, Floats]:
        """Truth, aggregated and bounded answers, the last on average over lots."""
        aggregated = reader.answer(self.raw.sums(table.margin))
        bounded = aggregated if self.joint else reader.answer(self._noised.bounded(table))
        return self.raw.answer(reader, aggregated), aggregated, bounded
