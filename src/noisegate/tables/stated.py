"""A public domain as a card states it, and the domain that a reader builds from that.

A card lists the labels of each dimension, what merged labels stand for, *blocks* (products of labels that make the domain up, unless
they are too many) and, for dimensions that depend on each other, which combinations exist. A label means the same wherever
it appears, so one list of combinations serves all blocks: a block has those whose labels it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.tables.axis import Axis, Block, Ints
from noisegate.tables.dimension import Dimension
from noisegate.tables.domain import Domain


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
    products = [codes for block in domain.blocks for codes in _products(block)]
    if len(products) > limits.current().domain_blocks:
        products = [[block.labels(axis) for axis in range(len(domain.names))] for block in domain.blocks]
    if merged or len(products) > 1:
        found["blocks"] = [
            {
                dimension.name: [dimension.labels[code] for code in codes.tolist()]
                for dimension, codes in zip(domain.dimensions, one, strict=True)
            }
            for one in products
        ]
    if domain.nests:
        found["nesting"] = [_nesting(domain, nest) for nest in domain.nests]
    return found


def stated_domain(stated: Mapping[str, Any], names: Sequence[str], /) -> Domain:
    """The domain over the dimensions `names` that a card states, cell by cell as it was."""
    merged = stated.get("merged", {})
    dimensions = tuple(_dimension(name, stated["dimensions"][name], merged.get(name, {})) for name in names)
    # Nesting says all that blocks say, but for merged labels.
    told = "blocks" in stated and (merged or "nesting" not in stated)
    blocks = stated["blocks"] if told else [stated["dimensions"]]
    maps = [[_map(one, block[one.name], merged.get(one.name, {})) for one in dimensions] for block in blocks]
    domain = Domain(dimensions=dimensions, blocks=tuple(Block.of(*one) for one in maps))
    for nest in stated.get("nesting", ()):
        domain = _nested(domain, nest)
    return domain


def _products(block: Block, /) -> Iterator[list[Ints]]:
    """The label codes of each dimension, for products that make the block up."""
    for chosen in product(*(_rectangles(axis.entries) for axis in block.axes)):
        codes = {
            d: row
            for axis, rows in zip(block.axes, chosen, strict=True)
            for d, row in zip(axis.dimensions, rows, strict=True)
        }
        yield [codes[d] for d in sorted(codes)]


def _rectangles(entries: Ints, /) -> list[list[Ints]]:
    """Combinations of codes as products: codes of the first row that go with the same rest belong together."""
    if len(entries) == 1:
        return [[entries[0]]]
    first, starts = np.unique(entries[0], return_index=True)
    patterns: dict[bytes, tuple[list[int], Ints]] = {}
    for code, rest in zip(first.tolist(), np.split(entries[1:], starts[1:], axis=1), strict=True):
        patterns.setdefault(rest.tobytes(), ([], rest))[0].append(code)
    return [[np.array(codes), *rows] for codes, rest in patterns.values() for rows in _rectangles(rest)]


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
        raise SpecError("it lists merged labels among values, which cannot be told apart.")
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
    blocks = tuple(found for block in domain.blocks if (found := _joined(block, stated)) is not None)
    if not blocks:
        raise SpecError(f"it lists no combination of {' and '.join(names)} that its blocks have.")
    return Domain(dimensions=domain.dimensions, blocks=blocks)


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
