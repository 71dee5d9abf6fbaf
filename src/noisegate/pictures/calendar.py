"""The picture of a week: for each day and time, how many cells are published, open, or given away."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from noisegate.pictures.canvas import Picture
from noisegate.pictures.inline import NOTHING, QUIET

#: A share falls into the step whose lower end it reaches; the first step is nothing at all.
EDGES = (0.0, 1e-9, 0.05, 0.2, 0.5, 0.8)
_WIDTH = 340


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One part of the picture: its title, its colours, and the share of cells for each day and time.

    Days and times are shown in the order in which they first occur.
    """

    title: str
    days: Sequence[str]
    times: Sequence[str]
    shares: Sequence[float]
    colours: Sequence[str]


def calendar_picture(bands: Sequence[Band], /) -> Picture:
    """Bands under each other, one small rectangle for each day and time, darker where the share is larger."""
    last = len(bands) - 1
    return alt.vconcat(
        *(_band(band, last=place == last) for place, band in enumerate(bands)), spacing=14
    ).resolve_scale(color="independent")


def _band(band: Band, /, *, last: bool) -> Picture:
    steps = np.searchsorted(EDGES, np.asarray(band.shares), side="right") - 1
    data = _lines(day=band.days, time=band.times, step=steps.tolist())
    moments, days = sorted(set(band.times)), list(dict.fromkeys(band.days))
    every = max(1, len(moments) // 6)
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
        sort=days,
        axis=alt.Axis(ticks=False, domain=False, labelColor=QUIET, labelFontSize=11, labelLimit=140),
        scale=alt.Scale(paddingInner=0.08),
    )
    colours = [NOTHING, *band.colours]
    colour = alt.Color(
        "step:O",
        scale=alt.Scale(domain=[str(step) for step in range(len(colours))], range=colours),
        legend=None,
    )
    height = min(17, max(12, 150 // len(days))) * len(days)
    return (
        alt.Chart(data)
        .mark_rect()
        .encode(x=x, y=y, color=colour)
        .properties(width=_WIDTH, height=height, title=band.title)
    )


def _lines(**columns: Sequence[Any]) -> Picture:
    """Inline data as one text: thousands of points would be copied one by one with every setting."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return alt.InlineData(values=text.getvalue(), format={"type": "csv"})
