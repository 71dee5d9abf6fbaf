"""How early and late vehicles run, and which of several cells people were counted in: against draws and Bayes' rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from noisegate.errors import DataError, SpecError
from noisegate.laws import DiscreteLaplace, Laplace
from noisegate.mechanisms import Mechanism, second_algorithm
from noisegate.timetable import OFF, ON, Chances, Running, rank_candidates

RUNNING = {"early_share": 0.3, "early_mean_s": 200, "late_mean_s": 500, "on_lead_s": 50, "off_lag_s": 40}


@pytest.mark.parametrize(("tap", "shift"), [(ON, -50), (OFF, 40)])
def test_chances_are_those_of_draws_and_no_others(tap, shift):
    """Size and power: the law is accepted at p > 1e-9, laws 10 % off are rejected at p < 1e-9."""
    rng = np.random.default_rng(1)
    early = rng.random(400_000) < 0.3
    moved = np.where(early, -rng.exponential(200, early.size), rng.exponential(500, early.size))
    edges = np.concatenate([[-1e6], np.arange(-600, 3300, 300), [1e6]])
    drawn = np.histogram(1000.0 + shift + moved, edges)[0]

    def p_value(**changed):
        told = Running(**(RUNNING | changed)).chance(1000.0, low_s=edges[:-1], high_s=edges[1:], tap=tap)
        assert told.sum() == pytest.approx(1, abs=1e-12)
        return stats.chisquare(drawn, told * drawn.sum()).pvalue

    assert p_value() > 1e-9
    for name in ("early_share", "early_mean_s", "late_mean_s"):
        assert p_value(**{name: 1.1 * RUNNING[name]}) < 1e-9
        assert p_value(**{name: 0.9 * RUNNING[name]}) < 1e-9


def test_punctual_vehicles_belong_to_the_bin_they_are_due_in():
    punctual = Running(early_share=0, late_mean_s=0)
    told = punctual.chance([0, 899, 900], low_s=0, high_s=900, tap=OFF)
    assert told.tolist() == [1, 1, 0]
    assert "0 % of vehicles early" in punctual.describe()


@pytest.mark.parametrize(
    "bad", [{"early_share": 1.1}, {"late_mean_s": -1}, {"off_lag_s": float("inf")}, {"early_mean_s": 0}]
)
def test_bad_assumptions_are_refused(bad):
    with pytest.raises(SpecError):
        Running(**bad)


def slow_ranking(residual, chance, *, law, mechanism, priors):
    """Bayes' rule over every candidate and every count."""
    joint = {}
    for i, c in enumerate(chance):
        for z, p in enumerate(priors[i]):
            seen = np.exp(law.logpmf(residual - z) if law.lattice else law.logpdf(residual - z))
            joint[i, z] = c * p * float(seen) * np.exp(mechanism.response(z).log_suppressed)
    total = sum(joint.values())
    return [sum(w for (j, _), w in joint.items() if j == i) / total for i in range(len(chance))]


@given(
    residual=st.integers(-5, 40),
    chance=st.lists(st.floats(0.01, 1), min_size=1, max_size=4),
    lattice=st.booleans(),
    data=st.data(),
)
def test_candidates_follow_bayes_and_sum_to_one(residual, chance, lattice, data):
    weights = data.draw(
        st.lists(
            st.lists(st.floats(0.1, 1), min_size=3, max_size=30), min_size=len(chance), max_size=len(chance)
        )
    )
    priors = [np.array(row) / np.sum(row) for row in weights]
    law = DiscreteLaplace(1.4).sum_of(2) if lattice else Laplace(1.4).sum_of(2)
    mechanism = Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb")
    given_chances = Chances(cells=np.arange(len(chance)), early=np.zeros(len(chance)), late=np.array(chance))
    ranked = rank_candidates(residual, chances=given_chances, noise=law, mechanism=mechanism, prior=priors)
    expected = slow_ranking(residual, chance, law=law, mechanism=mechanism, priors=priors)
    assert sum(one.probability for one in ranked) == pytest.approx(1, abs=1e-9)
    for one in ranked:
        assert one.probability == pytest.approx(expected[one.cell], rel=1e-9)
        assert 0 <= one.count.low <= one.count.high <= len(priors[one.cell]) - 1
    assert [one.probability for one in ranked] == sorted((one.probability for one in ranked), reverse=True)


def test_a_prior_that_expects_many_people_beats_a_better_timetable():
    both = Chances(cells=np.array([7, 9]), early=np.zeros(2), late=np.array([0.6, 0.4]))
    quiet, busy = np.full(4, 0.25), np.full(31, 1 / 31)
    ranked = rank_candidates(
        18, chances=both, noise=Laplace(1.4).sum_of(3), mechanism=second_algorithm(), prior=[quiet, busy]
    )
    assert ranked[0].cell == 9
    assert ranked[0].prior == pytest.approx(0.4)
    assert ranked[0].probability > 0.99


def test_candidates_that_cannot_be_ranked_are_refused():
    one = Chances(cells=np.array([1]), early=np.zeros(1), late=np.ones(1))
    ask = {"noise": Laplace(1.4), "mechanism": second_algorithm()}
    with pytest.raises(SpecError, match="level"):
        rank_candidates(18, chances=one, level=1, **ask)
    with pytest.raises(SpecError, match="for each of 1 candidates, got 2"):
        rank_candidates(18, chances=one, prior=[[1.0], [1.0]], **ask)
    with pytest.raises(SpecError, match="sum to one"):
        rank_candidates(18, chances=one, prior=[[0.5, 0.4]], **ask)
    with pytest.raises(SpecError, match="too large"):
        rank_candidates(2e6, chances=one, **ask)
    published = Mechanism(law=Laplace(1.4), threshold=None)
    with pytest.raises(DataError, match="contradicts every candidate"):
        rank_candidates(18, chances=one, noise=Laplace(1.4), mechanism=published)
