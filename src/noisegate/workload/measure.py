"""The measured error of every question, taken apart, against the raw events: for the custodian's eyes only.

Fresh noise is drawn again and again on the custodian's machine, never the noise that is published, and what comes of
it is compared with the truth. Figures that were measured against the truth are not private: they belong on no card and
into no release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
from noisegate.tables.question import Asked
from noisegate.workload.draws import Floats, Reader, draw_tables, raw_table
from noisegate.workload.truth import exact_answer, unbounded

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
