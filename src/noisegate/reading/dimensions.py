"""From columns of text to dimensions: which columns are dimensions, their values in order, one list for several tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisegate.errors import SpecError
from noisegate.reading.columns import Column
from noisegate.reading.overrides import DimensionOverride, TableOverride
from noisegate.reading.published import Codes, ExtraColumn, Ints, row_ids
from noisegate.reading.values import (
    UNKNOWN_NUMBERS,
    UNKNOWN_WORDS,
    Form,
    clock_key,
    find_form,
    fold,
    is_decimal,
    split_moments,
)
from noisegate.tables import NO_ORDINAL, Dimension, Kind

#: A column that is blank in more than this share of rows holds remarks.
_MOSTLY = 0.9


def used(column: Column, rows: Ints, /) -> Column:
    """The column on some rows, with only the values that occur there."""
    codes = column.codes[rows]
    present = np.flatnonzero(np.bincount(codes, minlength=len(column.labels)))
    recode = np.zeros(len(column.labels), dtype=np.int32)
    recode[present] = np.arange(present.size, dtype=np.int32)
    return replace(
        column, codes=recode[codes], labels=tuple(column.labels[code] for code in present.tolist())
    )


def choose_dimensions(
    columns: Sequence[Column], override: TableOverride, /, *, table: str
) -> tuple[list[Column], list[ExtraColumn]]:
    """The columns that are dimensions, and the others with the reason why not."""
    names = [column.name for column in columns]
    for name in (*override.ignore, *override.dimensions):
        if name not in names:
            raise SpecError.for_choice(f"a column of table {table}", found=name, allowed=names)
    extra = [ExtraColumn(name=name, reason="ignored as told") for name in names if name in override.ignore]
    kept = [column for column in columns if column.name not in override.ignore]
    for test in (_remarks, _measurement, _determined):
        for column in list(kept):
            reason = test(column, kept) if column.name not in override.dimensions else ""
            if reason:
                kept.remove(column)
                extra.append(ExtraColumn(name=column.name, reason=reason))
    return kept, extra


def _remarks(column: Column, _: Sequence[Column]) -> str:
    blank = [code for code, label in enumerate(column.labels) if not label]
    if not blank or not column.codes.size:
        return ""
    share = float(np.isin(column.codes, blank).mean())
    return "empty" if share == 1.0 else "nearly always empty" if share > _MOSTLY else ""


def _measurement(column: Column, _: Sequence[Column]) -> str:
    values = [label for label in column.labels if fold(label) not in UNKNOWN_WORDS]
    return "decimal numbers: a measurement, not a code" if is_decimal(values) else ""


def _determined(column: Column, kept: Sequence[Column]) -> str:
    """Whether a column of many whole numbers says nothing that the other columns do not determine."""
    rows = column.codes.size
    if len(kept) < 2 or len(column.labels) <= max(50, rows // 20):
        return ""
    form = find_form(column.name, column.labels, unknown=[not label for label in column.labels])
    rest = [other for other in kept if other is not column]
    ids = row_ids(np.stack([other.codes for other in rest]), tuple(len(other.labels) for other in rest))
    if form.kind is not Kind.NUMBER or np.unique(ids).size < rows:
        return ""
    return "a running number" if len(column.labels) == rows else "numbers that the dimensions determine"


def encode(column: Column, override: TableOverride, /) -> tuple[list[tuple[Dimension, Codes]], list[str]]:
    """The dimension or dimensions of a column with the code of each row, and notes for the reader.

    A column of moments (date and time in one) becomes two dimensions.
    """
    decided = override.dimensions.get(column.name, DimensionOverride())
    moments = _moments(column) if decided.kind is None and decided.pattern is None else []
    if moments:
        parts = [_encode_one(part, override, DimensionOverride()) for part in moments]
        names = " and ".join(part.name for part in moments)
        notes = [
            f"column {column.name!r} holds date and time; it was split into {names}"
            if len(moments) > 1
            else f"column {column.name!r} holds midnights only; they were read as dates"
        ]
        return [(dimension, codes) for dimension, codes, _ in parts], notes
    dimension, codes, note = _encode_one(column, override, decided)
    return [(dimension, codes)], [f"column {column.name!r}: {note}"] if note else []


def _moments(column: Column) -> list[Column]:
    """The date and the time of a column of moments; the date alone when it is always midnight."""
    known = [label for label in column.labels if fold(label) not in UNKNOWN_WORDS]
    pairs = split_moments(known)
    if pairs is None:
        return []
    parts = dict(zip(known, pairs, strict=True))
    split = [("date", 0), ("time", 1)] if len({clock for _, clock in pairs}) > 1 else [("date", 0)]
    columns = []
    for name, side in split:
        texts = [parts[label][side] if label in parts else label for label in column.labels]
        place = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        recode = np.array([place[text] for text in texts], dtype=np.int32)
        full = column.name if len(split) == 1 else f"{column.name} {name}"
        columns.append(Column(name=full, codes=recode[column.codes], labels=tuple(place)))
    return columns


def _encode_one(
    column: Column, override: TableOverride, decided: DimensionOverride
) -> tuple[Dimension, Codes, str]:
    unknown = find_unknown(column.labels, override.missing)
    form = find_form(column.name, column.labels, unknown=unknown, kind=decided.kind, pattern=decided.pattern)
    order = sorted(range(len(column.labels)), key=lambda k: _rank(form, k, gone=unknown[k]))
    place: dict[str, int] = {}
    for k in order:
        place.setdefault(form.keys[k], len(place))
    recode = np.array([place[key] for key in form.keys], dtype=np.int32)
    first = {form.keys[k]: k for k in reversed(order)}
    chosen = [first[key] for key in place]
    dimension = Dimension(
        name=decided.name or column.name,
        kind=form.kind,
        written=form.written,
        values=tuple(column.labels[k] for k in chosen),
        keys=tuple(place),
        ordinals=np.array([_ordinal(form.ordinals[k]) for k in chosen], dtype=np.int64),
        unknown=np.array([unknown[k] for k in chosen], dtype=bool),
        step=decided.step if decided.step and form.kind is Kind.TIME else form.step,
    )
    return dimension, recode[column.codes], form.note


def _ordinal(value: int | None) -> int:
    return NO_ORDINAL if value is None else value


def _rank(form: Form, k: int, *, gone: bool) -> tuple[bool, bool, int, str]:
    """Known values before unknown ones, numbers before words, then by size or by spelling."""
    ordinal = form.ordinals[k]
    return gone, ordinal is None, ordinal or 0, form.keys[k]


def find_unknown(labels: Sequence[str], missing: Sequence[str] | None = None, /) -> list[bool]:
    """Which values mean "not known": words, and -1 and the like where nothing else is negative."""
    if missing is not None:
        told = {fold(label) for label in missing}
        return [fold(label) in told for label in labels]
    others = any(
        label.startswith("-") and label[1:].isdigit() and label not in UNKNOWN_NUMBERS for label in labels
    )
    numbers = frozenset() if others else UNKNOWN_NUMBERS
    return [fold(label) in UNKNOWN_WORDS or label in numbers for label in labels]


def unite(dimensions: Sequence[Dimension], /) -> tuple[Dimension, list[Codes]]:
    """The dimension with the values of all, named as the first; and for each, its codes' new codes.

    Values are the same when their keys are. Where each of two dimensions has one way to say "unknown",
    both ways mean the same value.
    """
    first = dimensions[0]
    stray = [_alias(first, other) for other in dimensions]
    found: dict[str, tuple[bool, bool, int, str, str]] = {}
    for dimension, alias in zip(dimensions, stray, strict=True):
        columns = zip(
            dimension.keys,
            dimension.labels,
            dimension.ordinals.tolist(),
            dimension.unknown.tolist(),
            strict=True,
        )
        for key, label, ordinal, unknown in columns:
            known = alias.get(key, key)
            found.setdefault(known, (unknown, ordinal == NO_ORDINAL, ordinal, known, label))
    ranked = sorted(found.values())
    place = {entry[3]: code for code, entry in enumerate(ranked)}
    recode = [
        np.array([place[alias.get(key, key)] for key in dimension.keys], dtype=np.int32)
        for dimension, alias in zip(dimensions, stray, strict=True)
    ]
    united = replace(
        first,
        values=_distinct([(entry[4], entry[3]) for entry in ranked]),
        keys=tuple(entry[3] for entry in ranked),
        ordinals=np.array([entry[2] for entry in ranked], dtype=np.int64),
        unknown=np.array([entry[0] for entry in ranked], dtype=bool),
        kind=first.kind if len({d.kind for d in dimensions}) == 1 else Kind.TEXT,
        step=first.step or next((d.step for d in dimensions if d.step), None),
    )
    return united, recode


def _distinct(labels: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Labels with their keys: a label that two files write for two values is told apart by its key."""
    times = Counter(label for label, _ in labels)
    return tuple(label if times[label] == 1 else f"{label} ({key})" for label, key in labels)


def _alias(first: Dimension, other: Dimension) -> dict[str, str]:
    """The other's word for "unknown" in the words of the first, where that is clear."""
    ours = [key for key, gone in zip(first.keys, first.unknown.tolist(), strict=True) if gone]
    theirs = [key for key, gone in zip(other.keys, other.unknown.tolist(), strict=True) if gone]
    clear = len(ours) == len(theirs) == 1 and ours != theirs and ours[0] not in other.keys
    return {theirs[0]: ours[0]} if clear else {}


def declared(values: Sequence[str], like: Dimension, /) -> Dimension:
    """Values that a person declares, as a dimension of the same kind as `like`.

    Dates are given in ISO form and times as HH:MM, as the keys of dimensions are.
    """
    keys = tuple(dict.fromkeys(fold(value) for value in values))
    known = dict(zip(like.keys, like.ordinals.tolist(), strict=True))
    labels = {fold(value): value for value in reversed(values)}
    return replace(
        like,
        values=tuple(labels[key] for key in keys),
        keys=keys,
        ordinals=np.array([known.get(key, _ordinal_of_key(key, like.kind)) for key in keys], dtype=np.int64),
        unknown=np.zeros(len(keys), dtype=bool),
    )


def _ordinal_of_key(key: str, kind: Kind) -> int:
    if kind is Kind.TIME and len(key) == 5 and key[2] == ":" and (key[:2] + key[3:]).isdigit():
        return 60 * int(key[:2]) + int(key[3:])
    if kind is Kind.DATE:
        try:
            return int(np.datetime64(key, "D").astype(np.int64))
        except ValueError:
            return NO_ORDINAL
    return int(key) if kind is Kind.NUMBER and key.lstrip("-").isdigit() else NO_ORDINAL


def time_grid(dimension: Dimension, /) -> Dimension:
    """All bins of a time dimension from its first to its last, whether shown or not."""
    known = dimension.ordinals[dimension.ordinals != NO_ORDINAL]
    if dimension.kind is not Kind.TIME or not dimension.step or not known.size:
        return dimension
    starts = np.arange(int(known.min()), int(known.max()) + 1, dimension.step)
    keys = tuple(clock_key(start) for start in starts.tolist())
    written = dict(zip(dimension.keys, dimension.labels, strict=True))
    return replace(
        dimension,
        values=_distinct([(written.get(key, key), key) for key in keys]),
        keys=keys,
        ordinals=starts.astype(np.int64),
        unknown=np.zeros(starts.size, dtype=bool),
    )
