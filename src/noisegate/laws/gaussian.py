"""Gaussian noise: continuous, rounded to integers, and discrete. `scale` is the parameter sigma."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from noisegate.laws import exact
from noisegate.laws._law import (
    ContinuousLaw,
    Floats,
    Ints,
    LatticeLaw,
    SymmetricLatticeLaw,
    log_subtract,
    positive_scale,
    whole,
)
from noisegate.laws.entropy import Entropy, as_entropy, as_rng
from noisegate.laws.tabulated import power

# Beyond this many sigmas the tail of a discrete Gaussian is summed afresh from where it starts.
_TAIL_SIGMAS = 40.0
#: Reaches of the tail that are summed place by place; farther out a few terms are the whole sum.
_NEAR = 8


@dataclass(frozen=True)
class Gaussian(ContinuousLaw):
    """Normal noise with standard deviation `scale`."""

    scale: float
    name = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @property
    def variance(self) -> float:
        """The squared scale."""
        return self.scale**2

    def logpdf(self, x: ArrayLike, /) -> Floats:
        """Log-density at `x`."""
        return -((np.asarray(x, float) / self.scale) ** 2) / 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def _log_tail(self, x: Floats, /) -> Floats:
        from scipy import special

        return np.asarray(special.log_ndtr(-x / self.scale))

    def sum_of(self, n: int, /) -> Gaussian:
        """A Gaussian again."""
        return Gaussian(self.scale * math.sqrt(whole(n, what="n", least=1)))

    def rounded(self) -> RoundedGaussian:
        """The law of the nearest integer."""
        return RoundedGaussian(self.scale)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Floats:
        """`size` draws for a simulation."""
        return as_rng(rng).normal(scale=self.scale, size=size)


@dataclass(frozen=True)
class RoundedGaussian(SymmetricLatticeLaw):
    """A normal draw rounded to the nearest integer."""

    scale: float
    name = "rounded-gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @cached_property
    def variance(self) -> float:
        """By summation."""
        k = np.arange(1, self.reach(60) + 1, dtype=float)
        return float(2 * np.sum(k**2 * np.exp(self._logpmf_at(k))))

    def _logpmf_at(self, k: Floats, /) -> Floats:
        from scipy import special

        low, high = self._log_above(k - 0.5), self._log_above(k + 0.5)
        return np.where(
            k == 0, np.log(special.erf(0.5 / (self.scale * math.sqrt(2)))), log_subtract(low, high)
        )

    def _log_tail(self, k: Floats, /) -> Floats:
        return self._log_above(k + 0.5)

    def _log_above(self, x: Floats, /) -> Floats:
        from scipy import special

        return np.asarray(special.log_ndtr(-x / self.scale))

    def reach(self, nats: float, /) -> int:
        """How far out the law must be looked at."""
        return math.ceil(self.scale * math.sqrt(2 * nats)) + 1

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` draws, by convolution."""
        return power(self, n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation."""
        return np.rint(as_rng(rng).normal(scale=self.scale, size=size)).astype(np.int64)


def _log_sums_from(logs: Floats, /) -> Floats:
    """log of the sum of all terms from each place on, for terms that fall to the end.

    Summed from the end in stretches over which terms fall by at most e^500, each relative to its largest: as exact as
    adding logarithms one by one, and many times as quick.
    """
    found, end, carried = np.empty(logs.shape), logs.size, -math.inf
    while end > 0:
        start = end - int(np.searchsorted(logs[:end][::-1], logs[end - 1] + 500.0, side="right"))
        start = max(0, min(start, end - 1))
        top = float(logs[start])
        sums = np.cumsum(np.exp(logs[start:end][::-1] - top))[::-1]
        found[start:end] = top + np.log(sums + math.exp(carried - top))
        carried, end = float(found[start]), start
    return found


@dataclass(frozen=True)
class DiscreteGaussian(SymmetricLatticeLaw):
    """Integer noise with P(k) proportional to e^{-k^2 / (2 scale^2)}."""

    scale: float
    name = "discrete-gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @cached_property
    def _log_total(self) -> float:
        """log of the sum of e^{-k^2/(2 scale^2)}; for wide laws by Poisson summation."""
        if self.scale > 2:
            rest = 2 * math.exp(-2 * (math.pi * self.scale) ** 2)
            return math.log(self.scale * math.sqrt(2 * math.pi)) + math.log1p(rest)
        k = np.arange(1, math.ceil(_TAIL_SIGMAS * self.scale) + 2, dtype=float)
        return math.log1p(2 * float(np.sum(np.exp(-((k / self.scale) ** 2) / 2)[::-1])))

    @cached_property
    def variance(self) -> float:
        """By summation."""
        k = np.arange(1, math.ceil(_TAIL_SIGMAS * self.scale) + 2, dtype=float)
        return float(2 * np.sum((k**2 * np.exp(self._logpmf_at(k)))[::-1]))

    def _logpmf_at(self, k: Floats, /) -> Floats:
        return -((k / self.scale) ** 2) / 2 - self._log_total

    def _log_tail(self, k: Floats, /) -> Floats:
        """Sums from the far end; every k that is asked for is an entry of one running sum, unless some lie very far out."""
        flat = np.atleast_1d(np.asarray(k, float)).ravel()
        beyond = math.ceil(_TAIL_SIGMAS * self.scale) + 1
        first = float(flat.min())
        far = flat > first + beyond * _NEAR
        tails = np.empty(flat.shape)
        tails[far] = self._far_tail(flat[far])
        near = flat[~far]
        terms = self._logpmf_at(np.arange(first + 1, float(near.max()) + beyond + 1))
        tails[~far] = _log_sums_from(terms)[(near - first).astype(np.int64)]
        return tails.reshape(np.shape(k))

    def _far_tail(self, k: Floats, /) -> Floats:
        """log P(X > k) far out, where each term is so much less than the one before that a few are enough.

        The i-th term after the first is e^{-i (2 (k + 1) + i) / (2 scale^2)} of it; those below e^{-40} change nothing.
        """
        if not k.size:
            return k
        square = self.scale**2
        terms = min(math.ceil(40 * square / float(k.min() + 1)), math.ceil(_TAIL_SIGMAS * self.scale)) + 1
        rest = np.zeros(k.shape)
        for i in range(terms, 0, -1):
            rest += np.exp(-i * (2 * (k + 1) + i) / (2 * square))
        return self._logpmf_at(k + 1) + np.log1p(rest)

    def reach(self, nats: float, /) -> int:
        """How far out the law must be looked at."""
        return math.ceil(self.scale * math.sqrt(2 * nats)) + 1

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` draws, by convolution (it is not a discrete Gaussian)."""
        return power(self, n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation, by inversion."""
        half = self.reach(80)
        k = np.arange(-half, half + 1)
        cumulative = np.cumsum(np.exp(self.logpmf(k)))
        place = np.searchsorted(cumulative, as_rng(rng).random(size), side="right")
        return k[np.minimum(place, len(k) - 1)]

    def draw(self, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` draws for publishing."""
        return np.asarray(exact.discrete_gaussian(self.scale, size, entropy=as_entropy(entropy)))
