"""What analysts lose by the release as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Words
from noisegate.assessment.words import plain, short
from noisegate.pictures import QueryErrors
from noisegate.workload import ErrorParts, Measured, Trio, Usefulness

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Json = Mapping[str, Any]

#: Causes in the order in which they are named; the whole comes last.
CAUSES = (
    "noise",
    "noise and bounding",
    "suppression",
    "aggregation",
    "bounding",
    "half of the interval",
    "together",
)
#: More rows are no picture.
_MOST = 16
#: Caption, title of the axis, and what is largest: where raw data were at hand, and where they were not.
_MEASURED = (
    (
        "How far off the answer to each query is on average, and what that is due to. Dots: each cause alone. Bar: all "
        "together, where causes can add up or cancel."
    ),
    "mean error of an answer, in events",
    "error",
)
_ALONE = (
    "How sure a reader of the release can be: half of the interval that the answer to each query has, on average.",
    "half of the interval of an answer, in events",
    "half interval",
)

WORDS: Mapping[str, Words] = {
    "utility": Words(
        says="Error of the questions that people ask, by what causes it.",
        meaning="Some questions that the release was made for are answered badly, or not at all.",
        method=(
            "Each query is put to the raw events as it is asked, to the cells that are published, to these after "
            "bounding, with noise, and as published. The error of each step is the change it makes; the changes "
            "add up."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """The error of each question, if there are raw data to measure it by."""
    return about_usefulness(facts.useful)


def about_usefulness(useful: Usefulness | None, /) -> list[Result]:
    """The error of each question, measured against the raw data."""
    if useful is None:
        return []
    found = [(one, one.parts, one.trio) for one in useful.questions if one.parts and one.trio]
    refused = [f"{one.name}: not answered, {one.reason}." for one in useful.questions if one.reason]
    return [
        Check(
            id="utility",
            outcome="known",
            title=f"against the raw counts: {useful.drop_rate:.1%} of cells with people are not published{_worst(found)}",
            numbers=useful.to_json(),
            evidence=[*(_split(one, parts) for one, parts, _ in found), *refused, *useful.how],
        )
    ]


def _worst(found: list[tuple[Measured, ErrorParts, Trio]], /) -> str:
    if not found:
        return "; none of the questions can be answered"
    one, parts, trio = max(found, key=lambda three: three[2].relative["median"])
    causes = one.causes(parts.absolute)
    return (
        f"; the worst of {len(found)} questions is {one.name}, half of its answers are off by "
        f"{trio.relative['median']:.1%} or more, mostly by {max(causes, key=lambda cause: causes[cause])}"
    )


def _split(one: Measured, parts: ErrorParts, /) -> str:
    causes = ", ".join(f"{value:.3g} by {name}" for name, value in one.causes(parts.absolute).items())
    return f"{one.name}: off by {parts.total_absolute:.3g} on average ({causes})."


def show(assessment: Assessment, /) -> Exhibit | None:
    """What answers to queries cost, and which queries have none."""
    asked = assessment.useful or assessment.answered
    if asked is None:
        return None
    content = plain(asked.to_json())
    questions: Sequence[Json] = content["questions"]
    return Exhibit(
        section="utility",
        paragraphs=tuple(content.get("how") or ()),
        grids=(
            _by_cause(questions),
            _beside_truth(questions),
            _rankings(questions),
            _alone(questions),
            _unanswered(questions),
        ),
        figures=tuple(_figures(questions, measured=assessment.useful is not None)),
    )


def _errors(question: Json, /) -> dict[str, float]:
    """The mean absolute error of a query by cause; half of the mean interval, if it was answered without raw data."""
    if question.get("absolute"):
        return {**question["absolute"], "together": question["total"]["absolute"]}
    half = question.get("half_width")
    return {} if half is None else {"half of the interval": half}


def _figures(questions: Sequence[Json], /, *, measured: bool) -> Iterator[Figure]:
    errors = {str(one["name"]): _errors(one) for one in questions}
    drawn = {
        name: parts for name, parts in list(errors.items())[:_MOST] if any(v > 0 for v in parts.values())
    }
    if not drawn:
        return
    worst = max(drawn, key=lambda name: _whole(drawn[name]))
    caption, title, about = _MEASURED if measured else _ALONE
    used = [cause for cause in CAUSES if any(cause in parts for parts in errors.values())]
    yield Figure(
        key="workload",
        caption=caption,
        alt=(
            f"Dot plot of {len(drawn)} queries on a scale of factors. The largest {about} is "
            f"{short(_whole(drawn[worst]))} events, for {worst}."
        ),
        picture=QueryErrors(queries=drawn, title=title),
        data=Grid.of(
            f"{title[0].upper()}{title[1:]}, by query",
            ("query", *used),
            (
                (name, *(float(f"{parts[cause]:.3g}") if cause in parts else "–" for cause in used))
                for name, parts in errors.items()
                if parts
            ),
        ),
        about=("utility",),
    )


def _whole(parts: Mapping[str, float], /) -> float:
    return parts.get("together") or max(parts.values(), default=0.0)


def _by_cause(questions: Sequence[Json], /) -> Grid:
    """The mean error of each query by cause, where it was measured."""
    errors = {str(one["name"]): _errors(one) for one in questions if one.get("absolute")}
    causes = [cause for cause in CAUSES if any(cause in parts for parts in errors.values())]
    rows = [
        (name, *(short(parts[cause]) if cause in parts else "–" for cause in causes))
        for name, parts in errors.items()
    ]
    return Grid.of("Mean error of an answer by cause, in events", ("query", *causes), rows)


def _beside_truth(questions: Sequence[Json], /) -> Grid:
    """The usual three figures of each query, beside its mean error."""
    rows = [
        (
            str(one["name"]),
            short(_errors(one)["together"]),
            *(_percent(one["relative_error"].get(key)) for key in ("median", "ninth_decile")),
            *(_percent(one.get(key)) for key in ("drop_rate", "spurious_rate")),
        )
        for one in questions
        if one.get("relative_error")
    ]
    columns = (
        "query",
        "mean error",
        "median relative error",
        "ninth decile",
        "groups lost",
        "groups invented",
    )
    return Grid.of("Answers beside the truth", columns, rows)


def _rankings(questions: Sequence[Json], /) -> Grid:
    """How many of the truly largest a ranking has right."""
    rows = [
        (str(one["name"]), _percent(one["ranking_kept"]))
        for one in questions
        if one.get("ranking_kept") is not None
    ]
    return Grid.of("Rankings beside the truth", ("query", "of the largest, rightly listed"), rows)


def _alone(questions: Sequence[Json], /) -> Grid:
    """What a reader of the release can be sure of, where no raw data were at hand."""
    rows = [
        (
            str(one["name"]),
            one.get("answers"),
            short(one["half_width"]),
            _percent(one.get("relative")),
            _percent(one.get("missing")),
        )
        for one in questions
        if one.get("half_width") is not None
    ]
    columns = ("query", "answers", "half interval", "of the answer", "cells missing")
    return Grid.of("Answers from the release alone", columns, rows)


def _unanswered(questions: Sequence[Json], /) -> Grid:
    """Queries that cannot be answered, and why."""
    rows = [(str(one["name"]), str(one["reason"])) for one in questions if one.get("reason")]
    return Grid.of("Queries that cannot be answered", ("query", "reason"), rows)


def _percent(value: float | None, /) -> str:
    return "–" if value is None else f"{value:.1%}"
