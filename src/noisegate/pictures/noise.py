"""The picture of recovered noise: observed differences, the fitted law, and a simulation."""

from __future__ import annotations

import altair as alt
import numpy as np
from numpy.typing import NDArray

from noisegate.laws._law import LatticeLaw
from noisegate.pictures.canvas import BLUE, GREY, ORANGE, Picture, rows


def differences_picture(
    observed: NDArray[np.int64],
    law: LatticeLaw,
    /,
    *,
    simulated: NDArray[np.int64] | None = None,
    title: str = "Differences of counts that are equal in the raw data",
) -> Picture:
    """Bars of `observed`, dots of what `law` expects, and a line for `simulated`."""
    reach = max(6, int(np.max(np.abs(observed), initial=0)))
    k = np.arange(-reach, reach + 1)
    seen = np.array([(observed == value).mean() for value in k])
    x_axis = alt.X("k:Q", title="difference", axis=alt.Axis(tickMinStep=1))
    y_axis = alt.Y("share:Q", title="share of pairs", axis=alt.Axis(format="%"))
    kinds = {"observed": BLUE, "simulated": GREY, "law": ORANGE}
    if simulated is None:
        del kinds["simulated"]
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=list(kinds.values())))

    def layer(kind: str, share: NDArray[np.float64]) -> Picture:
        return alt.Chart(rows(k=k, share=share, kind=[kind] * len(k))).encode(
            x=x_axis, y=y_axis, color=colour
        )

    layers = [layer("observed", seen).mark_bar(width=9, opacity=0.55)]
    if simulated is not None:
        again = np.array([(simulated == value).mean() for value in k])
        layers.append(layer("simulated", again).mark_line(strokeDash=[4, 3]))
    layers.append(layer("law", np.exp(law.logpmf(k))).mark_point(filled=True, size=36))
    return alt.layer(*layers).properties(width=520, height=260, title=title)
