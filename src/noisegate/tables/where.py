"""Conditions in words, and how much of each value of a dimension they mean: one grammar for all that takes conditions.

    mode=ferry                  one label
    mode=ferry|train            any of several
    time=06:00..09:00           times from 06:00 up to 09:00, past midnight if the second is not later
    date=2016-07-25..2016-07-29 days, both included
    weekday=Monday..Friday      days of the week; likewise weeks (2016-W30..2016-W33) and months (2016-07..2016-09), both included
    age=15..64                  numbers, both included: all of the bands 15-24 ... 55-64, and part of a band that is cut
    stop="Manly, Wharf 1"       quotation marks keep what they hold together

Conditions are separated by commas; a comma belongs to a value unless `dimension=` follows it. The same in Python is a mapping
whose values are texts as above, integers, dates, times, or lists of these. Text is read to its end or refused.

A label is found as it is written, else whatever its case and blanks, else as the same date, time of day or integer in another
spelling. Whether a dimension holds times or dates is read off its values. A label such as 06:00-07:00 is a time too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.tables.axis import Mask
from noisegate.tables.dimension import (
    DAY_S,
    Dimension,
    Spellings,
    clock_of,
    clock_span,
    clock_step,
    day_of,
    kind_of,
    listed,
    spelled,
    unknown_label,
)
from noisegate.tables.domain import Domain
from noisegate.tables.ordered import ordered_shares

Floats = NDArray[np.float64]

#: What may stand for a label: its text, or what it says.
Label = str | int | date | time
Condition = Label | Iterable[Label]
Where = Mapping[str, Condition] | str | Iterable[str] | None

_NEXT = re.compile(r"\s*,(?=[^,=]*=)")
_QUOTES = "\"'"


def conditions_of(where: Where, /) -> dict[str, tuple[str, ...]]:
    """Conditions by dimension: for each a tuple of texts, any of which is meant.

    Examples
    --------
    >>> conditions_of("mode=ferry|train, time=06:00..09:00")
    {'mode': ('ferry', 'train'), 'time': ('06:00..09:00',)}
    >>> conditions_of({"date": date(2016, 7, 25), "zone": [1, 2]})
    {'date': ('2016-07-25',), 'zone': ('1', '2')}
    """
    if where is None:
        return {}
    if isinstance(where, Mapping):
        return {str(name): spelled_parts(value, at=str(name)) for name, value in where.items()}
    found: dict[str, tuple[str, ...]] = {}
    for text in [where] if isinstance(where, str) else list(where):
        if not text.strip():
            raise SpecError("a condition is blank; leave it out to ask about everything.")
        for name, value in split_conditions(text):
            if name in found:
                raise SpecError(f"{name} has two conditions; write {name}=A|B for either.")
            found[name] = tuple(alternatives(value))
    return found


def split_conditions(text: str, /) -> list[tuple[str, str]]:
    """The conditions in a text: the name of a dimension and what is asked of it, word for word.

    Raises
    ------
    SpecError
        If a part of the text is no condition.

    Examples
    --------
    >>> split_conditions("tap=on,stop=Quay, No. 3")
    [('tap', 'on'), ('stop', 'Quay, No. 3')]
    """
    found, place = [], 0
    while place < len(text.rstrip()):
        name, sign, _ = text[place:].partition("=")
        end = _end_of_value(text, place + len(name) + 1) if sign else len(text)
        value = text[place + len(name) + 1 : end].strip()
        if not sign or not name.strip() or not value:
            raise SpecError(
                f"a condition looks like mode=ferry or time=06:00..09:00, got {text[place:end].strip()!r}; values with "
                "commas need quotation marks."
            )
        found.append((name.strip(), value))
        place = end + 1 + len(text[end:]) - len(text[end:].lstrip()) if end < len(text) else end
    return found


def condition_text(name: str, label: str, /) -> str:
    """A condition on one label in words that `split_conditions` reads.

    Examples
    --------
    >>> condition_text("stop", "Quay, No. 3")
    'stop=Quay, No. 3'
    """
    if label[:1] not in ("", *_QUOTES) and not _NEXT.search(label):
        return f"{name}={label}"
    mark = "'" if '"' in label else '"'
    return f"{name}={mark}{label}{mark}"


def _end_of_value(text: str, start: int, /) -> int:
    """Where the value that starts here ends: at the comma before the next condition, or with the text."""
    place = start
    while place < len(text):
        if text[place] in _QUOTES and not text[start:place].rpartition("|")[2].strip():
            place = _closing(text, place)
        elif _NEXT.match(text, place):
            return place
        place += 1
    return len(text)


def _closing(text: str, opening: int, /) -> int:
    """Where the quotation mark is closed that is opened here."""
    place = text.find(text[opening], opening + 1)
    if place < 0:
        raise SpecError(
            f"the quotation mark at character {opening + 1} of {text!r} is never closed; close it."
        )
    return place


def alternatives(value: str, /) -> list[str]:
    """The parts of a value between bars, without quotation marks around them.

    Examples
    --------
    >>> alternatives("ferry | 'A|B'")
    ['ferry', 'A|B']
    """
    found, place = [], 0
    while place <= len(value):
        start = place + len(value[place:]) - len(value[place:].lstrip())
        if start < len(value) and value[start] in _QUOTES:
            closing = _closing(value, start)
            bar = value.find("|", closing)
            end = len(value) if bar < 0 else bar
            if value[closing + 1 : end].strip():
                raise SpecError(
                    f"after the closing quotation mark at character {closing + 1} of {value!r} comes a bar or the end, "
                    f"got {value[closing + 1 : end].strip()!r}."
                )
            found.append(value[start + 1 : closing])
        else:
            bar = value.find("|", start)
            end = len(value) if bar < 0 else bar
            found.append(value[place:end].strip())
        if not found[-1]:
            raise SpecError(f"{value!r} has nothing at character {end + 1}, where a label should be.")
        place = end + 1
    return found


def spelled_parts(condition: object, /, *, at: str) -> tuple[str, ...]:
    """The parts of one condition as text, given a label, a range or a list of these.

    Raises
    ------
    SpecError
        If there is nothing, or something that is no label.
    """
    listed = (
        list(condition) if isinstance(condition, Iterable) and not isinstance(condition, str) else [condition]
    )
    parts = tuple(spelled(part) for part in listed)
    for given, part in zip(listed, parts, strict=True):
        if part is None:
            raise SpecError(
                f"{at} must be text, a whole number, a date, a time or a list of these, got {given!r}."
            )
    if not parts:
        raise SpecError(f"{at} has an empty list; leave the condition out to ask for all.")
    return tuple(str(part) for part in parts)


def members(domain: Domain, axis: int, /) -> dict[str, Mask]:
    """The values that each merged label of one dimension stands for."""
    dimension, found = domain.dimensions[axis], dict[str, Mask]()
    for place, label in enumerate(dimension.groups, len(dimension.values)):
        found[label] = np.zeros(len(dimension.values), bool)
        for values, codes in (block.members(axis) for block in domain.blocks):
            found[label][values[codes == place]] = True
    return found


def value_shares(
    domain: Domain, axis: int, parts: Iterable[object], /, *, subject: str, some: bool = False
) -> Floats:
    """How much of each value of one dimension the parts of a condition mean.

    Parameters
    ----------
    domain, axis
        The cells, and the place of the dimension among theirs.
    parts
        Labels, ranges of times or dates; any of them is meant.
    subject
        The dimension, or the place of the condition, for messages.
    some
        Refuse a range that no value lies in.

    Raises
    ------
    SpecError
        If a part is nothing that the dimension has.
    """
    return _Meant(domain.dimensions[axis], merged=members(domain, axis), subject=subject, some=some).shares(
        parts
    )


def label_shares(domain: Domain, axis: int, own: Floats | None, /) -> Floats:
    """How much of each label of one dimension is meant, given that of its values; None means all."""
    labels = len(domain.dimensions[axis].labels)
    if own is None:
        return np.ones(labels)
    shares = np.zeros(labels)
    for block in domain.blocks:
        values, codes = block.members(axis)
        many = np.bincount(codes, minlength=labels)
        meant = np.bincount(codes, weights=own[values], minlength=labels)
        shares = np.where(many > 0, meant / np.maximum(many, 1), shares)
    return shares


def shares_of_values(
    values: Sequence[str],
    parts: Iterable[object],
    /,
    *,
    subject: str,
    merged: Mapping[str, Mask] = MappingProxyType({}),
) -> Floats:
    """How much of each of `values` the parts of a condition mean; `merged` holds what other labels stand for."""
    labels = Dimension(name=subject or "it", values=tuple(values), groups=tuple(merged))
    return _Meant(labels, merged=merged, subject=subject, some=False).shares(parts)


class _Meant:
    """What parts of conditions mean of the values of one dimension, and of the labels that stand for several."""

    def __init__(
        self, dimension: Dimension, /, *, merged: Mapping[str, Mask], subject: str, some: bool
    ) -> None:
        self._values, self._merged, self._subject, self._some = dimension.values, merged, subject, some
        self._spellings = Spellings(dimension.labels, keys=dimension.keys)
        # Dates and times are compared in the one spelling for all files.
        self._keys = dimension.keys[: len(dimension.values)]

    def shares(self, parts: Iterable[object], /) -> Floats:
        """How much of each value any of the parts means."""
        return np.asarray(np.maximum.reduce([self._of(part) for part in parts]))

    def _of(self, part: object, /) -> Floats:
        code, labels = self._spellings.code(part), self._spellings.labels
        if code is not None:
            own = np.arange(len(self._values)) == code
            return np.asarray(self._merged.get(labels[code], own), dtype=np.float64)
        text = (spelled(part) or "").strip()
        either = alternatives(text) if text else [text]
        if either != [text]:
            return self.shares(either)
        if ".." not in text:
            raise unknown_label(part, labels, subject=self._subject)
        found = _of_range(self._keys, text, subject=self._subject)
        if self._some and not found.any():
            raise SpecError(
                f"no {self._subject} lies in {text!r}; it runs from {self._values[0]} to {self._values[-1]}."
            )
        return found


def _of_range(values: Sequence[str], text: str, /, *, subject: str) -> Floats:
    """How much of each value lies in a range of dates or times."""
    kind = kind_of(values)
    first, _, last = (piece.strip() for piece in text.partition(".."))
    if kind == "name":
        ordered = ordered_shares(values, first, last)
        if ordered is not None:
            return ordered
        raise SpecError(
            f"{subject} is a list of names, not of times or dates: {text!r} cannot be a range. "
            f"Write {subject.rpartition('.')[2]}=A|B for several. It has {listed(values)}."
        )
    if kind == "day":
        low, high = day_of(first), day_of(last)
        if low is None or high is None or high < low:
            raise SpecError(f"a range of {subject} looks like {values[0]}..{values[-1]}, got {text!r}.")
        return np.array([float(low <= str(day_of(value)) <= high) for value in values])
    start, end = clock_of(first), clock_of(last)
    if start is None or end is None:
        raise SpecError(f"a range of {subject} looks like 06:00..09:00, got {text!r}.")
    return _within([clock_span(value) for value in values], start % DAY_S, end)


def _within(spans: Sequence[tuple[int, int | None] | None], start: int, end: int, /) -> Floats:
    """How much of each span of time lies in a range of times, past midnight if its end is not later."""
    step = clock_step(spans) or DAY_S
    ranges = [(start, end)] if start < end else [(start, DAY_S), (0, end)]
    found = np.zeros(len(spans))
    for place, span in enumerate(spans):
        if span is None:
            continue
        low, high = span[0], span[0] + step if span[1] is None else span[1]
        high += DAY_S if high <= low else 0
        inside = sum(
            max(0, min(high, b + shift) - max(low, a + shift)) for a, b in ranges for shift in (0, DAY_S)
        )
        found[place] = inside / (high - low)
    return found
