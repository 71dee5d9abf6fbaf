"""Suggested merges as a piece of a release spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from noisegate.timetable.merges import Merges, Segment

#: The level of places that leaves them as they are, and the one that makes them one.
OWN, ALL = "own", "all"
_DAY_S = 86_400


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
    return any(len(found) > 1 for found in levels.values())


def _places(segments: Sequence[Segment], /) -> Iterator[Segment]:
    """The segments in which places are merged; the whole day as one where a mode shows them alike all day."""
    levels: dict[int, set[str]] = {}
    for segment in segments:
        levels.setdefault(segment.mode, set()).add(segment.level)
    for mode, found in levels.items():
        own = [segment for segment in segments if segment.mode == mode]
        for segment in own if len(found) > 1 else [replace(own[0], start_s=0, end_s=_DAY_S)]:
            if segment.level != OWN:
                yield segment


def _where(segment: Segment, names: SpecNames, /) -> Mapping[str, Any]:
    where: dict[str, Any] = {names.mode: [names.modes[segment.mode]]} if names.modes else {}
    if (segment.start_s, segment.end_s) != (0, _DAY_S):
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
