"""`noisegate query`: totals of a published release, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.ledger import refuse_bad_file
from noisegate.cli.output import JsonOption, QuietOption, console, write_json

if TYPE_CHECKING:
    from noisegate.query import Answers, Release

#: Rows that are printed; all of them are in the JSON.
_SHOWN_ROWS = 50


def query(
    *,
    folder: Annotated[
        Path, typer.Argument(metavar="RELEASE_DIR", help="A directory that 'noisegate release' made.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            help='Conditions, such as "mode=ferry,time=06:00..09:00" or "location=A|B"; may be given again.'
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="A dimension to tell apart; may be given again, or as a list: mode,tap."),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability that an interval holds the truth.")] = 0.95,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only the groups with the largest estimates.")
    ] = None,
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """How many events meet some conditions, and how sure that is, from the published tables alone.

    A range of times runs up to its end, a range of dates includes it. Values with commas need quotation marks.

    For example: noisegate query week --by mode

    or: noisegate query week --where "mode=ferry,time=06:00..09:00" --by location

    or: noisegate query week --where "date=2016-07-25..2016-07-29" --by time --level 0.8 --json peak.json
    """
    from noisegate.cli.progress import Bar  # noqa: PLC0415 - a command loads what it uses
    from noisegate.query import open_release  # noqa: PLC0415

    refuse_bad_file(json)
    names = [name.strip() for part in by or [] for name in part.split(",") if name.strip()]
    with Bar("working out what is missing", silent=quiet) as bar:
        release = open_release(folder, report=lambda _, done, total: bar.show(done, total))
        answers = release.answer(where=where or None, by=names, level=level)
    if top is not None:
        answers = answers.largest(top)
    _show(release, answers, where or [])
    write_json(
        json,
        {
            "release": release.name,
            "where": where or [],
            "by": names,
            "level": level,
            "simulated": bool(release.statement.card["simulated"]),
            "answers": answers.to_rows(),
        },
    )


def _show(release: Release, answers: Answers, where: list[str], /) -> None:
    asked = escape(", ".join(where) or "everything")
    table = Table(title=f"{escape(release.name)}: {asked}", title_justify="left")
    for name in answers.labels:
        table.add_column(escape(name), no_wrap=True)
    sure = f"{100 * answers.level:g} % interval"
    for name in ("estimate", sure, "cells", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in range(min(len(answers), _SHOWN_ROWS)):
        table.add_row(
            *(escape(labels[row]) for labels in answers.labels.values()),
            f"{answers.estimate[row]:,.0f}",
            f"{answers.low[row]:,} to {answers.high[row]:,}",
            f"{answers.cells[row]:,}",
            f"{answers.suppressed[row]:,}",
        )
    console.print(table)
    if len(answers) > _SHOWN_ROWS:
        console.print(f"... and {len(answers) - _SHOWN_ROWS:,} more rows; --json FILE writes all of them.")
    console.print(
        f"From table '{escape(answers.table)}'; missing: cells without a published row, which the interval allows for."
    )
    if release.statement.card["bounding"] is not None:
        console.print("Events beyond the release's bound on what one unit adds are in no published number.")
    if release.statement.card["simulated"]:
        console.print("[yellow]This release was made with repeatable noise, for a demonstration.[/yellow]")
