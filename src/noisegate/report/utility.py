"""The section `utility` of an assessment: queries, what answers to them cost, and which cannot be answered."""

from __future__ import annotations

from collections.abc import Mapping

from noisegate.report.source import Json, Source
from noisegate.report.words import objects

#: Under these names a section lists its queries, if it is not a list itself.
_NAMES = ("questions", "queries", "workload")


def questions_of(source: Source, /) -> list[Json]:
    """The queries, answered or not."""
    section = source.content.get("utility")
    if isinstance(section, dict):
        section = next((section[name] for name in _NAMES if name in section), None)
    return objects(section)


def is_measured(source: Source, /) -> bool:
    """Whether there are queries whose errors were measured against raw data; without a word about it, they were."""
    section = source.content.get("utility")
    return bool(section) and not (isinstance(section, dict) and section.get("measured") is False)


def how_measured(source: Source, /) -> tuple[str, ...]:
    """What the split of errors by cause rests on, in sentences."""
    return tuple(map(str, (source.section("utility") or {}).get("how") or ()))


def errors_of(question: Json, /) -> Mapping[str, float]:
    """The mean absolute error of a query by cause, as measured or else as predicted; empty if it has no answer.

    From a release alone it is half of the mean interval.
    """
    measured, total = question.get("absolute"), question.get("total")
    if isinstance(measured, dict):
        parts = {
            str(name): float(value) for name, value in measured.items() if isinstance(value, int | float)
        }
        if isinstance(total, dict) and isinstance(total.get("absolute"), int | float):
            parts["together"] = float(total["absolute"])
        return parts
    if isinstance(half := question.get("half_width"), int | float):
        return {"half of the interval": float(half)}
    predicted = question.get("predicted_noise") or question.get("noise")
    expected = predicted.get("expected_absolute") if isinstance(predicted, dict) else None
    return {"noise": float(expected)} if isinstance(expected, int | float) else {}
