"""How long it takes to find persons who are unique from a few points, in up to a million cards.

    python bench/microdata.py [--json FILE]

Each size runs in a process of its own: a Parquet file of invented taps (two weeks, 25 taps a card on average, busy and
quiet stops, habits) is read, put in the order of persons, and looked at in four coarsenings with 2,000
persons drawn. `wall_s` is what a person waits; `cpu_s` depends less on what else the machine does. The ceiling: a
million cards in a minute.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIZES = (100_000, 1_000_000)
TAPS = 25
STOPS = 800
DAYS = 14
_ROWS_AT_ONCE = 5_000_000

_CHILD = """
import json, resource, sys, time
import numpy as np
import pyarrow.parquet as pq
from noisegate.assessment.microdata import Microdata, PersonEvents

began = time.perf_counter()
table = pq.read_table(sys.argv[1])
events = PersonEvents.of(table, person="card_id", place="stop", time="tapped_at")
rows = table.num_rows
del table
read_s = time.perf_counter() - began
found = Microdata.of(events, rng=np.random.default_rng(1)).to_json()
used = resource.getrusage(resource.RUSAGE_SELF)
told = {
    "cards": found["persons"], "events": rows, "read_s": round(read_s, 2),
    "wall_s": round(time.perf_counter() - began, 2), "cpu_s": round(used.ru_utime + used.ru_stime, 2),
    "peak_mb": round(used.ru_maxrss / 1024),
}
for one in found["coarsenings"]:
    told[one["coarsening"]] = round(one["unique"][1]["share"], 4)
print(json.dumps(told))
"""


def run():
    """One row for each size; the last columns are the shares of persons who are unique from two points."""
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "taps.parquet"
            write_taps(path, cards=size)
            arguments = [sys.executable, "-c", _CHILD, str(path)]
            began = time.perf_counter()
            told = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
            told["start_to_end_s"] = round(time.perf_counter() - began, 2)
        rows.append(told)
    return rows


def write_taps(path, /, *, cards, seed=1):
    """Taps of cards that mostly come and go at the same stops and about the same times."""
    rng = np.random.default_rng(seed)
    busy = 1 / np.arange(1, STOPS + 1)
    homes = rng.choice(STOPS, size=(cards, 4), p=busy / busy.sum())
    hours = rng.integers(6 * 60, 22 * 60, size=(cards, 4))
    stops = pa.array([f"Stop {n}" for n in range(STOPS)])
    start = np.datetime64("2016-07-25T00:00", "us")
    writer = None
    for low in range(0, cards * TAPS, _ROWS_AT_ONCE):
        card = rng.integers(0, cards, min(_ROWS_AT_ONCE, cards * TAPS - low))
        habit = rng.integers(0, 4, card.size)
        minute = (
            hours[card, habit]
            + rng.normal(0, 20, card.size).astype(int)
            + 1440 * rng.integers(0, DAYS, card.size)
        )
        table = pa.table(
            {
                "card_id": pa.array(card * 7919 + 10**9),
                "stop": pa.DictionaryArray.from_arrays(pa.array(homes[card, habit]), stops).cast(pa.string()),
                "tapped_at": pa.array(start + minute.astype("timedelta64[m]")),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def main():
    """Print the table, and write it as JSON when asked."""
    parser = argparse.ArgumentParser(description="Speed of finding unique persons.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = run()
    for row in rows:
        print("; ".join(f"{name}: {value:,}" for name, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
