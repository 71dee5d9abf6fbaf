"""Rows of one column of counts that do not belong together: proportions among counts, and several breakdowns below each other.

area, unit, value                    the rows in percent are set aside
breakdown, area, value               a table for each breakdown: England, region, district
area, measure, value                 a dimension that says what is counted; nothing is summed over it
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisegate.reading.columns import Column
from noisegate.reading.layout import Laid
from noisegate.reading.published import Bools, ExtraColumn, SetAside, row_ids
from noisegate.reading.words import chooses_measure, is_code, is_no_count, spaced
from noisegate.tables import how_many

#: Values that a column which chooses between measures may have.
_MOST_MEASURES = 500
#: Rows that a value must have before decimals under it say that it stands for something else than counts.
_ENOUGH = 3
_BREAKDOWN = re.compile(
    r"(?:.*\b)?(?:characteristics?|stratification[ _]?category ?\d?|subgroup[ _]type|group[ _]type|breakdown|geograph(?:y|ic)[ _](?:type|level)|area[ _]type|geo[ _](?:type|level)|aggregation(?:[ _]level)?|table|level|org[ _]type|organisation[ _]type)",
    re.IGNORECASE,
)
_STRONG = re.compile(r"\bmedian\b|\bmean\b|\baverage\b|%|\bper ?cent|\bproportion\b|\brate\b", re.IGNORECASE)


def split_measures(laid: Laid, /, *, file: str) -> tuple[list[Laid], list[SetAside]]:
    """The table for each measure and each breakdown that a column tells apart, and the rows that are no counts."""
    kept, aside = _without_proportions(_scaled(laid), file)
    return _by_breakdown(_without_attributes(_named(kept))), aside


_SCALE = re.compile(
    r"(?:scalar|unit)[ _]?(?:factor|mult(?:iplier)?)|multiplier|power ?code(?: code)?|scalar ?id|units? of scale",
    re.IGNORECASE,
)
_POWERS = {
    "units": 0,
    "unit": 0,
    "tens": 1,
    "hundreds": 2,
    "thousands": 3,
    "thousand": 3,
    "millions": 6,
    "million": 6,
}
_IN_NAME = re.compile(r"\(\s*(?:in )?(?:thousands|'?000s?)\s*\)|\bin thousands\b|'000\b", re.IGNORECASE)


def _scaled(laid: Laid) -> Laid:
    """The table with counts as they are, where a column or their name says that they are written in thousands or millions."""
    scales = {
        k: power
        for k, column in _keys(laid)
        if _SCALE.fullmatch(spaced(column.name)) and (power := _power(column)) is not None
    }
    counts = laid.raw.columns[laid.position]
    told = [
        *scales.values(),
        *([3] if _IN_NAME.search(" ".join((*counts.path, counts.name, laid.measure))) else []),
    ]
    if not told:
        return laid
    power = max(told)
    values = laid.numbers.values * 10.0**power
    near = np.rint(np.where(np.isfinite(values), values, 0))
    whole = np.where(np.abs(values - near) < 1e-6 * 10.0**power, near, values)
    note = f"counts are written in units of {10**power:,}, as the file says; they were multiplied by that"
    extra = tuple(
        ExtraColumn(name=laid.raw.columns[k].name, reason="says in what units counts are written")
        for k in scales
    )
    return replace(
        _without(laid, set(scales)),
        numbers=replace(laid.numbers, values=whole) if power else laid.numbers,
        extra=(*laid.extra, *extra),
        notes=(*laid.notes, note) if power else laid.notes,
    )


def _power(column: Column) -> int | None:
    """The power of ten that a column says in all rows; None if it says several, or none."""
    used = np.unique(column.codes).tolist()
    text = column.labels[used[0]].strip().casefold() if len(used) == 1 else ""
    if text in _POWERS:
        return _POWERS[text]
    return int(text) if text in {"0", "1", "2", "3", "6", "9"} else None


def _decimals(laid: Laid) -> Bools:
    values = laid.numbers.values
    odd = np.isfinite(values) & (values != np.rint(np.where(np.isfinite(values), values, 0)))
    return np.asarray(odd[laid.raw.columns[laid.position].codes])


def _keys(laid: Laid) -> list[tuple[int, Column]]:
    return [(k, column) for k, column in enumerate(laid.raw.columns) if k != laid.position]


def _without_proportions(laid: Laid, file: str) -> tuple[Laid, list[SetAside]]:
    """The table without rows of proportions, means and the like: by the wording of a value, and by decimals that only it has."""
    odd = _decimals(laid)
    gone = np.zeros(laid.raw.rows, dtype=bool)
    told: list[tuple[str, Bools]] = []
    for _, column in _keys(laid):
        worded = [is_no_count(label) for label in column.labels]
        if not any(worded) or all(worded) or len(column.labels) > _MOST_MEASURES:
            continue
        for code in np.flatnonzero(worded).tolist():
            mine = column.codes == code
            label = column.labels[code]
            whole_elsewhere = not odd[~mine].any()
            if not (mine & ~gone).any() or not (
                bool(_STRONG.search(label)) or (odd[mine].any() and whole_elsewhere)
            ):
                continue
            told.append((f"no counts: {column.name} is {label[:40]!r}", mine & ~gone))
            gone |= mine
    if odd[~gone].any():
        told += [(reason, mine & ~gone) for reason, mine in _by_decimals(laid, odd, gone)]
        for _, mine in told:
            gone |= mine
    if not gone.any() or gone.all():
        return laid, []
    aside = [laid.raw.aside(reason, mine, file) for reason, mine in told if mine.any()]
    return replace(laid, raw=laid.raw.take(~gone)), _merged(aside)


def _merged(aside: list[SetAside]) -> list[SetAside]:
    """At most a few reasons; the rest in one."""
    if len(aside) <= 4:
        return aside
    rest = aside[3:]
    return [
        *aside[:3],
        replace(
            rest[0], reason=f"no counts, as {len(rest)} more values say", rows=sum(one.rows for one in rest)
        ),
    ]


def _by_decimals(laid: Laid, odd: Bools, gone: Bools) -> list[tuple[str, Bools]]:
    """Values of one column under which numbers are decimals throughout, while under all its others they are whole."""
    for _, column in sorted(_keys(laid), key=lambda pair: len(pair[1].labels)):
        if not 2 <= len(column.labels) <= _MOST_MEASURES:
            continue
        size = len(column.labels)
        rows = np.bincount(column.codes[~gone], minlength=size)
        part = np.bincount(column.codes[odd & ~gone], minlength=size)
        mixed = part > 0
        if not mixed.any() or rows[mixed].min() < _ENOUGH or rows[~mixed].sum() < _ENOUGH:
            continue
        if (part[mixed] >= 0.3 * rows[mixed]).all():
            return [
                (
                    f"no counts: decimal numbers where {column.name} is {column.labels[k][:40]!r}",
                    column.codes == k,
                )
                for k in np.flatnonzero(mixed).tolist()
            ]
    return []


def _named(laid: Laid) -> Laid:
    """The table without a column that says the same measure in every row; with several, that is a dimension never summed over."""
    single = {
        k: column for k, column in _keys(laid) if chooses_measure(column.name) and how_many(column.codes) == 1
    }
    if not single:
        return laid
    named = [column for column in single.values() if not is_code(column.name)] or list(single.values())
    plain = [column for column in named if not re.search(r"\d", _label(column))]
    return _without(laid, set(single), measure=_label((plain or named)[0]))


def _without_attributes(laid: Laid) -> Laid:
    """The table without columns that say something of each measure, such as its unit or its reporting period."""
    choosing = [column for _, column in _keys(laid) if chooses_measure(column.name)]
    sizes = [how_many(column.codes) for column in choosing]
    if not choosing or max(sizes) < 3:
        return laid
    leader = choosing[int(np.argmax(sizes))]
    gone = {
        k: column
        for k, column in _keys(laid)
        if not chooses_measure(column.name)
        and 2 <= how_many(column.codes) < max(sizes)
        and _determines(leader, column)
    }
    if len(gone) > 1 and _stand_for(leader, list(gone.values())):
        return laid  # the number of a series, and no measure
    extra = tuple(
        ExtraColumn(name=column.name, reason=f"goes with {leader.name}") for column in gone.values()
    )
    return replace(_without(laid, set(gone)), extra=(*laid.extra, *extra)) if gone else laid


def _stand_for(one: Column, others: Sequence[Column]) -> bool:
    """Whether values of several columns together go with one value of a column."""
    ids = row_ids(np.stack([other.codes for other in others]), tuple(len(other.labels) for other in others))
    _, code = np.unique(ids, return_inverse=True)
    pairs = how_many(code.astype(np.int64) * len(one.labels) + one.codes)
    return bool(pairs == code.max(initial=-1) + 1)


def _label(column: Column) -> str:
    return column.labels[int(column.codes[0])] if column.codes.size else ""


def _determines(one: Column, other: Column) -> bool:
    """Whether each value of the first goes with one value of the second."""
    pairs = how_many(one.codes.astype(np.int64) * len(other.labels) + other.codes)
    return bool(pairs == how_many(one.codes))


def _without(laid: Laid, drop: set[int], /, *, measure: str | None = None, name: str | None = None) -> Laid:
    """The table without some columns."""
    columns = tuple(column for k, column in enumerate(laid.raw.columns) if k not in drop)
    position = columns.index(laid.raw.columns[laid.position])
    raw = replace(laid.raw, columns=columns)
    joined = " ".join(filter(None, (laid.measure, measure or "")))
    return replace(laid, raw=raw, position=position, measure=joined, name=laid.name if name is None else name)


def _by_breakdown(laid: Laid) -> list[Laid]:
    """A table for each breakdown; a column with one value there says nothing of its own, as "England" in the row of England."""
    for place, column in _keys(laid):
        if (
            not _BREAKDOWN.fullmatch(spaced(column.name))
            or not 2 <= (present := how_many(column.codes)) <= 20
        ):
            continue
        others = {k: other for k, other in _keys(laid) if k != place and how_many(other.codes) > 1}
        inner = [
            k for k, other in others.items() if _determines(other, column) and how_many(other.codes) > present
        ]
        if not inner and not _jointly(list(others.values()), column):
            continue
        found = []
        for code in dict.fromkeys(column.codes.tolist()):
            part = replace(laid, raw=laid.raw.take(column.codes == code))
            single = {k for k in others if how_many(part.raw.columns[k].codes) == 1}
            one = _without(part, single | {place}, name=column.labels[code])
            names = [laid.raw.columns[k].name for k in inner]
            found.append(_called(one, names, column.labels[code]) if inner else one)
        return found
    return [laid]


def _jointly(others: list[Column], column: Column) -> bool:
    """Whether several columns together tell the breakdown of each row: each breakdown leaves other ones of them blank."""
    if not others:
        return False
    sizes = tuple(len(other.labels) for other in others)
    ids = row_ids(np.stack([other.codes for other in others]), sizes)
    pairs = row_ids(np.stack([ids, column.codes.astype(np.int64)]), (int(ids.max()) + 1, len(column.labels)))
    idle = {
        tuple(how_many(other.codes[column.codes == code]) == 1 for other in others)
        for code in np.unique(column.codes).tolist()
    }
    return bool(how_many(pairs) == how_many(ids)) and len(idle) > 1


def _called(laid: Laid, inner: list[str], breakdown: str) -> Laid:
    """The columns that say which unit of a breakdown a row is about are called by the breakdown; codes are the shorter ones."""
    own = sorted((column for column in laid.raw.columns if column.name in inner), key=_letters)
    names = {
        column.name: breakdown if k == len(own) - 1 else f"{breakdown} code"
        for k, column in enumerate(own[-2:], start=len(own) - len(own[-2:]))
    }
    names |= {column.name: column.name for column in own[:-2]}
    columns = tuple(replace(column, name=names.get(column.name, column.name)) for column in laid.raw.columns)
    return replace(laid, raw=replace(laid.raw, columns=columns))


def _letters(column: Column) -> float:
    used = np.unique(column.codes).tolist()
    return sum(len(column.labels[k]) for k in used) / max(len(used), 1)
