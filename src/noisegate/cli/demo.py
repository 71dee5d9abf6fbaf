"""`noisegate demo`: the whole story in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import JsonOption, QuietOption, check_outputs, console, number, write_json

if TYPE_CHECKING:
    from noisegate.demo import Chapter, Story

_FOLDER = "noisegate-demo"


def demo(
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Directory to make for everything; {_FOLDER} if left out."),
    ] = None,
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Simulate a city, release it as in 2016, take it apart, release it properly, and try again.

    Takes about a minute. The city is invented and the same on every run; the noise is not.

    Example: noisegate demo --out story
    """
    from noisegate.cli.output import Steps
    from noisegate.demo import tell

    folder = out if out is not None else _free(Path(_FOLDER))
    check_outputs(json, inputs=[folder])
    with Steps(silent=quiet) as steps:
        story = tell(folder, report=steps.show)
        steps.show("comparing")
        content = story.to_json()
    _show(story)
    write_json(json, content)


def _free(folder: Path, /) -> Path:
    """The folder, or the first of its numbered names that is free."""
    names = (folder, *(folder.with_name(f"{folder.name}-{k}") for k in range(2, 1000)))
    return next((one for one in names if not one.exists()), folder)


def _show(story: Story, /) -> None:
    world = story.world
    console.print(
        f"An invented city: {world.events:,} taps of {world.persons:,} cards in {world.days} days, "
        f"{world.stops} stops. The same taps, released three ways:"
    )
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("", no_wrap=True)
    for chapter in story.chapters:
        grid.add_column(chapter.recipe.title)
    for title, row in _rows(story):
        grid.add_row(title, *row)
    console.print(grid)
    for chapter in story.chapters:
        if chapter.sharpest and chapter.worked_out:
            console.print(
                f"Sharpest suppressed count {escape(chapter.recipe.title)}: {escape(chapter.sharpest)}."
            )
    console.print("\nReports, to be opened in a browser:")
    for chapter in story.chapters:
        console.print(f"  {escape(str(chapter.report))}", soft_wrap=True)


def _rows(story: Story, /) -> list[tuple[str, list[str]]]:
    """The comparison: what is promised, what an outsider gets, what it costs."""
    chapters = story.chapters
    errors = {
        "error of a cell": "time-loc",
        "error of a total by time": "time",
        "error of a total by place": "loc",
    }
    return [
        ("[bold]Promise[/bold]", [""] * len(chapters)),
        ("protects", [f"one {chapter.recipe.unit}" for chapter in chapters]),
        ("epsilon", [number(chapter.promise[0]) for chapter in chapters]),
        ("delta, whatever epsilon", [_delta(chapter) for chapter in chapters]),
        ("[bold]An outsider finds[/bold]", [""] * len(chapters)),
        ("noise scale recovered", [_scale(chapter) for chapter in chapters]),
        ("series published twice", [_count(chapter.couplings, "pair", "pairs") for chapter in chapters]),
        ("hidden counts worked out", [number(chapter.worked_out) for chapter in chapters]),
        ("cells of one vehicle", [number(chapter.one_vehicle) for chapter in chapters]),
        ("findings", [_findings(chapter) for chapter in chapters]),
        ("[bold]Price[/bold]", [""] * len(chapters)),
        *((title, [f"{chapter.errors[name]:.1f}" for chapter in chapters]) for title, name in errors.items()),
    ]


def _delta(chapter: Chapter, /) -> str:
    delta = chapter.promise[1]
    return f"[red]{delta:.1e}[/red]" if delta else "[green]0[/green]"


def _scale(chapter: Chapter, /) -> str:
    if chapter.scale is None:
        return "[green]not secret[/green]"
    scale, (low, high) = chapter.scale
    return f"[red]{scale:.2f} ({low:.2f}-{high:.2f})[/red]"


def _count(value: int, one: str, many: str, /) -> str:
    return f"{value} {one if value == 1 else many}" if value else "[green]none[/green]"


def _findings(chapter: Chapter, /) -> str:
    said = [f"{number} {name}" for name, number in chapter.severities.items() if number]
    return ", ".join(said) or "none"
