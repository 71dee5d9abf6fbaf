"""The picture of hours: bars over the hours of the day."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from noisegate.pictures.canvas import BLUE, GREY, Picture, rows
from noisegate.pictures.inline import coloured, fitted


def hours_picture(
    hours: Sequence[int], unique: Sequence[float], shared: Sequence[float] | None = None, /, *, what: str
) -> Picture:
    """For each hour, how many published cells can come from one vehicle only, beside those that mix several."""
    kinds = ["one vehicle only"] + (["several vehicles"] if shared is not None else [])
    values = [*unique, *(shared or ())]
    data = rows(
        hour=[*hours, *(hours if shared is not None else ())],
        cells=values,
        kind=[kind for kind in kinds for _ in hours],
    )
    chart = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X("hour:O", title="hour of the day", axis=alt.Axis(labelAngle=0, values=list(hours)[::2])),
            y=alt.Y("cells:Q", title=what, axis=alt.Axis(format="~s", tickCount=5)),
            color=alt.Color("kind:N", title=None, scale=coloured(kinds, (BLUE, GREY))),
            order=alt.Order("kind:N", sort="ascending"),
        )
    )
    return fitted(chart)
