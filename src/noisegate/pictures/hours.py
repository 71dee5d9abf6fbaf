"""The picture of hours: for each mode and hour, how many cells can come from one vehicle only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from noisegate.pictures.canvas import Picture, rows
from noisegate.pictures.inline import NOTHING, ORANGES, WIDTH

#: A share falls into the step whose lower end it reaches; the first step is nothing at all.
EDGES = (0.0, 1e-9, 0.1, 0.25, 0.5, 0.75)
NAMES = ("none", "below 10%", "10 to 25%", "25 to 50%", "50 to 75%", "75% and more")


def hours_picture(shares: Mapping[str, Sequence[float | None]], /) -> Picture:
    """One row for each mode, one field for each hour, darker where the share is larger; none where nothing runs."""
    points = [
        (mode, f"{hour:02d}", NAMES[int(np.searchsorted(EDGES, share, side="right")) - 1])
        for mode, row in shares.items()
        for hour, share in enumerate(row)
        if share is not None
    ]
    data = rows(
        mode=[m for m, _, _ in points], hour=[h for _, h, _ in points], step=[s for _, _, s in points]
    )
    hours = [f"{hour:02d}" for hour in range(max(len(row) for row in shares.values()))]
    chart = (
        alt.Chart(data)
        .mark_rect()
        .encode(
            x=alt.X(
                "hour:O",
                title="hour of the day",
                scale=alt.Scale(domain=hours, paddingInner=0.08),
                axis=alt.Axis(values=hours[::3], labelAngle=0, domain=False, ticks=False),
            ),
            y=alt.Y(
                "mode:N",
                title=None,
                sort=list(shares),
                scale=alt.Scale(paddingInner=0.1),
                axis=alt.Axis(domain=False, ticks=False, labelLimit=110),
            ),
            color=alt.Color(
                "step:N",
                title=None,
                scale=alt.Scale(domain=list(NAMES), range=[NOTHING, *ORANGES]),
                legend=alt.Legend(orient="bottom", columns=3),
            ),
        )
    )
    height = 30 * len(shares) + 110
    return chart.properties(width=WIDTH, height=height, autosize={"type": "fit", "contains": "padding"})
