"""Dimensions that depend on each other: which locations occur with which mode.

A location belongs to one mode. Pairing every location with every mode would make three quarters of the
domain impossible, and all of it would look suppressed. A dimension is *nested* in another when nearly
each of its values occurs with one value of the other only, far beyond what chance or the suppression of
small counts would make of it; the pairs that exist are then those that some table shows.

Dates and times are never nested: their grids are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from noisegate.reading._table import Codes, Dimension, Kind

#: Share of values that must occur with one value of the other dimension only.
NEARLY_ALL = 0.9
#: How improbable that must be without nesting.
CHANCE = 1e-6


def find_nests(
    dimensions: Sequence[Dimension], tables: Sequence[dict[int, Codes]], /
) -> list[tuple[int, ...]]:
    """Groups of dimensions that share an axis; a dimension that depends on no other is a group of one.

    `tables` holds for each table the codes of the dimensions that it has, by position.
    """
    group = list(range(len(dimensions)))
    plain = [i for i, d in enumerate(dimensions) if d.kind not in {Kind.DATE, Kind.TIME}]
    for parent, child in permutations(plain, 2):
        if group[parent] != group[child] and _nested(parent, child, dimensions, tables):
            old, new = group[child], group[parent]
            group = [new if g == old else g for g in group]
    return [tuple(i for i, g in enumerate(group) if g == mark) for mark in dict.fromkeys(group)]


def _nested(
    parent: int, child: int, dimensions: Sequence[Dimension], tables: Sequence[dict[int, Codes]]
) -> bool:
    """Whether nearly every value of the child occurs with one value of the parent only."""
    rows = np.zeros((dimensions[parent].size, dimensions[child].size))
    if rows.size > 10_000_000:
        return False
    for codes in tables:
        if parent in codes and child in codes:
            np.add.at(rows, (codes[parent], codes[child]), 1.0)
    rows = rows[:, (rows.sum(axis=0) > 0) & ~dimensions[child].unknown]
    rows = rows[rows.sum(axis=1) > 0]
    if rows.shape[0] < 2 or rows.shape[1] < 3:
        return False
    single = (rows > 0).sum(axis=0) == 1
    if single.mean() < NEARLY_ALL:
        return False
    # A small region is published for the most common cause alone; that is suppression, not nesting.
    # What counts is a value that never occurs with the commonest parent.
    share = rows.sum(axis=1) / rows.sum()
    home = rows.argmax(axis=0)
    telling = single & (home != int(share.argmax()))
    log_chance = float((rows.sum(axis=0)[telling] * np.log(share[home[telling]])).sum())
    return log_chance < math.log(CHANCE)
