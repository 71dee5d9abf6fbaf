"""Which cells each table covers: the combinations that exist, and its slice of them, as far as the tables reveal it.

A location belongs to one mode. Pairing every location with every mode would make three quarters of the
domain impossible, and all of it would look suppressed. A dimension is *nested* in another when nearly
each of its values occurs with one value of the other only, far beyond what chance or the suppression of
small counts would make of it; the pairs that exist are then those that some table shows. Dates and times
are never nested: their grids are public.

A value that a table never shows may be suppressed there, or may not be part of it at all (another
week, another mode, a station that somebody left out). The other tables tell the two apart: where a
margin holds more for the value than any group of cells that vanished for being small, the value is
not covered.

"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError
from noisegate.reading.alignment import AlignedTable, Alignment
from noisegate.reading.published import Bools, Codes, Ints
from noisegate.tables import Axis, Block, Dimension, Domain, Kind, Margin, locate

#: Share of values that must occur with one value of the other dimension only.
NEARLY_ALL = 0.9
#: How improbable that must be without nesting.
CHANCE = 1e-6


def find_nests(
    dimensions: Sequence[Dimension], tables: Sequence[Mapping[int, NDArray[np.integer]]], /
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
    parent: int,
    child: int,
    dimensions: Sequence[Dimension],
    tables: Sequence[Mapping[int, NDArray[np.integer]]],
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
    if single.all() and _all_listed(rows):
        return True
    # A small region is published for the most common cause alone; that is suppression, not nesting.
    # What counts is a value that never occurs with the commonest parent.
    share = rows.sum(axis=1) / rows.sum()
    home = rows.argmax(axis=0)
    telling = single & (home != int(share.argmax()))
    log_chance = float((rows.sum(axis=0)[telling] * np.log(share[home[telling]])).sum())
    return log_chance < math.log(CHANCE)


def _all_listed(rows: NDArray[np.float64]) -> bool:
    """Whether every pair that exists has equally many rows, and no value stands for a group alone: the table lists all cells."""
    times = rows[rows > 0]
    return bool((times == times[0]).all()) and times[0] >= 2 and bool(((rows > 0).sum(axis=1) >= 2).all())


Floats = NDArray[np.float64]

#: Rows of a margin inside the base's slice before groups that vanished tell how large they can be.
ENOUGH_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domains:
    """The domain of the base, and each margin of it."""

    base: Domain
    margins: tuple[Margin, ...]


def find_domains(alignment: Alignment, nests: list[tuple[int, ...]], /) -> Domains:
    """The cells that each table covers."""
    most = limits.current().domain_cells
    base_hidden = dict(enumerate(alignment.base.hidden))
    shown = [alignment.base.in_base_codes(), base_hidden, *(one.in_base_codes() for one in alignment.margins)]
    axes = [_known_axis(alignment.base.dimensions, group, shown) for group in nests]
    known = _domain(alignment.base, axes, most=most)
    drafts = [_draft(known, margin) for margin in alignment.margins]
    covered = _base_coverage(alignment, tuple(axes), drafts)
    taken = [axis.take(mask) for axis, mask in zip(axes, covered, strict=True)]
    base = _domain(alignment.base, taken, most=most)
    missing = [axis.take(~mask) for axis, mask in zip(axes, covered, strict=True)]
    margins = []
    for margin, draft in zip(alignment.margins, drafts, strict=True):
        masks = _margin_coverage(alignment, margin, draft, covered)
        kept = [axis.take(mask) for axis, mask in zip(draft.domain.blocks[0].axes, masks, strict=True)]
        unlisted = _unlisted(base, missing, margin)
        margins.append(_margin(base, margin, kept, unlisted=unlisted))
    return Domains(base=base, margins=tuple(margins))


def _domain(table: AlignedTable, axes: list[Axis], /, *, most: int) -> Domain:
    """The product of axes; refuse one with `most` cells or more."""
    size = math.prod(axis.size for axis in axes)
    if size >= most:
        raise DataError(
            f"The values in {table.table.name} combine to {size:.2g} cells, fewer than {most:.2g} are allowed; perhaps a "
            "column that is no dimension was taken for one. Name it under 'ignore' in the spec, or assess a part of the "
            "table."
        )
    return Domain(dimensions=table.dimensions, blocks=(Block(axes=tuple(axes)),))


def nest_shown(domain: Domain, tables: Sequence[Mapping[int, NDArray[np.integer]]], /) -> Domain:
    """A product with only those combinations of dimensions that depend on each other which some table shows.

    Values that no table shows keep every combination. `tables` holds for each table the codes of the dimensions that it has,
    by position.
    """
    groups = find_nests(domain.dimensions, tables)
    axes = tuple(_known_axis(domain.dimensions, group, tables) for group in groups)
    return Domain(dimensions=domain.dimensions, blocks=(Block(axes=axes),))


def _known_axis(
    dimensions: Sequence[Dimension],
    group: tuple[int, ...],
    tables: Sequence[Mapping[int, NDArray[np.integer]]],
) -> Axis:
    """Every combination of the group's dimensions that some table shows; all values of a single one."""
    sizes = tuple(dimensions[j].size for j in group)
    if len(group) == 1:
        return Axis.of(group, np.arange(sizes[0])[None, :])
    seen = [np.stack([codes[j] for j in group]) for codes in tables if all(j in codes for j in group)]
    together = np.concatenate(seen, axis=1)
    return Axis.of(group, np.concatenate([together, _never_seen(together, sizes)], axis=1))


def _never_seen(codes: NDArray[np.integer], sizes: tuple[int, ...]) -> Codes:
    """Declared values that no table shows, with every value of the other dimensions of their axis."""
    extra = []
    for i, size in enumerate(sizes):
        missing = np.setdiff1d(np.arange(size), codes[i])
        if missing.size:
            grid = np.indices([n if k != i else missing.size for k, n in enumerate(sizes)])
            block = grid.reshape(len(sizes), -1).astype(np.int32)
            block[i] = missing[block[i]]
            extra.append(block)
    return np.concatenate(extra, axis=1) if extra else np.empty((len(sizes), 0), dtype=np.int32)


def _mapped_entries(axis: Axis, margin: AlignedTable) -> tuple[tuple[int, ...], Codes]:
    """The margin's dimensions that come from this axis, and its entries in the margin's codes (-1: none)."""
    kept = tuple(i for i, j in enumerate(margin.origin) if j in axis.dimensions)
    rows = [margin.maps[i][axis.entries[axis.dimensions.index(margin.origin[i])]] for i in kept]
    return kept, np.array(rows, dtype=np.int32).reshape(len(kept), axis.size)


def _draft(known: Domain, margin: AlignedTable) -> Margin:
    """The margin with every entry that the base's axes or its own rows give it."""
    axes = []
    for axis in known.blocks[0].axes:
        kept, entries = _mapped_entries(axis, margin)
        if kept:
            own = np.concatenate([margin.codes[list(kept)], margin.hidden[list(kept)]], axis=1)
            valid = entries[:, (entries >= 0).all(axis=0)]
            axes.append(Axis.of(kept, np.concatenate([valid, own], axis=1)))
    return _margin(known, margin, axes)


def _margin(
    base: Domain, margin: AlignedTable, axes: list[Axis], /, *, unlisted: tuple[str, ...] = ()
) -> Margin:
    return Margin.between(
        base,
        _domain(margin, axes, most=limits.current().margin_cells),
        dimensions=margin.origin,
        recodes={place: onto.astype(np.int64) for place, onto in enumerate(margin.maps)},
        unlisted=unlisted,
    )


def _unlisted(base: Domain, missing: list[Axis], margin: AlignedTable) -> tuple[str, ...]:
    """Values of the dimensions summed over that other tables have and the base does not cover."""
    found = []
    for axis, covered in zip(missing, base.blocks[0].axes, strict=True):
        for row, place in enumerate(axis.dimensions):
            if place not in margin.origin:
                dimension = base.dimensions[place]
                gone = np.setdiff1d(axis.entries[row], covered.entries[row])
                found += [f"{dimension.name}={dimension.labels[code]}" for code in gone.tolist()]
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Meeting:
    """Where the rows of base and margin meet, on the draft axes.

    `sums` and `shown` are sum and number of the base's rows for each cell of the margin; `seen` and
    `met` are, for each axis of the margin, the entries that the margin and the base show.
    """

    rows: list[Ints]
    flat: Ints
    sums: Floats
    shown: Ints
    seen: list[Bools]
    met: list[Bools]


def _meet(alignment: Alignment, margin: AlignedTable, draft: Margin) -> _Meeting:
    axes, known, size = draft.domain.blocks[0].axes, draft.base.blocks[0].axes, draft.domain.size
    rows = [axis.find(margin.codes[list(axis.dimensions)]) for axis in axes]
    met = []
    for axis, (place, entries) in zip(axes, draft.entry_maps(), strict=True):
        entry = entries[known[place].find(alignment.base.codes[list(known[place].dimensions)])]
        met.append(np.bincount(entry[entry >= 0], minlength=axis.size) > 0)
    group = draft.of(locate(draft.base, alignment.base.codes))
    inside = group >= 0
    return _Meeting(
        rows=rows,
        flat=locate(draft.domain, margin.codes),
        sums=np.bincount(group[inside], alignment.base.table.counts[inside], minlength=size).astype(
            np.float64
        ),
        shown=np.bincount(group[inside], minlength=size),
        seen=[_shown_entries(axis, margin) for axis in axes],
        met=met,
    )


def _shown_entries(axis: Axis, table: AlignedTable) -> Bools:
    """The entries of an axis that a table names, with or without a count."""
    places = list(axis.dimensions)
    codes = np.concatenate([table.codes[places], table.hidden[places]], axis=1)
    return np.bincount(axis.find(codes), minlength=axis.size) > 0


def _base_coverage(alignment: Alignment, known: tuple[Axis, ...], drafts: list[Margin]) -> list[Bools]:
    """For each axis of the base, the entries that it covers: shown, or small enough to be suppressed."""
    seen = [_shown_entries(axis, alignment.base) for axis in known]
    covered = [np.ones(axis.size, dtype=bool) for axis in known]
    for margin, draft in zip(alignment.margins, drafts, strict=True):
        meeting = _meet(alignment, margin, draft)
        counts = margin.table.counts.astype(np.float64)
        inside = [met[index] for met, index in zip(meeting.met, meeting.rows, strict=True)]
        both = np.logical_and.reduce(inside) if inside else np.ones(counts.size, dtype=bool)
        if both.sum() >= ENOUGH_ROWS:
            large = counts > _vanishing_point(counts, both, meeting.shown[meeting.flat] > 0)
        else:
            large = counts > _most_suppressed(alignment, draft, meeting)
        absent = _absent(meeting.rows, large, meeting.met)
        for gone, (place, entries) in zip(absent, draft.entry_maps(), strict=True):
            covered[place] &= seen[place] | (entries < 0) | ~gone[entries]
    return covered


def _vanishing_point(counts: Floats, both: Bools, shown: Bools) -> float:
    """The largest count of the margin whose base cells are all suppressed.

    Where none are, the smallest count whose base cells are not: nothing that large vanishes.
    """
    gone = counts[both & ~shown]
    if gone.size:
        return float(gone.max())
    return float(counts[both].min())


def _most_suppressed(alignment: Alignment, draft: Margin, meeting: _Meeting) -> Floats:
    """For each row of the margin, what its base cells can hold at most if all of them are suppressed.

    Where base and margin hardly meet, nothing can be learnt from groups that vanished; but no suppressed
    cell holds more than the smallest published one.
    """
    summed = [size for place, size in enumerate(draft.base.blocks[0].shape) if place not in draft.sources]
    most = np.full(meeting.flat.size, float(alignment.base.table.counts.min()) * math.prod(summed))
    axes = draft.domain.blocks[0].axes
    for axis, (_, entries), index in zip(axes, draft.entry_maps(), meeting.rows, strict=True):
        most *= np.bincount(entries[entries >= 0], minlength=axis.size)[index]
    return most


def _absent(index: list[Ints], large: Bools, met: list[Bools]) -> list[Bools]:
    """For each axis, the entries that the other table cannot cover.

    `index` are the entries of each row, `large` says that a row is too large to have vanished, `met` are
    the entries that the other table shows. A large row that is strange in one axis only convicts that
    entry; one that is strange in several, and that no convicted entry explains, convicts them all.
    """
    strange = [~hit[entry] for hit, entry in zip(met, index, strict=True)]
    number = np.sum(strange, axis=0) if strange else np.zeros(large.size)
    absent = [np.zeros(hit.size, dtype=bool) for hit in met]
    for gone, entry, odd in zip(absent, index, strange, strict=True):
        gone[entry[large & odd & (number == 1)]] = True
    explained = [gone[entry] for gone, entry in zip(absent, index, strict=True)]
    rest = large & ~np.logical_or.reduce([np.zeros(large.size, dtype=bool), *explained])
    for gone, entry, odd in zip(absent, index, strange, strict=True):
        gone[entry[rest & odd]] = True
    return absent


def _margin_coverage(
    alignment: Alignment, margin: AlignedTable, draft: Margin, base: list[Bools]
) -> list[Bools]:
    """For each axis of a margin, the entries that it covers: shown, or covered by the base and small."""
    if not margin.dimensions:
        return []
    meeting = _meet(alignment, margin, draft)
    cells = np.flatnonzero(meeting.shown)
    entries = np.unravel_index(cells, draft.domain.blocks[0].shape)
    inside = [seen[index] for seen, index in zip(meeting.seen, entries, strict=True)]
    sums = meeting.sums[cells]
    gone = np.logical_and.reduce(inside) & ~np.isin(cells, meeting.flat)
    # Where no cell inside the margin's slice vanished, nothing tells that one outside it did.
    limit = float(sums[gone].max(initial=-np.inf))
    absent = _absent(list(entries), sums > limit, meeting.seen)
    covered = []
    for seen, gone, (place, onto) in zip(meeting.seen, absent, draft.entry_maps(), strict=True):
        reached = np.zeros(seen.size, dtype=bool)
        reached[onto[(onto >= 0) & base[place]]] = True
        covered.append(seen | (reached & ~gone))
    return covered
