"""Uniqueness from a few points: against brute force over all persons and all sets of points."""

from itertools import combinations

import numpy as np
import pytest

from noisegate.assessment import Histories, by_person, share_interval, uniqueness
from noisegate.errors import SpecError


def histories(sets):
    start = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    return Histories(start=start, points=np.array([p for one in sets for p in one], dtype=np.int32))


def true_share(sets, number):
    """The mean, over persons with enough points, of the share of their sets of points that nobody else has."""
    shares = []
    for i, own in enumerate(map(set, sets)):
        if len(own) < number:
            continue
        picks = list(combinations(sorted(own), number))
        alone = [not any(set(pick) <= set(other) for j, other in enumerate(sets) if j != i) for pick in picks]
        shares.append(np.mean(alone))
    return np.mean(shares) if shares else None


def some_town(rng, *, persons=150, points=40):
    busy = 1 / np.arange(1, points + 1)
    return [rng.choice(points, size=rng.integers(1, 9), p=busy / busy.sum()).tolist() for _ in range(persons)]


def test_certain_cases():
    sets = [[0, 1, 2], [0, 1, 3], [0, 1, 2, 2], [7], []]
    found = {one.points: one for one in uniqueness(histories(sets), rng=np.random.default_rng(1))}
    # One point: only the person at 7, and the one at 3 if that is the point drawn.
    assert found[1].sampled == 4
    assert found[3].sampled == 3
    assert found[3].unique == 1
    assert found[3].able == 3 / 4
    assert found[4].sampled == 0
    assert found[4].share is None
    assert (found[4].low, found[4].high) == (0, 1)


@pytest.mark.parametrize("seed", range(3))
def test_the_share_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    sets = some_town(rng)
    runs = [uniqueness(histories(sets), rng=rng) for _ in range(120)]
    for place, number in enumerate((1, 2, 3, 4)):
        shares = np.array([run[place].share for run in runs])
        truth, error = true_share(sets, number), shares.std(ddof=1) / np.sqrt(len(shares))
        assert abs(shares.mean() - truth) < 4 * error + 1e-9
        # Power: a share that is off by a tenth would be seen.
        assert 4 * error < 0.1


def test_intervals_cover():
    """200 samples of 60 from a town of 150: intervals at 90 % miss rarely; intervals for another town do not cover."""
    rng = np.random.default_rng(9)
    sets = some_town(rng)
    truth = true_share(sets, 2)
    found = [uniqueness(histories(sets), rng=rng, known=[2], sample=60, level=0.9)[0] for _ in range(200)]
    hits = sum(one.low <= truth <= one.high for one in found)
    assert hits >= 175  # at least 90 % by design; fewer than 175 has chance 0.1 %
    assert sum(one.low <= truth + 0.25 <= one.high for one in found) < 20


def test_more_points_single_out_more():
    rng = np.random.default_rng(4)
    town = histories([rng.integers(0, 300, size=12).tolist() for _ in range(500)])
    shares = [one.share for one in uniqueness(town, rng=rng)]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.9


def test_events_in_any_order_become_histories():
    rng = np.random.default_rng(2)
    person, point = rng.integers(0, 50, 400).astype(np.int32), rng.integers(0, 9, 400).astype(np.int32)
    start, points, again = by_person(person, point, point)
    assert (points == again).all()
    for one in range(50):
        assert sorted(points[start[one] : start[one + 1]].tolist()) == sorted(point[person == one].tolist())


def test_interval_of_a_share_is_clopper_and_pearson():
    low, high = share_interval(3, 20, level=0.95)
    assert (low, high) == (pytest.approx(0.03207, abs=5e-6), pytest.approx(0.37893, abs=5e-6))
    assert share_interval(0, 20, level=0.95)[0] == 0
    assert share_interval(20, 20, level=0.95)[1] == 1


def test_bad_histories_are_refused():
    with pytest.raises(SpecError, match="one person after the other"):
        Histories(start=np.array([0, 2]), points=np.zeros(3, dtype=np.int32))
    with pytest.raises(SpecError, match="numbered from 0"):
        Histories(start=np.array([0, 1]), points=np.array([-1], dtype=np.int32))
    with pytest.raises(SpecError, match="at least 1"):
        uniqueness(histories([[1]]), rng=np.random.default_rng(1), known=[0])
