"""Pictures of one mechanism: what it answers, whom it shows, and its privacy curve."""

from __future__ import annotations

import altair as alt
import numpy as np

from noisegate.mechanisms import Mechanism, delta, detection
from noisegate.pictures.canvas import BLUE, GREY, INK, ORANGE, Picture, rows
from noisegate.pictures.data import GroupChances, Responses
from noisegate.pictures.inline import ODDS

#: Values further than this above the threshold are left out.
_ABOVE = 14
_HEIGHT, _WIDTH = 66, 370
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
    parts = [_row(mechanism, count, low, top, axis=place == last) for place, count in enumerate(counts)]
    return alt.vconcat(*parts, spacing=10)


def _row(mechanism: Mechanism, count: int, low: int, top: int, /, *, axis: bool) -> Picture:
    hidden, values, chances = answers(mechanism, count, low, top)
    cut = mechanism.whole_threshold is not None
    left = low - 4 if cut else low - 1
    x = alt.X(
        "value:Q",
        title="published value" if axis else None,
        scale=alt.Scale(domain=[left, top + 0.7], nice=False),
        axis=alt.Axis(values=list(range(low, top + 1, 2)), format="d", grid=False, labels=axis, ticks=axis),
    )
    y = alt.Y(
        "chance:Q",
        title=None,
        scale=alt.Scale(domain=[0, max(1.0, *chances) if chances else 1.0]),
        axis=alt.Axis(format="%" if mechanism.integers else "~g", values=[0, 0.5, 1]),
    )
    shown = alt.Chart(rows(value=values, chance=chances))
    bars = (
        shown.mark_bar(color=BLUE, width=9)
        if mechanism.integers
        else shown.mark_area(color=BLUE, opacity=0.35, line={"color": BLUE})
    )
    layers = [bars.encode(x=x, y=y)]
    if cut:
        atom = rows(value=[low - 2.5], chance=[hidden], text=[f"not published: {_percent(hidden)}"])
        layers.append(alt.Chart(atom).mark_bar(color=ORANGE, width=14).encode(x=x, y=y))
        layers.append(
            alt.Chart(atom)
            .mark_text(color=INK, align="left", dx=12, fontSize=12)
            .encode(x=x, y=alt.datum(0.86), text="text:N")
        )
    return alt.layer(*layers).properties(
        width=_WIDTH, height=_HEIGHT, title=alt.Title(f"raw count {count:,}", dy=2)
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
    line = (
        alt.Chart(rows(epsilon=eps[seen], delta=values[seen]))
        .mark_line(color=BLUE)
        .encode(
            x=alt.X("epsilon:Q", title="epsilon", scale=alt.Scale(domain=[0, 3 * reference])),
            y=alt.Y("delta:Q", title="exact delta", scale=alt.Scale(type="log"), axis=alt.Axis(format=".0e")),
        )
    )
    mark = alt.Chart(rows(x=[reference])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(x="x:Q")
    subtitle = "dashed: epsilon = 1/scale" + ("" if seen.all() else "; delta is 0 where the line ends")
    return alt.layer(line, mark).properties(
        width=320, height=180, title=alt.Title("Privacy curve, one event in one table", subtitle=subtitle)
    )


def groups_picture(data: GroupChances, /) -> Picture:
    """The chance that a group shows, by its size, on a scale where each step is ten times as likely; some are named."""
    x = alt.X("size:Q", title="people in a cell that would otherwise be empty", axis=alt.Axis(tickMinStep=1))
    y = alt.Y(
        "chance:Q",
        title="chance that they show",
        scale=alt.Scale(type="log", domain=[min(data.chances) / 4, 1], nice=False),
        axis=alt.Axis(labelExpr=ODDS, tickCount=5),
    )
    line = alt.Chart(rows(size=list(data.sizes), chance=list(data.chances))).mark_line(
        color=BLUE, strokeWidth=2
    )
    some = [(size, p) for size, p in zip(data.sizes, data.chances, strict=True) if size in _NAMED]
    marks = rows(
        size=[size for size, _ in some],
        chance=[p for _, p in some],
        text=[f"{size} {'person' if size == 1 else 'people'}: {_odds(p)}" for size, p in some],
    )
    dots = alt.Chart(marks).mark_point(color=ORANGE, filled=True, size=70, opacity=1).encode(x=x, y=y)
    names = alt.Chart(marks).mark_text(color=INK, align="left", dx=9, dy=11, fontSize=12)
    layers = alt.layer(line.encode(x=x, y=y), dots, names.encode(x=x, y=y, text="text:N"))
    return layers.properties(width=320, height=180, title="Detection by group size")


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
    return alt.vconcat(response_picture(responses), alt.hconcat(*below))
