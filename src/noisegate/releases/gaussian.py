"""Gaussian noise for several tables, such that all of them together keep a promise of (epsilon, delta).

A table with share s of the budget and L2 sensitivity D gets noise of sigma D / sqrt(s), so that the squared losses of
all tables add up to that of one table with the whole budget. Discrete Gaussian noise is almost as good
as continuous noise, for which sigma has a closed form; the search starts there and is settled by
exact composition, on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from noisegate.mechanisms import PublishedNoise, scale_for
from noisegate.releases.loss import Change, gaussian_delta

#: How far above the least possible sigma the answer may lie.
_PRECISION = 1e-3


def gaussian_noises(
    shares: Mapping[str, Fraction], change: Change, /, *, epsilon: Fraction, delta: Fraction
) -> dict[str, PublishedNoise]:
    """Noise for every table with a share, such that a change of all of them costs (epsilon, delta) at most.

    Refuses noise that is wider than the exact sampler's.
    """

    def noises(sigma: float) -> dict[str, PublishedNoise]:
        return {
            table: PublishedNoise(
                name="discrete-gaussian",
                scale=rounded_above(Fraction(sigma) * root_above(change.square(table)) / root_below(share)),
            )
            for table, share in shares.items()
            if share > 0
        }

    def holds(sigma: float) -> bool:
        return gaussian_delta(noises(sigma), change, float(epsilon)) <= delta

    sigma = math.sqrt(sum(shares.values())) * float(
        scale_for("gaussian", epsilon=epsilon, delta=float(delta))
    )
    noises(sigma)  # refuses what is too wide before composition is tried on it
    low, high = sigma * (1 - 4 * _PRECISION), sigma * (1 + 4 * _PRECISION)
    while not holds(high):
        low, high = high, 1.05 * high
    while holds(low):
        low, high = low / 1.05, low
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return noises(high)


def rounded_above(sigma: Fraction, /) -> Fraction:
    """A number with six decimals that is not below `sigma`."""
    return Fraction(math.ceil(sigma * 10**6), 10**6)


def root_below(share: Fraction, /) -> Fraction:
    """The square root of a share, rounded down: noise divided by it is never too narrow."""
    return Fraction(math.isqrt(int(share * 10**200)), 10**100)


def root_above(square: int, /) -> Fraction:
    """The square root of a whole number, rounded up."""
    root = math.isqrt(square * 10**200)
    return Fraction(root if root * root == square * 10**200 else root + 1, 10**100)
