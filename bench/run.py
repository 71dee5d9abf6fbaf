"""Run the benchmarks and keep their figures: the entry of `make bench`.

    python bench/run.py [NAME ...]

Each module of this directory that has `run() -> list[dict]` is run in a process of its own, so that memory
and warm-up are its own. Its rows are printed as tables, one for each kind of row, and written to
`results/latest.json` beside what the machine is. Naming modules runs those and keeps the figures of the others.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
LATEST = HERE / "results" / "latest.json"
#: Quick ones first; whatever else is in the directory comes after them.
ORDER = ("sampling", "margins", "recovery", "linked", "simulate", "counting", "release")
LIBRARIES = ("noisegate", "duckdb", "numpy", "numba", "arro3-core", "scipy")

_CHILD = """
import importlib, json, pathlib, sys
rows = importlib.import_module(sys.argv[1]).run()
pathlib.Path(sys.argv[2]).write_text(json.dumps(rows))
"""


def modules():
    """The names of all benchmarks, in order."""
    has_run = re.compile(r"^def run\(", re.MULTILINE)
    found = {path.stem for path in HERE.glob("*.py") if has_run.search(path.read_text())}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))


def machine():
    """What the figures depend on besides the code."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory_gb, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_at_start": [round(load, 1) for load in os.getloadavg()],
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def run_module(name):
    """The rows of one benchmark and how long it took, or None if it failed."""
    with tempfile.TemporaryDirectory(prefix="noisegate-bench-") as folder:
        rows = Path(folder) / "rows.json"
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", _CHILD, name, str(rows)], cwd=HERE, check=False)
        seconds = round(time.perf_counter() - began, 1)
        return None if done.returncode else {"seconds": seconds, "rows": json.loads(rows.read_text())}


def show(console, name, result):
    """Print the rows, one table for each set of columns."""
    kinds = {}
    for row in result["rows"]:
        kinds.setdefault(tuple(row), []).append(row)
    for columns, rows in kinds.items():
        same = {key: rows[0][key] for key in ("bench", "kind") if key in columns}
        table = Table()
        shown = [name for name in columns if name not in same and not isinstance(rows[0][name], dict | list)]
        for column in shown:
            is_number = isinstance(rows[0][column], int | float)
            table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(cell(row[column]) for column in shown))
        console.print(" ".join([name, same.get("kind", "")]), style="bold")
        console.print(table)
    console.print(f"{name}: {result['seconds']} s\n")


def cell(value):
    """A value as a table shows it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def keep(benchmarks):
    """Write all figures, so that a reader sees the old file or the new one."""
    LATEST.parent.mkdir(exist_ok=True)
    draft = LATEST.with_suffix(".tmp")
    draft.write_text(json.dumps({"benchmarks": benchmarks}, indent=1) + "\n")
    draft.replace(LATEST)


def main():
    known = modules()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(known)}; all by default")
    names = parser.parse_args().names or known
    if strange := set(names) - set(known):
        parser.error(f"no benchmark {', '.join(sorted(strange))}; there are {', '.join(known)}")
    console = Console() if sys.stdout.isatty() else Console(width=160)
    kept = json.loads(LATEST.read_text())["benchmarks"] if LATEST.exists() else {}
    about, failed = machine(), []
    for name in names:
        result = run_module(name)
        if result is None:
            failed.append(name)
            continue
        show(console, name, result)
        kept[name] = {"measured": datetime.now(UTC).isoformat(timespec="seconds"), "machine": about} | result
        keep(kept)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
