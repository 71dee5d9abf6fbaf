"""Counting with contribution bounds against a plain DuckDB GROUP BY of the same file, at three sizes.

    python bench/counting.py [--json FILE] [--rivals]

20 events a card, 14 days x 96 quarter-hours x 2000 places x on/off = 5.4 million cells; once more by the
minute and 75,000 places, which makes 3 billion. The baseline groups by the raw columns and writes
Parquet, without any privacy. Every measurement is a process of its own, start and imports included, so that peak memory
is its own; ways take turns, and the median of three counts. `wall_s` is what a person waits; `cpu_s`
depends less on what else the machine does; `ratio` and `cpu_ratio` compare both with the baseline.
`--rivals` adds what DuckDB alone can do about bounding, at the middle size.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIZES = (1_000_000, 5_000_000, 20_000_000)
EVENTS_PER_CARD, DAYS, PLACES, MANY_PLACES = 20, 14, 2_000, 75_000
REPEATS = 3

PLAIN = """
import duckdb
duckdb.connect().execute('''COPY (
    SELECT tap, tapped_at::DATE AS day, time_bucket(INTERVAL 15 MINUTE, tapped_at)::TIME AS bin, stop, count(*) AS n
    FROM read_parquet('taps.parquet') GROUP BY ALL) TO 'plain.parquet' ''')
"""
RIVALS = {
    "duckdb window": """
import duckdb
duckdb.connect().execute('''COPY (
    WITH cells AS (SELECT DISTINCT card_id, tap, tapped_at::DATE AS day,
                          time_bucket(INTERVAL 15 MINUTE, tapped_at)::TIME AS bin, stop FROM read_parquet('taps.parquet')),
         drawn AS (SELECT *, random() AS word FROM cells),
         kept AS (SELECT *, row_number() OVER (PARTITION BY card_id, day ORDER BY word) AS lot FROM drawn)
    SELECT tap, day, bin, stop, count(*) AS n FROM kept WHERE lot <= 4 GROUP BY ALL) TO 'window.parquet' ''')
""",
    "duckdb distinct only": """
import duckdb
duckdb.connect().execute('''COPY (
    WITH cells AS (SELECT DISTINCT card_id, tap, tapped_at::DATE AS day,
                          time_bucket(INTERVAL 15 MINUTE, tapped_at)::TIME AS bin, stop FROM read_parquet('taps.parquet'))
    SELECT tap, day, bin, stop, count(*) AS n FROM cells GROUP BY ALL) TO 'distinct.parquet' ''')
""",
}
OURS = """
import sys
from noisegate.engine import count
from noisegate.laws import OsNoise
from noisegate.spec import load_spec
spec = load_spec(sys.argv[1])
print(spec.domain.size, count(spec, entropy=OsNoise()).cells.size)
"""
_USAGE = """
import json as _json, resource as _resource
_used = _resource.getrusage(_resource.RUSAGE_SELF)
print(_json.dumps({"cpu_s": _used.ru_utime + _used.ru_stime, "memory_mb": _used.ru_maxrss / 1024}))
"""
SPEC = """\
name: bench
events: {{source: {source}, person: card_id}}
dimensions:
  date:     {{column: tapped_at, from: 2016-07-25, to: 2016-08-07}}
  tap:      {{column: tap, values: ["on", "off"]}}
  time:     {{column: tapped_at, every: {every}}}
  location: {{column: stop, values: {stops}}}
tables:
  base: [date, tap, time, location]
privacy: {{{privacy}, epsilon: 1}}
"""
UNITS = {
    "event": "unit: event",
    "person-day, 4 cells": "unit: person-day, max_cells: 4",
    "person, 40 cells": "unit: person, max_cells: 40",
}


def write_events(folder, *, events):
    """Taps with two peaks a day, Zipf-like places and cards of very different use."""
    rng = np.random.default_rng(1)
    cards = events // EVENTS_PER_CARD
    places = np.arange(1, PLACES + 1) ** -0.8
    places = np.cumsum(places) / places.sum()
    busy = np.cumsum(rng.gamma(1, 1, cards))
    names = pa.array([f"Stop {n:05d}" for n in range(PLACES)])
    schema = pa.schema(
        [
            ("card_id", pa.int64()),
            ("tap", pa.string()),
            ("tapped_at", pa.timestamp("ms")),
            ("stop", pa.string()),
        ]
    )
    with (
        pq.ParquetWriter(folder / "taps.parquet", schema) as numbered,
        pq.ParquetWriter(folder / "text.parquet", schema.set(0, pa.field("card_id", pa.string()))) as named,
    ):
        for day in range(DAYS):
            n = events // DAYS
            card = np.searchsorted(busy, rng.random(n) * busy[-1])
            peak = np.where(rng.random(n) < 0.5, rng.normal(8, 1.5, n), rng.normal(17.5, 2.5, n))
            at_ms = ((day * 24 + np.clip(peak, 0, 23.99)) * 3_600_000).astype("timedelta64[ms]")
            stop = np.searchsorted(places, rng.random(n)).astype(np.int32)
            tap = rng.integers(0, 2, n, dtype=np.int8)
            columns = [
                pa.array(card + 3_085_220_000_000_000),
                pa.DictionaryArray.from_arrays(tap, pa.array(["on", "off"])).cast(pa.string()),
                pa.array(np.datetime64("2016-07-25", "ms") + at_ms),
                pa.DictionaryArray.from_arrays(stop, names).cast(pa.string()),
            ]
            numbered.write_table(pa.table(columns, schema=schema), row_group_size=1 << 19)
            columns[0] = pa.array(card).cast(pa.string())
            named.write_table(pa.table(columns, names=schema.names), row_group_size=1 << 19)


def write_specs(folder):
    """One spec for each unit, one for text ids, one for billions of cells."""
    for file, number in (("stops.csv", PLACES), ("places.csv", MANY_PLACES)):
        (folder / file).write_text("stop\n" + "".join(f"Stop {n:05d}\n" for n in range(number)))
    usual = {"source": "taps.parquet", "every": "15min", "stops": "stops.csv"}
    cases = {name: usual | {"privacy": privacy} for name, privacy in UNITS.items()}
    day = UNITS["person-day, 4 cells"]
    cases["person-day, 4 cells, ids are text"] = usual | {"privacy": day, "source": "text.parquet"}
    huge = usual | {"every": "1min", "stops": "places.csv"}
    cases["event, 3 billion cells"] = huge | {"privacy": UNITS["event"]}
    cases["person-day, 4 cells, 3 billion cells"] = huge | {"privacy": day}
    for name, case in cases.items():
        (folder / f"{name}.yaml").write_text(SPEC.format(**case))
    return list(cases)


def measure(folder, code, *arguments):
    """Wall and processor seconds and peak memory of a process of its own."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code + _USAGE, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return {"wall_s": time.perf_counter() - start} | json.loads(done.stdout.splitlines()[-1])


def compare(folder, ways):
    """The median of each way, taking turns."""
    runs = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, code in ways.items():
            runs[name].append(measure(folder, code, f"{name}.yaml"))
    return {
        name: {key: statistics.median(run[key] for run in found) for key in found[0]}
        for name, found in runs.items()
    }


def run(*, sizes=SIZES, rivals=False):
    """One row for each size and way of counting."""
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="noisegate-bench-") as place:
            folder = Path(place)
            write_events(folder, events=size)
            names = write_specs(folder)
            ours = names if size == sizes[-1] else names[:2]
            ways = {"plain": PLAIN} | dict.fromkeys(ours, OURS)
            if rivals and size == sizes[len(sizes) // 2]:
                ways |= RIVALS
            found = compare(folder, ways)
        plain = found["plain"]
        rows += [
            {
                "bench": "counting",
                "events": size,
                "way": name,
                "wall_s": round(got["wall_s"], 2),
                "cpu_s": round(got["cpu_s"], 2),
                "memory_mb": round(got["memory_mb"]),
                "ratio": round(got["wall_s"] / plain["wall_s"], 2),
                "cpu_ratio": round(got["cpu_s"] / plain["cpu_s"], 2),
            }
            for name, got in found.items()
        ]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rivals", action="store_true")
    options = parser.parse_args()
    rows = run(rivals=options.rivals)
    print(f"{'events':>12} {'way':38} {'wall':>7} {'cpu':>7} {'memory':>8} {'ratio':>6} {'cpu':>6}")
    for row in rows:
        print(
            f"{row['events']:12,} {row['way']:38} {row['wall_s']:6.2f}s {row['cpu_s']:6.2f}s {row['memory_mb']:5} MB "
            f"{row['ratio']:6.2f} {row['cpu_ratio']:6.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
