"""Pictures of cells: intervals and posteriors of single ones, and heat maps by day and time."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from noisegate.pictures.canvas import BLUE, GREEN, GREY, INK, ORANGE, Picture, in_order, rows
from noisegate.pictures.data import Band, CellCalendar, ExposedCells, HourShares
from noisegate.pictures.inline import BLUES, GREYS, NOTHING, ORANGES, QUIET, WIDTH

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
        "place:O",
        title=None,
        axis=None,
        sort=in_order(order),
        scale=alt.Scale(paddingInner=0.3, paddingOuter=0.4),
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
        sort=in_order(moments),
        axis=alt.Axis(values=moments[::every], labelAngle=0, labels=last, ticks=last, domain=False),
        scale=alt.Scale(paddingInner=0.06),
    )
    y = alt.Y(
        "day:O",
        title=None,
        sort=in_order(days),
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
                sort=in_order(shares),
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
