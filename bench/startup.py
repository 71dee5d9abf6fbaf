"""What a command costs before it does anything: the short ones, a small table, and the size of the installation.

    python bench/startup.py [--json FILE]

Each command runs in a process of its own, as a user starts it, the best of several, in processor time of all
its threads; the first run is not counted (it may write byte code). The baseline, in the same run, is an
interpreter that loads NumPy and Arrow, which all that reads a table must do. `times` grows with the table: six
rows, six hundred, sixty thousand. The installation is what the recorded files of the packages that noisegate
needs take on disk, extras left out, as a tool that writes no byte code installs them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import numpy as np

REPEATS = 5
NOISEGATE = (sys.executable, "-c", "from noisegate.cli.main import run; run()")
BASELINE = (sys.executable, "-c", "import numpy, arro3.core")
#: Places and hours of a table of counts that adds up; its rows are their product.
TABLES = {"assess of 6 rows": (3, 2), "assess of 600 rows": (30, 20), "assess of 60,000 rows": (3_000, 20)}


def processor_seconds(command, *, cwd):
    """Processor time of a process and its children, the best of several after one that is not counted."""
    seconds = []
    for _ in range(REPEATS + 1):
        before = os.times()
        subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, env=_plain_environment())
        after = os.times()
        seconds.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return min(seconds[1:])


def _plain_environment():
    """The environment of a user: byte code is kept, and nobody has set the number of threads."""
    ours = ("PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    return {name: value for name, value in os.environ.items() if name not in ours}


def a_table(path, *, places, hours):
    """Counts by place and hour with a row of totals for each place."""
    lines, rng = ["place,hour,count"], np.random.default_rng(places)
    for place in range(places):
        counts = rng.poisson(rng.gamma(1.0, 20.0, hours)).tolist()
        lines += [f"p{place},{hour},{count}" for hour, count in enumerate(counts)]
        lines.append(f"p{place},Total,{sum(counts)}")
    path.write_text("\n".join(lines) + "\n")
    return path.name


def a_release(folder):
    """A small release made by the command line, already asked once."""
    for step in (
        ("simulate", "--out", "town", "--persons", "2000", "--days", "2"),
        ("release", "town/spec.yaml", "--out", "week", "--ledger", "ledger.sqlite"),
        ("query", "week", "--by", "mode"),
    ):
        subprocess.run((*NOISEGATE, *step), cwd=folder, check=True, stdout=subprocess.DEVNULL)


def installed_megabytes():
    """What the packages that noisegate needs take on disk, and each of the heavy ones."""
    waiting, sizes = ["noisegate"], {}
    while waiting:
        name = waiting.pop()
        if name in sizes:
            continue
        found = metadata.distribution(name)
        paths = {Path(str(file.locate())) for file in found.files or () if "__pycache__" not in str(file)}
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
        waiting += [
            re.match(r"[\w.-]+", need)[0].lower().replace("_", "-")
            for need in found.requires or ()
            if "extra ==" not in need and _applies(need)
        ]
    return sizes


def _applies(need):
    """Whether a requirement holds on this interpreter and system."""
    from packaging.requirements import Requirement

    marker = Requirement(need).marker
    return marker is None or marker.evaluate()


def run():
    """The rows: processor time of each command beside the baseline, and megabytes of the installation."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="noisegate-bench-") as name:
        folder = Path(name)
        a_release(folder)
        commands = {
            "--help": ("--help",),
            "mechanism": ("mechanism", "--scale", "1.4", "--threshold", "18"),
            "query of a small release, asked before": ("query", "week", "--by", "mode"),
        }
        for what, (places, hours) in TABLES.items():
            table = a_table(folder / f"{places}x{hours}.csv", places=places, hours=hours)
            commands[what] = ("assess", table)
        base = processor_seconds(BASELINE, cwd=folder)
        for what, arguments in commands.items():
            began = time.perf_counter()
            seconds = processor_seconds((*NOISEGATE, *arguments), cwd=folder)
            wall = (time.perf_counter() - began) / (REPEATS + 1)
            rows.append(
                {
                    "bench": "startup",
                    "command": what,
                    "cpu_s": round(seconds, 2),
                    "wall_s": round(wall, 2),
                    "numpy_and_arrow_s": round(base, 2),
                    "times": round(seconds / base, 1),
                }
            )
    sizes = installed_megabytes()
    heavy = sorted(sizes.items(), key=lambda pair: -pair[1])[:6]
    rows += [{"bench": "startup", "installed": name, "mb": round(size)} for name, size in heavy]
    rows.append({"bench": "startup", "installed": "all", "mb": round(sum(sizes.values()))})
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    wanted = parser.parse_args()
    found = run()
    for row in found:
        print(*(f"{key} {value}" for key, value in row.items() if key != "bench"), sep=", ")
    if wanted.json:
        wanted.json.write_text(json.dumps(found, indent=1) + "\n")
