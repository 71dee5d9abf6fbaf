"""The picture of what is known of one suppressed count."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
from numpy.typing import NDArray

from noisegate.pictures.canvas import BLUE, GREEN, GREY, ORANGE, Picture, rows


def posterior_picture(
    posteriors: Mapping[str, NDArray[np.float64]],
    /,
    *,
    printed: tuple[float, float] | None = None,
    title: str,
) -> Picture:
    """Probability of each raw count, one line a posterior; `printed` is an interval to set beside."""
    names, colours = list(posteriors), [BLUE, ORANGE, GREEN][: len(posteriors)]
    layers: list[Picture] = []
    if printed is not None:
        layers.append(
            alt.Chart(rows(low=[printed[0]], high=[printed[1]]))
            .mark_rect(color=GREY, opacity=0.35)
            .encode(x="low:Q", x2="high:Q")
        )
    for name, mass in posteriors.items():
        shown = np.flatnonzero(mass > 1e-5)
        data = rows(count=shown, probability=mass[shown], kind=[name] * len(shown))
        layers.append(
            alt.Chart(data)
            .mark_line(point={"filled": True, "size": 28}, interpolate="step")
            .encode(
                x=alt.X("count:Q", title="raw count"),
                y=alt.Y("probability:Q", title="probability"),
                color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            )
        )
    subtitle = "" if printed is None else f"grey: the printed interval {printed[0]} to {printed[1]}"
    return alt.layer(*layers).properties(width=520, height=240, title=alt.Title(title, subtitle=subtitle))
