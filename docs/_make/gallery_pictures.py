"""Pictures of the gallery that no assessment draws by itself."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from noisegate.pictures import BLUE, GREY, INK, ORANGE, Picture, of
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Bars, Dots, Rule, Upright
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.pictures.scales import Linear, Log, Rooms, Symlog, number
from noisegate.pictures.words import Names

_WIDE = 560


def ranges_picture(
    listed: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    /,
    *,
    title: str,
    truth: Sequence[int] | None = None,
) -> Picture:
    """For each count what was shown of it (grey) and what is proven (orange)."""
    rows = range(len(names))
    shown, known = (
        ([one["shown_as"] for one in listed], GREY, 0.35),
        ([(one["low"], one["high"]) for one in listed], ORANGE, 1.0),
    )
    marks: list[Mark] = [
        Bars(
            at=rows,
            low=[low - 0.3 for low, _ in ends],
            high=[high + 0.3 for _, high in ends],
            colour=colour,
            opacity=opacity,
            size=12,
            lying=True,
            tips=[f"{name}: {low} to {high}" for name, (low, high) in zip(names, ends, strict=True)],
        )
        for ends, colour, opacity in (shown, known)
    ]
    if truth is not None:
        marks.append(Upright(points=list(zip(truth, rows, strict=True)), colour=INK, size=16, width=2))
    ends = [end for some, *_ in (shown, known) for pair in some for end in pair]
    across = Linear(min(ends, default=0) - 0.3, max(ends, default=1) + 0.3)
    plot = Plot(
        x=PlotAxis(
            scale=across, title="people", ticks=[one for one in across.ticks(10) if one == round(one)]
        ),
        y=PlotAxis(scale=Rooms(rows), label=lambda row: names[row], grid=False, limit=320),
        marks=marks,
        width=_WIDE,
        height=20 * max(len(names), 1),
    )
    legend = "grey: what was shown; orange: what the other counts leave" + (
        "; black: the truth" if truth is not None else ""
    )
    return of(plot, title=title, subtitle=legend)


def bars_picture(
    names: Sequence[Any],
    values: Sequence[float],
    /,
    *,
    title: str,
    x: str,
    y: str,
    errors: Sequence[float] = (),
) -> Picture:
    """Bars of chances, with two standard errors if there are any."""
    tips = [f"{name}: {value:.3g}" for name, value in zip(names, values, strict=True)]
    marks: list[Mark] = [Bars(at=names, high=values, colour=BLUE, size=26, tips=tips)]
    if errors:
        low = [max(v - 2 * e, 0) for v, e in zip(values, errors, strict=True)]
        high = [min(v + 2 * e, 1) for v, e in zip(values, errors, strict=True)]
        marks.append(Bars(at=names, low=low, high=high, colour=INK, size=1.2))
    plot = Plot(
        x=PlotAxis(scale=Rooms(names), title=x, grid=False),
        y=PlotAxis(scale=Linear(0, 1), title=y),
        marks=marks,
        width=500,
        height=220,
    )
    return of(plot, title=title)


def claims_picture(
    claims: Mapping[str, float], low: float, best: float, high: float, /, *, title: str
) -> Picture:
    """What is claimed (orange) beside what the tables show (blue), on one axis."""
    seen = "the tables show"
    names = [*claims, seen]
    marks: list[Mark] = [
        Dots(
            points=[(value, name) for name, value in claims.items()],
            colour=ORANGE,
            radius=6,
            tips=[f"{name}: {value:.3g}" for name, value in claims.items()],
        ),
        Bars(at=[seen], low=[low], high=[high], colour=BLUE, opacity=0.45, size=14, lying=True),
        Dots(points=[(best, seen)], colour=BLUE, radius=4.5, tips=[f"{best:.3g}, {low:.3g} to {high:.3g}"]),
    ]
    plot = Plot(
        x=PlotAxis(
            scale=Linear.over([*claims.values(), low, high], zero=True, count=10),
            title="scale of the noise",
            count=10,
        ),
        y=PlotAxis(scale=Rooms(names), grid=False, limit=240),
        marks=marks,
        width=_WIDE,
        height=(36 if len(names) < 4 else 28) * len(names),
    )
    return of(plot, title=title)


def counts_picture(
    at: Sequence[int], seen: Sequence[float], expected: Sequence[float], /, *, title: str, law: str, x: str
) -> Picture:
    """How often each difference was seen (bars, with the number) and is expected (dots); small numbers stay visible."""
    tips = [f"{one}: {mean:,.1f} expected" for one, mean in zip(at, expected, strict=True)]
    counted = [
        (one, max(count, mean), count)
        for one, count, mean in zip(at, seen, expected, strict=True)
        if count > 0
    ]
    plot = Plot(
        x=PlotAxis(scale=Rooms(at), title=x, grid=False),
        y=PlotAxis(
            scale=Symlog(max([*seen, *expected, 1.0]) * 1.3),
            title="how often",
            ticks=[0, *(10**power for power in range(7))],
        ),
        marks=[
            Bars(at=at, high=seen, colour=BLUE, size=18, opacity=0.6),
            Dots(points=list(zip(at, expected, strict=True)), colour=ORANGE, radius=3.5, tips=tips),
            Names(
                points=[(one, top) for one, top, _ in counted],
                texts=[number(count) for *_, count in counted],
                size=11,
                lower=-10,
                centred=True,
            ),
        ],
        width=580,
        height=240,
        keys=[Key("seen", BLUE, "rect", 0.6), Key(law, ORANGE)],
    )
    return of(plot, title=title)


def sets_picture(
    sets: Sequence[tuple[Sequence[str], int]], tables: Sequence[str], drop: Sequence[str], /, *, title: str
) -> Picture:
    """Which tables each smallest set is made of, and how many counts it gives away; tables to leave out in orange."""
    rows = [f"{cells} counts · set {k + 1}" for k, (_, cells) in enumerate(sets)]
    points = [(one, row) for row, (names, _) in zip(rows, sets, strict=True) for one in names]
    marks = [
        Dots(points=[one for one in points if (one[0] in drop) == dropped], colour=colour, radius=7)
        for colour, dropped in ((BLUE, False), (ORANGE, True))
    ]
    plot = Plot(
        x=PlotAxis(scale=Rooms(tables)),
        y=PlotAxis(scale=Rooms(rows)),
        marks=marks,
        width=130 + 80 * max(len(tables), 3),
        height=26 * max(len(rows), 1),
        keys=[Key("keep", BLUE), Key("leave out", ORANGE)],
    )
    return of(plot, title=title)


def points_picture(
    values: Sequence[float], sums: Sequence[float], /, *, title: str, x: str, y: str
) -> Picture:
    """Values against the sums of their parts, as differences over size."""
    points = [(total, total - parts) for total, parts in zip(values, sums, strict=True)]
    tips = [f"{total:,.0f}: {number(gap)}" for total, gap in points]
    plot = Plot(
        x=PlotAxis(scale=Log.over(values, room=1.3), title=x, grid=False),
        y=PlotAxis(scale=Linear.over([gap for _, gap in points]), title=y),
        marks=[
            Rule(at=0, along="y", colour=GREY),
            Dots(points=points, colour=BLUE, radius=4.5, opacity=0.7, tips=tips),
        ],
        width=500,
        height=220,
    )
    return of(plot, title=title)
