"""What more weeks add, and what linked trips would."""

from __future__ import annotations

from noisegate.report.page import Grid
from noisegate.report.source import Source
from noisegate.report.words import ends, number, objects, share


def recurring_groups(source: Source, /) -> Grid:
    """How many weeks it takes to prove a group that recurs."""
    rows = [
        (
            f"{number(one.get('group'))}, {one.get('pattern')}",
            one.get("chance"),
            *((one.get("weeks_until") or {}).get(key) or "never" for key in ("0.01", "0.5", "0.95")),
        )
        for one in objects((source.section("weeks") or {}).get("detection"))
        if one.get("chance")
    ]
    columns = (
        "people, how often",
        "chance each time",
        "1% after weeks",
        "50% after weeks",
        "95% after weeks",
    )
    return Grid.of("Weeks until a recurring group has been proved", columns, rows)


def losses_by_week(source: Source, /) -> Grid:
    """When the loss of a traveller exceeds round numbers."""
    rows = [
        (
            str(one.get("who")),
            *((one.get("weeks_until") or {}).get(key) or "never" for key in ("1", "10", "100")),
        )
        for one in objects((source.section("weeks") or {}).get("loss"))
    ]
    columns = ("who", "epsilon above 1 in week", "above 10", "above 100")
    return Grid.of("Weeks until the loss exceeds", columns, rows)


def unique_persons(source: Source, /) -> Grid:
    """How many persons a few known points single out."""
    rows = [
        (
            str(one.get("coarsening")),
            point.get("points"),
            share(point.get("share")),
            ends(point.get("interval")),
        )
        for one in objects((source.section("microdata") or {}).get("coarsenings"))
        for point in objects(one.get("unique"))
    ]
    columns = ("places and times", "known points", "persons who are unique", "interval")
    return Grid.of("Persons told apart by a few known points, in the raw events", columns, rows)
