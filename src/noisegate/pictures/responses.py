"""The picture of what a mechanism answers: from each raw count to the published value."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from noisegate.mechanisms.mechanism import Mechanism
from noisegate.pictures.canvas import BLUE, INK, ORANGE, Picture, rows

#: Values further than this above the cut are left out.
_ABOVE = 14
_HEIGHT, _WIDTH = 66, 370
#: A chance below this is no bar that anybody could see.
_UNSEEN = 1e-4


def responses_picture(mechanism: Mechanism, counts: Sequence[int], /) -> Picture:
    """One row for each raw count: the chance of every published value, and of nothing being published.

    Assumes that the mechanism publishes integers.
    """
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
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.5, 1]),
    )
    shown = alt.Chart(rows(value=values, chance=chances)).mark_bar(color=BLUE, width=9).encode(x=x, y=y)
    layers = [shown]
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


def answers(mechanism: Mechanism, count: int, low: int, top: int, /) -> tuple[float, list[int], list[float]]:
    """The chance that nothing is published for `count`, and the values that are, with their chances."""
    response = mechanism.response(count)
    values = np.arange(low, top + 1)
    chances = np.exp(response.logprob(values))
    seen = chances > _UNSEEN
    return float(np.exp(response.log_suppressed)), values[seen].tolist(), chances[seen].tolist()


def _percent(share: float, /) -> str:
    if share < 0.001:
        return "below 0.1%" if share > 0 else "never"
    return "always" if share == 1 else "above 99.9%" if share > 0.999 else f"{share:.0%}"
