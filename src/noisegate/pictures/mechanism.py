"""Pictures of one mechanism: what it answers, whom it shows, and its privacy curve."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from noisegate.mechanisms.mechanism import Mechanism
from noisegate.mechanisms.privacy import delta, detection
from noisegate.pictures.canvas import BLUE, GREY, ORANGE, Picture, rows


def response_picture(mechanism: Mechanism, counts: Sequence[int], /) -> Picture:
    """The distribution of the published value for each raw count, side by side."""
    return alt.hconcat(*(_response(mechanism, count, f"({'abcdefgh'[i]})") for i, count in enumerate(counts)))


def _response(mechanism: Mechanism, count: int, label: str, /) -> Picture:
    response = mechanism.response(count)
    suppressed = float(np.exp(response.log_suppressed))
    top = max((mechanism.threshold or 0) + 8, count + 8)
    x_scale = alt.Scale(domain=[-1, top])
    y_title = "probability" if mechanism.integers else "density; at 0 probability"
    layers: list[Picture] = []
    if suppressed > 0:
        atom = rows(x=[0.0], p=[suppressed], label=[f"{suppressed:.3g}"])
        layers += [
            alt.Chart(atom)
            .mark_rule(color=ORANGE, strokeWidth=2)
            .encode(
                x=alt.X("x:Q", title="published value", scale=x_scale),
                y=alt.Y("p:Q", title=y_title),
                y2=alt.Y2Datum(0),
            ),
            alt.Chart(atom).mark_point(color=ORANGE, filled=True, size=60).encode(x="x:Q", y="p:Q"),
            alt.Chart(atom)
            .mark_text(align="left", dx=6, color=ORANGE)
            .encode(x="x:Q", y="p:Q", text="label:N"),
        ]
    if not response.fixed:
        layers.append(_published_part(mechanism, count, top, x_scale))
    title = alt.Title(f"{label} raw count {count}", subtitle="orange: not published, shown as 0")
    return alt.layer(*layers).properties(width=230, height=180, title=title)


def _published_part(mechanism: Mechanism, count: int, top: float, x_scale: alt.Scale, /) -> Picture:
    response = mechanism.response(count)
    y_axis = alt.Y("p:Q", title="probability" if mechanism.integers else "density; at 0 probability")
    x_axis = alt.X("x:Q", title="published value", scale=x_scale)
    if mechanism.integers:
        values = response.support(nats=40)
        values = values[values <= top]
        data = rows(x=values, p=np.exp(response.logprob(values)))
        return alt.Chart(data).mark_bar(color=BLUE, width=4).encode(x=x_axis, y=y_axis)
    low = -1.0 if mechanism.threshold is None else mechanism.threshold + 1e-6
    values = np.unique(np.append(np.linspace(low, top, 300), max(low, float(count))))
    data = rows(x=values, p=np.exp(response.logprob(values)))
    return (
        alt.Chart(data).mark_area(color=BLUE, opacity=0.35, line={"color": BLUE}).encode(x=x_axis, y=y_axis)
    )


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


def detection_picture(mechanism: Mechanism, /, *, groups: Sequence[int]) -> Picture:
    """The probability that a group in an otherwise empty cell is shown for certain, by its size."""
    data = rows(group=list(groups), probability=[detection(mechanism, g) for g in groups])
    return (
        alt.Chart(data)
        .mark_line(color=ORANGE, point={"color": ORANGE, "filled": True})
        .encode(
            x=alt.X("group:Q", title="people in an otherwise empty cell"),
            y=alt.Y(
                "probability:Q",
                title="probability of proof",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format=".0e"),
            ),
        )
        .properties(width=320, height=180, title="Detection by group size")
    )


def mechanism_picture(mechanism: Mechanism, /) -> Picture:
    """Responses, detection and privacy curve of one mechanism on one page."""
    around = round(mechanism.threshold or 10)
    below = alt.hconcat(curve_picture(mechanism))
    groups = range(1, max(2, around + 1))
    if any(detection(mechanism, g) > 0 for g in (1, groups[-1])):
        below = alt.hconcat(curve_picture(mechanism), detection_picture(mechanism, groups=groups))
    return alt.vconcat(response_picture(mechanism, [0, max(1, around - 1), around + 2]), below)
