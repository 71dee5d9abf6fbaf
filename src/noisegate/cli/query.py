"""`noisegate query`: totals of a published release, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import JsonOption, QuietOption, check_outputs, console, write_json
from noisegate.errors import SpecError

if TYPE_CHECKING:
    from noisegate.query import Answers, OpenRelease
    from noisegate.workload import WorkloadAnswer

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
    workload: Annotated[
        bool,
        typer.Option(
            "--workload", help="Answer the questions that the card lists, instead of one of your own."
        ),
    ] = False,
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

    or: noisegate query week --workload

    or: noisegate query week --where "date=2016-07-25..2016-07-29" --by time --level 0.8 --json peak.json
    """
    from noisegate.cli.output import Bar
    from noisegate.query import open_release

    check_outputs(json, inputs=[folder])
    names = [name.strip() for part in by or [] for name in part.split(",") if name.strip()]
    if workload and (where or names or top):
        raise SpecError("--workload asks the questions of the card; leave out --where, --by and --top.")
    with Bar("working out what is missing", silent=quiet) as bar:
        release = open_release(folder, report=lambda _, done, total: bar.show(done, total))
        if workload:
            from noisegate.workload import answer_workload

            answered = answer_workload(release, level=level)
    if workload:
        _show_workload(release, answered, level)
        write_json(
            json, {"release": release.name, "level": level, "questions": [a.as_json() for a in answered]}
        )
        return
    with Bar("working out what is missing", silent=quiet) as bar:
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
            "simulated": release.card.simulated,
            "answers": answers.to_rows(),
        },
    )


def _show(release: OpenRelease, answers: Answers, where: list[str], /) -> None:
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
    if release.card.bounding is not None:
        console.print("Events beyond the release's bound on what one unit adds are in no published number.")
    if release.card.simulated:
        console.print("[yellow]This release was made with repeatable noise, for a demonstration.[/yellow]")


def _show_workload(release: OpenRelease, answered: Sequence[WorkloadAnswer], level: float, /) -> None:
    table = Table(title=f"{escape(release.name)}: what the release can say", title_justify="left")
    table.add_column("question", no_wrap=True)
    for name in ("groups", "of noise", f"{100 * level:g} % within", "relative", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in answered:
        if one.answers is not None:
            table.add_row(
                escape(one.name),
                f"{len(one.answers):,}",
                f"± {one.noise_half_width:,}",
                f"± {one.half_width:,.0f}",
                "-" if one.relative is None else f"{100 * one.relative:.1f} %",
                f"{100 * one.missing:.0f} %",
            )
    console.print(table)
    for one in answered:
        if one.answers is None:
            console.print(f"[red]not answered[/red] {escape(one.name)}: {escape(one.reason or '')}")
    console.print(
        "of noise: what the card predicts if nothing is missing; within: half the mean interval of a group, missing rows "
        "allowed for; relative: its median share of the estimate; missing: cells without a row."
    )
