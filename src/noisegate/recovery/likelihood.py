"""The probability of every identity, sound or contaminated, at many points of parameter space.

ResidualIdentities that look alike are counted once: a column stands for a residual (or a bound on one)
with given numbers of noises, and `times` says how often it was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.laws import Floats, Ints
from noisegate.recovery.identities import ResidualIdentities
from noisegate.recovery.lattice import OUTERMOST, Lattice, lattice_for
from noisegate.recovery.residual_law import Points, ResidualLaw

#: Stands for a bound that is not there; exact as a float, far outside every lattice.
UNBOUNDED = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualGroup:
    """Rows of one set with the same numbers of noises and of missing members, without repeats.

    `low`, `high` and `floor` are lattice numbers; `rows` says which rows of the set fell where.
    """

    noises: tuple[int, int]
    missing: int
    low: Ints
    high: Ints
    floor: Ints
    times: Ints
    rows: Ints
    column: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedResiduals:
    """One set of identities on its lattice."""

    identities: ResidualIdentities
    lattice: Lattice
    groups: tuple[ResidualGroup, ...]


def observe(identities: ResidualIdentities, /, *, step: float, widest: float) -> ObservedResiduals:
    """Put a set of identities on a lattice and count rows that look alike."""
    lattice = lattice_for(identities, step=step, widest=widest)
    low = np.where(np.isfinite(identities.low), identities.low, 0.0)
    high = np.where(np.isfinite(identities.high), identities.high, 0.0)
    floor = np.where(np.isfinite(identities.floor), identities.floor, 0.0)
    rows = np.column_stack(
        [
            identities.noises,
            identities.missing,
            np.where(np.isfinite(identities.low), lattice.place(low), -UNBOUNDED),
            np.where(np.isfinite(identities.high), lattice.place(high), UNBOUNDED),
            _binding(np.where(np.isfinite(identities.floor), np.ceil(floor / step), -np.inf), lattice),
        ]
    )
    unique, inverse, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    _, kind = np.unique(unique[:, :3], axis=0, return_inverse=True)
    groups = tuple(
        _group(unique, inverse, times, np.flatnonzero(kind == k))
        for k in range(int(kind.max(initial=-1)) + 1)
    )
    return ObservedResiduals(identities=identities, lattice=lattice, groups=groups)


def columns(observed: Sequence[ObservedResiduals], points: Points, /) -> tuple[Floats, Ints]:
    """Probabilities, shape (1 + shells, points, columns), and how often each column was seen."""
    parts: list[Floats] = []
    times: list[Ints] = []
    for one in observed:
        for group, table in tables(one, points):
            parts.append(_probabilities(group, table))
            times.append(group.times)
    return np.concatenate(parts, axis=-1), np.concatenate(times)


def tables(observed: ObservedResiduals, points: Points, /) -> Iterator[tuple[ResidualGroup, Floats]]:
    """Each group of rows with its residual law (see `ResidualLaw.tables`)."""
    law = ResidualLaw.at(observed.identities, observed.lattice, points)
    for group in observed.groups:
        yield group, law.tables(group.noises, group.missing)


def _probabilities(group: ResidualGroup, table: Floats, /) -> Floats:
    middle = table.shape[-1] // 2
    seen = group.low == group.high
    found = table[..., np.where(seen, group.low, 0) + middle]
    below, above = group.low == -UNBOUNDED, group.high == UNBOUNDED
    bound = group.floor > -UNBOUNDED
    if below.any():
        up_to = np.cumsum(table, axis=-1)
        found[..., below] = up_to[..., group.high[below] + middle]
    if above.any() or bound.any():
        down_to = np.cumsum(table[..., ::-1], axis=-1)[..., ::-1]
        found[..., above] = down_to[..., group.low[above] + middle]
        found[..., bound] /= down_to[..., group.floor[bound] + middle]
    return found


def _group(unique: Ints, inverse: Ints, times: Ints, members: Ints, /) -> ResidualGroup:
    first = unique[members[0]]
    column = np.full(len(unique), -1)
    column[members] = np.arange(len(members))
    rows = np.flatnonzero(column[inverse] >= 0)
    return ResidualGroup(
        noises=(int(first[0]), int(first[1])),
        missing=int(first[2]),
        low=unique[members, 3],
        high=unique[members, 4],
        floor=unique[members, 5],
        times=times[members],
        rows=rows,
        column=column[inverse[rows]],
    )


def _binding(floor: Floats, lattice: Lattice, /) -> Ints:
    """Floors as lattice numbers; those that no residual comes near do not bind."""
    near = floor * lattice.step > lattice.centre - OUTERMOST * lattice.width
    return np.where(near, np.where(near, floor, 0.0), -UNBOUNDED).astype(np.int64)
