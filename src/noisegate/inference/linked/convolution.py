"""One sum of independent counts with evidence on the sum: what it says about each count, exactly.

Partial sums run forward from the first member and evidence runs back from the last, so the
messages to all m members cost about three convolutions each, and each is a sum of positive
products: relative precision is kept far into the tails.
"""

from __future__ import annotations

import numpy as np

from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled


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
def _pull(
    first: int, size: int, weight: int, p: Floats, back: Floats, here: int, reach: int, after: int, /
) -> None:
    """Evidence on the partial sum before a member, from that on the partial sum after it."""
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
    top = 0.0
    for k in range(size):
        shift = after + (weight * k if weight > 0 else -weight * (size - 1 - k))
        total = 0.0
        for a in range(len(partial)):
            total += partial[a] * back[shift + a]
        out[first + k] = total
        top = max(top, total)
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
            shift = weight * k if weight > 0 else -weight * (size - 1 - k)
            for a in range(len(partial)):
                result[shift + a] += mass * partial[a]
    return result


def costs(indptr: Ints, sizes: Ints, weights: Ints, /) -> Floats:
    """About how many multiplications `spread` takes for each of many sums; sum k has members indptr[k] ..."""
    grows = np.abs(weights) * (sizes - 1.0)
    before = np.cumsum(grows) - grows
    reach = 1 + before - np.repeat(before[indptr[:-1]], np.diff(indptr))
    return np.asarray(3 * np.add.reduceat(reach * sizes, indptr[:-1]))
