"""Noise that was recovered and not stated: its scale is known up to an interval, and every estimate is averaged over it (MATH 10 c).

Three engines, one at the likeliest scale and one at either side, stand for all scales: their weights are those of a rule that is exact for polynomials up to the fifth degree in the log of the scale. What is believed
beforehand is learnt once. A cell has the mixture of its three laws; a sum the variance of its three laws and of their means; a draw comes from one of the engines, chosen by its weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from noisegate.inference.evidence import Evidence
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import Ints, Prior
from noisegate.inference.posterior import Posterior
from noisegate.inference.trial import FitCheck

#: A scale that is known better than this, as a share of itself, is taken as it is: intervals would be wider by less than 1 in 100.
MATTERS = 0.03
#: Nodes and weights of Gauss and Hermite.
_NODES = (0.0, math.sqrt(3.0), -math.sqrt(3.0))
_WEIGHTS = np.array([2 / 3, 1 / 6, 1 / 6])
#: Laws of cells are mixed this many at a time.
_AT_ONCE = 100_000


@dataclass(slots=True, kw_only=True, eq=False)
class MixedNoise:
    """What is known of every cell and sum, over all scales that the noise may have."""

    middle: Posterior
    _sides: list[Posterior] = field(init=False, default_factory=list)

    @property
    def engines(self) -> list[Posterior]:
        """One engine for each scale, the likeliest first; what it believes beforehand all others do."""
        if not self._sides:
            doubt = self.evidence.scale_doubt
            self._sides = [self.middle.at_scale(math.exp(node * doubt)) for node in _NODES[1:]]
        return [self.middle, *self._sides]

    @property
    def evidence(self) -> Evidence:
        """All that speaks about the cells."""
        return self.middle.evidence

    def prior(self, cells: Ints, /) -> Prior:
        """What is believed of some cells before single ones are looked at."""
        return self.middle.prior(cells)

    @property
    def knows_sums(self) -> bool:
        """Whether it knows how unsure the means of cells are, on which a sum of many depends."""
        return self.middle.knows_sums

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""
        return self.middle.flat

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell, with intervals of this level."""
        every = [engine.cells(level) for engine in self.engines]
        middle = every[0]
        found = CellEstimates.empty(self.middle.size, level=level)
        live = self.evidence.live
        for first in range(0, len(live), _AT_ONCE):
            some = live[first : first + _AT_ONCE]
            laws = _mixed([engine.laws(some) for engine in self.engines])
            found.write(some, laws, exact=middle.exact[some])
        mean = _WEIGHTS @ np.stack([one.mean for one in every])
        square = _WEIGHTS @ np.stack([one.sd**2 + (one.mean - mean) ** 2 for one in every])
        found.mean[:], found.sd[:] = mean, np.sqrt(square)
        # What was widened to bounds stays so.
        found.low[:], found.high[:] = np.minimum(found.low, middle.low), np.maximum(found.high, middle.high)
        return found.judged(
            iterations=max(one.iterations for one in every),
            change=max(one.change for one in every),
            unsettled=max(one.unsettled for one in every),
        )

    def alone(self, level: float, /) -> CellEstimates:
        """The same under the same beliefs, from the record of each cell alone, at the likeliest scale."""
        return self.middle.alone(level)

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to; cell k is in group `groups[k]`."""
        every = [engine.sums(cells, groups, size=size, level=level) for engine in self.engines]
        middle = every[0]
        mean = _WEIGHTS @ np.stack([one.mean for one in every])
        sd = np.sqrt(_WEIGHTS @ np.stack([one.sd**2 + (one.mean - mean) ** 2 for one in every]))
        # The interval of the likeliest scale, moved to the mean of all and as much wider as the law is.
        wider = np.divide(sd, middle.sd, out=np.ones(size), where=middle.sd > 0)
        low = np.floor(mean - wider * (middle.mean - middle.low) + 1e-9)
        high = np.ceil(mean + wider * (middle.high - middle.mean) - 1e-9)
        gone = ~np.all([one.told for one in every], axis=0)
        return SumEstimates(
            level=level,
            mean=mean,
            sd=sd,
            low=np.where(gone, np.min([one.low for one in every], axis=0), np.maximum(low, 0)).astype(
                np.int64
            ),
            high=np.where(gone, np.max([one.high for one in every], axis=0), high).astype(np.int64),
            withdrawn=gone,
        )

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known."""
        for which in rng.choice(len(_WEIGHTS), size=n, p=_WEIGHTS).tolist():
            yield from self.engines[which].draws(1, rng=rng, cells=cells)

    def without(self, *tables: str) -> MixedNoise:
        """What would be known without some tables, what is believed beforehand held as it is."""
        found = MixedNoise(middle=self.middle.without(*tables))
        found._sides = [engine.without(*tables) for engine in self.engines[1:]]
        return found

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What it found when it tried itself on the tables, and what it made of it."""
        doubt = self.evidence.scale_doubt
        most = math.exp(1.96 * doubt)
        check = FitCheck(
            name="noise",
            outcome="widened",
            says=f"the scale of the noise was recovered to within a factor of {most:.2f}: estimates are averaged over it",
            numbers={"doubt": doubt},
        )
        return (*self.middle.checks, check)


def _mixed(laws: list[Pmfs], /) -> Pmfs:
    """The mixture of the laws of the same cells, by the weights of the scales."""
    low = np.min([one.low for one in laws], axis=0)
    high = np.max([one.low + one.sizes - 1 for one in laws], axis=0)
    found = Pmfs.ones(low, high)
    found.p[:] = 0.0
    for one, weight in zip(laws, _WEIGHTS.tolist(), strict=True):
        places = np.repeat(found.start[:-1] + one.low - low - one.start[:-1], one.sizes) + np.arange(
            len(one.p)
        )
        found.p[places] += weight * one.p
    return found
