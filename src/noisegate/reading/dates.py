"""Whether dates such as 02/03/2020 have the day or the month first, decided over all columns of all files together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from noisegate.reading.columns import Column
from noisegate.reading.overrides import Overrides
from noisegate.reading.published import PublishedTable
from noisegate.reading.values import find_form
from noisegate.tables import NO_ORDINAL, Dimension, Kind

_SLASHED = re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}")
_ORDERS = {"day": ("%d/%m/%Y", "%d/%m/%y"), "month": ("%m/%d/%Y", "%m/%d/%y")}


def settle_dates(tables: Sequence[PublishedTable], told: Overrides, /) -> list[PublishedTable]:
    """The tables with all dates read one way: the one that fits every value, or the one that makes the shortest span.

    What the overrides say about a column stays as it is.
    """
    places = [
        (table, position)
        for table in tables
        for position, dimension in enumerate(table.dimensions)
        if _is_slashed(dimension) and not _is_told(table, dimension, told)
    ]
    texts = frozenset(text for table in tables for text in table.dates)
    orders = {order: _span(places, texts, patterns) for order, patterns in _ORDERS.items()}
    fitting = {order: span for order, span in orders.items() if span is not None}
    if not places or not fitting:
        return list(tables)
    order = min(fitting, key=lambda one: (fitting[one], one))
    unsure = len(fitting) == 2 and len(set(fitting.values())) == 1
    return [_read_again(table, places, order, len(fitting), unsure=unsure) for table in tables]


def _is_slashed(dimension: Dimension) -> bool:
    known = [
        label for label, gone in zip(dimension.labels, dimension.unknown.tolist(), strict=True) if not gone
    ]
    return dimension.kind is Kind.DATE and bool(known) and all(_SLASHED.fullmatch(label) for label in known)


def _is_told(table: PublishedTable, dimension: Dimension, told: Overrides) -> bool:
    said = told.of(table.sources[0], table.name).dimensions
    return any(one.pattern and dimension.name in {name, one.name} for name, one in said.items())


def slashed(columns: Iterable[Column], /) -> frozenset[str]:
    """The texts such as 02/03/2020 in columns that hold nothing else."""
    found: set[str] = set()
    for column in columns:
        texts = [label for label in column.labels if label]
        if texts and _SLASHED.fullmatch(texts[0]) and all(_SLASHED.fullmatch(text) for text in texts):
            found.update(texts)
    return frozenset(found)


def _span(
    places: Iterable[tuple[PublishedTable, int]], texts: frozenset[str], patterns: Sequence[str]
) -> int | None:
    """How many days lie between the first and the last date, read this way; None if some value does not fit."""
    every = [table.dimensions[position] for table, position in places]
    if texts:
        every.append(Dimension(name="date", values=tuple(sorted(texts))))
    ends: list[int] = []
    for dimension in every:
        days = _days(dimension, patterns)
        if days is None:
            return None
        known = days[days != NO_ORDINAL]
        ends += [int(known.min()), int(known.max())] if known.size else []
    return max(ends) - min(ends) if ends else None


def _days(dimension: Dimension, patterns: Sequence[str]) -> np.ndarray | None:
    form = None
    for pattern in patterns:
        try:
            form = find_form(
                dimension.name, dimension.labels, unknown=dimension.unknown.tolist(), pattern=pattern
            )
        except ValueError:
            continue
        break
    if form is None:
        return None
    return np.array([NO_ORDINAL if one is None else one for one in form.ordinals], dtype=np.int64)


def _read_again(
    table: PublishedTable,
    places: Sequence[tuple[PublishedTable, int]],
    order: str,
    ways: int,
    *,
    unsure: bool,
) -> PublishedTable:
    """The table with its dates in this order."""
    notes = [note for note in table.notes if "read as day first" not in note]
    mine = [position for one, position in places if one is table]
    for position in mine:
        dimension = table.dimensions[position]
        days = _days(dimension, _ORDERS[order])
        if days is None:
            continue
        ranks = np.argsort(np.where(days == NO_ORDINAL, np.iinfo(np.int64).max, days), kind="stable")
        recode = np.empty(ranks.size, dtype=np.int32)
        recode[ranks] = np.arange(ranks.size, dtype=np.int32)
        keys = [
            dimension.keys[k] if days[k] == NO_ORDINAL else str(np.datetime64(int(days[k]), "D"))
            for k in ranks.tolist()
        ]
        new = replace(
            dimension.take(ranks), keys=tuple(keys), ordinals=days[ranks], written=f"dates, {order} first"
        )
        codes, hidden = table.codes.copy(), table.hidden.copy()
        codes[position], hidden[position] = recode[codes[position]], recode[hidden[position]]
        dimensions = tuple(new if i == position else one for i, one in enumerate(table.dimensions))
        table = replace(table, dimensions=dimensions, codes=codes, hidden=hidden)
    if not mine:
        return table
    if unsure:
        notes.append(
            f"dates are read with the {order} first, though the other order fits as well; 'format' in the spec decides"
        )
    elif ways == 2:
        notes.append(f"dates are read with the {order} first, which makes the shorter span over all files")
    return replace(table, notes=tuple(notes))
