"""Merging values of a domain in places, and ruling combinations out.

Both cut the blocks of a domain along public conditions. What is cut stays disjoint: the part of a
block that meets the conditions, and one remainder for each condition.

Guarantee: every combination of values that had a cell has exactly one cell afterwards (`merge`), or
still has it if it is allowed (`restrict`); and a label stands for the same values in every block,
so that a published label says what was counted under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from noisegate.errors import SpecError
from noisegate.tables.domain import Block, Dimension, Domain, Ints, Mask


def merge(domain: Domain, /, *, name: str, groups: Sequence[str], where: Mapping[str, Mask]) -> Domain:
    """`domain` with the values of dimension `name` shown as their groups wherever all conditions hold.

    Parameters
    ----------
    name
        The dimension whose values are merged.
    groups
        The label of the group of each value; values with the same label become one, and a value alone under
        its own label stays what it is.
    where
        For each dimension that has a condition, which of its values meet it; may include `name`.

    Examples
    --------
    >>> modes = Dimension(name="mode", values=("train", "bus"))
    >>> stops = Dimension(name="stop", values=("A", "B", "C"))
    >>> coarse = merge(Domain.product([modes, stops]), name="stop", groups=["x", "x", "y"],
    ...                where={"mode": np.array([False, True])})
    >>> coarse.size
    5
    """
    axis = domain.axis(name)
    met = [where.get(dim.name, np.ones(len(dim.values), dtype=bool)) for dim in domain.dimensions]
    new = _with_groups(domain.dimensions[axis], groups, met[axis])
    codes = {label: code for code, label in enumerate(new.labels)}
    target = np.array([codes.get(label, -1) for label in groups], dtype=np.int64)
    blocks: list[Block] = []
    for block in domain.blocks:
        inside, outside = cut(block, met)
        blocks += outside
        if inside is not None:
            blocks.append(_shown_as(inside, axis=axis, target=target, dimension=new))
    dims = (*domain.dimensions[:axis], new, *domain.dimensions[axis + 1 :])
    merged = Domain(dimensions=dims, blocks=tuple(blocks))
    _check_labels(merged)
    return merged


def restrict(domain: Domain, /, *, name: str, by: str, allowed: Mapping[int, Mask]) -> Domain:
    """`domain` without the combinations that are ruled out in public.

    A group is kept whole where at least one of its values is allowed, so that its label keeps its
    meaning: merge first, then restrict.

    Parameters
    ----------
    name, by
        Two dimensions.
    allowed
        For each value code of `by`, the values of `name` that may go with it.
    """
    axis, other = domain.axis(name), domain.axis(by)
    patterns: dict[bytes, list[int]] = {}
    for code, mask in allowed.items():
        patterns.setdefault(mask.tobytes(), []).append(code)
    blocks: list[Block] = []
    for codes in patterns.values():
        paired = np.isin(np.arange(len(domain.dimensions[other].values)), codes)
        for block in domain.blocks:
            met = [np.ones(labels.size, dtype=bool) for labels in block.maps]
            met[axis] = np.isin(block.maps[axis], block.maps[axis][allowed[codes[0]]])
            met[other] = paired
            part, _ = cut(block, met)
            blocks += [] if part is None else [part]
    if not blocks:
        raise SpecError(f"no value of {name} may go with any value of {by}; the domain would have no cell.")
    restricted = Domain(dimensions=domain.dimensions, blocks=tuple(blocks))
    _check_labels(restricted)
    return restricted


def _with_groups(dimension: Dimension, groups: Sequence[str], met: Mask, /) -> Dimension:
    """`dimension` with labels for the groups of the values that are meant."""
    members: dict[str, list[str]] = {}
    for value, label, here in zip(dimension.values, groups, met, strict=True):
        if here:
            members.setdefault(label, []).append(value)
    added = [g for g, values in members.items() if values != [g] and g not in dimension.groups]
    return replace(dimension, groups=dimension.groups + tuple(added))


def cut(block: Block, met: Sequence[Mask], /) -> tuple[Block | None, list[Block]]:
    """The part of `block` where all conditions hold, and the disjoint parts where one does not."""
    inside = tuple(np.where(mask, codes, -1) for codes, mask in zip(block.maps, met, strict=True))
    if not all((codes >= 0).any() for codes in inside):
        return None, [block]
    return Block(maps=inside), list(_remainders(block, inside))


def _remainders(block: Block, inside: tuple[Ints, ...], /) -> Iterator[Block]:
    for axis, (codes, kept) in enumerate(zip(block.maps, inside, strict=True)):
        rest = np.where(kept >= 0, -1, codes)
        if (rest >= 0).any():
            yield Block(maps=(*inside[:axis], rest, *block.maps[axis + 1 :]))


def _shown_as(block: Block, /, *, axis: int, target: Ints, dimension: Dimension) -> Block:
    """`block` with the values of one dimension shown as their groups."""
    old = block.maps[axis]
    new = np.where(old >= 0, target, -1)
    merged = old >= len(dimension.values)
    if not np.array_equal(old[merged], new[merged]):
        raise SpecError(
            f"two merges of {dimension.name} meet in the same cells and disagree; make their conditions disjoint."
        )
    return Block(maps=(*block.maps[:axis], new, *block.maps[axis + 1 :]))


def _check_labels(domain: Domain, /) -> None:
    """Refuse a label that would stand for different values in different blocks."""
    for axis, dim in enumerate(domain.dimensions):
        pairs = np.concatenate([_value_label_pairs(block.maps[axis]) for block in domain.blocks])
        members = np.bincount(np.unique(pairs, axis=0)[:, 1], minlength=len(dim.labels))
        for block in domain.blocks:
            codes = block.maps[axis]
            here = np.bincount(codes[codes >= 0], minlength=len(dim.labels))
            torn = np.flatnonzero((here > 0) & (here != members))
            if torn.size:
                raise SpecError(
                    f"the merged {dim.name} {dim.labels[torn[0]]!r} would mean different things in different "
                    f"cells, because a condition cuts through it; let conditions on {dim.name} cover it whole."
                )


def _value_label_pairs(codes: Ints, /) -> Ints:
    values = np.flatnonzero(codes >= 0)
    return np.column_stack([values, codes[values]])
