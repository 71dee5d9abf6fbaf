"""The search for couplings: every series of a table against every other, at every lag up to two hours.

A *series* is a combination of all values that are neither date nor time. Where a dimension tells the two
ends of a ride apart (on and off, entry and exit), only starts are compared with ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisegate import limits
from noisegate.laws import Floats, Ints
from noisegate.reading import describe as describe_labels
from noisegate.reading import row_ids
from noisegate.recovery.couplings import (
    Codes,
    Coupling,
    Moments,
    couple,
    equal_pairs,
    least_published,
    selected,
)
from noisegate.recovery.equality import find_pairs
from noisegate.tables import Table, compact, folded

#: Words for the two ends of a ride.
_ENDS = (
    ("on", "off"),
    ("in", "out"),
    ("tap on", "tap off"),
    ("entry", "exit"),
    ("entries", "exits"),
    ("board", "alight"),
    ("boarding", "alighting"),
    ("boardings", "alightings"),
    ("check-in", "check-out"),
    ("origin", "destination"),
    ("departure", "arrival"),
    ("departures", "arrivals"),
)
_LONGEST_MIN = 120
#: A series needs this many published counts to say anything, and only so many series are compared.
_FEWEST, _MOST_SERIES = 8, 5_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """What the search compared and found.

    `series` and `comparisons` say how much was compared; `doubtful` are pairs that track each other
    closely and yet are not equal.
    """

    found: tuple[Coupling, ...] = ()
    doubtful: tuple[Coupling, ...] = ()
    series: int = 0
    lags: tuple[int, ...] = ()
    note: str = ""


def search(cells: Table, /, *, false_alarm: float = 0.01) -> Search:
    """Pairs of series of `cells` that record the same raw counts at a constant lag.

    Guarantee: on tables without such pairs, anything is found with chance at most `false_alarm`.
    """
    moments = Moments.of(cells)
    if moments.step is None:
        return Search(note="the table has no times, so there are no series to compare")
    series = _series(cells, moments)
    if series is None:
        return Search(note="no two series have enough published counts to be compared")
    lags = tuple(range(min(_LONGEST_MIN // moments.step, series.cube.shape[2] - 1) + 1))
    if moments.time is None:
        lags = (0,)
    starts, ends = _ends(cells, moments, series.codes)
    if (starts is not None and not starts.size) or (ends is not None and not ends.size):
        return Search(note="the table shows only one end of rides, so there are no pairs to compare")
    pairs = find_pairs(
        series.cube,
        cut=least_published(cells),
        lags=lags,
        firsts=starts,
        seconds=ends,
        false_alarm=false_alarm,
    )
    couplings = [
        couple(
            cells,
            selected(cells, moments.rest, series.codes[:, pair.first].tolist()),
            selected(cells, moments.rest, series.codes[:, pair.second].tolist()),
            lag=pair.lag * moments.step,
            source="found",
            equality=pair.equality,
        )
        for pair in pairs
    ]
    return Search(
        found=tuple(c for c in couplings if c.equality is not None and c.equality.doubt is None),
        doubtful=tuple(c for c in couplings if c.equality is not None and c.equality.doubt is not None),
        series=series.codes.shape[1],
        lags=tuple(lag * moments.step for lag in lags),
        note=series.note,
    )


def equal_cells(table: Table, /) -> Ints | None:
    """Pairs of cells of a published table, shape (2, pairs), that hold the same raw count, as far as the search finds any."""
    found = search(replace(table, domain=describe_labels(table.domain))).found
    return equal_pairs(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Series:
    """Published counts by series, day and bin, and the codes of each series' rest."""

    cube: Floats
    codes: Codes
    note: str


def _series(cells: Table, moments: Moments, /) -> _Series | None:
    codes = cells.codes(cells.cells)
    usable = np.ones(cells.cells.size, dtype=bool)
    for place in (moments.date, moments.time):
        if place is not None:
            usable &= cells.dimensions[place].placed[codes[place]]
    codes, counts = codes[:, usable], cells.values[usable]
    if not moments.rest or not counts.size:
        return None
    rest, which = _distinct(codes[list(moments.rest)])
    day, hour = _days_and_bins(cells, moments, codes)
    size = np.bincount(which, minlength=rest.shape[1])
    keep = np.flatnonzero(size >= _FEWEST)
    most = min(
        _MOST_SERIES, limits.current().compared_values // ((int(day.max()) + 1) * (int(hour.max()) + 1))
    )
    note = ""
    if keep.size > most:
        note = f"only the {most:,} series with the most published counts were compared"
        keep = np.sort(keep[np.argsort(-size[keep], kind="stable")[:most]])
    if keep.size < 2:
        return None
    number = np.full(rest.shape[1], -1)
    number[keep] = np.arange(keep.size)
    rows = number[which] >= 0
    cube = np.full((keep.size, int(day.max()) + 1, int(hour.max()) + 1), np.nan)
    cube[number[which[rows]], day[rows], hour[rows]] = counts[rows]
    return _Series(cube=cube, codes=rest[:, keep], note=note)


def _distinct(codes: Codes, /) -> tuple[Codes, Ints]:
    """The distinct columns in ascending order, and which of them each column is."""
    ids = row_ids(codes, tuple(int(row.max(initial=0)) + 1 for row in codes))
    known, which = compact(ids)
    first = np.empty(known.size, np.int64)
    first[which[::-1]] = np.arange(ids.size)[::-1]
    return codes[:, first], which


def _days_and_bins(cells: Table, moments: Moments, codes: Codes, /) -> tuple[Ints, Ints]:
    """The day and the bin of each cell; without times, days are the bins of one day."""
    nothing = np.zeros(codes.shape[1], dtype=np.int64)
    day = nothing if moments.date is None else cells.dimensions[moments.date].ordinals[codes[moments.date]]
    day = day - day.min(initial=0) if moments.date is None else day - day.min()
    if moments.time is None:
        return nothing, day
    clock = cells.dimensions[moments.time].ordinals[codes[moments.time]]
    return day, clock // (moments.step or 1)


def _ends(cells: Table, moments: Moments, codes: Codes, /) -> tuple[Ints | None, Ints | None]:
    """The series at which rides start and end, where a dimension says so."""
    for row, place in enumerate(moments.rest):
        words = [folded(label) for label in cells.dimensions[place].labels]
        for start, end in _ENDS:
            if start in words and end in words:
                starts = codes[row] == words.index(start)
                ends = codes[row] == words.index(end)
                return np.flatnonzero(starts), np.flatnonzero(ends)
    return None, None


def describe(result: Search, /) -> str:
    """What was compared, in words."""
    if not result.series:
        return result.note
    first, last = result.lags[0], result.lags[-1]
    lags = f"lags of {first} to {last} min" if last > first else f"a lag of {first} min"
    text = f"{result.series:,} series compared at {lags}"
    return f"{text}; {result.note}" if result.note else text


def pair_numbers(coupling: Coupling, /) -> dict[str, float | int]:
    """The evidence for a coupling that was found, by name."""
    found = coupling.equality
    if found is None:
        return {}
    return {
        "log_evidence": round(found.log_evidence, 1),
        "moments": found.moments,
        "unmatched": found.unmatched,
        "spread": round(found.spread, 3),
        "spread_of_different_counts": round(found.poisson_spread, 3),
    }
