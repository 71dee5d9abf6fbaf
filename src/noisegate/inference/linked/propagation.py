"""Message passing over sums of any size: counts stay discrete, wide sums are Gaussian among themselves.

With Gaussian stand-ins for the unknowns (mean m, variance V) and for the sums (G z close to y,
variance D) the joint posterior has covariance V - V G' A^{-1} G V, A = D + G V G'. Taking one
unknown's stand-in out again leaves its cavity: variance 1/h - v and mean m + w/h, where h and w
are its entries of diag(G' A^{-1} G) and G' A^{-1} (y - G m). The same for a sum. `Joint` solves
that exactly, loops and all; the matrix has a row for every sum, not for every cell. `Loopy`
passes messages along single sums instead, for more sums than a dense matrix should hold.

Each node keeps its distribution on integers. Narrow links send it messages by exact convolution;
all wide sums together send it one Gaussian, the cavity of a joint Gaussian in which every node
and every sum has a stand-in. Stand-ins are matched in mean and variance to the discrete
distribution they stand for, where the posterior is (expectation propagation), so a sum far from
what its members would suggest moves them all. Deterministic; damped more when it does not settle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noisegate.errors import InternalError
from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.nodes import Narrow, Nodes
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs, bells, tilt
from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled

#: A variance that says nothing.
VAGUE = 1e10
#: Larger matrices are left to LAPACK, which may use all cores for one of them.
_SWEEP_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Cavities:
    """What everything else says about each node and about each sum."""

    mean: Floats
    variance: Floats
    sum_mean: Floats
    sum_variance: Floats


class Solver(Protocol):
    """Cavities of Gaussian stand-ins for nodes (m, v) and sums (y, d)."""

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """The cavities, all at once."""

    def explained(self, v: Floats, d: Floats, query: Ints, weights: Floats, size: int, /) -> Floats:
        """How much the sums reduce the variance of weighted sums of nodes, one for each query code."""


class Joint:
    """All sums at once, exactly."""

    def __init__(self, factors: Factors, nodes: int, /) -> None:
        order = np.argsort(factors.members, kind="stable")
        self._rows = factors.rows[order]
        self._weights = factors.weights[order].astype(float)
        self._indptr = np.concatenate([[0], np.cumsum(np.bincount(factors.members, minlength=nodes))])
        self._factors = factors

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """The cavities, all at once."""
        residual = y.copy()
        inverse = self._inverted(m, v, d, residual)
        pull = inverse @ residual
        h, w = np.zeros(len(m)), np.zeros(len(m))
        _scatter(self._indptr, self._rows, self._weights, inverse, pull, h, w)
        h = np.maximum(h, 1 / VAGUE)
        diagonal = np.maximum(np.diagonal(inverse), 1 / VAGUE)
        return Cavities(
            m + w / h,
            np.clip(1 / h - v, 1e-6, VAGUE),
            y - pull / diagonal,
            np.clip(1 / diagonal - d, 1e-6, VAGUE),
        )

    def explained(self, v: Floats, d: Floats, query: Ints, weights: Floats, size: int, /) -> Floats:
        """The diagonal of U' A^{-1} U, U = G V Q, where Q holds the weights of each query."""
        u = np.zeros((len(d), size))
        f = self._factors
        asked = query[f.members]
        live = asked >= 0
        terms = f.weights * v[f.members] * weights[f.members]
        np.add.at(u, (f.rows[live], asked[live]), terms[live])
        inverse = self._inverted(np.zeros(len(v)), v, d, np.zeros(len(d)))
        return np.asarray(np.einsum("fq,fq->q", u, inverse @ u))

    def _inverted(self, m: Floats, v: Floats, d: Floats, residual: Floats, /) -> Floats:
        """The inverse of A; `residual` becomes y - G m."""
        count = len(d)
        matrix = np.zeros((count, count))
        _gather(self._indptr, self._rows, self._weights, m, v, matrix, residual)
        matrix[np.arange(count), np.arange(count)] += d
        return _inverse(matrix)


class Loopy:
    """Messages along single sums, damped; for very many sums."""

    def __init__(self, factors: Factors, /, *, damping: float = 0.5) -> None:
        self._row, self._node = factors.rows, factors.members
        self._weight = factors.weights.astype(float)
        self._precision = np.zeros(len(self._node))
        self._shift = np.zeros(len(self._node))
        self._damping = damping

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """One round of messages, then the cavities they give."""
        return Cavities(
            *_exchange(
                self._row, self._node, self._weight, m, v, y, d, self._precision, self._shift, self._damping
            )
        )

    def explained(self, v: Floats, d: Floats, query: Ints, weights: Floats, size: int, /) -> Floats:
        """Zero: messages do not know how nodes vary together, and zero errs on the safe side."""
        del v, d, query, weights
        return np.zeros(size)


@compiled
def _exchange(
    row: Ints,
    node: Ints,
    weight: Floats,
    m: Floats,
    v: Floats,
    y: Floats,
    d: Floats,
    precision: Floats,
    shift: Floats,
    damping: float,
    /,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Renew the message of every sum to each of its nodes, in place; mean and variance of the cavities of nodes and of sums."""
    nodes, sums, entries = len(m), len(y), len(row)
    known, drawn = np.zeros(nodes), np.zeros(nodes)
    for e in range(entries):
        known[node[e]] += precision[e]
        drawn[node[e]] += shift[e]
    term, spread = np.empty(entries), np.empty(entries)
    total, width = np.zeros(sums), np.zeros(sums)
    for e in range(entries):
        k = node[e]
        inward = max(1 / v[k] + known[k] - precision[e], 1 / VAGUE)
        term[e] = weight[e] * ((m[k] / v[k] + drawn[k] - shift[e]) / inward)
        spread[e] = weight[e] ** 2 / inward
        total[row[e]] += term[e]
        width[row[e]] += spread[e]
    mean, variance = np.zeros(nodes), np.zeros(nodes)
    for e in range(entries):
        k = row[e]
        outward = d[k] + width[k] - spread[e]
        precision[e] += damping * (weight[e] ** 2 / outward - precision[e])
        shift[e] += damping * (weight[e] * (y[k] - total[k] + term[e]) / outward - shift[e])
        variance[node[e]] += precision[e]
        mean[node[e]] += shift[e]
    for k in range(nodes):
        told = max(variance[k], 1 / VAGUE)
        mean[k], variance[k] = mean[k] / told, 1 / told
    for k in range(sums):
        width[k] = min(max(width[k], 1e-6), VAGUE)
    return mean, variance, total, width


def _inverse(matrix: Floats, /) -> Floats:
    """The inverse of a positive definite matrix."""
    if len(matrix) <= _SWEEP_LIMIT:
        order = np.argsort(np.count_nonzero(matrix, axis=0), kind="stable")
        swept = np.ascontiguousarray(matrix[np.ix_(order, order)])
        fine = _sweep(swept)
        back = np.argsort(order)
        inverse = swept[np.ix_(back, back)]
    else:
        from scipy import linalg

        factor, fail = linalg.lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        inverse, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        lower = np.tril(inverse, -1)
        inverse, fine = lower + lower.T + np.diag(np.diagonal(inverse)), not fail
    if not fine:
        raise InternalError("the matrix of linked sums is not positive definite; please report this.")
    return np.asarray(inverse)


@compiled
def _sweep(matrix: Floats, /) -> bool:
    """Invert a symmetric matrix in place, pivot by pivot; false if a pivot is not positive.

    Works on the lower triangle and skips rows that a pivot does not touch: sums of one table
    share no cell, so with the largest table first most rows stay untouched for long. On one
    thread, as many parts are inverted side by side.
    """
    size = len(matrix)
    column, scaled = np.empty(size), np.empty(size)
    for k in range(size):
        pivot = matrix[k, k]
        if not pivot > 0:
            return False
        for i in range(size):
            column[i] = matrix[i, k] if i > k else matrix[k, i]
            scaled[i] = column[i] / pivot
        for i in range(size):
            factor = column[i]
            if factor != 0 and i != k:
                for j in range(i + 1):
                    matrix[i, j] -= factor * scaled[j]
        for i in range(size):
            if i > k:
                matrix[i, k] = scaled[i]
            else:
                matrix[k, i] = scaled[i]
        matrix[k, k] = -1 / pivot
    _reflect(matrix)
    return True


@compiled
def _reflect(matrix: Floats, /) -> None:
    """Change the sign of the lower triangle and copy it to the upper one."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            matrix[i, j] = -matrix[i, j]
            matrix[j, i] = matrix[i, j]


@compiled
def _gather(
    indptr: Ints, rows: Ints, weights: Floats, m: Floats, v: Floats, matrix: Floats, residual: Floats, /
) -> None:
    """matrix += G V G' and residual -= G m."""
    for i in range(len(m)):
        for a in range(indptr[i], indptr[i + 1]):
            residual[rows[a]] -= weights[a] * m[i]
            for b in range(indptr[i], indptr[i + 1]):
                matrix[rows[a], rows[b]] += weights[a] * weights[b] * v[i]


@compiled
def _scatter(
    indptr: Ints, rows: Ints, weights: Floats, inverse: Floats, pull: Floats, h: Floats, w: Floats, /
) -> None:
    """h = diag(G' A^{-1} G) and w = G' pull."""
    for i in range(len(h)):
        for a in range(indptr[i], indptr[i + 1]):
            w[i] += weights[a] * pull[rows[a]]
            for b in range(indptr[i], indptr[i + 1]):
                h[i] += weights[a] * weights[b] * inverse[rows[a], rows[b]]


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
            solver=Joint(factors, pmfs.count) if joint else Loopy(factors),
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


@compiled
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
    for k in range(len(tau)):
        new_tau = max(1 / variance[k] - 1 / width[k], 0.01 / variance[k], 1 / VAGUE)
        new_nu = mean[k] * (1 / width[k] + new_tau) - centre[k] / width[k]
        tau[k] += (1 - damping) * (new_tau - tau[k])
        nu[k] += (1 - damping) * (new_nu - nu[k])


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
    # Sums of one mechanism that show the same have the same table: it is worked out once.
    pieces, places, known = [], np.zeros(f.count, np.int64), 0
    for k in np.unique(f.mechanism):
        here = np.flatnonzero(f.mechanism == k)
        _, first, place = np.unique(f.values[here], return_index=True, return_inverse=True)
        some = f.take(here[first])
        low, high = part.mechanisms[k].window(some.values, nats=_SUM_NATS)
        pieces.append(part.likelihoods(some, low.astype(np.int64), high.astype(np.int64)))
        places[here] = known + place
        known += len(first)
    return Pmfs.joined(pieces).take(places) if pieces else part.likelihoods(f, places, places)
