"""Labels that have an order of their own: days of the week, weeks, months, and bands of a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_NUMBER = r"-?\d+(?:\.\d+)?"
_BAND = re.compile(
    rf"under (?P<under>{_NUMBER})|(?P<over>{_NUMBER})\+|(?P<low>{_NUMBER})-(?P<high>{_NUMBER})"
    rf"|(?P<from>{_NUMBER}) to (?P<to>{_NUMBER})|(?P<one>-?\d+)",
    re.ASCII,
)


def ordered_shares(labels: Sequence[str], first: str, last: str, /) -> Floats | None:
    """How much of each label lies from `first` to `last`, both included; None if the labels have no order.

    Days of the week run past Sunday if the second is not later. A band that a number cuts through counts in part; one that has
    no end counts only if the range has none on that side.

    Examples
    --------
    >>> ordered_shares(["0-14", "15-24", "25+"], "15", "19").tolist()
    [0.0, 0.5, 0.0]
    >>> ordered_shares(["2016-07", "2016-08", "2016-09"], "2016-08", "2016-12").tolist()
    [0.0, 1.0, 1.0]
    """
    for place in (_weekday, _week, _month):
        places = [place(label) for label in labels]
        if None not in places:
            return _between(places, place(first), place(last), wraps=place is _weekday)
    bands = [band_span(label) for label in labels]
    spans = [span for span in bands if span is not None]
    if len(spans) < len(labels) or not any("-" in label[1:] or "+" in label for label in labels):
        return None
    low, high = _number(first), _number(last)
    return None if low is None or high is None else _overlaps(spans, low, high + _step(labels))


def _between(
    places: Sequence[int | None], low: int | None, high: int | None, /, *, wraps: bool
) -> Floats | None:
    if low is None or high is None or (high < low and not wraps):
        return None
    inside = [
        low <= place <= high if low <= high else place >= low or place <= high
        for place in places
        if place is not None
    ]
    return np.array(inside, dtype=np.float64)


def _weekday(label: str, /) -> int | None:
    text = label.strip().casefold()
    return _WEEKDAYS.index(text) if text in _WEEKDAYS else None


def _week(label: str, /) -> int | None:
    found = _WEEK.fullmatch(label.strip())
    if found is None:
        return None
    try:
        return date.fromisocalendar(int(found[1]), int(found[2]), 1).toordinal()
    except ValueError:
        return None


def _month(label: str, /) -> int | None:
    found = _MONTH.fullmatch(label.strip())
    return None if found is None or not 1 <= int(found[2]) <= 12 else 12 * int(found[1]) + int(found[2])


def _number(text: str, /) -> float | None:
    return float(text) if re.fullmatch(_NUMBER, text.strip()) else None


def _step(labels: Sequence[str], /) -> float:
    """What the last number of a range adds: one where bands are of whole numbers, nothing else."""
    return 0.0 if any(" to " in label for label in labels) else 1.0


def band_span(label: str, /) -> tuple[float, float] | None:
    """From where up to where a band runs, the end not in it; None if the label is no band."""
    found = _BAND.fullmatch(label.strip())
    if found is None:
        return None
    if found["under"]:
        return -np.inf, float(found["under"])
    if found["over"]:
        return float(found["over"]), np.inf
    if found["from"]:
        return float(found["from"]), float(found["to"])
    if found["one"]:
        return float(found["one"]), float(found["one"]) + 1
    return float(found["low"]), float(found["high"]) + 1


def _overlaps(spans: Sequence[tuple[float, float]], low: float, high: float, /) -> Floats:
    """How much of each span lies in [low, high); one without an end counts only where all of it that can be known does."""
    found = []
    for start, end in spans:
        inside = min(end, high) - max(start, low)
        if np.isinf(end - start):
            found.append(0.0)
        else:
            found.append(max(0.0, inside) / (end - start))
    return np.array(found)
