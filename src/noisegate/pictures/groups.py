"""The picture of who shows: the chance that a group in an otherwise empty cell is published, by its size."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from noisegate.pictures.canvas import BLUE, INK, ORANGE, Picture, rows
from noisegate.pictures.inline import ODDS, fitted


def groups_picture(
    sizes: Sequence[int], chances: Sequence[float], /, *, named: Sequence[int] = (1, 5, 12)
) -> Picture:
    """A line over the sizes of groups, on a scale where each step is ten times as likely; some are named."""
    x = alt.X("size:Q", title="people in a cell that would otherwise be empty", axis=alt.Axis(tickMinStep=1))
    y = alt.Y(
        "chance:Q",
        title="chance that they show",
        scale=alt.Scale(type="log", domain=[min(chances) / 4, 1], nice=False),
        axis=alt.Axis(labelExpr=ODDS, tickCount=5),
    )
    line = alt.Chart(rows(size=list(sizes), chance=list(chances))).mark_line(color=BLUE, strokeWidth=2)
    some = [(size, p) for size, p in zip(sizes, chances, strict=True) if size in named]
    marks = rows(
        size=[size for size, _ in some],
        chance=[p for _, p in some],
        text=[f"{size} {'person' if size == 1 else 'people'}: {_odds(p)}" for size, p in some],
    )
    dots = alt.Chart(marks).mark_point(color=ORANGE, filled=True, size=70, opacity=1).encode(x=x, y=y)
    names = alt.Chart(marks).mark_text(color=INK, align="left", dx=9, dy=11, fontSize=12)
    return fitted(alt.layer(line.encode(x=x, y=y), dots, names.encode(x=x, y=y, text="text:N")), height=260)


def _odds(chance: float, /) -> str:
    return f"{chance:.0%}" if chance >= 0.1 else f"1 in {float(f'{1 / chance:.2g}'):,.0f}"
