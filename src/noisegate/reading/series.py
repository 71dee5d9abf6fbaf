"""Tables of the same dimensions whose cells have other counts: a sheet for each year, a file for each sex.

Each of them is a slice of one table, by a dimension that only the names of sheets or files tell. Where these names are years, sexes,
ages or the like, they become that dimension. Where they are not, and the counts differ by more than noise, they count different
things and stand beside each other: nothing may be concluded from one for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from noisegate.reading.columns import Column
from noisegate.reading.dimensions import encode
from noisegate.reading.overrides import TableOverride
from noisegate.reading.published import PublishedTable
from noisegate.reading.words import kind_of_labels
from noisegate.tables import folded

#: Two publications of one count differ by no more than a share of it and some noise, in nearly all cells.
_SHARE, _NOISE, _NEARLY = 0.1, 20.0, 0.9
#: On average they differ by no more than this.
_DRIFT = 2.5


def join_series(tables: Sequence[PublishedTable], /) -> list[PublishedTable]:
    """The tables, those that are slices of one by their names with the dimension that these tell."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, table in enumerate(tables):
        groups.setdefault((table.measure, frozenset(map(folded, table.names))), []).append(place)
    found = list(tables)
    for places in groups.values():
        if len(places) > 1 and _coincide([tables[k] for k in places]):
            for place, table in zip(places, _told_apart([tables[k] for k in places]), strict=True):
                found[place] = table
    return found


def _told_apart(tables: list[PublishedTable]) -> list[PublishedTable]:
    labels = _labels([table.name for table in tables])
    kind = kind_of_labels(labels)
    if kind and kind not in {folded(name) for name in tables[0].names}:
        shown = ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")
        note = f"{shown} are values of {kind}: so the sheets or files are called that count the same cells"
        return [_sliced(table, kind, label, note) for table, label in zip(tables, labels, strict=True)]
    if all(_alike(tables[0], other) for other in tables[1:]):
        return tables
    note = "other sheets or files have the same cells with quite different counts: each is taken to count something of its own"
    return [
        replace(
            table, measure=" ".join(filter(None, (table.name, table.measure))), notes=(*table.notes, note)
        )
        for table in tables
    ]


def _labels(names: list[str]) -> list[str]:
    """What is different in names: 2019 and 2020 of deaths-2019 and deaths-2020; whole names where little is left."""
    lead, tail = _common(names), _common([name[::-1] for name in names])
    # Figures and words are not cut in the middle.
    while lead and any(name[lead - 1 : lead].isalnum() and name[lead : lead + 1].isalnum() for name in names):
        lead -= 1
    while tail and any(name[-tail].isalnum() and name[: len(name) - tail][-1:].isalnum() for name in names):
        tail -= 1
    cut = [name[lead : len(name) - tail].strip(" _-.()") for name in names]
    return cut if all(cut) and len(set(cut)) == len(cut) else names


def _common(names: list[str]) -> int:
    """How many letters all names begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _sliced(table: PublishedTable, kind: str, label: str, note: str) -> PublishedTable:
    """The table with one more dimension, of which it has one value."""
    ((dimension, _),), _ = encode(Column.of(kind, [label]), TableOverride())
    rows, hidden = np.zeros((1, table.rows), np.int32), np.zeros((1, table.hidden.shape[1]), np.int32)
    return replace(
        table,
        dimensions=(*table.dimensions, dimension),
        codes=np.concatenate([table.codes, rows]),
        hidden=np.concatenate([table.hidden, hidden]),
        notes=(*table.notes, note),
    )


def _counts(table: PublishedTable) -> dict[tuple[str, ...], float]:
    """The counts by the keys of their values, in the order of the names of dimensions."""
    order = sorted(range(len(table.dimensions)), key=lambda k: folded(table.names[k]))
    keys = [[table.dimensions[k].keys[code] for code in table.codes[k].tolist()] for k in order]
    return dict(zip(zip(*keys, strict=True), table.counts.tolist(), strict=True))


def _coincide(tables: list[PublishedTable]) -> bool:
    """Whether the first two tables have cells in common, and not the same counts throughout."""
    one, other = _counts(tables[0]), _counts(tables[1])
    both = one.keys() & other.keys()
    return bool(both) and any(one[key] != other[key] for key in both)


def _alike(one: PublishedTable, other: PublishedTable) -> bool:
    """Whether counts of the same cells may be two publications of them, noise aside."""
    ours, theirs = _counts(one), _counts(other)
    both = ours.keys() & theirs.keys()
    gaps = np.array([ours[key] - theirs[key] for key in both] or [0.0])
    near = np.abs(gaps) <= _NOISE + _SHARE * np.abs(np.array([ours[key] for key in both] or [0.0]))
    # Noise goes both ways.
    mean, error = abs(float(gaps.mean())), float(gaps.std()) / np.sqrt(max(gaps.size, 1))
    drift = gaps.size > 4 and mean > max(_DRIFT, 4 * error)
    return float(near.mean()) >= _NEARLY and not drift
