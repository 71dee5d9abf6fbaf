"""Events a second and peak memory of `noisegate.simulation`, at four sizes up to 20 million events.

    python bench/simulate.py [--json FILE]

Each size runs in a process of its own, start-up included, so that peak memory is its own.
`wall_s` is what a person waits; `cpu_s` does not depend on what else the machine does.
The ceiling for the largest: 60 s and 2 GB on two cores. The smallest is what tests simulate: most of it is start-up.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (2_000, 50_000, 200_000, 1_000_000)
DAYS = 14

_CHILD = """
import json, pathlib, resource, sys
from noisegate.simulation import simulate
world = simulate(pathlib.Path(sys.argv[1]), days=int(sys.argv[2]), persons=int(sys.argv[3]))
used = resource.getrusage(resource.RUSAGE_SELF)
bytes_written = sum(path.stat().st_size for path in world.folder.iterdir())
print(json.dumps({
    "persons": world.persons, "days": world.days, "stops": world.stops, "events": world.events,
    "cpu_s": round(used.ru_utime + used.ru_stime, 2), "peak_mb": round(used.ru_maxrss / 1024),
    "written_mb": round(bytes_written / 2**20),
}))
"""


def run():
    """One row for each size."""
    rows = []
    for persons in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            arguments = [sys.executable, "-c", _CHILD, str(Path(folder) / "world"), str(DAYS), str(persons)]
            told = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
            wall_s = time.perf_counter() - began
        row = json.loads(told) | {"wall_s": round(wall_s, 2)}
        rows.append(row | {"events_per_s": round(row["events"] / wall_s)})
    return rows


def main():
    """Print the table, and write it as JSON when asked."""
    parser = argparse.ArgumentParser(description="Speed and memory of noisegate.simulation.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = run()
    print(" ".join(f"{name:>12}" for name in rows[0]))
    for row in rows:
        print(" ".join(f"{value:>12,}" for value in row.values()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
