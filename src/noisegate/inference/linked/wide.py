"""Sums of many unknowns, in the Gaussian world: what all of them together say about each.

With Gaussian stand-ins for the unknowns (mean m, variance V) and for the sums (G z close to y,
variance D) the joint posterior has covariance V - V G' A^{-1} G V, A = D + G V G'. Taking one
unknown's stand-in out again leaves its cavity: variance 1/h - v and mean m + w/h, where h and w
are its entries of diag(G' A^{-1} G) and G' A^{-1} (y - G m). The same for a sum. `Joint` solves
that exactly, loops and all; the matrix has a row for every sum, not for every cell. `Loopy`
passes messages along single sums instead, for more sums than a dense matrix should hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from noisegate.errors import InternalError
from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.problem import Floats, Ints, tally
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

    def __init__(self, factors: Factors, nodes: int, /, *, damping: float = 0.5) -> None:
        self._row, self._node = factors.rows, factors.members
        self._weight = factors.weights.astype(float)
        self._nodes, self._count = nodes, factors.count
        self._precision = np.zeros(len(self._node))
        self._shift = np.zeros(len(self._node))
        self._damping = damping

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """One round of messages, then the cavities they give."""
        precision, shift = self._per_node()
        inward = np.maximum(1 / v[self._node] + precision[self._node] - self._precision, 1 / VAGUE)
        mean = (m[self._node] / v[self._node] + shift[self._node] - self._shift) / inward
        term, spread = self._weight * mean, self._weight**2 / inward
        total = tally(self._row, term, size=self._count)
        width = tally(self._row, spread, size=self._count)
        outward = d[self._row] + width[self._row] - spread
        new = self._weight**2 / outward
        pull = self._weight * (y[self._row] - total[self._row] + term) / outward
        self._precision += self._damping * (new - self._precision)
        self._shift += self._damping * (pull - self._shift)
        precision, shift = self._per_node()
        precision = np.maximum(precision, 1 / VAGUE)
        return Cavities(shift / precision, 1 / precision, total, np.clip(width, 1e-6, VAGUE))

    def explained(self, v: Floats, d: Floats, query: Ints, weights: Floats, size: int, /) -> Floats:
        """Zero: messages do not know how nodes vary together, and zero errs on the safe side."""
        del v, d, query, weights
        return np.zeros(size)

    def _per_node(self) -> tuple[Floats, Floats]:
        return (
            tally(self._node, self._precision, size=self._nodes),
            tally(self._node, self._shift, size=self._nodes),
        )


def _inverse(matrix: Floats, /) -> Floats:
    """The inverse of a positive definite matrix."""
    if len(matrix) <= _SWEEP_LIMIT:
        order = np.argsort(np.count_nonzero(matrix, axis=0), kind="stable")
        swept = np.ascontiguousarray(matrix[np.ix_(order, order)])
        fine = _sweep(swept)
        back = np.argsort(order)
        inverse = swept[np.ix_(back, back)]
    else:
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
