"""Many distributions on runs of integers, each on its own window, in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.model import Own
from noisegate.inference.linked.problem import Floats, Ints, contradiction
from noisegate.laws import compiled

_LARGE = 1e150


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pmfs:
    """Distribution i gives `p[start[i] + k]` to the integer `low[i] + k`."""

    low: Ints
    start: Ints
    p: Floats

    @classmethod
    def ones(cls, low: Ints, high: Ints, /) -> Pmfs:
        """Weight 1 on each of low .. high."""
        start = np.concatenate([[0], np.cumsum(high - low + 1)]).astype(np.int64)
        return cls(low=low, start=start, p=np.ones(int(start[-1])))

    @classmethod
    def joined(cls, pieces: Sequence[Pmfs], /) -> Pmfs:
        """All distributions of all pieces, one piece after the other."""
        sizes = np.concatenate([piece.sizes for piece in pieces])
        return cls(
            low=np.concatenate([piece.low for piece in pieces]),
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            p=np.concatenate([piece.p for piece in pieces]),
        )

    @property
    def count(self) -> int:
        """How many distributions there are."""
        return len(self.low)

    @property
    def sizes(self) -> Ints:
        """How many integers each covers."""
        return np.diff(self.start)

    def one(self, i: int, /) -> Floats:
        """The probabilities of distribution `i`: a view."""
        return self.p[self.start[i] : self.start[i + 1]]

    def take(self, which: Ints, /) -> Pmfs:
        """The distributions `which`, in that order."""
        sizes = self.sizes[which]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.start[:-1][which] - start[:-1], sizes) + np.arange(start[-1])
        return Pmfs(low=self.low[which], start=start, p=self.p[places])

    def weighed(self, weights: Floats, /) -> Pmfs:
        """The distributions times `weights`, laid out like `p`."""
        p = self.p * weights
        if not normalise(self.start, p):
            raise contradiction()
        return Pmfs(low=self.low, start=self.start, p=p)

    def trimmed(self, share: float, /) -> Pmfs:
        """The same without ends that hold less than `share` of each distribution."""
        first, last = ends(self.start, self.p, share)
        sizes = last - first + 1
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.start[:-1] + first - start[:-1], sizes) + np.arange(start[-1])
        return Pmfs(low=self.low + first, start=start, p=self.p[places])


def multiply_tables(pmfs: Pmfs, evidence: Own, /) -> None:
    """Multiply the likelihood of `evidence` into the distributions, in place."""
    unknowns = evidence.unknowns
    distinct, place = np.unique(evidence.values, return_inverse=True)
    first = np.full(len(distinct), np.iinfo(np.int64).max)
    last = np.full(len(distinct), -1, dtype=np.int64)
    np.minimum.at(first, place, pmfs.low[unknowns])
    np.maximum.at(last, place, pmfs.low[unknowns] + pmfs.sizes[unknowns] - 1)
    sizes = last - first + 1
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    counts = np.repeat(first - start[:-1], sizes) + np.arange(start[-1])
    logs = evidence.mechanism.log_likelihood(np.repeat(distinct, sizes), counts)
    top = np.maximum.reduceat(logs, start[:-1])
    if np.isneginf(top).any():
        raise contradiction()
    table = np.exp(logs - np.repeat(top, sizes))
    _gather_multiply(pmfs.low, pmfs.start, pmfs.p, unknowns, place, first, start, table)


@compiled
def _gather_multiply(
    low: Ints,
    start: Ints,
    p: Floats,
    unknowns: Ints,
    place: Ints,
    first: Ints,
    table_start: Ints,
    table: Floats,
    /,
) -> None:
    for e in range(len(unknowns)):
        i = unknowns[e]
        offset = table_start[place[e]] + low[i] - first[place[e]]
        for k in range(start[i + 1] - start[i]):
            p[start[i] + k] *= table[offset + k]


@compiled
def multiply_negative_binomial(
    low: Ints, start: Ints, p: Floats, mean: Floats, shape: Floats, zero_share: Floats, /
) -> None:
    """Multiply zero-inflated negative binomial weights into the distributions, in place.

    By the recurrence P(k+1) / P(k) = (k + r) / (k + 1) * m / (m + r), from the window's low end.
    """
    for i in range(len(low)):
        ratio = mean[i] / (mean[i] + shape[i])
        weight = 1.0
        extra = 0.0
        if low[i] == 0 and zero_share[i] > 0:
            log_empty = -shape[i] * np.log1p(mean[i] / shape[i])
            extra = zero_share[i] / (1 - zero_share[i]) * np.exp(min(-log_empty, 300.0))
        for k in range(start[i + 1] - start[i]):
            p[start[i] + k] *= weight + (extra if k == 0 else 0.0)
            z = low[i] + k
            weight *= (z + shape[i]) / (z + 1) * ratio
            if weight > _LARGE:
                for j in range(k + 1):
                    p[start[i] + j] /= _LARGE
                weight /= _LARGE


@compiled
def normalise(start: Ints, p: Floats, /) -> bool:
    """Scale each distribution to sum to one, in place; false if one of them is zero."""
    fine = True
    for i in range(len(start) - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += p[k]
        if not total > 0:
            fine = False
            continue
        for k in range(start[i], start[i + 1]):
            p[k] /= total
    return fine


@compiled
def ends(start: Ints, p: Floats, share: float, /) -> tuple[Ints, Ints]:
    """For each distribution the first and last place such that each end beyond holds less than `share`."""
    count = len(start) - 1
    first = np.zeros(count, dtype=np.int64)
    last = np.zeros(count, dtype=np.int64)
    for i in range(count):
        a, b = start[i], start[i + 1] - 1
        tail = p[a]
        while a < b and tail < share:
            a += 1
            tail += p[a]
        tail = p[b]
        while b > a and tail < share:
            b -= 1
            tail += p[b]
        first[i], last[i] = a - start[i], b - start[i]
    return first, last
