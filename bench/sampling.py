"""Draws a second of published noise: ours beside OpenDP's exact samplers and NumPy's float ones.

    python bench/sampling.py [--json FILE]

Ours and OpenDP's draw integers from operating-system entropy without floating point. NumPy's are
here to show the price of that: seeded floats rounded to integers, which nobody should publish.
All are timed in the same run, best of several, in processor time (each uses one thread), so that a
busy machine does not favour one. OpenDP gets fewer draws, to keep the whole under a minute;
`drawn` says how many were made.
"""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import opendp.prelude as dp

from noisegate.laws import OsNoise, exact

SCALES = (1.4, 30.0, 1000.0)
SIZES = (10_000, 1_000_000, 10_000_000)
MOST_FOR_OPENDP = 20_000
REPEATS = 3


def samplers():
    """Name, law, and a function from scale to a function that draws."""
    entropy, rng = OsNoise(), np.random.default_rng(1)
    dp.enable_features("contrib")
    return [
        ("noisegate", "discrete-laplace", lambda s: lambda n: exact.discrete_laplace(s, n, entropy=entropy)),
        ("noisegate", "rounded-laplace", lambda s: lambda n: exact.rounded_laplace(s, n, entropy=entropy)),
        (
            "noisegate",
            "discrete-gaussian",
            lambda s: lambda n: exact.discrete_gaussian(s, n, entropy=entropy),
        ),
        ("opendp", "discrete-laplace", opendp_laplace),
        ("opendp", "discrete-gaussian", opendp_gaussian),
        ("numpy", "discrete-laplace", lambda s: lambda n: geometric_difference(rng, s, n)),
        ("numpy", "rounded-laplace", lambda s: lambda n: np.rint(rng.laplace(0, s, n)).astype(np.int64)),
        ("numpy", "rounded-gaussian", lambda s: lambda n: np.rint(rng.normal(0, s, n)).astype(np.int64)),
    ]


def geometric_difference(rng, scale, size):
    success = -np.expm1(-1 / scale)
    return rng.geometric(success, size) - rng.geometric(success, size)


def opendp_laplace(scale):
    measure = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale)
    return lambda n: measure([0] * n)


def opendp_gaussian(scale):
    measure = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int), scale)
    return lambda n: measure([0] * n)


def peak_mb(work):
    """Megabytes by which `work` raises resident memory at its peak; None where the system cannot tell."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not (status.exists() and reset.exists()):
        work()
        return None
    reset.write_text("5")
    before = resident(status)
    work()
    return round((resident(status) - before) / 1024, 1)


def resident(status):
    """Peak resident kilobytes since the last reset."""
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1])


def timed(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(name, law, make, scale, size):
    drawn = min(size, MOST_FOR_OPENDP) if name == "opendp" else size
    first = timed(lambda: make(scale)(1))
    draw = make(scale)
    memory = peak_mb(lambda: draw(drawn))
    repeats = 1 if drawn < size else REPEATS
    seconds = min(timed(lambda: draw(drawn)) for _ in range(repeats))
    return {
        "sampler": name,
        "law": law,
        "scale": scale,
        "size": size,
        "drawn": drawn,
        "first_draw_ms": round(1e3 * first, 2),
        "draws_per_second": round(drawn / seconds),
        "peak_mb": memory,
    }


def run(sizes=SIZES, scales=SCALES):
    """One dict for each sampler, scale and size."""
    return [
        measure(name, law, make, scale, size)
        for name, law, make in samplers()
        for scale in scales
        for size in sizes
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args()
    rows = run()
    print(f"numpy {version('numpy')}, opendp {version('opendp')}; million draws per processor second")
    print(f"{'sampler':10} {'law':18} {'scale':>7} {'size':>11} {'drawn':>11} {'M/s':>8} {'peak MB':>8}")
    for row in rows:
        rate = row["draws_per_second"] / 1e6
        print(
            f"{row['sampler']:10} {row['law']:18} {row['scale']:7g} {row['size']:11,} {row['drawn']:11,} "
            f"{rate:8.3f} {row['peak_mb'] if row['peak_mb'] is not None else '-':>8}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
