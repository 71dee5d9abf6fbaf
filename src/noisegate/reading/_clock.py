"""Times of day: clock times, ranges of them, bare hours; in minutes since midnight."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from math import gcd

#: Start and width in minutes; width 0 where a value does not tell it.
Bin = tuple[int, int]

#: Words in the name of a column that make bare numbers times.
TIME_NAMES = frozenset(
    {"hour", "hours", "hr", "hrs", "hh", "h", "time", "tod", "hhmm", "start", "from", "bin"}
)

_CLOCK = re.compile(r"(\d{1,2})[:h](\d{2})(?::00(?:\.0+)?)?(?:\s*([ap])\.?m\.?)?", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:-|–|to)\s*")
_HOUR = re.compile(r"\d{1,2}")
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
        ways |= {"hours 0..23": _hour, "times HHMM": _hhmm}
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
    return (60 * int(label), 60) if _HOUR.fullmatch(label) and int(label) < _LAST_HOUR else None


def _hhmm(label: str) -> Bin | None:
    if not _HHMM.fullmatch(label) or int(label[:2]) >= _LAST_HOUR or int(label[2:]) >= 60:
        return None
    return 60 * int(label[:2]) + int(label[2:]), 0
