"""From columns of text to dimensions: which columns are dimensions, their values in order, one list for several tables."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from noisegate.errors import SpecError
from noisegate.reading.columns import Column
from noisegate.reading.overrides import DimensionOverride, TableOverride
from noisegate.reading.published import Codes, ExtraColumn, Ints, PublishedTable, row_ids
from noisegate.reading.values import (
    UNKNOWN_WORDS,
    Form,
    clock_key,
    find_form,
    find_unknown,
    is_decimal,
    split_moments,
)
from noisegate.reading.words import is_code, spaced
from noisegate.tables import NO_ORDINAL, Dimension, Kind, folded, how_many

#: A column that is blank in more than this share of rows holds remarks.
_MOSTLY = 0.9
#: Codes of fewer values than this are no numbers of series or rows.
_FEWEST_COMBINED = 20


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
) -> tuple[list[Column], dict[str, Column], list[ExtraColumn]]:
    """The columns that are dimensions, those with their codes by their names, and the others with the reason why not."""
    names = [column.name for column in columns]
    for name in (*override.ignore, *override.dimensions):
        if name not in names:
            raise SpecError.for_choice(f"a column of table {table}", found=name, allowed=names)
    extra = [ExtraColumn(name=name, reason="ignored as told") for name in names if name in override.ignore]
    kept = [column for column in columns if column.name not in override.ignore]
    tests = (_remarks, _measurement, _determined)
    kept, extra = _passing(kept, extra, tests, override)
    twins, codes = _twins(kept, override)
    gone = [column.name for column in twins]
    extra += [ExtraColumn(name=column.name, reason=f"says the same as {twins[column]}") for column in twins]
    kept = [column for column in kept if column.name not in gone]
    kept, extra = _passing(kept, extra, (_combined, _accompanies), override)
    return kept, codes, extra


def _passing(
    columns: Sequence[Column],
    extra: Sequence[ExtraColumn],
    tests: Sequence[Callable[[Column, Sequence[Column]], str]],
    override: TableOverride,
) -> tuple[list[Column], list[ExtraColumn]]:
    """The columns that no test finds a reason against, and the others with the reason behind those that are out already."""
    kept, out = list(columns), list(extra)
    for test in tests:
        for column in list(kept):
            reason = test(column, kept) if column.name not in override.dimensions else ""
            if reason:
                kept.remove(column)
                out.append(ExtraColumn(name=column.name, reason=reason))
    return kept, out


def _twins(columns: Sequence[Column], override: TableOverride) -> tuple[dict[Column, str], dict[str, Column]]:
    """Columns that say what another one says, with its name; and for names that have codes beside them, the codes."""
    said: dict[Column, str] = {}
    codes: dict[str, Column] = {}
    for place, one in enumerate(columns):
        for other in columns[place + 1 :]:
            if one in said or other in said or not _paired(one, other):
                continue
            if {one.name, other.name} <= set(override.dimensions):
                continue
            code, name = (other, one) if _codeness(other) > _codeness(one) else (one, other)
            if _codeness(code) == _codeness(name) or name.name in codes:
                said[other] = one.name
            else:
                said[code] = name.name
                codes[name.name] = code
    return said, codes


def _codeness(column: Column) -> int:
    """How much a column looks like codes: by its name, by values without blanks that have digits or are short and in capitals."""
    labels = [label for label in column.labels if label]
    compact = all(" " not in label for label in labels)
    digits = any(char.isdigit() for label in labels for char in label)
    capitals = all(len(label) <= 3 and label == label.upper() for label in labels)
    return 2 * is_code(column.name) + (compact and (digits or capitals))


_TWIN_WORDS = re.compile(
    r"[\W_]*(?:codes?|names?|labels?|descriptions?|desc|titles?|id|cd|nm|nr|key|fips|geoid)[\W_]*",
    re.IGNORECASE,
)


def _paired(one: Column, other: Column) -> bool:
    """Whether each value of one column goes with one value of the other, beyond chance; blanks do not count."""
    both = one.where(bool) & other.where(bool)
    if both.mean() < 0.5:
        return False
    left, right = one.codes[both].astype(np.int64), other.codes[both].astype(np.int64)
    values = how_many(left)
    if values < 2 or values != how_many(right) or how_many(left * len(other.labels) + right) != values:
        return False
    if [one.labels[k] for k in left.tolist()] == [other.labels[k] for k in right.tolist()]:
        return True
    stems = [_TWIN_WORDS.sub("", spaced(column.name)).casefold() for column in (one, other)]
    alike = stems[0] == stems[1] or (
        is_code(one.name) != is_code(other.name) and (stems[0] in stems[1] or stems[1] in stems[0])
    )
    # Two dimensions may go together by chance or because little is shown: then one is no code of the other.
    if alike or _codeness(one) == _codeness(other):
        return bool(alike)
    return (
        values >= 10 or (values >= 3 and left.size >= 2 * values) or (values >= 4 and _one_shape(one, other))
    )


def _one_shape(one: Column, other: Column) -> bool:
    """Whether the values of the more codelike of two columns all have one shape, such as E06000001, and those of the other do not."""
    code, name = sorted((one, other), key=_codeness, reverse=True)
    shapes = [
        {re.sub(r"[A-Za-z]", "A", re.sub(r"\d", "9", label)) for label in column.labels if label}
        for column in (code, name)
    ]
    return len(shapes[0]) == 1 and len(shapes[1]) > 1


def _remarks(column: Column, _: Sequence[Column]) -> str:
    if len(column.labels) == 1 and folded(column.labels[0]) in UNKNOWN_WORDS:
        return "empty"
    blank = [code for code, label in enumerate(column.labels) if not label]
    if not blank or not column.codes.size:
        return ""
    share = float(np.isin(column.codes, blank).mean())
    return "empty" if share == 1.0 else "nearly always empty" if share > _MOSTLY else ""


def _measurement(column: Column, _: Sequence[Column]) -> str:
    values = [label for label in column.labels if folded(label) not in UNKNOWN_WORDS]
    return "decimal numbers: a measurement, not a code" if is_decimal(values) else ""


def _determined(column: Column, kept: Sequence[Column]) -> str:
    """Whether a column of many whole numbers says nothing that the other columns do not determine."""
    rows = column.codes.size
    if len(kept) < 2 or len(column.labels) <= max(50, rows // 20):
        return ""
    form = find_form(column.name, column.labels, unknown=[not label for label in column.labels])
    if form.kind is not Kind.NUMBER or not _told_apart(kept, column):
        return ""
    return "a running number" if len(column.labels) == rows else "numbers that the dimensions determine"


def _told_apart(kept: Sequence[Column], without: Column) -> bool:
    """Whether the other columns tell all rows apart."""
    rest = [other for other in kept if other is not without]
    ids = row_ids(np.stack([other.codes for other in rest]), tuple(len(other.labels) for other in rest))
    return bool(np.unique(ids).size == without.codes.size)


def _combined(column: Column, kept: Sequence[Column]) -> str:
    """Whether a column of codes stands for several others together, such as the number of a series or of a row."""
    own = how_many(column.codes)
    if own < _FEWEST_COMBINED or not _codeness(column):
        return ""
    rest = [other for other in kept if other is not column and not _says_several(other, kept)]
    sizes = [how_many(other.codes) for other in rest]
    many = len(rest) >= 2 and own >= 2 * max(sizes)
    crossed = many and math.prod(sizes) <= 2 * column.codes.size
    return "codes of what the other columns say together" if crossed and _told_apart(rest, column) else ""


def _says_several(column: Column, kept: Sequence[Column]) -> bool:
    """Whether each value of a column of codes has one value in two others or more, each of which has fewer."""
    own = how_many(column.codes)
    if own < _FEWEST_COMBINED or not _codeness(column):
        return False
    return (
        sum(
            len(other.labels) < own
            and how_many(column.codes.astype(np.int64) * len(other.labels) + other.codes) == own
            for other in kept
            if other is not column
        )
        > 1
    )


def _accompanies(column: Column, kept: Sequence[Column]) -> str:
    """Whether a few dates go with the values of another column, such as the reporting period of a measure."""
    values = how_many(column.codes)
    if not 2 <= values <= 12:
        return ""
    labels = [label for label in column.labels if folded(label) not in UNKNOWN_WORDS]
    if not labels or find_form(column.name, labels, unknown=[False] * len(labels)).kind is not Kind.DATE:
        return ""
    for other in kept:
        size = how_many(other.codes)
        if other is column or size <= 2 * values or column.codes.size < 3 * size:
            continue
        pairs = how_many(other.codes.astype(np.int64) * len(column.labels) + column.codes)
        if pairs == size:
            return f"dates that go with {other.name}"
    return ""


def encode(
    column: Column, override: TableOverride, /, *, code: Column | None = None
) -> tuple[list[tuple[Dimension, Codes]], list[str]]:
    """The dimension or dimensions of a column with the code of each row, and notes for the reader.

    A column of moments (date and time in one) becomes two dimensions. Where another column holds the codes of its values,
    these are what tells values apart in all files, and the names are what is shown.
    """
    told = [
        override.dimensions[one.name]
        for one in (column, code)
        if one is not None and one.name in override.dimensions
    ]
    decided = told[0] if told else DimensionOverride()
    if code is not None:
        dimension, codes, _ = _encode_one(column, override, decided)
        keyed = replace(dimension, keys=_code_keys(dimension, codes, code))
        return [(keyed, codes)], [
            f"column {code.name!r} holds the codes of {column.name!r}: they are one dimension"
        ]
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


def _code_keys(dimension: Dimension, codes: Codes, code: Column) -> tuple[str, ...]:
    """The code of each value as its key; the value itself where it has none, or one that others have."""
    keys = list(dimension.keys)
    first = {value: row for row, value in reversed(list(enumerate(codes.tolist())))}
    for value, row in first.items():
        keys[value] = folded(code.labels[code.codes[row]]) or keys[value]
    return tuple(keys) if len(set(keys)) == len(keys) else dimension.keys


def _moments(column: Column) -> list[Column]:
    """The date and the time of a column of moments; the date alone when it is always midnight."""
    known = [label for label in column.labels if folded(label) not in UNKNOWN_WORDS]
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


def merged_values(
    table: PublishedTable, position: int, renamed: Mapping[int, str], /
) -> PublishedTable | None:
    """The table with some values of a dimension called otherwise, perhaps as others are; None if a cell got two counts."""
    old = table.dimensions[position]
    labels = [renamed.get(code, label) for code, label in enumerate(old.labels)]
    keys = [folded(renamed[code]) if code in renamed else key for code, key in enumerate(old.keys)]
    spelled = {folded(label): key for label, key in zip(old.labels, old.keys, strict=True)}
    keys = [
        spelled.get(key, key) if code in renamed and key not in old.keys else key
        for code, key in enumerate(keys)
    ]
    place: dict[str, int] = {}
    chosen: list[int] = []
    for code, key in sorted(enumerate(keys), key=lambda pair: (pair[0] in renamed, pair[0])):
        if key not in place:
            place[key] = len(place)
            chosen.append(code)
    order = sorted(range(len(chosen)), key=lambda k: chosen[k])
    rank = {key: order.index(k) for key, k in place.items()}
    recode = np.array([rank[key] for key in keys], dtype=np.int32)
    kept = [chosen[k] for k in order]
    dimension = replace(
        old,
        values=tuple(labels[code] for code in kept),
        groups=(),
        keys=tuple(keys[code] for code in kept),
        ordinals=old.ordinals[kept],
        unknown=old.unknown[kept],
    )
    codes, hidden = table.codes.copy(), table.hidden.copy()
    codes[position], hidden[position] = recode[codes[position]], recode[hidden[position]]
    dimensions = tuple(dimension if i == position else one for i, one in enumerate(table.dimensions))
    return _once(replace(table, dimensions=dimensions, codes=codes, hidden=hidden))


def _once(table: PublishedTable) -> PublishedTable | None:
    """The table with each cell once; None if a cell comes twice with different counts."""
    ids = row_ids(
        np.concatenate([table.codes, table.hidden], axis=1), tuple(one.size for one in table.dimensions)
    )
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    if first.size == ids.size:
        return table
    every = np.concatenate([table.counts.astype(np.float64), -1.0 - table.marks])
    if (every != every[first][place]).any():
        return None
    kept = np.zeros(ids.size, dtype=bool)
    kept[first] = True
    shown, hidden = kept[: table.rows], kept[table.rows :]
    return replace(
        table,
        codes=table.codes[:, shown],
        counts=table.counts[shown],
        hidden=table.hidden[:, hidden],
        marks=table.marks[hidden],
        notes=(*table.notes, f"{int((~kept).sum())} rows give a total once more; they were left out"),
    )


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
    """The other's values in the words of the first: "unknown" where that is clear, and names of what the first has codes of."""
    ours = [key for key, gone in zip(first.keys, first.unknown.tolist(), strict=True) if gone]
    theirs = [key for key, gone in zip(other.keys, other.unknown.tolist(), strict=True) if gone]
    clear = len(ours) == len(theirs) == 1 and ours != theirs and ours[0] not in other.keys
    found = {theirs[0]: ours[0]} if clear else {}
    if first.kind is not Kind.TEXT or other.kind is not Kind.TEXT:
        return found
    known, names = set(first.keys), _by_name(first)
    if len(known & set(other.keys)) < len(other.keys):
        for key, label in zip(other.keys, other.labels, strict=True):
            same = (
                names.get(key)
                or names.get(folded(label))
                or (folded(label) if folded(label) in known else None)
            )
            if (
                key not in known
                and same is not None
                and same not in other.keys
                and same not in found.values()
            ):
                found[key] = same
    return found


def _by_name(dimension: Dimension) -> dict[str, str]:
    """The key of each value by its label in one spelling, where these differ."""
    return {
        folded(label): key
        for key, label in zip(dimension.keys, dimension.labels, strict=True)
        if folded(label) != key
    }


def spellings(dimension: Dimension, /) -> frozenset[str]:
    """What the known values of a dimension are called in any file: by key, and by name where the key is a code."""
    return _spelled(dimension.keys, dimension.labels, dimension.unknown.tobytes())


@lru_cache(maxsize=4096)
def _spelled(keys: tuple[str, ...], labels: tuple[str, ...], unknown: bytes) -> frozenset[str]:
    known = np.frombuffer(unknown, dtype=bool).tolist()
    pairs = [(key, folded(label)) for key, label, gone in zip(keys, labels, known, strict=True) if not gone]
    return frozenset(key for pair in pairs for key in pair)


def declared(values: Sequence[str], like: Dimension, /) -> Dimension:
    """Values that a person declares, as a dimension of the same kind as `like`.

    Dates are given in ISO form and times as HH:MM, as the keys of dimensions are.
    """
    keys = tuple(dict.fromkeys(folded(value) for value in values))
    known = dict(zip(like.keys, like.ordinals.tolist(), strict=True))
    labels = {folded(value): value for value in reversed(values)}
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
