"""Tables inside a table, and tables in several files.

Totals inside a column (Male, Female, Total) are rows of a margin that live among the rows of the base; subtotals are a margin over
wider values. Files may be pieces of one table (a week each, a mode each), or copies of it (CSV and Parquet).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from noisegate.reading.alignment import match
from noisegate.reading.dimensions import unite
from noisegate.reading.overrides import TableOverride
from noisegate.reading.published import Bools, Hierarchy, Ints, PublishedTable, SetAside, row_ids, source_name
from noisegate.reading.totals import Totals, find_totals, spell_totals
from noisegate.tables import Dimension, Kind, folded

Floats = NDArray[np.float64]

#: Sums of so many people, and so many of these, tell whether two tables count the same ones: the mean of the squared differences, each beside
#: the sum of both, is about 1 or more for other people. Regions and districts of a census have 0.0001.
_SEEN, _TELLING, _TOO_ALIKE = 40, 8, 0.1
#: More sums than this are not compared.
_MOST_SUMS = 1 << 22


def split_totals(table: PublishedTable, override: TableOverride, /) -> list[PublishedTable]:
    """The table without its totals, then a margin for each combination of dimensions summed over, wholly or in groups."""
    table = spell_totals(table)
    every = [find_totals(table, position, override) for position in range(len(table.dimensions))]
    words = {
        folded(table.dimensions[one.dimension].labels[one.total]) for one in every if one.total is not None
    } - {""}
    if words:
        every = [
            one if one.sums else find_totals(table, one.dimension, override, also=words) for one in every
        ]
    table = _without_untold(
        replace(table, notes=(*table.notes, *(note for one in every for note in one.notes))), every
    )
    totals = [one for one in every if one.sums]
    summed = _patterns(table.codes, totals)
    if not totals or not (summed == 0).any():
        return [table]
    hidden = _patterns(table.hidden, totals)
    found = []
    for pattern in np.union1d(summed, hidden).tolist():
        rows = summed == pattern
        if rows.any():
            found.append(_part(table, totals, pattern, rows, hidden == pattern))
    return found


def _without_untold(table: PublishedTable, totals: list[Totals]) -> PublishedTable:
    """The table without subtotals of which nothing tells what they sum: they are no values like the others."""
    for one in totals:
        if not one.untold:
            continue
        shown = ~np.isin(table.codes[one.dimension], one.untold)
        hidden = ~np.isin(table.hidden[one.dimension], one.untold)
        dimension = table.dimensions[one.dimension]
        named = ", ".join(repr(dimension.labels[code]) for code in one.untold[:3])
        gone = SetAside(
            reason=f"subtotals of {dimension.name} that nothing tells the parts of: {named}",
            rows=int((~shown).sum() + (~hidden).sum()),
            first_line=0,
        )
        table = replace(
            table,
            codes=table.codes[:, shown],
            counts=table.counts[shown],
            hidden=table.hidden[:, hidden],
            marks=table.marks[hidden],
            set_aside=(*table.set_aside, gone),
        )
    return table


def _patterns(codes: np.ndarray, totals: list[Totals]) -> Ints:
    """For each row, how it sums over each dimension, as one number: 0 not at all, 1 wholly, 2 and on by a level of subtotals."""
    patterns = np.zeros(codes.shape[1], dtype=np.int64)
    for one in totals:
        kind = np.zeros(1 + int(codes[one.dimension].max(initial=0)), dtype=np.int64)
        for level, members in enumerate(one.levels, start=2):
            for code in members:
                if code < kind.size:
                    kind[code] = level
        if one.total is not None and one.total < kind.size:
            kind[one.total] = 1
        patterns = patterns * (2 + len(one.levels)) + kind[codes[one.dimension]]
    return patterns


def _unpacked(pattern: int, totals: list[Totals]) -> list[int]:
    kinds = []
    for one in reversed(totals):
        pattern, kind = divmod(pattern, 2 + len(one.levels))
        kinds.append(kind)
    return kinds[::-1]


def _part(
    table: PublishedTable, totals: list[Totals], pattern: int, rows: Bools, hidden: Bools
) -> PublishedTable:
    """The rows with one pattern of totals, over the dimensions that they are not totals of."""
    kinds = {one.dimension: (one, kind) for one, kind in zip(totals, _unpacked(pattern, totals), strict=True)}
    kept = [i for i in range(len(table.dimensions)) if i not in kinds or kinds[i][1] != 1]
    dimensions, codes, concealed, hierarchies = [], [], [], []
    for i in kept:
        dimension = table.dimensions[i]
        one, kind = kinds.get(i, (Totals(dimension=i), 0))
        level = one.levels[kind - 2] if kind >= 2 else None
        chosen = [
            k
            for k in range(dimension.size)
            if (k in level if level is not None else k not in one.sums and k not in one.untold)
        ]
        values = np.array(chosen, dtype=np.int64)
        recode = np.zeros(dimension.size, dtype=np.int32)
        recode[values] = np.arange(values.size, dtype=np.int32)
        own = dimension.take(values)
        if level is not None:
            own = replace(own, name=_level_name(dimension.name, kind - 1))
            hierarchies.append(_level_hierarchy(dimension, own.name, level))
        dimensions.append(own)
        codes.append(recode[table.codes[i, rows]])
        concealed.append(recode[table.hidden[i, hidden]])
    gone = [table.dimensions[i].name for i in range(len(table.dimensions)) if i not in kept]
    groups = [
        dimension.name.replace(" (subtotals", " (level")
        for dimension in dimensions
        if "(subtotals" in dimension.name
    ]
    groups = [name.removesuffix(" (level)") for name in groups]
    words = [f"total over {', '.join(gone)}"] * bool(gone) + [f"subtotals of {', '.join(groups)}"] * bool(
        groups
    )
    return replace(
        table,
        name=f"{table.name} ({'; '.join(words)})" if words else table.name,
        part_of=table.name if words else "",
        dimensions=tuple(dimensions),
        codes=np.array(codes, dtype=np.int32).reshape(len(kept), int(rows.sum())),
        counts=table.counts[rows],
        hidden=np.array(concealed, dtype=np.int32).reshape(len(kept), int(hidden.sum())),
        marks=table.marks[hidden],
        hierarchies=(*table.hierarchies, *hierarchies),
        set_aside=() if words else table.set_aside,
        extra=() if words else table.extra,
        notes=() if words else table.notes,
    )


def _level_name(name: str, level: int) -> str:
    return f"{name} (subtotals)" if level == 1 else f"{name} (subtotals {level})"


def _level_hierarchy(dimension: Dimension, name: str, level: Mapping[int, Sequence[int]]) -> Hierarchy:
    parents = {
        dimension.keys[member]: dimension.keys[code] for code, members in level.items() for member in members
    }
    return Hierarchy(fine=dimension.name, coarse=name, parents=parents, how="subtotals of the same column")


def stack_pieces(tables: Sequence[PublishedTable], /) -> list[PublishedTable]:
    """The tables with pieces of one table put together and copies left out, in the order of first pieces.

    Two tables that share a cell but not its count are two publications of it, and stay apart; so do two that count the same people by
    other values of one dimension (districts and regions), with what is inside them.
    """
    stacked: list[PublishedTable] = []
    apart = _same_people(tables)
    for table in tables:
        for place, whole in enumerate(stacked):
            if any(frozenset((one, other)) in apart for one in whole.sources for other in table.sources):
                continue
            joined = _join(whole, table)
            if joined is not None:
                stacked[place] = joined
                break
        else:
            stacked.append(table)
    return stacked


def _may_join(first: PublishedTable, second: PublishedTable) -> bool:
    """Whether two tables may be pieces of one: the same measure and as many dimensions; called alike, if they are in one file."""
    if (
        first.measure != second.measure
        or len(first.dimensions) != len(second.dimensions)
        or not first.dimensions
    ):
        return False
    if bool(first.part_of) != bool(second.part_of):
        return False
    one_file = bool(set(first.sources) & set(second.sources))
    return not one_file or (
        set(first.names) == set(second.names) and (not first.part_of or first.part_of != second.part_of)
    )


def _same_people(tables: Sequence[PublishedTable]) -> set[frozenset[object]]:
    """Pairs of files with tables that differ in the values of one dimension and add up, over it, to nearly the same counts in all else.

    Counts of other people differ by about the root of their sum at least, however alike they are.
    """
    able = [_Summing(one) for one in tables if not one.part_of and not one.hidden.size and one.counts.size]
    return {
        frozenset((mine, theirs))
        for place, first in enumerate(able)
        for second in able[:place]
        if first.counts_those_of(second)
        for mine in first.table.sources
        for theirs in second.table.sources
    }


class _Summing:
    """A table, the values of its dimensions by name, and its counts summed over one of them."""

    def __init__(self, table: PublishedTable) -> None:
        self.table = table
        self.values = {one.name: frozenset(one.keys) for one in table.dimensions}
        self._sums: dict[str, Floats | None] = {}

    def counts_those_of(self, other: _Summing) -> bool:
        """Whether both count the same people by other values of one dimension that is no time."""
        if self.values.keys() != other.values.keys() or self.table.measure != other.table.measure:
            return False
        apart = [name for name, values in self.values.items() if values != other.values[name]]
        if len(apart) != 1 or set(self.table.sources) & set(other.table.sources):
            return False
        if not self.values[apart[0]].isdisjoint(other.values[apart[0]]):
            return False
        ours, theirs = self._over(apart[0]), other._over(apart[0])
        if ours is None or theirs is None:
            return False
        both = ours + theirs
        seen = both >= _SEEN
        if seen.sum() < _TELLING:
            return False
        return float(np.mean((ours - theirs)[seen] ** 2 / both[seen])) < _TOO_ALIKE

    def _over(self, name: str) -> Floats | None:
        """Counts summed over a dimension, all others in the order of their names and values; None if they are too many, or it is a time."""
        if name not in self._sums:
            kept = sorted((one, place) for place, one in enumerate(self.table.names) if one != name)
            sizes = [self.table.dimensions[place].size for _, place in kept]
            over = self.table.dimensions[self.table.names.index(name)]
            fits = math.prod(sizes) <= _MOST_SUMS and over.kind not in {Kind.DATE, Kind.TIME}
            self._sums[name] = self._summed([place for _, place in kept], sizes) if fits else None
        return self._sums[name]

    def _summed(self, places: Sequence[int], sizes: Sequence[int]) -> Floats:
        where = np.zeros(self.table.counts.size, np.int64)
        for place, size in zip(places, sizes, strict=True):
            labels = [str(key) for key in self.table.dimensions[place].keys]
            rank = np.argsort(np.argsort(np.array(labels)))
            where = where * size + rank[self.table.codes[place]]
        sums = np.bincount(where, weights=self.table.counts, minlength=math.prod(sizes))
        return sums.astype(np.float64)


def _join(first: PublishedTable, second: PublishedTable) -> PublishedTable | None:
    """Both as one table, if they are pieces of one."""
    if not _may_join(first, second):
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
        name=_both_names(first.name, second.name),
        part_of=_both_names(first.part_of, second.part_of) if first.part_of else "",
        dates=first.dates | second.dates,
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
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
    )


_PIECES = re.compile(r"(?P<first>.+) to (?P<last>.+) \((?P<times>\d+) pieces\)")


def _both_names(first: str, second: str) -> str:
    """What pieces are called together; of many, the first and the last."""
    match = _PIECES.fullmatch(first)
    if match:
        return f"{match['first']} to {second} ({int(match['times']) + 1} pieces)"
    begin, plus, _ = first.partition(" + ")
    return f"{begin} to {second} (3 pieces)" if plus else f"{first} + {second}"


def _are_equal(ids: Ints, first: PublishedTable, second: PublishedTable) -> bool:
    """Whether both tables hold the same cells with the same counts."""
    if first.rows != second.rows:
        return False
    ours, theirs = np.argsort(ids[: first.rows]), np.argsort(ids[first.rows :])
    same_cells = np.array_equal(ids[: first.rows][ours], ids[first.rows :][theirs])
    return same_cells and np.array_equal(first.counts[ours], second.counts[theirs])
