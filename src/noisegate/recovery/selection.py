"""What a person says about cells in words: cells with fixed values, lags, identities.

    tap=on,location=Manly Wharf      the cells with these values
    30min                            a lag: a number and min, h or d
    Male + Female = Total            values of one dimension that add up

Dimensions and values are found in any spelling, as in all conditions (`noisegate.tables.where`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from noisegate.errors import SpecError
from noisegate.tables import (
    Dimension,
    Table,
    alternatives,
    find_dimension,
    folded,
    label_code,
    split_conditions,
)

_MINUTES = {"min": 1, "mins": 1, "minute": 1, "minutes": 1, "m": 1}
_MINUTES |= {"h": 60, "hr": 60, "hrs": 60, "hour": 60, "hours": 60}
_MINUTES |= {"d": 1440, "day": 1440, "days": 1440}
_LAG = re.compile(r"\s*(\d{1,6})\s*([a-z]*)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedValues:
    """Cells with some values fixed: `codes[i]` is the code of dimension i of the table."""

    text: str
    codes: Mapping[int, int]

    @classmethod
    def parse(cls, text: str, cells: Table, /) -> Self:
        """The cells that `text` describes among those of a table.

        Raises
        ------
        SpecError
            If a dimension or a value is not there.
        """
        codes: dict[int, int] = {}
        for name, value in _written(text):
            place = find_dimension(name, [dimension.name for dimension in cells.dimensions])
            if place in codes:
                raise SpecError(f"--pair {text!r} names {cells.dimensions[place].name} twice; name it once.")
            codes[place] = find_value(value, cells.dimensions[place])
        return cls(text=text, codes=codes)


def _written(text: str, /) -> list[tuple[str, str]]:
    try:
        found = split_conditions(text)
    except SpecError:
        found = []
    if not found:
        raise SpecError.for_value("--pair", found=text, allowed='written "dimension=value,dimension=value"')
    return found


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


def find_value(value: str, dimension: Dimension, /) -> int:
    """The code of this value of a dimension, in any spelling and perhaps in quotation marks."""
    bare = [value] if value_code(value, dimension) is not None else alternatives(value)
    return dimension.code(bare[0] if len(bare) == 1 else value)


def value_code(value: str, dimension: Dimension, /) -> int | None:
    """The code of this value of a dimension, in any spelling; None if it has none."""
    return label_code(value, dimension.labels, keys=dimension.keys)
