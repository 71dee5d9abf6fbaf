"""Which times and places to merge, at which hours, so that every cell mixes at least k vehicles; also as a piece of a spec.

For one mode, the day is cut into spans: a span has a width that divides the day and starts at a multiple of
it, and a level of places. It is *sound* if every cell that a vehicle can reach in it, on any date and for either tap,
holds at least k vehicles. Of all ways to cut the day into sound spans, the one is chosen that leaves
most cells, less a small charge for every change of width or level, so that the answer stays short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import yaml

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.laws import compiled
from noisegate.timetable.linkage import Linkage
from noisegate.timetable.visits import DAY_S, Flags, Ints

#: The level of places that leaves them as they are, and the one that makes them one.
OWN, ALL = "own", "all"


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


def vehicles_of_cells(cell: Ints, run: Ints, /) -> tuple[Ints, Ints]:
    """The cells that occur, ascending, and how many different runs each has; `run` must ascend."""
    if not cell.size:
        return cell, cell
    if int(cell.max()) < limits.current().vehicle_cells:
        counts = _counted(cell, run, int(cell.max()) + 1)
        names = np.flatnonzero(counts)
        return names, counts[names].astype(np.int64)
    names, number = np.unique(cell, return_inverse=True)
    return names, _counted(number.astype(np.int64), run, names.size).astype(np.int64)


@compiled
def _counted(cell: Ints, run: Ints, size: int) -> Any:
    counts = np.zeros(size, dtype=np.int32)
    last = np.full(size, -1, dtype=np.int64)
    for i in range(cell.size):
        if last[cell[i]] != run[i]:
            last[cell[i]] = run[i]
            counts[cell[i]] += 1
    return counts


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecNames:
    """What a spec calls its dimensions, its modes, and the place that stands for all places."""

    modes: Sequence[str]
    mode: str = "mode"
    time: str = "time"
    location: str = "location"
    everywhere: str = "everywhere"


def merge_rules(merges: Merges, /, *, bin_s: int, names: SpecNames) -> list[dict[str, Any]]:
    """The entries of `merge:` in a release spec that do what `merges` says.

    Levels of places other than OWN and ALL are columns of the spec's list of places. `bin_s` is the width of the spec's
    time bins.
    """
    rules = [
        {"dimension": names.time, "into": _span(segment.span_s), "where": _where(segment, names)}
        for segment in merges.segments
        if segment.span_s > bin_s
    ]
    for segment in _places(merges.segments):
        target = {"into": names.everywhere} if segment.level == ALL else {"by": segment.level}
        rules.append({"dimension": names.location, **target, "where": _where(segment, names)})
    return [_tidy(rule) for rule in rules]


def merge_fragment(merges: Merges, /, *, bin_s: int, names: SpecNames) -> str:
    """The same as YAML text, with a word on what it does; empty rules if nothing needs merging."""
    rules = merge_rules(merges, bin_s=bin_s, names=names)
    head = [f"# Every cell that a scheduled vehicle can reach mixes at least {merges.k} vehicles."]
    if needs_time(merges):
        head.append("# Places are merged at some hours only: publish no table that leaves out the time.")
    if merges.hopeless:
        words = ", ".join(names.modes[mode] for mode in merges.hopeless)
        head.append(
            f"# Not possible for {words}: fewer than {merges.k} vehicles on some date. Leave the mode out."
        )
    body = yaml.safe_dump({"merge": rules}, sort_keys=False, default_flow_style=None, width=120)
    return "\n".join([*head, body])


def needs_time(merges: Merges, /) -> bool:
    """Whether places are merged at some hours only, so that every table must have the time."""
    levels: dict[int, set[str]] = {}
    for segment in merges.segments:
        levels.setdefault(segment.mode, set()).add(segment.level)
    return any(len(names) > 1 for names in levels.values())


def _places(segments: Sequence[Segment], /) -> Iterator[Segment]:
    """The segments in which places are merged; the whole day as one where a mode shows them alike all day."""
    levels: dict[int, set[str]] = {}
    for segment in segments:
        levels.setdefault(segment.mode, set()).add(segment.level)
    for mode, names in levels.items():
        own = [segment for segment in segments if segment.mode == mode]
        for segment in own if len(names) > 1 else [replace(own[0], start_s=0, end_s=DAY_S)]:
            if segment.level != OWN:
                yield segment


def _where(segment: Segment, names: SpecNames, /) -> Mapping[str, Any]:
    where: dict[str, Any] = {names.mode: [names.modes[segment.mode]]} if names.modes else {}
    if (segment.start_s, segment.end_s) != (0, DAY_S):
        where[names.time] = {"from": _clock(segment.start_s), "to": _clock(segment.end_s)}
    return where


def _tidy(rule: dict[str, Any], /) -> dict[str, Any]:
    return rule if rule["where"] else {key: value for key, value in rule.items() if key != "where"}


def _span(seconds: int, /) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _clock(at_s: int, /) -> str:
    text = f"{at_s // 3600:02d}:{at_s // 60 % 60:02d}"
    return text if at_s % 60 == 0 else f"{text}:{at_s % 60:02d}"
