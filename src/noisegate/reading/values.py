"""How the values of a column are written: dates, times of day, numbers, text, and words such as unknown or total.

A column is judged as a whole, by its distinct values, leaving out those that mean "unknown" or
"total". A form is accepted only if every other value fits it.

"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from math import gcd

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.reading.words import is_total
from noisegate.tables import Kind, folded

UNKNOWN_WORDS = frozenset(
    {
        "",
        "-",
        "?",
        "unknown",
        "unk",
        "n/a",
        "na",
        "nan",
        "null",
        "none",
        "missing",
        "not known",
        "not stated",
        "not specified",
        "unspecified",
        "undefined",
        "not applicable",
    }
)
#: Numbers that stand for "unknown" where nothing else is negative.
UNKNOWN_NUMBERS = frozenset({"-1", "-9", "-99", "-999", "-9999"})
#: Start and width in minutes; width 0 where a value does not tell it.
Bin = tuple[int, int]

#: Words in the name of a column that make bare numbers times.
TIME_NAMES = frozenset(
    {"hour", "hours", "hr", "hrs", "hh", "h", "time", "tod", "hhmm", "start", "from", "bin"}
)

_CLOCK = re.compile(r"(\d{1,2})[:h](\d{2})(?::00(?:\.0+)?)?(?:\s*([ap])\.?m\.?)?", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:-|–|to)\s*")
_HOUR = re.compile(r"(?:hours?|hrs?|h)?[\s_]?(\d{1,2})\s?h?", re.IGNORECASE)
_HALF = re.compile(r"(\d{1,2})\s?([ap])\.?m\.?", re.IGNORECASE)
_HOURS = re.compile(r"(?:hours?|hrs?|h)?[\s_]?(\d{1,2})\s?h?\s?(?:-|–|to|à)\s?(\d{1,2})\s?h?", re.IGNORECASE)
_HHMM = re.compile(r"\d{4}")
#: Widths that bins of a day have, in minutes. Three quarters of an hour between two rows are chance.
_USUAL = (1, 2, 3, 4, 5, 6, 10, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720)
#: A service day may run past midnight: 25:30 is half past one.
_LAST_HOUR = 48


def find_times(name: str, labels: Sequence[str], /) -> tuple[str, list[int], int | None] | None:
    """How times are written, when each bin starts and how wide bins are; None if these are no times.

    Bare numbers are times only in a column that is named for it.
    """
    named = not TIME_NAMES.isdisjoint(re.split(r"[^a-z]+", name.casefold()))
    ways = {"times HH:MM": _clock, "ranges of times": _range}
    if named:
        ways |= {"hours 0..23": _hour, "hours AM and PM": _half, "ranges of hours": _hours}
        ways |= {} if _are_years(labels) else {"times HHMM": _hhmm}
    for written, parse in ways.items():
        bins = _parse_all(parse, labels)
        if bins:
            starts = [start for start, _ in bins]
            widths = {width for _, width in bins}
            step = widths.pop() if len(widths) == 1 and 0 not in widths else grid_step(starts)
            return (f"{written}, every {step} min" if step else written), starts, step
    return None


def clock_key(minutes: int, /) -> str:
    """Minutes since midnight as HH:MM."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def grid_step(starts: Sequence[int], /) -> int | None:
    """The widest usual step whose grid from midnight holds all times; None for fewer than two."""
    if len(set(starts)) < 2:
        return None
    common = reduce(gcd, starts, 24 * 60)
    return max(step for step in _USUAL if common % step == 0)


def is_clock(label: str, /) -> bool:
    """Whether a value is a clock time."""
    return _clock(label) is not None


def _parse_all(parse: Callable[[str], Bin | None], labels: Sequence[str]) -> list[Bin]:
    """All values as bins, or an empty list as soon as one is not."""
    bins: list[Bin] = []
    for label in labels:
        found = parse(label)
        if found is None:
            return []
        bins.append(found)
    return bins


def _clock(label: str) -> Bin | None:
    match = _CLOCK.fullmatch(label)
    if not match:
        return None
    hour, minute, half = int(match[1]), int(match[2]), (match[3] or "").casefold()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "p")
    return (60 * hour + minute, 0) if hour < _LAST_HOUR and minute < 60 else None


def _range(label: str) -> Bin | None:
    ends = [_clock(part) for part in _BETWEEN.split(label)]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return None
    width = (ends[1][0] - ends[0][0]) % (24 * 60)
    if width % 5 == 4:  # 07:00-07:14 means up to the next quarter
        width += 1
    return (ends[0][0], width) if width else None


def _hour(label: str) -> Bin | None:
    match = _HOUR.fullmatch(label)
    return (60 * int(match[1]), 60) if match and int(match[1]) < _LAST_HOUR else None


def _half(label: str) -> Bin | None:
    match = _HALF.fullmatch(label)
    if not match or not 1 <= int(match[1]) <= 12:
        return None
    return 60 * (int(match[1]) % 12 + 12 * (match[2].casefold() == "p")), 60


def _hours(label: str) -> Bin | None:
    match = _HOURS.fullmatch(label)
    if not match or max(int(match[1]), int(match[2])) > _LAST_HOUR:
        return None
    width = (int(match[2]) - int(match[1])) % 24
    return (60 * int(match[1]), 60 * width) if width else None


def _are_years(labels: Sequence[str]) -> bool:
    """Whether four digits are years rather than times such as 2015: all of one century, and no quarters of an hour apart."""
    if not all(_HHMM.fullmatch(label) and 1900 <= int(label) <= 2100 for label in labels):
        return False
    years = sorted({int(label) for label in labels})
    return len(years) == 1 or any((year - years[0]) % 15 for year in years)


def _hhmm(label: str) -> Bin | None:
    if not _HHMM.fullmatch(label) or int(label[:2]) >= _LAST_HOUR or int(label[2:]) >= 60:
        return None
    return 60 * int(label[:2]) + int(label[2:]), 0


_DATE_FORMATS = {
    "%Y%m%d": re.compile(r"\d{8}"),
    "%Y-%m-%d": re.compile(r"\d{4}-\d{1,2}-\d{1,2}"),
    "%Y/%m/%d": re.compile(r"\d{4}/\d{1,2}/\d{1,2}"),
    "%d/%m/%Y": re.compile(r"\d{1,2}/\d{1,2}/\d{4}"),
    "%m/%d/%Y": re.compile(r"\d{1,2}/\d{1,2}/\d{4}"),
    "%d-%m-%Y": re.compile(r"\d{1,2}-\d{1,2}-\d{4}"),
    "%d.%m.%Y": re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"),
    "%d/%m/%y": re.compile(r"\d{1,2}/\d{1,2}/\d{2}"),
    "%m/%d/%y": re.compile(r"\d{1,2}/\d{1,2}/\d{2}"),
    "%d %b %Y": re.compile(r"\d{1,2} [A-Za-z]{3} \d{4}"),
    "%d-%b-%Y": re.compile(r"\d{1,2}-[A-Za-z]{3}-\d{4}"),
    "%d-%b-%y": re.compile(r"\d{1,2}-[A-Za-z]{3}-\d{2}"),
    "%d %B %Y": re.compile(r"\d{1,2} [A-Za-z]{4,9} \d{4}"),
}
_INTEGER = re.compile(r"[-+]?\d+")
_DECIMAL = re.compile(r"[-+]?\d*[.]\d+(?:[eE][-+]?\d+)?")
_MOMENT = re.compile(r"(\S*\d\S*)[T ]+(\d{1,2}:\d{2}.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a column is written, with the key and the place in the order of each value.

    `ordinals[k]` is None for values without a place: text, unknown, total.
    """

    kind: Kind
    written: str
    keys: tuple[str, ...]
    ordinals: tuple[int | None, ...]
    step: int | None = None
    note: str = ""


def find_form(
    name: str,
    labels: Sequence[str],
    /,
    *,
    unknown: Sequence[bool],
    kind: Kind | None = None,
    pattern: str | None = None,
) -> Form:
    """How the values `labels` of column `name` are written; `kind` and `pattern` are believed when given.

    Raises
    ------
    DataError
        If a kind or a pattern for dates is given and some value does not fit.
    """
    judged = [label for label, gone in zip(labels, unknown, strict=True) if not gone and not is_total(label)]
    if pattern:
        kind = Kind.DATE
    if kind is Kind.TIME:
        name = "time"
    for candidate in [kind] if kind and judged else Kind:
        found = _parse(candidate, name, judged, pattern)
        if found is not None:
            return _spread(found, judged, labels)
    odd = next((one for one in judged if _parse(kind or Kind.TEXT, name, [one], pattern) is None), judged[0])
    wanted = f"{kind}s" + (f" written {pattern}" if pattern else "")
    raise DataError(
        f"Column {name!r} should hold {wanted}, but {odd[:40]!r} is not one; change its kind or format in the spec."
    )


def _parse(kind: Kind, name: str, labels: Sequence[str], pattern: str | None) -> Form | None:
    """All values read as one kind, or None when some do not fit."""
    match kind:
        case Kind.DATE:
            return _dates(labels, pattern)
        case Kind.TIME:
            return _times(name, labels)
        case Kind.NUMBER:
            return _numbers(labels)
        case Kind.TEXT:
            return _text(labels)


def _spread(form: Form, judged: Sequence[str], labels: Sequence[str]) -> Form:
    """The form of the judged values laid out over all values."""
    place = {label: k for k, label in enumerate(judged)}
    at = [place.get(label) for label in labels]
    return Form(
        kind=form.kind,
        written=form.written,
        keys=tuple(folded(label) if k is None else form.keys[k] for label, k in zip(labels, at, strict=True)),
        ordinals=tuple(None if k is None else form.ordinals[k] for k in at),
        step=form.step,
        note=form.note,
    )


def _text(labels: Sequence[str]) -> Form:
    return Form(
        kind=Kind.TEXT,
        written="text",
        keys=tuple(folded(label) for label in labels),
        ordinals=(None,) * len(labels),
    )


def _numbers(labels: Sequence[str]) -> Form | None:
    """Whole numbers; codes with leading zeros are text, since the zeros belong to them."""
    if not labels or any(not _INTEGER.fullmatch(label) or len(label) > 18 for label in labels):
        return None
    if any(len(label) > 1 and label.lstrip("+-").startswith("0") for label in labels):
        return None
    values = tuple(int(label) for label in labels)
    return Form(kind=Kind.NUMBER, written="whole numbers", keys=tuple(map(str, values)), ordinals=values)


def is_decimal(labels: Sequence[str], /) -> bool:
    """Whether all values are numbers and some have decimals: a measurement, not a code."""
    return any(_DECIMAL.fullmatch(label) for label in labels) and all(
        _DECIMAL.fullmatch(label) or _INTEGER.fullmatch(label) for label in labels
    )


def _dates(labels: Sequence[str], written: str | None) -> Form | None:
    """Dates in the first known format that fits all; day and month first are told apart by compactness."""
    formats = [written] if written else list(_DATE_FORMATS)
    fits: list[tuple[int, str, list[date]]] = []
    for pattern in formats:
        days = _parse_dates(labels, pattern)
        if days:
            fits.append((max(days).toordinal() - min(days).toordinal(), pattern, days))
    if not fits:
        return None
    span, pattern, days = min(fits, key=lambda fit: fit[0])
    rivals = [fit for fit in fits if fit[0] == span and fit[2] != days]
    note = f"read as day first ({pattern}), though month first fits as well" if rivals else ""
    epoch = date(1970, 1, 1).toordinal()
    return Form(
        kind=Kind.DATE,
        written=f"dates {pattern}",
        keys=tuple(day.isoformat() for day in days),
        ordinals=tuple(day.toordinal() - epoch for day in days),
        note=note,
    )


def _parse_dates(labels: Sequence[str], pattern: str) -> list[date] | None:
    shape = _DATE_FORMATS.get(pattern)
    days = []
    for label in labels:
        if shape and not shape.fullmatch(label):
            return None
        try:
            day = datetime.strptime(label, pattern).date()  # noqa: DTZ007 - a date has no time zone
        except ValueError:
            return None
        if not 1900 <= day.year <= 2100:
            return None
        days.append(day)
    return days


def _times(name: str, labels: Sequence[str]) -> Form | None:
    found = find_times(name, labels)
    if found is None:
        return None
    written, starts, step = found
    return Form(
        kind=Kind.TIME,
        written=written,
        keys=tuple(clock_key(start) for start in starts),
        ordinals=tuple(starts),
        step=step,
    )


def split_moments(labels: Sequence[str], /) -> list[tuple[str, str]] | None:
    """Date and time of each value, when all values are a date and a time in one."""
    parts = [_MOMENT.fullmatch(label) for label in labels]
    if not labels or not all(parts):
        return None
    pairs = [(match[1], re.sub(r"(\.0+)?(Z|[+-]00:?00)?$", "", match[2])) for match in parts if match]
    if _dates([day for day, _ in pairs], None) is None or not all(is_clock(clock) for _, clock in pairs):
        return None
    return pairs


def find_unknown(labels: Sequence[str], missing: Sequence[str] | None = None, /) -> list[bool]:
    """Which values mean "not known": words, and -1 and the like where nothing else is negative."""
    if missing is not None:
        told = {folded(label) for label in missing}
        return [folded(label) in told for label in labels]
    others = any(
        label.startswith("-") and label[1:].isdigit() and label not in UNKNOWN_NUMBERS for label in labels
    )
    numbers = frozenset() if others else UNKNOWN_NUMBERS
    return [folded(label) in UNKNOWN_WORDS or label in numbers for label in labels]


def common_step(counts: NDArray[np.generic], /) -> int:
    """What all counts are multiples of; 1 if some are not whole, nothing but 0 is there, or a single one, which tells nothing.

    Examples
    --------
    >>> common_step(np.array([0, 15, 10])), common_step(np.array([2.5, 5.0])), common_step(np.array([0]))
    (5, 1, 1)
    """
    values = np.asarray(counts, np.float64)
    whole = np.rint(values).astype(np.int64)
    return max(int(np.gcd.reduce(whole)), 1) if whole.size > 1 and (whole == values).all() else 1
