"""Pictures of one mechanism: what it answers, whom it shows, and its privacy curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noisegate.mechanisms import Mechanism, delta, detection
from noisegate.pictures.canvas import Picture, of
from noisegate.pictures.colours import BLUE, GREY, ORANGE
from noisegate.pictures.data import GroupChances, Responses
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Area, Bars, Dots, Polyline, Rule
from noisegate.pictures.plot import Plot, PlotAxis
from noisegate.pictures.scales import Linear, Log, number, odds, percent
from noisegate.pictures.words import Names

#: Values further than this above the threshold are left out.
_ABOVE = 14
_HEIGHT = 66
#: Values up to which every second one is marked.
_FEW = 40
#: A chance below this is no bar that anybody could see.
_UNSEEN = 1e-4
#: Sizes of groups that are named.
_NAMED = (1, 5, 12)


def response_picture(data: Responses, /) -> Picture:
    """One row for each raw count: the chance of every published value, and of nothing being published.

    Values that are not whole numbers have a density instead.
    """
    mechanism, counts = data.mechanism, data.counts
    low = (
        mechanism.whole_threshold
        if mechanism.whole_threshold is not None
        else max(min(counts) - _ABOVE // 2, 0)
    )
    top = max(low, *counts) + _ABOVE // 2
    last = len(counts) - 1
    return Picture(
        rows=[[_row(mechanism, count, low, top, last=place == last)] for place, count in enumerate(counts)]
    )


def _row(mechanism: Mechanism, count: int, low: int, top: int, /, *, last: bool) -> Plot:
    hidden, values, chances = answers(mechanism, count, low, top)
    cut = mechanism.whole_threshold is not None
    say = percent if mechanism.integers else number
    tips = [f"{number(value)}: {say(chance)}" for value, chance in zip(values, chances, strict=True)]
    marks: list[Mark] = [
        Bars(at=values, high=chances, colour=BLUE, size=9, tips=tips)
        if mechanism.integers
        else Area(points=list(zip(values, chances, strict=True)), colour=BLUE)
    ]
    if cut:
        said = f"not published: {_percent(hidden)}"
        marks.append(Bars(at=[low - 2.5], high=[hidden], colour=ORANGE, size=14, tips=[said]))
        marks.append(Names(points=[(low - 2.5, 0.86)], texts=[said], beside=12))
    return Plot(
        x=PlotAxis(
            scale=Linear(low - 4 if cut else low - 1, top + 0.7),
            title="published value" if last else "",
            ticks=range(low, top + 1, 2) if top - low <= _FEW else None,
            grid=False,
            labels=last,
        ),
        y=PlotAxis(scale=Linear(0, max(1.0, *chances) if chances else 1.0), label=say, ticks=(0, 0.5, 1)),
        marks=marks,
        height=_HEIGHT,
        title=f"raw count {count:,}",
    )


def answers(
    mechanism: Mechanism, count: int, low: int, top: int, /
) -> tuple[float, list[float], list[float]]:
    """The chance that nothing is published for `count`, and the values that are, with their chances or densities."""
    response = mechanism.response(count)
    hidden = float(np.exp(response.log_suppressed))
    if not mechanism.integers:
        if response.fixed:
            return hidden, [], []
        start = low if mechanism.threshold is None else mechanism.threshold + 1e-6
        values = np.unique(np.append(np.linspace(start, top, 300), max(start, float(count))))
        return hidden, values.tolist(), np.exp(response.logprob(values)).tolist()
    values = np.arange(low, top + 1)
    chances = np.exp(response.logprob(values))
    seen = chances > _UNSEEN
    return hidden, values[seen].tolist(), chances[seen].tolist()


def _percent(share: float, /) -> str:
    if share < 0.001:
        return "below 0.1%" if share > 0 else "never"
    return "always" if share == 1 else "above 99.9%" if share > 0.999 else f"{share:.0%}"


def curve_picture(mechanism: Mechanism, /) -> Picture:
    """Delta against epsilon, on a log scale, with epsilon = 1/scale marked."""
    reference = 1 / float(getattr(mechanism.law, "scale", 1.0))
    eps = np.linspace(0, 3 * reference, 121)
    values = np.asarray(delta(mechanism, eps))
    seen = values > 0
    up = Log.over(values[seen].tolist())
    plot = Plot(
        x=PlotAxis(scale=Linear(0, 3 * reference), title="epsilon"),
        y=PlotAxis(scale=Log(up.low, max(1.0, up.high)), title="exact delta", count=8),
        marks=[
            Polyline(points=list(zip(eps[seen].tolist(), values[seen].tolist(), strict=True)), colour=BLUE),
            Rule(at=reference, colour=GREY),
        ],
    )
    subtitle = "dashed: epsilon = 1/scale" + ("" if seen.all() else "; delta is 0 where the line ends")
    return of(plot, title="Privacy curve, one event in one table", subtitle=subtitle)


def groups_picture(data: GroupChances, /) -> Picture:
    """The chance that a group shows, by its size, on a scale where each step is ten times as likely; some are named."""
    points = list(zip(data.sizes, data.chances, strict=True))
    named = [(size, p) for size, p in points if size in _NAMED]
    texts = [f"{size} {'person' if size == 1 else 'people'}: {_odds(p)}" for size, p in named]
    low = Log.over(data.chances).low
    across = Linear.over(data.sizes, zero=True, count=8)
    plot = Plot(
        x=PlotAxis(
            scale=across,
            title="people in a cell that would otherwise be empty",
            ticks=[tick for tick in across.ticks(8) if tick == round(tick)],
        ),
        y=PlotAxis(scale=Log(low / 4, 1), title="chance that they show", label=odds, count=7),
        marks=[
            Polyline(points=points, colour=BLUE),
            Dots(points=named, colour=ORANGE, radius=4.5, tips=texts),
            Names(points=named, texts=texts, beside=9, lower=10),
        ],
    )
    return of(plot, title="Detection by group size")


def _odds(chance: float, /) -> str:
    return f"{chance:.0%}" if chance >= 0.1 else f"1 in {float(f'{1 / chance:.2g}'):,.0f}"


def groups_of(mechanism: Mechanism, sizes: range, /) -> GroupChances:
    """The chance that groups of these sizes in an otherwise empty cell are shown for certain; those that have one."""
    chances = {size: p for size in sizes if (p := detection(mechanism, size)) > 0}
    return GroupChances(sizes=list(chances), chances=list(chances.values()))


def mechanism_picture(mechanism: Mechanism, /) -> Picture:
    """Responses, detection and privacy curve of one mechanism on one page."""
    around = round(mechanism.threshold or 10)
    below, groups = [curve_picture(mechanism)], groups_of(mechanism, range(1, max(2, around + 1)))
    if groups.sizes:
        below.append(groups_picture(groups))
    responses = Responses(mechanism=mechanism, counts=[0, max(1, around - 1), around + 2])
    headed = [
        replace(plot, title=one.title, subtitle=one.subtitle)
        for one in below
        for row in one.rows
        for plot in row
    ]
    return Picture(rows=[*response_picture(responses).rows, headed], title="What this mechanism gives away")
