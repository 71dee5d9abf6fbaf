"""Two geographies side by side: which areas of one lie whole in an area of the other, and what is left between them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from noisegate import limits
from noisegate.assessment.matched_cells import CellPairs, Floats, Ints, same_labels
from noisegate.errors import DataError, SpecError
from noisegate.places import read_octets
from noisegate.tables import Dimension, Spellings, Table, folded

#: Areas that are named in a label.
_NAMED = 3


def read_areas(path: Path, first: Table, second: Table, /) -> list[tuple[str, str]]:
    """For each small area of a lookup (CSV) the area of both tables that it lies in; columns have the names of their dimensions."""
    octets = read_octets(
        path, most=limits.current().values_bytes, what="The lookup of areas", error=DataError
    )
    rows = csv.DictReader(io.StringIO(octets.decode("utf-8-sig", "replace")))
    names = {folded(name): name for name in rows.fieldnames or ()}
    mine, other = areas_of(first, second)
    wanted = [first.dimensions[mine].name, second.dimensions[other].name]
    if any(folded(name) not in names for name in wanted):
        raise DataError(
            f"{path} must have the columns {' and '.join(wanted)}, a row for each small area; it has "
            f"{', '.join(rows.fieldnames or ['none'])}."
        )
    ours, theirs = (names[folded(name)] for name in wanted)
    return [(row[ours] or "", row[theirs] or "") for row in rows]


def areas_of(first: Table, second: Table, /) -> tuple[int, int]:
    """The one dimension of each that the other has not."""
    ours, theirs = (
        {folded(d.name): at for at, d in enumerate(table.dimensions)} for table in (first, second)
    )
    mine, other = [name for name in ours if name not in theirs], [name for name in theirs if name not in ours]
    if len(mine) != 1 or len(other) != 1:
        raise SpecError(
            f"{first.name} and {second.name} must differ in one dimension, each its own areas; they differ in "
            f"{', '.join(mine) or 'none'} and {', '.join(other) or 'none'}."
        )
    return ours[mine[0]], theirs[other[0]]


def match_areas(
    first: Table, second: Table, areas: Sequence[tuple[str, str]], /
) -> tuple[CellPairs, CellPairs]:
    """Sums of areas that cover the same ground in both, and what areas of one hold beyond those of the other that lie in them."""
    mine, other = areas_of(first, second)
    parts = _parts(first.dimensions[mine], second.dimensions[other], areas)
    place = {folded(d.name): at for at, d in enumerate(second.dimensions)}
    rest = [at for at in range(len(first.dimensions)) if at != mine]
    codes = {
        at: same_labels(first.dimensions[at], second.dimensions[place[folded(first.dimensions[at].name)]])[0]
        for at in rest
    }
    grid = (
        [one.ravel() for one in np.meshgrid(*(np.flatnonzero(codes[at] >= 0) for at in rest), indexing="ij")]
        if rest
        else []
    )
    ours = {at: codes[at][theirs] for at, theirs in zip(rest, grid, strict=True)}
    theirs = {place[folded(first.dimensions[at].name)]: one for at, one in zip(rest, grid, strict=True)}
    size = next((one.size for one in ours.values()), 1)
    values = _values(first, mine, ours, size), _values(second, other, theirs, size)
    names = (*(first.dimensions[at].name for at in rest), "area")

    def of(found: list[tuple[str, Floats, Floats]]) -> CellPairs:
        one, two = (np.concatenate([row[end] for row in found]) if found else np.zeros(0) for end in (1, 2))
        return CellPairs.exact(
            one,
            two,
            names=names,
            labels=(*(first.dimensions[at].labels for at in rest), tuple(row[0] for row in found)),
            codes=(*(np.tile(ours[at], len(found)) for at in rest), np.repeat(np.arange(len(found)), size)),
            assumes=("the lookup of areas is that of both tables",),
        )

    whole = [
        (
            " and ".join(sorted(_label(first, mine, k) for k in left)[:_NAMED]),
            _sum(values[0], left),
            _sum(values[1], right),
        )
        for left, right in _same_ground(parts)
    ]
    left_over = [
        *_beyond(parts, 0, first, mine, second, other, values),
        *_beyond(parts, 1, second, other, first, mine, values[::-1]),
    ]
    return of(whole), of(left_over)


Parts = dict[tuple[int, int], int]


def _parts(ours: Dimension, theirs: Dimension, areas: Sequence[tuple[str, str]], /) -> Parts:
    """How many small areas lie in each pair of areas."""
    mine, other = (Spellings(one.labels, keys=one.keys) for one in (ours, theirs))
    found: Parts = {}
    for (one, two), number in Counter(areas).items():
        left, right = mine.code(one), other.code(two)
        if left is not None and right is not None:
            found[left, right] = found.get((left, right), 0) + number
    return found


def _same_ground(parts: Parts, /) -> list[tuple[list[int], list[int]]]:
    """The smallest sets of areas of both that cover the same small areas."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    left, right = sorted({a for a, _ in parts}), sorted({b for _, b in parts})
    if not parts:
        return []
    rows = np.searchsorted(left, [a for a, _ in parts])
    columns = np.searchsorted(right, [b for _, b in parts]) + len(left)
    size = len(left) + len(right)
    _, group = connected_components(
        coo_matrix((np.ones(len(parts)), (rows, columns)), shape=(size, size)), directed=False
    )
    found: dict[int, tuple[list[int], list[int]]] = {}
    for place, number in enumerate(group.tolist()):
        sides = found.setdefault(number, ([], []))
        if place < len(left):
            sides[0].append(left[place])
        else:
            sides[1].append(right[place - len(left)])
    return list(found.values())


def _beyond(
    parts: Parts, end: int, fine: Table, at: int, wide: Table, over: int, values: tuple[Floats, Floats], /
) -> list[tuple[str, Floats, Floats]]:
    """For each area of `wide`: what it holds beyond the areas of `fine` that lie whole in it."""
    pairs = [(pair[end], pair[1 - end]) for pair in parts]
    owners: dict[int, set[int]] = {}
    for small, large in pairs:
        owners.setdefault(small, set()).add(large)
    found = []
    held: dict[int, set[int]] = {}
    for small, large in pairs:
        held.setdefault(large, set()).add(small)
    for large, touching in sorted(held.items()):
        inside = sorted(one for one in touching if owners[one] == {large})
        if not inside or len(inside) == len(touching):
            continue
        named = ", ".join(_label(fine, at, one) for one in inside[:_NAMED]) + (
            ", ..." if len(inside) > _NAMED else ""
        )
        found.append(
            (f"{_label(wide, over, large)} beyond {named}", _sum(values[0], inside), _sum(values[1], [large]))
        )
    return found


def _label(table: Table, at: int, code: int, /) -> str:
    return table.dimensions[at].labels[code]


def _sum(values: Floats, codes: Sequence[int], /) -> Floats:
    return np.asarray(values[:, list(codes)].sum(axis=1))


def _values(table: Table, mine: int, codes: dict[int, Ints], size: int, /) -> Floats:
    """What a table shows for each combination of the other labels and each area; NaN where it hides it."""
    found = np.full((size, table.dimensions[mine].size), np.nan)
    for code in range(table.dimensions[mine].size):
        asked = np.empty((len(table.dimensions), size), np.int64)
        for at in range(len(table.dimensions)):
            asked[at] = code if at == mine else codes[at]
        cells = table.locate(asked)
        found[:, code] = np.where(cells >= 0, table.at(np.maximum(cells, 0)), np.nan)
    return found
