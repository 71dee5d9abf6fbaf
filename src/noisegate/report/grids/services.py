"""Vehicles behind cells."""

from __future__ import annotations

from noisegate.report.page import Grid
from noisegate.report.source import Source
from noisegate.report.words import label, objects, percent

#: A cell that is named holds the taps more likely than not.
_LIKELY = 0.5


def linked_cells(source: Source, /) -> Grid | None:
    """How many cells there are, and how many belong to one vehicle."""
    cells = (source.section("services") or {}).get("cells")
    if not isinstance(cells, dict):
        return None
    rows = [(label(str(name)), value) for name, value in cells.items() if not isinstance(value, dict | list)]
    return Grid.of("Cells and the vehicles behind them", ("what", "cells"), rows)


def cells_alone(source: Source, /) -> Grid:
    """Published cells that only one vehicle can have filled."""
    rows = [
        (str(one.get("cell")), one.get("count"), str(one.get("vehicle")), str(one.get("stop") or "several"))
        for one in objects((source.section("services") or {}).get("one_vehicle"))
    ]
    columns = ("cell", "published", "vehicle", "stop")
    return Grid.of("Published cells of one vehicle", columns, rows, most=10)


def missing_taps(source: Source, /) -> Grid:
    """Totals with taps that are not published, and the suppressed cell they most likely belong to."""
    rows = []
    for one in objects((source.section("services") or {}).get("missing_taps")):
        candidates = objects(one.get("candidates"))
        chance = candidates[0].get("probability") if candidates else None
        if isinstance(chance, int | float) and chance >= _LIKELY:
            first = candidates[0]
            rows.append((str(one.get("row")), one.get("residual"), str(first.get("cell")), percent(chance)))
    columns = ("total", "more than published", "likeliest cell", "probability")
    return Grid.of("Taps that a total holds and no cell shows", columns, rows, most=15)
