"""The sections of a report beside its findings: tables and the figures that belong to no finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from noisegate.report.page import Figure, Grid, Section
from noisegate.report.source import Json, Source
from noisegate.report.words import interval, number, percent, short

#: In the order of the page: name, title, the figures that stand there, and what is said first.
SECTIONS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "tables": (
        "The tables, and how they were made",
        ("noise", "responses"),
        "What was read, and what was found out about the cut and the noise of each table.",
    ),
    "who": (
        "Who shows",
        ("groups",),
        "A value that is published from a cell that would otherwise be empty proves that somebody was there.",
    ),
    "cells": (
        "What suppressed cells were",
        ("calendar", "exposed"),
        "Cells that were withheld can often be told from the totals they are in.",
    ),
    "services": (
        "One vehicle, one cell",
        ("hours",),
        "Where a timetable leaves one vehicle only for a cell, the count is that vehicle's.",
    ),
    "dropped": ("Rows that were dropped", (), "What the public domain allows, and what is missing from it."),
    "weeks": ("More weeks", ("weeks",), "How the risks grow if the release goes on."),
    "utility": ("What analysts lose", ("workload",), "The error of each query, and what it is due to."),
}


def section_of(name: str, source: Source, figures: Iterable[Figure], /) -> Section:
    """One section with its tables, and those of `figures` that belong to it; maybe empty."""
    title, keys, lead = SECTIONS[name]
    mine = tuple(figure for figure in figures if figure.key.split("-")[0] in keys)
    grids = _GRIDS[name](source) if name in _GRIDS else ()
    return Section(anchor=name, title=title, paragraphs=(lead,), grids=grids, figures=mine)


def _table_grids(source: Source, /) -> tuple[Grid, ...]:
    grids = [
        Grid(
            caption="Tables that were read",
            columns=("table", "role", "dimensions", "published", "possible", "share"),
            rows=tuple(_table_row(table) for table in source.tables),
            numeric=(3, 4, 5),
        ),
        Grid(
            caption="Cut and noise, as recovered",
            columns=("table", "shown from", "sure", "law", "scale", "interval", "identities"),
            rows=tuple(_noise_row(table) for table in source.tables),
            numeric=(1, 2, 4, 5, 6),
        ),
    ]
    aside = [
        (str(table.get("name")), number(one.get("rows")), str(one.get("reason")), str(one.get("example", "")))
        for table in source.tables
        for one in table.get("set_aside") or ()
    ]
    if aside:
        grids.append(
            Grid(
                caption="Lines set aside",
                columns=("table", "lines", "reason", "for example"),
                rows=tuple(aside),
                numeric=(1,),
            )
        )
    return tuple(grid for grid in grids if grid.rows)


def _table_row(table: Json, /) -> tuple[str, ...]:
    rows, possible = table.get("rows"), table.get("domain_size")
    share = rows / possible if isinstance(rows, int) and isinstance(possible, int) and possible else None
    names = ", ".join(
        f"{one.get('name')} ({number(one.get('values'))})" for one in table.get("details") or ()
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


_GRIDS: Mapping[str, Callable[[Source], tuple[Grid, ...]]] = {"tables": _table_grids}
