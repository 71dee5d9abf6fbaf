"""The picture of more weeks: being seen, a recurring count, and the loss, week by week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt

from noisegate.pictures.canvas import BLUE, GREEN, ORANGE, Picture, rows

_WIDTH, _HEIGHT = 250, 230
_LEAST = 1e-6
_COLOURS = (BLUE, ORANGE, GREEN)


def weeks_picture(
    *,
    seen: Mapping[str, Sequence[tuple[int, float]]],
    width: Sequence[tuple[int, float]],
    loss: Mapping[str, Sequence[tuple[int, float]]],
    title: str,
    subtitle: str = "",
) -> Picture:
    """Three panels beside each other; each curve is a list of weeks and values.

    Parameters
    ----------
    seen
        For each group, the chance that it has been proved to be there.
    width
        The expected width of the interval of a recurring suppressed count.
    loss
        Epsilon of each kind, such as the worst case and the tight one.
    """
    panels = []
    if any(value > 0 for curve in seen.values() for _, value in curve):
        chance = alt.Y(
            "value:Q",
            title="chance of having been seen",
            scale=alt.Scale(type="log", domain=[_LEAST, 1], clamp=True),
            axis=alt.Axis(values=[1e-6, 1e-4, 1e-2, 1], format="~g"),
        )
        panels.append(_panel(seen, chance, "A group in an empty cell", _LEAST))
    if width:
        counts = alt.Y("value:Q", title="width of its interval", scale=alt.Scale(domainMin=0, nice=True))
        panels.append(_panel({"": width}, counts, "A recurring suppressed count", None))
    if loss:
        epsilon = alt.Y(
            "value:Q", title="epsilon", scale=alt.Scale(domainMin=0, nice=True), axis=alt.Axis(tickCount=5)
        )
        panels.append(_panel(loss, epsilon, "The loss of a commuter", None, legend="top-left"))
    return (
        alt.hconcat(*panels, spacing=36)
        .resolve_scale(color="independent", strokeDash="independent")
        .properties(title=alt.TitleParams(title, subtitle=subtitle))
    )


def _panel(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    y: Picture,
    title: str,
    least: float | None,
    /,
    *,
    legend: Literal["bottom-right", "top-left"] = "bottom-right",
) -> Picture:
    points = [(name, week, value) for name, curve in curves.items() for week, value in curve]
    if least is not None:
        points = [point for point in points if point[2] >= least]
    data = rows(
        curve=[name for name, _, _ in points],
        week=[week for _, week, _ in points],
        value=[value for _, _, value in points],
    )
    x = alt.X("week:Q", title="weeks released", axis=alt.Axis(tickMinStep=1, tickCount=5))
    names = list(dict.fromkeys(name for name, _, _ in points))
    colour = alt.Color(
        "curve:N",
        title=None,
        sort=names,
        scale=alt.Scale(domain=names, range=list(_COLOURS[: len(names)])),
        legend=alt.Legend(orient=legend, direction="vertical", columns=1, fillColor="white", padding=4)
        if len(names) > 1
        else None,
    )
    dash = alt.StrokeDash("curve:N", sort=names, legend=None)
    return (
        alt.Chart(data)
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=colour, strokeDash=dash)
        .properties(
            width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(title, fontSize=12, fontWeight="normal")
        )
    )
