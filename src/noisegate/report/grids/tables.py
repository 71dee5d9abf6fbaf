"""The tables that were read, and how they were made."""

from __future__ import annotations

from noisegate.report.page import Grid
from noisegate.report.source import Json, Source
from noisegate.report.words import interval, number, objects, percent, short


def read_tables(source: Source, /) -> Grid:
    """What was read."""
    return Grid(
        caption="Tables that were read",
        columns=("table", "role", "dimensions", "published", "possible", "share"),
        rows=tuple(_table_row(table) for table in source.tables),
        numeric=(3, 4, 5),
    )


def made_tables(source: Source, /) -> Grid:
    """Where each table was cut, and its noise."""
    return Grid(
        caption="Cut and noise, as recovered",
        columns=("table", "shown from", "sure", "law", "scale", "interval", "identities"),
        rows=tuple(_noise_row(table) for table in source.tables),
        numeric=(1, 2, 4, 5, 6),
    )


def lines_aside(source: Source, /) -> Grid:
    """Lines that were not read as rows, and why."""
    lines = [
        (str(table.get("name")), one.get("rows"), str(one.get("reason")), str(one.get("example", "")))
        for table in source.tables
        for one in objects(table.get("set_aside"))
    ]
    return Grid.of("Lines set aside", ("table", "lines", "reason", "for example"), lines)


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
