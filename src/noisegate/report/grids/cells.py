"""What suppressed cells add up to, and how well the attack did."""

from __future__ import annotations

from noisegate.report.page import Grid
from noisegate.report.source import Source
from noisegate.report.words import ends, share


def suppressed_totals(source: Source, /) -> Grid:
    """What is suppressed in each table, in sum."""
    totals = (source.section("inference") or {}).get("suppressed_totals")
    rows = [
        (str(name), f"{float(one['mean']):,.0f}", ends(one.get("interval")))
        for name, one in (totals or {}).items()
        if isinstance(one, dict) and isinstance(one.get("mean"), int | float)
    ]
    return Grid(
        caption="What is suppressed adds up to",
        columns=("table", "events", f"{source.level:.0%} interval"),
        rows=tuple(rows),
        numeric=(1, 2),
    )


def attack_score(source: Source, /) -> Grid | None:
    """How well the attack did, where the raw counts are known."""
    groups = (source.section("score") or {}).get("suppressed")
    if not isinstance(groups, dict):
        return None
    keys = ("mean_width", "mean_absolute_error", "baseline_mean_absolute_error")
    rows = [
        (
            str(name).replace("=", " "),
            one.get("cells"),
            share(one.get("coverage")),
            *(one.get(key) for key in keys),
        )
        for name, one in groups.items()
        if isinstance(one, dict)
    ]
    columns = ("suppressed cells", "number", "covered", "mean width", "mean error", "without margins")
    return Grid.of("The attack against the raw counts", columns, rows)
