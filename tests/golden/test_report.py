"""`noisegate reproduce` against numbers worked out by hand."""

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from noisegate.reproduction import (
    coverage,
    equal_tails,
    fitted_scale,
    judged,
    posterior,
    reproduce,
    rounds_to,
    simulated_pairs,
)

CASES = tomllib.loads((Path(__file__).parent / "report.toml").read_text())["case"]


@pytest.fixture(scope="module")
def items():
    return {item.id: item for item in reproduce()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_exact_values(items, case):
    assert items[case["id"]].exact == pytest.approx(case["exact"], abs=case["atol"], rel=0)


def test_ids_are_unique_and_every_field_is_filled(items):
    assert len(items) == len(reproduce()) >= 20
    for item in items.values():
        assert {"id", "where", "printed", "formula", "exact", "verdict", "note"} <= item.as_json().keys()
        assert item.note.endswith(".")
        assert item.exact is not None


@pytest.mark.parametrize(
    ("item", "verdict"),
    [
        ("theorem-2-interval-95", "agrees with log base 10"),
        ("theorem-2-interval-99", "agrees with log base 10"),
        ("theorem-1-delta", "wrong"),
        ("theorem-1-below-one", "wrong"),
        ("detection-5", "wrong"),
        ("light-rail-rows", "agrees"),
        ("difference-law", "agrees"),
        ("scale-estimate", "agrees"),
    ],
)
def test_verdicts(items, item, verdict):
    assert items[item].verdict == verdict


def test_verdicts_are_computed_not_written_down():
    assert judged(0.98, "0.98") == "agrees"
    assert judged(2.25, "0.98", log10=0.9786) == "agrees with log base 10"
    assert judged(2.25, "0.98", log10=0.9) == "wrong"
    assert rounds_to(0.004916, "0.005")
    assert not rounds_to(0.0056, "0.005")


def test_cremorne_point(items):
    assert items["cremorne-point"].exact == [10, 20]
    mass = posterior(censored=True)
    assert mass @ np.arange(len(mass)) == pytest.approx(15.70, abs=5e-3)
    assert mass.argmax() == 17
    assert mass[:5].sum() == pytest.approx(0.0011, abs=5e-5)
    assert equal_tails(posterior(censored=False), 0.95)[1] > 20


def test_coverages_by_simulation():
    noise = np.random.default_rng(11).laplace(scale=1.4, size=(3, 400_000)).sum(axis=0)
    for half in (0.9786, 2.253, 6.956):
        share = (np.abs(noise) <= half).mean()
        assert abs(share - coverage(half)) < 5 * math.sqrt(0.25 / 400_000)


def test_fitted_scale_is_calibrated():
    """Size: the truth is covered about 95 % of the time; power: 20 % off is excluded."""
    rng, hits, caught = np.random.default_rng(5), 0, 0
    for _ in range(60):
        differences = np.rint(rng.laplace(scale=1.4, size=300)) - np.rint(rng.laplace(scale=1.4, size=300))
        _, low, high = fitted_scale(differences.astype(np.int64))
        hits += low <= 1.4 <= high
        caught += not low <= 1.4 * 1.2 <= high
    assert hits >= 50
    assert caught >= 40


def test_simulated_pairs_repeat():
    assert np.array_equal(simulated_pairs(pairs=50), simulated_pairs(pairs=50))
