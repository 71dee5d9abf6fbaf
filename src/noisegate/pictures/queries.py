"""Pictures of queries: the error of each by cause, and by epsilon before anything is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from noisegate.pictures.canvas import WIDTH, Picture, of
from noisegate.pictures.colours import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from noisegate.pictures.data import QueryErrors
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Dots, Polyline, Rule, Upright
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.pictures.scales import Log, Rooms, number

#: Parts in the order in which they are named; the whole comes last and is drawn below them.
_WHOLE = "together"
_COLOURS = {
    "noise": BLUE,
    "noise and bounding": BLUE,
    "suppression": ORANGE,
    "aggregation": GREEN,
    "bounding": GREY,
    "half of the interval": BLUE,
    _WHOLE: INK,
}


def errors_picture(data: QueryErrors, /) -> Picture:
    """One row for each query: a dot for each part of its error on a scale of factors, a bar for the whole.

    Parts that are zero are not drawn: they have no place on such a scale. Of the parts that share a colour a query has one.
    """
    queries = data.queries
    found = {
        part: {query: errors[part] for query, errors in queries.items() if errors.get(part, 0) > 0}
        for part in _COLOURS
    }
    used = {part: errors for part, errors in found.items() if errors}
    marks = [_part(part, errors) for part, errors in reversed(used.items())]
    plot = Plot(
        x=PlotAxis(
            scale=Log.over((error for errors in used.values() for error in errors.values()), room=1.6),
            title=data.title,
        ),
        y=PlotAxis(scale=Rooms(list(queries)), line=False),
        marks=marks,
        width=WIDTH,
        height=34 * max(len(queries), 1),
        keys=[Key(part, _COLOURS[part], "rect" if part == _WHOLE else "symbol") for part in used],
    )
    return of(plot)


def _part(part: str, errors: Mapping[str, float], /) -> Mark:
    points = [(error, query) for query, error in errors.items()]
    tips = [f"{query}, {part}: {number(float(f'{error:.3g}'))}" for error, query in points]
    if part == _WHOLE:
        return Upright(points=points, colour=_COLOURS[part], tips=tips)
    return Dots(points=points, colour=_COLOURS[part], radius=5, opacity=0.9, tips=tips)


def outlook_picture(
    curves: Mapping[str, Sequence[tuple[float, float]]], /, *, epsilon: float, title: str
) -> Picture:
    """For each question its expected error by epsilon; the plan's own epsilon is dashed."""
    drawn = {name: [(e, max(error, 1e-3)) for e, error in points] for name, points in curves.items()}
    colours = dict(zip(drawn, cycle((BLUE, ORANGE, GREEN, PURPLE, GREY)), strict=False))
    marks: list[Mark] = [Rule(at=epsilon, colour=GREY)]
    for name, points in drawn.items():
        tips = [
            f"{name}: {number(float(f'{error:.3g}'))} at epsilon {number(float(f'{e:.3g}'))}"
            for e, error in points
        ]
        marks.append(Polyline(points=points, colour=colours[name]))
        marks.append(Dots(points=points, colour=colours[name], radius=3, tips=tips))
    places = [point for points in drawn.values() for point in points]
    plot = Plot(
        x=PlotAxis(
            scale=Log.over([epsilon, *(e for e, _ in places)]), title="epsilon of one unit, all tables"
        ),
        y=PlotAxis(scale=Log.over([error for _, error in places], room=1.3), title="expected error by noise"),
        marks=marks,
        width=580,
        height=320,
        keys=[Key(name, colour, "line") for name, colour in colours.items()],
    )
    subtitle = "dashed: the epsilon of the spec; suppression, bounding and coarse bins are not in it"
    return of(plot, title=title, subtitle=subtitle)
