"""What noise will do to each question of a planned release, as its card states it.

What suppression, bounding and coarse bins add depends on the events: that is measured for the custodian's eyes
(`noisegate.workload`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from noisegate.laws import LatticeLaw
from noisegate.margins import Prediction, SumErrors, predict
from noisegate.releases.plan import Plan
from noisegate.releases.questions import asked_questions
from noisegate.tables import Asked, StatedQuestion


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
    return not asked.question.dimensions <= shared


def predictions(plan: Plan, /) -> dict[str, Prediction | str]:
    """For each question of the plan's workload what noise does to it, or why it cannot be answered."""
    questions = asked_questions(plan.spec)
    if not questions:
        return {}
    errors = sum_errors(plan)
    return {one.name: predict(one, errors) if one.reason is None else one.reason for one in questions}


def workload_statement(plan: Plan, /) -> tuple[StatedQuestion, ...]:
    """The workload as a card states it: every question, and what noise does to its answer."""
    known = predictions(plan)
    found = []
    for asked in asked_questions(plan.spec):
        prediction = known[asked.name]
        if isinstance(prediction, str):
            refused = replace(asked.question, reason=prediction, wanted=None)
            found.append(StatedQuestion(question=refused))
        else:
            question = replace(asked.question, wanted=None)  # What the custodian aims for is not stated.
            differs = depends_on_counts(asked, plan)
            found.append(
                StatedQuestion(question=question, noise=prediction.stated, depends_on_counts=differs)
            )
    return tuple(found)
