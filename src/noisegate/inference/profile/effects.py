"""Effects of levels on intensities, and how far single cells stray from them.

The evidence on a level is near that of a Poisson count: on the log scale its slope is k - A u and its bend A u, with u the
multiplier. So a gamma law with mean 1 and shape a becomes one with mean (a + k) / (a + A) and shape a + k: the fixed
point is the posterior *mean* of the intensity, not its mode, which lies too high where next to nothing is shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.profile.observed import DISPERSIONS, Observed, by_level, log_mass

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SHAPES = np.exp(np.linspace(0.0, math.log(300.0), 30))
_LONGEST_STEP = 1.5
#: What other cells leave of a level without one cell is at least this share of its prior.
_LEAST_LEFT = 0.5


@dataclass(slots=True, kw_only=True, eq=False)
class ProfileEffect:
    """Log-multipliers by level; `own` and `common` are the relative variances of the multipliers.

    Errors of `common` move all levels together, those of `own` each by itself.
    """

    codes: Ints
    value: Floats
    own: Floats
    common: Floats
    shape: float = 1.0

    @classmethod
    def of(cls, codes: Ints, /) -> ProfileEffect:
        """An effect of which nothing is known yet."""
        size = int(codes.max(initial=0)) + 1
        return cls(codes=codes, value=np.zeros(size), own=np.full(size, 0.05), common=np.zeros(size))

    def follow(self, observed: Observed, /) -> float:
        """Move every level to what its cells and sums say; how far levels moved."""
        slope, bend = observed.slopes()
        pull, curvature = by_level(self.codes, slope, bend, len(self.value))
        exposure = np.maximum(curvature, 1e-9) / np.exp(self.value)
        count = np.maximum(pull + curvature, 0.0)
        step = np.log((self.shape + count) / (self.shape + exposure)) - self.value
        return self.shift(observed, np.clip(step, -_LONGEST_STEP, _LONGEST_STEP))

    def evidence(self, observed: Observed, /) -> tuple[Floats, Floats]:
        """What single cells say of each level, as a count and an exposure; a missing cell has no count."""
        slope, bend = observed.slopes(sums=False)
        bend[observed.hidden] = -slope[observed.hidden]
        pull, curvature = by_level(self.codes, slope, bend, len(self.value))
        return np.maximum(pull + curvature, 0.0), np.maximum(curvature, 1e-9) / np.exp(self.value)

    def learn(self, observed: Observed, /) -> None:
        """Renew the shape of the law of the levels, and how uncertain each level is, from single cells alone."""
        count, exposure = self.evidence(observed)
        self.shape = _likeliest_shape(count, exposure)
        self.own = 1 / (self.shape + count)

    def shift(self, observed: Observed, step: Floats, /) -> float:
        """Move levels; how far, in the root mean square."""
        self.value = self.value + step
        observed.move(step[self.codes])
        return math.sqrt(float(np.mean(step**2)))


def _likeliest_shape(count: Floats, exposure: Floats, /) -> float:
    """The shape under which counts are likeliest; with their multipliers left out they are negative binomial."""
    scores = [
        float(
            np.sum(
                special.gammaln(a + count)
                - special.gammaln(a)
                + a * math.log(a)
                - (a + count) * np.log(a + exposure)
            )
        )
        for a in _SHAPES
    ]
    return float(_SHAPES[int(np.argmax(scores))])


def without_own(
    observed: Observed, effects: Sequence[ProfileEffect], cells: Ints | slice = slice(None), /
) -> tuple[Floats, Floats]:
    """The log-intensity of each cell with its own value taken out, and the variance of that on the log scale."""
    slope, bend = observed.slopes(sums=False)
    slope[observed.hidden] = bend[observed.hidden] = 0.0
    count, bend = np.maximum(slope + bend, 0.0)[cells], bend[cells]
    eta, spread = observed.eta[cells].copy(), np.zeros(len(count))
    for effect in effects:
        weight = (1 / np.maximum(effect.own + effect.common, 1e-9))[effect.codes[cells]]
        least = _LEAST_LEFT * np.minimum(effect.shape, weight)
        left = np.maximum(weight - count, least)
        eta += np.log(left / np.maximum(weight - bend, least))
        spread += np.log1p(1 / left)
    return eta, spread


#: So many cells with a value, and without, are enough to judge by.
_SAMPLE = 6_000
MOST_SPREAD = 1.5


def likeliest_dispersion(observed: Observed, effects: Sequence[ProfileEffect], /) -> int:
    """The place in `DISPERSIONS` of the one under which cells are likeliest at the intensities that the others give them."""
    steps = [max(1, len(group) // _SAMPLE) for group in (observed.shown, observed.hidden)]
    some, others = observed.shown[:: steps[0]], observed.hidden[:: steps[1]]
    weights = (len(observed.shown) / max(1, len(some)), len(observed.hidden) / max(1, len(others)))
    apart, spread = without_own(observed, effects, np.concatenate([some, others]))
    unsure = np.expm1(np.minimum(spread, MOST_SPREAD))
    seen, mean = np.rint(observed.seen[:: steps[0]]), np.exp(apart[: len(some)])
    extra = unsure[: len(some)] + observed.noise / np.maximum(mean, 1e-3) ** 2
    missing = np.stack([table.at(apart[len(some) :], table.logs)[0] for table in observed.tables])
    best, found = -math.inf, observed.place
    for place, own in enumerate(DISPERSIONS):
        score = weights[0] * float(log_mass(seen, mean, 1 / (own + extra)).sum())
        nearest = np.searchsorted(DISPERSIONS, np.minimum(own + unsure[len(some) :], DISPERSIONS[-1]))
        score += weights[1] * float(missing[nearest, np.arange(len(others))].sum())
        if score > best:
            best, found = score, place
    return found
