"""Posterior means and variances of all unknowns, quickly and again and again, while a prior is fitted.

All sums are taken as wide, and each call goes on from where the last one stopped, so two sweeps
are enough once the prior moves little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.part import Part, weighed
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.prior import NegativeBinomial
from noisegate.inference.linked.problem import Floats
from noisegate.inference.linked.propagation import Wide
from noisegate.inference.linked.tilting import tilt
from noisegate.inference.linked.wide import VAGUE

#: A prior that says nearly nothing: what the first round starts from.
_VAGUE_MEAN, _VAGUE_SHAPE = 8.0, 0.5
_NATS = 12.0
_DAMPING = 0.2


def vague(count: int, /) -> NegativeBinomial:
    """A prior that says nearly nothing."""
    return NegativeBinomial(
        mean=np.full(count, _VAGUE_MEAN), shape=np.full(count, _VAGUE_SHAPE), zero_share=np.zeros(count)
    )


@dataclass(slots=True, kw_only=True, eq=False)
class Expectation:
    """One part, its own evidence (in single precision, to save memory) and its stand-ins so far."""

    part: Part
    evidence: Pmfs
    wide: Wide | None = None

    @classmethod
    def of(cls, part: Part, cells: int, /) -> Expectation:
        """The expectations of `part`, whose problem has `cells` cells."""
        own = part.evidence(vague(cells), nats=_NATS)
        return cls(part=part, evidence=Pmfs(low=own.low, start=own.start, p=own.p.astype(np.float32)))

    def under(self, prior: NegativeBinomial, /, *, sweeps: int) -> tuple[Floats, Floats, Floats]:
        """Mean, variance and chance of zero of every unknown under a prior of these unknowns."""
        pmfs = weighed(self.evidence, prior)
        if self.part.factors.count == 0:
            nothing = np.zeros(pmfs.count)
            mean, variance, edge = tilt(pmfs.low, pmfs.start, pmfs.p, nothing, np.full(pmfs.count, VAGUE))
            return mean, variance, np.where(pmfs.low == 0, edge, 0.0)
        if self.wide is None:
            self.wide = Wide.of(self.part, self.part.factors, pmfs)
        for _ in range(sweeps):
            mean, variance, edge = self.wide.sweep(pmfs, pmfs.p, damping=_DAMPING)
        return mean, variance, np.where(pmfs.low == 0, edge, 0.0)
