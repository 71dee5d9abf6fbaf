"""Whether one quantity grows with another, by their ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from noisegate.laws import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """Spearman's rank correlation, and the chance of one so large (`above`) or so far from 0 (`apart`) if there is none."""

    value: float
    above: float
    apart: float


def rank_correlation(first: Floats, second: Floats, /) -> RankCorrelation:
    """The rank correlation of two quantities that both vary, with the p-values of Student's approximation.

    Examples
    --------
    >>> found = rank_correlation(np.arange(9.0), np.array([1.0, 2, 2, 4, 3, 6, 7, 9, 8]))
    >>> round(found.value, 3), found.above < 0.001
    (0.962, True)
    """
    value = float(np.corrcoef(_ranks(np.asarray(first)), _ranks(np.asarray(second)))[0, 1])
    free = len(first) - 2
    away = value * math.sqrt(free / max(1 - value**2, 1e-300))
    return RankCorrelation(
        value=value,
        above=float(special.stdtr(free, -away)),
        apart=float(2 * special.stdtr(free, -abs(away))),
    )


def _ranks(values: Floats, /) -> Floats:
    """The place of each value among all, equal ones sharing the mean of theirs."""
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2)[which])
