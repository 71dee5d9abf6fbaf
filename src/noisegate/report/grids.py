"""The tables of the sections: what each part of an assessment says, in rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from noisegate.report.page import Grid
from noisegate.report.source import Json, Source
from noisegate.report.words import interval, label, number, objects, percent, short


def grids_of(section: str, source: Source, /) -> tuple[Grid, ...]:
    """The tables of one section; those with nothing to say are left out."""
    makers = _GRIDS.get(section, ())
    return tuple(grid for make in makers if (grid := make(source)) is not None and grid.rows)


def _read(source: Source, /) -> Grid:
    return Grid(
        caption="Tables that were read",
        columns=("table", "role", "dimensions", "published", "possible", "share"),
        rows=tuple(_table_row(table) for table in source.tables),
        numeric=(3, 4, 5),
    )


def _table_row(table: Json, /) -> tuple[str, ...]:
    rows, possible = table.get("rows"), table.get("domain_size")
    share = rows / possible if isinstance(rows, int) and isinstance(possible, int) and possible else None
    names = ", ".join(
        f"{one.get('name')} ({number(one.get('values'))})" for one in objects(table.get("details"))
    )
    return (
        str(table.get("name")),
        str(table.get("role", "")),
        names or ", ".join(map(str, table.get("dimensions") or ())),
        number(rows),
        number(possible),
        "" if share is None else percent(share),
    )


def _made(source: Source, /) -> Grid:
    return Grid(
        caption="Cut and noise, as recovered",
        columns=("table", "shown from", "sure", "law", "scale", "interval", "identities"),
        rows=tuple(_noise_row(table) for table in source.tables),
        numeric=(1, 2, 4, 5, 6),
    )


def _noise_row(table: Json, /) -> tuple[str, ...]:
    cut, noise = table.get("threshold") or {}, table.get("noise") or {}
    value, sure, scale = cut.get("value"), cut.get("sure"), noise.get("scale")
    return (
        str(table.get("name")),
        short(float(value)) if isinstance(value, int | float) else "no cut seen",
        percent(float(sure)) if isinstance(sure, int | float) else "",
        _law(noise),
        short(float(scale)) if isinstance(scale, int | float) else "–",
        interval(noise.get("interval")) or "–",
        number(noise.get("n") or 0),
    )


def _law(noise: Json, /) -> str:
    law = noise.get("law")
    if law is None:
        return "not recovered"
    rounded = noise.get("rounding") == "nearest" and "rounded" not in str(law)
    name = str(law).replace("-", " ").replace("laplace", "Laplace").replace("gaussian", "Gaussian")
    return f"{name}{', rounded' if rounded else ''}"


def _aside(source: Source, /) -> Grid:
    lines = [
        (str(table.get("name")), one.get("rows"), str(one.get("reason")), str(one.get("example", "")))
        for table in source.tables
        for one in objects(table.get("set_aside"))
    ]
    return Grid.of("Lines set aside", ("table", "lines", "reason", "for example"), lines)


def _totals(source: Source, /) -> Grid:
    totals = (source.section("inference") or {}).get("suppressed_totals")
    rows = [
        (str(name), f"{float(one['mean']):,.0f}", _ends(one.get("interval")))
        for name, one in (totals or {}).items()
        if isinstance(one, dict) and isinstance(one.get("mean"), int | float)
    ]
    return Grid(
        caption="What is suppressed adds up to",
        columns=("table", "events", f"{source.level:.0%} interval"),
        rows=tuple(rows),
        numeric=(1, 2),
    )


def _score(source: Source, /) -> Grid | None:
    """How well the attack did, where the raw counts are known."""
    groups = (source.section("score") or {}).get("suppressed")
    if not isinstance(groups, dict):
        return None
    keys = ("cells", "coverage", "mean_width", "mean_absolute_error", "baseline_mean_absolute_error")
    rows = [
        (str(name).replace("=", " "), *(one.get(key) for key in keys))
        for name, one in groups.items()
        if isinstance(one, dict)
    ]
    columns = ("suppressed cells", "number", "covered", "mean width", "mean error", "without margins")
    return Grid.of("The attack against the raw counts", columns, rows)


def _alone(source: Source, /) -> Grid:
    rows = [
        (str(one.get("cell")), one.get("count"), str(one.get("vehicle")), str(one.get("stop") or "several"))
        for one in objects(source.within("services", "one_vehicle"))
    ]
    columns = ("cell", "published", "vehicle", "stop")
    return Grid.of("Published cells of one vehicle", columns, rows, most=25)


def _linked(source: Source, /) -> Grid | None:
    cells = source.within("services", "cells")
    return None if not isinstance(cells, dict) else _pairs("Cells and the vehicles behind them", cells)


def _dropped(source: Source, /) -> Grid:
    listed = source.listed("dropped") or objects(source.within("dropped", "rows"))
    rows = [
        (
            str(one.get("table")),
            str(one.get("mode") or "all"),
            one.get("possible"),
            one.get("published"),
            one.get("suppressed"),
            _share(one.get("share")),
            _trips(one.get("trips")),
        )
        for one in listed
    ]
    columns = ("table", "mode", "possible rows", "published", "dropped", "share", "share of trips")
    return Grid.of("Rows possible, published and dropped", columns, rows)


def _claims(source: Source, /) -> Grid:
    listed = source.listed("claims") or objects(source.within("dropped", "claims"))
    rows = [
        (str(one.get("claim")), str(one.get("table")), str(one.get("verdict")), _text(one.get("arithmetic")))
        for one in listed
    ]
    return Grid.of("Claims about dropped rows", ("claim", "table", "verdict", "arithmetic"), rows)


def _recurring(source: Source, /) -> Grid:
    rows = [
        (
            f"{number(one.get('group'))}, {one.get('pattern')}",
            one.get("chance"),
            *((one.get("weeks_until") or {}).get(key) or "never" for key in ("0.01", "0.5", "0.95")),
        )
        for one in objects((source.section("weeks") or {}).get("detection"))
    ]
    columns = (
        "people, how often",
        "chance each time",
        "1% after weeks",
        "50% after weeks",
        "95% after weeks",
    )
    return Grid.of("Weeks until a recurring group has been proved", columns, rows)


def _losses(source: Source, /) -> Grid:
    rows = [
        (
            str(one.get("who")),
            *((one.get("weeks_until") or {}).get(key) or "never" for key in ("1", "10", "100")),
        )
        for one in objects((source.section("weeks") or {}).get("loss"))
    ]
    columns = ("who", "epsilon above 1 in week", "above 10", "above 100")
    return Grid.of("Weeks until the loss exceeds", columns, rows)


def _unique(source: Source, /) -> Grid:
    rows = [
        (
            str(one.get("coarsening")),
            point.get("points"),
            _share(point.get("share")),
            _ends(point.get("interval")),
        )
        for one in objects((source.section("microdata") or {}).get("coarsenings"))
        for point in objects(one.get("unique"))
    ]
    columns = ("places and times", "known points", "persons who are unique", "interval")
    return Grid.of("Persons told apart by a few known points, in the raw events", columns, rows)


def _pairs(caption: str, values: Mapping[str, Any], /) -> Grid:
    rows = [(label(str(name)), value) for name, value in values.items() if not isinstance(value, dict | list)]
    return Grid.of(caption, ("what", "number"), rows)


def _share(value: object, /) -> str:
    return percent(float(value)) if isinstance(value, int | float) else "not known"


def _ends(value: object, /) -> str:
    """Both ends of an interval of counts or of shares."""
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(end, int | float) for end in value)
    ):
        return "–"
    if all(0 <= end <= 1 for end in value) and any(end != int(end) for end in value):
        return f"{percent(value[0])} to {percent(value[1])}"
    return f"{value[0]:,.0f} to {value[1]:,.0f}"


def _trips(value: object, /) -> str:
    if not isinstance(value, dict):
        return "not known"
    return f"{_share(value.get('share'))} ({_ends(value.get('share_interval'))})"


def _text(value: object, /) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


_GRIDS: Mapping[str, tuple[Callable[[Source], Grid | None], ...]] = {
    "tables": (_read, _made, _aside),
    "cells": (_totals, _score),
    "services": (_linked, _alone),
    "dropped": (_dropped, _claims),
    "weeks": (_recurring, _losses),
    "microdata": (_unique,),
}
