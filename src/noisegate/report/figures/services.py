"""Vehicle-unique hours: where a timetable leaves one vehicle only for a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisegate.pictures.hours import hours_picture
from noisegate.pictures.inline import inline_svg
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Json, Source
from noisegate.report.words import percent


def service_figures(source: Source, /) -> Iterator[Figure]:
    """The share of cells that one vehicle alone can have filled, by mode and hour."""
    hours = hours_of(source)
    shares = {mode: _shares(row) for mode, row in hours.items()}
    known = [
        (share, hour, mode)
        for mode, row in shares.items()
        for hour, share in enumerate(row)
        if share is not None
    ]
    if not known:
        return
    share, hour, mode = max(known, key=lambda one: (one[0], -one[1]))
    yield Figure(
        key="hours",
        caption=(
            "Where bins stop protecting: for each mode and hour, the share of possible cells that only one vehicle of the "
            "timetable can have filled, if all run to the second. Empty: nothing runs."
        ),
        alt=(
            f"Heat map of modes by hour of the day. The largest share is {percent(share)}, for {mode} at "
            f"{hour:02d}:00."
        ),
        svg=inline_svg(hours_picture(shares), key="hours"),
        data=Grid.of(
            "Cells by mode and hour",
            ("mode", "hour", "cells", "of one vehicle"),
            (
                (name, hour, row["cells"][hour], row["one_vehicle"][hour])
                for name, row in hours.items()
                for hour in range(len(row["cells"]))
                if row["cells"][hour]
            ),
            most=120,
        ),
        about=("vehicle-unique-cells",),
    )


def hours_of(source: Source, /) -> dict[str, Json]:
    """Cells by mode: how many each hour has, and how many of them one vehicle alone can have filled."""
    found = (source.section("services") or {}).get("hours")
    if not isinstance(found, dict):
        return {}
    return {
        str(mode): row
        for mode, row in found.items()
        if isinstance(row, dict)
        and isinstance(row.get("cells"), list)
        and isinstance(row.get("one_vehicle"), list)
        and len(row["cells"]) == len(row["one_vehicle"])
    }


def _shares(row: Json, /) -> Sequence[float | None]:
    pairs = zip(row["cells"], row["one_vehicle"], strict=True)
    return [alone / cells if cells else None for cells, alone in pairs]
