"""Which column holds the counts, and its text as numbers: separators of thousands, decimal commas, marks for hidden ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.reading.columns import Column
from noisegate.reading.markers import is_marker
from noisegate.reading.published import row_ids
from noisegate.reading.values import find_form
from noisegate.tables import Kind

#: Beyond this a float64 no longer holds every whole number.
LARGEST = 2.0**53

_PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_GROUPED = {
    ",": re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"),
    ".": re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
    " ": re.compile(r"[-+]?\d{1,3}(?: \d{3})+(?:[.,]\d+)?"),
    "'": re.compile(r"[-+]?\d{1,3}(?:'\d{3})+(?:[.,]\d+)?"),
}
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """Distinct values of a column read as numbers.

    `values` is NaN where there is none; `marked` says that the file hides a count there on purpose
    ("<5", "np"); `blank` that there is nothing.
    """

    values: NDArray[np.float64]
    marked: NDArray[np.bool_]
    blank: NDArray[np.bool_]
    note: str

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Which values are numbers."""
        return np.isfinite(self.values)


def read_numbers(labels: Sequence[str], /, *, delimiter: str = ",") -> Numbers:
    """The distinct `labels` of a column as numbers; `delimiter` is what separates columns.

    A point or a comma is what all values together allow: `1.234` beside `12.5` is a decimal, beside
    `12.345.678` a separator of thousands.
    """
    texts = [label.translate(_BLANKS).strip() for label in labels]
    group, decimal = _separators(texts, delimiter)
    return Numbers(
        values=np.array([_number(text, group, decimal) for text in texts], dtype=np.float64),
        marked=np.array([is_marker(text) for text in texts], dtype=bool),
        blank=np.array([not text for text in texts], dtype=bool),
        note=f"counts use {group!r} between thousands" if group else "",
    )


def _separators(texts: Sequence[str], delimiter: str) -> tuple[str, str]:
    """What separates thousands, if anything, and what decimals."""
    odd = [text for text in texts if not _PLAIN.fullmatch(text) and text[:1] in "-+0123456789"]
    for mark in (",", " ", "'"):
        if any(_GROUPED[mark].fullmatch(text) for text in odd) and not any(
            mark == "," and _DECIMAL_COMMA.fullmatch(text) and not _GROUPED[mark].fullmatch(text)
            for text in odd
        ):
            return mark, "."
    dotted = [text for text in texts if "." in text and text[:1] in "-+0123456789"]
    grouped = bool(dotted) and all(_GROUPED["."].fullmatch(text) for text in dotted)
    if grouped and (delimiter == ";" or any(text.count(".") > 1 for text in dotted)):
        return ".", ","
    return "", "," if any(_DECIMAL_COMMA.fullmatch(text) for text in odd) else "."


def _number(text: str, group: str, decimal: str) -> float:
    plain = text.replace(group, "") if group and _GROUPED[group].fullmatch(text) else text
    plain = plain.replace(decimal, ".") if decimal == "," else plain
    if not _PLAIN.fullmatch(plain):
        return np.nan
    value = float(plain)
    return value if abs(value) <= LARGEST else np.nan


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
