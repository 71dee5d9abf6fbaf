"""The questions of a spec's workload, put to the cells that its release publishes. No event has been seen."""

from __future__ import annotations

from noisegate.spec import ReleaseSpec
from noisegate.tables import Asked, Question, shares_of_values


def asked_questions(spec: ReleaseSpec, /) -> tuple[Asked, ...]:
    """All questions of the spec's workload; refuses values that no dimension has."""
    return tuple(_asked(spec, question) for question in spec.questions)


def _asked(spec: ReleaseSpec, question: Question, /) -> Asked:
    at = f"workload.{question.name}.where"
    for name, parts in question.where.items():
        if name not in spec.domain.names:
            shares_of_values(spec.dimensions[name].values, parts, subject=f"{at}.{name}")
    return question.put(spec.domain, at=at)
