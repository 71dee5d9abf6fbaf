"""Many distributions on runs of integers, each on its own window, in one array.

Sums of them with evidence on the sum are exact convolutions; products with a Gaussian tilt them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.inference.linked.model import Own
from noisegate.inference.linked.problem import Floats, Ints, contradiction
from noisegate.laws import compiled

_AS_POISSON = 1e7
#: Intensities whose relative variance is larger by less than this than what is usual are as sure as others.
_UNSURE = 0.05
_LARGE = 1e150


#: Values that laws of one part may have together; each takes eight bytes, a few times over.
_MOST_VALUES = 1 << 28


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
        if start[-1] > _MOST_VALUES:
            raise DataError(
                f"hidden counts may be anything in ranges of {int(start[-1]):.2g} values together, too many to look at one by one "
                f"(at most {_MOST_VALUES:.2g}); look for a total that is off by far, or leave that table out."
            )
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

    @classmethod
    def mixed(cls, laws: Sequence[Pmfs], weights: Floats, /) -> Pmfs:
        """The mixtures of the laws of the same cells."""
        low = np.min([one.low for one in laws], axis=0)
        high = np.max([one.low + one.sizes - 1 for one in laws], axis=0)
        found = cls.ones(low, high)
        found.p[:] = 0.0
        for one, weight in zip(laws, weights.tolist(), strict=True):
            places = np.repeat(found.start[:-1] + one.low - low - one.start[:-1], one.sizes) + np.arange(
                len(one.p)
            )
            found.p[places] += weight * one.p
        return found

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
        return Pmfs(low=self.low[which], start=start, p=gathered(self.start, which, start, self.p))

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
        p = gathered(self.start[:-1] + first, np.arange(self.count), start, self.p)
        return Pmfs(low=self.low + first, start=start, p=p)


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
def gathered(start: Ints, which: Ints, onto: Ints, p: NDArray[np.floating[Any]], /) -> Floats:
    """The masses of some distributions, one after the other; distribution `which[i]` goes to `onto[i]`."""
    found = np.empty(onto[-1])
    for i in range(len(which)):
        first = start[which[i]]
        for k in range(onto[i + 1] - onto[i]):
            found[onto[i] + k] = p[first + k]
    return found


@compiled
def stray_weight(first: int, mean: float, shape: float, zero_share: float, stray_share: float, /) -> float:
    """How much likelier a count is by a stray than by the negative binomial of its cell, shares and all."""
    if stray_share <= 0 or mean <= 0:
        return 0.0
    own = math.lgamma(first + shape) - math.lgamma(shape) - math.lgamma(first + 1.0)
    own += first * math.log(mean / (mean + shape)) - shape * math.log1p(mean / shape)
    stray = first * math.log(mean / (mean + 1.0)) - math.log1p(mean)
    return stray_share / (1.0 - zero_share - stray_share) * math.exp(min(max(stray - own, -300.0), 300.0))


@compiled
def multiply_negative_binomial(
    low: Ints,
    start: Ints,
    p: Floats,
    mean: Floats,
    shape: Floats,
    zero_share: Floats,
    stray_share: Floats,
    /,
) -> None:
    """Multiply negative binomial weights, with a share of zeros and of strays, into the distributions, in place.

    By the recurrence P(k+1) / P(k) = (k + r) / (k + 1) * m / (m + r), from the window's low end.
    """
    for i in range(len(low)):
        ratio = mean[i] / (mean[i] + shape[i])
        weight = 1.0
        extra = 0.0
        stray = stray_weight(low[i], mean[i], shape[i], zero_share[i], stray_share[i])
        falling = mean[i] / (mean[i] + 1.0)
        if low[i] == 0 and zero_share[i] > 0:
            log_empty = -shape[i] * np.log1p(mean[i] / shape[i])
            extra = zero_share[i] / (1 - zero_share[i] - stray_share[i]) * np.exp(min(-log_empty, 300.0))
        for k in range(start[i + 1] - start[i]):
            p[start[i] + k] *= weight + stray + (extra if k == 0 else 0.0)
            z = low[i] + k
            weight *= (z + shape[i]) / (z + 1) * ratio
            stray *= falling
            if weight > _LARGE:
                for j in range(k + 1):
                    p[start[i] + j] /= _LARGE
                weight /= _LARGE
                stray /= _LARGE


@compiled
def multiply_humps(
    cells: Ints,
    low: Ints,
    start: Ints,
    p: Floats,
    mean: Floats,
    shape: Floats,
    zero_share: Floats,
    stray_share: Floats,
    plain: float,
    share: Floats,
    factor: Floats,
    power: Floats,
    dispersion: Floats,
    temper: Floats,
    relative: float,
    /,
) -> None:
    """Multiply the law of some cells that may be of one of a few humps into their distributions, in place; cells of which the relative variance is clearly larger than this have wider ones."""
    if len(cells) == 0:
        return
    least, most, values = low[cells[0]], low[cells[0]], 0
    for i in cells:
        least, most = min(least, low[i]), max(most, low[i] + start[i + 1] - start[i])
        values += start[i + 1] - start[i]
    # Of counts that many cells may have the logs of factorials are worked out once.
    span = most - least if most - least <= values else 0
    facts, none = _log_gammas(least, span, 1.0), np.zeros(0)
    rises = np.zeros((len(share), span))
    for k in range(len(share)):
        if dispersion[k] > 0 and 1 / dispersion[k] <= _AS_POISSON:
            rises[k] = _log_gammas(least, span, 1 / dispersion[k])
    for i in cells:
        a, size, m = start[i], start[i + 1] - start[i], max(mean[i], 1e-9)
        own = 1.0 - zero_share[i] - stray_share[i]
        law = np.zeros(size)
        mine = facts[low[i] - least :] if span else _log_gammas(low[i], size, 1.0)
        unsure = 1 / shape[i] - relative
        _add_counts(law, low[i], own * plain, m, shape[i], 1.0, mine, none)
        _add_counts(law, low[i], stray_share[i], m, 1.0, 1.0, mine, mine)
        for k in range(len(share)):
            around = factor[k] * m ** power[k]
            r, narrow, wider = _around(around, dispersion[k], temper[k], power[k] ** 2 * unsure)
            more = rises[k, low[i] - least :] if span and not wider else none
            _add_counts(law, low[i], own * share[k], around, r, narrow, mine, more)
        if low[i] == 0:
            law[0] += zero_share[i]
        top = law.max()
        for k in range(size):
            p[a + k] *= law[k] / top if top > 0 else 1.0


@compiled
def _around(mean: float, dispersion: float, temper: float, unsure: float, /) -> tuple[float, float, bool]:
    """The shape and the power of the law of a hump around a mean that is unsure by more than is usual, and whether it is wider for that."""
    if dispersion < 0:
        return 1e9, 1 / max(1 + dispersion * mean, 1 / temper), False
    if temper == 1 and unsure > _UNSURE:
        return 1 / (dispersion + unsure), temper, True
    return 1 / dispersion if dispersion > 0 else 1e9, temper, False


@compiled
def _log_gammas(first: int, size: int, shape: float, /) -> Floats:
    """The logs of the gamma function of `first` + shape and the next ones."""
    found = np.empty(size)
    for k in range(size):
        found[k] = math.lgamma(first + k + shape)
    return found


@compiled
def _add_counts(
    law: Floats,
    low: int,
    share: float,
    mean: float,
    shape: float,
    temper: float,
    facts: Floats,
    rises: Floats,
) -> None:
    """Add a share of the law of counts around a mean, from `low` on; one that is narrower than Poisson if `temper` is above 1.

    `facts` are the logs of the factorials of these counts, `rises` those of the gamma function of counts and shape, if they are known.
    """
    if share <= 0:
        return
    if temper > 1:
        centre = mean + 0.5 * (1 - 1 / temper)
        reach = 12 * math.sqrt(centre / temper) + 12
        first = max(0, int(centre - reach))
        at = temper * (centre * math.log(centre) - math.lgamma(centre + 1))
        whole, slope = 0.0, math.log(centre)
        for x in range(first, int(centre + reach) + 1):
            whole += math.exp(temper * (x * slope - math.lgamma(x + 1.0)) - at)
        for k in range(len(law)):
            x = low + k
            law[k] += share * math.exp(temper * (x * slope - facts[k]) - at) / whole
        return
    if shape > _AS_POISSON:
        slope = math.log(mean)
        for k in range(len(law)):
            x = low + k
            law[k] += share * math.exp(x * slope - mean - facts[k])
        return
    ratio, none = math.log(mean / (mean + shape)), -shape * math.log1p(mean / shape) - math.lgamma(shape)
    for k in range(len(law)):
        x = low + k
        rise = rises[k] if len(rises) else math.lgamma(x + shape)
        law[k] += share * math.exp(none + rise - facts[k] + x * ratio)


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


@compiled
def spread(first: Ints, sizes: Ints, weights: Ints, p: Floats, evidence: Floats, out: Floats, /) -> None:
    """Write to `out` the messages to all members of one weighted sum.

    Member j has probabilities `p[first[j]:first[j] + sizes[j]]`; `evidence[a]` is the likelihood
    of the a-th possible sum, counted from the least. Messages are laid out like `p` and scaled
    to a largest value of 1.
    """
    count = len(sizes)
    reach = np.ones(count + 1, dtype=np.int64)
    for j in range(count):
        reach[j + 1] = reach[j] + abs(weights[j]) * (sizes[j] - 1)
    offset = np.zeros(count + 2, dtype=np.int64)
    for j in range(count + 1):
        offset[j + 1] = offset[j] + reach[j]
    back = np.empty(offset[count + 1])
    for a in range(reach[count]):
        back[offset[count] + a] = evidence[a]
    for j in range(count - 1, 0, -1):
        _pull(first[j], sizes[j], weights[j], p, back, offset[j], reach[j], offset[j + 1])
    partial = np.ones(1)
    for j in range(count):
        _send(first[j], sizes[j], weights[j], partial, back, offset[j + 1], out)
        if j < count - 1:
            partial = _add(first[j], sizes[j], weights[j], p, partial, reach[j + 1])


@compiled
def _correlate(kernel: Floats, source: Floats, target: Floats, /) -> None:
    """Write the sums of kernel[i] * source[i + j] to target[j], eight of them at a time, each in the order of i."""
    size = len(target)
    for start in range(0, size if size >= 8 else 0, 8):
        j = min(start, size - 8)
        some, to = source[j:], target[j:]
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(len(kernel)):
            mass = kernel[i]
            a += mass * some[i]
            b += mass * some[i + 1]
            c += mass * some[i + 2]
            d += mass * some[i + 3]
            e += mass * some[i + 4]
            f += mass * some[i + 5]
            g += mass * some[i + 6]
            h += mass * some[i + 7]
        to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7] = a, b, c, d, e, f, g, h
    for j in range(size if size < 8 else 0):
        total = 0.0
        for i in range(len(kernel)):
            total += kernel[i] * source[i + j]
        target[j] = total


@compiled
def _pull(
    first: int, size: int, weight: int, p: Floats, back: Floats, here: int, reach: int, after: int, /
) -> None:
    """Evidence on the partial sum before a member, from that on the partial sum after it."""
    if weight == 1:
        _correlate(p[first : first + size], back[after : after + size + reach], back[here : here + reach])
    else:
        for a in range(reach):
            back[here + a] = 0.0
        for k in range(size):
            mass = p[first + k]
            if mass > 0:
                shift = after + (weight * k if weight > 0 else -weight * (size - 1 - k))
                for a in range(reach):
                    back[here + a] += mass * back[shift + a]
    top = 0.0
    for a in range(reach):
        top = max(top, back[here + a])
    if top > 0:
        for a in range(reach):
            back[here + a] /= top


@compiled
def _send(
    first: int, size: int, weight: int, partial: Floats, back: Floats, after: int, out: Floats, /
) -> None:
    """The message to one member: evidence after it, averaged over the partial sum before it."""
    if weight == 1:
        reach = len(partial)
        _correlate(partial, back[after : after + size + reach], out[first : first + size])
    else:
        for k in range(size):
            shift = after + (weight * k if weight > 0 else -weight * (size - 1 - k))
            total = 0.0
            for a in range(len(partial)):
                total += partial[a] * back[shift + a]
            out[first + k] = total
    top = 0.0
    for k in range(size):
        top = max(top, out[first + k])
    if top > 0:
        for k in range(size):
            out[first + k] /= top


@compiled
def _add(first: int, size: int, weight: int, p: Floats, partial: Floats, reach: int, /) -> Floats:
    """The distribution of the partial sum after a member."""
    result = np.zeros(reach)
    for k in range(size):
        mass = p[first + k]
        if mass > 0:
            into = result[weight * k if weight > 0 else -weight * (size - 1 - k) :]
            for a in range(len(partial)):
                into[a] += mass * partial[a]
    return result


def costs(indptr: Ints, sizes: Ints, weights: Ints, /) -> Floats:
    """About how many multiplications `spread` takes for each of many sums; sum k has members indptr[k] ..."""
    grows = np.abs(weights) * (sizes - 1.0)
    before = np.cumsum(grows) - grows
    reach = 1 + before - np.repeat(before[indptr[:-1]], np.diff(indptr))
    return np.asarray(3 * np.add.reduceat(reach * sizes, indptr[:-1]))


_LEAST_VARIANCE = 1e-9


@compiled
def tilt(
    low: Ints, start: Ints, p: Floats, centre: Floats, width: Floats, /
) -> tuple[Floats, Floats, Floats]:
    """Each distribution times a Gaussian: its mean, its variance, and its share at the low end.

    The Gaussian has mean `centre` and variance `width`. Its weights follow from each other by a
    recurrence of ratios, outward from the integer nearest to the centre: two multiplications each
    instead of an exponential.
    """
    mean, variance, edge = np.empty(len(low)), np.empty(len(low)), np.empty(len(low))
    for i in range(len(low)):
        size = start[i + 1] - start[i]
        middle = min(max(np.rint(centre[i] - low[i]), 0.0), size - 1.0)
        begin = start[i] + int(middle)
        gap = low[i] + middle - centre[i]
        fall = np.exp(-1 / width[i])
        above, below = p[begin : start[i + 1]], p[start[i] : begin]
        end = len(below) - 1
        both = min(len(above), len(below))
        weight, ratio, step = 1.0, np.exp(-(1 + 2 * gap) / (2 * width[i])), 0.0
        total, first, second = 0.0, 0.0, 0.0
        down = np.exp(-(1 - 2 * gap) / (2 * width[i]))
        slower, mass = down * fall, above[0]
        less, lower, lowest = 0.0, 0.0, 0.0
        # Upward and downward side by side, which takes a processor no longer than one of them.
        for k in range(both):
            one = above[k] * weight
            total += one
            first += one * step
            second += one * step * step
            step += 1.0
            weight *= ratio
            ratio *= fall
            mass = below[end - k] * down
            less += mass
            lower += mass * step
            lowest += mass * step * step
            down *= slower
            slower *= fall
        for k in range(both, len(above)):
            one = above[k] * weight
            total += one
            first += one * step
            second += one * step * step
            step += 1.0
            weight *= ratio
            ratio *= fall
        for k in range(both, len(below)):
            step += 1.0
            mass = below[end - k] * down
            less += mass
            lower += mass * step
            lowest += mass * step * step
            down *= slower
            slower *= fall
        edge[i] = mass
        total, first, second = total + less, first - lower, second + lowest
        if total > 1e-280:
            edge[i] /= total
            mean[i] = low[i] + middle + first / total
            variance[i] = max(second / total - (first / total) ** 2, _LEAST_VARIANCE)
        else:
            mean[i], variance[i], edge[i] = _far(low[i], p[start[i] : start[i + 1]], centre[i], width[i])
    return mean, variance, edge


@compiled
def _far(low: int, p: Floats, centre: float, width: float, /) -> tuple[float, float, float]:
    """The same with logarithms, for a Gaussian so far away that the product underflows."""
    top = -np.inf
    logs = np.empty(len(p))
    for k in range(len(p)):
        logs[k] = np.log(p[k]) - (low + k - centre) ** 2 / (2 * width) if p[k] > 0 else -np.inf
        top = max(top, logs[k])
    total, first, second = 0.0, 0.0, 0.0
    for k in range(len(p)):
        mass = np.exp(logs[k] - top)
        total += mass
        first += mass * k
    for k in range(len(p)):
        second += np.exp(logs[k] - top) * (k - first / total) ** 2
    return low + first / total, max(second / total, _LEAST_VARIANCE), np.exp(logs[0] - top) / total


@compiled
def bells(low: Ints, start: Ints, p: Floats, centre: Floats, width: Floats, /) -> Floats:
    """The Gaussian weight of every integer, scaled so that its product with `p` does not vanish."""
    result = np.empty(len(p))
    for i in range(len(low)):
        size = start[i + 1] - start[i]
        middle = int(min(max(np.rint(centre[i] - low[i]), 0.0), size - 1.0))
        gap = low[i] + middle - centre[i]
        fall = np.exp(-1 / width[i])
        total = 0.0
        for side in (1, -1):
            weight, ratio = 1.0, np.exp(-(1 + 2 * side * gap) / (2 * width[i]))
            k = start[i] + middle
            while start[i] <= k < start[i + 1]:
                result[k] = weight
                total += p[k] * weight
                weight *= ratio
                ratio *= fall
                k += side
        if total < 1e-280:
            _far_bell(
                low[i], p[start[i] : start[i + 1]], centre[i], width[i], result[start[i] : start[i + 1]]
            )
    return result


@compiled
def _far_bell(low: int, p: Floats, centre: float, width: float, result: Floats, /) -> None:
    """Gaussian weights that are 1 where their product with `p` is largest."""
    top, at = -np.inf, 0.0
    for k in range(len(p)):
        result[k] = -((low + k - centre) ** 2) / (2 * width)
        if p[k] > 0 and np.log(p[k]) + result[k] > top:
            top, at = np.log(p[k]) + result[k], result[k]
    for k in range(len(p)):
        result[k] = np.exp(min(result[k] - at, 600.0))
