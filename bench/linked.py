"""What the suppressed cells were: how fast, how well calibrated, how much sharper than the obvious.

    python bench/linked.py [--part speed|growth|shapes|close|quality|totals|people] [--json FILE]

speed    one table of 100 stops by 96 bins with about 5,719 suppressed cells (the best linear
         programming auditor takes 533 s on such a table and narrows nothing)
growth   four modes, on and off, for two days, five days and a fortnight, about two million cells:
         each attacker's prior fitted and every cell inferred, with margins by time and by stop and with
         the one by time alone; wall and processor seconds and the peak of memory so far
shapes   the same number of cells as one table with two margins, under one total, and in thousands of small tables: processor
         seconds a cell of fitting and solving, as an assessment does it
close    "this cell without this table" at 100,000 cells, the prior held fixed, as the workbench asks it
quality  a week of four modes whose truth is known, by mode and where totals are small: error and
         coverage of suppressed cells, beside two baselines that ignore the margins. "base only"
         never saw them; "same prior" has a prior fitted with them and then ignores them. "flat" is
         what a prior would do that is flat in every cell
totals   the same error by the number of stops that a total adds up; "true law" is what the margins
         give to an attacker who knows the law of every cell beforehand
people   a fortnight of simulated people on timetabled vehicles, on and off: error and coverage

Reading compiled loops from disk (or compiling them, once) is not timed; everything else is.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import noisegate
from noisegate.assessment import Microscope
from noisegate.inference import (
    Flat,
    NegativeBinomial,
    Problem,
    fit_levels,
    fit_prior,
    infer,
)
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import BINS, CITY, CityTruth, ModePlan, Score, make_world, simulate_tables

MODES = ("train", "bus", "ferry", "lightrail")
DAYS = (2, 5, 14)
#: Stops of train, bus, ferry and light rail: 14 days x 96 bins x 744 stops x 2 directions.
STOPS = (300, 380, 40, 24)
TAPS = (1500.0, 350.0, 500.0, 700.0)
CUT = Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb")


def timed(work):
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def fitted(truth, problem=None):
    return fit_prior(problem or truth.problem, effects=truth.effects, groups=truth.mode)


def levels(truth):
    """The minimal attacker's prior, each day by itself."""
    return fit_levels(truth.problem, groups=truth.mode * 1000 + truth.day)


def warm_up():
    """Compiled loops are loaded from disk, or compiled, before anything is timed."""
    truth = simulate_tables(CITY, days=2, rng=np.random.default_rng(0))
    for problem in (truth.problem, Problem(cells=truth.problem.cells, tables=truth.problem.tables[:2])):
        for prior in (fitted(truth, problem).prior, levels(truth), Flat()):
            infer(problem, prior=prior)


def speed():
    plan = ModePlan(stops=100, taps=3780.0, night_stops=100)
    truth = simulate_tables([plan], days=1, rng=np.random.default_rng(12), known_service=False)
    rows = []
    for attacker in ("minimal", "informed"):

        def work(attacker=attacker):
            prior = levels(truth) if attacker == "minimal" else fitted(truth).prior
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
        by_time = Problem(cells=truth.problem.cells, tables=truth.problem.tables[:2])
        for attacker, problem, learn in (
            ("informed", truth.problem, lambda truth=truth: fitted(truth).prior),
            ("minimal", truth.problem, lambda truth=truth: levels(truth)),
            ("informed", by_time, lambda truth=truth, by_time=by_time: fitted(truth, by_time).prior),
        ):
            prior, fit_wall, fit_processor = timed(learn)
            posterior, wall, processor = timed(
                lambda problem=problem, prior=prior: infer(problem, prior=prior)
            )
            rows.append(
                {
                    "kind": "growth",
                    "attacker": attacker,
                    "margins": len(problem.tables) - 1,
                    "days": days,
                    "cells": problem.cells,
                    "suppressed": int(truth.suppressed.sum()),
                    "fit_wall_s": fit_wall,
                    "infer_wall_s": wall,
                    "wall_s": fit_wall + wall,
                    "processor_s": fit_processor + processor,
                    "processor_us_per_cell": 1e6 * (fit_processor + processor) / problem.cells,
                    "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                    "converged": posterior.converged,
                }
            )
    return rows


def shapes(*, cells=48_000):
    """One total over all cells, two margins, and small tables of twelve cells each with margins of their own."""
    layouts = {
        "two margins": ({"slot": 96, "place": cells // 96}, {"by place": ["place"], "by slot": ["slot"]}),
        "one total": ({"village": cells, "kind": 1}, {"all": ["kind"]}),
        "small tables": (
            {"town": cells // 12, "sex": 2, "age": 6},
            {"by sex": ["town", "sex"], "by age": ["town", "age"]},
        ),
    }
    rows = []
    for name, (sizes, margins) in layouts.items():
        world = make_world(sizes, margins=margins, mechanism=CUT, rng=np.random.default_rng(3))
        engine = world.engine()
        _, wall, processor = timed(lambda engine=engine: engine.cells(0.95))
        rows.append(
            {
                "kind": "shapes",
                "tables": name,
                "cells": cells,
                "wall_s": wall,
                "processor_s": processor,
                "processor_us_per_cell": 1e6 * processor / cells,
            }
        )
    return rows


def close(*, places=1_000, slots=100):
    """The first look at a cell, with each of its witnesses left out in turn, and a switch after it."""
    world = make_world(
        {"slot": slots, "place": places},
        margins={"by place": ["place"], "by slot": ["slot"]},
        mechanism=CUT,
        rng=np.random.default_rng(1),
    )
    with tempfile.TemporaryDirectory(prefix="noisegate-bench-") as folder:
        world.write(Path(folder))
        found = noisegate.infer(sorted(map(str, Path(folder).glob("*.csv"))), noise="discrete-laplace:1.4")
    glass, hidden = Microscope(inference=found), np.flatnonzero(found.evidence.suppressed)
    rows = []
    for cell in hidden[:: len(hidden) // 3][:3].tolist():
        _, _, first = timed(lambda cell=cell: glass.look(cell))
        _, _, switched = timed(lambda cell=cell: glass.look(cell, without=["by slot"]))
        rows.append(
            {"kind": "close look", "cells": places * slots, "first_cpu_s": first, "switch_cpu_s": switched}
        )
    return rows


def quality():
    truth = simulate_tables(CITY, days=7, rng=np.random.default_rng(2016))
    few = truth.suppressed & (truth.smallest_total() <= 8)
    return judged("city", truth, {"totals of at most 8": few})


def judged(world, truth, more):
    """Error by mode and in some more sets of cells, and coverage, of all attackers."""
    informed, obvious = fitted(truth).prior, fitted(truth, truth.base_only).prior
    attacks = {
        "informed": infer(truth.problem, prior=informed),
        "same_prior": infer(truth.base_only, prior=informed),
        "base_only": infer(truth.base_only, prior=obvious),
        "minimal": infer(truth.problem, prior=levels(truth)),
        "flat": infer(truth.problem),
    }
    groups = {"all": truth.suppressed} | more
    groups |= {f"mode {m}": truth.suppressed & (truth.mode == m) for m in np.unique(truth.mode)}
    rows = []
    for name, cells in groups.items():
        errors = {
            attack: Score.of(posterior, truth.counts, cells=cells).error
            for attack, posterior in attacks.items()
        }
        rows.append(
            {"kind": "mean absolute error", "world": world, "cells": name, "n": int(cells.sum())}
            | errors
            | {
                "ratio_to_base_only": errors["informed"] / errors["base_only"],
                "ratio_to_same_prior": errors["informed"] / errors["same_prior"],
            }
        )
    return [*rows, *covered(world, truth, informed)]


def covered(world, truth, informed):
    """Coverage at 95 % and at 50 %: whole intervals, what they claim, and counted fairly."""
    rows = []
    for attacker, prior, level in (
        ("informed", informed, 0.95),
        ("informed", informed, 0.5),
        ("minimal", levels(truth), 0.95),
        ("flat", Flat(), 0.95),
    ):
        posterior = infer(truth.problem, prior=prior, level=level, keep=True)
        score = Score.of(posterior, truth.counts, cells=truth.suppressed)
        rows.append(
            {
                "kind": "coverage",
                "world": world,
                "attacker": attacker,
                "level": level,
                "covered": score.coverage,
                "claimed": score.claimed,
                "fair": score.fair,
                "quarters": " ".join(f"{share:.3f}" for share in score.quarters),
                "fair_quarters": " ".join(f"{share:.3f}" for share in score.fair_quarters),
            }
        )
    return rows


def totals():
    sizes = (2, 3, 4, 5, 6, 8)
    plans = [ModePlan(stops=stops, taps=700.0, zipf=0.5, night_stops=stops) for stops in sizes]
    truth = simulate_tables(plans, days=14, rng=np.random.default_rng(2016))
    nothing = np.zeros(truth.problem.cells)
    true_law = NegativeBinomial(mean=truth.intensity, shape=nothing + plans[0].shape, zero_share=nothing)
    informed, obvious = fitted(truth).prior, fitted(truth, truth.base_only).prior
    linked = {"informed": infer(truth.problem, prior=informed), "true": infer(truth.problem, prior=true_law)}
    alone = {
        "base_only": infer(truth.base_only, prior=obvious),
        "same_prior": infer(truth.base_only, prior=informed),
        "true": infer(truth.base_only, prior=true_law),
    }
    small = truth.suppressed & (truth.smallest_total() <= 8)
    groups = {str(size): small & (truth.mode == m) for m, size in enumerate(sizes)} | {"at most 8": small}
    rows = []
    for name, cells in groups.items():
        score = {attack: Score.of(one, truth.counts, cells=cells) for attack, one in linked.items()}
        error = {attack: Score.of(one, truth.counts, cells=cells).error for attack, one in alone.items()}
        rows.append(
            {
                "kind": "small totals",
                "members": name,
                "n": int(cells.sum()),
                "error": score["informed"].error,
                "ratio_to_base_only": score["informed"].error / error["base_only"],
                "ratio_to_same_prior": score["informed"].error / error["same_prior"],
                "ratio_true_law": score["true"].error / error["true"],
                "cover_95": score["informed"].coverage,
            }
        )
    return rows


def people(*, days=14, persons=60_000, seed=3):
    import duckdb

    from noisegate.simulation import simulate

    with tempfile.TemporaryDirectory(prefix="noisegate-bench-") as folder:
        world = simulate(Path(folder) / "world", days=days, persons=persons, seed=seed)
        grids = [
            tapped(duckdb, world.taps, mode=mode, tap=tap, days=days)
            for mode in MODES
            for tap in ("on", "off")
        ]
    return judged("people", CityTruth.publish(grids, rng=np.random.default_rng(seed)), {})


def tapped(duckdb, taps, *, mode, tap, days):
    """Counts by day, stop and quarter hour, in full."""
    rows = duckdb.sql(
        f"""select stop, (tapped_at::date - date '2016-07-25') as day,
                   (extract(hour from tapped_at) * 4 + extract(minute from tapped_at) // 15)::int as time,
                   count(*) as n
            from '{taps}' where mode = '{mode}' and tap = '{tap}' and stop <> 'UNKNOWN' group by all"""
    ).fetchnumpy()
    stops, stop = np.unique(rows["stop"].astype(str), return_inverse=True)
    inside = (rows["day"] >= 0) & (rows["day"] < days)
    counts = np.zeros((days, len(stops), BINS), dtype=np.int64)
    counts[rows["day"][inside], stop[inside], rows["time"][inside]] = rows["n"][inside]
    return counts


PARTS = {
    "speed": speed,
    "growth": growth,
    "shapes": shapes,
    "close": close,
    "quality": quality,
    "totals": totals,
    "people": people,
}


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
