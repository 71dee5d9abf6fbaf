"""Noise recovery: how fast, how wide the intervals are, and how often a law is named.

    python bench/recovery.py [--part fit|search|quality|assess] [--json FILE]

fit      one fit with all laws, of pairs, margins and bare residuals; processor seconds
search   closed services among 2,000 series of a fortnight of quarter hours, at nine lags
quality  coverage and width of the 95 % interval and how often the law is named, by number of pairs
assess   whole simulated fortnights of four modes, released as in 2016: reading, structure, search, recovery.
         Each size in a process of its own. The ceiling for the largest, about 430,000 published rows: 30 s and 2 GB
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from noisegate.recovery import find_pairs, fit_noise, margin_identities, pair_identities, residual_identities

CUT, SCALE = 18.0, 1.4
SETS = 60
PERSONS = (60_000, 500_000, 2_200_000)

# An assessor has the tables alone, so the card goes. A process of its own, or its memory would count as the other's.
_WORLD = """
import pathlib, sys
from noisegate.laws.entropy import SeededNoise
from noisegate.releases import release
from noisegate.simulation import simulate
from noisegate.spec import load_spec

folder = pathlib.Path(sys.argv[1])
world = simulate(folder / "world", persons=int(sys.argv[2]), days=14, seed=5)
release(load_spec(world.spec_2016), out=folder / "tables", ledger=folder / "ledger.db", entropy=SeededNoise(seed=5))
(folder / "tables" / "card.json").unlink()
"""

# Steps are told apart by what the assessment reports. Suppressed cells are left alone: bench/linked.py is about them.
_CHILD = """
import json, pathlib, resource, sys, time

began = time.perf_counter()
from noisegate.assessment import assess

marks = []

def report(step):
    used = resource.getrusage(resource.RUSAGE_SELF)
    marks.append((step, time.perf_counter(), used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20))

report("start")
found = assess(sorted(pathlib.Path(sys.argv[1], "tables").glob("*.csv")), attacker=None, progress=report)
report("end")
fit, parts = found.tables[0].noise.fit, {}
names = {"start": "setup", "reading": "read", "finding": "structure", "looking": "search"}
for (step, start, _, _), (_, stop, _, _) in zip(marks, marks[1:], strict=False):
    name = names.get(step.split()[0], "recovery")
    parts[name] = round(parts.get(name, 0.0) + stop - start, 2)
print(json.dumps({
    "rows": sum(table.summary.rows for table in found.tables), "wall_s": round(marks[-1][1] - began, 2),
    "processor_s": round(marks[-1][2], 2), "peak_gb": round(marks[-1][3], 2),
    **{f"{name}_s": parts.get(name, 0.0) for name in ("read", "structure", "search", "recovery")},
    "pairs": len(found.couplings), "scale": fit and round(fit.scale, 3),
    "low": fit and round(fit.interval[0], 3), "high": fit and round(fit.interval[1], 3),
}))
"""


def laplace(rng, size):
    return np.rint(rng.laplace(scale=SCALE, size=size))


def suppressed(values):
    return np.where(values >= CUT, values, np.nan)


def timed(work):
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, round(time.perf_counter() - wall, 3), round(time.process_time() - processor, 3)


def pairs(rng, n):
    count = np.floor(rng.exponential(30.0, size=4 * n + 100))
    values = suppressed(count + laplace(rng, (2, len(count))))
    both = ~np.isnan(values).any(axis=0)
    return pair_identities(*values[:, both][:, :n], cuts=(CUT, CUT))


def margins(rng, n, members, *, most_missing):
    count = np.floor(rng.exponential(60.0, size=(n, members)))
    total = count.sum(axis=1) + laplace(rng, n)
    parts = suppressed(count + laplace(rng, count.shape))
    return margin_identities(total, parts, cuts=(CUT, -np.inf), most_missing=most_missing)


def rows_of_many(rng, n):
    noises = rng.integers(60, 97, size=n)
    residual = [laplace(rng, k + 1).sum() for k in noises]
    return residual_identities(residual, noises=np.column_stack([noises, np.ones(n, dtype=int)]))


def fit():
    rng = np.random.default_rng(1)
    cases = {
        "pairs": [pairs(rng, n) for n in (20, 300, 5000, 100_000)],
        "complete margins of 3": [margins(rng, 6000, 3, most_missing=0)],
        "margins of 3, up to 2 missing": [margins(rng, 2000, 3, most_missing=2)],
        "rows of 60 to 96": [rows_of_many(rng, 300)],
    }
    fit_noise(cases["pairs"][0])
    table = []
    for what, sets in cases.items():
        for identities in sets:
            found, wall, processor = timed(lambda ids=identities: fit_noise(ids, shared=True))
            table.append(
                {
                    "bench": "recovery",
                    "kind": "fit",
                    "identities": what,
                    "n": len(identities),
                    "wall_s": wall,
                    "processor_s": processor,
                    "scale": round(found.scale, 3),
                    "low": round(found.interval[0], 3),
                    "high": round(found.interval[1], 3),
                    "law": found.name,
                }
            )
    return table


def search():
    rng = np.random.default_rng(2)
    series, days, bins = 2000, 14, 96
    shape = np.exp(0.8 * np.sin(np.linspace(0, 4 * np.pi, bins)))
    level = np.exp(rng.normal(3.0, 1.2, size=(series, 1, 1)))
    raw = rng.poisson(level * shape, size=(series, days, bins)).astype(float)
    planted = {(2 * i, 2 * i + 1): i % 5 for i in range(10)}
    for (first, second), lag in planted.items():
        raw[first] = rng.poisson(30 * shape, size=(days, bins))
        raw[second, :, lag:] = raw[first, :, : bins - lag]
    cube = suppressed(raw + laplace(rng, raw.shape))
    found, wall, processor = timed(lambda: find_pairs(cube, cut=CUT))
    right = sum(planted.get((p.first, p.second)) == p.lag for p in found)
    return [
        {
            "bench": "recovery",
            "kind": "search",
            "series": series,
            "lags": 9,
            "wall_s": wall,
            "processor_s": processor,
            "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            "planted": len(planted),
            "found": right,
            "false": len(found) - right,
        }
    ]


def quality():
    rng = np.random.default_rng(3)
    table = []
    for n in (20, 50, 300, 2000):
        fits = [fit_noise(pairs(rng, n)) for _ in range(SETS)]
        ends = np.array([f.evidence["rounded-laplace"].interval for f in fits])
        table.append(
            {
                "bench": "recovery",
                "kind": "quality",
                "n": n,
                "sets": SETS,
                "covered": round(float(np.mean((ends[:, 0] <= SCALE) & (ends[:, 1] >= SCALE))), 3),
                "width": round(float(np.median(ends[:, 1] - ends[:, 0])), 3),
                "family_named": round(float(np.mean([f.name.endswith("laplace") for f in fits])), 3),
            }
        )
    return table


def assess(sizes=PERSONS):
    return [{"bench": "recovery", "kind": "assess", "persons": size, **_assessed(size)} for size in sizes]


def _assessed(persons):
    with tempfile.TemporaryDirectory(prefix="noisegate-bench-") as folder:
        for script in (_WORLD, _CHILD):
            child = [sys.executable, "-c", script, folder, str(persons)]
            told = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    return json.loads(told)


PARTS = {"fit": fit, "search": search, "quality": quality, "assess": assess}


def run(parts=tuple(PARTS)):
    return [row for part in parts for row in PARTS[part]()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = run((given.part,) if given.part else tuple(PARTS))
    for line in results:
        print(line)
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))
