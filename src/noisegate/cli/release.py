"""`noisegate release`: from raw events to a published directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.ledger import refuse_bad_file
from noisegate.cli.output import JsonOption, QuietOption, console, number, write_json

if TYPE_CHECKING:
    from noisegate.release import ReleaseResult


def release(
    *,
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="What to release, and what is promised.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory to make; it must not exist.")],
    engine: Annotated[
        str | None, typer.Option(help="duckdb (default), spark, or an Ibis URL such as postgresql://host/db.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="PATH|URL", help="Ledger to charge; default: your state directory.")
    ] = None,
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Count events, add noise, make the tables consistent, and write them with a card.

    Example, on simulated events: noisegate simulate --out world

    then: noisegate release world/spec.yaml --out week
    """
    from noisegate.cli.progress import Steps  # noqa: PLC0415 - a command loads what it uses
    from noisegate.release import release as make_release  # noqa: PLC0415
    from noisegate.spec import load_spec  # noqa: PLC0415

    refuse_bad_file(json)
    loaded = load_spec(spec)
    with Steps(silent=quiet) as steps:
        result = make_release(
            loaded,
            out=out,
            engine=None if engine in (None, "duckdb") else engine,
            ledger=ledger,
            report=steps.show,
            warn=lambda sentence: console.print(f"[yellow]warning:[/yellow] {escape(sentence)}"),
            progress=steps.advance,
        )
    _show(result)
    write_json(json, result.card)


def _show(result: ReleaseResult, /) -> None:
    card = result.card
    console.print("[bold]For your eyes only[/bold] (not in the release)")
    for line in result.tally.lines():
        console.print(f"  {escape(line)}")
    table = Table(
        title=f"Release {escape(card['name'])} in {escape(str(result.folder))}", title_justify="left"
    )
    for name in ("table", "cells", "rows", "noise", "from", "error", "95 %"):
        table.add_column(name, justify="left" if name in ("table", "noise") else "right", no_wrap=True)
    for name, part in card["tables"].items():
        table.add_row(escape(name), *_row(part))
    console.print(table)
    console.print(
        "from: least count shown; error: expected distance from the truth; 95 %: interval around a count\n"
    )
    parameters = card["privacy_parameters"]
    console.print(
        f"[bold]{card['dp_variant']}[/bold]: epsilon {number(parameters['epsilon'])}, delta {number(parameters['delta'])} "
        f"for {escape(card['privacy_unit_description'])}."
    )
    for choice in card["unsafe"]:
        console.print(f"[red]unsafe[/red] {escape(choice['choice'])}: {escape(choice['consequence'])}.")
    console.print(f"Charged to '{escape(result.account)}'; see 'noisegate ledger show'.")


def _row(part: dict[str, Any], /) -> tuple[str, ...]:
    noise = f"{part['noise']['law']} {number(part['noise']['scale'])}" if part["noise"] else "summed"
    cut = str(part["threshold"]["value"]) if part["threshold"] else "all"
    return (
        f"{part['cells']:,}",
        f"{part['rows']:,}",
        noise,
        cut,
        number(part["error"]["expected_absolute"]),
        f"± {part['error']['half_width']}",
    )
