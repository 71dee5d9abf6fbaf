"""Pictures of single cells: intervals of suppressed ones, and whole posteriors."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
from numpy.typing import NDArray

from noisegate.pictures.canvas import BLUE, GREEN, GREY, INK, ORANGE, Picture, rows
from noisegate.pictures.data import ExposedCells
from noisegate.pictures.inline import WIDTH

_LONGEST = 64


def exposed_picture(data: ExposedCells, /) -> Picture:
    """A line from the low to the high end for each cell, a dot at the likeliest count, its name above."""
    cells, threshold = data.cells, data.threshold
    order = list(range(len(cells)))
    values = rows(
        place=order,
        low=[one.low for one in cells],
        high=[one.high for one in cells],
        mode=[one.mode for one in cells],
        name=[_shortened(one.name) for one in cells],
    )
    top = max([one.high for one in cells] + [threshold or 0]) * 1.06 + 1
    x = alt.X(
        "low:Q", title=f"raw count, {data.level:.0%} interval", scale=alt.Scale(domain=[0, top], nice=False)
    )
    y = alt.Y(
        "place:O", title=None, axis=None, sort=order, scale=alt.Scale(paddingInner=0.3, paddingOuter=0.4)
    )
    base = alt.Chart(values)
    layers = [
        base.mark_rule(color=BLUE, strokeWidth=5, opacity=0.45, yOffset=7).encode(x=x, x2="high:Q", y=y),
        base.mark_point(color=BLUE, filled=True, size=70, opacity=1, yOffset=7).encode(x="mode:Q", y=y),
        base.mark_text(color=INK, align="left", fontSize=12, yOffset=-8).encode(
            x=alt.datum(0), y=y, text="name:N"
        ),
    ]
    if threshold is not None:
        line = alt.Chart(rows(at=[threshold])).mark_rule(color=ORANGE, strokeDash=[4, 3]).encode(x="at:Q")
        layers.insert(0, line)
    return alt.layer(*layers).properties(
        width=WIDTH, height=38 * len(cells) + 40, autosize={"type": "fit", "contains": "padding"}
    )


def _shortened(name: str, /) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def posterior_picture(
    posteriors: Mapping[str, NDArray[np.float64]],
    /,
    *,
    printed: tuple[float, float] | None = None,
    title: str,
) -> Picture:
    """Probability of each raw count, one line a posterior; `printed` is an interval to set beside."""
    names, colours = list(posteriors), [BLUE, ORANGE, GREEN][: len(posteriors)]
    layers: list[Picture] = []
    if printed is not None:
        layers.append(
            alt.Chart(rows(low=[printed[0]], high=[printed[1]]))
            .mark_rect(color=GREY, opacity=0.35)
            .encode(x="low:Q", x2="high:Q")
        )
    for name, mass in posteriors.items():
        shown = np.flatnonzero(mass > 1e-5)
        data = rows(count=shown, probability=mass[shown], kind=[name] * len(shown))
        layers.append(
            alt.Chart(data)
            .mark_line(point={"filled": True, "size": 28}, interpolate="step")
            .encode(
                x=alt.X("count:Q", title="raw count"),
                y=alt.Y("probability:Q", title="probability"),
                color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            )
        )
    subtitle = "" if printed is None else f"grey: the printed interval {printed[0]} to {printed[1]}"
    return alt.layer(*layers).properties(width=520, height=240, title=alt.Title(title, subtitle=subtitle))
