"""The split of a budget that serves stated aims: the largest error, each measured by its own aim, is made least."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from noisegate.margins.design import subsets

Floats = NDArray[np.float64]

#: Shares are multiples of one over this, so that a spec can be given them.
_STEPS = 1000
_MOST_STARTS = 8
_LEAST_BASE = 0.02


def minimax_split(ratios: Callable[[Floats], Floats], /, *, margins: int) -> tuple[Fraction, ...]:
    """Shares of the base and of each margin, adding up to 1, that make the largest of `ratios` least.

    `ratios` takes shares and gives, for each aim, the standard error over what is wanted. A margin may have share 0: it is
    then summed from the base. The problem has a minimum for each choice of margins to measure, so several are tried.

    Examples
    --------
    >>> split = minimax_split(lambda s: np.array([1 / s[0], 3 / max(s[1], 1e-9)]), margins=1)
    >>> [float(share) for share in split]
    [0.25, 0.75]
    """
    found = [np.array([1.0] + [0.0] * margins)]
    for dropped in list(subsets(range(margins)))[:_MOST_STARTS] if margins else []:
        start = np.full(margins + 1, 1.0)
        start[[1 + place for place in dropped]] = 0.0
        found.append(_descended(ratios, start / start.sum()))
    rounded = [_rounded(shares) for shares in found]
    return min(rounded, key=lambda shares: float(ratios(np.array([float(s) for s in shares])).max()))


def _descended(ratios: Callable[[Floats], Floats], start: Floats, /) -> Floats:
    """A minimum near `start`; shares that are 0 there stay so."""
    from scipy import optimize

    free = np.flatnonzero(start > 0)

    def whole(x: Floats) -> Floats:
        shares = np.zeros(len(start))
        shares[free] = np.maximum(x[:-1], 1e-6)
        return shares

    scale = float(ratios(start).max())

    def slack(x: Floats) -> Floats:
        return np.append(x[-1] - ratios(whole(x)) / scale, 1 - x[:-1].sum())

    def largest(x: Floats) -> float:
        return float(x[-1])

    answer = optimize.minimize(
        largest,
        np.append(start[free], 1.0),
        method="SLSQP",
        bounds=[(_LEAST_BASE if place == 0 else 1e-4, 1.0) for place in free] + [(0.0, None)],
        constraints=optimize.NonlinearConstraint(slack, 0.0, np.inf),
        options={"maxiter": 60},
    )
    shares = whole(np.asarray(answer.x, dtype=np.float64))
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def _rounded(shares: Floats, /) -> tuple[Fraction, ...]:
    margins = [Fraction(round(float(share) * _STEPS), _STEPS) for share in shares[1:]]
    return (1 - sum(margins, Fraction(0)), *margins)
