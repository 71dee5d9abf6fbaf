"""Which column holds the counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from noisegate.errors import DataError, SpecError
from noisegate.reading._columns import Column
from noisegate.reading._forms import find_form
from noisegate.reading._numbers import Numbers, read_numbers
from noisegate.reading._table import Kind, row_ids

#: Names that say "count" beyond doubt, and names that often mean it.
_SURE = frozenset({"count", "counts", "cnt", "n", "freq", "frequency", "obs value", "obsvalue"})
_LIKELY = frozenset(
    {
        "value",
        "values",
        "number",
        "num",
        "total",
        "taps",
        "trips",
        "journeys",
        "passengers",
        "riders",
        "boardings",
    }
    | {
        "persons",
        "people",
        "population",
        "cases",
        "observations",
        "records",
        "events",
        "quantity",
        "published",
    }
)
#: Share of a column's rows that must be numbers or marks for hidden ones.
_ENOUGH = 0.5


def find_count(
    columns: Sequence[Column], /, *, table: str, delimiter: str, given: str | None = None
) -> tuple[int, Numbers]:
    """The position of the count column and its distinct values as numbers.

    A column named for it comes first; without one, the only column of numbers that is no date, no time
    and not the same everywhere. Where two columns are equally good, none is chosen.
    """
    names = [column.name for column in columns]
    if given is not None:
        if given not in names:
            raise SpecError.for_choice(f"count of table {table}", found=given, allowed=names)
        position = names.index(given)
        return position, _checked(columns[position], table, delimiter)
    scores = [_name_score(name) for name in names]
    best = max(scores)
    if best > 0:
        top = [position for position, score in enumerate(scores) if score == best]
        numeric = [position for position in top if _numeric_share(columns[position], delimiter) >= _ENOUGH]
        if len(numeric) > 1:
            raise _ambiguous([names[position] for position in numeric], table)
        return (numeric or top)[0], _checked(columns[(numeric or top)[0]], table, delimiter)
    return _nameless(columns, table, delimiter)


def _nameless(columns: Sequence[Column], table: str, delimiter: str) -> tuple[int, Numbers]:
    """The one column that can only be counts."""
    able = [
        position
        for position, column in enumerate(columns)
        if _numeric_share(column, delimiter) >= 0.9 and _varies(column)
    ]
    if not able:
        raise DataError(
            f"{table} has no count column: none of {_listed([c.name for c in columns])} is named like one or holds "
            "numbers that can only be counts. Name it with 'count' in the spec."
        )
    if len(able) > 1:
        # Rows stay distinct without their count; without a dimension they do not.
        spare = [position for position in able if _distinct_without(columns, position)]
        able = spare if len(spare) == 1 else able
    if len(able) > 1:
        raise _ambiguous([columns[position].name for position in able], table)
    return able[0], read_numbers(columns[able[0]].labels, delimiter=delimiter)


def _distinct_without(columns: Sequence[Column], position: int) -> bool:
    rest = [column for place, column in enumerate(columns) if place != position]
    ids = row_ids(np.stack([column.codes for column in rest]), tuple(len(column.labels) for column in rest))
    return np.unique(ids).size == ids.size


def _name_score(name: str) -> float:
    words = " ".join(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold())).strip()
    if words in _SURE:
        return 1.0
    parts = set(words.split())
    if parts & {"count", "counts"}:
        return 0.9
    return 0.7 if words in _LIKELY else 0.0


def _numeric_share(column: Column, delimiter: str) -> float:
    """Share of rows with something in them that hold a number or a mark for a hidden one."""
    if not column.labels:
        return 0.0
    numbers = read_numbers(column.labels, delimiter=delimiter)
    rows = np.bincount(column.codes, minlength=len(column.labels))
    filled = int(rows[~numbers.blank].sum())
    good = int(rows[numbers.is_number].sum())
    hidden = int(rows[numbers.marked & ~numbers.is_number].sum())
    return 0.0 if good == 0 or not filled else (good + hidden) / filled


def _varies(column: Column) -> bool:
    """Whether a column of numbers has many values and is neither dates nor times."""
    sample = [label for label in column.labels[:2000] if label]
    form = find_form(column.name, sample, unknown=[False] * len(sample))
    return len(sample) > 1 and form.kind not in {Kind.DATE, Kind.TIME}


def _checked(column: Column, table: str, delimiter: str) -> Numbers:
    """The numbers of a column that is named for counts; refuse it when it holds text."""
    numbers = read_numbers(column.labels, delimiter=delimiter)
    if _numeric_share(column, delimiter) < _ENOUGH:
        odd = [
            label[:20]
            for label, bad in zip(
                column.labels, ~(numbers.is_number | numbers.marked | numbers.blank), strict=True
            )
            if bad
        ]
        found = f"text such as {odd[0]!r}" if odd else "hardly any numbers"
        raise DataError(
            f"Column {column.name!r} of {table} should hold counts but holds {found}; "
            "name the column of numbers with 'count' in the spec."
        )
    return numbers


def _ambiguous(names: list[str], table: str) -> DataError:
    return DataError(
        f"{table} has {len(names)} columns that could be the count ({_listed(names)}); "
        "say which with 'count' in the spec."
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:8])
    return shown + (" and more" if len(names) > 8 else "")
