"""Rows that are no counts: headings between the rows, notes below them, columns of remarks.

    Auckland Central                     a heading: what the rows below it have in common
      0-4 years        1134  1074
      5-9 years         888   849
    Bay of Plenty
      ...

Headings become columns of their own, one for each level that they have. How many levels there are is told by the longest run of
headings; a shorter run changes the inner levels only.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from noisegate.reading.columns import Column, RawTable
from noisegate.reading.counts import numeric_share
from noisegate.reading.published import Bools, ExtraColumn, SetAside, row_ids
from noisegate.reading.words import is_remarks, kind_of_labels, without_notes

#: A text of so many letters is a note rather than a heading or a value.
_NOTE_LETTERS = 120
#: Levels of headings at most.
_MOST_LEVELS = 4


def without_remarks(raw: RawTable, /) -> tuple[RawTable, list[ExtraColumn]]:
    """The table without columns of remarks, whose texts become notes."""
    kept, extra, notes = [], [], list(raw.notes)
    for column in raw.columns:
        texts = [label for label in column.labels if label]
        mean = sum(map(len, texts)) / max(len(texts), 1)
        wordy = is_remarks(column.name) and numeric_share(column, ",") < 0.5
        # A long text in every row may be a value; remarks are made here and there, or once for all.
        scattered = len(texts) < len(column.labels) or len(texts) == 1
        if wordy or (mean > _NOTE_LETTERS and scattered and len(texts) < raw.rows / 2):
            extra.append(ExtraColumn(name=column.name, reason="remarks"))
            notes += texts[:50]
        else:
            kept.append(column)
    return replace(raw, columns=tuple(kept), notes=tuple(notes)), extra


def without_blanks(raw: RawTable, /, *, file: str) -> tuple[RawTable, list[SetAside]]:
    """The table without rows that hold nothing."""
    empty = np.logical_and.reduce([column.where(lambda text: not text) for column in raw.columns])
    if not empty.any() or empty.all():
        return raw, []
    return raw.take(~empty), [raw.aside("blank line", empty, file)]


def split_keys(raw: RawTable, /) -> tuple[RawTable, str, list[str]]:
    """The table with a column of joined values taken apart, such as `sex,age,geo` with `F,Y15,AT`.

    Also what the other columns are values of, where the joined name says so behind a backslash, and what was done.
    """
    for place, column in enumerate(raw.columns):
        name, _, over = column.name.partition("\\")
        names = [part.strip() for part in name.split(",")]
        texts = [label.split(",") for label in column.labels]
        if len(names) < 2 or not all(names) or any(len(parts) != len(names) for parts in texts):
            continue
        apart = [Column.of(one, [parts[k].strip() for parts in texts]) for k, one in enumerate(names)]
        columns = [replace(one, codes=one.codes[column.codes]) for one in apart]
        whole = (*raw.columns[:place], *columns, *raw.columns[place + 1 :])
        note = f"the column {column.name!r} was taken apart at its commas"
        return replace(raw, columns=whole), over.strip(), [note]
    return raw, "", []


def filled_down(raw: RawTable, /, *, delimiter: str) -> tuple[RawTable, list[str]]:
    """The table with blanks below a value filled by it, in leading columns that are written once for several rows.

    That is so where rows are told apart only then; or where the column comes first and each of its values in one place alone.
    """
    keys = [k for k, column in enumerate(raw.columns) if numeric_share(column, delimiter) < 0.75]
    notes: list[str] = []
    columns = list(raw.columns)
    for turn, place in enumerate(keys[:-1]):
        column = columns[place]
        blank = column.where(lambda text: not text)
        if not 0.3 <= blank.mean() < 1 or blank[0]:
            continue
        shown = column.codes[~blank]
        runs = 1 + int(np.count_nonzero(np.diff(shown)))
        once = turn == 0 and runs == np.unique(shown).size == shown.size > 1
        rest = [columns[k] for k in keys if k != place]
        filled = _filled(column, blank)
        if once or _told(rest, column) < 0.95 <= _told(rest, filled):
            columns[place] = filled
            notes.append(
                f"the column {column.name!r} is written once for several rows; its blanks were filled from above"
            )
    return (replace(raw, columns=tuple(columns)) if notes else raw), notes


def _filled(column: Column, blank: Bools) -> Column:
    place = np.maximum.accumulate(np.where(blank, -1, np.arange(blank.size)))
    return replace(column, codes=column.codes[np.maximum(place, 0)])


def _told(rest: list[Column], column: Column) -> float:
    """The share of rows that these columns tell apart."""
    every = [*rest, column]
    ids = row_ids(np.stack([c.codes for c in every]), tuple(len(c.labels) for c in every))
    return np.unique(ids).size / max(ids.size, 1)


def clean_labels(raw: RawTable, /) -> RawTable:
    """The table with labels freed of marks of footnotes, unless two labels would become one."""
    columns = []
    for column in raw.columns:
        clean = [without_notes(label) for label in column.labels]
        same = len(set(clean)) == len(clean)
        columns.append(
            replace(column, labels=tuple(clean)) if same and tuple(clean) != column.labels else column
        )
    return replace(raw, columns=tuple(columns))


def with_headings(
    raw: RawTable, /, *, delimiter: str, file: str
) -> tuple[RawTable, list[SetAside], list[ExtraColumn]]:
    """The table with its headings as columns, and without notes among its rows."""
    values = [k for k, column in enumerate(raw.columns) if numeric_share(column, delimiter) >= 0.75]
    keys = [k for k, column in enumerate(raw.columns) if k not in values and any(column.labels)]
    if not values or not keys:
        return raw, [], []
    stub = keys[0]
    empty = np.logical_and.reduce([raw.columns[k].where(lambda text: not text) for k in values])
    alone = np.logical_and.reduce(
        [raw.columns[k].where(lambda text: not text) for k in keys[1:]] or [np.ones(raw.rows, bool)]
    )
    lone = empty & alone & raw.columns[stub].where(bool)
    if not lone.any() or lone.all():
        return raw, [], []
    last = int(np.flatnonzero(~empty).max(initial=-1))
    wordy = raw.columns[stub].where(lambda text: len(text) > _NOTE_LETTERS)
    notes = lone & (wordy | (np.arange(raw.rows) > last))
    headings = lone & ~notes
    if len(values) == 1 and len(keys) == 1 and not _stub_repeats(raw, stub, ~lone):
        headings[:] = False
    aside = [raw.aside("a note", notes, file)] if notes.any() else []
    texts = raw.columns[stub].labels
    noted = replace(raw, notes=(*raw.notes, *(texts[k] for k in raw.columns[stub].codes[notes].tolist())))
    if not headings.any():
        return noted.take(~notes) if notes.any() else raw, aside, []
    levels = _levels(raw.columns[stub], headings, notes)
    kept = noted.take(~(headings | notes))
    chosen, extra = _needed([column.take(~(headings | notes)) for column in levels], kept)
    return replace(kept, columns=_renamed(chosen, kept.columns, stub)), aside, extra


def _stub_repeats(raw: RawTable, stub: int, rows: Bools) -> bool:
    codes = raw.columns[stub].codes[rows]
    return np.unique(codes).size < codes.size


def _levels(stub: Column, headings: Bools, notes: Bools) -> list[Column]:
    """A column for each level of headings, from the outermost, on all rows."""
    rows = np.flatnonzero(headings)
    skipped = np.cumsum(notes)
    joined = np.diff(rows) - np.diff(skipped[rows]) == 1
    starts = np.flatnonzero(np.concatenate([[True], ~joined]))
    lengths = np.diff(np.append(starts, rows.size))
    depth = min(int(lengths.max()), _MOST_LEVELS)
    codes = np.full((depth, headings.size), -1, np.int64)
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        run = rows[start : start + length][-depth:]
        for k, row in enumerate(run.tolist()):
            codes[depth - len(run) + k, row] = stub.codes[row]
    blank = len(stub.labels)
    found = []
    for level in codes:
        place = np.where(level >= 0, np.arange(level.size), -1)
        place = np.maximum.accumulate(place)
        filled = np.where(place >= 0, level[place], blank)
        present, onto = np.unique(filled, return_inverse=True)
        labels = (*stub.labels, "")
        found.append(
            Column(
                name="heading", codes=onto.astype(np.int32), labels=tuple(labels[k] for k in present.tolist())
            )
        )
    return found


def _needed(levels: list[Column], kept: RawTable) -> tuple[list[Column], list[ExtraColumn]]:
    """The levels without which rows would not be told apart; the outer ones go first."""
    keys = [column for column in kept.columns if numeric_share(column, ",") < 0.75] or list(kept.columns[:1])
    chosen, extra = list(levels), []
    for level in levels:
        rest = [*(one for one in chosen if one is not level), *keys]
        ids = row_ids(np.stack([c.codes for c in rest]), tuple(len(c.labels) for c in rest))
        if np.unique(ids).size >= 0.95 * ids.size:
            chosen.remove(level)
            shown = next((label for label in level.labels if label), "")
            extra.append(ExtraColumn(name=shown[:40], reason="headings that rows are told apart without"))
    return chosen, extra


def _renamed(levels: list[Column], columns: tuple[Column, ...], stub: int) -> tuple[Column, ...]:
    """Levels and columns; what stands over the first column may name several of them: "Age group and region"."""
    own = columns[stub]
    parts = [
        part.strip()
        for part in re.split(r",\s*(?:and\s+)?|\s+and\s+|\s+by\s+|\s*/\s*", own.name)
        if part.strip()
    ]
    every = [*levels, own]
    names = (
        _assigned(every, parts)
        if len(parts) == len(every)
        else [_level_name(k, one) for k, one in enumerate(levels)] + [own.name]
    )
    renamed = [replace(one, name=name) for one, name in zip(every, names, strict=True)]
    return (*renamed[:-1], *columns[:stub], renamed[-1], *columns[stub + 1 :])


def _level_name(place: int, level: Column) -> str:
    return kind_of_labels([label for label in level.labels if label]) or (
        "heading" if place == 0 else f"heading {place + 1}"
    )


def _assigned(columns: list[Column], parts: list[str]) -> list[str]:
    """Which part of a name is which column: by what the values are, the others as they come, the last part first."""
    left = list(parts)
    names: list[str] = [""] * len(columns)
    for k, column in enumerate(columns):
        kind = kind_of_labels([label for label in column.labels if label][:200], about="")
        fitting = [part for part in left if kind and kind in part.casefold()]
        if fitting:
            names[k] = fitting[0]
            left.remove(fitting[0])
    for k in range(len(names)):
        if not names[k]:
            names[k] = left.pop()
    return names
