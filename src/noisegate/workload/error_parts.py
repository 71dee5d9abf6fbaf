"""The error of each question of a workload on the tables as they were published, taken apart.

One question is put to five states of the data (`noisegate.inference.profile.parts`): the raw events as asked, the same from
the cells that are published, the same with every unit held to its bound, with noise, and as published. The steps
between them are the errors of aggregation, bounding, noise and suppression; they add up to the whole error, question by
question and group by group. Two of the states were never written down and are means: who kept which cells when lots
were drawn, and the noise in rows that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.inference.profile.parts import ErrorParts, Trio, error_parts, largest_kept, usual_trio
from noisegate.tables.question import Asked, Question
from noisegate.tables.selection import Groups
from noisegate.tables.where import members, shares_of_values
from noisegate.workload.frame import Frame, FrameTable
from noisegate.workload.noised import Noised
from noisegate.workload.raw_cells import RawCells

Floats = NDArray[np.float64]

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
        law = None if release is None else release.release.base.law
        if release is None or law is None:
            return True
        count, spread = self._noised.bounded(base), self._noised.spread(base) + law.variance
        large = base.shown & (count >= (release.release.base.threshold or 0) + 2 * np.sqrt(spread))
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
