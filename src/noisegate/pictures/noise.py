"""The picture of noise: differences of equal counts as seen, as a law expects them, and simulated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import LatticeLaw
from noisegate.pictures.canvas import Picture, of
from noisegate.pictures.colours import BLUE, GREY, ORANGE
from noisegate.pictures.data import Differences
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Bars, Dots, Polyline
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.pictures.scales import Linear, number, percent
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
    near = _middle(curve.observed + curve.expected)
    at = curve.difference[near].tolist()
    n = max(float(curve.observed.sum()), 1.0)
    observed, expected, simulated = (
        (count[near] / n).tolist() for count in (curve.observed, curve.expected, curve.simulated)
    )
    bar = float(curve.difference[1] - curve.difference[0]) if len(curve.difference) > 1 else 1.0
    said = "difference of counts that are equal in the raw data"
    across = Linear.over([min(at, default=0) - bar / 2, max(at, default=0) + bar / 2], count=10)
    tips = [
        f"{number(x)}: observed {percent(seen)}, {data.law} {percent(mean)}"
        for x, seen, mean in zip(at, observed, expected, strict=True)
    ]
    marks: list[Mark] = [Bars(at=at, high=observed, colour=BLUE, span=0.9 * bar, opacity=0.55, tips=tips)]
    keys = [Key("observed", BLUE, "rect", 0.55)]
    if any(simulated):
        marks.append(
            Polyline(points=list(zip(at, simulated, strict=True)), colour=GREY, dashed=True, width=1.5)
        )
        keys.append(Key("one simulation", GREY, "line"))
    marks.append(Dots(points=list(zip(at, expected, strict=True)), colour=ORANGE, radius=3.2, tips=tips))
    plot = Plot(
        x=PlotAxis(scale=across, title=said if bar <= 1 else f"{said} (in steps of {bar:g})", count=10),
        y=PlotAxis(
            scale=Linear.over([*observed, *expected, *simulated], zero=True),
            title="share of identities",
            label=percent,
            count=5,
        ),
        marks=marks,
        width=560,
        height=240,
        keys=[*keys, Key(data.law, ORANGE)],
    )
    return of(plot, title=data.title, subtitle=data.subtitle)


def _middle(weight: np.ndarray, /) -> np.ndarray:
    """Where all but a little of the weight lies."""
    below = np.cumsum(weight) / max(float(weight.sum()), 1e-12)
    above = np.cumsum(weight[::-1])[::-1] / max(float(weight.sum()), 1e-12)
    return np.asarray((below > _FAR) & (above > _FAR))
