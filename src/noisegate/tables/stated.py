"""A public domain as a card states it, and the domain that a reader builds from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noisegate.errors import SpecError
from noisegate.tables.domain import Block, Dimension, Domain, Ints


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
    if merged or not domain.is_product:
        found["blocks"] = [
            {
                dimension.name: [dimension.labels[code] for code in codes.tolist()]
                for dimension, codes in zip(domain.dimensions, block.axes, strict=True)
            }
            for block in domain.blocks
        ]
    return found


def _members(domain: Domain, axis: int, /) -> dict[str, list[str]]:
    """The values that each merged label of one dimension stands for."""
    dimension, members = domain.dimensions[axis], dict[str, list[str]]()
    for block in domain.blocks:
        for value, code in zip(dimension.values, block.maps[axis].tolist(), strict=True):
            if code >= len(dimension.values) and value not in members.setdefault(dimension.labels[code], []):
                members[dimension.labels[code]].append(value)
    return members


def stated_domain(stated: Mapping[str, Any], names: Sequence[str], /) -> Domain:
    """The domain over the dimensions `names` that a card states, cell by cell as it was."""
    merged = stated.get("merged", {})
    dimensions = []
    for name in names:
        labels, groups = stated["dimensions"][name], merged.get(name, {})
        dimension = Dimension(
            name=name,
            values=tuple(label for label in labels if label not in groups),
            groups=tuple(label for label in labels if label in groups),
        )
        if dimension.labels != tuple(labels):
            raise SpecError("it lists merged labels among values, which cannot be told apart.")
        dimensions.append(dimension)
    if "blocks" not in stated:
        return Domain.product(dimensions)
    blocks = tuple(
        Block(maps=tuple(_map(one, block[one.name], merged.get(one.name, {})) for one in dimensions))
        for block in stated["blocks"]
    )
    return Domain(dimensions=tuple(dimensions), blocks=blocks)


def _map(dimension: Dimension, labels: Sequence[str], merged: Mapping[str, Sequence[str]], /) -> Ints:
    """For each value the label that shows it, among the labels of one block; -1 if none does."""
    place = {label: code for code, label in enumerate(dimension.labels)}
    shown = np.full(len(dimension.values), -1, np.int64)
    for label in labels:
        for value in merged.get(label, (label,)):
            shown[place[value]] = place[label]
    return shown
