"""What a person says about cells in words: selections, lags, identities.

    tap=on,location=Manly Wharf      the cells with these values
    30min                            a lag: a number and min, h or d
    Male + Female = Total            values of one dimension that add up

Dimensions and values are found whatever their case and blanks; dates and times also in their ISO form.
A comma is part of a value unless another `dimension=` follows it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from noisegate.errors import SpecError
from noisegate.reading.cells import Cells
from noisegate.reading.published import Dimension

_MINUTES = {"min": 1, "mins": 1, "minute": 1, "minutes": 1, "m": 1}
_MINUTES |= {"h": 60, "hr": 60, "hrs": 60, "hour": 60, "hours": 60}
_MINUTES |= {"d": 1440, "day": 1440, "days": 1440}
_LAG = re.compile(r"\s*(\d{1,6})\s*([a-z]*)\s*", re.IGNORECASE)
_NEXT = re.compile(r",(?=[^,=]*=)")
#: How many values a message lists.
_LISTED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Cells with some values fixed: `codes[i]` is the code of dimension i of the table."""

    text: str
    codes: Mapping[int, int]

    @classmethod
    def parse(cls, text: str, cells: Cells, /) -> Self:
        """The selection that `text` describes among the cells of a table.

        Raises
        ------
        SpecError
            If a dimension or a value is not there.
        """
        codes: dict[int, int] = {}
        for part in split(text):
            name, sign, value = part.partition("=")
            if not sign or not name.strip() or not value.strip():
                raise SpecError.for_value(
                    "--pair", found=text, allowed='written "dimension=value,dimension=value"'
                )
            place = find_dimension(name, cells.dimensions)
            if place in codes:
                raise SpecError(f"--pair {text!r} names {cells.dimensions[place].name} twice; name it once.")
            codes[place] = find_value(value, cells.dimensions[place])
        return cls(text=text, codes=codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An identity among values of one dimension: the parts add up to the whole."""

    text: str
    parts: tuple[str, ...]
    whole: str

    @classmethod
    def parse(cls, text: str, /) -> Self:
        """The identity that `text` states, written "A + B = C"."""
        sides = [[value.strip() for value in side.split("+")] for side in text.split("=")]
        allowed = 'written "A + B = C", with one value on one side'
        if len(sides) != 2 or not all(value for side in sides for value in side):
            raise SpecError.for_value("--identity", found=text, allowed=allowed)
        parts, whole = sides if len(sides[1]) == 1 else (sides[1], sides[0])
        if len(whole) != 1:
            raise SpecError.for_value("--identity", found=text, allowed=allowed)
        values = [folded(value) for value in (*parts, *whole)]
        if len(set(values)) < len(values):
            raise SpecError(f"--identity {text!r} names a value twice; name each once.")
        return cls(text=text, parts=tuple(parts), whole=whole[0])


def split(text: str, /) -> list[str]:
    """The parts "dimension=value" of a selection."""
    return _NEXT.split(text)


def parse_lag(lag: str | int | timedelta | None, /) -> int:
    """A lag in minutes: none is 0; "30min", "1 h", "1d", a number of minutes, or a timedelta."""
    allowed = "a number with min, h or d, such as 30min"
    if lag is None:
        return 0
    if isinstance(lag, timedelta):
        minutes, rest = divmod(lag, timedelta(minutes=1))
        if rest or minutes < 0:
            raise SpecError.for_value("--lag", found=str(lag), allowed=allowed)
        return minutes
    found = _LAG.fullmatch(str(lag))
    if isinstance(lag, bool) or found is None or (found[2].lower() or "min") not in _MINUTES:
        raise SpecError.for_value(
            "--lag", found=lag, allowed=allowed, way_out="Swap the two sides for a negative one."
        )
    return int(found[1]) * _MINUTES[found[2].lower() or "min"]


def find_dimension(name: str, dimensions: Sequence[Dimension], /) -> int:
    """The place of the dimension of this name."""
    names = [folded(dimension.name) for dimension in dimensions]
    if folded(name) in names:
        return names.index(folded(name))
    raise SpecError.for_choice("a dimension", found=name.strip(), allowed=[d.name for d in dimensions])


def find_value(value: str, dimension: Dimension, /) -> int:
    """The code of this value of a dimension."""
    code = value_code(value, dimension)
    if code is not None:
        return code
    near = difflib.get_close_matches(value.strip(), dimension.labels, n=1)
    holding = [label for label in dimension.labels if folded(value) in folded(label)]
    hint = f" It has {listed(holding or dimension.labels)}."
    if near or len(holding) == 1:
        hint = f" Did you mean {(near or holding)[0]!r}?"
    raise SpecError(f"{dimension.name} has no value {value.strip()!r}.{hint}")


def value_code(value: str, dimension: Dimension, /) -> int | None:
    """The code of this value of a dimension, as written or in its common spelling; None if it has none."""
    wanted = folded(value)
    for spellings in (dimension.labels, dimension.keys):
        for code, spelling in enumerate(spellings):
            if folded(spelling) == wanted:
                return code
    return None


def folded(text: str, /) -> str:
    """The text in one spelling."""
    return " ".join(text.casefold().split())


def listed(values: Iterable[str], /) -> str:
    """A few of the values, and how many more there are."""
    known = list(values)
    rest = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return ", ".join(known[:_LISTED]) + rest
