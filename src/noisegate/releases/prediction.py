"""The error that noise will cause in each question of a workload, before anything is read or spent.

It follows from the mechanism alone and is the same whatever the events are, so a card may state it. What suppression, bounding
and coarse bins add depends on the events: that is measured for the custodian's eyes (`noisegate.workload`).

Reconciled tables are made whole and non-negative after the noise. Where counts are small that changes the error, mostly to a
smaller one; what is predicted here is the error of counts well above zero. `depends_on_counts` says which questions are meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisegate import limits
from noisegate.laws._law import LatticeLaw
from noisegate.margins.error import ErrorLaw, ErrorTerm
from noisegate.margins.sum_errors import SumErrors
from noisegate.releases.plan import LEVEL, Plan
from noisegate.releases.questions import Asked, asked_questions


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

    def as_json(self) -> dict[str, Any]:
        """The prediction as it stands on a card."""
        return {
            "table": self.table,
            "groups": self.groups,
            "cells_of_a_group": self.cells,
            "standard_deviation": self.standard_deviation,
            "expected_absolute": self.expected_absolute,
            "half_width": self.half_width,
            "level": self.level,
            "gap": self.gap,
        }


def sum_errors(plan: Plan, /, *, laws: Mapping[str, LatticeLaw] | None = None) -> SumErrors:
    """The errors of any sum of the planned release; `laws` may replace its noises."""
    own = {table.name: table.noise.law for table in plan.tables if table.noise is not None}
    return SumErrors.of(
        plan.spec.domain,
        base=plan.base.name,
        margins=plan.spec.margins,
        laws=own if laws is None else laws,
        method=plan.spec.privacy.margins,
    )


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
    scale = _part_weight(asked)
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


def depends_on_counts(asked: Asked, plan: Plan, /) -> bool:
    """Whether the error of noise in a question is another one where counts are small.

    Noise that is published as it is does not know the counts. Reconciled tables are kept from being negative, from coarse to fine,
    which leaves sums alone over all that margins have of their own. With `zeros: keep` empty cells have no noise.
    """
    privacy = plan.spec.privacy
    if privacy.margins != "reconcile":
        return privacy.zeros == "keep"
    kept = [frozenset(table.dimensions) for table in plan.margins]
    shared = frozenset.intersection(*kept) if len(kept) > 1 else frozenset[str]()
    return not asked.dimensions <= shared


def predictions(plan: Plan, /) -> dict[str, Prediction | str]:
    """For each question of the plan's workload what noise does to it, or why it cannot be answered."""
    questions = asked_questions(plan.spec)
    if not questions:
        return {}
    errors = sum_errors(plan)
    return {one.name: predict(one, errors) if one.reason is None else one.reason for one in questions}


def workload_statement(plan: Plan, /) -> list[dict[str, Any]]:
    """The workload as a card states it: every question, and what noise does to its answer."""
    known = predictions(plan)
    found = []
    for asked in asked_questions(plan.spec):
        question, prediction = asked.question, known[asked.name]
        entry: dict[str, Any] = {
            "name": asked.name,
            "where": {dimension: list(parts) for dimension, parts in question.where.items()},
            "by": list(question.by),
            "top": question.top,
        }
        if isinstance(prediction, str):
            found.append({**entry, "answered": False, "reason": prediction})
        else:
            differs = depends_on_counts(asked, plan)
            found.append(
                {**entry, "answered": True, "noise": prediction.as_json(), "depends_on_counts": differs}
            )
    return found


def _part_weight(asked: Asked, /) -> float:
    """What noise shrinks by where cells count in part: the root of their mean squared weight."""
    square = 1.0
    for weights in asked.weights:
        used = weights[weights > 0]
        square *= float((used**2).mean())
    return math.sqrt(square)


def _twice(law: ErrorLaw, /) -> ErrorLaw:
    """The law of the difference of two independent errors."""
    return ErrorLaw(
        terms=tuple(ErrorTerm(coefficient=t.coefficient, copies=2 * t.copies, law=t.law) for t in law.terms)
    )
