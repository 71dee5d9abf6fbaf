"""The picture of an assessment: differences seen, expected under the recovered law, and simulated."""

from __future__ import annotations

import altair as alt
import numpy as np

from noisegate.pictures.canvas import BLUE, GREY, ORANGE, Picture, rows
from noisegate.recovery.curve import DifferenceCurve

#: Beyond this share of the identities, differences are left out at either end.
_FAR = 0.004


def recovered_noise_picture(curve: DifferenceCurve, /, *, title: str, subtitle: str = "") -> Picture:
    """Bars of what was observed, dots of what the fitted law expects, a line for one simulation.

    Few identities are drawn in wider bars, so that the three can be compared by eye.
    """
    curve = curve.gathered()
    n = max(float(curve.observed.sum()), 1.0)
    near = _middle(curve.observed + curve.expected)
    bar = float(curve.difference[1] - curve.difference[0]) if len(curve.difference) > 1 else 1.0
    said = "difference of counts that are equal in the raw data"
    x = alt.X(
        "difference:Q",
        title=said if bar <= 1 else f"{said} (in steps of {bar:g})",
        axis=alt.Axis(labelOverlap=True),
    )
    y = alt.Y("share:Q", title="share of identities", axis=alt.Axis(format="%"))
    kinds = {"observed": BLUE, "one simulation": GREY, "recovered law": ORANGE}
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=list(kinds.values())))

    def layer(kind: str, count: np.ndarray) -> Picture:
        difference = curve.difference[near]
        data = rows(difference=difference, share=count[near] / n, kind=[kind] * len(difference))
        return alt.Chart(data).encode(x=x, y=y, color=colour)

    width = max(1.0, min(32.0, 420 / max(int(near.sum()), 1)))
    return alt.layer(
        layer("observed", curve.observed).mark_bar(width=width, opacity=0.55),
        layer("one simulation", curve.simulated).mark_line(strokeDash=[4, 3]),
        layer("recovered law", curve.expected).mark_point(filled=True, size=36),
    ).properties(width=520, height=260, title=alt.TitleParams(title, subtitle=subtitle))


def _middle(weight: np.ndarray, /) -> np.ndarray:
    """Where all but a little of the weight lies."""
    below = np.cumsum(weight) / max(float(weight.sum()), 1e-12)
    above = np.cumsum(weight[::-1])[::-1] / max(float(weight.sum()), 1e-12)
    return np.asarray((below > _FAR) & (above > _FAR))
