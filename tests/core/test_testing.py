"""What tests and users may import: worlds, oracles, strategies."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisegate import testing
from noisegate.laws import DiscreteLaplace, PointMass, RandomRounding
from noisegate.mechanisms import Mechanism
from noisegate.testing import strategies

EXACT = Mechanism(law=PointMass(), zeros="perturb")


def small_world(mechanism, *, seed=1):
    return testing.make_world(
        {"sex": 2, "age": 4, "area": 6},
        margins={"by area": ["area"], "by sex and age": ["sex", "age"]},
        mechanism=mechanism,
        rng=np.random.default_rng(seed),
    )


def test_a_world_without_noise_shows_its_truth_and_adds_up():
    world = small_world(EXACT)
    assert list(world.published) == ["base", "by area", "by sex and age"]
    for name, shown in world.published.items():
        assert np.array_equal(shown, world.raw(name))
    cube = world.counts.reshape(2, 4, 6)
    assert world.raw("by area").tolist() == cube.sum(axis=(0, 1)).tolist()
    assert world.raw("by sex and age").tolist() == cube.sum(axis=2).ravel().tolist()


def test_the_problem_of_a_world_holds_all_its_tables():
    world = small_world(testing.recipe_2016(threshold=6))
    problem = world.problem()
    assert [table.name for table in problem.tables] == list(world.published)
    for table in problem.tables:
        sums = np.add.reduceat(world.counts[table.indices], table.indptr[:-1])
        assert np.array_equal(sums, world.raw(table.name))


def test_each_table_may_have_its_own_mechanism():
    own = {"base": Mechanism(law=PointMass(), threshold=5, rule="ge"), "by age": EXACT}
    world = testing.make_world(
        {"age": 5, "area": 4}, margins={"by age": ["age"]}, mechanism=own, rng=np.random.default_rng(2)
    )
    assert not np.isnan(world.published["by age"]).any()
    assert np.array_equal(np.isnan(world.published["base"]), world.counts < 5)


@pytest.mark.parametrize(
    "mechanism",
    [
        testing.recipe_2016(threshold=3),
        Mechanism(law=DiscreteLaplace(1.4), threshold=4, rule="ge", zeros="perturb"),
        Mechanism(law=RandomRounding(3), zeros="perturb"),
    ],
)
def test_what_is_published_follows_the_mechanism(mechanism):
    counts, draws = np.array([0, 2, 4]), 20_000
    rng = np.random.default_rng(3)
    shown = testing.publish_counts(np.repeat(counts, draws), mechanism, rng=rng).reshape(3, draws)
    for count, values in zip(counts.tolist(), shown, strict=True):
        response = mechanism.response(count)
        seen = [np.nan, *np.unique(values[~np.isnan(values)])[:8]]
        for value in seen:
            share = np.isnan(values).mean() if np.isnan(value) else (values == value).mean()
            expected = np.exp(response.log_suppressed if np.isnan(value) else response.logprob(value))
            assert share == pytest.approx(float(expected), abs=6 * np.sqrt(0.25 / draws))


@given(mechanism=strategies.mechanisms(), shown=st.just(np.nan) | st.integers(-3, 30))
def test_the_fast_likelihood_is_the_listed_one(mechanism, shown):
    fast = mechanism.log_likelihood(float(shown), np.arange(40))
    slow = testing.listed_likelihood(mechanism, float(shown), counts=40)
    np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-12)


@given(domain=strategies.domains(), data=st.data())
def test_domains_and_tables_fit_each_other(domain, data):
    table = data.draw(strategies.tables(domain.size))
    assert (np.diff(table.cells) > 0).all()
    assert np.array_equal(domain.encode(*domain.decode(table.cells)), table.cells)
    assert (table.values > 0).all()


@settings(max_examples=30)
@given(world=strategies.worlds())
def test_the_truth_of_any_world_is_possible(world):
    for name, shown in world.published.items():
        logs = world.mechanisms[name].log_likelihood(shown, world.raw(name))
        assert (logs > -np.inf).all()
        low, high = world.mechanisms[name].raw_range(shown)
        assert (low <= world.raw(name)).all()
        assert (world.raw(name) <= high).all()


def test_only_strategies_need_hypothesis():
    code = """
import sys
sys.modules["hypothesis"] = None
import noisegate.testing
try:
    import noisegate.testing.strategies
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("needs Hypothesis; install it with: pip install hypothesis")
