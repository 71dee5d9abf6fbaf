"""Which column holds the counts, and its text as numbers: separators of thousands, decimal commas, marks for hidden ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.reading.columns import Column
from noisegate.reading.markers import is_marker
from noisegate.reading.values import find_form
from noisegate.tables import Kind

#: Beyond this a float64 no longer holds every whole number.
LARGEST = 2.0**53

_PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_GROUPED = {
    # Lakhs and crores have two digits between the upper commas.
    ",": re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?:\.\d+)?"),
    ".": re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
    " ": re.compile(r"[-+]?\d{1,3}(?: \d{3})+(?:[.,]\d+)?"),
    "'": re.compile(r"[-+]?\d{1,3}(?:'\d{3})+(?:[.,]\d+)?"),
}
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
#: A count with its share behind it, `12 (3.4%)`, and one with the mark of a footnote or of its quality, `1,234r`, `56 p`, `7*`.
_SHARED = re.compile(r"(.*\S)\s*[(\[]\s*[<>≤~]?\s*\d[\d.,]*\s*%?\s*[)\]]")
_FLAGGED = re.compile(
    r"([-+]?\d[\d.,' ]*?)(?:\s?[rpebfdusRPE]|\s[bcdefinprsuz]{1,2}|\s?\([a-z]\)|\s?\*{1,3}|\s?[†‡§#^]|\s?\[[\w ]{1,8}\]|\s?[¹²³⁴-⁹]+)"
)
_STARTS = re.compile(r"[-+]?\d[\d.,' ]*$")
#: So many columns are kept as numbers.
_KEPT = 64
#: So many values of a column show how its decimals are written.
_LOOKED_AT = 2_000
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
    return _read_numbers(tuple(labels), delimiter)


@lru_cache(maxsize=_KEPT)
def _read_numbers(labels: tuple[str, ...], delimiter: str, /) -> Numbers:
    """Columns are asked about several times while their layout is found, so that the latest are kept."""
    plain = np.array([label.isdecimal() and len(label) < 16 for label in labels], dtype=bool)
    values = np.full(len(labels), np.nan)
    values[plain] = [int(label) for label, easy in zip(labels, plain.tolist(), strict=True) if easy]
    rest = np.flatnonzero(~plain)
    texts, flagged = _without_flags([labels[k].translate(_BLANKS).strip() for k in rest.tolist()])
    group, decimal = _separators(texts, delimiter)
    values[rest] = [_number(text, group, decimal) for text in texts]
    marked, blank = np.zeros(len(labels), dtype=bool), np.zeros(len(labels), dtype=bool)
    marked[rest] = [is_marker(text) for text in texts]
    blank[rest] = [not text for text in texts]
    notes = [f"counts use {group!r} between thousands"] * bool(group)
    notes += [f"counts are read without what stands behind them, such as {flagged!r}"] * bool(flagged)
    note = "; ".join(notes)
    for one in (values, marked, blank):
        one.flags.writeable = False
    return Numbers(values=values, marked=marked, blank=blank, note=note)


def writes_commas(columns: Sequence[Column], /) -> bool:
    """Whether decimals of these columns stand behind a comma, so that a point can only stand between thousands."""
    commas = points = False
    for column in columns:
        numbers = [text for text in column.labels[:_LOOKED_AT] if _STARTS.match(text)]
        commas = commas or any(
            _DECIMAL_COMMA.fullmatch(text) and not _GROUPED[","].fullmatch(text) for text in numbers
        )
        points = points or any("." in text and not _GROUPED["."].fullmatch(text) for text in numbers)
    return commas and not points


def without_flag(text: str, /) -> str:
    """A number or a marker without its share, the mark of a footnote or the letter of its quality behind it; other texts as they are.

    Examples
    --------
    >>> without_flag("12 (3.4%)"), without_flag("1,234r"), without_flag("<5 (<1%)"), without_flag("Ward 3 (2)")
    ('12', '1,234', '<5', 'Ward 3 (2)')
    """
    match = None if is_marker(text) else _SHARED.fullmatch(text) or _FLAGGED.fullmatch(text)
    bare = match[1].strip() if match else text
    return bare if is_marker(bare) or _STARTS.match(bare) else text


def _without_flags(texts: Sequence[str]) -> tuple[list[str], str]:
    """The texts without what stands behind numbers and markers, and the first that had something there."""
    found = [without_flag(text) for text in texts]
    return found, next((text for text, bare in zip(texts, found, strict=True) if text != bare), "")


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
#: Names of the one column of numbers in tables that have a row for each of them.
_PLAIN_NAMES = frozenset(
    {
        "value",
        "values",
        "obs value",
        "measure value",
        "data value",
        "wert",
        "valeur",
        "valor",
        "waarde",
        "valore",
    }
)
#: Share of a column's rows that must be numbers or marks for hidden ones.
_ENOUGH = 0.5


def checked(column: Column, table: str, delimiter: str, /) -> Numbers:
    """The numbers of a column that is named for counts; refuse it when it holds text."""
    numbers = read_numbers(column.labels, delimiter=delimiter)
    if numeric_share(column, delimiter) < _ENOUGH:
        bad = ~(numbers.is_number | numbers.marked | numbers.blank)
        odd = [label[:20] for label, gone in zip(column.labels, bad, strict=True) if gone]
        found = f"text such as {odd[0]!r}" if odd else "hardly any numbers"
        raise DataError(
            f"Column {column.name!r} of {table} should hold counts but holds {found}; "
            "name the column of numbers with 'count' in the spec."
        )
    return numbers


def no_count(columns: Sequence[Column], table: str, delimiter: str, /) -> DataError:
    """Why a table has no column of counts."""
    for column in columns:
        if name_score(column.name) > 0:
            checked(column, table, delimiter)
    return DataError(
        f"{table} has no count column: none of {_listed([c.name for c in columns])} is named like one or holds "
        "numbers that can only be counts. Name it with 'count' in the spec."
    )


def name_score(name: str, /) -> float:
    """How surely a name says that its column holds counts, from 0 to 1."""
    words = " ".join(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold())).strip()
    if words in _SURE:
        return 1.0
    parts = set(words.split())
    if parts & {"count", "counts"}:
        return 0.9
    return 0.7 if words in _LIKELY else 0.0


def is_plain_value(name: str, /) -> bool:
    """Whether a column is called "value" or the like: what all rows of a long table are about."""
    return " ".join(re.split(r"[\W_]+", name.casefold())).strip() in _PLAIN_NAMES


def numeric_share(column: Column, delimiter: str, /) -> float:
    """Share of rows with something in them that hold a number or a mark for a hidden one."""
    if not column.labels:
        return 0.0
    numbers = read_numbers(column.labels, delimiter=delimiter)
    rows = np.bincount(column.codes, minlength=len(column.labels))
    filled = int(rows[~numbers.blank].sum())
    good = int(rows[numbers.is_number].sum())
    hidden = int(rows[numbers.marked & ~numbers.is_number].sum())
    return 0.0 if good == 0 or not filled else (good + hidden) / filled


def varies(column: Column, /) -> bool:
    """Whether a column of numbers has many values and is neither dates nor times."""
    sample = [label for label in column.labels[:2000] if label]
    form = find_form(column.name, sample, unknown=[False] * len(sample))
    return len(sample) > 1 and form.kind not in {Kind.DATE, Kind.TIME}


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:8])
    return shown + (" and more" if len(names) > 8 else "")
