"""One list of values for a dimension that several tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisegate.reading._clock import clock_key
from noisegate.reading._table import NO_ORDINAL, Codes, Dimension, Kind
from noisegate.reading._words import fold


def unite(dimensions: Sequence[Dimension], /) -> tuple[Dimension, list[Codes]]:
    """The dimension with the values of all, named as the first; and for each, its codes' new codes.

    Values are the same when their keys are. Where each of two dimensions has one way to say "unknown",
    both ways mean the same value.
    """
    first = dimensions[0]
    stray = [_alias(first, other) for other in dimensions]
    found: dict[str, tuple[bool, bool, int, str, str]] = {}
    for dimension, alias in zip(dimensions, stray, strict=True):
        columns = zip(
            dimension.keys,
            dimension.labels,
            dimension.ordinals.tolist(),
            dimension.unknown.tolist(),
            strict=True,
        )
        for key, label, ordinal, unknown in columns:
            known = alias.get(key, key)
            found.setdefault(known, (unknown, ordinal == NO_ORDINAL, ordinal, known, label))
    ranked = sorted(found.values())
    place = {entry[3]: code for code, entry in enumerate(ranked)}
    recode = [
        np.array([place[alias.get(key, key)] for key in dimension.keys], dtype=np.int32)
        for dimension, alias in zip(dimensions, stray, strict=True)
    ]
    united = replace(
        first,
        labels=tuple(entry[4] for entry in ranked),
        keys=tuple(entry[3] for entry in ranked),
        ordinals=np.array([entry[2] for entry in ranked], dtype=np.int64),
        unknown=np.array([entry[0] for entry in ranked], dtype=bool),
        kind=first.kind if len({d.kind for d in dimensions}) == 1 else Kind.TEXT,
        step=first.step or next((d.step for d in dimensions if d.step), None),
    )
    return united, recode


def _alias(first: Dimension, other: Dimension) -> dict[str, str]:
    """The other's word for "unknown" in the words of the first, where that is clear."""
    ours = [key for key, gone in zip(first.keys, first.unknown.tolist(), strict=True) if gone]
    theirs = [key for key, gone in zip(other.keys, other.unknown.tolist(), strict=True) if gone]
    clear = len(ours) == len(theirs) == 1 and ours != theirs and ours[0] not in other.keys
    return {theirs[0]: ours[0]} if clear else {}


def declared(values: Sequence[str], like: Dimension, /) -> Dimension:
    """Values that a person declares, as a dimension of the same kind as `like`.

    Dates are given in ISO form and times as HH:MM, as the keys of dimensions are.
    """
    keys = tuple(dict.fromkeys(fold(value) for value in values))
    known = dict(zip(like.keys, like.ordinals.tolist(), strict=True))
    labels = {fold(value): value for value in reversed(values)}
    return replace(
        like,
        labels=tuple(labels[key] for key in keys),
        keys=keys,
        ordinals=np.array([known.get(key, _ordinal(key, like.kind)) for key in keys], dtype=np.int64),
        unknown=np.zeros(len(keys), dtype=bool),
    )


def _ordinal(key: str, kind: Kind) -> int:
    if kind is Kind.TIME and len(key) == 5 and key[2] == ":" and (key[:2] + key[3:]).isdigit():
        return 60 * int(key[:2]) + int(key[3:])
    if kind is Kind.DATE:
        try:
            return int(np.datetime64(key, "D").astype(np.int64))
        except ValueError:
            return NO_ORDINAL
    return int(key) if kind is Kind.NUMBER and key.lstrip("-").isdigit() else NO_ORDINAL


def time_grid(dimension: Dimension, /) -> Dimension:
    """All bins of a time dimension from its first to its last, whether shown or not."""
    known = dimension.ordinals[dimension.ordinals != NO_ORDINAL]
    if dimension.kind is not Kind.TIME or not dimension.step or not known.size:
        return dimension
    starts = np.arange(int(known.min()), int(known.max()) + 1, dimension.step)
    keys = tuple(clock_key(start) for start in starts.tolist())
    written = dict(zip(dimension.keys, dimension.labels, strict=True))
    return replace(
        dimension,
        labels=tuple(written.get(key, key) for key in keys),
        keys=keys,
        ordinals=starts.astype(np.int64),
        unknown=np.zeros(starts.size, dtype=bool),
    )
