"""Exact samplers of noise that is published: integers only, no floating point, a proven bound.

Every function draws from a `Entropy` and returns int64 (`bernoulli`: bool). Scales and
probabilities may be ints, floats, Fractions or Decimals and are taken as exactly those numbers.
Each draw is within 2**-DISTANCE_BOUND_BITS of its ideal law in total variation;
docs/proofs/exact-noise.md has the proof and says what is assumed.
"""

from __future__ import annotations

from noisegate.laws.exact.distance import DISTANCE_BOUND_BITS, distance_bound
from noisegate.laws.exact.gaussian import discrete_gaussian, discrete_gaussian_above, discrete_gaussian_tail
from noisegate.laws.exact.geometric import bernoulli, geometric, successes
from noisegate.laws.exact.laplace import (
    discrete_laplace,
    discrete_laplace_above,
    discrete_laplace_tail,
    rounded_laplace,
    rounded_laplace_above,
    rounded_laplace_tail,
)
from noisegate.laws.exact.parameters import LARGEST_SCALE, LARGEST_SIGMA, Number
from noisegate.laws.exact.uniform import random_rounding, uniform, uniform_above, uniform_tail

__all__ = [
    "DISTANCE_BOUND_BITS",
    "LARGEST_SCALE",
    "LARGEST_SIGMA",
    "Number",
    "bernoulli",
    "discrete_gaussian",
    "discrete_gaussian_above",
    "discrete_gaussian_tail",
    "discrete_laplace",
    "discrete_laplace_above",
    "discrete_laplace_tail",
    "distance_bound",
    "geometric",
    "random_rounding",
    "rounded_laplace",
    "rounded_laplace_above",
    "rounded_laplace_tail",
    "successes",
    "uniform",
    "uniform_above",
    "uniform_tail",
]
