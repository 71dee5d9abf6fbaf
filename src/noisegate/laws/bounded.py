"""Noise that never leaves a fixed range: none at all, uniform integers, rounding to a base, at random or to the nearest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisegate.laws import exact
from noisegate.laws._law import Floats, Ints, LatticeLaw, SymmetricLatticeLaw, whole
from noisegate.laws.entropy import Entropy, as_entropy, as_rng
from noisegate.laws.tabulated import Tabulated, power


@dataclass(frozen=True)
class PointMass(SymmetricLatticeLaw):
    """No noise: the limit in which totals are exact."""

    scale: float = 0.0
    name = "none"

    @property
    def variance(self) -> float:
        """Zero."""
        return 0.0

    def _logpmf_at(self, k: Floats, /) -> Floats:
        return np.where(k == 0, 0.0, -np.inf)

    def _log_tail(self, k: Floats, /) -> Floats:
        return np.full(np.shape(k), -np.inf)

    def reach(self, nats: float, /) -> int:
        """Zero: there is nothing outside."""
        del nats
        return 0

    def sum_of(self, n: int, /) -> Self:
        """No noise again."""
        whole(n, what="n", least=1)
        return self

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` zeros."""
        as_rng(rng)
        return np.zeros(size, dtype=np.int64)


@dataclass(frozen=True)
class BoundedUniform(SymmetricLatticeLaw):
    """Integer noise, uniform on -scale .. scale."""

    scale: float
    name = "uniform"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", whole(self.scale, what="scale of uniform noise", least=1))

    @property
    def width(self) -> int:
        """The largest value."""
        return int(self.scale)

    @property
    def variance(self) -> float:
        """w (w+1) / 3."""
        return self.width * (self.width + 1) / 3

    def _logpmf_at(self, k: Floats, /) -> Floats:
        return np.where(k <= self.width, -math.log(2 * self.width + 1), -np.inf)

    def _log_tail(self, k: Floats, /) -> Floats:
        above = self.width - k
        return np.where(above > 0, np.log(np.maximum(above, 1)), -np.inf) - math.log(2 * self.width + 1)

    def reach(self, nats: float, /) -> int:
        """The largest value."""
        del nats
        return self.width

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum of `n` draws, by convolution."""
        return power(self, n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws for a simulation."""
        return as_rng(rng).integers(-self.width, self.width, size=size, endpoint=True)

    def draw(self, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` draws for publishing."""
        return np.asarray(exact.uniform(self.width, size, entropy=as_entropy(entropy)))


@dataclass(frozen=True)
class RandomRounding(SymmetricLatticeLaw):
    """Unbiased random rounding to a multiple of `scale`, the base b.

    A count with remainder r goes up by b - r with probability r/b, else down by r. What is added
    depends on the count: `at(count)` is its law. Seen over counts whose remainders are equally
    likely, as an outsider sees it, it is triangular: P(k) = (b - |k|) / b^2. The law itself
    answers for that mixture.
    """

    scale: float
    name = "random-rounding"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", whole(self.scale, what="base of random rounding", least=2))

    @property
    def base(self) -> int:
        """The base that counts are rounded to."""
        return int(self.scale)

    @property
    def variance(self) -> float:
        """(b^2 - 1) / 6, over equally likely remainders."""
        return (self.base**2 - 1) / 6

    def at(self, count: int, /) -> LatticeLaw:
        """The two-point law of what is added to `count`."""
        rest = count % self.base
        if rest == 0:
            return PointMass()
        logp = np.full(self.base + 1, -np.inf)
        logp[0], logp[-1] = math.log1p(-rest / self.base), math.log(rest / self.base)
        return Tabulated(-rest, logp)

    def alike(self, counts: Ints, /) -> Ints:
        """The remainder of each count."""
        return counts % self.base

    def _logpmf_at(self, k: Floats, /) -> Floats:
        inside = k < self.base
        return np.where(inside, np.log(np.where(inside, self.base - k, 1)) - 2 * math.log(self.base), -np.inf)

    def _log_tail(self, k: Floats, /) -> Floats:
        above = np.maximum(self.base - k - 1, 0)
        count = above * (above + 1) / 2
        return np.where(count > 0, np.log(np.maximum(count, 1)), -np.inf) - 2 * math.log(self.base)

    def reach(self, nats: float, /) -> int:
        """One less than the base."""
        del nats
        return self.base - 1

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum over `n` counts with equally likely remainders."""
        return power(self, n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` draws over equally likely remainders, for a simulation."""
        generator = as_rng(rng)
        rest = generator.integers(self.base, size=size)
        return np.where(generator.integers(self.base, size=size) < rest, self.base - rest, -rest)


@dataclass(frozen=True)
class NearestRounding(LatticeLaw):
    """Rounding to the nearest multiple of `scale`, the base b; halves go up.

    Nothing is random about it: what is added depends on the count alone, and `at(count)` says it. Seen over counts whose
    remainders are equally likely, as an outsider sees it, every change from -⌊(b - 1)/2⌋ to ⌊b/2⌋ is equally likely. The law
    itself answers for that mixture.
    """

    scale: float
    name = "nearest-rounding"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", whole(self.scale, what="base of rounding", least=2))

    @property
    def base(self) -> int:
        """The base that counts are rounded to."""
        return int(self.scale)

    @property
    def _over_remainders(self) -> Tabulated:
        return Tabulated(-((self.base - 1) // 2), np.full(self.base, -math.log(self.base)))

    @property
    def mean(self) -> float:
        """Over equally likely remainders: 0 for odd bases, a half for even ones."""
        return 0.0 if self.base % 2 else 0.5

    @property
    def variance(self) -> float:
        """(b^2 - 1) / 12, over equally likely remainders."""
        return (self.base**2 - 1) / 12

    def at(self, count: int, /) -> LatticeLaw:
        """The one value that is added to `count`."""
        rest = count % self.base
        return Tabulated(self.base - rest if 2 * rest >= self.base else -rest, np.zeros(1))

    def alike(self, counts: Ints, /) -> Ints:
        """The remainder of each count."""
        return counts % self.base

    def logpmf(self, k: ArrayLike, /) -> Floats:
        """Log-probability of each change, over equally likely remainders."""
        return self._over_remainders.logpmf(k)

    def logcdf(self, x: ArrayLike, /) -> Floats:
        """log P(X <= x), over equally likely remainders."""
        return self._over_remainders.logcdf(x)

    def logsf(self, x: ArrayLike, /) -> Floats:
        """log P(X > x), over equally likely remainders."""
        return self._over_remainders.logsf(x)

    def reach(self, nats: float, /) -> int:
        """Half the base."""
        del nats
        return self.base // 2

    def sum_of(self, n: int, /) -> LatticeLaw:
        """The law of a sum over `n` counts with equally likely remainders."""
        return self._over_remainders.sum_of(n)

    def sample(self, size: int, /, *, rng: np.random.Generator) -> Ints:
        """`size` changes over equally likely remainders, for a simulation."""
        rest = as_rng(rng).integers(self.base, size=size)
        return np.where(2 * rest >= self.base, self.base - rest, -rest)
