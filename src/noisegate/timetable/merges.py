"""Which times and places to merge, at which hours, so that every cell mixes at least k vehicles.

For one mode, the day is cut into spans: a span has a width that divides the day and starts at a multiple of
it, and a level of places. It is *sound* if every cell that a vehicle can reach in it, on any date and for either tap,
holds at least k vehicles. Of all ways to cut the day into sound spans, the one is chosen that leaves
most cells, less a small charge for every change of width or level, so that the answer stays short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from noisegate.errors import SpecError
from noisegate.timetable.linkage import Linkage
from noisegate.timetable.mixing import vehicles_of_cells
from noisegate.timetable.visits import Flags, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of the day in which one mode is published in the same way.

    Attributes
    ----------
    mode
        The code of the mode in the table; 0 for a table without modes.
    start_s, end_s
        From when up to when, in seconds after midnight.
    span_s
        The width of its time bins.
    level
        How places are shown: the name of a level.
    """

    mode: int
    start_s: int
    end_s: int
    span_s: int
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merges:
    """What to merge, and what that costs.

    Attributes
    ----------
    segments
        The whole day of every mode that can reach k vehicles, in order.
    hopeless
        Modes that have fewer than k vehicles on some date even if the whole day and all places are one cell.
    before, after
        Cells that a vehicle can reach, as the table stands and with the segments.
    below
        How many of those before have fewer than k vehicles.
    """

    k: int
    segments: tuple[Segment, ...]
    hopeless: tuple[int, ...]
    before: int
    after: int
    below: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Calls:
    """What is needed of a linkage, one row for each pair of a cell's bin and a vehicle, in the order of vehicles."""

    mode: Ints
    date: Ints
    tap: Ints
    bin: Ints
    place: Ints
    run: Ints

    def __getitem__(self, rows: Flags | Ints) -> _Calls:
        return _Calls(
            mode=self.mode[rows],
            date=self.date[rows],
            tap=self.tap[rows],
            bin=self.bin[rows],
            place=self.place[rows],
            run=self.run[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Way:
    """One way to publish: bins of so many base bins, places at a level; for each span, whether sound, and its cells."""

    width: int
    level: str
    sound: Flags
    cells: Ints

    def at(self, place: int, /) -> int | None:
        """The cells of the span that starts at bin `place`; None if none does, or it is not sound."""
        span, rest = divmod(place, self.width)
        return int(self.cells[span]) if rest == 0 and self.sound[span] else None


def _best_cutting(
    ways: Sequence[_Way], /, *, bins: int, charge: float
) -> tuple[float, list[tuple[int, _Way]]]:
    """The best way to cut a day: its worth, and each span's first bin and way; no spans if there is none.

    From the end of the day backwards: what the rest of a day is worth to somebody who arrives with each way.
    """
    worth = np.full((bins + 1, len(ways)), -np.inf)
    worth[bins] = 0.0
    for place in range(bins - 1, -1, -1):
        for number, way in enumerate(ways):
            cells = way.at(place)
            if cells is not None:
                rest = worth[place + way.width]
                worth[place, number] = cells + max(rest[number], rest.max() - charge)
    if not np.isfinite(worth[0]).any():
        return -np.inf, []
    number, place, spans = int(worth[0].argmax()), 0, []
    while place < bins:
        spans.append((place, ways[number]))
        rest = worth[place + ways[number].width]
        place += ways[number].width
        if rest[number] < rest.max() - charge:
            number = int(rest.argmax())
    return float(worth[0].max()), spans


def suggest_merges(
    linkage: Linkage,
    /,
    *,
    k: int,
    levels: Mapping[str, Ints],
    reach: Linkage | None = None,
    by_hour: bool = True,
    charge: float = 0.01,
) -> Merges:
    """Merges of times and places that leave no cell with fewer than k vehicles.

    Parameters
    ----------
    linkage
        The vehicles of every cell: those that count. It must be made from a table with time and location,
        before merging. With tolerance 0 only vehicles that are scheduled inside a cell count, which is the strict choice.
    k
        How many different vehicles each cell must mix.
    levels
        How places can be shown, from fine to coarse: for each level the group of every location code.
    reach
        A linkage with a wider tolerance: the cells that a vehicle can reach when it is early or late must
        be sound as well. `linkage` itself if left out.
    by_hour
        Whether places may be merged at some hours only. Then a table without time cannot be published; see the
        how-to on release specs.
    charge
        What a change of width or level during the day must bring at least, as a share of the mode's cells.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise SpecError.for_value("k", found=k, allowed="a whole number of at least 1")
    if not levels:
        raise SpecError("levels must name at least one way to show places.")
    inside, outside = _calls(linkage), _calls(reach or linkage)
    segments: list[Segment] = []
    hopeless: list[int] = []
    after = 0
    bins = linkage.grid.bins
    for mode in np.unique(outside.mode).tolist():
        ways = _ways(
            inside[inside.mode == mode], outside[outside.mode == mode], k=k, levels=levels, bins=bins
        )
        choices = [ways] if by_hour else [[way for way in ways if way.level == name] for name in levels]
        fee = charge * max(int(way.cells.sum()) for way in ways)
        _, spans = max(
            (_best_cutting(choice, bins=bins, charge=fee) for choice in choices), key=lambda b: b[0]
        )
        if not spans:
            hopeless.append(mode)
        after += sum(way.at(place) or 0 for place, way in spans)
        segments += _joined(mode, spans, linkage.grid.bin_s)
    wide = reach or linkage
    return Merges(
        k=k,
        segments=tuple(segments),
        hopeless=tuple(hopeless),
        before=len(wide),
        after=after,
        below=int((linkage.vehicle_counts(wide.cells) < k).sum()),
    )


def _calls(linkage: Linkage, /) -> _Calls:
    """Mode, date, tap, bin of the day, place and run of every pair of a cell and a vehicle."""
    if not {"time", "location"} <= set(linkage.grid.roles):
        raise SpecError("merges can be suggested for a table with time and location only.")
    if any(
        labels.size != np.unique(values).size or (labels != values).any()
        for labels, values in linkage.grid.members.values()
    ):
        raise SpecError(
            "merges are suggested for a table before merging; leave out 'merge' and 'group_by' first."
        )
    cell = np.repeat(np.arange(len(linkage)), np.diff(linkage.start))
    visits = linkage.visits
    bins = linkage.bin[cell]
    mode = visits.mode[linkage.visit]
    shown = linkage.grid.modes[mode] if "mode" in linkage.grid.roles else np.zeros(mode.size, dtype=np.int64)
    run = visits.run[linkage.visit].astype(np.int64)
    calls = _Calls(
        mode=shown,
        date=bins // linkage.grid.bins,
        tap=linkage.tap[cell],
        bin=bins % linkage.grid.bins,
        place=linkage.grid.places[mode, visits.stop[linkage.visit]].astype(np.int64),
        run=run,
    )
    return calls[np.argsort(run, kind="stable")]


def _ways(inside: _Calls, outside: _Calls, /, *, k: int, levels: Mapping[str, Ints], bins: int) -> list[_Way]:
    """All ways to publish one mode, fine ones first."""
    ways = []
    for width in (width for width in range(1, bins + 1) if bins % width == 0):
        for name, groups in levels.items():
            sound, cells = _judge(inside, outside, k=k, width=width, groups=np.asarray(groups), bins=bins)
            ways.append(_Way(width=width, level=name, sound=sound, cells=cells))
    return ways


def _judge(
    inside: _Calls, outside: _Calls, *, k: int, width: int, groups: Ints, bins: int
) -> tuple[Flags, Ints]:
    """For each span of the day: whether all its cells are sound, and how many there are."""
    reached, _ = vehicles_of_cells(_cell_keys(outside, width, groups, bins), outside.run)
    names, vehicles = vehicles_of_cells(_cell_keys(inside, width, groups, bins), inside.run)
    enough = names[vehicles >= k]
    block = reached % (bins // width)
    poor = block[~np.isin(reached, enough, assume_unique=True)]
    sound = np.ones(bins // width, dtype=bool)
    sound[poor] = False
    return sound, np.bincount(block, minlength=bins // width)


def _cell_keys(calls: _Calls, width: int, groups: Ints, bins: int, /) -> Ints:
    """One number for each cell; its remainder by the number of spans is the span."""
    most = int(groups.max(initial=0)) + 1
    key = (calls.date * 2 + calls.tap) * most + groups[calls.place]
    return np.asarray(key * (bins // width) + calls.bin // width)


def _joined(mode: int, spans: Sequence[tuple[int, _Way]], bin_s: int, /) -> list[Segment]:
    """Neighbouring spans of the same way as one segment."""
    segments = []
    for way, group in groupby(spans, key=lambda span: span[1]):
        places = [place for place, _ in group]
        segments.append(
            Segment(
                mode=mode,
                start_s=places[0] * bin_s,
                end_s=(places[-1] + way.width) * bin_s,
                span_s=way.width * bin_s,
                level=way.level,
            )
        )
    return segments
