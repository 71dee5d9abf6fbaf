"""What a budget buys: the error of every question for a range of epsilons, and the epsilon that a wanted error needs.

No event is read and nothing is spent. Laplace-like noise has a scale in inverse proportion to epsilon, so a plan for one
epsilon says all; Gaussian noise is planned anew for each.

The plan by itself knows no counts and assumes that they are well above zero. With a release that is public already (`like`), its
counts stand in for the truth and the release is rehearsed on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.laws import LatticeLaw, SeededNoise, make_law
from noisegate.margins import Prediction, SumErrors, predict
from noisegate.releases import (
    Plan,
    WorkloadStrategy,
    asked_questions,
    depends_on_counts,
    make_plan,
    strategy_of,
    sum_errors,
)
from noisegate.spec import ReleaseSpec
from noisegate.tables import Asked
from noisegate.workload.law_choice import LawError, compared_laws
from noisegate.workload.needed import NeededBudget, needed_budget
from noisegate.workload.rehearsal import DRAWS, Rehearsed, StandIn, rehearse, stand_in
from noisegate.workload.threshold_choice import ThresholdOutlook, compared_thresholds
from noisegate.workload.want import Wants

#: The epsilons that are shown, as multiples of the spec's own.
FACTORS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
_PRECISION = 0.005
_LEAST_FACTOR, _MOST_FACTOR = 1e-4, 1e4


def errors_by_factor(plan: Plan, /) -> Callable[[float], SumErrors]:
    """The errors of sums if epsilon were so many times the spec's, each worked out once."""
    first = sum_errors(plan)
    known: dict[float, SumErrors] = {1.0: first}

    def at(factor: float) -> SumErrors:
        if factor not in known:
            known[factor] = SumErrors(
                domain=first.domain,
                base=first.base,
                margins=first.margins,
                laws=_laws(plan, factor),
                method=first.method,
                parts=first.parts,
            )
        return known[factor]

    return at


def plan_at(plan: Plan, factor: Fraction, /) -> Plan:
    """The plan if epsilon were so many times the spec's."""
    if factor == 1:
        return plan
    privacy = plan.spec.privacy
    if privacy.epsilon is not None:
        changed: dict[str, Any] = {"epsilon": privacy.epsilon * factor}
    else:
        assert privacy.scale is not None
        changed = {"scale": privacy.scale / factor}
    return make_plan(plan.spec.model_copy(update={"privacy": privacy.model_copy(update=changed)}))


def factor_for(asked: Asked, errors_at: Callable[[float], SumErrors], aim: float, /) -> float:
    """The least multiple of epsilon whose expected error is at most `aim`, by bisection on its logarithm."""

    def fine(factor: float) -> bool:
        return predict(asked, errors_at(factor)).expected_absolute <= aim

    low, high = 1.0, 1.0
    while not fine(high):
        low, high = high, 2 * high
        if high > _MOST_FACTOR:
            return math.inf
    while low == high or fine(low):
        low, high = low / 2, low
        if low < _LEAST_FACTOR:
            return high
    while high / low > 1 + _PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high


def epsilon_on(points: Sequence[tuple[float, float]], aim: float, /) -> float:
    """The least epsilon whose error is at most `aim`, on straight lines between logarithms; never below the first."""
    enough = next((place for place, (_, error) in enumerate(points) if error <= aim), None)
    if enough is None:
        return math.inf
    if enough == 0:
        return points[0][0]
    (low, more), (high, less) = points[enough - 1], points[enough]
    share = math.log(more / aim) / math.log(more / max(less, 1e-9))
    return float(low * (high / low) ** share)


def _laws(plan: Plan, factor: float, /) -> Mapping[str, LatticeLaw]:
    privacy = plan.spec.privacy
    if privacy.law == "discrete-gaussian" and privacy.epsilon is not None:
        epsilon = Fraction(privacy.epsilon * Fraction(factor)).limit_denominator(10**6)
        changed = privacy.model_copy(update={"epsilon": epsilon})
        again = make_plan(plan.spec.model_copy(update={"privacy": changed}))
        return {table.name: table.noise.law for table in again.tables if table.noise is not None}
    return {
        table.name: _scaled(table.noise.name, float(table.noise.scale) / factor)
        for table in plan.tables
        if table.noise is not None
    }


def _scaled(name: str, scale: float, /) -> LatticeLaw:
    law = make_law(name, scale=scale)
    assert isinstance(law, LatticeLaw)
    return law


_SEED = 2016


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutlook:
    """One question: its prediction for each epsilon, and the epsilon that its wanted error needs.

    `reason` says why it cannot be answered; then there is nothing else. `rehearsed` has what was found on a stand-in for each
    epsilon, if there was one; then `epsilon_needed` is about that, missing rows included. It is infinite if no epsilon that
    was tried is enough.
    """

    name: str
    reason: str | None
    by_epsilon: tuple[tuple[float, Prediction], ...]
    wanted: float | None
    epsilon_needed: float | None
    depends_on_counts: bool = False
    rehearsed: tuple[Rehearsed, ...] = ()

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Expected absolute error by noise for each epsilon: as rehearsed, else as predicted."""
        errors = [one.noise for one in self.rehearsed] or [p.expected_absolute for _, p in self.by_epsilon]
        return [(epsilon, error) for (epsilon, _), error in zip(self.by_epsilon, errors, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """The question as plain data."""
        needed = self.epsilon_needed
        return {
            "name": self.name,
            "answered": self.reason is None,
            "reason": self.reason,
            "wanted": self.wanted,
            "epsilon_needed": needed if needed is not None and math.isfinite(needed) else None,
            "depends_on_counts": self.depends_on_counts,
            "by_epsilon": [
                {
                    "epsilon": epsilon,
                    **prediction.as_json(),
                    "like": None if found is None else found.as_json(),
                }
                for (epsilon, prediction), found in zip_longest(self.by_epsilon, self.rehearsed)
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """All questions of a spec. `epsilon` is the loss of one unit that the spec as it stands would be charged.

    `like` are the counts that stood in for the truth, if any did; `needed` is the budget that stated errors need, if any
    were; `laws` are the noise laws that could be used, that with the smaller errors first; `thresholds` are those of the base, the lowest first;
    `strategy` is what is measured for the workload, if the spec leaves that to be found.
    """

    spec_name: str
    unit: str
    epsilon: float
    questions: tuple[QuestionOutlook, ...]
    like: StandIn | None = None
    needed: NeededBudget | None = None
    laws: tuple[LawError, ...] = ()
    thresholds: tuple[ThresholdOutlook, ...] = ()
    strategy: WorkloadStrategy | None = None

    @property
    def assumes(self) -> str | None:
        """What is assumed about counts; None if the errors are the same whatever they are."""
        if self.like is not None:
            return f"counts like those of the release {self.like.name!r}"
        return "counts well above zero" if any(one.depends_on_counts for one in self.questions) else None

    def as_json(self) -> dict[str, Any]:
        """The outlook as plain data."""
        return {
            "spec": self.spec_name,
            "unit": self.unit,
            "epsilon": self.epsilon,
            "spent": False,
            "assumes": self.assumes,
            "like": None if self.like is None else self.like.as_json(),
            "questions": [one.as_json() for one in self.questions],
            "laws": [one.as_json() for one in self.laws],
            "thresholds": [one.as_json() for one in self.thresholds],
            "needed": None if self.needed is None else self.needed.as_json(),
        }


def outlook(
    spec: ReleaseSpec,
    /,
    *,
    wanted: float | None = None,
    want: Wants | None = None,
    like: Path | None = None,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> Outlook:
    """What each question's error would be; reads no event and spends nothing.

    Parameters
    ----------
    wanted
        The mean absolute error to aim for where a question states none.
    want
        Questions with the errors that 19 answers in 20 must stay within: text such as "by mode: 5%, by location: 50", or a
        mapping. The spec then needs no workload.
    like
        The directory of a release whose published counts stand in for the truth. Noise is drawn on them again and again; it
        is seeded, so that the plan is the same every time.
    report
        Told how much is done, and of how much.
    """
    if not spec.workload and want is None:
        raise SpecError(
            "the spec has no workload, so there is nothing to plan for; add one: "
            "workload: {morning-peak: {where: {time: 07:00..09:00}, by: [mode]}}."
        )
    if spec.series is not None and (want is not None or like is not None):
        raise SpecError(
            "--want and --like are worked out for single releases, and the spec is a series; plan one week without the series block."
        )
    if wanted is not None and not (math.isfinite(wanted) and wanted > 0):
        raise SpecError.for_value("error", found=wanted, allowed="a number above 0")
    strategy = strategy_of(spec)
    plan = make_plan(spec if strategy is None else strategy.spec)
    spec = plan.spec
    stand = None if like is None else stand_in(spec, like, rng=np.random.default_rng(_SEED))
    asked = asked_questions(spec)
    steps = _Steps(
        report, 1 + len(asked) + (0 if stand is None else len(FACTORS)) + (0 if want is None else 1)
    )
    errors_at = errors_by_factor(plan)
    found = []
    for one in asked:
        found.append(_of(one, plan, errors_at, wanted, bisect=stand is None))
        steps.done()
    if stand is not None:
        found = _rehearsed(plan, stand, asked, found, steps)
    needed = None
    if want is not None:
        needed = needed_budget(spec, want, like=stand)
        steps.done()
    laws = compared_laws(plan, asked)
    steps.done()
    return Outlook(
        spec_name=spec.name,
        unit=spec.privacy.unit,
        epsilon=float(plan.charged.epsilon),
        questions=tuple(found),
        like=stand,
        needed=needed,
        laws=laws,
        thresholds=compared_thresholds(plan, stand),
        strategy=strategy,
    )


class _Steps:
    """Counts what is done, and says so more often than it counts."""

    def __init__(self, report: Callable[[int, int], None], total: int) -> None:
        self._report, self._done, self._total = report, 0, total
        self.busy()

    def busy(self) -> None:
        self._report(self._done, self._total)

    def done(self) -> None:
        self._done += 1
        self.busy()


def _of(
    asked: Asked,
    plan: Plan,
    errors_at: Callable[[float], SumErrors],
    wanted: float | None,
    /,
    *,
    bisect: bool,
) -> QuestionOutlook:
    if asked.reason is not None:
        return QuestionOutlook(
            name=asked.name, reason=asked.reason, by_epsilon=(), wanted=None, epsilon_needed=None
        )
    base = float(plan.charged.epsilon)
    own = asked.question.wanted
    aim = float(own) if own is not None else wanted
    return QuestionOutlook(
        name=asked.name,
        reason=None,
        by_epsilon=tuple((float(f) * base, predict(asked, errors_at(float(f)))) for f in FACTORS),
        wanted=aim,
        epsilon_needed=None if aim is None or not bisect else base * factor_for(asked, errors_at, aim),
        depends_on_counts=depends_on_counts(asked, plan),
    )


def _rehearsed(
    plan: Plan, stand: StandIn, asked: Sequence[Asked], found: Sequence[QuestionOutlook], steps: _Steps, /
) -> list[QuestionOutlook]:
    """The same questions with what a rehearsal at every epsilon says of them; at the spec's own more closely."""
    if plan.base.cells > limits.current().measured_cells:
        raise SpecError(
            f"a plan with the counts of another release holds all {plan.base.cells:,} cells in memory; at most "
            f"{limits.current().measured_cells:,} are allowed."
        )
    by_factor = []
    for place, factor in enumerate(FACTORS):
        both = {
            one.name: (one, entry.by_epsilon[place][1])
            for one, entry in zip(asked, found, strict=True)
            if entry.by_epsilon
        }
        by_factor.append(
            rehearse(
                plan_at(plan, factor),
                stand,
                both,
                entropy=SeededNoise(seed=_SEED),
                draws=None if factor == 1 else DRAWS,
                report=steps.busy,
            )
        )
        steps.done()
    return [_with(one, [by_name[one.name] for by_name in by_factor if one.by_epsilon]) for one in found]


def _with(question: QuestionOutlook, rehearsed: Sequence[Rehearsed], /) -> QuestionOutlook:
    needed = None
    if question.wanted is not None:
        points = [(e, r.published) for (e, _), r in zip(question.by_epsilon, rehearsed, strict=True)]
        needed = epsilon_on(points, question.wanted)
    return replace(question, rehearsed=tuple(rehearsed), epsilon_needed=needed)
