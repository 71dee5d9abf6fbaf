"""The picture of suppressed cells that can be told: an interval and the likeliest count for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from noisegate.pictures.canvas import BLUE, INK, ORANGE, Picture, rows
from noisegate.pictures.inline import WIDTH

_LONGEST = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """What can be said about one suppressed cell."""

    name: str
    low: float
    high: float
    mode: float
    chance_empty: float


def exposed_picture(cells: Sequence[Exposed], /, *, cut: float | None = None, level: float = 0.95) -> Picture:
    """A line from the low to the high end for each cell, a dot at the likeliest count, its name above."""
    order = list(range(len(cells)))
    data = rows(
        place=order,
        low=[one.low for one in cells],
        high=[one.high for one in cells],
        mode=[one.mode for one in cells],
        name=[_cut(one.name) for one in cells],
    )
    top = max([one.high for one in cells] + [cut or 0]) * 1.06 + 1
    x = alt.X("low:Q", title=f"raw count, {level:.0%} interval", scale=alt.Scale(domain=[0, top], nice=False))
    y = alt.Y(
        "place:O", title=None, axis=None, sort=order, scale=alt.Scale(paddingInner=0.3, paddingOuter=0.4)
    )
    base = alt.Chart(data)
    layers = [
        base.mark_rule(color=BLUE, strokeWidth=5, opacity=0.45, yOffset=7).encode(x=x, x2="high:Q", y=y),
        base.mark_point(color=BLUE, filled=True, size=70, opacity=1, yOffset=7).encode(x="mode:Q", y=y),
        base.mark_text(color=INK, align="left", fontSize=12, yOffset=-8).encode(
            x=alt.datum(0), y=y, text="name:N"
        ),
    ]
    if cut is not None:
        layers.insert(
            0, alt.Chart(rows(cut=[cut])).mark_rule(color=ORANGE, strokeDash=[4, 3]).encode(x="cut:Q")
        )
    return alt.layer(*layers).properties(
        width=WIDTH, height=38 * len(cells) + 40, autosize={"type": "fit", "contains": "padding"}
    )


def _cut(name: str, /) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
