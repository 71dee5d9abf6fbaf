"""A dimension: an attribute with a public, finite list of values, what they mean, and labels in any spelling."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError, SpecError

DAY_S = 86_400

_CLOCK = re.compile(r"(\d{2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_MOST_LISTED = 8


def clock_text(at_s: int, /) -> str:
    """A time of day as labels show it."""
    text = f"{at_s // 3600:02d}:{at_s // 60 % 60:02d}"
    return text if at_s % 60 == 0 else f"{text}:{at_s % 60:02d}"


def day_of(text: str, /) -> str | None:
    """A date in ISO form, if the text is one."""
    try:
        return date.fromisoformat(text).isoformat() if len(text) == 10 else None
    except ValueError:
        return None


def clock_of(text: str, /) -> int | None:
    """A time of day in seconds after midnight, up to 24:00, if the text is one."""
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups())
    at_s = hour * 3600 + minute * 60 + second
    return at_s if at_s <= DAY_S and minute < 60 and second < 60 else None


def clock_span(label: str, /) -> tuple[int, int | None] | None:
    """A label as a time of day: where it starts and, if it says so, where it ends."""
    first, dash, last = label.partition("-")
    start = clock_of(first)
    if start is None:
        return None
    if not dash:
        return start, None
    end = clock_of(last)
    return None if end is None else (start, end)


def clock_step(spans: Sequence[tuple[int, int | None] | None], /) -> int | None:
    """The width of a bin, if the labels are times of day; None if they are names."""
    starts = sorted({span[0] for span in spans if span is not None and span[1] is None})
    if not starts:
        return DAY_S if any(span is not None for span in spans) else None
    return min((b - a for a, b in itertools.pairwise(starts)), default=DAY_S)


def kind_of(labels: Sequence[str], /) -> str:
    """What the labels of a dimension are: "day", "time" or "name"."""
    if all(day_of(label) for label in labels):
        return "day"
    return "name" if clock_step([clock_span(label) for label in labels]) is None else "time"


def spelled(label: object, /) -> str | None:
    """A label as tables write it: text as it is, dates and times in ISO form; None if it is no label.

    Examples
    --------
    >>> [spelled(one) for one in ("ferry", 7, date(2016, 7, 25), time(6, 15), True)]
    ['ferry', '7', '2016-07-25', '06:15', None]
    """
    if isinstance(label, np.datetime64) and not np.isnat(label):
        label = label.astype("datetime64[us]").item()
    text = None
    if isinstance(label, str):
        text = label if label.strip() else None
    elif isinstance(label, int | np.integer) and not isinstance(label, bool):
        text = str(int(label))
    elif isinstance(label, datetime):
        text = label.date().isoformat() if label.time() == time() else None
    elif isinstance(label, date):
        text = label.isoformat()
    elif isinstance(label, time) and not label.microsecond:
        text = clock_text(label.hour * 3600 + label.minute * 60 + label.second)
    return text


def folded(text: str, /) -> str:
    """The text in one spelling: small letters, single blanks."""
    return " ".join(text.casefold().split())


def _meaning(text: str, /) -> str:
    """What a label says: the same for all spellings of a time of day or an integer."""
    at_s = clock_of(text.strip().rjust(5, "0"))
    if at_s is not None:
        return clock_text(at_s)
    return str(int(text)) if _WHOLE.fullmatch(text.strip()) else folded(text)


#: How labels are compared, from the closest to the loosest.
_SPELL: tuple[Callable[[str], str], ...] = (str, folded, _meaning)


class Spellings:
    """Labels by any spelling: as written, whatever case and blanks, or as the same time of day or integer.

    Parameters
    ----------
    labels
        As tables write them.
    keys
        The same in one spelling for all files, if there is one.
    """

    def __init__(self, labels: Sequence[str], /, *, keys: Sequence[str] = ()) -> None:
        self.labels, self._keys = labels, keys
        self._known: dict[int, list[dict[str, int | None]]] = {}

    def code(self, label: object, /) -> int | None:
        """The place of a label; None if it has none, or if two are spelled alike."""
        text = spelled(label)
        if text is None:
            return None
        for place, spell in enumerate(_SPELL):
            wanted = spell(text)
            for known in self._places(place, spell):
                if known.get(wanted) is not None:
                    return known[wanted]
        return None

    def _places(self, place: int, spell: Callable[[str], str], /) -> list[dict[str, int | None]]:
        if place not in self._known:
            self._known[place] = [_unique(map(spell, texts)) for texts in (self.labels, self._keys)]
        return self._known[place]


def _unique(texts: Iterable[str], /) -> dict[str, int | None]:
    """The place of each text; None for one that occurs twice."""
    found: dict[str, int | None] = {}
    for code, text in enumerate(texts):
        found[text] = None if text in found else code
    return found


def label_code(label: object, labels: Sequence[str], /, *, keys: Sequence[str] = ()) -> int | None:
    """The place of a label, in any spelling, among `labels` or their common spellings `keys`; None if it has none.

    Examples
    --------
    >>> label_code(time(6), ["05:00:00", "06:00:00"])
    1
    >>> label_code("manly  WHARF", ["Quay", "Manly Wharf"])
    1
    """
    return Spellings(labels, keys=keys).code(label)


def find_label(label: object, labels: Sequence[str], /, *, subject: str, keys: Sequence[str] = ()) -> int:
    """The place of a label, in any spelling, among those of `subject`.

    Raises
    ------
    SpecError
        If it has none; the message names the nearest.
    """
    code = label_code(label, labels, keys=keys)
    if code is None:
        raise unknown_label(label, labels, subject=subject)
    return code


def find_dimension(name: str, names: Sequence[str], /) -> int:
    """The place of the dimension of this name, in any spelling.

    Raises
    ------
    SpecError
        If there is none.
    """
    code = label_code(name, names)
    if code is None:
        raise SpecError.for_choice("a dimension", found=name.strip(), allowed=names)
    return code


def unknown_label(label: object, labels: Sequence[str], /, *, subject: str) -> SpecError:
    """The error for a label that `subject` does not have, with the nearest that it does have."""
    text = (spelled(label) or str(label)).strip()
    near = difflib.get_close_matches(text, labels, n=1, cutoff=0.5)
    holding = [one for one in labels if folded(text) in folded(one)]
    near = near or (holding if len(holding) == 1 else [])
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return SpecError(f"{subject} has no {text!r}; it has {listed(holding or labels)}.{hint}")


def listed(labels: Sequence[str], /) -> str:
    """A few of the labels, and how many there are."""
    shown = ", ".join(labels[:_MOST_LISTED])
    return shown if len(labels) <= _MOST_LISTED else f"{shown}, ... ({len(labels):,} in all)"


Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: The ordinal of a value that has no place in the order: text, or unknown.
NO_ORDINAL = np.iinfo(np.int64).min


class Kind(StrEnum):
    """What the values of a dimension are."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """An attribute with a public, finite list of values; code k stands for the k-th label.

    Two dimensions are equal if they have the same name and the same labels.

    Attributes
    ----------
    name
        The column's name, or the one that somebody gave it.
    values
        What an event can hold, as written, in natural order; values that mean "not known" last.
    groups
        Labels of merged values; they come after the values.
    kind, written
        What the values are, and in words how a file writes them.
    keys
        The labels in one spelling for all files (ISO dates, HH:MM, folded text); the labels themselves if not given.
    ordinals
        Days since 1970 for dates, minutes since midnight for times, the number for numbers; `NO_ORDINAL` for
        text and for unknown values.
    unknown
        Which labels mean "not known" (-1, UNKNOWN, blank). They stay values like any other.
    step
        Width of the time bins in minutes; None for other kinds, or when one bin is all there is.

    Examples
    --------
    >>> Dimension(name="tap", values=("on", "off")).labels
    ('on', 'off')
    """

    name: str
    values: tuple[str, ...]
    groups: tuple[str, ...] = ()
    kind: Kind = field(default=Kind.TEXT, compare=False)
    written: str = field(default="", compare=False, repr=False)
    keys: tuple[str, ...] = field(default=(), compare=False, repr=False)
    ordinals: Ints = field(default_factory=lambda: np.empty(0, np.int64), compare=False, repr=False)
    unknown: Mask = field(default_factory=lambda: np.empty(0, bool), compare=False, repr=False)
    step: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise SpecError(f"dimension {self.name!r} has no values; list at least one.")
        if len(set(self.labels)) != len(self.labels):
            seen: set[str] = set()
            twice = next(label for label in self.labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]
            raise SpecError(
                f"dimension {self.name!r} would show {twice!r} for two things; rename one of them."
            )
        self._fill_in()
        sizes = {self.size, len(self.keys), self.ordinals.size, self.unknown.size}
        if len(sizes) != 1 or len(set(self.keys)) != len(self.keys):
            raise InternalError(f"the values of dimension {self.name!r} do not line up")

    def _fill_in(self) -> None:
        """What is not said of the labels: they are spelled as they are, have no order and are all known."""
        if not self.keys:
            object.__setattr__(self, "keys", self.labels)
        if not self.ordinals.size:
            object.__setattr__(self, "ordinals", np.full(self.size, NO_ORDINAL))
        if not self.unknown.size:
            object.__setattr__(self, "unknown", np.zeros(self.size, dtype=bool))

    @property
    def labels(self) -> tuple[str, ...]:
        """What a table can show: the values, then the groups."""
        return self.values + self.groups

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.values) + len(self.groups)

    @property
    def placed(self) -> Mask:
        """Which labels are a date, a time or a number that is known; a word among dates ("Total") is none."""
        return np.asarray(~self.unknown & (self.ordinals != NO_ORDINAL))

    def code(self, label: object, /) -> int:
        """The code of a label given as text in any spelling, or as an integer, a date or a time.

        Raises
        ------
        SpecError
            If it has none; the message names the nearest.

        Examples
        --------
        >>> Dimension(name="zone", values=("07", "12")).code(7)
        0
        """
        return find_label(label, self.labels, subject=self.name, keys=self.keys)

    def with_groups(self, groups: tuple[str, ...], /) -> Self:
        """The dimension with more labels of merged values."""
        return replace(
            self,
            groups=self.groups + groups,
            keys=self.keys + groups,
            ordinals=np.append(self.ordinals, np.full(len(groups), NO_ORDINAL)),
            unknown=np.append(self.unknown, np.zeros(len(groups), dtype=bool)),
        )

    def take(self, codes: NDArray[Any], /) -> Self:
        """The dimension with only these labels, in this order, each a value."""
        index = codes.tolist()
        labels = self.labels
        return replace(
            self,
            values=tuple(labels[k] for k in index),
            groups=(),
            keys=tuple(self.keys[k] for k in index),
            ordinals=self.ordinals[codes],
            unknown=self.unknown[codes],
        )
