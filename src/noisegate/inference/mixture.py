"""Noise that was recovered and not stated: its scale is known up to an interval, its law up to rivals, and every estimate is averaged over both (MATH 10 c).

Three engines, one at the likeliest scale and one at either side, stand for all scales: their weights are those of a rule that is exact for polynomials up to the fifth degree in the log of the scale. Each law that is possible beside the likeliest one has
an engine at its own likeliest scale. What is believed beforehand is learnt once. A cell has the mixture of its laws; a sum the variance of its laws and of their means; a draw comes from one of the engines, chosen by its weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from noisegate.inference.blocks import BlockPosterior
from noisegate.inference.evidence import MATTERS, Evidence
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import Floats, Ints, Prior
from noisegate.inference.posterior import Posterior
from noisegate.inference.trial import FitCheck

#: Nodes and weights of Gauss and Hermite; the first is the likeliest scale.
_NODES = (0.0, math.sqrt(3.0), -math.sqrt(3.0))
_WEIGHTS = (2 / 3, 1 / 6, 1 / 6)
#: Laws of cells are mixed this many at a time.
_AT_ONCE = 100_000


@dataclass(slots=True, kw_only=True, eq=False)
class MixedNoise:
    """What is known of every cell and sum, over all scales and laws that the noise may have."""

    middle: Posterior | BlockPosterior
    _sides: list[Posterior | BlockPosterior] = field(init=False, default_factory=list)

    @property
    def engines(self) -> list[Posterior | BlockPosterior]:
        """One engine for each scale and law, the likeliest first; what it believes beforehand all others do."""
        if not self._sides:
            self._sides = [self.middle.under(other) for other in self._others()]
        return [self.middle, *self._sides]

    def _others(self) -> list[Evidence]:
        """The evidence under noise of other scales and laws."""
        given = self.evidence
        scales = _NODES[1:] if given.scale_doubt >= MATTERS else ()
        found = [given.at_scale(math.exp(node * given.scale_doubt)) for node in scales]
        return found + [given.under(rival) for rival in given.rivals]

    @property
    def weights(self) -> Floats:
        """How likely the noise of each engine is."""
        rivals = [rival.weight for rival in self.evidence.rivals]
        scales = _WEIGHTS if self.evidence.scale_doubt >= MATTERS else (1.0,)
        return np.array([(1 - sum(rivals)) * weight for weight in scales] + rivals)

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
    def looked_at(self) -> list[Ints] | None:
        """The cells that estimates of cells are about, block by block; None if they are about all."""
        return self.middle.looked_at

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""
        return self.middle.flat

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell, with intervals of this level."""
        middle, engines = self.middle.cells(level), self.engines
        # Of the others moments are enough: laws are mixed below.
        every = [engine.moments() for engine in engines]
        found = CellEstimates.empty(self.middle.size, level=level)
        live = self.evidence.live
        if self.looked_at is not None:
            looked = np.zeros(self.middle.size, bool)
            looked[np.concatenate(self.looked_at)] = True
            live = live[looked[live]]
        for first in range(0, len(live), _AT_ONCE):
            some = live[first : first + _AT_ONCE]
            laws = Pmfs.mixed([engine.laws(some) for engine in engines], self.weights)
            found.write(some, laws, exact=middle.exact[some])
        weights = self.weights
        mean = weights @ np.stack([one.mean for one in every])
        square = weights @ np.stack([one.sd**2 + (one.mean - mean) ** 2 for one in every])
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
        weights = self.weights
        mean = weights @ np.stack([one.mean for one in every])
        sd = np.sqrt(weights @ np.stack([one.sd**2 + (one.mean - mean) ** 2 for one in every]))
        low, high = _mixed_ends(every, weights, level)
        # As of each of them, the interval holds the mean.
        low, high = np.minimum(low, np.floor(mean)), np.maximum(high, np.ceil(mean))
        gone = ~np.all([one.told for one in every], axis=0)
        return SumEstimates(
            level=level,
            mean=mean,
            sd=sd,
            low=np.where(gone, np.min([one.low for one in every], axis=0), low).astype(np.int64),
            high=np.where(gone, np.max([one.high for one in every], axis=0), high).astype(np.int64),
            withdrawn=gone,
        )

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known."""
        for which in rng.choice(len(self.weights), size=n, p=self.weights).tolist():
            yield from self.engines[which].draws(1, rng=rng, cells=cells)

    def without(self, *tables: str) -> MixedNoise:
        """What would be known without some tables, what is believed beforehand held as it is."""
        found = MixedNoise(middle=self.middle.without(*tables))
        found._sides = [engine.without(*tables) for engine in self.engines[1:]]
        return found

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What it found when it tried itself on the tables, and what it made of it."""
        doubt, rivals = self.evidence.scale_doubt, self.evidence.rivals
        said = []
        if doubt >= MATTERS:
            said.append(
                f"the scale of the noise was recovered to within a factor of {math.exp(1.96 * doubt):.2f}"
            )
        if rivals:
            own = self.evidence.base.mechanism.law.name
            beside = ", ".join(f"{rival.name} with {rival.weight:.0%}" for rival in rivals)
            said.append(f"its law is {own} with {1 - sum(one.weight for one in rivals):.0%}, {beside}")
        check = FitCheck(
            name="noise",
            outcome="widened",
            says=f"{'; '.join(said)}: estimates are averaged over it",
            numbers={"doubt": doubt, "laws": {rival.name: rival.weight for rival in rivals}},
        )
        return (*self.middle.checks, check)


def _mixed_ends(every: Sequence[SumEstimates], weights: Floats, level: float, /) -> tuple[Floats, Floats]:
    """The ends of a normal law with the mean and the variance of the mixture, each law taken for a normal one that has its interval."""
    reach = float(special.ndtri((1 + level) / 2))
    lows, highs = (
        np.stack([getattr(one, end) for one in every]).astype(np.float64) for end in ("low", "high")
    )
    middles, sds = (lows + highs) / 2, (highs - lows) / (2 * reach)
    middle = weights @ middles
    sd = np.sqrt(weights @ (sds**2 + (middles - middle) ** 2))
    return np.maximum(np.floor(middle - reach * sd + 1e-9), 0), np.ceil(middle + reach * sd - 1e-9)
