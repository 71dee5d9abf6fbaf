"""The picture of more weeks: how risks rise with every week that is released."""

from __future__ import annotations

from noisegate.pictures.canvas import WIDTH, Picture
from noisegate.pictures.colours import BLUE, GREEN, ORANGE
from noisegate.pictures.data import Panel, WeekPanels
from noisegate.pictures.marks import Polyline
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.pictures.scales import Linear, Log, number, odds

_HEIGHT = 110


def weeks_picture(data: WeekPanels, /) -> Picture:
    """Panels under each other over the same weeks."""
    last = max(
        (week for panel in data.panels for curve in panel.curves.values() for week, _ in curve), default=1
    )
    rows = [[_panel(panel, last=last, lowest=panel is data.panels[-1])] for panel in data.panels]
    return Picture(rows=rows, title=data.title)


def _panel(panel: Panel, /, *, last: float, lowest: bool) -> Plot:
    colours = dict(zip(panel.curves, (BLUE, ORANGE, GREEN), strict=False))
    values = [value for curve in panel.curves.values() for _, value in curve]
    return Plot(
        x=PlotAxis(scale=Linear(0, last), title="weeks released" if lowest else "", grid=False, count=10),
        y=PlotAxis(
            scale=Log.over(values).rounded() if panel.factors else Linear.over(values, zero=True, count=4),
            label=odds if panel.chances else number,
            count=5 if panel.factors else 4,
        ),
        marks=[Polyline(points=curve, colour=colours[name]) for name, curve in panel.curves.items()],
        width=WIDTH,
        height=_HEIGHT,
        title=panel.title,
        keys=[Key(name, colour, "line") for name, colour in colours.items()] if len(colours) > 1 else (),
    )
