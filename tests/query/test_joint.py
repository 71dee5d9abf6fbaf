"""Differences, ratios and ranks from joint draws."""

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.inference import SumEstimates
from noisegate.query import JointSums, joint_sums, spans


def together(draws, **more):
    draws = np.asarray(draws)
    return JointSums.of(draws, low=draws.min(axis=0), high=draws.max(axis=0), **more)


def test_what_two_sums_share_is_in_the_interval_of_their_difference():
    rng = np.random.default_rng(1)
    shared, own = rng.poisson(400, (4_000, 1)), rng.poisson(25, (4_000, 2))
    found = together(shared + own).difference(np.array([0]), np.array([1]), level=0.95)
    # Two strangers with a variance of 425 each would be at 57.
    assert found.high[0] == pytest.approx(1.96 * np.sqrt(50), abs=1.5)
    assert found.low[0] == pytest.approx(-1.96 * np.sqrt(50), abs=1.5)


def test_a_ratio_to_what_may_be_nothing_has_no_upper_end():
    draws = np.array([[10, 0], [10, 1], [10, 2], [10, 5]] * 50)
    found = together(draws).ratio(np.array([0, 0]), np.array([1, 0]), level=0.9)
    assert found.high.tolist() == [np.inf, 1.0]
    assert found.low.tolist() == [0.0, 1.0]


def test_ranks_share_the_better_place_and_have_intervals():
    draws = np.array([[9, 5, 5, 1], [4, 5, 3, 1]] * 40)
    found = together(draws).ranks(level=0.9)
    assert found.low.tolist() == [1, 1, 2, 4]
    assert found.high.tolist() == [2, 2, 3, 4]


def test_what_is_withdrawn_has_bounds_and_nothing_else():
    both = JointSums.of(
        np.array([[10, 20]] * 9),
        low=np.array([0, 18]),
        high=np.array([90, 22]),
        withdrawn=np.array([True, False]),
    )
    gap = both.difference(np.array([0, 1]), np.array([1, 1]), level=0.9)
    assert gap.withdrawn.tolist() == [True, False]
    assert (gap.low.tolist(), gap.high.tolist()) == ([-22.0, 0.0], [72.0, 0.0])
    share = both.ratio(np.array([0, 1]), np.array([1, 0]), level=0.9)
    assert share.low.tolist() == [0.0, 0.2]
    assert share.high.tolist() == [5.0, np.inf]
    assert both.ranks(level=0.9).withdrawn.all()
    assert (both.ranks(level=0.9).low.tolist(), both.ranks(level=0.9).high.tolist()) == ([1, 1], [2, 2])


def test_intervals_of_few_draws_hold_a_further_one_as_often_as_they_say():
    rng = np.random.default_rng(2)
    draws, further = rng.normal(size=(99, 20_000)), rng.normal(size=20_000)
    found = spans(draws, level=0.9)
    assert ((found.low <= further) & (further <= found.high)).mean() == pytest.approx(0.9, abs=0.01)


def test_draws_are_moved_to_what_is_known_of_each_sum():
    rng = np.random.default_rng(3)
    shared = rng.normal(100, 10, (4_000, 1))
    drawn = shared + rng.normal(0, 1, (4_000, 2))
    known = SumEstimates(
        level=0.95,
        mean=np.array([110.0, 90.0]),
        sd=np.array([20.0, 20.0]),
        low=np.array([70, 50]),
        high=np.array([150, 130]),
    )
    found = JointSums.matched(drawn, known)
    np.testing.assert_allclose(found.draws.mean(axis=0), known.mean, atol=0.1)
    np.testing.assert_allclose(found.draws.std(axis=0), known.sd, rtol=0.01)
    gap = found.difference(np.array([0]), np.array([1]), level=0.95)
    # What they share is gone from the difference: two strangers with 20 each would be at 55.
    assert 20 - 6.5 < gap.low[0] < gap.high[0] < 20 + 6.5


def test_what_is_nearly_certain_keeps_whole_numbers():
    known = SumEstimates(
        level=0.95,
        mean=np.array([100.4, 50.0]),
        sd=np.zeros(2),
        low=np.array([100, 50]),
        high=np.array([101, 50]),
    )
    found = JointSums.matched(np.array([[90, 50]] * 200), known)
    share = found.ratio(np.array([0]), np.array([1]), level=0.95)
    assert (share.low[0], share.high[0]) == (2.0, 2.02)


def test_sums_of_drawn_tables_may_share_cells():
    tables = [np.array([1, 2, 3]), np.array([4, 5, 6])]
    found = joint_sums(tables, np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), size=2)
    assert found.tolist() == [[3, 5], [9, 11]]
    half = joint_sums(tables, np.array([0, 1]), np.array([0, 0]), size=1, weights=np.array([1.0, 0.5]))
    assert half.tolist() == [[2.0], [6.5]]


def test_releases_are_drawn_equally_often():
    with pytest.raises(SpecError, match="equally often"):
        together(np.zeros((3, 1), int)).beside(together(np.zeros((4, 1), int)))
