"""The questions of a workload, put to the cells that a release publishes."""

from __future__ import annotations

from collections.abc import Sequence

from noisegate.spec import ReleaseSpec
from noisegate.tables import Asked, Question, shares_of_values


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
