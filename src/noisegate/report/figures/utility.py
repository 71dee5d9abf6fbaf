"""Utility by query: how far off answers are, and why."""

from __future__ import annotations

from collections.abc import Iterator

from noisegate.pictures.inline import inline_svg
from noisegate.pictures.workload import PARTS, workload_picture
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Json, Source
from noisegate.report.utility import errors_of, is_measured, questions_of
from noisegate.report.words import short

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


def utility_figures(source: Source, /) -> Iterator[Figure]:
    """The error of each query that can be answered."""
    errors = {str(one.get("name")): errors_of(one) for one in questions_of(source)}
    drawn = {
        name: parts for name, parts in list(errors.items())[:_MOST] if any(v > 0 for v in parts.values())
    }
    if not drawn:
        return
    worst = max(drawn, key=lambda name: _whole(drawn[name]))
    caption, title, about = _MEASURED if is_measured(source) else _ALONE
    used = [part for part in PARTS if any(part in parts for parts in errors.values())]
    yield Figure(
        key="workload",
        caption=caption,
        alt=(
            f"Dot plot of {len(drawn)} queries on a scale of factors. The largest {about} is "
            f"{short(_whole(drawn[worst]))} events, for {worst}."
        ),
        svg=inline_svg(workload_picture(drawn, title=title), key="workload"),
        data=Grid.of(
            f"{title[0].upper()}{title[1:]}, by query",
            ("query", *used),
            ((name, *(_rounded(parts, part) for part in used)) for name, parts in errors.items() if parts),
        ),
        about=("utility",),
    )


def _whole(parts: Json, /) -> float:
    return float(parts.get("together") or max(parts.values(), default=0.0))


def _rounded(parts: Json, part: str, /) -> object:
    return float(f"{parts[part]:.3g}") if part in parts else "–"
