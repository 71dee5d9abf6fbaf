"""The benchmark of the samplers still runs, and ours is far ahead of the other exact one."""

import importlib.util
from pathlib import Path


def test_the_sampling_benchmark_runs_and_ours_is_the_faster_exact_one():
    path = Path(__file__).resolve().parents[2] / "bench" / "sampling.py"
    spec = importlib.util.spec_from_file_location("sampling", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    rows = bench.run(sizes=(2000,), scales=(1.4,))
    rate = {(row["sampler"], row["law"]): row["draws_per_second"] for row in rows}
    assert len(rows) == 8
    for law in ("discrete-laplace", "discrete-gaussian"):
        assert rate["noisegate", law] > 10 * rate["opendp", law]
