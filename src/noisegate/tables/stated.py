"""A public domain as a card states it, and the domain that a reader builds from that.

A card lists the labels of each dimension, what merged labels stand for, the labels of each block, and for dimensions that depend
on each other which combinations exist. A label means the same wherever it appears, so one list of combinations serves
all blocks: a block has those whose labels it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from noisegate.errors import DataError
from noisegate.tables.axis import Axis, Ints
from noisegate.tables.block import Block
from noisegate.tables.domain import Dimension, Domain

#: For each dimension the values that each merged label stands for.
Merged = Mapping[str, Mapping[str, Sequence[str]]]


def state_domain(domain: Domain, /) -> dict[str, Any]:
    """The public cells as plain data."""
    found: dict[str, Any] = {
        "cells": domain.size,
        "product": domain.is_product,
        "dimensions": {dimension.name: list(dimension.labels) for dimension in domain.dimensions},
    }
    merged = {
        dimension.name: members
        for axis, dimension in enumerate(domain.dimensions)
        if (members := _members(domain, axis))
    }
    if merged:
        found["merged"] = merged
    if merged or len(domain.blocks) > 1:
        found["blocks"] = [
            {
                dimension.name: [dimension.labels[code] for code in block.labels(axis).tolist()]
                for axis, dimension in enumerate(domain.dimensions)
            }
            for block in domain.blocks
        ]
    if domain.nests:
        found["nesting"] = [_nesting(domain, nest) for nest in domain.nests]
    return found


def stated_domain(
    stated: Mapping[str, Any], names: Sequence[str], /, *, merged: Merged | None = None
) -> Domain:
    """The domain over the dimensions `names` that a card states, cell by cell as it was.

    Merged labels are values like any other here, for a reader who has tables only. With `merged` they are groups of the
    values behind them, so that events can be located.
    """
    groups = merged or {}
    dimensions = tuple(_dimension(name, stated["dimensions"][name], groups.get(name, {})) for name in names)
    blocks = stated.get("blocks", [stated["dimensions"]])
    maps = [[_map(one, block[one.name], groups.get(one.name, {})) for one in dimensions] for block in blocks]
    domain = Domain(dimensions=dimensions, blocks=tuple(Block.of(*one) for one in maps))
    for nest in stated.get("nesting", ()):
        domain = _nested(domain, nest)
    return domain


def _members(domain: Domain, axis: int, /) -> dict[str, list[str]]:
    """The values that each merged label of one dimension stands for."""
    dimension = domain.dimensions[axis]
    members: dict[str, list[str]] = {label: [] for label in dimension.groups}
    for block in domain.blocks:
        for value, code in zip(*(codes.tolist() for codes in block.members(axis)), strict=True):
            if code >= len(dimension.values):
                known = members[dimension.labels[code]]
                if dimension.values[value] not in known:
                    known.append(dimension.values[value])
    return members


def _nesting(domain: Domain, nest: tuple[int, ...], /) -> dict[str, Any]:
    """The combinations of some dimensions that exist: the labels of the first, under each those of the next, and so on."""
    place = domain.axes.index(nest)
    entries = Axis.of(nest, np.concatenate([b.axes[place].entries for b in domain.blocks], axis=1)).entries
    labels = [
        [domain.dimensions[d].labels[code] for code in row.tolist()]
        for d, row in zip(nest, entries, strict=True)
    ]
    tree: dict[str, Any] = {}
    for *outer, parent, child in zip(*labels, strict=True):
        branch = tree
        for label in outer:
            branch = branch.setdefault(label, {})
        branch.setdefault(parent, []).append(child)
    return {"dimensions": [domain.names[d] for d in nest], "combinations": tree}


def _dimension(name: str, labels: Sequence[str], merged: Mapping[str, Sequence[str]], /) -> Dimension:
    values = tuple(label for label in labels if label not in merged)
    found = Dimension(name=name, values=values, groups=tuple(labels[len(values) :]))
    if found.labels != tuple(labels):
        raise DataError("the card lists merged labels among values, which cannot be told apart.")
    return found


def _map(dimension: Dimension, labels: Sequence[str], merged: Mapping[str, Sequence[str]], /) -> Ints:
    """For each value the label that shows it, among the labels of one block; -1 if none does."""
    place = {label: code for code, label in enumerate(dimension.labels)}
    shown = np.full(len(dimension.values), -1, np.int64)
    for label in labels:
        for value in merged.get(label, (label,)):
            shown[place[value]] = place[label]
    return shown


def _nested(domain: Domain, nest: Mapping[str, Any], /) -> Domain:
    """The domain with only the stated combinations of some dimensions, in the blocks that have their labels."""
    names = [str(name) for name in nest["dimensions"]]
    dimensions = [domain.axis(name) for name in names]
    codes = [{label: n for n, label in enumerate(domain.dimensions[d].labels)} for d in dimensions]
    rows = [
        [known[label] for known, label in zip(codes, row, strict=True)]
        for row in _leaves(nest["combinations"])
    ]
    stated = Axis.of(tuple(dimensions), np.array(rows, dtype=np.int64).reshape(-1, len(names)).T)
    blocks = [_joined(block, stated) for block in domain.blocks]
    return Domain(dimensions=domain.dimensions, blocks=tuple(b for b in blocks if b is not None))


def _leaves(tree: Any, /) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for label, branch in tree.items():
            for rest in _leaves(branch):
                yield (label, *rest)
    else:
        for label in tree:
            yield (label,)


def _joined(block: Block, stated: Axis, /) -> Block | None:
    """The block with the axes of some dimensions made one; None if it has none of the stated combinations."""
    order = np.argsort(stated.dimensions)
    dimensions = tuple(sorted(stated.dimensions))
    entries = stated.entries[order]
    members = [block.members(d) for d in dimensions]
    keys, labels = np.zeros((0, entries.shape[1]), np.int64), entries
    for row, (values, shown) in enumerate(members):
        # Every value that is shown as the label, for each combination so far.
        sort = np.argsort(shown, kind="stable")
        low, high = (np.searchsorted(shown[sort], labels[row], side=side) for side in ("left", "right"))
        times = high - low
        which = np.repeat(np.arange(times.size), times)
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        keys = np.concatenate([keys[:, which], values[sort][low[which] + within][np.newaxis, :]])
        labels = labels[:, which]
    if not keys.size:
        return None
    rest = [axis for axis in block.axes if not set(axis.dimensions) & set(dimensions)]
    joined = Axis.shown(dimensions, keys=keys, labels=labels)
    return Block(axes=tuple(sorted([*rest, joined], key=lambda axis: axis.dimensions[0])))
