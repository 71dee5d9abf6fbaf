"""Base and margins in one set of codes: the values of each dimension over all tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisegate.reading.dimensions import declared, time_grid, unite
from noisegate.reading.matching import Matching
from noisegate.reading.published import Codes, PublishedTable
from noisegate.tables import NO_ORDINAL, Dimension, Kind


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
            if pair.base == j:
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
        if pair.coarser:
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
