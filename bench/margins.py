"""Margins: time and memory of reconcile and rounding at three sizes, and the error of each method.

    python bench/margins.py [--json FILE]

Speed. 28 slices (14 days, on and off) of 96 quarter-hours by 100, 500 and 2000 places, with the margins by time
and by place. Baseline for the least-squares part: `scipy.sparse.linalg.lsqr` on the stacked equations, to
the same answer. Processor seconds, best of three after a first call that loads the compiled code.

Error. A Zipf-like fortnight at epsilon 2 for a person-day of at most 4 cells, the same epsilon for every method:

    derive, signed       sums of the noisy base before anything is clamped: derive at its best
    derive, clamped      sums of the base clamped at zero, as it would be published
    derive, suppressed   sums of the base as published with at most 0.1 % spurious cells
    independent          a third of epsilon for each table, each clamped at zero; not consistent
    clamp first          reconciled, then the base clamped at zero and summed
    reconcile            reconciled and rounded as published

`third` says whether both margins have at most a third of the error of `derive, signed`; `base_ratio` compares the base
with that of `derive, clamped`.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from noisegate.laws import DiscreteLaplace
from noisegate.margins import Measurement, TableShape, best_split, error_figures, reconcile, round_consistent

AXES = ("mode", "slice", "time", "location")
TIME, PLACE = AXES[:3], ("mode", "slice", "location")
PLACES = (100, 500, 2000)
EPSILON, MAX_CELLS, SPURIOUS = 2.0, 4, 0.001
WORLDS = {"half of the cells empty": (1, 500, 3.7), "nine of ten empty": (4, 500, 0.6)}


def fortnight(rng, *, modes, places, mean):
    """Poisson counts: Zipf-like places, each served by one mode, two peaks a day, quiet nights."""
    hour = np.arange(96) / 4
    profile = 0.02 + np.exp(-((hour - 8) ** 2) / 2) + np.exp(-((hour - 17.5) ** 2) / 3)
    profile += 0.35 * np.exp(-((hour - 13) ** 2) / 20)
    profile *= np.where(hour < 4, 0.02, 1.0)
    daily = np.stack([np.roll(profile, shift) for shift in rng.integers(-6, 7, places)], axis=1)
    served = rng.integers(modes, size=places) == np.arange(modes)[:, None]
    busy = rng.gamma(20, 1 / 20, (modes, 28, 1, places)) * served[:, None, None, :]
    rates = daily * rng.permutation(1 / np.arange(1, places + 1)) * busy
    return rng.poisson(rates * (mean / rates.mean()))


def measured(rng, raw):
    """Noisy tables of a fortnight with the default split, and the scale with all of epsilon on the base."""
    shape = TableShape(axes=AXES, sizes=raw.shape)
    split = best_split(shape, {"base": AXES, "time": TIME, "loc": PLACE})
    parts = []
    for table, share in zip((AXES, TIME, PLACE), split.values(), strict=True):
        law = DiscreteLaplace(MAX_CELLS / (EPSILON * float(share)))
        truth = shape.summed(raw, table)
        parts.append(Measurement(axes=table, values=noisy(rng, truth, law), variance=law.variance))
    return shape, split, parts


def noisy(rng, truth, law):
    return truth + law.sample(truth.size, rng=rng).reshape(truth.shape)


def best_of(work, repeats=3):
    """Shortest processor time, peak megabytes above the start, and the result."""
    work()
    seconds = []
    before = reset_peak()
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        seconds.append(time.process_time() - begin)
    after = peak_kb()
    return min(seconds), None if before is None else round((after - before) / 1024), result


def reset_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return peak_kb()


def peak_kb():
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def stacked(shape, parts):
    """The equations of all tables as one sparse system, each divided by its standard deviation."""
    cells = np.arange(shape.cells).reshape(shape.sizes)
    blocks, values = [], []
    for part in parts:
        lengths = shape.lengths(part.axes)
        rows = np.broadcast_to(
            shape.spread(np.arange(np.prod(lengths)).reshape(lengths), part.axes), shape.sizes
        )
        ones = np.full(shape.cells, part.variance**-0.5)
        blocks.append(sparse.csr_array((ones, (rows.ravel(), cells.ravel()))))
        values.append(part.values.ravel() * part.variance**-0.5)
    return sparse.vstack(blocks), np.concatenate(values)


def speed(places, *, with_baseline=True):
    rng = np.random.default_rng(places)
    raw = fortnight(rng, modes=1, places=places, mean=3.7)
    shape, _, parts = measured(rng, raw)
    least, memory_least, estimate = best_of(lambda: reconcile(parts[0], parts[1:]))
    whole, memory_whole, _ = best_of(lambda: round_consistent(estimate))
    row = {
        "kind": "speed",
        "cells": shape.cells,
        "reconcile_s": round(least, 3),
        "round_s": round(whole, 3),
        "ns_per_cell": round(1e9 * (least + whole) / shape.cells),
        "peak_mb": max(memory_least or 0, memory_whole or 0),
    }
    if with_baseline:
        system, values = stacked(shape, parts)
        begin = time.process_time()
        found = lsqr(system, values, atol=1e-10, btol=1e-10)[0]
        row["lsqr_s"] = round(time.process_time() - begin, 3)
        row["lsqr_ratio"] = round(row["lsqr_s"] / least, 1)
        row["differs_by"] = float(np.abs(found - estimate.base.ravel()).max())
    return row


def methods(rng, shape, parts, raw):
    """Base, time margin and place margin of each method."""
    full = DiscreteLaplace(MAX_CELLS / EPSILON)
    alone = noisy(rng, raw, full)
    cut = int(np.ceil(full.scale * np.log(0.5 / SPURIOUS)))
    third = DiscreteLaplace(3 * MAX_CELLS / EPSILON)
    estimate = reconcile(parts[0], parts[1:])
    published = round_consistent(estimate)

    def summed(base):
        return [base, *(shape.summed(base, table) for table in (TIME, PLACE))]

    return {
        "derive, signed": summed(alone),
        "derive, clamped": summed(np.maximum(alone, 0)),
        "derive, suppressed": summed(np.where(alone >= cut, alone, 0)),
        "independent": [np.maximum(noisy(rng, shape.summed(raw, t), third), 0) for t in (AXES, TIME, PLACE)],
        "clamp first": summed(np.maximum(np.rint(estimate.base), 0)),
        "reconcile": [published.table(table) for table in (AXES, TIME, PLACE)],
    }


def errors(name):
    modes, places, mean = WORLDS[name]
    rng = np.random.default_rng(2016)
    raw = fortnight(rng, modes=modes, places=places, mean=mean)
    shape, split, parts = measured(rng, raw)
    truth = [shape.summed(raw, table) for table in (AXES, TIME, PLACE)]
    found = {
        method: [float(np.abs(got - true).mean()) for got, true in zip(tables, truth, strict=True)]
        for method, tables in methods(rng, shape, parts, raw).items()
    }
    best = found["derive, signed"]
    return [
        {
            "kind": "error",
            "world": name,
            "nonzero": round(float((raw > 0).mean()), 3),
            "split": {table: str(share) for table, share in split.items()},
            "method": method,
            "base": round(mae[0], 3),
            "time": round(mae[1], 2),
            "loc": round(mae[2], 2),
            "time_ratio": round(mae[1] / best[1], 3),
            "loc_ratio": round(mae[2] / best[2], 3),
            "base_ratio": round(mae[0] / found["derive, clamped"][0], 3),
            "third": mae[1] <= best[1] / 3 and mae[2] <= best[2] / 3,
        }
        for method, mae in found.items()
    ]


def bias(name):
    """Mean error of the published counts, and how many lie within the stated 95 % half-width, by raw count."""
    modes, places, mean = WORLDS[name]
    rng = np.random.default_rng(2016)
    raw = fortnight(rng, modes=modes, places=places, mean=mean)
    shape, split, parts = measured(rng, raw)
    laws = {
        table: DiscreteLaplace(MAX_CELLS / (EPSILON * float(share)))
        for table, share in zip((AXES, TIME, PLACE), split.values(), strict=True)
    }
    published = round_consistent(reconcile(parts[0], parts[1:]))
    rows = []
    for label, table in (("base", AXES), ("time", TIME), ("loc", PLACE)):
        figures = error_figures(shape, laws, table=table, method="reconcile")
        truth, sd = shape.summed(raw, table), figures.standard_deviation
        for low, high in ((0, 0), (0, 1), (1, 4), (4, 20), (20, np.inf)):
            chosen = (truth == 0) if high == 0 else (truth > low * sd) & (truth <= high * sd)
            if chosen.sum() >= 100:
                error = (published.table(table) - truth)[chosen]
                rows.append(
                    {
                        "kind": "bias",
                        "world": name,
                        "table": label,
                        "counts": "0" if high == 0 else f"{low:g} to {high:g} sd",
                        "cells": int(chosen.sum()),
                        "sd": round(sd, 2),
                        "bias": round(float(error.mean()), 3),
                        "bias_sd": round(float(error.mean()) / sd, 3),
                        "half_width": figures.half_width,
                        "covered": round(float((np.abs(error) <= figures.half_width).mean()), 4),
                    }
                )
    return rows


def run(places=PLACES):
    """One dict for each size, for each method in each world, and for each class of counts."""
    rows = [speed(count) for count in places]
    for name in WORLDS:
        rows += errors(name)
    for name in WORLDS:
        rows += bias(name)
    return rows


def show(rows, kind):
    chosen = [row for row in rows if row["kind"] == kind]
    columns = [key for key in chosen[0] if key not in {"kind", "split"}]
    widths = [max(len(c), *(len(str(row.get(c, ""))) for row in chosen)) for c in columns]
    print("  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True)))
    for row in chosen:
        print("  ".join(str(row.get(c, "")).rjust(w) for c, w in zip(columns, widths, strict=True)))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args()
    rows = run()
    for kind in ("speed", "error", "bias"):
        show(rows, kind)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
