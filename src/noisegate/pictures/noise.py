"""The picture of noise: differences of equal counts as seen, as a law expects them, and simulated."""

from __future__ import annotations

import altair as alt
import numpy as np
from numpy.typing import NDArray

from noisegate.laws import LatticeLaw
from noisegate.pictures.canvas import BLUE, GREY, ORANGE, Picture, rows
from noisegate.pictures.data import Differences
from noisegate.recovery import DifferenceCurve

#: Beyond this share of the identities, differences are left out at either end.
_FAR = 0.004


def differences_of(
    observed: NDArray[np.int64],
    law: LatticeLaw,
    /,
    *,
    simulated: NDArray[np.int64] | None = None,
    title: str = "Differences of counts that are equal in the raw data",
) -> Differences:
    """Differences beside their law, and beside simulated ones if there are any."""
    reach = max(6, int(np.max(np.abs(observed), initial=0)))
    k = np.arange(-reach, reach + 1)

    def often(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([(values == value).sum() for value in k])

    curve = DifferenceCurve(
        difference=k.astype(float),
        observed=often(observed),
        expected=len(observed) * np.exp(law.logpmf(k)),
        simulated=np.zeros_like(k) if simulated is None else often(simulated),
    )
    return Differences(curve=curve, title=title)


def differences_picture(data: Differences, /) -> Picture:
    """Bars of what was observed, dots of what the law expects, a dashed line for one simulation if there is one.

    Few identities are drawn in wider bars, so that they can be compared by eye.
    """
    curve = data.curve.gathered()
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
    simulated = bool(curve.simulated.any())
    kinds = {"observed": BLUE, **({"one simulation": GREY} if simulated else {}), data.law: ORANGE}
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=list(kinds.values())))

    def layer(kind: str, count: np.ndarray) -> Picture:
        difference = curve.difference[near]
        data = rows(difference=difference, share=count[near] / n, kind=[kind] * len(difference))
        return alt.Chart(data).encode(x=x, y=y, color=colour)

    width = max(1.0, min(32.0, 420 / max(int(near.sum()), 1)))
    layers = [layer("observed", curve.observed).mark_bar(width=width, opacity=0.55)]
    if simulated:
        layers.append(layer("one simulation", curve.simulated).mark_line(strokeDash=[4, 3]))
    layers.append(layer(data.law, curve.expected).mark_point(filled=True, size=36))
    return alt.layer(*layers).properties(
        width=520, height=260, title=alt.TitleParams(data.title, subtitle=data.subtitle)
    )


def _middle(weight: np.ndarray, /) -> np.ndarray:
    """Where all but a little of the weight lies."""
    below = np.cumsum(weight) / max(float(weight.sum()), 1e-12)
    above = np.cumsum(weight[::-1])[::-1] / max(float(weight.sum()), 1e-12)
    return np.asarray((below > _FAR) & (above > _FAR))
