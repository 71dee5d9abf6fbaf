"""The joint Gaussian law of many unknowns and of sums of them: what all others say of each (its cavity).

Unknowns have means m and variances V, sums are G z close to y, with variances D. With A = D + G V G' the cavity of an unknown has variance 1/h - v and mean m + w/h, where h and w
are its entries of diag(G' A^{-1} G) and G' A^{-1} (y - G m). The same for a sum.

`Joint` solves that exactly, loops and all. Sums of one table share no unknown, so their block of A is diagonal: they are eliminated first, and a matrix is left with a row for every sum of the *other*
tables. 2,000 places at 96 times of a day are a matrix of 96. `Blocks` does the same for many small sets that share nothing. `Loopy` passes messages along single sums,
for more sums than a dense matrix should hold: means are the same, but of sums that are all but exact it is too sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noisegate.errors import InternalError
from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.laws import compiled

#: A variance that says nothing, and one that says all.
VAGUE, _SURE = 1e10, 1e-6
#: Larger matrices are left to LAPACK, which may use all cores for one of them.
_SWEEP_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Cavities:
    """What everything else says about each unknown and about each sum."""

    mean: Floats
    variance: Floats
    sum_mean: Floats
    sum_variance: Floats


class Solver(Protocol):
    """Cavities of Gaussian stand-ins for unknowns (m, v) and sums (y, d)."""

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """The cavities, all at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ByUnknown:
    """The sums of each unknown (`rows[indptr[i]:indptr[i + 1]]`), and how often each counts it."""

    indptr: Ints
    rows: Ints
    weights: Floats

    @classmethod
    def of(cls, factors: Factors, unknowns: int, /) -> _ByUnknown:
        order = np.argsort(factors.members, kind="stable")
        return cls(
            indptr=np.concatenate([[0], np.cumsum(np.bincount(factors.members, minlength=unknowns))]),
            rows=factors.rows[order],
            weights=factors.weights[order].astype(float),
        )


class Joint:
    """All sums at once, exactly."""

    def __init__(self, factors: Factors, unknowns: int, /) -> None:
        self._of = _ByUnknown.of(factors, unknowns)
        self._first = _apart(factors, unknowns)
        self._place = np.where(self._first, np.cumsum(self._first), np.cumsum(~self._first)) - 1

    @property
    def cost(self) -> float:
        """About how many multiplications one solution takes."""
        first = int(self._first.sum())
        return float(len(self._first)) * (len(self._first) - first) ** 2

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """The cavities, all at once."""
        of, first, residual = self._of, self._first, y.copy()
        own, others = d[first], d[~first]
        between, rest = np.zeros((len(own), len(others))), np.diag(others)
        _gather(of.indptr, of.rows, of.weights, first, self._place, m, v, own, between, rest, residual)
        across = between / own[:, None]
        rest = _inverse(rest - between.T @ across)
        moved = across @ rest
        inverse = 1 / own + np.einsum("ij,ij->i", moved, across)
        pull, diagonal = np.empty(len(y)), np.empty(len(y))
        pull[~first] = rest @ (residual[~first] - across.T @ residual[first])
        pull[first] = residual[first] / own - across @ pull[~first]
        diagonal[first], diagonal[~first] = inverse, np.diagonal(rest)
        h, w = np.zeros(len(m)), np.zeros(len(m))
        _scatter(of.indptr, of.rows, of.weights, first, self._place, inverse, moved, rest, pull, h, w)
        return _cavities(m, v, y, d, h, w, pull, diagonal)


def _cavities(
    m: Floats, v: Floats, y: Floats, d: Floats, h: Floats, w: Floats, pull: Floats, diagonal: Floats, /
) -> Cavities:
    """Cavities from h and w of unknowns, and from A^{-1} (y - G m) and the diagonal of A^{-1}."""
    h, diagonal = np.maximum(h, 1 / VAGUE), np.maximum(diagonal, 1 / VAGUE)
    return Cavities(
        m + w / h,
        np.clip(1 / h - v, _SURE, VAGUE),
        y - pull / diagonal,
        np.clip(1 / diagonal - d, _SURE, VAGUE),
    )


def _apart(factors: Factors, unknowns: int, /) -> Bools:
    """Many sums that share no unknown: in the order of tables, backwards, or those of few unknowns first, whichever are most."""
    count = factors.count
    orders = np.arange(count), np.arange(count)[::-1], np.argsort(factors.sizes, kind="stable")
    found = [_disjoint(order, factors.indptr, factors.members, unknowns) for order in orders]
    return max(found, key=lambda one: int(one.sum()))


@compiled
def _disjoint(order: Ints, indptr: Ints, members: Ints, unknowns: int, /) -> Bools:
    """Sums that share no unknown with one before them, in some order."""
    taken, found = np.zeros(unknowns, np.bool_), np.zeros(len(order), np.bool_)
    for k in order:
        free = True
        for e in range(indptr[k], indptr[k + 1]):
            free = free and not taken[members[e]]
        found[k] = free
        for e in range(indptr[k], indptr[k + 1]):
            taken[members[e]] = taken[members[e]] or free
    return found


@compiled
def _gather(
    indptr: Ints,
    rows: Ints,
    weights: Floats,
    first: Bools,
    place: Ints,
    m: Floats,
    v: Floats,
    own: Floats,
    between: Floats,
    rest: Floats,
    residual: Floats,
    /,
) -> None:
    """Add G V G' to the blocks of A, and take G m off the residual; an unknown is in one sum of the first set at most."""
    for i in range(len(m)):
        for a in range(indptr[i], indptr[i + 1]):
            row = place[rows[a]]
            residual[rows[a]] -= weights[a] * m[i]
            for b in range(indptr[i], indptr[i + 1]):
                term = weights[a] * weights[b] * v[i]
                if not first[rows[b]]:
                    if first[rows[a]]:
                        between[row, place[rows[b]]] += term
                    else:
                        rest[row, place[rows[b]]] += term
                elif a == b:
                    own[row] += term


@compiled
def _scatter(
    indptr: Ints,
    rows: Ints,
    weights: Floats,
    first: Bools,
    place: Ints,
    inverse: Floats,
    moved: Floats,
    rest: Floats,
    pull: Floats,
    h: Floats,
    w: Floats,
    /,
) -> None:
    """h = diag(G' A^{-1} G) and w = G' pull, from the blocks of A^{-1}."""
    for i in range(len(h)):
        for a in range(indptr[i], indptr[i + 1]):
            row = place[rows[a]]
            w[i] += weights[a] * pull[rows[a]]
            for b in range(indptr[i], indptr[i + 1]):
                if not first[rows[b]]:
                    if first[rows[a]]:
                        # Twice: once for either order of the two.
                        h[i] -= 2 * weights[a] * weights[b] * moved[row, place[rows[b]]]
                    else:
                        h[i] += weights[a] * weights[b] * rest[row, place[rows[b]]]
                elif a == b:
                    h[i] += weights[a] ** 2 * inverse[row]


class Blocks:
    """All sums of each of many small sets of unknowns that share no sum, exactly.

    Set c has the unknowns `unknowns[c] .. unknowns[c + 1] - 1` and the sums `sums[c] ..`.
    """

    def __init__(self, factors: Factors, unknowns: Ints, sums: Ints, /) -> None:
        self._of = _ByUnknown.of(factors, int(unknowns[-1]))
        self._unknowns, self._sums = unknowns, sums

    def solve(self, m: Floats, v: Floats, y: Floats, d: Floats, /) -> Cavities:
        """The cavities, all at once."""
        of, pull, diagonal = self._of, y.copy(), np.empty(len(y))
        h, w = np.zeros(len(m)), np.zeros(len(m))
        if not _solve_blocks(
            self._unknowns, self._sums, of.indptr, of.rows, of.weights, m, v, d, pull, diagonal, h, w
        ):
            raise _singular()
        return _cavities(m, v, y, d, h, w, pull, diagonal)


@compiled
def _solve_blocks(
    unknowns: Ints,
    sums: Ints,
    indptr: Ints,
    rows: Ints,
    weights: Floats,
    m: Floats,
    v: Floats,
    d: Floats,
    pull: Floats,
    diagonal: Floats,
    h: Floats,
    w: Floats,
    /,
) -> bool:
    """h, w and the diagonal of A^{-1} of every set; `pull` is y, and becomes A^{-1} (y - G m). False if a set has no solution."""
    most = 0
    for c in range(len(sums) - 1):
        most = max(most, sums[c + 1] - sums[c])
    room, residual = np.empty(most * most), np.empty(most)
    for c in range(len(sums) - 1):
        start, size = sums[c], sums[c + 1] - sums[c]
        matrix = room[: size * size].reshape(size, size)
        matrix[:] = 0.0
        for i in range(size):
            matrix[i, i] = d[start + i]
        for i in range(unknowns[c], unknowns[c + 1]):
            _add_unknown(i, start, indptr, rows, weights, m, v, matrix, pull)
        if not _sweep(matrix):
            return False
        residual[:size] = pull[start : start + size]
        for i in range(size):
            diagonal[start + i], pull[start + i] = matrix[i, i], 0.0
            for j in range(size):
                pull[start + i] += matrix[i, j] * residual[j]
        for i in range(unknowns[c], unknowns[c + 1]):
            _ask_unknown(i, start, indptr, rows, weights, matrix, pull, h, w)
    return True


@compiled
def _add_unknown(
    i: int,
    start: int,
    indptr: Ints,
    rows: Ints,
    weights: Floats,
    m: Floats,
    v: Floats,
    matrix: Floats,
    residual: Floats,
    /,
) -> None:
    """Add an unknown to G V G' of its set, and take it off the residual."""
    for a in range(indptr[i], indptr[i + 1]):
        residual[rows[a]] -= weights[a] * m[i]
        for b in range(indptr[i], indptr[i + 1]):
            matrix[rows[a] - start, rows[b] - start] += weights[a] * weights[b] * v[i]


@compiled
def _ask_unknown(
    i: int,
    start: int,
    indptr: Ints,
    rows: Ints,
    weights: Floats,
    inverse: Floats,
    pull: Floats,
    h: Floats,
    w: Floats,
    /,
) -> None:
    """The entries of an unknown of diag(G' A^{-1} G) and of G' pull."""
    for a in range(indptr[i], indptr[i + 1]):
        w[i] += weights[a] * pull[rows[a]]
        for b in range(indptr[i], indptr[i + 1]):
            h[i] += weights[a] * weights[b] * inverse[rows[a] - start, rows[b] - start]


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
    """The inverse of a positive definite matrix, which may be made in its place."""
    inverse = matrix
    if len(matrix) <= _SWEEP_LIMIT:
        fine = _sweep(inverse)
    else:
        from scipy import linalg

        factor, fail = linalg.lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        inverse, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        lower = np.tril(inverse, -1)
        inverse, fine = lower + lower.T + np.diag(np.diagonal(inverse)), not fail
    if not fine:
        raise _singular()
    return np.asarray(inverse)


@compiled
def _sweep(matrix: Floats, /) -> bool:
    """Invert a symmetric matrix in place, pivot by pivot, on one thread; false if a pivot is not positive.

    Works on the lower triangle and skips rows that a pivot does not touch.
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


def _singular() -> InternalError:
    return InternalError("the matrix of linked sums is not positive definite; please report this.")
