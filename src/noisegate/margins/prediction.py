"""The error that noise will cause in a question, before anything is read or spent.

It follows from the mechanism alone and is the same whatever the events are, so a card may state it. Reconciled tables are
made whole and non-negative after the noise. Where counts are small that changes the error, mostly to a smaller one; what is
predicted here is the error of counts well above zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from noisegate import limits
from noisegate.margins.error import ErrorLaw, ErrorTerm, SumErrors
from noisegate.tables import Asked, Selection, StatedPrediction

#: The level of the intervals that a card states.
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What noise does to the groups of one question, all cells being published.

    `expected_absolute` is the mean over groups, `half_width` the largest. `gap` is how far apart two groups must be for
    noise to leave their order alone 19 times in 20; only for rankings.
    """

    name: str
    table: str
    groups: int
    cells: float
    standard_deviation: float
    expected_absolute: float
    half_width: int
    level: float
    gap: int | None = None

    @property
    def stated(self) -> StatedPrediction:
        """The prediction as a card states it."""
        return StatedPrediction(
            table=self.table,
            groups=self.groups,
            cells_of_a_group=self.cells,
            standard_deviation=self.standard_deviation,
            expected_absolute=self.expected_absolute,
            half_width=self.half_width,
            level=self.level,
            gap=self.gap,
        )

    def as_json(self) -> dict[str, Any]:
        """The prediction as it stands on a card."""
        return self.stated.to_json()


def predict(asked: Asked, errors: SumErrors, /) -> Prediction:
    """What noise does to one question that can be answered."""
    cells_of = errors.tables(asked.selection)
    table = errors.best_table(cells_of)
    cells = cells_of[table]
    terms = cells.counts()
    groups = np.flatnonzero(terms)
    some = groups[:: max(1, len(groups) // limits.current().predicted_groups)]
    laws = errors.laws_of(cells, table, some)
    distinct = {id(law): law for law in laws}
    times = [sum(id(law) == key for law in laws) / len(laws) for key in distinct]
    scale = _part_weight(asked.selection)
    absolute = [law.expected_absolute for law in distinct.values()]
    widest = max(distinct.values(), key=lambda law: law.standard_deviation)
    return Prediction(
        name=asked.name,
        table=table,
        groups=len(groups),
        cells=float(terms[groups].mean()),
        standard_deviation=scale
        * math.sqrt(
            sum(
                share * law.standard_deviation**2 for share, law in zip(times, distinct.values(), strict=True)
            )
        ),
        expected_absolute=scale * sum(share * a for share, a in zip(times, absolute, strict=True)),
        half_width=math.ceil(scale * widest.half_width(LEVEL)),
        level=LEVEL,
        gap=None if asked.question.top is None else _twice(widest).half_width(LEVEL),
    )


def _part_weight(selection: Selection, /) -> float:
    """What noise shrinks by where cells count in part: the root of their mean squared weight."""
    square = 1.0
    for shares in selection.shares:
        used = shares[shares > 0]
        square *= float((used**2).mean())
    return math.sqrt(square)


def _twice(law: ErrorLaw, /) -> ErrorLaw:
    """The law of the difference of two independent errors."""
    return ErrorLaw(
        terms=tuple(ErrorTerm(coefficient=t.coefficient, copies=2 * t.copies, law=t.law) for t in law.terms)
    )
