"""Compiled loops: Numba is loaded by the first call, callees are found, threads do not fall over each other."""

import math
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

NEAR = """
from far import triple, scaled
from noisegate.laws.compiled import compiled

@compiled
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@compiled
def inside(n):
    total = 0.0
    for i in range(n):
        total += triple(i)
    return total / 0 if n == 0 else total

def outside(n):
    return scaled(n)
"""
FAR = """
from noisegate.laws.compiled import compiled

@compiled
def triple(i):
    return scaled(i) + i

@compiled
def scaled(i):
    return 2 * i
"""


@pytest.fixture
def near(tmp_path, monkeypatch):
    """Two modules of compiled functions, fresh for each test."""
    for name, text in (("near", NEAR), ("far", FAR)):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("near")
    yield module
    for name in ("near", "far"):
        sys.modules.pop(name)


def test_a_function_finds_what_it_calls_in_its_own_module_and_in_others(near):
    assert near.inside(4) == 18
    far = sys.modules["far"]
    made = [near.inside, near.triple, far.triple, far.scaled]
    assert {type(one).__name__ for one in made} == {"CPUDispatcher"}


def test_a_function_may_call_itself_and_is_its_own_wrapper_until_then(near):
    assert near.factorial.__name__ == "factorial"
    assert near.factorial(5) == 120


def test_whoever_imported_a_function_before_its_first_call_may_go_on_calling_it(near):
    early = near.inside
    assert (early(4), near.inside(4), early(2), near.outside(3)) == (18, 18, 3, 6)
    assert near.scaled is sys.modules["far"].scaled


def test_division_by_zero_gives_infinity_or_nothing_as_in_numpy(near):
    assert math.isnan(near.inside(0))


def test_many_threads_may_make_the_first_call(near):
    start = Barrier(8)

    def call(_):
        start.wait()
        return near.inside(100)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(call, range(8))) == {14850.0}


WITHOUT = """
import sys
import numba, numpy as np
from noisegate.engine.unit_loops import load_loops
from noisegate.laws import spare_linear_algebra
spare_linear_algebra()
load_loops()
print("scipy.linalg" in sys.modules)
print(numba.njit(lambda a: np.dot(a, a))(np.arange(4.0)))
"""


def test_a_program_may_load_loops_without_linear_algebra_and_load_it_later():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "14.0"]
