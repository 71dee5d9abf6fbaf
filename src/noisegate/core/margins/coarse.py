"""Coarse tables that nobody publishes and that are made whole first, so that sums of small counts stay where they belong.

Counts are made non-negative table by table, from coarse to fine. Each time noise in empty cells is raised to zero, other
cells pay for it: a little in each cell, always in the same direction. Summed over many cells it can exceed the noise.
The remedy is to make the sums right first. A margin by time for each mode and day is the same pattern over and over again:
what it adds up to over days is far above its noise where a single day is not. So before the margin, the table
without the days is fixed, and the margin has to add up to it.

That helps along axes whose labels repeat one pattern (days, mostly). Along an axis whose labels have patterns of their own (a stop
belongs to one mode) it would hurt: the finer table is mostly empty, clamping it takes away most of its noise, and the coarser
table has all of that noise. Which is which is read from the estimate itself: by the cosine of the patterns of two
labels, which is 1 for proportional and 0 for disjoint patterns.

Only the noisy estimate is looked at, so this is post-processing like all that follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from noisegate.core.margins.plan import plan_rounding
from noisegate.core.margins.reconcile import Reconciled
from noisegate.core.margins.shape import Table, TableShape
from noisegate.errors import SpecError

Floats = NDArray[np.float64]

#: Labels whose patterns have at least this cosine, on average, repeat one pattern.
ALIKE = 0.5
# A label's pattern is seen if its sum of squares exceeds that of noise by so many of its standard deviations.
_SEEN_SDS = 4.0


def coarse_tables(estimate: Reconciled, margins: Mapping[Table, Floats], /) -> tuple[Table, ...]:
    """The tables to make whole before `margins` (estimated tables by name), none of which is among them.

    For each margin: the axes that it shares with others, and its own axes with those shared ones whose labels
    do not repeat one pattern; then again with one more axis at a time, the one with the most uneven totals first: small labels
    need the company of others most. A margin that shares nothing is treated as if its longest axis were its own. Margins stay
    acyclic; where that does not go, a margin has no coarse tables.
    """
    shape = estimate.design.shape
    found: tuple[Table, ...] = ()
    for margin, values in margins.items():
        shared = _shared(shape, margin, margins)
        if shared is None:
            continue
        more = tuple(
            t for t in _chain(estimate, values, margin, shared) if t not in found and t not in margins
        )
        if _can_be_rounded(shape, (*margins, *found, *more)):
            found += more
    return found


def _shared(shape: TableShape, margin: Table, margins: Iterable[Table], /) -> Table | None:
    """The axes that `margin` shares with others; None if it has no own ones, or not all are shared with a single other."""
    common = {frozenset(margin) & frozenset(other) for other in margins if other != margin}
    largest = max(common, key=len, default=frozenset[str]())
    if len(margin) == len(largest) or any(not axes <= largest for axes in common):
        return None
    if not largest and margin:
        largest = frozenset(margin) - {max(margin, key=shape.size)}
    return shape.table(largest)


def _chain(estimate: Reconciled, values: Floats, margin: Table, shared: Table, /) -> tuple[Table, ...]:
    """The coarse tables of one margin, the coarsest first."""
    shape = estimate.design.shape
    own = tuple(axis for axis in margin if axis not in shared)
    repeating = [axis for axis in shared if _likeness(estimate, values, margin, axis, own) >= ALIKE]
    repeating.sort(key=lambda axis: -_unevenness(values, margin.index(axis)))
    kept = [axis for axis in margin if axis not in repeating]
    chain = [shape.table((*kept, *repeating[:n])) for n in range(len(repeating))]
    return (shared, *chain)


def _likeness(estimate: Reconciled, values: Floats, margin: Table, axis: str, own: Table, /) -> float:
    """The mean cosine of the patterns along `own` of two labels of `axis`, free of noise; 0 if fewer than two are seen."""
    gone = tuple(place for place, name in enumerate(margin) if name not in (axis, *own))
    left = [name for name in margin if name in (axis, *own)]
    patterns = np.moveaxis(values.sum(axis=gone), left.index(axis), 0).reshape(
        values.shape[margin.index(axis)], -1
    )
    cells, variance = patterns.shape[1], estimate.variance(left)
    energy = (patterns**2).sum(axis=1) - cells * variance
    seen = energy > _SEEN_SDS * variance * math.sqrt(2 * cells)
    labels = int(seen.sum())
    if labels < 2:
        return 0.0
    unit = patterns[seen] / np.sqrt(energy[seen])[:, None]
    pairs = (unit.sum(axis=0) ** 2).sum() - (unit**2).sum()
    return float(pairs) / (labels * (labels - 1))


def _unevenness(values: Floats, place: int, /) -> float:
    """The standard deviation of the totals of an axis' labels, over their mean."""
    totals = np.maximum(values.sum(axis=tuple(p for p in range(values.ndim) if p != place)), 0.0)
    mean = float(totals.mean())
    return float(totals.std()) / mean if mean > 0 else 0.0


def _can_be_rounded(shape: TableShape, tables: Iterable[Table], /) -> bool:
    try:
        plan_rounding(shape, tables)
    except SpecError:
        return False
    return True
