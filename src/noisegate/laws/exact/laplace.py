"""Discrete and rounded Laplace noise, exactly.

With r = exp(-1/scale) both laws are a sign and an independent geometric number Y, P(Y = y) = (1-r) r**y:

* discrete Laplace, P(k) = tanh(1/(2 scale)) r**|k|: Y with chance 1/(1+r), else -1-Y;
* rounded Laplace, P(0) = 1 - sqrt(r), P(k) = sinh(1/(2 scale)) r**|k|: 0 with chance 1 - sqrt(r),
  else 1+Y or -1-Y with equal chances.

Above a threshold of 0 or more both are memoryless: threshold + 1 + Y.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.laws.exact.fixed import DECIMALS, FRACTION_BITS, ONE, decimal_exp_minus, exp_minus
from noisegate.laws.exact.parameters import Number, as_scale, as_size, as_threshold
from noisegate.laws.exact.runs import Run, RunLaw


def discrete_laplace(scale: Number, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` draws of integer noise with P(k) proportional to exp(-|k| / scale).

    Guarantee
    ---------
    Each draw is within `distance_bound("discrete-laplace", scale)` of the ideal law in total
    variation, for exactly this `scale`, if the bits of `entropy` are uniform and independent.

    Examples
    --------
    >>> from noisegate.laws.entropy import OsNoise
    >>> discrete_laplace(1.4, 5, entropy=OsNoise()).dtype
    dtype('int64')
    """
    return discrete_laplace_runs(as_scale(scale)).draw(as_size(size), entropy=as_entropy(entropy))


def discrete_laplace_above(
    scale: Number, threshold: int, size: int, /, *, entropy: Entropy
) -> NDArray[np.int64]:
    """`size` draws of discrete Laplace noise, given that each exceeds `threshold` >= 0."""
    runs = _above(as_scale(scale), as_threshold(threshold))
    return runs.draw(as_size(size), entropy=as_entropy(entropy))


def discrete_laplace_tail(scale: Number, threshold: int, /) -> Decimal:
    """P(noise > threshold) of discrete Laplace noise, t = threshold >= 0, to 70 digits: r**(t+1) / (1+r).

    What is below 10**(-10**17) may be given as 0.
    """
    exact, above = as_scale(scale), as_threshold(threshold) + 1
    mass = decimal_exp_minus(above / exact)
    return DECIMALS.divide(mass, DECIMALS.add(Decimal(1), decimal_exp_minus(1 / exact)))


def rounded_laplace(scale: Number, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` draws of continuous Laplace noise rounded to the nearest integer, without the continuous part.

    The guarantee is that of `discrete_laplace`.
    """
    return rounded_laplace_runs(as_scale(scale)).draw(as_size(size), entropy=as_entropy(entropy))


def rounded_laplace_above(
    scale: Number, threshold: int, size: int, /, *, entropy: Entropy
) -> NDArray[np.int64]:
    """`size` draws of rounded Laplace noise, given that each exceeds `threshold` >= 0."""
    return discrete_laplace_above(scale, threshold, size, entropy=entropy)


def rounded_laplace_tail(scale: Number, threshold: int, /) -> Decimal:
    """P(noise > threshold) of rounded Laplace noise, t = threshold >= 0, to 70 digits: exp(-(t+1/2)/scale) / 2.

    What is below 10**(-10**17) may be given as 0.
    """
    exponent = (as_threshold(threshold) + Fraction(1, 2)) / as_scale(scale)
    return DECIMALS.divide(decimal_exp_minus(exponent), Decimal(2))


@lru_cache(maxsize=32)
def discrete_laplace_runs(scale: Fraction, /) -> RunLaw:
    """The law of discrete Laplace noise, ready to be drawn from."""
    ratio = exp_minus(1 / scale)
    negative = (ratio << FRACTION_BITS) // (ONE + ratio)
    runs = [Run(mass=ONE - negative, first=0, step=1), Run(mass=negative, first=-1, step=-1)]
    return RunLaw.falling(ratio, runs)


@lru_cache(maxsize=32)
def rounded_laplace_runs(scale: Fraction, /) -> RunLaw:
    """The law of rounded Laplace noise, ready to be drawn from."""
    moved = exp_minus(1 / (2 * scale))
    side = moved // 2
    runs = [
        Run(mass=ONE - 2 * side, first=0, step=0),
        Run(mass=side, first=1, step=1),
        Run(mass=side, first=-1, step=-1),
    ]
    return RunLaw.falling(exp_minus(1 / scale), runs)


@lru_cache(maxsize=32)
def _above(scale: Fraction, threshold: int, /) -> RunLaw:
    run = Run(mass=ONE, first=threshold + 1, step=1)
    return RunLaw.falling(exp_minus(1 / scale), [run])
