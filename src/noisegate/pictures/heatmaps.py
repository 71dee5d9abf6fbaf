"""Heat maps: cells by day and time, and by mode and hour of the day."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from noisegate.pictures.canvas import Picture, rows
from noisegate.pictures.data import Band, CellCalendar, HourShares
from noisegate.pictures.inline import BLUES, GREYS, NOTHING, ORANGES, QUIET, WIDTH

#: A share falls into the step whose lower end it reaches; the first step is nothing at all.
_EDGES = (0.0, 1e-9, 0.05, 0.2, 0.5, 0.8)
_WIDTH = 340
_COLOURS: Mapping[str, Sequence[str]] = {"blue": BLUES, "grey": GREYS, "orange": ORANGES}
#: The same for hours, with the words of each step.
_HOUR_EDGES = (0.0, 1e-9, 0.1, 0.25, 0.5, 0.75)
_STEPS = ("none", "below 10%", "10 to 25%", "25 to 50%", "50 to 75%", "75% and more")


def calendar_picture(data: CellCalendar, /) -> Picture:
    """Bands under each other, one small rectangle for each day and time, darker where the share is larger."""
    last = len(data.bands) - 1
    return alt.vconcat(
        *(_band(band, last=place == last) for place, band in enumerate(data.bands)), spacing=14
    ).resolve_scale(color="independent")


def _band(band: Band, /, *, last: bool) -> Picture:
    steps = np.searchsorted(_EDGES, np.asarray(band.shares), side="right") - 1
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
    colours = [NOTHING, *_COLOURS[band.colour]]
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


def hours_picture(data: HourShares, /) -> Picture:
    """One row for each mode, one field for each hour, darker where the share is larger; none where nothing runs."""
    shares = data.shares
    points = [
        (mode, f"{hour:02d}", _STEPS[int(np.searchsorted(_HOUR_EDGES, share, side="right")) - 1])
        for mode, row in shares.items()
        for hour, share in enumerate(row)
        if share is not None
    ]
    values = rows(
        mode=[m for m, _, _ in points], hour=[h for _, h, _ in points], step=[s for _, _, s in points]
    )
    hours = [f"{hour:02d}" for hour in range(max(len(row) for row in shares.values()))]
    chart = (
        alt.Chart(values)
        .mark_rect()
        .encode(
            x=alt.X(
                "hour:O",
                title="hour of the day",
                scale=alt.Scale(domain=hours, paddingInner=0.08),
                axis=alt.Axis(values=hours[::3], labelAngle=0, domain=False, ticks=False),
            ),
            y=alt.Y(
                "mode:N",
                title=None,
                sort=list(shares),
                scale=alt.Scale(paddingInner=0.1),
                axis=alt.Axis(domain=False, ticks=False, labelLimit=110),
            ),
            color=alt.Color(
                "step:N",
                title=None,
                scale=alt.Scale(domain=list(_STEPS), range=[NOTHING, *ORANGES]),
                legend=alt.Legend(orient="bottom", columns=3),
            ),
        )
    )
    height = 30 * len(shares) + 110
    return chart.properties(width=WIDTH, height=height, autosize={"type": "fit", "contains": "padding"})
