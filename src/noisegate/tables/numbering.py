"""Numbers that stand for cells, rows and groups: which there are, and the place of each among them.

Codes lie close together more often than not, and counting them then takes a fraction of the time that sorting or hashing does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled

Ints = NDArray[np.int64]

#: Fewer codes than this are sorted.
_WORTH_HASHING = 5_000


def how_many(codes: NDArray[np.integer], /) -> int:
    """How many different numbers there are.

    Examples
    --------
    >>> how_many(np.array([7, -1, 7]))
    2
    """
    present = _present(codes)
    return len(compact(codes)[0]) if present is None else int(np.count_nonzero(present))


def numbers_in(codes: NDArray[np.integer], /) -> Ints:
    """The different numbers among small ones, ascending; sorting or hashing millions of them takes longer than counting."""
    return np.flatnonzero(np.bincount(codes)).astype(np.int64)


def compact(codes: NDArray[np.integer], /) -> tuple[Ints, Ints]:
    """The distinct codes in order, and the place of each code among them."""
    present = _present(codes)
    if present is None:
        if len(codes) < _WORTH_HASHING:
            distinct, place = np.unique(codes, return_inverse=True)
            return distinct, place.astype(np.int64)
        distinct, place = _by_hash(np.ascontiguousarray(codes, dtype=np.int64), len(codes).bit_length() + 1)
        order = np.argsort(distinct)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return distinct[order], rank[place]
    least = int(codes.min(initial=0))
    rank = np.cumsum(present) - 1
    return np.flatnonzero(present) + least, rank[codes - least]


def _present(codes: NDArray[np.integer], /) -> NDArray[np.bool_] | None:
    """Which numbers there are, from the least one or 0 on; None if they lie far apart."""
    least = int(codes.min(initial=0))
    span = int(codes.max(initial=0)) - least + 1
    if span > 4 * len(codes) + 1000:
        return None
    present = np.zeros(span, dtype=bool)
    present[codes - least] = True
    return present


@compiled
def _by_hash(codes: Ints, bits: int, /) -> tuple[Ints, Ints]:
    """The distinct codes as they appear, and the place of each code among them; sorting all of them would take several times as long."""
    size = 1 << bits
    held, place_of = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    distinct, place = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        slot = np.int64((np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        while place_of[slot] >= 0 and held[slot] != code:
            slot = (slot + 1) & (size - 1)
        if place_of[slot] < 0:
            held[slot], place_of[slot] = code, count
            distinct[count] = code
            count += 1
        place[i] = place_of[slot]
    return distinct[:count], place


def numbered(codes: Ints, /) -> tuple[Ints, Ints]:
    """The distinct codes in their order, and the place of each code among them; -1 is none, and so is its place."""
    distinct, place = compact(codes)
    none = int(distinct.size > 0 and distinct[0] < 0)
    return distinct[none:], place - none


def paired(groups: Ints, rows: Ints, size: int, /) -> tuple[Ints, Ints, Ints]:
    """The distinct pairs of a group and one of `size` rows, in any order, and the place of each cell's pair among them."""
    first = np.zeros(size, np.int64)
    first[rows] = groups
    if (first[rows] == groups).all():
        at, place = compact(rows)
        return first[at], at, place
    pairs = np.ascontiguousarray(groups * size + rows, dtype=np.int64)
    many = len(pairs) >= _WORTH_HASHING
    keys, place = _by_hash(pairs, len(pairs).bit_length() + 1) if many else compact(pairs)
    return *np.divmod(keys, size), place
