"""Couplings: two sets of cells of one table whose raw counts are equal; and what a person says about cells in words.

    tap=on,location=Manly Wharf      the cells with these values
    30min                            a lag: a number and min, h or d
    Male + Female = Total            values of one dimension that add up

Dimensions and values are found in any spelling, as in all conditions (`noisegate.tables.where`). A *moment* is a date and a
time of day. Tables may have both, one or none of them; unknown times have no moment. The *rest* of a cell is all its
other values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.laws import Floats, Ints
from noisegate.recovery.equality import Equality
from noisegate.tables import (
    Dimension,
    Kind,
    Table,
    alternatives,
    condition_text,
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


def parse_lag(lag: str | int | timedelta, /) -> int:
    """A lag in minutes: "30min", "1 h", "1d", a number of minutes, or a timedelta."""
    allowed = "a number with min, h or d, such as 30min"
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


Codes = NDArray[np.int32]

_DAY = 1440


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """The time dimensions of a table.

    Attributes
    ----------
    date, time
        Places of the dimensions; None where the table has none.
    step
        Minutes from one moment to the next; None without any time dimension.
    """

    cells: Table
    date: int | None
    time: int | None
    step: int | None

    @classmethod
    def of(cls, cells: Table, /) -> Moments:
        """The time dimensions of `cells`: its first date and its first time of day."""
        kinds = [dimension.kind for dimension in cells.dimensions]
        date = kinds.index(Kind.DATE) if Kind.DATE in kinds else None
        time = kinds.index(Kind.TIME) if Kind.TIME in kinds else None
        step = cells.dimensions[time].step if time is not None else None
        if step is None and date is not None and time is None:
            step = _DAY
        return cls(cells=cells, date=date, time=time, step=step)

    @property
    def rest(self) -> tuple[int, ...]:
        """Places of the other dimensions."""
        return tuple(i for i in range(len(self.cells.dimensions)) if i not in {self.date, self.time})

    def check(self, lag: int, /) -> None:
        """Refuse a lag (in minutes) that leads from no bin to another."""
        if lag == 0:
            return
        if self.step is None:
            raise SpecError(
                f"--lag {lag}min: {self.cells.name} has no dates or times to shift; leave --lag out."
            )
        if lag % self.step:
            raise SpecError(
                f"--lag must be a multiple of the {self.step} minutes of a bin in {self.cells.name}, got {lag} min."
            )

    def later(self, codes: Codes, lag: int, /) -> Codes:
        """The same cells `lag` minutes later (earlier, if negative), as codes; -1 where there is no such time."""
        if lag == 0:
            return codes
        out = codes.copy()
        days = np.zeros(codes.shape[1], dtype=np.int64)
        if self.time is None:
            days += lag // _DAY
        else:
            clock = self.cells.dimensions[self.time]
            known = clock.placed[codes[self.time]]
            found, moved = _clock_later(clock.ordinals, np.where(known, codes[self.time], 0), lag)
            out[self.time], days = np.where(known, found, -1), np.where(known, moved, 0)
        if self.date is None:
            out[0, days != 0] = -1
            return out
        dates = self.cells.dimensions[self.date]
        known = dates.placed[codes[self.date]]
        goal = np.where(known, dates.ordinals[codes[self.date]], 0) + days
        moved_to = np.where(known, _place(dates.ordinals, goal), -1)
        out[self.date] = np.where(days == 0, codes[self.date], moved_to)
        return out


def _clock_later(ordinals: Ints, codes: Codes, lag: int, /) -> tuple[Codes, Ints]:
    """The code of each time of day `lag` later, and by how many days the date moves."""
    goal = ordinals[codes] + lag
    same = _place(ordinals, goal)
    days = np.where(same >= 0, 0, goal // _DAY)
    return np.where(same >= 0, same, _place(ordinals, goal - days * _DAY)), days


def _place(ordinals: Ints, wanted: Ints, /) -> Codes:
    """The place of each wanted ordinal; -1 where there is none."""
    order = np.argsort(ordinals, kind="stable")
    at = np.minimum(np.searchsorted(ordinals, wanted, sorter=order), len(ordinals) - 1)
    return np.where(ordinals[order[at]] == wanted, order[at], -1).astype(np.int32)


Source = Literal["stated", "found"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coupling:
    """Cells of one table that come in pairs.

    Attributes
    ----------
    first, second
        What the two sides have in common, in words.
    lag
        By how many minutes the second side is later.
    left, right
        The cells, pair by pair; every pair of which at least one is published.
    values
        Shape (2, pairs): the published counts; not-a-number where suppressed.
    source, equality
        Whether a person stated it or the search found it, and then the evidence.
    """

    cells: Table
    first: str
    second: str
    lag: int
    left: Ints
    right: Ints
    source: Source
    equality: Equality | None = None
    values: Floats = field(init=False)

    def __post_init__(self) -> None:
        values = np.stack([published(self.cells, self.left), published(self.cells, self.right)])
        object.__setattr__(self, "values", values)

    @property
    def both(self) -> NDArray[np.bool_]:
        """The pairs of which both counts are published."""
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @property
    def title(self) -> str:
        """The coupling in words."""
        later = f" {self.lag} min later" if self.lag else ""
        sides = [" ".join(value for _, value in split_conditions(side)) for side in (self.first, self.second)]
        return f"{sides[0]} = {sides[1]}{later}"

    def examples(self, limit: int = 3, /) -> list[str]:
        """Some pairs by name, the largest first."""
        rows = np.flatnonzero(self.both)
        rows = rows[np.argsort(-self.values[:, rows].sum(axis=0), kind="stable")][:limit]
        left, right = names(self.cells, self.left[rows]), names(self.cells, self.right[rows])
        return [
            f"{one}: {a:g}; {two}: {b:g}"
            for one, two, (a, b) in zip(left, right, self.values[:, rows].T.tolist(), strict=True)
        ]


def couple(
    cells: Table,
    first: FixedValues,
    second: FixedValues,
    /,
    *,
    lag: int,
    source: Source,
    equality: Equality | None = None,
) -> Coupling:
    """The pairs of cells in which `first` becomes `second`, `lag` minutes later, all else being equal.

    Raises
    ------
    SpecError
        If the two sides fix different dimensions, are the same, or the lag fits no bin.
    DataError
        If no cell of either side is published.
    """
    if set(first.codes) != set(second.codes):
        raise SpecError(
            f"--pair: {first.text!r} and {second.text!r} must name the same dimensions; "
            f"one names {_dimensions(cells, first)}, the other {_dimensions(cells, second)}."
        )
    if dict(first.codes) == dict(second.codes) and lag == 0:
        raise SpecError(f"--pair: both sides are {first.text!r}; name two different sets of cells.")
    moments = Moments.of(cells)
    fixed = {moments.date, moments.time} & set(first.codes)
    if fixed and lag:
        raise SpecError("--pair fixes a date or a time, so --lag cannot shift it; leave one of them out.")
    moments.check(lag)
    codes = cells.codes(cells.cells)
    left, right = _partners(cells, moments, codes[:, _matches(codes, first)], second, lag)
    there, here = _partners(cells, moments, codes[:, _matches(codes, second)], first, -lag)
    if not left.size and not here.size:
        raise DataError(
            f"No published cell of {cells.name} has {first.text} or {second.text}, with a partner "
            f"{lag} min away; there is nothing to compare."
        )
    pairs = np.unique(np.stack([np.concatenate([left, here]), np.concatenate([right, there])]), axis=1)
    return Coupling(
        cells=cells,
        first=first.text,
        second=second.text,
        lag=lag,
        left=pairs[0],
        right=pairs[1],
        source=source,
        equality=equality,
    )


def equal_pairs(couplings: Sequence[Coupling], /) -> Ints:
    """The pairs of all couplings whose two cells the domain has, shape (2, pairs)."""
    pairs = [np.stack([one.left, one.right]) for one in couplings]
    both = np.concatenate([np.zeros((2, 0), np.int64), *pairs], axis=1)
    return np.asarray(both[:, (both >= 0).all(axis=0)])


def _matches(codes: Codes, selection: FixedValues, /) -> NDArray[np.bool_]:
    hits = [codes[place] == code for place, code in selection.codes.items()]
    return np.asarray(np.logical_and.reduce(hits))


def _partners(
    cells: Table, moments: Moments, codes: Codes, other: FixedValues, lag: int, /
) -> tuple[Ints, Ints]:
    """The cells with these codes, and their partners; only those whose partner exists."""
    moved = moments.later(codes, lag).copy()
    for place, code in other.codes.items():
        moved[place] = np.where(moved[place] >= 0, code, -1)
    exists = (moved >= 0).all(axis=0)
    own, partner = cells.locate(codes[:, exists]), cells.locate(moved[:, exists])
    return own[partner >= 0], partner[partner >= 0]


def _dimensions(cells: Table, selection: FixedValues, /) -> str:
    return ", ".join(cells.dimensions[place].name for place in selection.codes)


def published(cells: Table, flat: Ints, /) -> Floats:
    """The published counts of these cells; not-a-number where suppressed."""
    at = np.minimum(np.searchsorted(cells.cells, flat), max(cells.cells.size - 1, 0))
    return np.where(cells.cells[at] == flat, cells.values[at], np.nan).astype(np.float64)


def names(cells: Table, flat: Ints, /) -> list[str]:
    """The cells by name: their values as written, in the order of the columns."""
    columns = list(cells.labels(flat).values())
    return [" ".join(map(str, row)) for row in zip(*columns, strict=True)] if columns else ["all"] * len(flat)


def least_published(cells: Table, /) -> float:
    """The least count that the table shows; minus infinity where small ones are not suppressed."""
    if cells.threshold.value is None and cells.suppressed == 0:
        return -np.inf
    return float(cells.values.min()) if cells.values.size else -np.inf


def selected(cells: Table, places: Sequence[int], codes: Sequence[int], /) -> FixedValues:
    """The selection that fixes these dimensions to these codes."""
    words = ",".join(
        condition_text(cells.dimensions[place].name, cells.dimensions[place].labels[code])
        for place, code in zip(places, codes, strict=True)
    )
    return FixedValues(text=words, codes=dict(zip(places, codes, strict=True)))


def stated_couplings(
    tables: Sequence[Table], pairs: Sequence[tuple[str, str]], /, *, lag: int
) -> tuple[Coupling, ...]:
    """Pairs that a person stated, in the first table, and in every other that has their dimensions and can be shifted."""
    found = []
    for one, two in pairs:
        for place, cells in enumerate(tables):
            if place and not _can_hold(cells, (one, two), lag):
                continue
            first, second = FixedValues.parse(one, cells), FixedValues.parse(two, cells)
            found.append(couple(cells, first, second, lag=lag, source="stated"))
    return tuple(found)


def _can_hold(cells: Table, pair: tuple[str, str], lag: int, /) -> bool:
    """Whether a margin can show a pair: it has the dimensions, and times if there is a lag."""
    moments = Moments.of(cells)
    if lag and (moments.time is None or not moments.step or lag % moments.step):
        return False
    try:
        sides = [FixedValues.parse(text, cells) for text in pair]
        couple(cells, sides[0], sides[1], lag=lag, source="stated")
    except ValueError:
        return False
    return True


def not_stated(found: Sequence[Coupling], stated: Sequence[Coupling], /) -> list[Coupling]:
    """The couplings that were found and that nobody stated."""
    known = {(c.cells.name, c.left.tobytes(), c.right.tobytes()) for c in stated}
    return [c for c in found if (c.cells.name, c.left.tobytes(), c.right.tobytes()) not in known]
