"""Files that are pieces of one table: the same dimensions, no cell in common (a week each, a mode each)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisegate.tables._matching import match
from noisegate.tables._table import PublishedTable, row_ids
from noisegate.tables._union import unite


def stack_pieces(tables: Sequence[PublishedTable], /) -> list[PublishedTable]:
    """The tables with pieces of one table put together, in the order of their first pieces.

    Two tables that share a cell are not pieces: they are two publications of it, and stay apart.
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
