"""`noisegate simulate`: a world of raw taps to try everything on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import Bar, JsonOption, QuietOption, check_outputs, console, write_json

if TYPE_CHECKING:
    from noisegate.simulation import World

_CONTENTS = {
    "taps.parquet": "raw events: card_id, mode, tap, tapped_at, stop",
    "taps_truth.parquet": "same rows: trip, vehicle, service date, true stop; never released",
    "stops.csv": "public list of stops: mode, postcode, position",
    "gtfs.zip": "timetable",
    "spec.yaml": "release spec, person-day unit",
    "spec-2016.yaml": "release spec, the recipe of 2016",
}


def simulate(
    *,
    out: Annotated[Path, typer.Option(help="Directory to make; it must not exist.")],
    days: Annotated[int, typer.Option(help="Number of days.")] = 14,
    persons: Annotated[int, typer.Option(help="Number of cards; about 20 taps each in two weeks.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 1,
    gtfs: Annotated[
        Path | None,
        typer.Option(help="Use the network of this GTFS feed (zip or folder), not an invented one."),
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="First date; 2016-07-25, or the first Monday of the feed."),
    ] = None,
    closed_ferry: Annotated[
        bool, typer.Option(help="With or without a ferry that taps off by itself.")
    ] = True,
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Invent a city, its people and their taps, with the truth and the timetable beside them.

    Example, two weeks of a city: noisegate simulate --out world

    Example, small and quick: noisegate simulate --out small --persons 2000 --days 3 --seed 7

    Example, the network of a feed: noisegate simulate --out town --gtfs feed.zip --persons 20000
    """
    from noisegate.simulation import simulate as make_world

    check_outputs(json, inputs=[gtfs, out])
    with Bar("simulating days", silent=quiet) as progress:
        world = make_world(
            out,
            days=days,
            persons=persons,
            seed=seed,
            gtfs=gtfs,
            closed_ferry=closed_ferry,
            start=start.date() if start else None,
            progress=progress.show,
        )
    summary = summarise(world)
    console.print(_table(world, summary))
    write_json(json, summary)


def summarise(world: World, /) -> dict[str, Any]:
    """What was written, as plain values."""
    return {
        "out": str(world.folder),
        "events": world.events,
        "persons": world.persons,
        "first": world.first.isoformat(),
        "days": world.days,
        "stops": world.stops,
        "seed": world.seed,
        "closed_pair": list(world.closed_pair) if world.closed_pair else None,
        "files": [
            {"file": name, "bytes": (world.folder / name).stat().st_size, "contents": contents}
            for name, contents in _CONTENTS.items()
        ],
    }


def _table(world: World, summary: dict[str, Any]) -> Table:
    """The summary for people."""
    ferry = f"closed ferry {' - '.join(world.closed_pair)}" if world.closed_pair else "no closed ferry"
    title = (
        f"{world.folder}: {world.events:,} taps, {world.persons:,} cards, {world.days} days from {world.first}, "
        f"{world.stops} stops, seed {world.seed}; {ferry}"
    )
    table = Table("file", "bytes", "contents", title=escape(title), title_justify="left")
    table.columns[1].justify = "right"
    for row in summary["files"]:
        table.add_row(row["file"], f"{row['bytes']:,}", row["contents"])
    return table
