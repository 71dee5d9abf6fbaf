"""The picture of a plan: the error of every question against epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from noisegate.pictures.canvas import GREY, Picture, rows


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
            color=alt.Color("question:N", title=None, sort=list(curves)),
        )
    )
    mark = alt.Chart(rows(x=[epsilon])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(x="x:Q")
    subtitle = "dashed: the epsilon of the spec; suppression, bounding and coarse bins are not in it"
    return alt.layer(lines, mark).properties(width=520, height=320, title=alt.Title(title, subtitle=subtitle))
