"""Files that belong to one table: pieces of it (a week each, a mode each), or copies (CSV and Parquet)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisegate.reading._matching import match
from noisegate.reading._table import Ints, PublishedTable, row_ids
from noisegate.reading._union import unite


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
        copy = ", ".join(file.name for file in second.files)
        return replace(first, notes=(*first.notes, f"{copy} holds the same table once more; it was left out"))
    if np.unique(ids).size < ids.size:
        return None
    return replace(
        first,
        name=f"{first.name} + {second.name}",
        files=first.files + second.files,
        dimensions=tuple(united),
        codes=stacked,
        counts=np.concatenate([first.counts, second.counts]),
        hidden=np.stack(hidden),
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
