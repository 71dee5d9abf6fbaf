"""What tables share that overlap without one containing the other: time by mode beside origin by destination by mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from noisegate.reading.alignment import Matching, match
from noisegate.reading.dimensions import unite
from noisegate.reading.hierarchy import parents_of
from noisegate.reading.published import Hierarchy
from noisegate.tables import NO_ORDINAL, Dimension, Domain, Ints, Kind, Margin, SharedMargin, Table, folded

if TYPE_CHECKING:
    from noisegate.reading.structure import Structure


def find_shared(structures: Sequence[Structure], hierarchies: Sequence[Hierarchy], /) -> list[SharedMargin]:
    """For each two structures of one measure, what their bases both sum to, if they share a dimension.

    A dimension is shared if both have it, perhaps one of them in groups that a lookup or subtotals list. The shared margin has
    the coarser of the two, and the values that both have.
    """
    found = []
    for one, other in combinations(structures, 2):
        shared = _between(one, other, hierarchies)
        if shared is not None:
            found.append(shared)
    return found


def _between(one: Structure, other: Structure, hierarchies: Sequence[Hierarchy]) -> SharedMargin | None:
    left, right = one.base, other.base
    theirs = match(one.sources[0], other.sources[0], hierarchies=hierarchies)
    ours = match(other.sources[0], one.sources[0], hierarchies=hierarchies)
    if theirs.unclear or ours.unclear:
        return None
    dimensions, from_left, from_right, words = [], [], [], []
    for i, j, through, turned in _pairs(theirs, ours):
        a = (
            left.domain.names.index(one.sources[0].names[j])
            if one.sources[0].names[j] in left.domain.names
            else -1
        )
        b = (
            right.domain.names.index(other.sources[0].names[i])
            if other.sources[0].names[i] in right.domain.names
            else -1
        )
        if min(a, b) < 0:
            continue
        joined = _joined(left.dimensions[a], right.dimensions[b], through, turned=turned)
        if joined is None:
            return None
        dimension, onto_left, onto_right = joined
        dimensions.append(dimension)
        from_left.append((a, onto_left))
        from_right.append((b, onto_right))
        words.append(f"{dimension.name}: {through.how if through is not None else 'the same values'}")
    if not dimensions:
        return None
    domain = Domain.product(dimensions)
    return SharedMargin(
        left=left,
        right=right,
        onto_left=_onto(left, domain, from_left),
        onto_right=_onto(right, domain, from_right),
        how="; ".join(words),
    )


def _pairs(theirs: Matching, ours: Matching) -> list[tuple[int, int, Hierarchy | None, bool]]:
    """Dimensions of the right and of the left table that are the same, and whether the left one is the coarser."""
    found = {(pair.margin, pair.base): (pair.through, False) for pair in theirs.pairs}
    taken = {i for i, _ in found} | {-1 - j for _, j in found}
    for pair in ours.pairs:
        key = (pair.base, pair.margin)
        free = key in found or (key[0] not in taken and -1 - key[1] not in taken)
        if free and pair.through is not None and (key not in found or found[key][0] is None):
            found[key] = (pair.through, True)
    return [(i, j, through, turned) for (i, j), (through, turned) in found.items()]


def _joined(
    left: Dimension, right: Dimension, through: Hierarchy | None, *, turned: bool
) -> tuple[Dimension, Ints, Ints] | None:
    """The dimension that both have, and where the values of each are in it; None if no value is in both."""
    if (
        through is None
        and left.kind is right.kind is Kind.TIME
        and left.step
        and right.step
        and left.step != right.step
    ):
        return _in_bins(left, right, max(left.step, right.step))
    if through is None:
        whole, (ours, theirs) = unite([left, right])
        both = np.intersect1d(ours, theirs)
        place = np.full(whole.size, -1, np.int64)
        place[both] = np.arange(both.size)
        return (whole.take(both), place[ours], place[theirs]) if both.size else None
    fine, coarse = (right, left) if turned else (left, right)
    known = {folded(label): code for code, label in enumerate(coarse.labels)}
    known |= {key: code for code, key in enumerate(coarse.keys)}
    parents = parents_of(fine.keys, fine.labels, through)
    onto = np.array([known.get(parent, -1) if parent is not None else -1 for parent in parents], np.int64)
    met = np.unique(onto[onto >= 0])
    if not met.size:
        return None
    place = np.full(coarse.size + 1, -1, np.int64)
    place[met] = np.arange(met.size)
    fine_onto, coarse_onto = place[onto], place[:-1]
    return (
        (coarse.take(met), coarse_onto, fine_onto) if turned else (coarse.take(met), fine_onto, coarse_onto)
    )


def _in_bins(left: Dimension, right: Dimension, width: int) -> tuple[Dimension, Ints, Ints] | None:
    """Times of both in the wider of their bins."""
    coarse = left if left.step == width else right
    place = {start: code for code, start in enumerate(coarse.ordinals.tolist()) if start != NO_ORDINAL}
    onto = [
        np.array(
            [-1 if t == NO_ORDINAL else place.get(t // width * width, -1) for t in one.ordinals.tolist()],
            np.int64,
        )
        for one in (left, right)
    ]
    met = np.intersect1d(onto[0][onto[0] >= 0], onto[1][onto[1] >= 0])
    if not met.size:
        return None
    at = np.full(coarse.size + 1, -1, np.int64)
    at[met] = np.arange(met.size)
    return coarse.take(met), at[onto[0]], at[onto[1]]


def _onto(table: Table, domain: Domain, places: Sequence[tuple[int, Ints]]) -> Margin:
    recodes = {new: onto for new, (_, onto) in enumerate(places)}
    return Margin.between(table.domain, domain, dimensions=tuple(old for old, _ in places), recodes=recodes)
