"""How far single cells stray from their intensities, and the quick means and variances that this is judged by.

Each call goes on from where the last one stopped, so two sweeps
are enough once the prior moves little.

Two numbers for each group of cells: the dispersion a (a cell of mean m has variance m + a m^2)
and the share of cells that are zero for a reason of their own. They maximise the likelihood of
what each cell shows itself, published value or suppression, under the mean that all other cells
give it. Judging predictions, not fits, is what keeps the intervals honest.

A *plain* dispersion is the number a alone, and at most 1: counts are geometric then, which is the
flattest law that has a mean. Where cells say little about it, it stays there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.effects import Intensities
from noisegate.inference.linked.gaussian import VAGUE
from noisegate.inference.linked.inference import StandIns
from noisegate.inference.linked.part import Part, in_order, weighed
from noisegate.inference.linked.pmfs import Pmfs, tilt
from noisegate.inference.linked.problem import Floats, Ints, NegativeBinomial
from noisegate.laws import compiled

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
    standing: StandIns | None = None

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
        if self.standing is None:
            self.standing = StandIns.of(self.part, pmfs)
        for _ in range(sweeps):
            self.standing.sweep(pmfs, damping=_DAMPING)
        mean, variance, edge = self.standing.now
        return mean, variance, np.where(pmfs.low == 0, edge, 0.0)


#: Cells of one group that are looked at; more add nothing.
_SAMPLE = 10_000
_BOUNDS = ((-9.0, 3.0), (-12.0, 1.0))
_PLAIN_BOUNDS = (-9.0, 0.0)
#: No single cell counts for more nats than this against a pair of numbers.
_MOST_NATS = 50.0


@dataclass(slots=True, kw_only=True, eq=False)
class Dispersion:
    """log a and the logit of the share of zeros, one pair for each group; `plain` has no such share."""

    points: Floats
    plain: bool = False

    @classmethod
    def start(cls, groups: int, /, *, plain: bool = False) -> Dispersion:
        """A moderate dispersion and few zeros; or, plain, geometric counts."""
        point = [0.0, -np.inf] if plain else [math.log(0.2), -4.0]
        return cls(points=np.tile(point, (groups, 1)), plain=plain)

    @property
    def variance(self) -> Floats:
        """The dispersion a of each group."""
        return np.exp(self.points[:, 0])

    @property
    def zero_share(self) -> Floats:
        """The share of zeros of each group."""
        return 1 / (1 + np.exp(-self.points[:, 1]))

    def around(self, mean: Floats, spread: Floats, group: Ints, /) -> NegativeBinomial:
        """The law of cells with these means, known to within a relative variance of `spread`.

        Plain, it is one law of given means, and `spread` is left aside.
        """
        variance = self.variance[group] + (0.0 if self.plain else spread)
        return NegativeBinomial(mean=mean, shape=1 / variance, zero_share=self.zero_share[group])

    def refit(
        self,
        intensities: Intensities,
        expectations: Sequence[Expectation],
        bounds: Ints,
        /,
        *,
        threads: int,
    ) -> None:
        """Renew all pairs; expectation j holds the unknowns `bounds[j] .. bounds[j + 1] - 1`."""
        order = np.argsort(intensities.group, kind="stable")
        edges = np.searchsorted(intensities.group[order], np.arange(len(self.points) + 1))

        def one(g: int) -> Floats:
            members = order[edges[g] : edges[g + 1]]
            chosen = members[:: max(1, len(members) // _SAMPLE)]
            sample = _Sample.of(chosen, intensities, expectations, bounds)
            return sample.best_plain() if self.plain else sample.best(self.points[g])

        found = [point for _, point in in_order(range(len(self.points)), one, threads=threads)]
        self.points = np.array(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sample:
    """Own evidence of some unknowns, with their predicted means and spreads."""

    low: Ints
    start: Ints
    p: NDArray[np.float32]
    mean: Floats
    spread: Floats

    @classmethod
    def of(
        cls, chosen: Ints, intensities: Intensities, expectations: Sequence[Expectation], bounds: Ints, /
    ) -> _Sample:
        """The evidence on the unknowns `chosen`, which are in order."""
        edges = np.searchsorted(chosen, bounds)
        pieces = [
            expectation.evidence.take(chosen[a:b] - bounds[j])
            for j, (expectation, a, b) in enumerate(zip(expectations, edges[:-1], edges[1:], strict=True))
            if b > a
        ]
        joined = Pmfs.joined(pieces)
        return cls(
            low=joined.low,
            start=joined.start,
            p=joined.p.astype(np.float32),
            mean=intensities.apart_mean[chosen],
            spread=intensities.apart_spread[chosen],
        )

    def best(self, point: Floats, /) -> Floats:
        """The pair of numbers under which the sample is most likely."""

        def loss(x: Floats) -> float:
            share = 1 / (1 + math.exp(-x[1]))
            shape = 1 / (math.exp(x[0]) + self.spread)
            return -_log_evidence(self.low, self.start, self.p, self.mean, shape, share)

        first = np.clip(point, [b[0] + 0.1 for b in _BOUNDS], [b[1] - 1.0 for b in _BOUNDS])
        simplex = first + np.array([[0.0, 0.0], [0.7, 0.0], [0.0, 0.8]])
        from scipy import optimize

        found = optimize.minimize(
            loss,
            first,
            method="Nelder-Mead",
            bounds=_BOUNDS,
            options={"initial_simplex": simplex, "xatol": 0.02, "fatol": 0.1, "maxfev": 80},
        )
        return np.asarray(found.x)

    def best_plain(self) -> Floats:
        """The one number, with a normal law about that of geometric counts as its prior."""

        def loss(x: float) -> float:
            shape = np.full(len(self.mean), math.exp(-x))
            return x * x / 2 - _log_evidence(self.low, self.start, self.p, self.mean, shape, 0.0)

        from scipy import optimize

        found = optimize.minimize_scalar(
            loss, bounds=_PLAIN_BOUNDS, method="bounded", options={"xatol": 0.02}
        )
        return np.array([found.x, -np.inf])


@compiled
def _log_evidence(
    low: Ints, start: Ints, p: NDArray[np.float32], mean: Floats, shape: Floats, zero_share: float, /
) -> float:
    """The log-probability of what the unknowns show, each under its own predictive law."""
    result = 0.0
    for i in range(len(low)):
        m, r, z = mean[i], shape[i], low[i]
        ratio = m / (m + r)
        log_first = -r * math.log1p(m / r)
        if z > 0:
            log_first += math.lgamma(z + r) - math.lgamma(r) - math.lgamma(z + 1.0) + z * math.log(ratio)
        weight, total = 1.0, 0.0
        for k in range(start[i], start[i + 1]):
            total += weight * p[k]
            weight *= (z + r) / (z + 1.0) * ratio
            z += 1
            if weight > 1e150:
                weight /= 1e150
                total /= 1e150
                log_first += math.log(1e150)
        here = math.log1p(-zero_share) + log_first + math.log(max(total, 1e-300))
        if zero_share > 0 and low[i] == 0 and p[start[i]] > 0:
            empty = math.log(zero_share) + math.log(p[start[i]])
            top = max(here, empty)
            here = top + math.log(math.exp(here - top) + math.exp(empty - top))
        result += max(here, -_MOST_NATS)
    return result
