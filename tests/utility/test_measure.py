"""Measured errors, taken apart: the parts add up, and each is what it says."""

import math

import numpy as np
import pytest

from noisegate.engine import count
from noisegate.errors import InternalError, SpecError
from noisegate.laws import SeededNoise
from noisegate.releases import make_plan
from noisegate.workload import STAGES, error_parts, measure, usual_trio

CUTS = {
    "reconcile": {"suppress": {"below": 12}},
    "derive": {"suppress": {"below": 12}},
    "independent": {"unsafe": True},
}


def measured(town, *, draws=60, **privacy):
    plan, entropy = make_plan(town.spec(**privacy)), SeededNoise(seed=8)
    counts = count(plan.spec, entropy=entropy)
    return {one.name: one for one in measure(plan, counts, entropy=entropy, draws=draws)}


@pytest.fixture(scope="module", params=list(CUTS))
def found(town, request):
    return measured(town, margins=request.param, **CUTS[request.param])


def test_the_parts_add_up_to_the_total(found):
    for one in found.values():
        if one.parts is not None:
            assert sum(one.parts.bias.values()) == pytest.approx(one.parts.total_bias, abs=1e-6)
            assert sum(one.parts.share.values()) == pytest.approx(one.parts.total_square, rel=1e-9)
            assert one.parts.total_absolute <= sum(one.parts.absolute.values()) + 1e-9


def test_only_coarse_questions_have_an_error_of_aggregation(found, town):
    for name, one in found.items():
        if one.parts is not None:
            assert (one.parts.absolute["aggregation"] > 0) == (name == "odd-hours")
    # 07:15 to 08:30 of hourly cells: three quarters of one hour and half of the next.
    minutes = np.array([minute for _, minute, _ in town.moments])
    asked = ((minutes >= 435) & (minutes < 510)).sum()
    shared = (
        0.75 * ((minutes >= 420) & (minutes < 480)).sum() + 0.5 * ((minutes >= 480) & (minutes < 540)).sum()
    )
    assert 2 * found["odd-hours"].parts.bias["aggregation"] == pytest.approx(shared - asked)


def test_bounding_only_takes_away(found):
    assert found["total"].parts.bias["bounding"] < -100


def test_suppression_takes_away_what_is_small(town):
    cut = measured(town, draws=10, margins="derive", suppress={"below": 12})["total"].parts
    full = measured(town, draws=10, margins="derive")["total"].parts
    assert cut.bias["suppression"] < -500
    assert full.absolute["suppression"] == 0


@pytest.mark.parametrize("method", ["derive", "independent"])
def test_the_plan_is_within_a_tenth_of_what_is_measured(town, method):
    found = measured(town, draws=400, margins=method, unsafe=method == "independent")
    for name in ("total", "by-mode", "peak", "busiest"):
        one = found[name]
        # 400 draws of a mean absolute error have a relative standard error of about four in a hundred.
        assert one.parts.absolute["noise"] == pytest.approx(one.prediction.expected_absolute, rel=0.1)


def test_the_plan_of_reconciled_margins_is_within_a_tenth_where_counts_are_large(town):
    workload = {"busy": {"where": {"stop": ["S0", "S1", "S2"], "mode": "train"}, "by": ["stop", "date"]}}
    plan, entropy = make_plan(town.spec(workload=workload)), SeededNoise(seed=5)
    (one,) = measure(plan, count(plan.spec, entropy=entropy), entropy=entropy, draws=150)
    assert one.prediction.table == "stops"
    assert one.parts.absolute["noise"] == pytest.approx(one.prediction.expected_absolute, rel=0.1)


def test_a_wrong_plan_would_be_noticed(town):
    """The comparison has power: noise of a scale that is a quarter off is not within a tenth."""
    one = measured(town, draws=400, margins="derive", epsilon="0.8")["total"]
    plan = measured(town, draws=2, margins="derive")["total"].prediction
    assert abs(one.parts.absolute["noise"] / plan.expected_absolute - 1) > 0.1


def test_rankings_and_unanswered_questions(found):
    assert 0.5 <= found["busiest"].kept <= 1
    assert found["by-colour"].reason == "no table has colour"
    assert found["by-colour"].to_json() == {
        "name": "by-colour",
        "answered": False,
        "reason": "no table has colour",
    }


def test_the_figures_are_plain_data(found):
    entry = found["odd-hours"].to_json()
    assert set(entry["bias"]) == set(STAGES)
    assert entry["total"]["root_mean_square"] == pytest.approx(
        math.sqrt(sum(entry["share_of_square"].values()))
    )


def test_strange_input_is_refused(town):
    plan = make_plan(town.spec())
    with pytest.raises(SpecError, match="draws must be at least 2"):
        measure(plan, count(plan.spec, entropy=SeededNoise(seed=1)), entropy=SeededNoise(seed=1), draws=1)
    with pytest.raises(InternalError):
        error_parts(np.zeros((2, 3, 4)))


def test_the_trio():
    truth = np.array([[100.0, 10.0, 5.0, 0.0]])
    trio = usual_trio(truth, np.array([[110.0, 10.0, 0.0, 3.0]]), np.array([[True, True, False, True]]))
    assert trio.relative["median"] == pytest.approx(0.1)
    assert trio.dropped == pytest.approx(1 / 3)
    assert trio.spurious == 1.0
