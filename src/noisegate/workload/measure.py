"""The measured error of every question, taken apart, against the raw events: for the custodian's eyes only.

Fresh noise is drawn again and again on the custodian's machine, never the noise that is published, and what comes of
it is compared with the truth. Figures that were measured against the truth are not private: they belong on no card and
into no release.

The error of each question of a workload on the tables as they were published, taken apart.

One question is put to five states of the data (`noisegate.inference.profile.parts`): the raw events as asked, the same from
the cells that are published, the same with every unit held to its bound, with noise, and as published. The steps
between them are the errors of aggregation, bounding, noise and suppression; they add up to the whole error, question by
question and group by group. Two of the states were never written down and are means: who kept which cells when lots
were drawn, and the noise in rows that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.engine import Counts, count
from noisegate.errors import SpecError
from noisegate.inference.profile.parts import ErrorParts, Trio, error_parts, largest_kept, usual_trio
from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.margins.prediction import Prediction, predict
from noisegate.releases.plan import Plan
from noisegate.releases.prediction import sum_errors
from noisegate.releases.questions import asked_questions
from noisegate.tables.question import Asked, Question
from noisegate.tables.selection import Groups
from noisegate.tables.where import members, shares_of_values
from noisegate.workload.draws import Floats, Reader, draw_tables, raw_table
from noisegate.workload.frame import Frame, FrameTable
from noisegate.workload.noised import Noised
from noisegate.workload.raw import RawCells, exact_answer, unbounded

DRAWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One question: what was predicted of its noise, and what was measured. Raw: never for publishing.

    `kept` is, for rankings, the mean share of the truly largest groups that the published table puts among its largest.
    """

    name: str
    reason: str | None
    prediction: Prediction | None = None
    parts: ErrorParts | None = None
    trio: Trio | None = None
    kept: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        if self.parts is None or self.trio is None or self.prediction is None:
            return {"name": self.name, "answered": False, "reason": self.reason}
        return {
            "name": self.name,
            "answered": True,
            "predicted_noise": self.prediction.as_json(),
            "bias": self.parts.bias,
            "absolute": self.parts.absolute,
            "share_of_square": self.parts.share,
            "total": {
                "bias": self.parts.total_bias,
                "absolute": self.parts.total_absolute,
                "root_mean_square": math.sqrt(self.parts.total_square),
                "standard_error_of_absolute": self.parts.total_absolute_error,
            },
            "relative_error": self.trio.relative,
            "drop_rate": self.trio.dropped,
            "spurious_rate": self.trio.spurious,
            "ranking_kept": self.kept,
        }


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
    noise
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
    open_ones = [one for one in questions if one.reason is None]
    errors = sum_errors(plan)
    predictions = {one.name: predict(one, errors) for one in open_ones}
    every = count(unbounded(plan.spec), entropy=entropy, connection=connection)
    readers = {one.name: Reader.of(one, plan, predictions[one.name].table) for one in open_ones}
    before = {
        name: _before_noise(reader, plan, (every, counts), entropy, connection)
        for name, reader in readers.items()
    }
    stages: dict[str, list[Floats]] = {name: [] for name in readers}
    there: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in readers}
    for draw in range(draws):
        report(draw, draws)
        noised, published = draw_tables(plan, counts, entropy)
        for name, reader in readers.items():
            last = published[reader.table]
            answers = [reader.answer(noised[reader.table]), reader.answer(last.values)]
            stages[name].append(np.stack([*before[name], *answers]))
            there[name].append(reader.cells.sums(last.shown)[reader.groups] > 0)
    report(draws, draws)
    return tuple(
        _measured(one, predictions.get(one.name), stages.get(one.name, []), there.get(one.name, []))
        for one in questions
    )


def _measured(
    asked: Asked, prediction: Prediction | None, stages: list[Floats], there: list[NDArray[np.bool_]], /
) -> Measured:
    if asked.reason is not None or prediction is None:
        return Measured(name=asked.name, reason=asked.reason)
    found = np.stack(stages)
    top = asked.question.top
    return Measured(
        name=asked.name,
        reason=None,
        prediction=prediction,
        parts=error_parts(found),
        trio=usual_trio(found[:, 0], found[:, -1], np.stack(there)),
        kept=None if top is None else float(np.mean([largest_kept(s[0], s[-1], top) for s in found])),
    )


def _before_noise(
    reader: Reader, plan: Plan, both: tuple[Counts, Counts], entropy: Entropy, connection: Any, /
) -> tuple[Floats, Floats, Floats]:
    """Truth, aggregated and bounded answers; `both` are all events and those within the bound."""
    aggregated, bounded = (reader.answer(raw_table(plan, reader.table, counts)) for counts in both)
    if reader.asked.selection.whole:
        return aggregated, aggregated, bounded
    return exact_answer(reader, plan, entropy, connection), aggregated, bounded


#: The name of what noise and bounding do together, where they cannot be told apart.
JOINT = "noise and bounding"
#: Fewer large cells say nothing about whether raw data fit; with more, the mean error, or the mean square, in standard
#: deviations may be so many of its own above what it should be. A squared Laplace has a variance of five.
_LEAST_CELLS, _MOST_SDS, _SQUARE, _VARIANCE_OF_SQUARE = 10, 6.0, 2.0, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredQuestion:
    """One question: its error against the raw data, by cause. Raw: never for publishing.

    Attributes
    ----------
    reason
        Why it cannot be answered; then there is nothing else.
    table
        The published table that answers it.
    groups
        How many answers it has.
    parts, trio
        The error by cause, and the usual three figures.
    kept
        For rankings: the share of the truly largest groups that are among the largest published ones.
    joint
        Whether the error of noise holds that of bounding too.
    """

    name: str
    reason: str | None = None
    table: str | None = None
    groups: int = 0
    parts: ErrorParts | None = None
    trio: Trio | None = None
    kept: float | None = None
    joint: bool = False

    def causes(self, figures: Mapping[str, float], /) -> dict[str, float]:
        """Figures by cause, as far as causes can be told apart."""
        if not self.joint:
            return dict(figures)
        return {
            JOINT if name == "noise" else name: one for name, one in figures.items() if name != "bounding"
        }

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        if self.parts is None or self.trio is None:
            return {"name": self.name, "answered": False, "reason": self.reason}
        return {
            "name": self.name,
            "answered": True,
            "table": self.table,
            "answers": self.groups,
            "bias": self.causes(self.parts.bias),
            "absolute": self.causes(self.parts.absolute),
            "share_of_square": self.causes(self.parts.share),
            "total": {
                "bias": self.parts.total_bias,
                "absolute": self.parts.total_absolute,
                "root_mean_square": math.sqrt(self.parts.total_square),
            },
            "relative_error": dict(self.trio.relative),
            "drop_rate": self.trio.dropped,
            "spurious_rate": self.trio.spurious,
            "ranking_kept": self.kept,
        }


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
        return self.raw.bounded is None

    @property
    def fits(self) -> bool:
        """Whether cells that are far above the cut differ from the raw counts by about as much as noise does.

        More means that the release counted other events. Where bounding cannot be told, only published counts that are
        too large do. Without a card nothing is known of the noise, and nothing is refused.
        """
        base, release = self.frame.base, self.frame.release
        law = None if release is None else release.statement.base.law
        if release is None or law is None:
            return True
        count, spread = self._noised.bounded(base), self._noised.spread(base) + law.variance
        large = base.shown & (count >= (release.statement.base.least or 0) + 2 * np.sqrt(spread))
        off = (base.values - count)[large] / np.sqrt(spread[large])
        if off.size < _LEAST_CELLS:
            return True
        if self.joint:
            return bool(off.mean() <= _MOST_SDS / math.sqrt(off.size))
        return bool((off**2).mean() <= _SQUARE + _MOST_SDS * math.sqrt(_VARIANCE_OF_SQUARE / off.size))

    def measure(self, question: Question, /) -> MeasuredQuestion:
        """The error of one question, or why it has no answer."""
        try:
            asked = question.put(self.frame.domain)
            if asked.reason is not None:
                return MeasuredQuestion(name=question.name, reason=asked.reason)
            self._check_fine(asked)
            table, cells = self.frame.answering(asked.selection)
        except SpecError as refusal:
            return MeasuredQuestion(name=question.name, reason=str(refusal).removesuffix("."))
        groups = np.flatnonzero(cells.counts())
        stages = np.stack([stage[groups] for stage in self._stages(asked, table, cells)])
        there = cells.sums(table.shown)[groups] > 0
        return MeasuredQuestion(
            name=question.name,
            table=table.name,
            groups=len(groups),
            parts=error_parts(stages[None]),
            trio=usual_trio(stages[0], stages[-1], there),
            kept=None if question.top is None else largest_kept(stages[0], stages[-1], question.top),
            joint=self.joint,
        )

    def _check_fine(self, asked: Asked, /) -> None:
        """Refuse a question that neither the tables nor the raw data are fine enough for."""
        for name, shares in zip(self.frame.domain.names, asked.selection.shares, strict=True):
            if name in self.raw.coarse and not np.isin(shares, (0.0, 1.0)).all():
                raise SpecError(
                    f"the raw data have {name} in bins as wide as the tables, so the truth is not known"
                )

    def _stages(self, asked: Asked, table: FrameTable, cells: Groups, /) -> tuple[Floats, ...]:
        """The answer by groups: truth, aggregated, bounded, noised, published."""
        raw, noised = self.raw, self._noised
        answer = cells.sums
        aggregated = answer(table.sums(raw.cells, raw.counts))
        truth = aggregated if asked.selection.whole else self._truth(asked, cells)
        bounded = aggregated if self.joint else answer(noised.bounded(table))
        return (
            truth,
            aggregated,
            bounded,
            answer(noised.of(table)),
            answer(np.where(table.shown, table.values, 0)),
        )

    def _truth(self, asked: Asked, cells: Groups, /) -> Floats:
        """Every event exactly as asked, in groups of published labels."""
        raw, frame = self.raw, self.frame
        weights = raw.counts.astype(np.float64)
        for name, parts in asked.question.where.items():
            values, axis = raw.dimensions[name].values, frame.domain.axis(name)
            finer = len(values) // len(frame.domain.dimensions[axis].values)
            merged = {label: np.repeat(mask, finer) for label, mask in members(frame.domain, axis).items()}
            own = shares_of_values(values, parts, subject=name, merged=merged)
            weights *= own[raw.codes[name]]
        labels = dict(zip(frame.domain.names, frame.domain.decode(raw.cells), strict=True))
        groups = np.zeros(weights.size, np.int64)
        for name, size in zip(asked.question.by, cells.group_shape, strict=True):
            groups = groups * size + labels[name]
        return np.bincount(groups, weights=weights, minlength=cells.size).astype(np.float64)
