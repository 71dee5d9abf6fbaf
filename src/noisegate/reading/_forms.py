"""How the values of a column are written: dates, times of day, numbers or text.

A column is judged as a whole, by its distinct values, leaving out those that mean "unknown" or
"total". A form is accepted only if every other value fits it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from noisegate.errors import DataError
from noisegate.reading._clock import clock_key, find_times, is_clock
from noisegate.reading._table import Kind
from noisegate.reading._words import fold, is_total

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
        keys=tuple(fold(label) if k is None else form.keys[k] for label, k in zip(labels, at, strict=True)),
        ordinals=tuple(None if k is None else form.ordinals[k] for k in at),
        step=form.step,
        note=form.note,
    )


def _text(labels: Sequence[str]) -> Form:
    return Form(
        kind=Kind.TEXT,
        written="text",
        keys=tuple(fold(label) for label in labels),
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
