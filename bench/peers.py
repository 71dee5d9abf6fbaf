"""The field side by side: the same events, the same cells, each in an environment of its own.

    python bench/peers.py [--events N ...] [--only NAME ...] [--repeats K]

The entry of `make bench-peers`. Environments are made below `.venv-peers` with pip; who does not install is left out, with the reason. Events are those
of `bench/release.py` in a smaller domain: 7 days x 96 quarter-hours x 100 places x on/off. Each way is a process of its own, from start to exit;
ways take turns, and the best of the turns counts (one turn for who takes over ten seconds). `memory_mb` is the peak of all its processes together.
Figures go to `results/peers.json`; `docs/_make/peers_page.py` makes the page.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from run import machine

import release as whole

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HOMES = ROOT / ".venv-peers"
LATEST = HERE / "results" / "peers.json"
JOBS = HERE / "peer_jobs"
SIZES = (500_000, 1_000_000, 2_000_000)
DAYS, PLACES = 7, 100
#: Who takes longer than this has one turn; longer than the second is stopped, and has none at the larger sizes.
LONG_S, TOO_LONG_S = 10, 400
#: What is installed for each peer; the first is whose version is shown.
NEEDS = {
    "opendp": ["opendp[polars]>=0.12,<1", "pyarrow"],
    "tumult": ["tmlt.analytics>=0.20,<1", "pyarrow"],
    "diffprivlib": ["diffprivlib>=0.6,<1", "scikit-learn<1.7", "duckdb", "pyarrow"],
    "mbi": ["mbi>=1,<3", "duckdb", "pyarrow"],
    "pytauargus": ["pytauargus>=0.6,<1", "numpy", "scipy"],
}
#: Ways: the environment (None is ours), the command below the jobs, and what the result includes.
YES, NO, SESSION = "yes", "no", "in a session"
COLUMNS = (
    "bounds a person",
    "exact sampler",
    "zeros get noise",
    "further tables agree",
    "ledger",
    "attacks itself",
)
WAYS = {
    "plain GROUP BY (DuckDB)": (None, ["plain.py"], (NO, NO, NO, YES, NO, NO)),
    "noisegate, event": (None, "event", (NO, YES, YES, YES, YES, YES)),
    "noisegate, person-day, 3 tables reconciled": (None, "day", (YES, YES, YES, YES, YES, YES)),
    "noisegate, person, 40 cells": (None, "person", (YES, YES, YES, YES, YES, YES)),
    "OpenDP + Polars, event": ("opendp", ["opendp_polars.py"], (NO, YES, YES, NO, SESSION, NO)),
    "OpenDP + Polars, person, 40 events": (
        "opendp",
        ["opendp_polars.py", "--person"],
        (YES, YES, YES, NO, SESSION, NO),
    ),
    "Tumult Analytics (Spark), event": ("tumult", ["tumult.py"], (NO, YES, YES, NO, SESSION, NO)),
    "diffprivlib histogram, event": (
        "diffprivlib",
        ["diffprivlib_histogram.py"],
        (NO, NO, YES, NO, SESSION, NO),
    ),
    "mbi, two margins, event": (
        "mbi",
        ["mbi_margins.py"],
        (NO, "brought along", "measured margins", YES, NO, NO),
    ),
}
SPECS = {
    "event": ("", "unit: event, epsilon: 1, margins: derive, unsafe: true"),
    "day": (whole.MARGINS, f"{whole.PERSON_DAY}, margins: reconcile"),
    "person": ("", f"{whole.PERSON}, margins: derive"),
}


def environment(name):
    """The interpreter of a peer, and its version or why there is none."""
    home = HOMES / name
    python = home / "bin" / "python"
    needs = NEEDS[name]
    package = re.split(r"[\[<>=]", needs[0])[0]
    if not (home / "ready").exists():
        made = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", str(home)], capture_output=True, text=True, check=False
        )
        if made.returncode == 0:
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
            made = subprocess.run(install, capture_output=True, text=True, check=False)
        if made.returncode:
            said = [line for line in made.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
            return None, f"{package} does not install here: {said[-1].removeprefix('ERROR: ')}"
        (home / "ready").touch()
    if name == "tumult" and subprocess.run(["java", "-version"], capture_output=True, check=False).returncode:
        return None, "Tumult Analytics needs Java, which is not here"
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    return python, subprocess.run(
        [str(python), "-c", asked], capture_output=True, text=True, check=True
    ).stdout.strip()


def write_inputs(folder, *, events):
    """The events, the public domain as lists and as keys, and our specs."""
    write = "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import release as r; r.write_events(pathlib.Path(sys.argv[2]), events=int(sys.argv[3]), days=int(sys.argv[4]), places=int(sys.argv[5]))"
    subprocess.run(
        [sys.executable, "-c", write, str(HERE), str(folder), str(events), str(DAYS), str(PLACES)], check=True
    )
    dates = [str(np.datetime64("2016-07-25") + day) for day in range(DAYS)]
    times = [f"{k // 4:02d}:{k % 4 * 15:02d}" for k in range(96)]
    domain = {
        "date": dates,
        "tap": ["on", "off"],
        "time": times,
        "location": [f"Stop {n:05d}" for n in range(PLACES)],
    }
    (folder / "domain.json").write_text(json.dumps(domain))
    grid = np.indices([len(one) for one in domain.values()]).reshape(len(domain), -1)
    columns = {name: pa.array(np.array(values)[grid[k]]) for k, (name, values) in enumerate(domain.items())}
    pq.write_table(pa.table(columns), folder / "keys.parquet")
    (folder / "stops.csv").write_text("stop\n" + "".join(f"{stop}\n" for stop in domain["location"]))
    for name, (margins, privacy) in SPECS.items():
        text = whole.SPEC.format(every="15min", stops="stops.csv", margins=margins, privacy=privacy)
        text = text.replace("unsafe: true, unsafe: true", "unsafe: true").replace("2016-08-07", dates[-1])
        (folder / f"{name}.yaml").write_text(text)


def command_of(way, python):
    home, job, _ = WAYS[way]
    if isinstance(job, list):
        return [str(python if home else sys.executable), str(JOBS / job[0]), *job[1:]]
    return [
        str(whole.PROGRAM),
        "release",
        f"{job}.yaml",
        "--out",
        "release",
        "--ledger",
        "release.sqlite",
        "--quiet",
    ]


def tree_mb(session):
    """Resident memory of all processes of a session, in megabytes."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int(fields[21])
        except OSError:
            continue  # it ended meanwhile
    return total * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(folder, command):
    """Wall seconds and peak megabytes of a command with all that it starts; or what it said when it failed."""
    for old in [*folder.glob("release*"), *folder.glob("out.parquet")]:
        subprocess.run(["rm", "-rf", str(old)], check=True)
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"NOISEGATE_HEADS": str(folder / "release-heads"), "OMP_NUM_THREADS": "2"}
    began, peak = time.perf_counter(), 0.0
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=variables, start_new_session=True
        )
        while child.poll() is None:
            peak = max(peak, tree_mb(child.pid))
            time.sleep(0.05)
            if time.perf_counter() - began > TOO_LONG_S:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                return {"failed": f"stopped after {TOO_LONG_S} s"}
    seconds = time.perf_counter() - began
    if child.returncode:
        lines = [line for line in (folder / "log").read_text(errors="replace").splitlines() if line.strip()]
        return {"failed": (lines or ["no message"])[-1].replace(f"{ROOT}/", "")[:200]}
    return {"wall_s": seconds, "memory_mb": peak}


def compare(events, homes, *, repeats, left_out):
    """One row for each way at one size."""
    rows = {}
    with tempfile.TemporaryDirectory(prefix="noisegate-peers-") as place:
        folder = Path(place)
        write_inputs(folder, events=events)
        for turn in range(repeats):
            for way, (home, _, _) in WAYS.items():
                before = rows.get(way)
                if (
                    (home and home not in homes)
                    or way in left_out
                    or (turn and before and before["wall_s"] > LONG_S)
                ):
                    continue
                got = measure(folder, command_of(way, homes.get(home)))
                if "failed" in got:
                    left_out[way] = f"{got['failed']}, at {events:,} events"
                    rows.pop(way, None)
                    continue
                best = min(got["wall_s"], before["wall_s"]) if before else got["wall_s"]
                most = max(got["memory_mb"], before["memory_mb"]) if before else got["memory_mb"]
                rows[way] = {"events": events, "way": way, "wall_s": best, "memory_mb": round(most)}
                print(f"{events:>9,} {way:44} {got['wall_s']:8.2f} s {got['memory_mb']:7.0f} MB", flush=True)
    plain, ours = (rows[way]["wall_s"] for way in list(WAYS)[:2])
    return [
        row
        | {
            "wall_s": round(row["wall_s"], 2),
            "to_plain": round(row["wall_s"] / plain, 1),
            "to_noisegate": round(row["wall_s"] / ours, 1),
        }
        for row in rows.values()
    ]


def suppressed_bounds(homes, *, repeats):
    """Ranges of hidden counts in one table with exact totals of rows and columns: ours, pytauargus, a linear programme a side."""
    found = []
    for rows, columns in ((12, 10), (25, 20), (40, 30)):
        with tempfile.TemporaryDirectory(prefix="noisegate-peers-") as place:
            folder = Path(place)
            hidden = write_table(folder, rows, columns)
            ways = {
                "noisegate assess": [
                    str(whole.PROGRAM),
                    "assess",
                    "cells.csv",
                    "by-row.csv",
                    "by-column.csv",
                    "--quiet",
                    "--json",
                    "assessed.json",
                ]
            }
            if "pytauargus" in homes:
                job = [str(homes["pytauargus"]), str(JOBS / "bounds.py")]
                ways |= {"pytauargus, audit": [*job, "--jj"], "HiGHS, two programmes a cell": [*job, "--lp"]}
            for way, command in ways.items():
                turns = [measure(folder, command)]
                while len(turns) < repeats and turns[0].get("wall_s", LONG_S) < LONG_S:
                    turns.append(measure(folder, command))
                row = {"cells": rows * columns, "hidden": hidden, "way": way}
                if "failed" in turns[0]:
                    found.append(row | {"failed": turns[0]["failed"]})
                    continue
                row |= {
                    "wall_s": round(min(turn["wall_s"] for turn in turns), 2),
                    "memory_mb": round(max(turn["memory_mb"] for turn in turns)),
                }
                found.append(row | outcome(folder, way))
                print(found[-1], flush=True)
    return found


def write_table(folder, rows, columns):
    """A table of counts with those from 1 to 4 hidden, exact totals beside it; as CSV, as JJ file and as plain lists. Gives how many are hidden."""
    rng = np.random.default_rng(rows)
    counts = rng.poisson(9 * rng.gamma(1, 1, (rows, columns)))
    gone = (counts >= 1) & (counts <= 4)
    body = [f"r{i},c{j},{'*' if gone[i, j] else counts[i, j]}" for i in range(rows) for j in range(columns)]
    (folder / "cells.csv").write_text("row,column,count\n" + "\n".join(body) + "\n")
    (folder / "by-row.csv").write_text(
        "row,count\n" + "".join(f"r{i},{n}\n" for i, n in enumerate(counts.sum(axis=1)))
    )
    (folder / "by-column.csv").write_text(
        "column,count\n" + "".join(f"c{j},{n}\n" for j, n in enumerate(counts.sum(axis=0)))
    )
    # Cells are numbered row by row, then totals of rows, of columns, and the whole.
    size = rows * columns
    values = [
        *counts.ravel().tolist(),
        *counts.sum(axis=1).tolist(),
        *counts.sum(axis=0).tolist(),
        int(counts.sum()),
    ]
    sums = [(size + i, [i * columns + j for j in range(columns)]) for i in range(rows)]
    sums += [(size + rows + j, [i * columns + j for i in range(rows)]) for j in range(columns)]
    sums.append((len(values) - 1, list(range(size, size + rows))))
    hidden = np.flatnonzero(gone.ravel()).tolist()
    equations = [[[total, -1], *([part, 1] for part in parts)] for total, parts in sums]
    (folder / "table.json").write_text(
        json.dumps({"values": values, "hidden": hidden, "equations": equations, "least": 1, "most": 4})
    )
    shut = set(hidden)
    lines = ["0", str(len(values))]
    for cell, value in enumerate(values):
        low, high = (1, 4) if cell in shut else (value, value)
        lines.append(f"{cell} {value} {max(value, 1)} {'u' if cell in shut else 's'} {low} {high} 0 0 0")
    lines.append(str(len(equations)))
    lines += [f"0 {len(one)} : " + " ".join(f"{cell} ({sign})" for cell, sign in one) for one in equations]
    (folder / "table.jj").write_text("\n".join(lines) + "\n")
    return len(hidden)


def outcome(folder, way):
    """How many hidden counts a way knows exactly."""
    if way.startswith("noisegate"):
        findings = json.loads((folder / "assessed.json").read_text())["findings"]
        return {
            "exact": next(
                (one["numbers"]["cells_of_base"] for one in findings if one["id"] == "known-exactly"), 0
            )
        }
    found = json.loads((folder / "bounds.json").read_text())
    return {"exact": sum(abs(high - low) < 1e-6 for low, high in found.values()), "bounded": len(found)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--only", nargs="*", choices=list(NEEDS), default=list(NEEDS))
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    homes, versions, left_out = {}, {}, {}
    for name in asked.only:
        python, said = environment(name)
        if python is None:
            print(f"left out: {said}", flush=True)
            left_out[name] = said
        else:
            homes[name], versions[name] = python, said
    about = machine()
    speed = [
        row
        for events in sorted(asked.events)
        for row in compare(events, homes, repeats=asked.repeats, left_out=left_out)
    ]
    bounds = suppressed_bounds(homes, repeats=asked.repeats)
    for way, why in left_out.items():
        print(f"left out: {way}: {why}")
    kept = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": about,
        "versions": versions,
        "left_out": left_out,
        "cells": DAYS * 96 * PLACES * 2,
        "columns": list(COLUMNS),
        "includes": {way: dict(zip(COLUMNS, said, strict=True)) for way, (_, _, said) in WAYS.items()},
        "speed": speed,
        "bounds": bounds,
    }
    LATEST.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
