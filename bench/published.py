"""Half a million to five million published rows, and more cells without one: the first query, the same again, another one, and assessments.

    python bench/published.py [--json FILE] [--places N ...] [--ways WAY ...]

A fortnight of 4 modes, on and off, 96 quarter-hours and 105, 315 and 1,050 places: at most 11.3 million cells, of which 5 million are shown and the rest is below the threshold. Each row is the real
program in a process of its own, from start to exit. Margins are derived, reconciled, or have noise of their own, by the card or as in 2016. "Without the card" the same tables lie where no card says how they were made. `cpu_s` are processor seconds of all its threads, `memory_mb` its peak; `wall_s` says something on an idle machine only.
What queries keep goes to a folder that is empty at the start. The promise: 60 CPU seconds and 4 GB for the first and for the assessment, 1.5 CPU seconds for the same again, however margins were made. "One place" asks for the morning of one place on all days: a few cells of every block.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import release as usual

PLACES, BUSY = (105, 315, 1_050), 20
MAKE = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import query
rng = np.random.default_rng(1)
raw = rng.poisson(query.counts_of(rng, 14, int(sys.argv[3])) * float(sys.argv[4]))
ways = {
    way: {"epsilon": 1, "margins": way, "unsafe": way == "independent", **query.CUT}
    for way in ("derive", "reconcile", "independent")
}
ways["2016"] = {
    "epsilon": None, "scale": 1.4, "zeros": "keep", "margins": "independent", "unsafe": True, "suppress": {"below": 18}
}
privacy = {"unit": "event", "max_cells": None, **ways[sys.argv[5]]}
query.publish(pathlib.Path(sys.argv[2]), raw, privacy)
"""
WAYS = ("derive", "reconcile", "independent", "2016")
TABLES = ("base", "time", "loc")
COMMANDS = {
    "query, first": ["query", "published", "--by", "mode"],
    "query, the same again": ["query", "published", "--by", "mode"],
    "query, another question": ["query", "published", "--by", "date"],
    "query, one place": ["query", "published", "--where", "location=S5,time=07:00..09:00"],
    "assess": ["assess", *(f"published/{name}.parquet" for name in TABLES), "--out", "assessed"],
    "assess, without the card": [
        "assess",
        *(f"alone/{name}.parquet" for name in TABLES),
        "--out",
        "assessed-alone",
    ],
}


def run(*, places=PLACES, busy=BUSY, names=tuple(COMMANDS), ways=WAYS):
    """One row for each command at each size and way of making margins."""
    return [row for way in ways for size in places for row in _measured(size, busy, names, way)]


def _measured(places, busy, names, margins):
    found = []
    with tempfile.TemporaryDirectory(prefix="noisegate-published-") as place:
        folder = Path(place)
        (folder / "published").mkdir()
        (folder / "alone").mkdir()
        # A process inherits the peak memory of the one that starts it, so this one must stay small.
        make = [
            sys.executable,
            "-c",
            MAKE,
            str(Path(__file__).parent),
            "published",
            str(places),
            str(busy),
            margins,
        ]
        subprocess.run(make, check=True, cwd=folder)
        for name in TABLES:
            (folder / "alone" / f"{name}.parquet").symlink_to(folder / "published" / f"{name}.parquet")
        tables = json.loads((folder / "published" / "card.json").read_text())["tables"]
        os.environ["NOISEGATE_CACHE"] = str(folder / "kept")
        for name in names:
            used = usual.measure(folder, [str(usual.PROGRAM), *COMMANDS[name], "--quiet"])
            row = {
                "kind": "published",
                "margins": margins,
                "way": name,
                "rows": tables["base"]["rows"],
                "cells": tables["base"]["cells"],
            }
            found.append(row | {key: round(value, 2) for key, value in used.items()})
            print(found[-1], flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--places", type=int, nargs="+", default=PLACES)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    options = parser.parse_args()
    rows = run(places=options.places, ways=options.ways)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
