"""Whole releases from the command line against a plain DuckDB GROUP BY of the same file, and their error.

    python bench/release.py [--json FILE] [--events N ...] [--only speed|error]

Speed. 20 events a card, in order of time; 14 days x 96 quarter-hours x 2000 places x on/off = 5.4 million
cells, half of them empty. The baseline counts the same file without any privacy and writes Parquet.
Each way is the real program in a process of its own with a fresh ledger, from start to exit; ways take turns.
`wall_s` is what a person waits, `cpu_s` processor seconds (less at the mercy of a busy machine): the best of
each. `ratio` and `cpu_ratio` divide by the baseline's. `memory_mb` is peak resident memory, the most of all turns.

Error. The simulated fortnight, unit person-day, the same epsilon for every method: mean absolute difference from
the raw counts of the same events over all cells of a table, zeros included. `all` publishes every cell;
`shown` suppresses as in the usual spec, and a cell that is absent counts as 0.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

SIZES = (2_000_000, 6_000_000, 20_000_000, 60_000_000)
#: The size at which every way is measured.
WHOLE = 20_000_000
EVENTS_PER_CARD, DAYS, PLACES, MANY_PLACES = 20, 14, 2_000, 75_000
REPEATS = 3
PERSONS, ERROR_REPEATS = 100_000, 3
PROGRAM = Path(sys.executable).with_name("noisegate")

PLAIN = """
import duckdb
duckdb.connect().execute('''COPY (
    SELECT tapped_at::DATE AS date, tap, time_bucket(INTERVAL 15 MINUTE, tapped_at)::TIME AS time, stop, count(*) AS count
    FROM read_parquet('taps.parquet') GROUP BY ALL) TO 'plain.parquet' ''')
"""
WRITE = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import release
release.write_events(pathlib.Path(sys.argv[2]), events=int(sys.argv[3]))
"""
SPEC = """\
name: bench
population: cards
events: {{source: taps.parquet, person: card_id}}
dimensions:
  date:     {{column: tapped_at, from: 2016-07-25, to: 2016-08-07}}
  tap:      {{column: tap, values: ["on", "off"]}}
  time:     {{column: tapped_at, every: {every}}}
  location: {{column: stop, values: {stops}}}
tables:
  time-loc: [date, tap, time, location]
{margins}privacy: {{{privacy}, unsafe: true}}
"""
MARGINS = "  time: [date, tap, time]\n  loc: [date, tap, location]\n"
CUT = "suppress: {spurious: 0.001}"
EVENT = "unit: event, epsilon: 1"
PERSON = "unit: person, max_cells: 40, epsilon: 8"
PERSON_DAY = "unit: person-day, max_cells: 4, epsilon: 2"
QUARTERS = {"every": "15min", "stops": "stops.csv", "margins": MARGINS}
MINUTES = QUARTERS | {"every": "1min", "stops": "places.csv"}
#: The ways that are measured at every size.
GROWTH = (
    "event, derive",
    "event, derive, 3 billion cells",
    "person-day, 4 cells, reconcile",
    "person, 40 cells, reconcile",
)


def ways():
    """The spec of each way that is measured."""
    event, person, day = f"{EVENT}, {CUT}", f"{PERSON}, {CUT}", f"{PERSON_DAY}, {CUT}"
    rare = "suppress: {spurious: 0.00001}"
    return {
        "event, one table": QUARTERS | {"privacy": f"{event}, margins: derive", "margins": ""},
        "event, one table, nothing cut": QUARTERS | {"privacy": f"{EVENT}, margins: derive", "margins": ""},
        "event, derive": QUARTERS | {"privacy": f"{event}, margins: derive"},
        "event, independent": QUARTERS | {"privacy": f"{event}, margins: independent"},
        "event, derive, 3 billion cells": MINUTES | {"privacy": f"{EVENT}, {rare}, margins: derive"},
        "person-day, 4 cells, derive": QUARTERS | {"privacy": f"{day}, margins: derive"},
        "person-day, 4 cells, reconcile": QUARTERS | {"privacy": f"{day}, margins: reconcile"},
        "person-day, 4 cells, derive, 3 billion cells": MINUTES
        | {"privacy": f"{PERSON_DAY}, {rare}, margins: derive"},
        "person, 40 cells, derive": QUARTERS | {"privacy": f"{person}, margins: derive"},
        "person, 40 cells, reconcile": QUARTERS | {"privacy": f"{person}, margins: reconcile"},
    }


def write_events(folder, *, events, days=DAYS, places=PLACES):
    """Taps in order of time: two peaks a day, Zipf-like places, cards of very different use."""
    rng = np.random.default_rng(2016)
    cards = np.arange(events // EVENTS_PER_CARD) + 3_085_220_000_000_000
    pool = np.repeat(cards, rng.poisson(rng.lognormal(1, 1, cards.size)))
    busy = np.cumsum(1 / np.arange(1, places + 1))
    hour = (np.arange(24 * 60) + 0.5) / 60
    minutes = np.exp(-((hour - 8) ** 2) / 2) + np.exp(-((hour - 17.5) ** 2) / 4)
    minutes = np.cumsum(0.03 + minutes + 0.35 * np.exp(-((hour - 13) ** 2) / 20))
    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {"card_id": pa.int64(), "tap": text, "tapped_at": pa.timestamp("us"), "stop": text}
    schema = pa.schema(list(kinds.items()))
    names = pa.array([f"Stop {n:05d}" for n in range(places)])
    with pq.ParquetWriter(folder / "taps.parquet", schema, store_schema=False) as writer:
        for day in range(days):
            n = events * (day + 1) // days - events * day // days
            second = np.searchsorted(minutes, rng.random(n) * minutes[-1]) * 60 + rng.integers(0, 60, n)
            stop = np.searchsorted(busy, rng.random(n) * busy[-1]).astype(np.int32)
            tap = rng.integers(0, 2, n, dtype=np.int32)
            at = np.datetime64("2016-07-25", "us") + (day * 86400 + np.sort(second)).astype("timedelta64[s]")
            columns = [
                pool[rng.integers(0, pool.size, n)],
                pa.DictionaryArray.from_arrays(tap, pa.array(["on", "off"])),
                at,
                pa.DictionaryArray.from_arrays(stop, names),
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=1 << 19)


def write_specs(folder):
    """One spec for each way, and the public lists of places."""
    for file, number in (("stops.csv", PLACES), ("places.csv", MANY_PLACES)):
        (folder / file).write_text("stop\n" + "".join(f"Stop {n:05d}\n" for n in range(number)))
    for name, case in ways().items():
        (folder / f"{name}.yaml").write_text(SPEC.format(**case))


def measure(folder, command):
    """Wall and processor seconds and peak megabytes of one process, from start to exit."""
    for old in folder.glob("release*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    # Python keeps its compiled modules, as it does wherever noisegate is installed.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # What is remembered of a ledger goes with it.
    environment["NOISEGATE_HEADS"] = str(folder / "release-heads")
    began = time.perf_counter()
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
        _, status, used = os.wait4(child.pid, 0)
    wall_s = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit((folder / "log").read_text())
    return {"wall_s": wall_s, "cpu_s": used.ru_utime + used.ru_stime, "memory_mb": used.ru_maxrss / 1024}


def commands(names):
    """The command line of each way, the baseline first."""
    plain = {"plain GROUP BY": [sys.executable, "-c", PLAIN]}
    options = ["--out", "release", "--ledger", "release.sqlite", "--quiet"]
    return plain | {name: [str(PROGRAM), "release", f"{name}.yaml", *options] for name in names}


def speed(events, names, *, repeats=REPEATS):
    """One row for each way at one size."""
    with tempfile.TemporaryDirectory(prefix="noisegate-release-") as place:
        folder = Path(place)
        # A process inherits the peak memory of the one that starts it, so this one must stay small.
        write = [sys.executable, "-c", WRITE, str(Path(__file__).parent), str(folder), str(events)]
        subprocess.run(write, check=True)
        write_specs(folder)
        found = {name: [] for name in commands(names)}
        for _ in range(repeats):
            for name, command in commands(names).items():
                found[name].append(measure(folder, command))
    rows = []
    for name, turns in found.items():
        wall_s, cpu_s = (min(turn[key] for turn in turns) for key in ("wall_s", "cpu_s"))
        row = {"kind": "speed", "events": events, "way": name, "wall_s": wall_s, "cpu_s": cpu_s}
        rows.append(row | {"memory_mb": round(max(turn["memory_mb"] for turn in turns))})
    plain = rows[0]
    for row in rows:
        row |= {"ratio": row["wall_s"] / plain["wall_s"], "cpu_ratio": row["cpu_s"] / plain["cpu_s"]}
        row |= {key: round(value, 2) for key, value in row.items() if isinstance(value, float)}
    return rows


def error(*, persons=PERSONS, repeats=ERROR_REPEATS, nested=True):
    """One row for each method, with and without suppression, and against either truth; if not `nested`, with every place in every mode."""
    from noisegate.engine import count
    from noisegate.laws import SeededNoise
    from noisegate.releases import make_plan, publish_tables
    from noisegate.simulation import simulate
    from noisegate.spec import parse_spec

    entropy = SeededNoise(seed=2016)
    with tempfile.TemporaryDirectory(prefix="noisegate-release-") as place:
        world = Path(place) / "world"
        simulate(world, persons=persons)
        usual = yaml.safe_load((world / "spec.yaml").read_text())
        if not nested:
            with (world / "stops.csv").open(newline="") as file:
                places = list(dict.fromkeys(row["stop"] for row in csv.DictReader(file)))
            usual["dimensions"]["location"]["values"] = places

        def spec(**privacy):
            return parse_spec(usual | {"privacy": privacy}, folder=world)

        promise = {key: usual["privacy"][key] for key in ("unit", "max_cells", "epsilon")} | {"unsafe": True}
        counts = count(spec(**promise), entropy=entropy)
        whole = count(spec(unit="event", epsilon=1), entropy=entropy)
        rows = []
        for suppress in (None, usual["privacy"]["suppress"]):
            for method in ("derive", "independent", "reconcile"):
                cut = {} if suppress is None else {"suppress": suppress}
                plan = make_plan(spec(**promise, **cut, margins=method))
                made = [publish_tables(plan, counts, entropy=entropy) for _ in range(repeats)]
                for truth, raw in (("events counted", counts), ("all events", whole)):
                    row = {"kind": "error", "published": "all" if suppress is None else "shown"}
                    row |= {"truth": truth, "method": method}
                    rows.append(row | mean_absolute_errors(plan, made, raw))
                    if method == "derive" and suppress is None:
                        row["method"] = "derive, negative counts read as 0"
                        rows.append(row | mean_absolute_errors(plan, made, raw, least=0))
    return [row | against_derive(row, rows) for row in rows]


def mean_absolute_errors(plan, made, raw, *, least=None):
    """Mean distance of each published table from the raw one, over all its cells and all repetitions."""
    found = {}
    for table in plan.tables:
        truth = np.zeros(table.cells, dtype=np.int64)
        margin = plan.spec.margins.get(table.name)
        np.add.at(truth, raw.cells if margin is None else margin.of(raw.cells), raw.raw_counts)
        errors = []
        for tables in made:
            published = np.zeros(table.cells, dtype=np.int64)
            published[tables[table.name].cells] = tables[table.name].values
            errors.append(np.abs(np.clip(published, least, None) - truth).mean())
        found[table.name] = round(float(np.mean(errors)), 3)
    return found


def against_derive(row, rows):
    """The error of each table as a share of that of `derive` in the same setting."""
    same = ("published", "truth")
    derive = next(r for r in rows if r["method"] == "derive" and all(r[k] == row[k] for k in same))
    return {f"{name} / derive": round(row[name] / derive[name], 3) for name in ("time-loc", "time", "loc")}


def run(*, sizes=SIZES, only=None):
    """Rows of both boards: the whole list of ways at one size, four of them at the others."""
    rows = []
    if only != "error":
        for events in sizes:
            rows += speed(events, list(ways()) if events == WHOLE else GROWTH)
    if only != "speed":
        rows += error()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    parser.add_argument("--events", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", choices=("speed", "error"))
    options = parser.parse_args()
    rows = run(sizes=options.events, only=options.only)
    for kind in ("speed", "error"):
        chosen = [row for row in rows if row["kind"] == kind]
        for column in chosen[:1]:
            print("  ".join(name.rjust(_width(chosen, name)) for name in column if name != "kind"))
        for row in chosen:
            print("  ".join(str(row[name]).rjust(_width(chosen, name)) for name in row if name != "kind"))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def _width(rows, name):
    return max(len(name), *(len(str(row[name])) for row in rows))


if __name__ == "__main__":
    main()
