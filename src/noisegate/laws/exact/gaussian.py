"""Discrete Gaussian noise, exactly: P(k) proportional to exp(-k**2 / (2 sigma**2)) on the integers.

The digits of a Gaussian number are not independent, so this law has one table with an entry for every
value that can occur, some 33 sigma of them. That sets the largest sigma.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.laws.exact.fixed import DECIMALS, decimal_exp_minus, gaussian_weights, to_decimal
from noisegate.laws.exact.parameters import Number, as_sigma, as_size, as_threshold
from noisegate.laws.exact.runs import RunLaw


def discrete_gaussian(sigma: Number, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` draws of integer noise with P(k) proportional to exp(-k**2 / (2 sigma**2)).

    `sigma` is the parameter of the law; for sigma above 1 it equals the standard deviation to nine
    digits or more.

    Guarantee
    ---------
    Each draw is within `distance_bound("discrete-gaussian", sigma)` of the ideal law in total
    variation, for exactly this `sigma`, if the bits of `entropy` are uniform and independent.
    """
    return discrete_gaussian_runs(as_sigma(sigma)).draw(as_size(size), entropy=as_entropy(entropy))


def discrete_gaussian_above(
    sigma: Number, threshold: int, size: int, /, *, entropy: Entropy
) -> NDArray[np.int64]:
    """`size` draws of discrete Gaussian noise, given that each exceeds `threshold` >= 0."""
    runs = _above(as_sigma(sigma), as_threshold(threshold))
    return runs.draw(as_size(size), entropy=as_entropy(entropy))


def discrete_gaussian_tail(sigma: Number, threshold: int, /) -> Decimal:
    """P(noise > threshold) of discrete Gaussian noise, threshold >= 0, to 70 digits.

    What is below 10**(-10**17) may be given as 0.
    """
    return _tail(as_sigma(sigma), as_threshold(threshold))


@lru_cache(maxsize=128)
def _tail(sigma: Fraction, threshold: int, /) -> Decimal:
    above = threshold + 1
    first = decimal_exp_minus(above**2 / (2 * sigma**2))
    right = gaussian_weights(sigma, start=0, cut_bits=256)
    tail = sum(gaussian_weights(sigma, start=above, cut_bits=256))
    return DECIMALS.multiply(first, to_decimal(Fraction(tail, 2 * sum(right) - right[0])))


@lru_cache(maxsize=4)
def discrete_gaussian_runs(sigma: Fraction, /) -> RunLaw:
    """The law of discrete Gaussian noise, ready to be drawn from."""
    right = gaussian_weights(sigma, start=0)
    weights, values = right[:1], [0]
    for value, weight in enumerate(right[1:], start=1):
        weights += weight, weight
        values += value, -value
    return RunLaw.of_weights(weights, values)


@lru_cache(maxsize=4)
def _above(sigma: Fraction, threshold: int, /) -> RunLaw:
    weights = gaussian_weights(sigma, start=threshold + 1)
    return RunLaw.of_weights(weights, range(threshold + 1, threshold + 1 + len(weights)))
