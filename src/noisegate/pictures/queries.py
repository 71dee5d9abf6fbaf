"""Pictures of queries: the error of each by cause, and by epsilon before anything is released."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt

from noisegate.pictures.canvas import BLUE, GREEN, GREY, INK, ORANGE, Picture, in_order, rows
from noisegate.pictures.data import QueryErrors
from noisegate.pictures.inline import WIDTH, coloured

#: Parts in the order in which they are named; the whole comes last and is drawn over them.
_PARTS = (
    "noise",
    "noise and bounding",
    "suppression",
    "aggregation",
    "bounding",
    "half of the interval",
    "together",
)
_COLOURS = (BLUE, BLUE, ORANGE, GREEN, GREY, BLUE, INK)
#: Numbers below one thousand as they are: 0.3, not 300 thousandths.
_PLAIN = "format(datum.value, datum.value < 1000 ? '~g' : '~s')"


def errors_picture(data: QueryErrors, /) -> Picture:
    """One row for each query: a dot for each part of its error on a scale of factors, a bar for the whole.

    Parts that are zero are not drawn: they have no place on such a scale. Of the parts that share a colour a query has one.
    """
    queries = data.queries
    points = [
        (query, part, errors[part])
        for query, errors in queries.items()
        for part in _PARTS
        if errors.get(part, 0) > 0
    ]
    values = rows(
        query=[query for query, _, _ in points],
        part=[part for _, part, _ in points],
        error=[error for _, _, error in points],
    )
    used = [part for part in _PARTS if any(part == one for _, one, _ in points)]
    colours = [_COLOURS[_PARTS.index(part)] for part in used]
    low, high = min(e for *_, e in points), max(e for *_, e in points)
    x = alt.X(
        "error:Q",
        title=data.title,
        scale=alt.Scale(type="log", domain=[low / 1.6, high * 1.6], nice=False),
        axis=alt.Axis(labelExpr=_PLAIN, values=_powers(low, high)),
    )
    y = alt.Y(
        "query:N", title=None, sort=in_order(queries), axis=alt.Axis(labelLimit=150, grid=True, ticks=False)
    )
    colour = alt.Color(
        "part:N", title=None, sort=used, scale=coloured(used, colours), legend=alt.Legend(columns=3)
    )
    whole = alt.datum.part == "together"
    base = alt.Chart(values).encode(x=x, y=y, color=colour)
    dots = base.transform_filter(~whole).mark_point(filled=True, size=85, opacity=0.9)
    bars = base.transform_filter(whole).mark_tick(thickness=3, size=20, opacity=1)
    return alt.layer(bars, dots).properties(
        width=WIDTH, height=34 * len(queries) + 90, autosize={"type": "fit", "contains": "padding"}
    )


def _powers(low: float, high: float, /) -> list[float]:
    """Powers of ten around the values; with ones between if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 3) if last - first <= 3 else (1,)
    return [step * 10.0**power for power in range(first, last + 1) for step in steps]


def outlook_picture(
    curves: Mapping[str, Sequence[tuple[float, float]]], /, *, epsilon: float, title: str
) -> Picture:
    """For each question its expected error by epsilon; the plan's own epsilon is dashed."""
    names = [name for name, points in curves.items() for _ in points]
    points = [point for points in curves.values() for point in points]
    data = rows(question=names, epsilon=[e for e, _ in points], error=[max(v, 1e-3) for _, v in points])
    lines = (
        alt.Chart(data)
        .mark_line(point=True)
        .encode(
            x=alt.X("epsilon:Q", title="epsilon of one unit, all tables", scale=alt.Scale(type="log")),
            y=alt.Y("error:Q", title="expected error by noise", scale=alt.Scale(type="log")),
            color=alt.Color("question:N", title=None, sort=in_order(curves)),
        )
    )
    mark = alt.Chart(rows(x=[epsilon])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(x="x:Q")
    subtitle = "dashed: the epsilon of the spec; suppression, bounding and coarse bins are not in it"
    return alt.layer(lines, mark).properties(width=520, height=320, title=alt.Title(title, subtitle=subtitle))
