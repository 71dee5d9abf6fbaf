"""Published counts as numbers: separators of thousands, decimal commas, marks for hidden counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
_BOUND = re.compile(
    r"(?:<|<=|≤|under|less than|fewer than|up to)\s*\d+|\d+\s*(?:or less|or fewer)", re.IGNORECASE
)
_MARKS = frozenset(
    {
        "*",
        "**",
        "***",
        "x",
        "c",
        "s",
        "p",
        "np",
        "n.p.",
        "..",
        "...",
        ".",
        "-",
        "--",
        "–",
        "—",
        ":",
        "suppressed",
    }
    | {
        "n/a",
        "na",
        "nan",
        "null",
        "none",
        "hidden",
        "confidential",
        "d",
        "(d)",
        "(s)",
        "(x)",
        "not published",
    }
)


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
        marked=np.array(
            [bool(_BOUND.fullmatch(text)) or text.casefold() in _MARKS for text in texts], dtype=bool
        ),
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
