"""The page that puts noisegate beside the field, from the figures of `make bench-peers`.

`python docs/_make/peers_page.py [--out FILE]` reads bench/results/peers.json and measures nothing.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from markdown import table

from noisegate.pictures import BLUE, GREY, ORANGE, Picture, of, save
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Dots, Polyline
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.pictures.scales import Log
from noisegate.pictures.words import Names

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "bench" / "results" / "peers.json"
PAGE = ROOT / "docs" / "explanation" / "beside-the-field.md"
PICTURE = ROOT / "docs" / "images" / "beside-the-field.svg"

#: Names in the picture stand at least this factor apart.
_APART = 1.32
_MADE = "<!-- Made by docs/_make/peers_page.py from bench/results/peers.json (make bench-peers). Edit the code, not this page. -->"
_WHO = """\
| | made for | strong at | does not do |
| --- | --- | --- | --- |
| [OpenDP](https://docs.opendp.org) | people who build private queries | a proof beside every part, many kinds of queries (means, quantiles, regression), three languages, a large community; any unit and any accountant that composes | tables that agree with each other, a budget that outlives the process, looking at what was published |
| [Tumult Analytics](https://docs.tmlt.dev/analytics/latest/) | counting on Spark clusters | joins of private tables, flat maps, keys of any kind, what Wikimedia publishes daily is made with it | small data in seconds, margins that agree, attacks |
| [diffprivlib](https://diffprivlib.readthedocs.io) | data scientists | models with the interface of scikit-learn; nothing is easier to begin with | bounding what a person adds, exact samplers |
| [mbi (private-pgm)](https://github.com/ryan112358/private-pgm) | synthetic data from noisy margins | the best estimate of a whole table from any set of margins, thirty attributes and more; has won the NIST challenges | counting, noise and accounting: these are brought along |
| [tau-ARGUS](https://research.cbs.nl/casc/tau.htm), [pytauargus](https://github.com/trygu/pytauargus) | statistical offices | secondary suppression that is optimal or nearly so, hierarchies, dominance rules for money as well as counts, controlled rounding; decades of use | tables of other makers, noise, what several tables give away together beyond linked ones |
| [sdcTable](https://github.com/sdcTools/sdcTable) | statistical offices, in R | the same problems with hierarchies in R, several algorithms, and a team that answers | as above |
| [ACRO](https://github.com/AI-SDC/ACRO) | research centres that check outputs | sits in the analyst's own session (pandas, R, Stata), checks each output as it is made, and asks for a reason | differencing between outputs (open since 2023), exact bounds |
| noisegate | agencies that publish counts, and those who judge them | one table to many: exact noise on every cell of the domain, tables that agree, a durable ledger, and an attack on any published table with proofs and intervals | anything but counts; suppression patterns; joins of private tables; synthetic records |"""
_NOT = (
    "sdcTable and ACRO are told from their documents and threads: R is not part of this project, and ACRO checks outputs as they are made, so there is no run "
    "that could be set beside these. tau-ARGUS is measured through pytauargus, its engine with an open solver."
)


def page(kept: Mapping[str, Any], /) -> str:
    """The page: who they are, what was measured, and what a result includes."""
    about, versions = kept["machine"], kept["versions"]
    measured = (
        f"Measured on {kept['measured'][:10]}: {about['cores']} cores, {about['memory_gb']:g} GB, Python {about['python']}; "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + f", noisegate {about['libraries']['noisegate']}, DuckDB {about['libraries']['duckdb']}. "
        f"The load of the machine at the start was {about['load_at_start'][0]:g}. Times are from start to exit of a process, the best of its turns; where other work was on the "
        "machine, all of them are longer. Memory is the peak of all processes of a way together."
    )
    parts = [
        _MADE,
        "# noisegate beside OpenDP, Tumult, tau-ARGUS, sdcTable and ACRO",
        (
            "Others do other things better. This page says who is for what, and measures what can be measured side by side: `make bench-peers` makes an environment for each, gives all of them "
            "the same events and the same cells, and makes this page. If you know of a faster way to do one of these jobs with one of these tools, it belongs here."
        ),
        "## Who is for what",
        _WHO,
        _NOT,
        "## The same count, side by side",
        measured,
        _speed(kept),
        "![Seconds by number of events for each way, on scales of factors](../images/beside-the-field.svg)",
        _left_out(kept),
        "## What a result includes",
        _includes(kept),
        (
            "A time means little without this table. *Bounds a person*: somebody with a thousand events changes the result no more than promised. *Exact sampler*: no floating point in "
            "the noise. *Zeros get noise*: cells of the domain without events are published like others. *Further tables agree*: totals that are published too are sums of what is published. *Ledger*: what was spent is "
            "remembered after the process ends. *Attacks itself*: the tool says what an outsider makes of the output (`noisegate assess`, which is not part of the time)."
        ),
        "## How it grows",
        _growth(kept),
        "## Ranges of suppressed cells",
        (
            "One table with counts of 1 to 4 hidden and exact totals of rows and columns: the least and the largest that each hidden count can be. "
            "noisegate is given the published files and has to find out what they are; the others are given the equations."
        ),
        _bounds(kept),
        _slower(kept),
        (
            "The audit of tau-ARGUS works out what a pattern of suppression leaves, for one table (or linked ones) with exact totals, and is the judge of its own secondary suppression. "
            "noisegate's ranges hold in whole counts, over all tables that are given, rounded or not, and name the equations that prove each."
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _speed(kept: Mapping[str, Any], /) -> str:
    most = max(row["events"] for row in kept["speed"])
    lines = [
        (
            row["way"],
            f"{row['wall_s']:.1f} s",
            f"{row['to_plain']:.1f}",
            f"{row['to_noisegate']:.1f}",
            f"{row['memory_mb']:,} MB",
        )
        for row in kept["speed"]
        if row["events"] == most
    ]
    head = (f"{most:,} events, {kept['cells']:,} cells", "time", "to plain", "to noisegate, event", "memory")
    return table(head, lines)


def _left_out(kept: Mapping[str, Any], /) -> str:
    return "\n".join(f"- Left out: {name}. {why.rstrip('.')}." for name, why in kept["left_out"].items())


def _includes(kept: Mapping[str, Any], /) -> str:
    lines: Iterable[tuple[str, ...]] = (
        (way, *(said[one] for one in kept["columns"])) for way, said in kept["includes"].items()
    )
    return table(("", *kept["columns"]), lines)


def _growth(kept: Mapping[str, Any], /) -> str:
    sizes = sorted({row["events"] for row in kept["speed"]})
    taken = {(row["way"], row["events"]): row["wall_s"] for row in kept["speed"]}
    ways = list(dict.fromkeys(row["way"] for row in kept["speed"]))
    lines = [
        (way, *(f"{taken[way, size]:.1f} s" if (way, size) in taken else "-" for size in sizes))
        for way in ways
    ]
    return table(("", *(f"{size:,} events" for size in sizes)), lines)


def _bounds(kept: Mapping[str, Any], /) -> str:
    lines = [
        (
            f"{row['cells']:,}, {row['hidden']:,} hidden",
            row["way"],
            f"{row['wall_s']:.2f} s" if "wall_s" in row else "-",
            f"{row['memory_mb']:,} MB" if "memory_mb" in row else "-",
            str(row["exact"]) if "exact" in row else f"failed: {row['failed']}",
        )
        for row in kept["bounds"]
    ]
    return table(("cells", "way", "time, all in all", "memory", "known exactly"), lines)


def _slower(kept: Mapping[str, Any], /) -> str:
    """How a whole assessment compares with an audit of equations that are known."""
    taken = {(row["cells"], row["way"]): row["wall_s"] for row in kept["bounds"] if "wall_s" in row}
    most = max(cells for cells, _ in taken)
    ours, theirs = (taken.get((most, way)) for way in ("noisegate assess", "pytauargus, audit"))
    if ours is None or theirs is None:
        return ""
    return (
        f"Where the equations are known and totals are exact, the audit of tau-ARGUS is the faster tool: {ours / theirs:.1f} times as fast as our whole assessment in the largest table, "
        "with less memory. What takes us longer is reading files, recognising what protects them and looking at everything else."
    )


def picture(kept: Mapping[str, Any], /) -> Picture:
    """Seconds by events, a line for each way: ours blue, plain grey, others orange."""
    colours = {"noisegate": BLUE, "others": ORANGE, "plain": GREY}

    def kind(way: str, /) -> str:
        return next((one for one in ("noisegate", "plain") if way.startswith(one)), "others")

    ways: dict[str, list[tuple[float, float]]] = {}
    for row in kept["speed"]:
        ways.setdefault(row["way"], []).append((row["events"] / 1e6, row["wall_s"]))
    marks: list[Mark] = []
    for way, found in ways.items():
        points, colour = sorted(found), colours[kind(way)]
        tips = [f"{way}, {events:g} million events: {seconds:.3g} s" for events, seconds in points]
        marks += [
            Polyline(points=points, colour=colour),
            Dots(points=points, colour=colour, radius=3, tips=tips),
        ]
    most = max(events for found in ways.values() for events, _ in found)
    ends = sorted(
        (seconds, way) for way, found in ways.items() for events, seconds in found if events == most
    )
    place = 0.0
    for seconds, way in ends:  # names are set apart, so that each can be read
        place = max(seconds, place * _APART)
        marks.append(Names(points=[(most, place)], texts=[way], colour=colours[kind(way)], size=11))
    every = [seconds for found in ways.values() for _, seconds in found]
    low, high = min(every) / 1.6, max(every) * 1.6
    plot = Plot(
        x=PlotAxis(scale=Log(0.45, 7), title="million events", ticks=[0.5, 1, 2], grid=False),
        y=PlotAxis(
            scale=Log(low, high),
            title="seconds",
            ticks=[t for t in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if low <= t <= high],
        ),
        marks=marks,
        width=640,
        height=320,
        keys=[Key(name, colour, "line") for name, colour in colours.items()],
    )
    return of(plot, title="The same count of the same events, start to exit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE)
    out = parser.parse_args().out
    figures = json.loads(FIGURES.read_text("utf-8"))
    out.write_text(page(figures), "utf-8")
    if out == PAGE:
        save(picture(figures), PICTURE)
