"""What the side that makes releases loads: no compiler, no inference; and the ledger next to nothing."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "margins",
        "spec",
        "ledger",
        "engine",
        "releases",
        "mechanisms.mechanism",
        "tables.domain",
        "api.releasing",
    ],
)
def test_the_side_that_releases_loads_neither_numba_nor_scipy_nor_inference(module, record_property):
    code = f"""
import sys, time
import noisegate.{module}
heavy = ("numba", "scipy", "noisegate.inference", "noisegate.recovery", "noisegate.reading", "ibis", "resvg_py")
print(time.process_time(), *[name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *loaded = done.stdout.split()
    record_property("cpu_seconds", float(seconds))
    assert loaded == []


def test_the_ledger_loads_no_numpy():
    code = "import sys, noisegate.ledger; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
