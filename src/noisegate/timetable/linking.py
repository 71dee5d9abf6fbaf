"""From a feed and the public domain of a table to the vehicles behind every cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np

from noisegate.errors import SpecError
from noisegate.tables.domain import Dimension, Domain
from noisegate.timetable.calendar import EPOCH
from noisegate.timetable.feed import Feed
from noisegate.timetable.grid import NO_TIME, ROLES, Grid, Role
from noisegate.timetable.linkage import Linkage, link
from noisegate.timetable.matching import Matching
from noisegate.timetable.modes import mode_of_word
from noisegate.timetable.names import is_unknown
from noisegate.timetable.tolerance import Tolerance, by_mode
from noisegate.timetable.visits import DAY_S, Ints

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_ON = frozenset({"on", "tap on", "tapon", "in", "entry", "board", "boarding"})
_OFF = frozenset({"off", "tap off", "tapoff", "out", "exit", "alight", "alighting"})


def tolerances_of(
    feed: Feed, tolerance: Tolerance | Mapping[str, Tolerance], /, *, default: Tolerance | None = None
) -> tuple[Tolerance, ...]:
    """A tolerance for each mode of the feed, from one for all or one by the name of the mode."""
    if isinstance(tolerance, Tolerance):
        return by_mode(tolerance, len(feed.modes))
    for name in tolerance:
        if name not in feed.modes:
            raise SpecError.for_choice("mode", found=name, allowed=feed.modes)
    return tuple(tolerance.get(name, default or Tolerance()) for name in feed.modes)


def link_feed(feed: Feed, /, *, grid: Grid, tolerance: Tolerance | Mapping[str, Tolerance]) -> Linkage:
    """The vehicles of `feed` that could have produced each cell of a table."""
    tolerances = tolerances_of(feed, tolerance)
    margin_s = max(one.reach_s for one in tolerances)
    dates = [EPOCH + timedelta(days=day) for day in grid.wanted_days.tolist()]
    return link(feed.visits(dates, margin_s=margin_s), grid=grid, tolerance=tolerances)


def domain_grid(
    feed: Feed,
    domain: Domain,
    /,
    *,
    matching: Matching,
    roles: Mapping[str, Role] | None = None,
    dates: Sequence[date] = (),
) -> Grid:
    """What the values of a public domain mean to the timetable.

    Parameters
    ----------
    matching
        The stops of the domain's locations, in the order of its values.
    roles
        From the name of each dimension to what it is; the dimensions are called as their roles if left out.
    dates
        The dates that a table without dates covers.
    """
    told = roles or {name: name for name in ROLES}
    found: list[Role] = []
    for dimension in domain.dimensions:
        if dimension.name not in told:
            raise SpecError.for_choice("dimension", found=dimension.name, allowed=told)
        found.append(told[dimension.name])
    of: dict[Role, Dimension] = dict(zip(found, domain.dimensions, strict=True))
    starts_s, bin_s = _times(of["time"].values) if "time" in of else (np.zeros(1, dtype=np.int64), DAY_S)
    days = (
        _days(of["date"].values) if "date" in of else np.array([(day - EPOCH).days for day in sorted(dates)])
    )
    places = matching.places if "location" in of else np.zeros_like(matching.places)
    return Grid.of_domain(
        domain,
        roles=found,
        days=days.astype(np.int64),
        starts_s=starts_s,
        bin_s=bin_s,
        taps=tap_codes(of["tap"].values) if "tap" in of else (0, 0),
        modes=mode_codes(feed, of["mode"].values)
        if "mode" in of
        else np.zeros(len(feed.modes), dtype=np.int64),
        places=places,
    )


def mode_codes(feed: Feed, labels: Sequence[str], /) -> Ints:
    """For each mode of the feed, the code of the table's word for it; -1 if it has none."""
    codes = np.full(len(feed.modes), -1, dtype=np.int64)
    for code, label in enumerate(labels):
        mode = mode_of_word(label)
        if mode is not None and codes[mode] >= 0:
            raise SpecError(
                f"The table has two words for {feed.modes[mode]}: {labels[codes[mode]]!r} and {label!r}."
            )
        if mode is not None:
            codes[mode] = code
    return codes


def tap_codes(labels: Sequence[str], /) -> tuple[int, int]:
    """The codes of the table's words for tapping on and tapping off; -1 where it has none."""
    words = [" ".join(re.sub(r"[^a-z]+", " ", label.casefold()).split()) for label in labels]
    on = next((code for code, word in enumerate(words) if word in _ON), -1)
    off = next((code for code, word in enumerate(words) if word in _OFF), -1)
    if on < 0 and off < 0:
        raise SpecError(
            f"The taps of the table must be called on and off, got {', '.join(map(repr, labels))}."
        )
    return on, off


def _days(labels: Sequence[str], /) -> Ints:
    """Dates such as 2016-07-25 or 20160725 as days since 1970."""
    out = np.full(len(labels), NO_TIME, dtype=np.int64)
    for code, label in enumerate(labels):
        if is_unknown(label):
            continue
        try:
            out[code] = (date.fromisoformat(label) - EPOCH).days
        except ValueError as error:
            raise SpecError(f"A date of the table must be like 2016-07-25, got {label!r}.") from error
    return out


def _times(labels: Sequence[str], /) -> tuple[Ints, int]:
    """Times such as 06:15 as seconds after midnight, and the width of the bins that they start."""
    out = np.full(len(labels), NO_TIME, dtype=np.int64)
    for code, label in enumerate(labels):
        match = _CLOCK.fullmatch(label)
        if match:
            hour, minute, second = (int(part or 0) for part in match.groups())
            out[code] = 3600 * hour + 60 * minute + second
        elif not is_unknown(label):
            raise SpecError(f"A time of the table must be like 06:15, got {label!r}.")
    known = out[out != NO_TIME]
    return out, int(np.gcd.reduce(np.append(known, DAY_S)))
