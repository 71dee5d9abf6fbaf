"""Rows that were dropped, and what was claimed about them."""

from __future__ import annotations

from noisegate.report.page import Grid
from noisegate.report.source import Source
from noisegate.report.words import ends, objects, share


def dropped_rows(source: Source, /) -> Grid:
    """Rows by table and mode, and the share of trips behind those that are missing."""
    listed = objects((source.section("dropped") or {}).get("rows"))
    rows = [
        (
            str(one.get("table")),
            str(one.get("mode") or "all"),
            one.get("possible"),
            one.get("published"),
            one.get("suppressed"),
            share(one.get("share")),
            _trips(one.get("trips")),
        )
        for one in listed
    ]
    columns = ("table", "mode", "possible rows", "published", "dropped", "share", "share of trips")
    return Grid.of("Rows possible, published and dropped", columns, rows)


def judged_claims(source: Source, /) -> Grid:
    """What was claimed, and whether it can be."""
    listed = objects((source.section("dropped") or {}).get("claims"))
    rows = [
        (str(one.get("claim")), str(one.get("table")), str(one.get("verdict")), _text(one.get("arithmetic")))
        for one in listed
    ]
    return Grid.of("Claims about dropped rows", ("claim", "table", "verdict", "arithmetic"), rows)


def _trips(value: object, /) -> str:
    if not isinstance(value, dict):
        return "not known"
    return f"{share(value.get('share'))} ({ends(value.get('share_interval'))})"


def _text(value: object, /) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
