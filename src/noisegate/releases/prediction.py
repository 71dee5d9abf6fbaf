"""What the noise will do to the questions of a planned release, and what the custodian should know before spending.

The questions of a spec's workload, put to the cells that its release publishes. No event has been seen.

What suppression, bounding and coarse bins add depends on the events: that is measured for the custodian's eyes
(`noisegate.workload`). Advice never comes from raw counts: a threshold that was chosen by them would tell of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from noisegate.laws import LatticeLaw
from noisegate.margins import Prediction, SumErrors, predict
from noisegate.releases.plan import Plan, least_passing
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


#: A cell that is really empty should be shown less often than this, or a release is hard to read.
MOST_SPURIOUS = 0.05
#: A base with less of the budget than this is said to have it.
_LEAST_SHARE = Fraction(1, 10)
#: What the advice on a threshold aims for.
_WANTED_SPURIOUS = 0.001


def warnings_before_spending(plan: Plan, /) -> tuple[str, ...]:
    """Sentences about choices that will disappoint, each with a better one. A function of the spec: no event has been seen."""
    return (*_neglected_base(plan), *_spurious_cells(plan))


def _neglected_base(plan: Plan, /) -> tuple[str, ...]:
    """A strategy for a workload spends next to nothing on cells that no question is about."""
    base = plan.base
    if plan.spec.privacy.strategy == "tables" or base.share is None or base.share >= _LEAST_SHARE:
        return ()
    dimensions = ", ".join(base.dimensions)
    sentence = (
        f"strategy: workload leaves {float(100 * base.share):.2g} % of the budget to {base.name}, whose cells are off by {base.error.expected_absolute:.3g} on "
        f"average: no question asks for much of it; add one by [{dimensions}] to the workload if it matters."
    )
    return (sentence,)


def _spurious_cells(plan: Plan, /) -> tuple[str, ...]:
    base = plan.base
    if plan.spec.privacy.zeros == "keep" or base.noise is None or base.least is None:
        return ()
    share = float(base.noise.passing(base.least))
    if share <= MOST_SPURIOUS:
        return ()
    better = least_passing(base.noise, _WANTED_SPURIOUS)
    # Reconciling moves noise out of empty places; by how much depends on the counts.
    about = "up to" if plan.spec.privacy.margins == "reconcile" else "about"
    what = f"{about} {100 * share:.0f} % of the cells of {base.name} that are really empty will be shown because of noise"
    wanted = f"with suppress: {{below: {better}}} it would be at most {100 * _WANTED_SPURIOUS:g} %"
    return (f"{what}; {wanted}.",)
