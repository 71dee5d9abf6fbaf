"""Pictures of cells: intervals and posteriors of single ones, and heat maps by day and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from noisegate.pictures.canvas import WIDTH, Picture, of
from noisegate.pictures.colours import BLUE, BLUES, GREEN, GREY, GREYS, NOTHING, ORANGE, ORANGES
from noisegate.pictures.data import Band, CellCalendar, ExposedCells, HourShares
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Bars, Dots, Fields, Polyline, Rule, Shade
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.pictures.scales import Linear, Rooms, number, percent
from noisegate.pictures.words import Names

#: Above and below the middle of a row: its name, and its interval.
_NAME, _INTERVAL = -8, 8


def exposed_picture(data: ExposedCells, /) -> Picture:
    """A line from the low to the high end for each cell, a dot at the likeliest count, its name above."""
    cells, threshold = data.cells, data.threshold
    places = range(len(cells))
    top = max([one.high for one in cells] + [threshold or 0]) * 1.06 + 1
    tips = [
        f"{one.name}: {number(one.low)} to {number(one.high)}, likeliest {number(one.mode)}" for one in cells
    ]
    marks: list[Mark] = [] if threshold is None else [Rule(at=threshold, colour=ORANGE)]
    marks += [
        Bars(
            at=places,
            low=[one.low for one in cells],
            high=[one.high for one in cells],
            colour=BLUE,
            size=5,
            opacity=0.45,
            lying=True,
            lower=_INTERVAL,
            tips=tips,
        ),
        Dots(
            points=[(one.mode, place) for place, one in enumerate(cells)],
            colour=BLUE,
            radius=4.5,
            lower=_INTERVAL,
            tips=tips,
        ),
        Names(
            points=[(0, place) for place in places],
            texts=[one.name for one in cells],
            lower=_NAME,
            from_left=True,
        ),
    ]
    return of(
        Plot(
            x=PlotAxis(scale=Linear(0, top), title=f"raw count, {data.level:.0%} interval", count=10),
            y=PlotAxis(scale=Rooms(places), labels=False, line=False, grid=False),
            marks=marks,
            width=WIDTH,
            height=38 * max(len(cells), 1),
        )
    )


def posterior_picture(
    posteriors: Mapping[str, NDArray[np.float64]],
    /,
    *,
    printed: tuple[float, float] | None = None,
    title: str,
    truth: float | None = None,
) -> Picture:
    """Probability of each raw count, one line a posterior; beside it an interval that was printed, and the truth if it is known."""
    colours = dict(zip(posteriors, (BLUE, ORANGE, GREEN), strict=False))
    shown = {name: np.flatnonzero(mass > 1e-5) for name, mass in posteriors.items()}
    highest = max((float(mass.max(initial=0)) for mass in posteriors.values()), default=1.0)
    up = Linear.over([0, highest])
    counts = [float(count) for some in shown.values() for count in some]
    marks: list[Mark] = []
    if printed is not None:
        marks.append(Shade(low=printed[0], high=printed[1], colour=GREY))
        counts += printed
    if truth is not None:
        marks += [
            Rule(at=truth, colour=GREY),
            Names(points=[(truth, up.high)], texts=["truth"], colour=GREY, lower=6),
        ]
    for name, mass in posteriors.items():
        points = [(int(count), float(mass[count])) for count in shown[name]]
        tips = [f"{name}: {count} with probability {percent(p)}" for count, p in points]
        marks.append(Polyline(points=points, colour=colours[name], step=True))
        marks.append(Dots(points=points, colour=colours[name], radius=3, tips=tips))
    plot = Plot(
        x=PlotAxis(scale=Linear.over(counts, count=12), title="raw count", count=10),
        y=PlotAxis(scale=up, title="probability"),
        marks=marks,
        width=580,
        height=240,
        keys=[Key(name, colour, "line") for name, colour in colours.items()],
    )
    subtitle = "" if printed is None else f"grey: the printed interval {printed[0]} to {printed[1]}"
    return of(plot, title=title, subtitle=subtitle)


#: A share falls into the step whose lower end it reaches; the first step is nothing at all.
_EDGES = (0.0, 1e-9, 0.05, 0.2, 0.5, 0.8)
_COLOURS: Mapping[str, Sequence[str]] = {"blue": BLUES, "grey": GREYS, "orange": ORANGES}
#: The same for hours, with the words of each step.
_HOUR_EDGES = (0.0, 1e-9, 0.1, 0.25, 0.5, 0.75)
_STEPS = ("none", "below 10%", "10 to 25%", "25 to 50%", "50 to 75%", "75% and more")


def calendar_picture(data: CellCalendar, /) -> Picture:
    """Bands under each other, one small rectangle for each day and time, darker where the share is larger."""
    last = len(data.bands) - 1
    return Picture(rows=[[_band(band, last=place == last)] for place, band in enumerate(data.bands)])


def _band(band: Band, /, *, last: bool) -> Plot:
    steps = np.searchsorted(_EDGES, np.asarray(band.shares), side="right") - 1
    colours = (NOTHING, *_COLOURS[band.colour])
    moments, days = sorted(set(band.times)), list(dict.fromkeys(band.days))
    tips = [
        f"{day} {time}: {percent(float(share))}"
        for day, time, share in zip(band.days, band.times, band.shares, strict=True)
    ]
    fields = Fields(
        points=list(zip(band.times, band.days, strict=True)),
        colours=[colours[step] for step in steps],
        tips=tips,
    )
    every = max(1, len(moments) // 6)
    return Plot(
        x=PlotAxis(
            scale=Rooms(moments, inner=0.06, outer=0),
            ticks=moments[::every],
            grid=False,
            line=False,
            labels=last,
        ),
        y=PlotAxis(scale=Rooms(days, inner=0.08, outer=0), grid=False, line=False, limit=140),
        marks=[fields],
        width=WIDTH,
        height=min(17, max(12, 150 // max(len(days), 1))) * max(len(days), 1),
        title=band.title,
    )


def hours_picture(data: HourShares, /) -> Picture:
    """One row for each mode, one field for each hour, darker where the share is larger; none where nothing runs."""
    shares, colours = data.shares, (NOTHING, *ORANGES)
    hours = [f"{hour:02d}" for hour in range(max((len(row) for row in shares.values()), default=24))]
    known = [
        (mode, hours[hour], share)
        for mode, row in shares.items()
        for hour, share in enumerate(row)
        if share is not None
    ]
    steps = np.searchsorted(_HOUR_EDGES, [share for *_, share in known], side="right") - 1
    fields = Fields(
        points=[(hour, mode) for mode, hour, _ in known],
        colours=[colours[step] for step in steps],
        tips=[f"{mode}, {hour}:00: {percent(share)}" for mode, hour, share in known],
    )
    plot = Plot(
        x=PlotAxis(
            scale=Rooms(hours, inner=0.08, outer=0),
            title="hour of the day",
            ticks=hours[::3],
            grid=False,
            line=False,
        ),
        y=PlotAxis(scale=Rooms(list(shares), outer=0), grid=False, line=False, limit=110),
        marks=[fields],
        width=WIDTH,
        height=30 * max(len(shares), 1),
        keys=[Key(step, colour, "rect") for step, colour in zip(_STEPS, colours, strict=True)],
        keys_below=True,
    )
    return of(plot)
