"""Laplace noise: continuous, rounded to integers, and discrete; and sums of them (MATH 1).

Sums use expansions whose terms are all positive, so they lose no relative precision in the
tails. With x = |s| / scale, a sum of n Laplace draws has

    P(S > s) = e^{-x} sum_i x^i / (i! 2^n) sum_{k <= n-1-i} C(n-1+k, k) / 2^k.

A sum of n discrete Laplace draws is a difference of two negative binomials. With q = e^{-1/scale}
and Vandermonde's identity on C(n-1+k+j, n-1),

    P(k) = (1-q)^{2n} q^k sum_{i<n} C(k+n-1, n-1-i) C(n+i-1, i) q^{2i} / (1-q^2)^{n+i},

and the tail is the same with each power summed over k, again by Vandermonde.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from noisegate.laws import exact
from noisegate.laws._law import (
    ContinuousLaw,
    Floats,
    Ints,
    LatticeLaw,
    Law,
    SymmetricLatticeLaw,
    positive_scale,
    whole,
)
from noisegate.laws.entropy import Entropy, as_entropy, as_rng
from noisegate.laws.tabulated import Tabulated, power


@dataclass(frozen=True)
class Laplace(ContinuousLaw):
    """Laplace noise with density e^{-|x|/scale} / (2 scale)."""

    scale: float
    name = "laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @property
    def variance(self) -> float:
        """Twice the squared scale."""
        return 2 * self.scale**2

    def logpdf(self, x: ArrayLike, /) -> Floats:
        """Log-density at `x`."""
        return np.asarray(-np.abs(np.asarray(x, float)) / self.scale - math.log(2 * self.scale))

    def _log_tail(self, x: Floats, /) -> Floats:
        return -x / self.scale - math.log(2)

    def sum_of(self, n: int, /) -> ContinuousLaw:
        """The law of a sum of `n` draws."""
        return self if whole(n, what="n", least=1) == 1 else LaplaceSum(self.scale, n)

    def rounded(self) -> RoundedLaplace:
        """The law of the nearest integer."""
        return RoundedLaplace(self.scale)

    def loss_bound(self, shift: int, /) -> float:
        """`shift / scale`, reached outside the two centres."""
        return abs(shift) / self.scale

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Floats:
        """`size` draws for a simulation."""
        return as_rng(rng).laplace(scale=self.scale, size=size)


@dataclass(frozen=True)
class LaplaceSum(ContinuousLaw):
    """The sum of `n` independent Laplace draws of one scale."""

    scale: float
    n: int
    name = "laplace-sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))
        object.__setattr__(self, "n", whole(self.n, what="n", least=1))

    @property
    def variance(self) -> float:
        """`n` times that of one draw."""
        return 2 * self.n * self.scale**2

    @cached_property
    def _log_density_terms(self) -> Floats:
        n = self.n
        terms = [
            Fraction(math.comb(n - 1 + k, k), 2 ** (n + k) * math.factorial(n - 1 - k)) for k in range(n)
        ]
        return np.array([_log_fraction(term) for term in reversed(terms)])

    @cached_property
    def _log_tail_terms(self) -> Floats:
        n = self.n
        partial = Fraction(0)
        terms: list[Fraction] = []
        for i in range(n - 1, -1, -1):
            k = n - 1 - i
            partial += Fraction(math.comb(n - 1 + k, k), 2**k)
            terms.append(partial / (math.factorial(i) * 2**n))
        return np.array([_log_fraction(term) for term in reversed(terms)])

    def logpdf(self, x: ArrayLike, /) -> Floats:
        """Log-density at `x`."""
        u = np.abs(np.asarray(x, float)) / self.scale
        return np.asarray(_log_polynomial(self._log_density_terms, u) - u - math.log(self.scale))

    def _log_tail(self, x: Floats, /) -> Floats:
        u = x / self.scale
        return _log_polynomial(self._log_tail_terms, u) - u

    def sum_of(self, n: int, /) -> ContinuousLaw:
        """The law of a sum of `n` such sums."""
        return LaplaceSum(self.scale, self.n * whole(n, what="n", least=1))

    def rounded(self) -> LatticeLaw:
        """The law of the nearest integer to the sum (not the sum of rounded draws)."""
        half = math.ceil(self.scale * (60 + 4 * self.n))
        edges = np.arange(half + 1)
        upper = np.concatenate(
            [
                self.log_between(np.array([-0.5]), np.array([0.5])),
                self.log_between(edges[1:] - 0.5, edges[1:] + 0.5),
            ]
        )
        return Tabulated.symmetric(upper)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Floats:
        """`size` draws for a simulation: the difference of two gammas of shape `n`."""
        gammas = as_rng(rng).gamma(self.n, self.scale, size=(2, size))
        return np.asarray(gammas[0] - gammas[1])


@dataclass(frozen=True)
class RoundedLaplace(SymmetricLatticeLaw):
    """A Laplace draw rounded to the nearest integer: what the 2016 release added to a count."""

    scale: float
    name = "rounded-laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @property
    def variance(self) -> float:
        """2 sinh(h) q (1+q) / (1-q)^3 with h = 1/(2 scale) and q = e^{-1/scale}."""
        h = 0.5 / self.scale
        return math.exp(-h) * (1 + math.exp(-2 * h)) / math.expm1(-2 * h) ** 2

    def _logpmf_at(self, k: Floats, /) -> Floats:
        h = 0.5 / self.scale
        log_sinh = h + math.log(-math.expm1(-2 * h)) - math.log(2)
        return np.where(k == 0, math.log(-math.expm1(-h)), log_sinh - k / self.scale)

    def _log_tail(self, k: Floats, /) -> Floats:
        return -(k + 0.5) / self.scale - math.log(2)

    def reach(self, nats: float, /) -> int:
        """How far out the law must be looked at."""
        return math.ceil(nats * self.scale)

    def loss_bound(self, shift: int, /) -> float:
        """`shift / scale`: rounding is post-processing."""
        return abs(shift) / self.scale

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` draws, by convolution."""
        return power(self, n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation."""
        return np.rint(as_rng(rng).laplace(scale=self.scale, size=size)).astype(np.int64)

    def draw(self, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` draws for publishing."""
        return np.asarray(exact.rounded_laplace(self.scale, size, entropy=as_entropy(entropy)))


@dataclass(frozen=True)
class DiscreteLaplace(SymmetricLatticeLaw):
    """Integer noise with P(k) = tanh(1/(2 scale)) e^{-|k|/scale}."""

    scale: float
    name = "discrete-laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @property
    def variance(self) -> float:
        """2q / (1-q)^2 with q = e^{-1/scale}."""
        return 2 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2

    def _logpmf_at(self, k: Floats, /) -> Floats:
        return math.log(math.tanh(0.5 / self.scale)) - k / self.scale

    def _log_tail(self, k: Floats, /) -> Floats:
        return -(k + 1) / self.scale - math.log1p(math.exp(-1 / self.scale))

    def reach(self, nats: float, /) -> int:
        """How far out the law must be looked at."""
        return math.ceil(nats * self.scale)

    def loss_bound(self, shift: int, /) -> float:
        """`shift / scale`, reached outside the two centres."""
        return abs(shift) / self.scale

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` draws, in closed form."""
        return self if whole(n, what="n", least=1) == 1 else DiscreteLaplaceSum(self.scale, n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation: the difference of two geometric draws."""
        draws = as_rng(rng).geometric(-math.expm1(-1 / self.scale), size=(2, size))
        return np.asarray(draws[0] - draws[1])

    def draw(self, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` draws for publishing."""
        return np.asarray(exact.discrete_laplace(self.scale, size, entropy=as_entropy(entropy)))


@dataclass(frozen=True)
class DiscreteLaplaceSum(SymmetricLatticeLaw):
    """The sum of `n` independent discrete Laplace draws of one scale."""

    scale: float
    n: int
    name = "discrete-laplace-sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))
        object.__setattr__(self, "n", whole(self.n, what="n", least=1))

    @property
    def variance(self) -> float:
        """`n` times that of one draw."""
        return self.n * DiscreteLaplace(self.scale).variance

    @cached_property
    def _log_mass_terms(self) -> Floats:
        """The factor of C(k+n-1, t) in P(k) e^{k/scale}, for t = 0 .. n-1."""
        from scipy import special

        n, rate = self.n, 1 / self.scale
        i = np.arange(n - 1, -1, -1.0)
        log_comb = special.gammaln(n + i) - special.gammaln(i + 1) - special.gammaln(n)
        log_one_minus_q = math.log(-math.expm1(-rate))
        log_one_minus_q2 = math.log(-math.expm1(-2 * rate))
        return 2 * n * log_one_minus_q + log_comb - 2 * i * rate - (n + i) * log_one_minus_q2

    @cached_property
    def _log_tail_terms(self) -> Floats:
        """The factor of C(k+n, t) in P(X > k) e^{(k+1)/scale}, for t = 0 .. n-1."""
        from scipy import special

        n, rate = self.n, 1 / self.scale
        log_one_minus_q = math.log(-math.expm1(-rate))
        mass = self._log_mass_terms
        terms = np.empty(n)
        for t in range(n):
            s = np.arange(n - t, dtype=float)
            terms[t] = special.logsumexp(mass[t:] - s * rate - (s + 1) * log_one_minus_q)
        return terms

    def _logpmf_at(self, k: Floats, /) -> Floats:
        return _log_binomial_sum(self._log_mass_terms, k + self.n - 1) - k / self.scale

    def _log_tail(self, k: Floats, /) -> Floats:
        return _log_binomial_sum(self._log_tail_terms, k + self.n) - (k + 1) / self.scale

    def reach(self, nats: float, /) -> int:
        """How far out the law must be looked at."""
        half = math.ceil(self.scale * nats)
        while float(self.logsf(half)) > -nats:
            half += half // 4 + 1
        return half

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` such sums."""
        return DiscreteLaplaceSum(self.scale, self.n * whole(n, what="n", least=1))

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation: the difference of two negative binomials."""
        draws = as_rng(rng).negative_binomial(self.n, -math.expm1(-1 / self.scale), size=(2, size))
        return np.asarray(draws[0] - draws[1])


def fourth_cumulant(law: Law, /) -> float:
    """That of Laplace noise; nothing for laws whose sums are soon normal.

    Examples
    --------
    >>> fourth_cumulant(Laplace(1.0)), round(fourth_cumulant(DiscreteLaplace(20.0)) / 20.0**4, 1)
    (12.0, 12.0)
    """
    if isinstance(law, Laplace | RoundedLaplace):
        return 12 * law.scale**4
    if isinstance(law, DiscreteLaplace):
        q = math.exp(-1 / law.scale)
        return 2 * q * (1 + 4 * q + q * q) / (1 - q) ** 4
    return 0.0


def _log_fraction(value: Fraction, /) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _log_polynomial(log_terms: Floats, x: Floats, /) -> Floats:
    """log of sum_i e^{log_terms[i]} x^i for x >= 0."""
    from scipy import special

    powers = np.arange(len(log_terms), dtype=float)
    with np.errstate(divide="ignore"):
        logs = log_terms + special.xlogy(powers, np.asarray(x, float)[..., None])
    return np.asarray(special.logsumexp(logs, axis=-1))


def _log_binomial_sum(log_terms: Floats, top: Floats, /) -> Floats:
    """log of sum_t e^{log_terms[t]} C(top, t); `top` is at least the last t."""
    from scipy import special

    running = np.zeros_like(np.asarray(top, float))
    logs = [running + log_terms[0]]
    for t in range(1, len(log_terms)):
        running = running + np.log((top - t + 1) / t)
        logs.append(running + log_terms[t])
    return np.asarray(special.logsumexp(np.stack(logs), axis=0))
