"""Which dimension of one table is which of another: by name, by kind, by the values they share.

Base and margins in one set of codes: the values of each dimension over all tables.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from noisegate.reading.dimensions import declared, spellings, time_grid, unite
from noisegate.reading.hierarchy import parents_of
from noisegate.reading.published import Codes, Hierarchy, PublishedTable
from noisegate.tables import NO_ORDINAL, Dimension, Kind, folded, how_many

#: Words that mean the same thing at the head of a column.
_SYNONYMS = (
    frozenset({"loc", "location", "locations", "stop", "station", "place", "site", "wharf", "postcode"}),
    frozenset({"time", "hour", "hr", "bin", "interval", "quarter", "start"}),
    frozenset({"date", "day"}),
    frozenset({"mode", "transport", "vehicle"}),
    frozenset({"tap", "direction", "movement"}),
    frozenset({"sex", "gender"}),
    frozenset({"age", "ages"}),
    frozenset({"region", "area", "district", "county", "lga", "territory"}),
)
#: Words that say nothing about what a column is.
_FILLERS = frozenset({"name", "code", "id", "of", "the", "group", "band", "label", "desc", "description"})
#: The least affinity of two dimensions that are the same thing.
ACCEPTED = 0.3
#: Two partners closer than this cannot be told apart: when the name speaks for one, and when it does not.
TIE_NAMED, TIE = 0.02, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A dimension of a margin and the dimension of the base that it keeps, perhaps in coarser bins or groups.

    `through` says which values of the base make up each of the margin, where these are not times.
    """

    margin: int
    base: int
    coarser: bool
    through: Hierarchy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How a table's dimensions are those of a finer one.

    `dropped` are dimensions of the margin that say nothing of their own (one value, or determined by
    the others); `missing` are those that the finer table does not have; `unclear` names, for one
    dimension of the margin, two of the base that it could be.
    """

    pairs: tuple[Pair, ...]
    dropped: tuple[int, ...]
    missing: tuple[int, ...]
    unclear: tuple[int, int, int] | None = None

    @property
    def complete(self) -> bool:
        """Whether the finer table has every dimension that matters."""
        return not self.missing


def match(
    base: PublishedTable, margin: PublishedTable, /, *, hierarchies: Sequence[Hierarchy] = ()
) -> Matching:
    """The dimensions of `margin` among those of `base`, whichever names they go by.

    `hierarchies` say which values are made up of others, beside those that the margin itself has.
    """
    known = (*margin.hierarchies, *hierarchies)
    affinity = np.zeros((len(margin.dimensions), len(base.dimensions)))
    through: dict[tuple[int, int], Hierarchy] = {}
    for i, theirs in enumerate(margin.dimensions):
        for j, ours in enumerate(base.dimensions):
            affinity[i, j] = _affinity(ours, theirs)
            grouped = _grouped(ours, theirs, known)
            if grouped is not None and grouped[0] > affinity[i, j]:
                affinity[i, j], through[i, j] = grouped
    # Takes long to load, and single tables need none of it.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(affinity, maximize=True)
    pairs = tuple(
        Pair(
            margin=i,
            base=j,
            coarser=(i, j) in through or is_coarser(base.dimensions[j], margin.dimensions[i]),
            through=through.get((i, j)),
        )
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if affinity[i, j] >= ACCEPTED
    )
    kept = [pair.margin for pair in pairs]
    rest = [i for i in range(len(margin.dimensions)) if i not in kept]
    dropped = tuple(i for i in rest if _says_nothing(margin, i, kept))
    return Matching(
        pairs=pairs,
        dropped=dropped,
        missing=tuple(i for i in rest if i not in dropped),
        unclear=_tie(affinity, pairs, base, margin),
    )


def _tie(
    affinity: NDArray[np.float64], pairs: tuple[Pair, ...], base: PublishedTable, margin: PublishedTable
) -> tuple[int, int, int] | None:
    taken = {pair.base for pair in pairs}
    for pair in pairs:
        row = affinity[pair.margin]
        named = name_likeness(base.names[pair.base], margin.names[pair.margin]) >= 0.8
        least = max(row[pair.base] - (TIE_NAMED if named else TIE), ACCEPTED)
        for other in range(row.size):
            if other not in taken and row[other] >= least:
                return pair.margin, pair.base, other
    return None


def is_coarser(fine: Dimension, coarse: Dimension, /) -> bool:
    """Whether both are times and the second has wider bins."""
    return bool(
        fine.kind is coarse.kind is Kind.TIME and fine.step and coarse.step and coarse.step > fine.step
    )


def _affinity(fine: Dimension, coarse: Dimension) -> float:
    """How well the second may be the first, or the first in wider bins; 0 when it cannot be."""
    name = name_likeness(fine.name, coarse.name)
    timed = {Kind.DATE, Kind.TIME}
    if fine.kind in timed or coarse.kind in timed:
        if fine.kind is not coarse.kind or not _nests(fine, coarse):
            return 0.0
        return 0.5 + 0.3 * _overlap(_bins(fine, coarse), _bins(coarse, coarse)) + 0.2 * name
    shared = _shared(fine, coarse)
    if fine.kind is coarse.kind is Kind.NUMBER and name < 0.5:
        return 0.0
    if shared < 0.5 and name < 0.8:
        return 0.0
    return 0.6 * shared + 0.4 * name


def _grouped(
    fine: Dimension, coarse: Dimension, hierarchies: Sequence[Hierarchy]
) -> tuple[float, Hierarchy] | None:
    """How well the second has the values of the first in groups that are listed; None where nothing lists them."""
    best: tuple[float, Hierarchy] | None = None
    if fine.kind is Kind.TIME or coarse.kind is Kind.TIME:
        return None
    ours, theirs = spellings(fine), spellings(coarse)
    for one in hierarchies:
        children = len(ours & one.parents.keys()) / max(min(len(ours), len(one.parents)), 1)
        parents = len(theirs & set(one.parents.values())) / max(
            min(len(theirs), len(set(one.parents.values()))), 1
        )
        told = 0.1 * (one.coarse == coarse.name) + 0.1 * (one.fine == fine.name)
        few = len(ours & one.parents.keys()) < 2
        if (
            not few
            and min(children, parents) >= 0.5
            and (best is None or 0.8 * min(children, parents) + told > best[0])
        ):
            best = 0.8 * min(children, parents) + told, one
    return best


def _nests(fine: Dimension, coarse: Dimension) -> bool:
    """Whether every bin of the first lies inside one bin of the second."""
    return not fine.step or not coarse.step or coarse.step % fine.step == 0


def _bins(dimension: Dimension, like: Dimension) -> frozenset[str]:
    """The values as bins of `like`."""
    known = dimension.ordinals[dimension.ordinals != NO_ORDINAL]
    width = like.step if like.kind is Kind.TIME and like.step else 1
    return frozenset(map(str, np.unique(known // width).tolist()))


def _shared(one: Dimension, other: Dimension) -> float:
    """Share of values that both have, by their keys, or by names where one of them has codes."""
    found = _overlap(_known(one), _known(other))
    if found < 1 and one.kind is other.kind is Kind.TEXT:
        both = spellings(one) & spellings(other)
        found = max(found, min(1.0, len(both) / max(min(len(_known(one)), len(_known(other))), 1)))
    return found


def _known(dimension: Dimension) -> frozenset[str]:
    return _known_keys(dimension.keys, dimension.unknown.tobytes())


@lru_cache(maxsize=4096)
def _known_keys(keys: tuple[str, ...], unknown: bytes) -> frozenset[str]:
    gone = np.frombuffer(unknown, dtype=bool).tolist()
    return frozenset(key for key, away in zip(keys, gone, strict=True) if not away)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of the smaller set that the larger one has as well."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@cache
def name_likeness(one: str, other: str, /) -> float:
    """How alike two names of columns are: 1 the same, 0.9 for words that mean the same, less by spelling."""
    if _words(one) == _words(other):
        return 1.0
    first, second = set(_words(one)) - _FILLERS, set(_words(other)) - _FILLERS
    if first & second or any(first & group and second & group for group in _SYNONYMS):
        return 0.9
    return 0.8 * difflib.SequenceMatcher(None, " ".join(_words(one)), " ".join(_words(other))).ratio()


def _words(name: str) -> tuple[str, ...]:
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return tuple(word for word in re.split(r"[^a-z]+", spaced.casefold()) if word)


def _says_nothing(table: PublishedTable, position: int, kept: list[int]) -> bool:
    """Whether a dimension has one value, or one of the kept dimensions determines it.

    Few rows, each with its own values, determine nothing: there every column seems to follow from every
    other.
    """
    column, size = table.codes[position], table.dimensions[position].size
    if size == 1:
        return True
    for place in kept:
        values = how_many(table.codes[place])
        pairs = how_many(table.codes[place].astype(np.int64) * size + column)
        if pairs == values and (values >= 10 or table.rows >= 2 * values):
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AlignedTable:
    """A table in common codes.

    `origin[i]` is the dimension of the base that dimension i keeps, and `maps[i]` gives for each of its
    codes the code here, -1 for none. For the base itself both are the identity.
    """

    table: PublishedTable
    dimensions: tuple[Dimension, ...]
    codes: Codes
    hidden: Codes
    origin: tuple[int, ...]
    maps: tuple[Codes, ...]
    coarser: tuple[bool, ...]

    def in_base_codes(self) -> dict[int, Codes]:
        """The rows' codes by dimension of the base, for dimensions kept as they are."""
        return {
            j: self.codes[i]
            for i, (j, wide) in enumerate(zip(self.origin, self.coarser, strict=True))
            if not wide
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alignment:
    """The base and its margins in common codes."""

    base: AlignedTable
    margins: tuple[AlignedTable, ...]


def align(
    base: PublishedTable,
    margins: Sequence[tuple[PublishedTable, Matching]],
    /,
    *,
    domain: Mapping[str, tuple[str, ...]],
) -> Alignment:
    """All tables over the union of their values, time grids filled and declared values added."""
    united: list[Dimension] = []
    recodes: list[list[Codes]] = []
    for j, dimension in enumerate(base.dimensions):
        same, wide = _partners(j, margins)
        names = {dimension.name, *(d.name for d in same)}
        told = [declared(values, dimension) for name, values in domain.items() if name in names]
        whole, codes = unite([dimension, *same, *told])
        whole, (onto, _) = unite([whole, time_grid(_stretched(whole, wide))])
        united.append(whole)
        recodes.append([onto[code] for code in codes])
    aligned_base = AlignedTable(
        table=base,
        dimensions=tuple(united),
        codes=_recoded(base.codes, [r[0] for r in recodes]),
        hidden=_recoded(base.hidden, [r[0] for r in recodes]),
        origin=tuple(range(len(united))),
        maps=tuple(np.arange(d.size, dtype=np.int32) for d in united),
        coarser=(False,) * len(united),
    )
    taken = [1] * len(united)
    aligned = []
    for table, matching in margins:
        aligned.append(_aligned(table, matching, united, recodes, taken))
        for pair in matching.pairs:
            taken[pair.base] += not pair.coarser
    return Alignment(base=aligned_base, margins=tuple(aligned))


def _recoded(codes: Codes, recodes: list[Codes]) -> Codes:
    out = np.empty_like(codes)
    for i, recode in enumerate(recodes):
        out[i] = recode[codes[i]]
    return out


def _partners(
    j: int, margins: Sequence[tuple[PublishedTable, Matching]]
) -> tuple[list[Dimension], list[Dimension]]:
    """The margins' dimensions that are dimension j of the base: as it is, and in wider bins."""
    same: list[Dimension] = []
    wide: list[Dimension] = []
    for table, matching in margins:
        for pair in matching.pairs:
            if pair.base == j and pair.through is None:
                (wide if pair.coarser else same).append(table.dimensions[pair.margin])
    return same, wide


def _stretched(whole: Dimension, wide: list[Dimension]) -> Dimension:
    """The dimension with the first and the last fine bin of every wide one, so that a grid reaches them."""
    if whole.kind is not Kind.TIME or not whole.step:
        return whole
    ends = [whole.ordinals]
    for dimension in wide:
        starts = dimension.ordinals[dimension.ordinals != NO_ORDINAL]
        ends += [starts, starts + (dimension.step or whole.step) - whole.step]
    reach = np.unique(np.concatenate(ends))
    reach = reach[reach != NO_ORDINAL]
    return replace(
        whole,
        values=tuple(map(str, reach.tolist())),
        keys=tuple(map(str, reach.tolist())),
        ordinals=reach,
        unknown=np.zeros(reach.size, dtype=bool),
    )


def _aligned(
    table: PublishedTable,
    matching: Matching,
    united: list[Dimension],
    recodes: list[list[Codes]],
    taken: list[int],
) -> AlignedTable:
    """A margin over its kept dimensions; `taken` says how many of the recodes are used up."""
    pairs = sorted(matching.pairs, key=lambda pair: pair.margin)
    dimensions, codes, hidden, maps = [], [], [], []
    for pair in pairs:
        own = table.dimensions[pair.margin]
        if pair.through is not None:
            dimension, recode, onto = _through(united[pair.base], own, pair.through)
        elif pair.coarser:
            dimension, recode, onto = _coarse(united[pair.base], own)
        else:
            dimension = replace(united[pair.base], name=own.name, written=own.written)
            recode = recodes[pair.base][taken[pair.base]]
            onto = np.arange(dimension.size, dtype=np.int32)
        dimensions.append(dimension)
        maps.append(onto)
        codes.append(recode[table.codes[pair.margin]])
        hidden.append(recode[table.hidden[pair.margin]])
    return AlignedTable(
        table=table,
        dimensions=tuple(dimensions),
        codes=_stack(codes, table.rows),
        hidden=_stack(hidden, table.hidden.shape[1]),
        origin=tuple(pair.base for pair in pairs),
        maps=tuple(maps),
        coarser=tuple(pair.coarser for pair in pairs),
    )


def _stack(rows: list[Codes], length: int) -> Codes:
    return np.array(rows, dtype=np.int32).reshape(len(rows), length)


def _through(fine: Dimension, own: Dimension, hierarchy: Hierarchy) -> tuple[Dimension, Codes, Codes]:
    """The groups as they are, the margin's codes in them, and the group of each fine value."""
    place = {folded(label): code for code, label in enumerate(own.labels)}
    place |= {key: code for code, key in enumerate(own.keys)}
    parents = parents_of(fine.keys, fine.labels, hierarchy)
    onto = np.array(
        [place.get(parent, -1) if parent is not None else -1 for parent in parents], dtype=np.int32
    )
    return own, np.arange(own.size, dtype=np.int32), onto


def _coarse(fine: Dimension, own: Dimension) -> tuple[Dimension, Codes, Codes]:
    """The wide bins that the fine ones fill, the margin's codes in them, and the bin of each fine value."""
    whole, (recode, _) = unite([own, time_grid(own)])
    place = {start: code for code, start in enumerate(whole.ordinals.tolist()) if start != NO_ORDINAL}
    unknown = np.flatnonzero(whole.unknown)
    width = own.step or 1
    onto = np.full(fine.size, -1, dtype=np.int32)
    for code, (start, gone) in enumerate(zip(fine.ordinals.tolist(), fine.unknown.tolist(), strict=True)):
        if start != NO_ORDINAL:
            onto[code] = place.get(start // width * width, -1)
        elif gone and unknown.size == 1:
            onto[code] = unknown[0]
    return whole, recode, onto
