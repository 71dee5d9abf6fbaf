"""Questions to a release of two million cells: opening, the first question, and those after it.

    python bench/query.py [--json FILE]

A fortnight of 4 modes, on and off, 96 quarter-hours and 186 places, counts as in a city, released by each way of making
margins, with all rows shown and with small ones left out. `open_s` reads the tables, `first_s` is the first question about
everything (which works out what missing rows were, once), `total_s`, `peak_s` and `places_s` are the best of three of a
grand total, a morning peak by mode, and all places by mode. `first_cpu_s` is the processor time of the first: it uses two
cores where parts of the release can be worked out side by side; `sum_cpu_s` that of a grand total after it, and `peak_gb` the most
memory so far. The promise: seconds for the first, half a second after it.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from noisegate.engine import Counts, Tally
from noisegate.laws import SeededNoise
from noisegate.query import open_release
from noisegate.releases import make_card, make_plan, publish_tables, write_card, write_table
from noisegate.spec import parse_spec

MODES = ["train", "bus", "ferry", "lightrail"]
QUESTIONS = {
    "total_s": {},
    "peak_s": {"where": "time=07:00..09:00", "by": "mode"},
    "places_s": {"by": ["mode", "location"]},
}
CUT = {"suppress": {"spurious": 0.001}}
WAYS = {
    "derive, all shown": {"margins": "derive"},
    "reconcile, all shown": {"margins": "reconcile"},
    "derive, cut": {"margins": "derive", **CUT},
    "reconcile, cut": {"margins": "reconcile", **CUT},
}


def counts_of(rng, days, places):
    hour = np.arange(96) / 4
    profile = 0.03 + np.exp(-((hour - 8) ** 2) / 2) + np.exp(-((hour - 17.5) ** 2) / 3)
    profile += 0.35 * np.exp(-((hour - 13) ** 2) / 20)
    popular = rng.permutation(1 / np.arange(1, places + 1))
    busy = rng.gamma(20, 1 / 20, (4, days, 2, 1, 1)) * np.array([1, 0.6, 0.2, 0.1]).reshape(4, 1, 1, 1, 1)
    rate = busy * profile[:, None] * popular * rng.gamma(6, 1 / 6, (4, 1, 1, 96, places))
    return rng.poisson(rate * (4 / rate.mean()))


def publish(folder, raw, privacy):
    _, days, _, _, places = raw.shape
    spec = parse_spec(
        {
            "name": "bench",
            "events": {"source": "none", "person": "card"},
            "dimensions": {
                "mode": {"column": "mode", "values": MODES},
                "date": {"column": "at", "from": "2016-07-01", "to": f"2016-07-{days:02d}"},
                "tap": {"column": "tap", "values": ["on", "off"]},
                "time": {"column": "at", "every": "15min"},
                "location": {"column": "stop", "values": [f"S{n}" for n in range(places)]},
            },
            "tables": {
                "base": ["mode", "date", "tap", "time", "location"],
                "time": ["mode", "date", "tap", "time"],
                "loc": ["mode", "date", "tap", "location"],
            },
            "privacy": {"unit": "person-day", "max_cells": 4, "epsilon": 2, **privacy},
        },
        folder=folder,
    )
    plan, cells = make_plan(spec), np.flatnonzero(raw)
    counts = Counts(
        cells=cells,
        raw_counts=raw.ravel()[cells].astype(np.int64),
        tally=Tally(events=int(raw.sum()), outside={}),
    )
    tables = publish_tables(plan, counts, entropy=SeededNoise(seed=1))
    for name, table in tables.items():
        write_table(folder, name, spec.domain if name == "base" else spec.margins[name].domain, table)
    rows = {name: len(table.cells) for name, table in tables.items()}
    write_card(folder, make_card(plan, rows=rows, dataset=None, reservation="none", simulated=True), "")


def timed(work, *, repeats=1):
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return round(best, 3), result


def run(*, days=14, places=186, ways=tuple(WAYS)):
    raw = counts_of(np.random.default_rng(1), days, places)
    found = []
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="noisegate-query-") as folder:
            publish(Path(folder), raw, WAYS[way])
            opened, release = timed(lambda: open_release(folder))
            began = time.process_time()
            first, answer = timed(lambda: release.answer(by="tap"))  # noqa: B023
            row = {"way": way, "cells": raw.size, "open_s": opened, "first_s": first}
            row["first_cpu_s"] = round(time.process_time() - began, 3)
            began = time.process_time()
            release.answer()
            row["sum_cpu_s"] = round(time.process_time() - began, 3)
            for name, question in QUESTIONS.items():
                row[name], _ = timed(lambda: release.answer(**question), repeats=3)  # noqa: B023
            row["shown"] = round(1 - float(answer.suppressed.sum() / answer.cells.sum()), 3)
            row["peak_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
            found.append(row)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", type=Path)
    chosen = parser.parse_args()
    rows = run()
    for row in rows:
        print(row)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
