"""The noise in what is left over of totals: its law and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from noisegate.laws import ContinuousLaw, LatticeLaw, Law, convolve

#: Sums of so many noises are worked out exactly; longer ones are normal to within their rounding.
_FEW_NOISES = 400


def noise_interval(laws: Sequence[tuple[Law, int]], level: float, /) -> tuple[float, float]:
    """Between which two numbers a sum of independent noises lies at `level`, tails equal."""
    tail = (1 - level) / 2
    live = [(law, n) for law, n in laws if n and law.variance > 0]
    sd = math.sqrt(sum(law.variance * n for law, n in live))
    far = sd * float(-special.ndtri(tail))
    if sum(n for _, n in live) > _FEW_NOISES or not live:
        return -far, far
    exact = noise_law(live)
    grid = np.arange(-math.ceil(4 * far) - 10, math.ceil(4 * far) + 11)
    above = np.exp(exact.logsf(grid))
    high = float(grid[int(np.argmax(above <= tail))])
    return -high, high


def noise_law(laws: Sequence[tuple[Law, int]], /) -> Law:
    """The law of the sum of so many noises of each kind, on whole numbers."""
    parts: list[LatticeLaw] = []
    for law, n in laws:
        one = law.rounded() if isinstance(law, ContinuousLaw) else law
        assert isinstance(one, LatticeLaw)
        parts += [one.sum_of(n)] if n else []
    return convolve(parts)
