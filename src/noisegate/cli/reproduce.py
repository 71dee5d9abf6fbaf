"""`noisegate reproduce`: the 2017 report, recomputed line by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.padding import Padding
from rich.table import Table

from noisegate.cli.output import JsonOption, check_outputs, console, number, write_json
from noisegate.cli.tabular import FormatOption, TableOutput, ToOption
from noisegate.places import check_directory

if TYPE_CHECKING:
    from noisegate.reproduction import Item

_COLOURS = {"agrees": "green", "agrees with log base 10": "yellow", "wrong": "red", "not told": "cyan"}


def reproduce(
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Make this folder and write the figures there as SVG.")
    ] = None,
    json: JsonOption = None,
    form: FormatOption = None,
    to: ToOption = None,
    more: Annotated[
        bool,
        typer.Option(
            "--more", help="Also figures of others: mobility flows, page views, a census; with sources."
        ),
    ] = False,
    notes: Annotated[
        bool, typer.Option("--notes/--no-notes", help="Print the reasons under the table.")
    ] = True,
) -> None:
    """Every figure of the 2017 report: printed, recomputed, exact, and a verdict.

    Example: noisegate reproduce --json report.json --out figures

    Example, with figures of others: noisegate reproduce --more

    Example, as a table for a page: noisegate reproduce --format markdown --to figures.md
    """
    from noisegate.reproduction import reproduce as recompute

    check_outputs(json, inputs=[out])
    rows = TableOutput.asked(form, to, json_to=json, inputs=[out])
    if out is not None:
        check_directory(out)
    items = recompute(more=more)
    table = Table(
        title="Privacy Assessment of De-identified Opal Data (2017), recomputed",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
    )
    table.add_column("item", no_wrap=True)
    for name in ("printed", "formula", "exact"):
        table.add_column(name, overflow="fold")
    table.add_column("verdict", no_wrap=True, min_width=8)
    for item in items:
        colour = _COLOURS[item.verdict]
        verdict = f"[{colour}]{item.verdict.replace('agrees with log base 10', 'log10')}[/{colour}]"
        table.add_row(item.id, _text(item.printed), _text(item.formula), _text(item.exact), verdict)
    console.print(table)
    if notes:
        console.print("[bold]Where it is not right, and why[/bold]")
        for item in items:
            if item.verdict != "agrees":
                console.print(f"[bold]{item.id}[/bold] ({item.where})")
                console.print(Padding(item.note + _values(item), (0, 0, 0, 2)))
    every = {verdict: sum(item.verdict == verdict for item in items) for verdict in _COLOURS}
    counts = {verdict: n for verdict, n in every.items() if n or verdict != "not told"}
    console.print(
        "\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {len(items)} items."
    )
    if out is not None:
        from noisegate.reproduction import write_figures

        for path in write_figures(out):
            console.print(f"figure: {path}")
    write_json(json, [item.as_json() for item in items])
    rows.write([item.as_json() for item in items])


def _text(value: Any, /) -> str:
    """A value in one table cell; several values are only counted there."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value if len(value) < 16 and max(map(len, value.split())) < 12 else "(in words)"
    if isinstance(value, dict):
        return f"{len(value)} values"
    if isinstance(value, list):
        short = (
            "[" + ", ".join(f"{part:g}" if isinstance(part, int) else f"{part:.2f}" for part in value) + "]"
            if _flat(value)
            else ""
        )
        return short if 0 < len(short) < 16 else f"{len(value)} values"
    return str(value) if isinstance(value, int) else number(value)


def _flat(value: list[Any], /) -> bool:
    return all(isinstance(part, int | float) for part in value)


def _values(item: Item, /) -> str:
    """The exact values that did not fit into the table, in words."""
    if not isinstance(item.exact, dict):
        return ""
    return " Exact: " + "; ".join(f"{name} {_text(part)}" for name, part in item.exact.items()) + "."
