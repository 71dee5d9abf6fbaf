"""Counting numbered cells, and bounding what one unit adds to them.

Everything is done by sorting 64-bit integers: a key packs the unit and the cell of an event, so one
sort brings the events of a unit together, and those of a cell within it. No array is as long as
the domain, so its size does not matter.

Guarantee: a unit adds to at most `cells` cells, to each at most `per_cell`; a unit with more cells keeps
exactly `cells` of them, every choice being equally likely, independently of all other units.
Whether another unit is there or not cannot change the law of what a unit keeps, so adding or
removing one unit moves the counts by at most `cells` × `per_cell` in total.

Assumes that the words of the noise source are independent and uniform; nothing else is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.engine.counts import Clipping, ExpectedCounts
from noisegate.laws import Entropy, as_entropy
from noisegate.spec import ContributionBound
from noisegate.tables import Ints, Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounded:
    """Cells that are kept, one entry for each event that counts, and how many events do not; `compiled` says that loops are loaded."""

    cells: Ints
    repeated: int
    beyond: int
    clipping: Clipping | None = None
    compiled: bool = False


def count_runs(ordered: NDArray[Any], /) -> tuple[NDArray[Any], Ints]:
    """The distinct values of an array in ascending order, and how often each is there."""
    starts = run_starts(ordered)
    return ordered[starts], np.diff(starts, append=ordered.size)


def run_starts(ordered: NDArray[Any], /) -> Ints:
    """Where each run of equal values starts."""
    if ordered.size == 0:
        return np.zeros(0, dtype=np.int64)
    changes = np.empty(ordered.size, dtype=bool)
    changes[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return np.flatnonzero(changes)


def add_counts(first: tuple[Ints, Ints], second: tuple[Ints, Ints], /) -> tuple[Ints, Ints]:
    """The sum of two sparse tables, each given as its cells in ascending order and their counts."""
    if not first[0].size or not second[0].size:
        return second if not first[0].size else first
    cells = np.concatenate([first[0], second[0]])
    order = np.argsort(cells, kind="stable")
    counts = np.concatenate([first[1], second[1]])[order]
    cells = cells[order]
    starts = run_starts(cells)
    return cells[starts], np.add.reduceat(counts, starts)


def bound_events(
    keys: Ints, /, *, cell_bits: int, bound: ContributionBound, entropy: Entropy, clipping: bool = False
) -> Bounded:
    """The cells that remain when every unit is held to its bound; uses up `keys`.

    Parameters
    ----------
    keys
        One key for each event, in ascending order: its unit times `2**cell_bits`, plus its cell. The
        result is written over them, so that no second array of that length is needed.
    cell_bits
        How many low bits of a key are the cell.
    bound
        The most cells of a unit, and the most events in each.
    noise
        Decides which cells a unit with too many keeps.
    clipping
        Also tell what bounding did.
    """
    as_entropy(entropy)
    kept = repeated = beyond = 0
    told = Clipping() if clipping else None
    for units in _whole_units(keys, cell_bits=cell_bits, events=limits.current().keys_at_once):
        part = _bound_units(units, cell_bits=cell_bits, bound=bound, entropy=entropy, clipping=clipping)
        told = told + part.clipping if told is not None and part.clipping is not None else told
        keys[kept : kept + part.cells.size] = part.cells
        kept, repeated, beyond = kept + part.cells.size, repeated + part.repeated, beyond + part.beyond
    return Bounded(cells=keys[:kept], repeated=repeated, beyond=beyond, clipping=told)


def expect_events(keys: Ints, /, *, cell_bits: int, bound: ContributionBound) -> ExpectedCounts:
    """The mean of what `bound_events` keeps in each cell, over its lots.

    A unit with k cells keeps each with the chance `bound.cells` / k, or surely if k is at most that.
    """
    # Larger parts than for bounding, so that fewer sparse tables are added up.
    events = 16 * limits.current().keys_at_once
    return ExpectedCounts.sum_of(
        [
            _expect_units(units, cell_bits=cell_bits, bound=bound)
            for units in _whole_units(keys, cell_bits=cell_bits, events=events)
        ]
    )


def _whole_units(keys: Ints, /, *, cell_bits: int, events: int) -> Iterator[Ints]:
    """The keys in parts of about so many events; no unit is in two of them."""
    start = 0
    while start < keys.size:
        last_unit = int(keys[min(start + events, keys.size) - 1]) >> cell_bits
        # The key after the largest one has no 64 bits; compared with the last of this unit, none is needed.
        last = ((last_unit + 1) << cell_bits) - 1
        end = start + int(np.searchsorted(keys[start:], last, side="right"))
        yield keys[start:end]
        start = end


def _expect_units(keys: Ints, /, *, cell_bits: int, bound: ContributionBound) -> ExpectedCounts:
    """`expect_events` for some whole units."""
    starts = run_starts(keys)
    pairs, times = keys[starts], np.minimum(np.diff(starts, append=keys.size), bound.per_cell)
    sizes = np.diff(run_starts(pairs >> cell_bits), append=pairs.size)
    share = np.repeat(np.minimum(1.0, bound.cells / sizes), sizes)
    drawing = np.where(share < 1, times, 0)
    part = ExpectedCounts(
        cells=pairs & ((1 << cell_bits) - 1), sure=times - drawing, drawing=drawing, kept=drawing * share
    )
    return ExpectedCounts.sum_of([part])


def _bound_units(
    keys: Ints, /, *, cell_bits: int, bound: ContributionBound, entropy: Entropy, clipping: bool
) -> Bounded:
    """`bound_events` for some whole units."""
    owners = keys >> cell_bits if clipping else None
    starts = run_starts(keys)
    pairs, times, repeated = keys, np.ones(keys.size, dtype=np.int64), 0
    if starts.size < keys.size:
        pairs, times = keys[starts], np.minimum(np.diff(starts, append=keys.size), bound.per_cell)
        repeated = keys.size - int(times.sum())
    kept = keep_cells(pairs >> cell_bits, most=bound.cells, entropy=entropy)
    if kept is not None:
        pairs, times = pairs[kept], times[kept]
    told = None if owners is None else _clipping(owners, pairs >> cell_bits, times, bound)
    cells = pairs & ((1 << cell_bits) - 1)
    if bound.per_cell > 1:
        cells = np.repeat(cells, times)
    return Bounded(cells=cells, repeated=repeated, beyond=keys.size - repeated - cells.size, clipping=told)


def _clipping(owners: Ints, kept_owners: Ints, times: Ints, bound: ContributionBound, /) -> Clipping:
    """What bounding did: the unit of each event, the unit of each kept cell and how often that counts."""
    units, had = count_runs(owners)
    kept = np.add.reduceat(times, run_starts(kept_owners)) if units.size else had
    lost = np.minimum(had - kept, bound.total)
    return Clipping(
        units=units.size, beyond=int((lost > 0).sum()), kept=int(kept.sum()), lost=int(lost.sum())
    )


def keep_cells(units: Ints, /, *, most: int, entropy: Entropy) -> Mask | None:
    """Which of the distinct cells of each unit are kept; None if all are.

    `units` holds the unit of each cell, equal ones side by side.
    """
    if units.size <= most or not (units[most:] == units[:-most]).any():
        return None
    sizes = np.diff(run_starts(units), append=units.size)
    many = sizes > most
    kept = np.ones(units.size, dtype=bool)
    kept[np.repeat(many, sizes)] = draw_lots(sizes[many], most=most, entropy=entropy)
    return kept


def draw_lots(sizes: Ints, /, *, most: int, entropy: Entropy) -> Mask:
    """Exactly `most` members of each group, every choice equally likely; the groups lie end to end.

    Assumes that every size is more than `most`, and that there are fewer than 2**32 groups. Each member
    draws a random number and the lowest of a group stay. The number of the group stands in the
    high bits, so one sort orders all groups. If two members tie on the border, all draw again: given
    that nobody ties, every choice is still equally likely.
    """
    group_bits = np.uint64(max(1, int(sizes.size - 1).bit_length()))
    group = np.repeat(np.arange(sizes.size, dtype=np.uint64) << (np.uint64(64) - group_bits), sizes)
    border = np.cumsum(sizes) - sizes + most - 1
    while True:
        lots = group | (entropy.words64(group.size) >> group_bits)
        kept: Mask = lots <= np.repeat(np.sort(lots)[border], sizes)
        if np.count_nonzero(kept) == most * sizes.size:
            return kept
