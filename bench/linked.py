"""What the suppressed cells were: how fast, how well calibrated, how much sharper than the obvious.

    python bench/linked.py [--part speed|growth|quality] [--json FILE]

speed    one table of 100 stops by 96 bins with about 5,719 suppressed cells (the best linear
         programming auditor takes 533 s on such a table and narrows nothing)
growth   four modes, on and off, for two days, five days and a fortnight, about two million cells:
         the prior fitted and every cell inferred, wall and processor seconds and peak memory
quality  a week of four modes whose truth is known, by mode and where totals are small: coverage
         and mean absolute error of suppressed cells, beside two baselines that ignore the margins.
         "base only" never saw them; "same prior" has a prior fitted with them and then ignores them.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from noisegate.core.linked import Flat, estimate_sums, fit_prior, infer
from noisegate.core.linked.world import CITY, ModePlan, simulate_tables

DAYS = (2, 5, 14)
#: Stops of train, bus, ferry and light rail: 14 days x 96 bins x 744 stops x 2 directions.
STOPS = (300, 380, 40, 24)
TAPS = (1500.0, 350.0, 500.0, 700.0)


def timed(work):
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def fitted(truth, problem=None):
    return fit_prior(problem or truth.problem, effects=truth.effects, groups=truth.mode)


def warm_up():
    """Compiled loops are loaded from disk, or compiled, before anything is timed."""
    truth = simulate_tables(CITY, days=2, rng=np.random.default_rng(0))
    infer(truth.problem, prior=fitted(truth).prior)
    infer(truth.problem)


def speed():
    plan = ModePlan(stops=100, taps=3780.0, night_stops=100)
    truth = simulate_tables([plan], days=1, rng=np.random.default_rng(12), known_service=False)
    rows = []
    for attacker in ("minimal", "informed"):

        def work(attacker=attacker):
            prior = Flat() if attacker == "minimal" else fitted(truth).prior
            return infer(truth.problem, prior=prior)

        posterior, wall, processor = timed(work)
        rows.append(
            {
                "kind": "one table",
                "attacker": attacker,
                "cells": truth.problem.cells,
                "suppressed": int(truth.suppressed.sum()),
                "wall_s": wall,
                "processor_s": processor,
                "sweeps": posterior.iterations,
                "converged": posterior.converged,
            }
        )
    return rows


def growth():
    rows = []
    plans = [ModePlan(stops=stops, taps=taps) for stops, taps in zip(STOPS, TAPS, strict=True)] * 2
    for days in DAYS:
        truth = simulate_tables(plans, days=days, rng=np.random.default_rng(5), known_service=False)
        fit, fit_wall, fit_processor = timed(lambda truth=truth: fitted(truth))
        posterior, wall, processor = timed(lambda truth=truth, fit=fit: infer(truth.problem, prior=fit.prior))
        rows.append(
            {
                "kind": "growth",
                "days": days,
                "cells": truth.problem.cells,
                "suppressed": int(truth.suppressed.sum()),
                "fit_wall_s": fit_wall,
                "infer_wall_s": wall,
                "wall_s": fit_wall + wall,
                "processor_s": fit_processor + processor,
                "processor_us_per_cell": 1e6 * (fit_processor + processor) / truth.problem.cells,
                "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "rounds": fit.rounds,
                "converged": posterior.converged,
            }
        )
    return rows


def quality():
    truth = simulate_tables(CITY, days=7, rng=np.random.default_rng(2016))
    informed, obvious = fitted(truth), fitted(truth, truth.base_only)
    attacks = {
        "informed": infer(truth.problem, prior=informed.prior),
        "same prior": infer(truth.base_only, prior=informed.prior),
        "base only": infer(truth.base_only, prior=obvious.prior),
        "minimal": infer(truth.problem),
        "minimal, base only": infer(truth.base_only),
    }
    half = infer(truth.problem, prior=informed.prior, level=0.5)
    hidden, few = truth.suppressed, truth.smallest_total() <= 8
    groups = {"all": hidden, "totals of at most 8": hidden & few}
    groups |= {f"mode {m}": hidden & (truth.mode == m) for m in range(len(CITY))}
    rows = []
    for name, cells in groups.items():
        row = {"kind": "error and coverage", "cells": name, "n": int(cells.sum())}
        for attack, posterior in attacks.items():
            row[attack] = float(np.abs(posterior.mean - truth.counts)[cells].mean())
        row["cover_95"] = covered(attacks["informed"], truth, cells)
        row["cover_95_minimal"] = covered(attacks["minimal"], truth, cells)
        row["cover_50"] = covered(half, truth, cells)
        row["ratio_to_base_only"] = row["informed"] / row["base only"]
        row["ratio_to_same_prior"] = row["informed"] / row["same prior"]
        rows.append(row)
    return [*rows, *quarters(attacks, truth), *table_sums(truth, informed.prior)]


def covered(posterior, truth, cells):
    inside = (truth.counts >= posterior.low) & (truth.counts <= posterior.high)
    return float(inside[cells].mean())


def quarters(attacks, truth):
    """Coverage within each quarter of the suppressed cells, by posterior mean."""
    rows = []
    hidden = np.flatnonzero(truth.suppressed)
    for attack in ("informed", "minimal"):
        order = hidden[np.argsort(attacks[attack].mean[hidden], kind="stable")]
        parts = np.array_split(order, 4)
        row = {"kind": "coverage by quarter of posterior mean", "attacker": attack}
        rows.append(
            row | {f"quarter_{k}": covered(attacks[attack], truth, part) for k, part in enumerate(parts, 1)}
        )
    return rows


def table_sums(truth, prior):
    """The suppressed total of each mode and day, with its interval."""
    hidden = truth.suppressed
    codes = np.where(hidden, truth.mode * 7 + truth.day, -1)
    found = estimate_sums(truth.problem, codes, prior=prior)
    raw = np.bincount(codes[hidden], weights=truth.counts[hidden])
    inside = (raw >= found.low) & (raw <= found.high)
    return [{"kind": "suppressed totals by mode and day", "n": len(raw), "cover_95": float(inside.mean())}]


PARTS = {"speed": speed, "growth": growth, "quality": quality}


def run(parts=tuple(PARTS)):
    """One dict for each attacker, each size, each set of cells, each quarter and each kind of sum."""
    warm_up()
    return [row for part in parts for row in PARTS[part]()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = run((arguments.part,) if arguments.part else tuple(PARTS))
    for row in rows:
        print(
            ", ".join(
                f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                for key, value in row.items()
            )
        )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
