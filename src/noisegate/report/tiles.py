"""The five numbers: those that say most about a release, of those that this assessment knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from noisegate.report.page import Tile
from noisegate.report.source import Source
from noisegate.report.words import chance, ends, interval, objects, percent, plural, short

#: As many as people remember.
_MANY = 5


def tiles_of(source: Source, /) -> tuple[Tile, ...]:
    """At most five numbers, what matters to persons first."""
    known = (tile for find in _FINDERS if (tile := find(source)) is not None)
    return tuple(islice(known, _MANY))


def _person(source: Source, /) -> Tile | None:
    privacy = source.privacy
    if privacy.get("unbounded"):
        laws = privacy.get("laws")
        bare = isinstance(laws, dict) and "none" in laws.values()
        why = "there is no noise" if bare else "the noise has a largest value"
        return Tile(value="no bound", label="privacy loss of one person", note=why)
    epsilon = privacy.get("person_epsilon")
    if not isinstance(epsilon, int | float):
        return None
    events = privacy.get("person_events")
    whose = f"a person with {events} events" if isinstance(events, int) else "one person"
    return Tile(
        value=f"ε = {short(float(epsilon))}",
        label=f"privacy loss of {whose}",
        note="as the card states"
        if privacy.get("source") == "card"
        else "from the recovered noise; 1 is strong, 10 is little",
    )


def _shows(source: Source, /) -> Tile | None:
    privacy = source.privacy
    delta, if_kept = privacy.get("delta"), privacy.get("delta_if_zeros_kept")
    if isinstance(delta, int | float):
        return Tile(
            value=chance(float(delta)),
            label="chance that one event proves somebody's presence",
            note="per event, in a cell that would otherwise be empty",
        )
    if isinstance(if_kept, int | float):
        return Tile(
            value=chance(float(if_kept)),
            label="chance that one event proves somebody's presence",
            note="if empty cells stay empty, which these tables do not decide",
        )
    return None


def _scale(source: Source, /) -> Tile | None:
    for table in source.tables:
        noise = table.get("noise") or {}
        if isinstance(noise.get("scale"), int | float) and noise.get("law") != "none":
            ends = interval(noise.get("interval"))
            return Tile(
                value=short(float(noise["scale"])),
                label=f"scale of the noise in {table.get('name')}, recovered from the tables",
                note=f"{float(noise.get('level') or source.level):.0%}: {ends}; {plural(int(noise.get('n') or 0), 'identity', 'identities')}",
            )
    return None


def _present(source: Source, /) -> Tile | None:
    numbers = _numbers(source, "presence")
    present, suppressed = numbers.get("present"), numbers.get("suppressed")
    if not isinstance(present, int) or not isinstance(suppressed, int):
        return None
    return Tile(
        value=f"{present:,}",
        label="suppressed cells shown to hold somebody",
        note=f"of {suppressed:,}, with more than {float(numbers.get('probability') or 0.99):.0%}",
    )


def _alone(source: Source, /) -> Tile | None:
    numbers = _numbers(source, "vehicle-unique-cells")
    alone, published = numbers.get("published_one_vehicle"), numbers.get("published")
    if not isinstance(alone, int) or not isinstance(published, int):
        return None
    return Tile(
        value=f"{alone:,}",
        label="published cells that belong to one vehicle",
        note=f"of {published:,} published",
    )


def _twice(source: Source, /) -> Tile | None:
    pairs = _numbers(source, "coupled-cells").get("pairs")
    if not isinstance(pairs, int):
        return None
    return Tile(value=f"{pairs:,}", label="raw counts published twice", note="by two ends of one service")


def _dropped(source: Source, /) -> Tile | None:
    rows = objects((source.section("dropped") or {}).get("rows"))
    mine = [one for one in rows if one.get("table") == source.base.get("name") and one.get("mode") is None]
    trips = mine[0].get("trips") if mine else None
    if not isinstance(trips, dict) or not isinstance(trips.get("share"), int | float):
        return None
    return Tile(
        value=percent(float(trips["share"])),
        label="of all events are in cells that were dropped",
        note=f"{float(trips.get('level') or source.level):.0%}: {ends(trips.get('share_interval'))}",
    )


def _published(source: Source, /) -> Tile | None:
    rows, possible = source.base.get("rows"), source.base.get("domain_size")
    if not isinstance(rows, int) or not isinstance(possible, int) or not possible:
        return None
    return Tile(
        value=percent(rows / possible),
        label=f"of the possible cells of {source.base.get('name')} are published",
        note=f"{rows:,} of {possible:,}",
    )


def _cut(source: Source, /) -> Tile | None:
    cut = source.base.get("threshold") or {}
    if not isinstance(cut.get("value"), int | float):
        return None
    sure = cut.get("sure")
    return Tile(
        value=short(float(cut["value"])),
        label=f"least count that {source.base.get('name')} shows",
        note=f"{percent(float(sure))} sure" if isinstance(sure, int | float) else "",
    )


def _tables(source: Source, /) -> Tile | None:
    rows = sum(int(table.get("rows") or 0) for table in source.tables)
    return Tile(value=f"{rows:,}", label=f"published counts in {plural(len(source.tables), 'table')}")


def _numbers(source: Source, *ids: str) -> Mapping[str, Any]:
    finding = source.finding(*ids)
    numbers = None if finding is None else finding.get("numbers")
    return numbers if isinstance(numbers, dict) else {}


_FINDERS: tuple[Callable[[Source], Tile | None], ...] = (
    _person,
    _shows,
    _scale,
    _present,
    _alone,
    _twice,
    _dropped,
    _published,
    _cut,
    _tables,
)
