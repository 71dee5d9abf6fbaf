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
        """Sums from the far end; every k that is asked for is an entry of one running sum."""
        flat = np.atleast_1d(k).ravel()
        first, last = float(flat.min()), float(flat.max())
        beyond = math.ceil(_TAIL_SIGMAS * self.scale) + 1
        if last - first > beyond * 100:
            return np.array([float(self._log_tail(np.array([one]))[0]) for one in flat]).reshape(np.shape(k))
        terms = self._logpmf_at(np.arange(first + 1, last + beyond + 1))
        running = np.logaddexp.accumulate(terms[::-1])[::-1]
        return running[(flat - first).astype(np.int64)].reshape(np.shape(k))

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
