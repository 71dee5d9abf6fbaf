"""The picture of more weeks: how three risks grow with every week that is added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from noisegate.pictures.canvas import BLUE, GREEN, INK, ORANGE, Picture, rows
from noisegate.pictures.inline import coloured

_WIDTH, _HEIGHT = 350, 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """One panel: lines over the weeks, each with its name."""

    title: str
    weeks: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    style: str = "~g"


def growth_picture(panels: Sequence[Growth], /) -> Picture:
    """Panels under each other over the same weeks."""
    last = len(panels) - 1
    return alt.vconcat(
        *(_panel(panel, last=place == last) for place, panel in enumerate(panels)), spacing=16
    ).resolve_scale(color="independent")


def _panel(panel: Growth, /, *, last: bool) -> Picture:
    names = list(panel.lines)
    data = rows(
        week=[week for _ in names for week in panel.weeks],
        value=[value for name in names for value in panel.lines[name]],
        line=[name for name in names for _ in panel.weeks],
    )
    chart = (
        alt.Chart(data)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "week:Q", title="weeks released" if last else None, axis=alt.Axis(grid=False, tickMinStep=1)
            ),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(format=panel.style, tickCount=4)),
            color=alt.Color(
                "line:N",
                title=None,
                scale=coloured(names, (BLUE, ORANGE, GREEN, INK)),
                legend=alt.Legend(orient="top", columns=2, labelLimit=200) if len(names) > 1 else None,
            ),
        )
    )
    return chart.properties(width=_WIDTH, height=_HEIGHT, title=panel.title)
