"""Tables inside a table, and tables in several files.

Totals inside a column (Male, Female, Total) are rows of a margin that live among the rows of the base. A
value is taken for a total only if its wording says so (or the overrides do) *and* its counts agree: they are
the sums of the other values where all of those are published, and no less than them elsewhere. A sum that
nobody calls a total is never guessed: counts that happen to add up prove nothing.

Files may be pieces of one table (a week each, a mode each), or copies of it (CSV and Parquet).

"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisegate.reading.alignment import match
from noisegate.reading.dimensions import unite
from noisegate.reading.overrides import TableOverride, source_name
from noisegate.reading.published import Bools, Ints, PublishedTable, row_ids
from noisegate.reading.values import fold, is_total
from noisegate.tables import Dimension

#: How far a total may be from the sum of its parts: a share of it, and noise on every part.
_RELATIVE, _NOISE = 0.1, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Total:
    """A value of a dimension that is the total of the others."""

    dimension: int
    code: int


def split_totals(table: PublishedTable, override: TableOverride, /) -> list[PublishedTable]:
    """The table without its totals, then a margin for each combination of dimensions summed over."""
    totals: list[_Total] = []
    notes = list(table.notes)
    for position, dimension in enumerate(table.dimensions):
        code, told = _candidate(dimension, override)
        if code is None:
            continue
        label = dimension.labels[code]
        if told or _adds_up(table, position, code):
            totals.append(_Total(dimension=position, code=code))
            notes.append(f"{label!r} of {dimension.name} is the total of its other values")
        else:
            notes.append(
                f"{label!r} of {dimension.name} does not add up; it was kept as a value like any other"
            )
    table = replace(table, notes=tuple(notes))
    summed = _summed(table.codes, totals)
    if not totals or not (summed == 0).any():
        return [table]
    hidden = _summed(table.hidden, totals)
    patterns = np.unique(summed).tolist()
    return [_part(table, totals, pattern, summed == pattern, hidden == pattern) for pattern in patterns]


def _candidate(dimension: Dimension, override: TableOverride) -> tuple[int | None, bool]:
    """The code of the value that may be a total, and whether a person said so."""
    told = next(
        (d.total for name, d in override.dimensions.items() if d.total and dimension.name in {name, d.name}),
        None,
    )
    if told is not None:
        return (dimension.keys.index(fold(told)), True) if fold(told) in dimension.keys else (None, True)
    worded = [code for code, label in enumerate(dimension.labels) if is_total(label)]
    return (worded[0] if len(worded) == 1 and dimension.size > 1 else None), False


def _adds_up(table: PublishedTable, position: int, code: int) -> bool:
    """Whether the counts with this value are sums of those with the others."""
    others = [i for i in range(len(table.dimensions)) if i != position]
    sizes = tuple(table.dimensions[i].size for i in others)
    _, group = np.unique(row_ids(table.codes[others], sizes), return_inverse=True)
    groups = int(group.max(initial=-1)) + 1
    is_sum = table.codes[position] == code
    counts = table.counts.astype(np.float64)
    total = np.full(groups, np.nan)
    total[group[is_sum]] = counts[is_sum]
    parts = np.bincount(group[~is_sum], weights=counts[~is_sum], minlength=groups)
    shown = np.bincount(group[~is_sum], minlength=groups)
    members = np.unique(table.codes[position][~is_sum]).size
    both = np.isfinite(total) & (shown > 0)
    complete = both & (shown == members)
    noise = _NOISE * np.sqrt(members + 1.0)
    if complete.any():
        gap = np.abs(total[complete] - parts[complete])
        return bool(gap.sum() <= _RELATIVE * np.abs(total[complete]).sum() + noise * gap.size)
    short = total[both] < parts[both] * (1 - _RELATIVE) - noise
    return bool(both.any() and short.mean() <= 0.05)


def _summed(codes: np.ndarray, totals: list[_Total]) -> Ints:
    """For each row, which dimensions it is a total over, as bits."""
    summed = np.zeros(codes.shape[1], dtype=np.int64)
    for bit, total in enumerate(totals):
        summed |= (codes[total.dimension] == total.code).astype(np.int64) << bit
    return summed


def _part(
    table: PublishedTable, totals: list[_Total], pattern: int, rows: Bools, hidden: Bools
) -> PublishedTable:
    """The rows with one pattern of totals, over the dimensions that they are not totals of."""
    over = [total for bit, total in enumerate(totals) if pattern >> bit & 1]
    gone = {total.dimension for total in over}
    kept = [i for i in range(len(table.dimensions)) if i not in gone]
    code_of = {total.dimension: total.code for total in totals}
    dimensions, codes, concealed = [], [], []
    for i in kept:
        dimension = table.dimensions[i]
        values = np.array([k for k in range(dimension.size) if k != code_of.get(i)], dtype=np.int64)
        recode = np.zeros(dimension.size, dtype=np.int32)
        recode[values] = np.arange(values.size, dtype=np.int32)
        dimensions.append(dimension.take(values))
        codes.append(recode[table.codes[i, rows]])
        concealed.append(recode[table.hidden[i, hidden]])
    summed = ", ".join(table.dimensions[i].name for i in sorted(gone))
    return replace(
        table,
        name=f"{table.name} (total over {summed})" if gone else table.name,
        dimensions=tuple(dimensions),
        codes=np.array(codes, dtype=np.int32).reshape(len(kept), int(rows.sum())),
        counts=table.counts[rows],
        hidden=np.array(concealed, dtype=np.int32).reshape(len(kept), int(hidden.sum())),
        marks=table.marks[hidden],
        set_aside=() if gone else table.set_aside,
        extra=() if gone else table.extra,
        notes=() if gone else table.notes,
    )


def stack_pieces(tables: Sequence[PublishedTable], /) -> list[PublishedTable]:
    """The tables with pieces of one table put together and copies left out, in the order of first pieces.

    Two tables that share a cell but not its count are two publications of it, and stay apart.
    """
    stacked: list[PublishedTable] = []
    for table in tables:
        for place, whole in enumerate(stacked):
            joined = _join(whole, table)
            if joined is not None:
                stacked[place] = joined
                break
        else:
            stacked.append(table)
    return stacked


def _join(first: PublishedTable, second: PublishedTable) -> PublishedTable | None:
    """Both as one table, if they are pieces of one."""
    if len(first.dimensions) != len(second.dimensions) or not first.dimensions:
        return None
    matching = match(first, second)
    if (
        len(matching.pairs) != len(first.dimensions)
        or matching.unclear
        or any(p.coarser for p in matching.pairs)
    ):
        return None
    place = {pair.base: pair.margin for pair in matching.pairs}
    united, codes, hidden = [], [], []
    for i, dimension in enumerate(first.dimensions):
        whole, (ours, theirs) = unite([dimension, second.dimensions[place[i]]])
        if whole.step and dimension.step and whole.step != (second.dimensions[place[i]].step or whole.step):
            return None
        united.append(whole)
        codes.append(np.concatenate([ours[first.codes[i]], theirs[second.codes[place[i]]]]))
        hidden.append(np.concatenate([ours[first.hidden[i]], theirs[second.hidden[place[i]]]]))
    stacked = np.stack(codes)
    ids = row_ids(stacked, tuple(dimension.size for dimension in united))
    if _are_equal(ids, first, second):
        copy = ", ".join(source_name(source) for source in second.sources)
        return replace(first, notes=(*first.notes, f"{copy} holds the same table once more; it was left out"))
    if np.unique(ids).size < ids.size:
        return None
    markers = tuple(dict.fromkeys(first.markers + second.markers))
    marks = [
        np.array([markers.index(one) for one in piece.markers], np.int64)[piece.marks]
        for piece in (first, second)
    ]
    return replace(
        first,
        name=f"{first.name} + {second.name}",
        sources=first.sources + second.sources,
        dimensions=tuple(united),
        codes=stacked,
        counts=np.concatenate([first.counts, second.counts]),
        hidden=np.stack(hidden),
        markers=markers,
        marks=np.concatenate(marks),
        legend=first.legend + second.legend,
        set_aside=first.set_aside + second.set_aside,
        extra=first.extra + second.extra,
        notes=(*first.notes, *second.notes),
    )


def _are_equal(ids: Ints, first: PublishedTable, second: PublishedTable) -> bool:
    """Whether both tables hold the same cells with the same counts."""
    if first.rows != second.rows:
        return False
    ours, theirs = np.argsort(ids[: first.rows]), np.argsort(ids[first.rows :])
    same_cells = np.array_equal(ids[: first.rows][ours], ids[first.rows :][theirs])
    return same_cells and np.array_equal(first.counts[ours], second.counts[theirs])
