"""Which mechanism is named, over simulated regimes with seeds that no constant was set on: one table, kept for the documentation.

    python bench/mechanisms.py [--worlds 50] [--first SEED] [--only TEXT] [--json FILE]

Worlds are those of tests/calibration/test_mechanisms.py and test_marker_ranges.py. A false condition is an epsilon beside the statement that bounds are excluded
up to the true one or beyond.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tests" / "calibration"
FIRST = 210_000


def module(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def regimes(worlds):
    """Those of the tests, and some that the tests leave out."""
    of = {one.name: one for one in worlds.REGIMES}
    left_out = {"laplace 1.4, 100 sums", "uniform 2, 100 sums", "p-table, wider"}
    more = [worlds.each("gaussian 5", worlds.gaussian(5.0), "gaussian", named=False)]
    more.append(worlds.each("gaussian 1.2", worlds.gaussian(1.2), "gaussian", named=False))
    triangular = worlds.cell_key([1, 2, 3, 4, 3, 2, 1])
    more.append(worlds.each("p-table of 3, triangular", triangular, "bounded", named=False))
    more.append(worlds.each("laplace 1", worlds.laplace(1.0), "laplace", named=False))
    more += [
        worlds.each(
            f"p-table of {bound}, like Laplace {scale:g}, pairs",
            worlds.cell_key(worlds.falling(bound, scale)),
            "bounded",
            parts=1,
            identities=1000,
            named=False,
        )
        for bound, scale in ((7, 1.4), (8, 2.0), (10, 2.0), (12, 3.0))
    ]
    return [*(replace(one) for name, one in of.items() if name not in left_out), *more]


def bound_of(name):
    """The largest noise of a p-table, by the name of its regime; None if it has none."""
    return int(name.split("p-table of ")[1].split(",")[0]) if "p-table of" in name else None


def measured(worlds, regime, seeds):
    """One row: how many worlds are named, told, and given an epsilon."""
    found = [worlds.outcome(regime, seed) for seed in seeds]
    bound = bound_of(regime.name)
    base = [one.found["base"] for one in found]
    false = [one for one in base if bound and one.has_epsilon and one.excluded.bound >= bound]
    return {
        "regime": regime.name,
        "identities": regime.identities,
        "worlds": len(found),
        "named": sum(one.named for one in found),
        "told": sum(one.told for one in found),
        "epsilon_where_none_is": sum(one.epsilon for one in found),
        "false_condition": len(false),
        "leading": sum(bool(one.has_epsilon and one.excluded.strong) for one in base if bound),
    }


def marked(markers, seeds, folder):
    """Rows of markers: in how many worlds their range is right."""
    return [
        {
            "regime": f"{one.text or 'blank'} hides {one.low} to {one.high}{', rounded' * (one.base > 1)}",
            "worlds": len(seeds),
            "range_right": sum(markers._right(one, seed, folder / "t.csv") for seed in seeds),  # noqa: SLF001 - the same worlds
        }
        for one in markers.REGIMES
    ]


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--worlds", type=int, default=50)
    asked.add_argument("--first", type=int, default=FIRST)
    asked.add_argument("--only", default="")
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    seeds = range(given.first, given.first + given.worlds)
    worlds, markers = module("test_mechanisms"), module("test_marker_ranges")
    rows = []
    for regime in regimes(worlds):
        if given.only in regime.name:
            began = time.process_time()
            rows.append(measured(worlds, regime, seeds))
            print(f"{time.process_time() - began:6.1f} s", rows[-1], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        ranges = [] if given.only else marked(markers, seeds, Path(folder))
    for row in ranges:
        print(row, flush=True)
    if given.json:
        text = json.dumps({"first_seed": given.first, "kinds": rows, "markers": ranges}, indent=1)
        given.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
