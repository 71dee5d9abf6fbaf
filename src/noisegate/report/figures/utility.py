"""Utility by query: how far off answers are, and why."""

from __future__ import annotations

from collections.abc import Iterator

from noisegate.pictures.inline import inline_svg
from noisegate.pictures.workload import PARTS, workload_picture
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Json, Source
from noisegate.report.utility import errors_of, questions_of
from noisegate.report.words import short

#: More rows are no picture.
_MOST = 16


def utility_figures(source: Source, /) -> Iterator[Figure]:
    """The error of each query that can be answered."""
    errors = {str(one.get("name")): errors_of(one) for one in questions_of(source)}
    drawn = {
        name: parts for name, parts in list(errors.items())[:_MOST] if any(v > 0 for v in parts.values())
    }
    if not drawn:
        return
    worst = max(drawn, key=lambda name: _whole(drawn[name]))
    yield Figure(
        key="workload",
        caption=(
            "How far off the answer to each query is on average, and what that is due to. Dots: each cause alone. Bar: all "
            "together, where causes can add up or cancel."
        ),
        alt=(
            f"Dot plot of {len(drawn)} queries on a scale of factors. The largest error is {short(_whole(drawn[worst]))} "
            f"events, for {worst}."
        ),
        svg=inline_svg(workload_picture(drawn), key="workload"),
        data=Grid.of(
            "Mean error by query and cause, in events",
            ("query", *PARTS),
            ((name, *(_rounded(parts, part) for part in PARTS)) for name, parts in errors.items()),
        ),
        about=("utility",),
    )


def _whole(parts: Json, /) -> float:
    return float(parts.get("together") or max(parts.values(), default=0.0))


def _rounded(parts: Json, part: str, /) -> object:
    return float(f"{parts[part]:.3g}") if part in parts else "–"
