"""A sample of damaged inputs in every run, a hundred thousand of them in the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "mutate.py"
#: For each target how many inputs the long run has; quick readers get more.
LONG = {
    "reader": 20_000,
    "spec": 20_000,
    "where": 26_000,
    "card": 14_000,
    "gtfs": 4_000,
    "ledger": 10_000,
    "events": 6_000,
}
PART = 2_000


def check(target, inputs, seed):
    done = subprocess.run(
        [sys.executable, SCRIPT, target, "--inputs", str(inputs), "--seed", str(seed)],
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.stdout, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {what: n for what, n in found["outcomes"].items() if what.startswith("!")} == {}
    assert sum(found["outcomes"].values()) == inputs
    assert found["longest_s"] < 10
    assert found["peak_mib"] < 1024
    return found["outcomes"]


@pytest.mark.parametrize("target", LONG)
def test_a_sample_of_damaged_inputs(target):
    outcomes = check(target, 120, seed=0)
    assert outcomes.get("read", 0) < 120  # else nothing was damaged


def test_the_long_run_is_a_hundred_thousand():
    assert sum(LONG.values()) == 100_000


@pytest.mark.slow
@pytest.mark.parametrize(("target", "part"), [(t, n) for t in LONG for n in range(-(-LONG[t] // PART))])
def test_a_hundred_thousand_damaged_inputs(target, part):
    check(target, min(PART, LONG[target] - part * PART), seed=1 + part)


def test_what_must_not_be_is_noticed(tmp_path):
    """The search itself: a reader that fails in another way, or takes too long, is reported."""
    program = f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import mutate, signal, time, random
class Bad(mutate.Target):
    def make_seeds(self): return [b"x"]
    def read(self, octets, chance): raise KeyError("unforeseen")
class Waits(Bad):
    def read(self, octets, chance): time.sleep(60)
class Works(Bad):
    def read(self, octets, chance):
        while True: pass
mutate.LONGEST_S = 0.1
for sign in (signal.SIGALRM, signal.SIGPROF): signal.signal(sign, mutate._ring)
for kind in (Bad, Waits, Works):
    print(mutate.tried(kind({str(tmp_path)!r}), b"x", random.Random(1)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    first, second, third = done.stdout.splitlines()
    assert first.startswith("! KeyError")
    assert second == third == "! more than 10 s"
