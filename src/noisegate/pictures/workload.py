"""The picture of utility: the error of each query, and what it is due to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from noisegate.pictures.canvas import BLUE, GREEN, GREY, ORANGE, Picture, rows
from noisegate.pictures.inline import WIDTH, coloured


def workload_picture(
    queries: Sequence[str], parts: Mapping[str, Sequence[float]], /, *, title: str, style: str = "~s"
) -> Picture:
    """One bar for each query, its pieces what noise, suppression, aggregation and bounding add."""
    names = list(parts)
    data = rows(
        query=[query for _ in names for query in queries],
        error=[value for name in names for value in parts[name]],
        part=[name for name in names for _ in queries],
        place=[place for place, _ in enumerate(names) for _ in queries],
    )
    chart = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X("error:Q", title=title, axis=alt.Axis(format=style, tickCount=5)),
            y=alt.Y("query:N", title=None, sort=list(queries), axis=alt.Axis(labelLimit=150)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=coloured(names, (BLUE, ORANGE, GREY, GREEN)),
                legend=alt.Legend(orient="top", columns=4) if len(names) > 1 else None,
            ),
            order=alt.Order("place:Q"),
        )
    )
    return chart.properties(
        width=WIDTH, height=30 * len(queries) + 70, autosize={"type": "fit", "contains": "padding"}
    )
