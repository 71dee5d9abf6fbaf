"""What the noise will do to the questions of a planned release, and what the custodian should know before spending.

The questions of a spec's workload, put to the cells that its release publishes. No event has been seen.

What suppression, bounding and coarse bins add depends on the events: that is measured for the custodian's eyes
(`noisegate.workload`).

The forecast looks at raw counts and is shown on the custodian's console only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from noisegate.engine import Counts, LocalCounts, SlicedCounts
from noisegate.laws import LatticeLaw
from noisegate.margins import Prediction, SumErrors, predict
from noisegate.releases.plan import Plan
from noisegate.spec import ReleaseSpec
from noisegate.tables import Asked, Ints, Question, StatedQuestion, shares_of_values


def asked_questions(
    spec: ReleaseSpec, /, *, questions: Sequence[Question] | None = None
) -> tuple[Asked, ...]:
    """All questions of the spec's workload, or others put to its cells; refuses values that no dimension has."""
    return tuple(_asked(spec, one) for one in (spec.questions if questions is None else questions))


def _asked(spec: ReleaseSpec, question: Question, /) -> Asked:
    at = f"workload.{question.name}.where"
    for name, parts in question.where.items():
        if name not in spec.domain.names:
            shares_of_values(spec.dimensions[name].values, parts, subject=f"{at}.{name}")
    return question.put(spec.domain, at=at)


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


#: More spurious rows than this, and a release is hard to read.
MOST_SPURIOUS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """Expected rows of the base table: how many cells are empty, and how often each raw count is there."""

    law: LatticeLaw
    empty: int = field(repr=False)
    raw_counts: Ints = field(repr=False)
    times: Ints = field(repr=False)

    @classmethod
    def of(cls, plan: Plan, counts: Counts | SlicedCounts, /) -> Forecast | None:
        """The forecast by the noise of the base; None where empty cells are never published."""
        if plan.spec.privacy.zeros == "keep" or plan.base.noise is None:
            return None
        sliced = LocalCounts.held(counts, cells=plan.base.cells) if isinstance(counts, Counts) else counts
        raw, times = sliced.histogram()
        empty = plan.base.cells - int(times.sum())
        return cls(law=plan.base.noise.law, empty=empty, raw_counts=raw, times=times)

    def spurious(self, least: int | None, /) -> float:
        """The expected share of rows that are really empty if values from `least` on are published."""
        if least is None:
            return self.empty / (self.empty + int(self.times.sum()))
        spurious = self.empty * float(np.exp(self.law.logsf(least - 1)))
        real = float(self.times @ np.exp(self.law.logsf(least - 1 - self.raw_counts)))
        return spurious / (spurious + real) if spurious + real > 0 else 0.0

    def good_threshold(self, *, above: int) -> int | None:
        """The least threshold above `above` with few spurious rows; None if none up to the largest count has.

        The share falls as the threshold rises to the largest count, and hardly beyond: what passes there is noise.
        """
        low, high = above, int(self.raw_counts.max(initial=0))
        if high <= low or self.spurious(high) > MOST_SPURIOUS:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.spurious(middle) <= MOST_SPURIOUS else (middle, high)
        return high


def warnings_before_spending(plan: Plan, counts: Counts | SlicedCounts, /) -> tuple[str, ...]:
    """Sentences about events and choices that will disappoint, each with a better one."""
    uncounted = _uncounted(plan, counts)
    if uncounted:
        return (uncounted,)
    forecast = Forecast.of(plan, counts)
    share = 0.0 if forecast is None else forecast.spurious(plan.base.least)
    if forecast is None or share <= MOST_SPURIOUS:
        return ()
    better = forecast.good_threshold(above=plan.base.least or 0)
    advice = (
        "no threshold would do: use wider cells, fewer tables or a larger epsilon"
        if better is None
        else f"with suppress: {{below: {better}}} it would be at most 5 %"
    )
    # Reconciling moves noise out of empty places; by how much depends on the counts.
    about = "up to" if plan.spec.privacy.margins == "reconcile" else "about"
    what = f"{about} {100 * share:.0f} % of the rows of {plan.base.name} will be cells that are really empty"
    return (f"{what}, shown because of noise; {advice}.",)


def _uncounted(plan: Plan, counts: Counts | SlicedCounts, /) -> str:
    """The sentence about events of which none counts; empty if some do."""
    if counts.tally.counted:
        return ""
    start = "none of the events is counted, so that the release would be noise alone"
    reasons = list(counts.tally.outside)
    if reasons == ["no person is named"]:
        return f"{start}: column {plan.spec.events.person!r} is empty throughout; name the column of persons."
    return (
        f"{start}; compare the values, dates and columns of the spec with the events ({'; '.join(reasons)})."
    )
