"""How the cells of a margin are sums of cells of the base."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.reading._cells import Cells
from noisegate.reading._table import Bools, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """A margin of a base, cell by cell.

    Every axis of the margin comes from one axis of the base, so the cell of the margin that a base cell
    adds to is found by one look-up for each axis.

    Attributes
    ----------
    base, margin
        The two tables on their domains.
    from_axis, maps
        For each axis of the margin: the axis of the base, and for each entry of that the entry of the
        margin that it adds to; -1 where the margin does not cover it.
    summed, coarser
        Names of the base's dimensions that the margin sums over, and of those it has in wider bins.
    unlisted
        Values of dimensions that are summed over which exist in other tables but not in the base: the
        margin may count them, the base does not list them.
    members
        For each cell of the margin, how many base cells add up to it; 0 where the base does not cover it.
    shown
        How many of these are published; `parts` is the sum of their counts.
    """

    base: Cells
    margin: Cells
    from_axis: tuple[int, ...]
    maps: tuple[Ints, ...]
    summed: tuple[str, ...]
    coarser: tuple[str, ...]
    unlisted: tuple[str, ...] = ()
    members: Ints = field(init=False)
    shown: Ints = field(init=False)
    parts: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        groups = self.group_of(self.base.flat)
        inside = groups >= 0
        size = self.margin.size
        object.__setattr__(self, "members", self._members())
        object.__setattr__(self, "shown", np.bincount(groups[inside], minlength=size))
        sums = np.bincount(groups[inside], weights=self.base.counts[inside], minlength=size)
        object.__setattr__(self, "parts", sums.astype(np.float64))

    def _members(self) -> Ints:
        kept = set(self.from_axis)
        summed = math.prod(size for place, size in enumerate(self.base.shape) if place not in kept)
        members = np.full((), summed, dtype=np.int64)
        for axis, entries in zip(self.margin.axes, self.maps, strict=True):
            members = np.multiply.outer(members, np.bincount(entries[entries >= 0], minlength=axis.size))
        return members.ravel()

    def group_of(self, flat: Ints, /) -> Ints:
        """The cell of the margin that each of these base cells adds to; -1 for none."""
        index = self.base.entries(flat)
        groups = np.zeros(flat.size, dtype=np.int64)
        inside = np.ones(flat.size, dtype=bool)
        for axis, place, entries in zip(self.margin.axes, self.from_axis, self.maps, strict=True):
            entry = entries[index[place]]
            inside &= entry >= 0
            groups = groups * axis.size + entry
        return np.where(inside, groups, -1)

    def groups(self) -> Ints:
        """The cell of the margin of every base cell, in order; -1 for none.

        With `margin.dense()`, what `noisegate.inference.linked.Sums.by` takes.
        """
        return self.group_of(np.arange(self.base.size, dtype=np.int64))

    @property
    def published(self) -> Bools:
        """Which cells of the margin are published."""
        mask = np.zeros(self.margin.size, dtype=bool)
        mask[self.margin.flat] = True
        return mask

    @property
    def comparable(self) -> Bools:
        """Which cells of the margin are sums of base cells at all."""
        return np.asarray(self.members > 0)

    @property
    def complete(self) -> Bools:
        """Which cells of the margin are published together with every base cell that adds up to them."""
        return np.asarray(self.published & self.comparable & (self.shown == self.members))

    def coverage(self) -> list[Coverage]:
        """For each axis of the margin that the base covers only in part: which part."""
        found = []
        for axis, entries in zip(self.margin.axes, self.maps, strict=True):
            met = np.zeros(axis.size, dtype=bool)
            met[entries[entries >= 0]] = True
            if not met.all():
                names = tuple(self.margin.dimensions[d].name for d in axis.dimensions)
                values = [
                    " / ".join(
                        self.margin.dimensions[d].labels[code]
                        for d, code in zip(axis.dimensions, entry, strict=True)
                    )
                    for entry in axis.entries.T.tolist()
                ]
                inside = tuple(value for value, hit in zip(values, met.tolist(), strict=True) if hit)
                outside = tuple(value for value, hit in zip(values, met.tolist(), strict=True) if not hit)
                found.append(Coverage(dimensions=names, inside=inside, outside=outside))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which values of a margin's dimensions the base covers (`inside`) and which it does not."""

    dimensions: tuple[str, ...]
    inside: tuple[str, ...]
    outside: tuple[str, ...]

    def describe(self, limit: int = 3) -> str:
        """In words: the shorter of what is in and what is out."""
        name = " and ".join(self.dimensions)
        total = len(self.inside) + len(self.outside)
        if len(self.inside) <= len(self.outside):
            return f"{name}: only {_some(self.inside, limit)} ({len(self.inside)} of {total})"
        return f"{name}: all but {_some(self.outside, limit)} ({len(self.inside)} of {total})"


def _some(values: tuple[str, ...], limit: int) -> str:
    rest = len(values) - limit
    return ", ".join(values[:limit]) + (f" and {rest} more" if rest > 0 else "")
