"""Message passing over sums of any size: counts stay discrete, wide sums are Gaussian among themselves.

Each node keeps its distribution on integers. Narrow links send it messages by exact convolution;
all wide sums together send it one Gaussian, the cavity of a joint Gaussian in which every node
and every sum has a stand-in. Stand-ins are matched in mean and variance to the discrete
distribution they stand for, where the posterior is (expectation propagation), so a sum far from
what its members would suggest moves them all. Deterministic; damped more when it does not settle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.narrow import Narrow
from noisegate.inference.linked.nodes import Nodes
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Floats
from noisegate.inference.linked.tilting import bells, tilt
from noisegate.inference.linked.wide import VAGUE, Cavities, Joint, Loopy, Solver

#: Mean, variance and share at the low end of many distributions.
Moments = tuple[Floats, Floats, Floats]

_SUM_NATS = 24.0
_EXACT_VARIANCE = 1e-4
_MOST_DAMPING = 0.9
#: A matrix of so many rows costs no more than the cells that so many sums usually have.
JOINT_LIMIT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When to stop, and how much of the old to keep in each renewal.

    `tolerance` is the largest move of a cell in one sweep, in its own standard deviations (wide
    sums) or in total variation (narrow ones). Up to `joint_limit` wide sums of one part are
    solved together; more of them pass messages one by one.
    """

    tolerance: float = 1e-3
    sweeps: int = 300
    damping: float = 0.2
    joint_limit: int = JOINT_LIMIT


@dataclass(slots=True, kw_only=True, eq=False)
class Wide:
    """Gaussian stand-ins (precision, precision times mean) of nodes and of wide sums."""

    solver: Solver
    sums: Pmfs
    tau: Floats
    nu: Floats
    sum_tau: Floats
    sum_nu: Floats
    cavities: Cavities

    @classmethod
    def of(
        cls, part: Part, factors: Factors, pmfs: Pmfs, /, *, p: Floats | None = None, limit: int = JOINT_LIMIT
    ) -> Wide:
        """Stand-ins before any message: nodes as they are, sums by their likelihood alone."""
        sums = _sum_tables(part, factors)
        mean, variance, _ = _moments(pmfs, pmfs.p if p is None else p)
        centre, spread, _ = _moments(sums, sums.p)
        tau, sum_tau = 1 / variance, 1 / np.maximum(spread, _EXACT_VARIANCE)
        joint = factors.count <= limit
        return cls(
            solver=Joint(factors, pmfs.count) if joint else Loopy(factors, pmfs.count),
            sums=sums,
            tau=tau,
            nu=tau * mean,
            sum_tau=sum_tau,
            sum_nu=sum_tau * centre,
            cavities=Cavities(mean, variance, centre, spread),
        )

    def sweep(self, pmfs: Pmfs, p: Floats, /, *, damping: float) -> Moments:
        """Renew all cavities, then all stand-ins; mean, variance and share at the low end of each node."""
        cavities = self.solver.solve(
            self.nu / self.tau, 1 / self.tau, self.sum_nu / self.sum_tau, 1 / self.sum_tau
        )
        self.cavities = cavities
        sums = self.sums
        centre, spread, _ = tilt(sums.low, sums.start, sums.p, cavities.sum_mean, cavities.sum_variance)
        spread = np.maximum(spread, _EXACT_VARIANCE)
        _renew(self.sum_tau, self.sum_nu, centre, spread, cavities.sum_mean, cavities.sum_variance, damping)
        mean, variance, edge = tilt(pmfs.low, pmfs.start, p, cavities.mean, cavities.variance)
        _renew(self.tau, self.nu, mean, variance, cavities.mean, cavities.variance, damping)
        return mean, variance, edge

    def bells(self, pmfs: Pmfs, p: Floats, /) -> Floats:
        """What all wide sums say about each node, on its window."""
        return bells(pmfs.low, pmfs.start, p, self.cavities.mean, self.cavities.variance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """Messages to the nodes, laid out like their distributions, and how they were reached."""

    messages: Floats
    iterations: int
    change: float


def propagate(part: Part, nodes: Nodes, /, *, schedule: Schedule) -> Outcome:
    """Messages to all nodes of `part` once they have settled, or after the last sweep."""
    pmfs = nodes.pmfs
    base = pmfs.p * nodes.evidence
    narrow = Narrow.of(nodes.links, pmfs)
    wide = Wide.of(part, nodes.wide, pmfs, p=base, limit=schedule.joint_limit)
    now, old = base, None
    damping, change, last, sweep = schedule.damping, np.inf, np.inf, 0
    while sweep < schedule.sweeps and change > schedule.tolerance:
        sweep += 1
        change = 0.0
        if nodes.wide.count:
            new = wide.sweep(pmfs, now, damping=damping)
            change, old = _moved(old, new), new
        if narrow.count:
            seen = base * wide.bells(pmfs, now) if nodes.wide.count else base
            change = max(change, narrow.sweep(pmfs.start, seen, damping=damping))
            now = base * narrow.product(pmfs.start, len(base))
        if change > last:
            damping = min(_MOST_DAMPING, damping + 0.1)
        last = change
    messages = narrow.product(pmfs.start, len(base))
    if nodes.wide.count:
        messages *= wide.bells(pmfs, now)
    return Outcome(messages=messages, iterations=sweep, change=change)


def _renew(
    tau: Floats,
    nu: Floats,
    mean: Floats,
    variance: Floats,
    centre: Floats,
    width: Floats,
    damping: float,
    /,
) -> None:
    """Match stand-ins to a mean and a variance, given their cavities, in place.

    Precision is kept positive; where it would not be, the mean alone is matched.
    """
    new_tau = np.maximum(1 / variance - 1 / width, np.maximum(0.01 / variance, 1 / VAGUE))
    new_nu = mean * (1 / width + new_tau) - centre / width
    tau += (1 - damping) * (new_tau - tau)
    nu += (1 - damping) * (new_nu - nu)


def _moved(old: Moments | None, new: Moments, /) -> float:
    """The largest move of a node's mean, or of its standard deviation, in its own spread."""
    if old is None:
        return np.inf
    before, after = np.sqrt(old[1]), np.sqrt(new[1])
    moves = np.maximum(np.abs(new[0] - old[0]), np.abs(after - before)) / (after + 0.05)
    return float(moves.max())


def _moments(pmfs: Pmfs, p: Floats, /) -> Moments:
    return tilt(pmfs.low, pmfs.start, p, np.zeros(pmfs.count), np.full(pmfs.count, VAGUE))


def _sum_tables(part: Part, f: Factors, /) -> Pmfs:
    """The likelihood of the raw sum behind each wide observation, on the sums that matter."""
    low, high = np.zeros(f.count), np.zeros(f.count)
    for k in np.unique(f.mechanism):
        here = f.mechanism == k
        low[here], high[here] = part.mechanisms[k].window(f.values[here], nats=_SUM_NATS)
    return part.likelihoods(f, low.astype(np.int64), high.astype(np.int64))
