"""The cells of the base: what is published, withheld or given away by day and time, and the most exposed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from noisegate.pictures.calendar import Band, calendar_picture
from noisegate.pictures.exposed import exposed_picture
from noisegate.pictures.inline import BLUES, GREYS, ORANGES, inline_svg
from noisegate.report.cells import CellFile, Moment
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Source
from noisegate.report.words import chance, number, percent

#: So many cells are named.
_NAMED = 8


def cell_figures(source: Source, /) -> Iterator[Figure]:
    """Both figures, if the cells were inferred."""
    if source.cells is None:
        return
    with CellFile(source.cells) as cells:
        time = source.dimension("time")
        moments = [] if time is None else cells.moments(date=source.dimension("date"), time=time)
        if moments:
            yield _calendar(source, moments)
        yield from _exposed(source, cells)


def _calendar(source: Source, moments: Sequence[Moment], /) -> Figure:
    days, times = [_day(one.day) for one in moments], [one.time for one in moments]
    shares = {
        "published": [one.published / one.cells for one in moments],
        "suppressed": [(one.cells - one.published - one.told) / one.cells for one in moments],
        "suppressed, yet shown to hold somebody": [one.told / one.cells for one in moments],
    }
    bands = [
        Band(title=title, days=days, times=times, shares=values, colours=colours)
        for (title, values), colours in zip(shares.items(), (BLUES, GREYS, ORANGES), strict=True)
    ]
    by_time: dict[str, list[int]] = {}
    for one in moments:
        row = by_time.setdefault(one.time, [0, 0, 0])
        for place, value in enumerate((one.cells, one.published, one.told)):
            row[place] += value
    total, shown, told = (sum(row[place] for row in by_time.values()) for place in range(3))
    most = max(by_time, key=lambda name: by_time[name][2])
    where = f", most of them at {most}" if told else ""
    return Figure(
        key="calendar",
        caption=(
            f"The cells of {source.base.get('name')} by day and time: the share that is published, that is suppressed, and "
            "that is suppressed although the linked tables show, with more than 99%, that it is not empty. Darker is more, in "
            "steps at 5, 20, 50 and 80%."
        ),
        alt=(
            f"Three heat maps over days and times. Of {total:,} cells, {percent(shown / total)} are published; {told:,} "
            f"suppressed ones are shown to hold somebody{where}."
        ),
        svg=inline_svg(calendar_picture(bands), key="calendar"),
        data=Grid.of(
            "Cells by time of day",
            ("time", "cells", "published", "suppressed", "of these shown to hold somebody"),
            ((name, n, p, n - p, t) for name, (n, p, t) in sorted(by_time.items())),
            most=96,
        ),
        about=("presence", "pinned-cells"),
    )


def _day(text: str, /) -> str:
    """A date as people say it; any other text as it is."""
    try:
        return f"{datetime.strptime(text.replace('-', ''), '%Y%m%d'):%a %d %b}"  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return text


def _exposed(source: Source, cells: CellFile, /) -> Iterator[Figure]:
    found = cells.exposed(most=_NAMED)
    if not found:
        return
    cut = (source.base.get("threshold") or {}).get("value")
    edge = float(cut) if isinstance(cut, int | float) else None
    line = "" if edge is None else " Dashed: the least count that is published."
    first = found[0]
    yield Figure(
        key="exposed",
        caption=(
            f"Suppressed cells of {source.base.get('name')} that the linked tables tell most sharply. Line: "
            f"{source.level:.0%} interval of the raw count. Dot: the likeliest count.{line}"
        ),
        alt=(
            f"Interval plot of {len(found)} suppressed cells. The sharpest, {first.name}, held {number(first.low)} to "
            f"{number(first.high)}, most likely {number(first.mode)}."
        ),
        svg=inline_svg(exposed_picture(found, cut=edge, level=source.level), key="exposed"),
        data=Grid.of(
            "Suppressed cells told most sharply",
            ("cell", "low", "likeliest", "high", "chance that it is empty"),
            ((one.name, one.low, one.mode, one.high, chance(one.chance_empty)) for one in found),
        ),
        about=("pinned-cells", "presence"),
    )
