"""Cells of two releases side by side: by their labels, days in their order, bands at their edges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.tables import Dimension, Kind, Status, Table, folded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellPairs:
    """Cells of both, side by side: values (NaN where hidden), ranges where hidden, and how to name them."""

    one: Floats
    two: Floats
    low_one: Floats
    high_one: Floats
    low_two: Floats
    high_two: Floats
    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: tuple[Ints, ...]
    assumes: tuple[str, ...]

    @classmethod
    def exact(
        cls,
        one: Floats,
        two: Floats,
        /,
        *,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
        codes: tuple[Ints, ...],
        assumes: tuple[str, ...],
    ) -> CellPairs:
        """Cells that are known as they are."""
        return cls(
            one=one,
            two=two,
            low_one=one,
            high_one=one,
            low_two=two,
            high_two=two,
            names=names,
            labels=labels,
            codes=codes,
            assumes=assumes,
        )


def match_cells(first: Table, second: Table, /) -> CellPairs:
    """The cells of both that have the same labels."""
    ours = {folded(d.name): place for place, d in enumerate(first.dimensions)}
    theirs = {folded(d.name): place for place, d in enumerate(second.dimensions)}
    if set(ours) != set(theirs):
        names = [", ".join(d.name for d in table.dimensions) or "none" for table in (first, second)]
        raise SpecError(
            f"{first.name} has the dimensions {names[0]} and {second.name} has {names[1]}; slivers are looked for between tables "
            "of the same dimensions."
        )
    onto, assumes = [], []
    for name, place in ours.items():
        codes, said = same_labels(first.dimensions[place], second.dimensions[theirs[name]])
        back = np.full(first.dimensions[place].size, -1, np.int64)
        back[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
        onto.append((place, theirs[name], codes, back))
        assumes += said
    there = _moved(second, first, [(other, mine, codes) for mine, other, codes, _ in onto])
    cells = np.union1d(np.concatenate([first.cells, first.hidden]), there)
    kept = _moved_each(first, second, cells, [(mine, other, back) for mine, other, _, back in onto])
    cells, across = cells[kept >= 0], kept[kept >= 0]
    (one, low_one, high_one, said_one), (two, low_two, high_two, said_two) = (
        _shown(table, asked) for table, asked in ((first, cells), (second, across))
    )
    return CellPairs(
        one=one,
        two=two,
        low_one=low_one,
        high_one=high_one,
        low_two=low_two,
        high_two=high_two,
        names=tuple(d.name for d in first.dimensions),
        labels=tuple(d.labels for d in first.dimensions),
        codes=tuple(np.asarray(codes, np.int64) for codes in first.domain.decode(cells))
        if first.dimensions
        else (),
        assumes=(*assumes, *dict.fromkeys([*said_one, *said_two])),
    )


def _moved(table: Table, other: Table, onto: list[tuple[int, int, Ints]], /) -> Ints:
    """The cells of another table with the labels of those that this one names, as far as it has them."""
    found = _moved_each(table, other, np.concatenate([table.cells, table.hidden]), onto)
    return found[found >= 0]


def _moved_each(table: Table, other: Table, cells: Ints, onto: list[tuple[int, int, Ints]], /) -> Ints:
    codes = table.domain.decode(cells) if table.dimensions else ()
    moved = np.full((len(other.dimensions), cells.size), -1, np.int64)
    for mine, place, known in onto:
        moved[place] = known[np.asarray(codes[mine])]
    found = np.full(cells.size, -1, np.int64)
    good = (moved >= 0).all(axis=0)
    found[good] = other.locate(moved[:, good])
    return found


def _shown(table: Table, cells: Ints, /) -> tuple[Floats, Floats, Floats, list[str]]:
    """What a table says of cells, NaN where it hides them, and between what they lie; rows that are missing by what that means."""
    values = table.at(cells)
    low, high = table.ranges(cells)
    gone = np.asarray(table.status(cells) == Status.ABSENT)
    if not gone.any():
        return values, low, high, []
    meant = table.absent
    if meant is not None and meant.high is not None:
        values[gone & (meant.low == meant.high)] = float(meant.low)
        return values, low, high, []
    least = float(table.values.min()) if table.values.size else 0.0
    if table.values.size and 0 < least <= 1:
        values[gone] = low[gone] = high[gone] = 0.0
        return values, low, high, [f"no row of {table.name} means that nobody is there"]
    if table.threshold.value is not None:
        high[gone] = max(np.ceil(table.threshold.value) - 1, 0.0)
    return values, low, high, []


def same_labels(ours: Dimension, theirs: Dimension, /) -> tuple[Ints, list[str]]:
    """For each label of theirs the same one of ours, -1 where there is none; days that differ in their order."""
    known = {key: code for code, key in enumerate(ours.keys)}
    known.update({folded(label): code for code, label in enumerate(ours.labels)})
    codes = np.array(
        [
            known.get(key, known.get(folded(label), -1))
            for key, label in zip(theirs.keys, theirs.labels, strict=True)
        ],
        np.int64,
    )
    if (codes >= 0).any() or ours.kind is not Kind.DATE or theirs.kind is not Kind.DATE:
        return codes, []
    if ours.size != theirs.size:
        return codes, []
    order = np.empty(theirs.size, np.int64)
    order[np.argsort(theirs.ordinals, kind="stable")] = np.argsort(ours.ordinals, kind="stable")
    return order, [f"{ours.name}: no day is in both, so days are compared in their order"]


#: Labels of bands: 0-4, 5 to 9, 85+, 85 and over, under 5.
_BAND = re.compile(r"(\d+)\s*(?:-|–|—|to|bis|à|a)\s*(\d+)")
_OVER = re.compile(r"(\d+)\s*(?:\+|and over|and older|or more|plus)|(?:over|from)\s*(\d+)")
_UNDER = re.compile(r"(?:under|below|<)\s*(\d+)")
_TOP = 10**6


def band(label: str, /) -> tuple[int, int] | None:
    """A label as a band of whole numbers, the end not included; None if it is none.

    Examples
    --------
    >>> band("15-64"), band("85 and over"), band("under 5"), band("Manly")
    ((15, 65), (85, 1000000), (0, 5), None)
    """
    text = re.sub(r"^(aged?|ages)\s+|\s+(years?|yrs)$", "", folded(label))
    if found := _BAND.fullmatch(text):
        first, last = map(int, found.groups())
        return (first, last + 1) if last >= first else None
    if found := _OVER.fullmatch(text):
        return int(found.group(1) or found.group(2)), _TOP
    if found := _UNDER.fullmatch(text):
        return 0, int(found.group(1))
    return (int(text), int(text) + 1) if text.isdecimal() and len(text) < 6 else None


def bands_of(first: Table, second: Table, /) -> tuple[int, int] | None:
    """The dimension of each whose values are bands with other edges than those of the other; None if there is not one such."""
    theirs = {folded(d.name): place for place, d in enumerate(second.dimensions)}
    found = []
    for place, mine in enumerate(first.dimensions):
        other = second.dimensions[theirs[folded(mine.name)]]
        if set(mine.keys) == set(other.keys):
            continue
        if _edges(mine) is not None and _edges(other) is not None:
            found.append((place, theirs[folded(mine.name)]))
    return found[0] if len(found) == 1 else None


def _edges(dimension: Dimension, /) -> tuple[list[int], Ints] | None:
    """The edges of bands that follow each other without a gap, and the labels in that order."""
    bands = [band(label) for label in dimension.labels]
    if len(bands) < 2 or any(one is None for one in bands):
        return None
    order = sorted(range(len(bands)), key=lambda k: bands[k] or (0, 0))
    inside = [bands[k] or (0, 0) for k in order]
    if any(a[1] != b[0] for a, b in pairwise(inside)):
        return None
    return [inside[0][0], *(one[1] for one in inside)], np.array(order, np.int64)


def match_bands(first: Table, second: Table, mine: int, other: int, /) -> tuple[CellPairs, CellPairs]:
    """Two partitions into bands: sums between edges that both have, and what lies between an edge of one and an edge of the other."""
    place = {folded(d.name): at for at, d in enumerate(second.dimensions)}
    rest = [at for at in range(len(first.dimensions)) if at != mine]
    codes = {
        at: same_labels(first.dimensions[at], second.dimensions[place[folded(first.dimensions[at].name)]])[0]
        for at in rest
    }
    shared = [np.flatnonzero(codes[at] >= 0) for at in rest]
    grid = [one.ravel() for one in np.meshgrid(*shared, indexing="ij")] if rest else []
    ours = {at: codes[at][theirs] for at, theirs in zip(rest, grid, strict=True)}
    theirs = {place[folded(first.dimensions[at].name)]: one for at, one in zip(rest, grid, strict=True)}
    edges, sums = _cumulated(first, mine, ours)
    edges_two, sums_two = _cumulated(second, other, theirs)
    both = sorted(set(edges) & set(edges_two))
    name = first.dimensions[mine].name
    known = {(0, e): sums[:, k] for k, e in enumerate(edges)} | {
        (1, e): sums_two[:, k] for k, e in enumerate(edges_two)
    }

    def beyond(which: int, edge: int) -> Floats:
        start = max((e for e in both if e <= edge), default=None)
        if start is None:
            return np.full(len(sums), np.nan)
        return known[which, edge] - known[which, start]

    def of(spans: list[tuple[int, int]], values: list[tuple[Floats, Floats]]) -> CellPairs:
        labels = [*(first.dimensions[at].labels for at in rest), tuple(_span(*span) for span in spans)]
        size = len(sums)
        one, two = (
            np.concatenate([pair[end] for pair in values]) if values else np.zeros(0) for end in (0, 1)
        )
        return CellPairs.exact(
            one,
            two,
            names=(*(first.dimensions[at].name for at in rest), name),
            labels=tuple(labels),
            codes=(*(np.tile(ours[at], len(spans)) for at in rest), np.repeat(np.arange(len(spans)), size)),
            assumes=(f"{name}: bands with other edges, compared where edges meet",),
        )

    whole = list(pairwise(both))
    compared = of(whole, [(known[0, f] - known[0, e], known[1, f] - known[1, e]) for e, f in whole])
    merged = sorted({*edges, *edges_two})
    between = [
        (e, f)
        for e, f in pairwise(merged)
        if (e in edges) != (f in edges) and (e in edges_two) != (f in edges_two)
    ]
    pieces = of(
        between, [(beyond(int(e not in edges), e), beyond(int(f not in edges), f)) for e, f in between]
    )
    return compared, pieces


def _cumulated(table: Table, mine: int, codes: dict[int, Ints], /) -> tuple[list[int], Floats]:
    """The edges of the bands, and for each combination of the other labels how many are below each edge."""
    found = _edges(table.dimensions[mine])
    if found is None:
        raise SpecError(f"{table.dimensions[mine].name} has no bands that follow each other.")
    edges, order = found
    size = next((one.size for one in codes.values()), 1)
    sums = np.zeros((size, len(edges)))
    for k, code in enumerate(order.tolist()):
        asked = np.empty((len(table.dimensions), size), np.int64)
        for at in range(len(table.dimensions)):
            asked[at] = code if at == mine else codes[at]
        cells = table.locate(asked)
        values = np.where(cells >= 0, table.at(np.maximum(cells, 0)), np.nan)
        sums[:, k + 1] = sums[:, k] + values
    return edges, sums


def _span(first: int, last: int, /) -> str:
    if last >= _TOP:
        return f"{first}+"
    return str(first) if last == first + 1 else f"{first}-{last - 1}"
