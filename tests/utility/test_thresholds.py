"""What thresholds do, by the spec alone or by the counts of another release; never by raw counts."""

import numpy as np
import pytest

from noisegate.laws import SeededNoise
from noisegate.releases import make_plan, release
from noisegate.workload import StandIn, compared_thresholds, outlook


def counts_like(plan, rng):
    """A few busy cells, many quiet ones."""
    cells = np.sort(rng.choice(plan.base.cells, plan.base.cells // 3, replace=False))
    values = 1 + rng.negative_binomial(0.4, 0.03, cells.size)
    return StandIn(name="other", cells=cells, raw_counts=values, left_out=0.0, unknown={})


def test_the_spec_alone_says_how_often_empty_cells_are_shown(town):
    plan = make_plan(town.spec(margins="derive", suppress={"below": 7}))
    found = compared_thresholds(plan, None)
    assert [one.threshold for one in found if one.chosen] == [7]
    for one in found:
        exact = float(plan.base.noise.passing(one.threshold))
        assert one.spurious == pytest.approx(exact, rel=1e-9)
        assert (one.hidden, one.error, one.best) == (None, None, False)
    assert min(one.spurious for one in found) <= 0.0001


def test_what_a_threshold_hides_and_costs_is_that_of_draws(town):
    plan = make_plan(town.spec(margins="derive", suppress={"below": 7}))
    stand = counts_like(plan, np.random.default_rng(1))
    truth = np.zeros(plan.base.cells, np.int64)
    truth[stand.cells] = stand.raw_counts
    noise, entropy = plan.base.noise, SeededNoise(seed=3)
    drawn = [truth + noise.draw(truth.size, entropy=entropy) for _ in range(400)]
    for one in compared_thresholds(plan, stand):
        shown = [np.full(truth.shape, True) if one.threshold is None else y >= one.threshold for y in drawn]
        errors = [np.abs(np.where(s, y, 0) - truth).mean() for y, s in zip(drawn, shown, strict=True)]
        hidden = np.mean([truth[~s].sum() for s in shown]) / truth.sum()
        false = np.mean([(s & (truth == 0)).sum() for s in shown])
        assert one.error == pytest.approx(np.mean(errors), rel=0.01)
        assert one.hidden == pytest.approx(hidden, rel=0.03, abs=1e-4)
        assert one.false_rows == pytest.approx(false, rel=0.03, abs=0.5)


def test_no_other_threshold_has_less_error_than_the_one_that_is_best(town):
    for method in ("derive", "reconcile"):
        stand = counts_like(make_plan(town.spec()), np.random.default_rng(2))
        best = next(
            one for one in compared_thresholds(make_plan(town.spec(margins=method)), stand) if one.best
        )
        for level in (1, 2, 3, 5, 8, 13, 21):
            plan = make_plan(town.spec(margins=method, suppress={"below": level}))
            own = next(one for one in compared_thresholds(plan, stand) if one.chosen)
            assert best.error <= own.error + 1e-12


def test_the_advice_is_about_the_other_release_and_not_about_the_events(town, tmp_path):
    first = town.spec()
    release(
        first,
        out=tmp_path / "first",
        ledger=tmp_path / "ledger.sqlite",
        entropy=SeededNoise(seed=1),
        yes=True,
    )
    found = outlook(first, like=tmp_path / "first").thresholds
    # The events are gone, or others: nothing changes.
    moved = first.model_copy(update={"events": first.events.model_copy(update={"source": "nowhere.csv"})})
    assert outlook(moved, like=tmp_path / "first").thresholds == found
    assert sum(one.best for one in found) == 1
    assert outlook(moved).as_json()["thresholds"][0]["hidden"] is None


def test_where_zeros_are_kept_nothing_is_advised(town):
    assert compared_thresholds(make_plan(town.spec(zeros="keep", unsafe=True, margins="derive")), None) == ()
