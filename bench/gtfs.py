"""Rows a second and peak memory of reading GTFS feeds, at three sizes up to 20 million rows of stop_times.

    python bench/gtfs.py [--json FILE]

Each size is read in a process of its own, from a zip, start-up included, so that peak memory is its own. `wall_s` is
what a person waits; `cpu_s` depends less on what else the machine does. `link_s` is the time to
find the visits of one week, and the vehicles behind every cell of a quarter-hourly table of it, on the
second and the smaller sizes. The ceiling for reading the largest: 60 s and 2 GB on two cores.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

SIZES = (1_000_000, 5_000_000, 20_000_000)
CALLS = 40
STOPS = 25_000
SERVICES = 8
_TRIPS_AT_ONCE = 50_000

_CHILD = """
import json, resource, sys, time
from datetime import timedelta
from noisegate.tables.dimension import Dimension
from noisegate.tables.domain import Domain
from noisegate.timetable import Tolerance, domain_grid, link_feed, match_locations, read_feed, unique_cells

began = time.perf_counter()
feed = read_feed(sys.argv[1])
read_s = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_SELF)
told = {
    "stop_times": len(feed.calls), "trips": len(feed.trips), "stops": len(feed.stops), "read_s": round(read_s, 2),
    "cpu_s": round(used.ru_utime + used.ru_stime, 2), "peak_mb": round(used.ru_maxrss / 1024),
    "visits": 0, "cells": 0, "link_s": 0.0,
}
if sys.argv[2] == "link":
    began = time.perf_counter()
    days = [str(feed.first_date + timedelta(days=n)) for n in range(7)]
    bins = [f"{n // 4:02d}:{15 * (n % 4):02d}" for n in range(96)]
    names = dict(mode=["bus"], date=days, tap=["on", "off"], time=bins, location=feed.stops.names)
    domain = Domain.product([Dimension(name=name, values=tuple(values)) for name, values in names.items()])
    grid = domain_grid(feed, domain, matching=match_locations(feed, feed.stops.names))
    linkage = link_feed(feed, grid=grid, tolerance=Tolerance(on_before_s=60, on_after_s=300, off_after_s=300))
    unique_cells(linkage)
    told |= {"visits": len(linkage.visits), "cells": len(linkage), "link_s": round(time.perf_counter() - began, 2)}
    told["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(json.dumps(told))
"""


def run():
    """One row for each size."""
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "feed.zip"
            write_feed(path, trips=size // CALLS)
            began = time.perf_counter()
            arguments = [sys.executable, "-c", _CHILD, str(path), "link" if size < SIZES[-1] else "read"]
            told = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
            wall_s = time.perf_counter() - began
            told |= {"zip_mb": path.stat().st_size >> 20, "wall_s": round(wall_s, 2)}
        rows.append(told | {"rows_per_s": round(told["stop_times"] / told["read_s"])})
    return rows


def write_feed(path, /, *, trips, seed=1):
    """A synthetic feed: buses of `CALLS` calls each, spread over the day and over `SERVICES` services."""
    rng = np.random.default_rng(seed)
    service = rng.integers(0, SERVICES, trips)
    leaves_s, first = rng.integers(4 * 3600, 25 * 3600, trips), rng.integers(0, STOPS - CALLS, trips)
    days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    ids = np.array([f"{100_000 + n}.T2.2-F6-sj2-1.5.R" for n in range(trips)])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("routes.txt", "route_id,route_short_name,route_type\nR,R,3\n")
        archive.writestr(
            "stops.txt", "stop_id,stop_name\n" + "".join(f"{2_000_000 + n},Stop {n}\n" for n in range(STOPS))
        )
        weekly = [
            f"S{n}," + ",".join("1" if (d + n) % 7 < 1 else "0" for d in range(7)) for n in range(SERVICES)
        ]
        archive.writestr(
            "calendar.txt",
            f"service_id,{','.join(days)},start_date,end_date\n"
            + "".join(f"{w},20160725,20160831\n" for w in weekly),
        )
        lines = (f"R,S{s},{name}\n" for s, name in zip(service.tolist(), ids.tolist(), strict=True))
        archive.writestr("trips.txt", "route_id,service_id,trip_id\n" + "".join(lines))
        with archive.open("stop_times.txt", "w", force_zip64=True) as file:
            for low in range(0, trips, _TRIPS_AT_ONCE):
                part = np.arange(low, min(low + _TRIPS_AT_ONCE, trips))
                _write_calls(file, part, ids, leaves_s, first)


def _write_calls(file, part, ids, leaves_s, first):
    trip, position = np.repeat(part, CALLS), np.tile(np.arange(CALLS), part.size)
    at, which = np.unique(leaves_s[trip] + 73 * position, return_inverse=True)
    clock = np.array([f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in at.tolist()])[which]
    table = pa.table(
        {
            "trip_id": ids[trip],
            "arrival_time": clock,
            "departure_time": clock,
            "stop_id": (2_000_000 + first[trip] + position).astype(str),
            "stop_sequence": position + 1,
            "stop_headsign": np.full(trip.size, ""),
            "pickup_type": np.zeros(trip.size, dtype=np.int8),
            "drop_off_type": np.zeros(trip.size, dtype=np.int8),
        }
    )
    options = arrow_csv.WriteOptions(
        include_header=part[0] == 0, quoting_style="needed", quoting_header="none"
    )
    arrow_csv.write_csv(table, file, options)


def main():
    """Print the table, and write it as JSON when asked."""
    parser = argparse.ArgumentParser(description="Speed and memory of noisegate.timetable.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = run()
    print(" ".join(f"{name:>11}" for name in rows[0]))
    for row in rows:
        print(" ".join(f"{value:>11,}" for value in row.values()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
