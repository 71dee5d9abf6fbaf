"""`noisegate init`: a draft of a spec from the columns of the events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from noisegate.cli.output import console
from noisegate.places import STANDARD_OUTPUT, check_file, write_file


def init(
    *,
    events: Annotated[Path, typer.Argument(metavar="EVENTS", help="A CSV or Parquet file of raw events.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="SPEC.yaml", help="Where to write the draft; - for standard output.", allow_dash=True
        ),
    ] = Path("spec.yaml"),
) -> None:
    """Draft a release spec from the columns of the events.

    Only names and types of columns are looked at, no row: what is private to decide (who the people are, the unit, bounds, values,
    dates, epsilon) is left as a question, marked with ??, and the draft is refused until each is answered.

    Example: noisegate init taps.parquet --out spec.yaml
    """
    from noisegate.engine import draft_spec

    check_file(out, option="--out", inputs=[events])
    text = draft_spec(events, folder=Path() if out == STANDARD_OUTPUT else out.parent)
    if out == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
        return
    write_file(out, text.encode())
    console.print(
        f"Draft: {escape(str(out))}. Answer each ?? in it, then: noisegate release {escape(str(out))} --check",
        soft_wrap=True,
    )
