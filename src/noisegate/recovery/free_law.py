"""Laws of noise that assume no family: a free symmetric pmf up to a bound, and how far out bounded laws are excluded.

No finite sample proves that a law is unbounded. What it can do is exclude every bounded law up to some D*: truncated, uniform or
free ones. An epsilon that is worked out for an unbounded law is conditional on it, and D* with the mass that the unbounded law
has beyond it says how strong that condition is (MATH 8).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.recovery.noise_sums import NoiseSums, free_law
from noisegate.recovery.stopped_laws import OpenStop

Floats = NDArray[np.float64]

#: A law is excluded when it loses by so many units of log-likelihood.
LOSES = 3.0
#: An unbounded law is named if less than this lies beyond the bounded laws that are excluded, and bounds up to this one are among them.
LITTLE_BEYOND, NAMED_BOUND = 0.05, 4
#: An epsilon is stated only if all bounds that offices use are excluded (p-tables within ±5 are used, wider ones are rare), laws with a bound are
#: as unlikely as this, and less than this lies beyond. Many p-tables are close to Gaussian noise, so that more is asked of it.
USUAL_BOUND, UNLIKELY = 5, 0.02
BEYOND = {"laplace": 0.05, "gaussian": 0.01}
#: A bounded law is looked for up to this bound.
WIDEST = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FreeLaws:
    """The likeliest free law of each bound, each worked out once, from that of the bound before."""

    sums: NoiseSums
    _found: dict[int, tuple[Floats, float]] = field(default_factory=dict)

    def of(self, bound: int, /) -> tuple[Floats, float]:
        """P(0), P(1), ... and the log-likelihood."""
        if bound not in self._found:
            before = self._found.get(bound - 1)
            self._found[bound] = free_law(self.sums, bound, start=None if before is None else before[0])
        return self._found[bound]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """How far out bounded laws are excluded by residuals that an unbounded law explains.

    Attributes
    ----------
    bound
        D*: every bounded law up to it loses clearly; 0 if none does.
    beyond
        The mass of one noise beyond it under the unbounded law: about the delta of a law with a wider bound.
    stops
        The narrowest law that falls off like the unbounded one, stops, and is not excluded; None if no such law is left that matters.
    """

    bound: int
    beyond: float
    stops: OpenStop | None = None

    @property
    def strong(self) -> bool:
        """Whether hardly anything is left beyond the bound, so that an epsilon may lead."""
        return self.beyond < 0.003

    @property
    def fair(self) -> bool:
        """Whether little is left beyond the bound: about what thousands of identities leave of Laplace noise."""
        return self.beyond < 0.025


def exclude(free: FreeLaws, half: Floats, log_likelihood: float, /) -> Excluded:
    """How far out bounded laws are excluded by an unbounded law with P(k) = half[|k|] and this log-likelihood."""
    bound = max(free.sums.least_bound - 1, 0)
    for tried in range(bound + 1, min(half.size, WIDEST)):
        if free.of(tried)[1] > log_likelihood - LOSES:
            break
        bound = tried
    return Excluded(bound=bound, beyond=float(2 * half[bound + 1 :].sum()))
