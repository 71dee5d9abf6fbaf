"""Published cells held out: a law that is right is left alone, one that is too narrow is widened, one of another shape is withdrawn."""

import json

import numpy as np
import pytest

from noisegate.inference import HeldOut, NegativeBinomial, ValueWindow, judge_held_out
from noisegate.laws import DiscreteLaplace, PointMass
from noisegate.mechanisms import Mechanism
from noisegate.testing import publish_case, publish_counts

CUT = Mechanism(law=DiscreteLaplace(1.4), threshold=18, rule="ge", zeros="perturb")
EXACT = Mechanism(law=PointMass(), threshold=10, rule="ge")


def world(rng, shape, *, size=3_000):
    """Intensities that are known, and counts that stray from them as a shape has it."""
    mean = np.exp(rng.normal(2.6, 0.7, size))
    return mean, rng.poisson(mean * rng.gamma(shape, 1 / shape, size))


def held_out(values, mean, shape, mechanism):
    prior = NegativeBinomial(mean=mean, shape=np.full(len(mean), shape), zero_share=np.zeros(1))
    return HeldOut.of(values, prior, ValueWindow.of(mechanism))


@pytest.mark.parametrize("made", [CUT, EXACT])
def test_size_a_law_that_is_right_is_left_alone(made):
    """In 40 worlds none is widened or withdrawn, and their 95 % intervals hold 95 %."""
    inside = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mean, raw = world(rng, 4.0)
        found = held_out(publish_counts(raw, made, rng=rng), mean, 4.0, made)
        judged = judge_held_out([found])
        assert judged is not None
        assert judged.holds
        assert judged.check.outcome == "holds"
        inside.append(judged.check.numbers["inside"])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.005)


def test_power_a_law_that_is_too_narrow_is_widened():
    """Counts of shape 4 under a law of shape 16 to 32: in every world it is taken about as wide as they are, and then holds."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mean, raw = world(rng, 4.0)
        found = held_out(publish_counts(raw, CUT, rng=rng), mean, 20.0, CUT)
        assert 2 <= found.wider <= 8
        assert not found.strays
        prior = NegativeBinomial(mean=mean, shape=np.full(len(mean), 20.0), zero_share=np.zeros(1))
        np.testing.assert_allclose(found.widened(prior).shape, 20.0 / found.wider)
        judged = judge_held_out([found])
        assert judged is not None
        assert judged.holds
        assert judged.check.outcome == "widened"


def test_power_a_law_of_another_shape_is_withdrawn():
    """Two humps where the law has one: no width makes them one."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mean = np.full(1_500, 16.0)
        raw = rng.poisson(np.where(rng.random(1_500) < 0.5, 2.0, 30.0))
        judged = judge_held_out([held_out(publish_counts(raw, CUT, rng=rng), mean, 2.0, CUT)])
        assert judged is not None
        assert not judged.holds
        assert judged.check.outcome == "withdrawn"
        json.dumps(judged.check.to_json(), allow_nan=False)


def test_few_cells_tell_nothing():
    rng = np.random.default_rng(1)
    mean, raw = world(rng, 4.0, size=60)
    judged = judge_held_out([held_out(publish_counts(raw, CUT, rng=rng), mean, 4.0, CUT)])
    assert judged is not None
    assert judged.check.outcome == "cannot tell"
    assert judge_held_out([]) is None


def test_where_all_is_shown_nothing_is_near_a_threshold():
    assert ValueWindow.of(Mechanism(law=DiscreteLaplace(1.4), zeros="perturb")) is None


@pytest.mark.parametrize(
    ("case", "outcome"), [("poisson", "holds"), ("two-humped", "withdrawn"), ("uniform", "withdrawn")]
)
def test_an_engine_holds_out_its_own_cells(case, outcome):
    """What it learnt by itself: right in a city, of another shape elsewhere; where no total speaks it then gives bounds."""
    for seed in range(3):
        world = publish_case(case, "derive", rng=np.random.default_rng(seed))
        engine = world.engine()
        (found,) = [check for check in engine.checks if check.name == "held-out cells"]
        assert found.outcome == outcome
        every = np.arange(world.domain.size)
        sums = engine.sums(every, np.zeros(len(every), np.int64), size=1, level=0.95)
        assert sums.low[0] <= world.counts.sum() <= sums.high[0]
        assert outcome == "holds" or not sums.told[0]
