"""The picture of more weeks: how risks rise with every week that is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from noisegate.pictures.canvas import BLUE, GREEN, ORANGE, Picture, in_order, rows
from noisegate.pictures.data import Panel, WeekPanels
from noisegate.pictures.inline import ODDS, coloured

_WIDTH, _HEIGHT = 350, 110


def weeks_picture(data: WeekPanels, /) -> Picture:
    """Panels under each other over the same weeks."""
    last = len(data.panels) - 1
    parts = (_panel(panel, last=place == last) for place, panel in enumerate(data.panels))
    picture = alt.vconcat(*parts, spacing=18).resolve_scale(color="independent")
    return picture.properties(title=data.title) if data.title else picture


def _panel(panel: Panel, /, *, last: bool) -> Picture:
    names = list(panel.curves)
    points = [(name, week, value) for name, curve in panel.curves.items() for week, value in curve]
    data = rows(
        week=[week for _, week, _ in points],
        value=[value for _, _, value in points],
        line=[name for name, _, _ in points],
    )
    many = len(names) > 1
    axis: dict[str, Any] = (
        {"labelExpr": ODDS} if panel.chances else {"format": "~s" if panel.factors else ",.1~f"}
    )
    axis |= {"values": _powers(points)} if panel.factors else {"tickCount": 4}
    chart = (
        alt.Chart(data)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("week:Q", title="weeks released" if last else None, axis=alt.Axis(grid=False)),
            y=alt.Y(
                "value:Q",
                title=None,
                axis=alt.Axis(**axis),
                scale=alt.Scale(type="log" if panel.factors else "linear"),
            ),
            color=alt.Color(
                "line:N",
                title=None,
                sort=in_order(names),
                scale=coloured(names, (BLUE, ORANGE, GREEN)),
                legend=alt.Legend(orient="top", columns=3, labelLimit=160) if many else None,
            ),
        )
    )
    title = alt.Title(panel.title, fontSize=12, fontWeight="normal")
    return chart.properties(width=_WIDTH, height=_HEIGHT, title=title)


def _powers(points: Sequence[tuple[str, float, float]], /) -> list[float]:
    """Powers of ten around the values, at most five."""
    sizes = [math.log10(value) for _, _, value in points]
    low, high = math.floor(min(sizes)), math.ceil(max(sizes))
    return [10.0**power for power in range(low, high + 1, max(1, -(-(high - low) // 4)))]
