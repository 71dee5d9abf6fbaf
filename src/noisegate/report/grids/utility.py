"""What answers to queries cost, and which queries have none."""

from __future__ import annotations

from noisegate.pictures.workload import PARTS
from noisegate.report.page import Grid
from noisegate.report.source import Source
from noisegate.report.utility import errors_of, questions_of
from noisegate.report.words import short


def causes_of_errors(source: Source, /) -> Grid:
    """The mean error of each query by cause, where it was measured."""
    errors = {
        str(one.get("name")): errors_of(one)
        for one in questions_of(source)
        if isinstance(one.get("absolute"), dict)
    }
    causes = [part for part in PARTS if any(part in parts for parts in errors.values())]
    rows = [
        (name, *(short(parts[cause]) if cause in parts else "–" for cause in causes))
        for name, parts in errors.items()
    ]
    return Grid.of("Mean error of an answer by cause, in events", ("query", *causes), rows)


def answered_queries(source: Source, /) -> Grid:
    """The usual three figures of each query, beside its mean error."""
    rows = []
    for one in questions_of(source):
        relative = one.get("relative_error")
        if not isinstance(relative, dict):
            continue
        together = errors_of(one).get("together")
        rows.append(
            (
                str(one.get("name")),
                "–" if together is None else short(together),
                *(_percent(relative.get(key)) for key in ("median", "ninth_decile")),
                *(_percent(one.get(key)) for key in ("drop_rate", "spurious_rate")),
            )
        )
    columns = (
        "query",
        "mean error",
        "median relative error",
        "ninth decile",
        "groups lost",
        "groups invented",
    )
    return Grid.of("Answers beside the truth", columns, rows)


def sure_queries(source: Source, /) -> Grid:
    """What a reader of the release can be sure of, where no raw data were at hand."""
    rows = [
        (
            str(one.get("name")),
            one.get("answers"),
            short(float(one["half_width"])),
            _percent(one.get("relative")),
            _percent(one.get("missing")),
        )
        for one in questions_of(source)
        if isinstance(one.get("half_width"), int | float)
    ]
    columns = ("query", "answers", "half interval", "of the answer", "cells missing")
    return Grid.of("Answers from the release alone", columns, rows)


def ranked_queries(source: Source, /) -> Grid:
    """How many of the truly largest a ranking has right."""
    rows = [
        (str(one.get("name")), _percent(one.get("ranking_kept")))
        for one in questions_of(source)
        if isinstance(one.get("ranking_kept"), int | float)
    ]
    return Grid.of("Rankings beside the truth", ("query", "of the largest, rightly listed"), rows)


def unanswered_queries(source: Source, /) -> Grid:
    """Queries that cannot be answered, and why."""
    rows = [
        (str(one.get("name")), str(one.get("reason")))
        for one in questions_of(source)
        if one.get("answered") is False or one.get("reason")
    ]
    return Grid.of("Queries that cannot be answered", ("query", "reason"), rows)


def _percent(value: object, /) -> str:
    return f"{float(value):.1%}" if isinstance(value, int | float) else "–"
