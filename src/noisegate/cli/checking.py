"""`noisegate release SPEC --check`: what becomes of the events, for the custodian's eyes; and how a guard asks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import Steps, console, number, write_json
from noisegate.places import MARK, MARK_KEY

if TYPE_CHECKING:
    from noisegate.releases import EventCheck
    from noisegate.spec import ReleaseSpec


def asking(*, quiet: bool) -> Callable[[str], bool] | None:
    """A way to ask the person at the terminal; None if nobody is there, or nobody wants to be asked."""
    if quiet or not sys.stdin.isatty() or not sys.stderr.isatty():
        return None
    return lambda question: typer.confirm(question, default=False, err=True)


def show_check(
    spec: ReleaseSpec, /, *, engine: str | None, week: int | None, json: Path | None, quiet: bool
) -> None:
    """Count as a release would, print what became of the events and what each table will look like; spend nothing."""
    from noisegate.releases import check_events

    with Steps(silent=quiet) as steps:
        steps.show("counting events")
        found = check_events(
            spec,
            engine=None if engine in (None, "duckdb") else engine,
            progress=steps.advance,
            week=week,
        )
    if not quiet:
        _print(found)
    write_json(json, _document(found))


def _print(found: EventCheck, /) -> None:
    console.print("[bold]For your eyes only[/bold]: raw numbers, not to be published")
    for line in found.tally.lines():
        console.print(f"  {escape(line)}")
    table = Table(title=f"What {escape(found.plan.spec.name)} will look like", title_justify="left")
    for name in ("table", "cells", "with events", "noise", "from", "95 %"):
        words = name in ("table", "noise")
        table.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    for one in found.plan.tables:
        noise = "summed" if one.noise is None else f"{one.noise.name} {number(float(one.noise.scale))}"
        table.add_row(
            escape(one.name),
            f"{one.cells:,}",
            f"{found.occupied[one.name]:,}",
            noise,
            "all" if one.least is None else str(one.least),
            f"± {one.error.half_width}",
        )
    console.print(table)
    console.print(
        "with events: cells that hold any after bounding; from: least count shown; 95 %: interval around a count"
    )
    for sentence in found.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(sentence)}")
    console.print("Nothing was spent.")


def _document(found: EventCheck, /) -> dict[str, Any]:
    tally = found.tally
    return {
        "spec": found.plan.spec.name,
        "private": False,
        MARK_KEY: True,
        "warning": f"raw numbers; {MARK}",
        "events": tally.events,
        "counted": tally.counted,
        "outside": dict(tally.outside),
        "beyond_max_cells": tally.beyond,
        "beyond_max_per_cell": tally.repeated,
        "tables": {
            one.name: {"cells": one.cells, "with_events": found.occupied[one.name]}
            for one in found.plan.tables
        },
        "warnings": list(found.warnings),
    }
