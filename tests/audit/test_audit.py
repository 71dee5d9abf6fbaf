"""The audit of ourselves has power, is silent about honest releases, and catches what is planted."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("audit", Path(__file__).with_name("audit.py"))
audit = importlib.util.module_from_spec(_SPEC)


@pytest.fixture(autouse=True, scope="module")
def _loaded():
    import sys

    sys.modules["audit"] = audit
    _SPEC.loader.exec_module(audit)
    yield
    del sys.modules["audit"]


@pytest.mark.parametrize(
    "name",
    ["derive", "reconcile", "gaussian", "series", pytest.param("series, Gaussian", marks=pytest.mark.slow)],
)
def test_an_honest_release_shows_most_of_its_epsilon_and_no_more(name):
    found = audit.audit(name, releases=25 if "aussian" in name else 10, seed=17)
    assert not found.fault
    assert found.power >= 0.8


@pytest.mark.parametrize(
    "name",
    [
        "zeros kept",
        "half the scale",
        "half the scale, Gaussian",
        "half the scale, series",
        "half the scale, Gaussian series",
        "bound off by one",
    ],
)
def test_a_planted_fault_is_caught(name):
    assert audit.caught(name, releases=3, seed=17)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "zeros kept",
        "half the scale",
        "half the scale, reconciled",
        "half the scale, Gaussian",
        "half the scale, series",
        "half the scale, Gaussian series",
        "bound off by one",
    ],
)
def test_every_fault_is_caught_every_time(name):
    assert sum(audit.caught(name) for _ in range(100)) == 100
