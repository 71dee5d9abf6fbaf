"""The sections of a report beside its findings: tables, and the figures that belong to no finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from noisegate.report.grids import grids_of
from noisegate.report.page import Figure, Listing, Section
from noisegate.report.source import Source
from noisegate.report.utility import how_measured
from noisegate.report.words import number

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
    "microdata": (
        "Why linked trips are another matter",
        (),
        "How many persons a few known places and times single out in the raw events, which are not published.",
    ),
    "utility": (
        "Utility by query",
        ("workload",),
        "What analysts lose: how far off the answer to each query is or may be, and which queries have none.",
    ),
}


def section_of(name: str, source: Source, figures: Iterable[Figure], /) -> Section:
    """One section with its tables, and those of `figures` that belong to it; maybe empty."""
    title, keys, lead = SECTIONS[name]
    mine = tuple(figure for figure in figures if figure.key.split("-")[0] in keys)
    return Section(
        anchor=name,
        title=title,
        paragraphs=(lead, *(how_measured(source) if name == "utility" else ())),
        grids=grids_of(name, source),
        figures=mine,
        listings=tuple(_merges(source)) if name == "services" else (),
    )


def _merges(source: Source, /) -> Iterator[Listing]:
    """The piece of a release spec that mixes vehicles, if one is suggested."""
    merges = (source.section("services") or {}).get("merges")
    if isinstance(merges, dict) and merges.get("fragment"):
        caption = f"For the release spec: merges that leave at least {number(merges.get('k'))} vehicles in every cell"
        yield Listing(caption=caption, text=str(merges["fragment"]).rstrip())
