"""The picture of a week: for each day and time, how many cells are published, open, or given away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from noisegate.pictures.canvas import Picture, rows
from noisegate.pictures.inline import QUIET, STEPS

#: A share falls into the step whose lower end it reaches; the first step is nothing at all.
EDGES = (0.0, 1e-9, 0.05, 0.2, 0.5, 0.8)
NAMES = ("none", "up to 5%", "5 to 20%", "20 to 50%", "50 to 80%", "80% and more")
_WIDTH = 430


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One row of the picture: its title, and the share of cells for each day and time."""

    title: str
    days: Sequence[str]
    times: Sequence[str]
    shares: Sequence[float]


def calendar_picture(bands: Sequence[Band], /) -> Picture:
    """Bands under each other, one small rectangle for each day and time, darker where the share is larger."""
    last = len(bands) - 1
    return alt.vconcat(*(_band(band, last=place == last) for place, band in enumerate(bands)), spacing=14)


def _band(band: Band, /, *, last: bool) -> Picture:
    steps = [NAMES[step] for step in np.searchsorted(EDGES, np.asarray(band.shares), side="right") - 1]
    data = rows(day=list(band.days), time=list(band.times), step=steps)
    moments = sorted(set(band.times))
    every = max(1, len(moments) // 8)
    x = alt.X(
        "time:O",
        title=None,
        sort=moments,
        axis=alt.Axis(values=moments[::every], labelAngle=0, labels=last, ticks=last, domain=False),
        scale=alt.Scale(paddingInner=0.06),
    )
    y = alt.Y(
        "day:O",
        title=None,
        sort=sorted(set(band.days)),
        axis=alt.Axis(ticks=False, domain=False, labelColor=QUIET, labelFontSize=11),
        scale=alt.Scale(paddingInner=0.08),
    )
    colour = alt.Color(
        "step:N",
        title=None,
        scale=alt.Scale(domain=list(NAMES), range=list(STEPS)),
        legend=alt.Legend(orient="bottom", columns=3) if last else None,
    )
    height = min(17, max(9, 210 // max(1, len(set(band.days))))) * len(set(band.days))
    return (
        alt.Chart(data)
        .mark_rect()
        .encode(x=x, y=y, color=colour)
        .properties(width=_WIDTH - 20, height=height, title=band.title)
    )
