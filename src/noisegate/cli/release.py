"""`noisegate release`: from raw events to a published directory."""

from __future__ import annotations

import gc
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.checking import asking, show_check
from noisegate.cli.output import (
    JsonOption,
    QuietOption,
    check_outputs,
    console,
    ledger_file,
    number,
    write_json,
)
from noisegate.cli.utility import measured_json, measuring, show_measured, show_plan
from noisegate.errors import OutputError, SpecError
from noisegate.places import begin_digest, try_reading

if TYPE_CHECKING:
    from noisegate.releases import ReleaseResult
    from noisegate.tables import StatedTable
    from noisegate.workload import Measured


def release(
    *,
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="What to release, and what is promised.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to make; it must not exist.")
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Only show what noise will do to the questions of the workload: reads no event, spends nothing.",
        ),
    ] = False,
    error: Annotated[
        float | None,
        typer.Option(
            help="With --plan: the expected error to find an epsilon for, where a question states none."
        ),
    ] = None,
    want: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="With --plan: errors that 19 answers in 20 must stay within, such as 'by mode: 5%, by location: 50'; "
            "gives the least epsilon for all of them.",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --plan: an earlier release, or a simulated one, whose published counts stand in for the truth.",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --plan: draw it (.svg, .png or .html).")
    ] = None,
    utility: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the measured errors of the workload as JSON. They are not private: keep them to yourself.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="duckdb (default), spark, local[2], spark://…, sc://…, or a URL such as postgresql://host/db."
        ),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="PATH|URL", help="Ledger to charge; default: your state directory.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only read and tally, for your eyes: what falls outside, what is bounded away, what each table will look like; spends nothing.",
        ),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Ask nothing: no guard looks at the raw events, and success is a function of the spec alone (for scheduled releases).",
        ),
    ] = False,
    week: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Which week of the series to release, where the spec has one."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Who approves, kept in the ledger; twice for a second signature."),
    ] = None,
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Count events, add noise, make the tables consistent, and write them with a card.

    Example, on simulated events: noisegate simulate --out world

    then: noisegate release world/spec.yaml --out week

    Before, to see what becomes of the events: noisegate release world/spec.yaml --check

    With a workload in the spec, first: noisegate release world/spec.yaml --plan --picture plan.svg
    """
    # Hardly anything that a release makes is garbage that must be looked for; to look for it a hundred times while modules are loaded takes a tenth of a second.
    gc.set_threshold(_OBJECTS)
    if out is not None and not plan and not check and engine in {None, "duckdb"}:
        _begin_digest(spec)
    from noisegate.cli.output import Steps
    from noisegate.laws import spare_linear_algebra
    from noisegate.releases import release as make_release
    from noisegate.spec import load_spec

    spare_linear_algebra()
    if out is not None:
        _refuse_inside(utility, out)
    inputs = [spec, like, out, ledger_file(ledger)]
    check_outputs(json, inputs=inputs, picture=picture, utility=utility)
    loaded = load_spec(spec)
    if plan:
        show_plan(loaded, error=error, want=want, like=like, picture=picture, json=json, quiet=quiet)
        return
    if check:
        show_check(loaded, engine=engine, week=week, json=json, quiet=quiet)
        return
    folder = _folder(out, options={"--error": error, "--want": want, "--like": like, "--picture": picture})
    measured: list[Measured] = []
    looks = bool(loaded.workload) and (not quiet or utility is not None) and loaded.series is None
    with Steps(silent=quiet) as steps:
        result = make_release(
            loaded,
            out=folder,
            engine=None if engine in (None, "duckdb") else engine,
            ledger=ledger,
            report=steps.show,
            warn=lambda sentence: console.print(f"[yellow]warning:[/yellow] {escape(sentence)}"),
            progress=steps.advance,
            inspect=measuring(measured, engine=engine, report=steps.show) if looks else None,
            by=by or (),
            week=week,
            yes=yes,
            confirm=asking(quiet=quiet),
        )
    _show(result, quiet=quiet)
    if not quiet:
        show_measured(measured)
    write_json(json, result.card.to_json())
    write_json(utility if measured else None, measured_json(loaded.name, measured))
    if not result.marked:
        raise OutputError(result.warnings[-1])


def _begin_digest(spec: Path, /) -> None:
    """Let the digest of the events be worked out while all else is loaded; which file that is can only be guessed so early, and nothing rests on it."""
    octets, _ = try_reading(spec, most=1 << 20)
    found = _SOURCE.search(octets)
    if found is not None:
        events = spec.parent / os.fsdecode(found[1].strip())
        with suppress(ValueError):
            if events.is_file():
                begin_digest(events)


#: New objects after which garbage is looked for: more than all modules of a release make.
_OBJECTS = 1_000_000
#: What a spec says of its events, where it says it in the usual way.
_SOURCE = re.compile(rb"""\bsource:[ \t]*["']?([^"',{}#\r\n]+)""")


def _folder(out: Path | None, /, *, options: dict[str, Any]) -> Path:
    """The directory to make, once it is known to be asked for; refuses `options` of a plan without one."""
    for name, value in options.items():
        if value is not None:
            raise SpecError(f"{name} belongs to a plan; add --plan, or leave it out.")
    if out is None:
        raise SpecError(
            "--out is missing: the directory to make; or add --plan to see what noise will do first. "
            "See 'noisegate release --help'."
        )
    return out


def _refuse_inside(utility: Path | None, folder: Path, /) -> None:
    """Measured errors must not be published, so they are not written into the release."""
    if utility is not None and utility.resolve().is_relative_to(folder.resolve()):
        raise SpecError(
            f"{utility} lies inside the release; measured errors are not private, write them somewhere else."
        )


def _show(result: ReleaseResult, /, *, quiet: bool) -> None:
    card = result.card
    if not quiet:
        console.print("[bold]For your eyes only[/bold] (not in the release)")
        for line in result.tally.lines():
            console.print(f"  {escape(line)}")
    table = Table(
        title=f"Release {escape(card.name or '')} in {escape(str(result.folder))}", title_justify="left"
    )
    for name in ("table", "cells", "rows", "noise", "from", "error", "95 %"):
        words = name in ("table", "noise")
        table.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    for part in card.tables:
        table.add_row(escape(part.name), *_row(part))
    console.print(table)
    console.print(
        "from: least count shown; error: expected distance from the truth; 95 %: interval around a count\n"
    )
    charged = card.parameters
    assert charged is not None
    console.print(
        f"[bold]{card.dp_variant}[/bold]: epsilon {number(charged.epsilon)}, delta {number(charged.delta)} "
        f"for {escape(card.unit_description or '')}."
    )
    for choice in card.unsafe:
        console.print(f"[red]unsafe[/red] {escape(choice['choice'])}: {escape(choice['consequence'])}.")
    console.print(f"Charged to '{escape(result.account)}'; see 'noisegate ledger show'.")


def _row(part: StatedTable, /) -> tuple[str, ...]:
    error = part.error
    return (
        f"{part.cells:,}",
        f"{part.rows:,}",
        "summed" if part.noise is None else f"{part.noise.law} {number(part.noise.scale)}",
        "all" if part.threshold is None else str(part.threshold),
        number(None if error is None else error.expected_absolute),
        f"± {'-' if error is None else error.half_width}",
    )
