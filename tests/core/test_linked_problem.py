"""Problems: what is refused, what is reduced, and likelihoods equal to the mechanism's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisegate.errors import DataError, SpecError
from noisegate.inference import Flat, Identities, Model, NegativeBinomial, Problem, Sums, infer
from noisegate.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PointMass,
    RandomRounding,
    RoundedLaplace,
)
from noisegate.mechanisms import Mechanism

CUT = Mechanism(law=Laplace(1.4), threshold=18, rounding="nearest", cut="before")
EXACT = Mechanism(law=PointMass(), zeros="perturb")

LAWS = [
    Laplace(1.4),
    RoundedLaplace(0.8),
    DiscreteLaplace(1.4),
    Gaussian(2.0),
    DiscreteGaussian(1.5),
    BoundedUniform(3),
    RandomRounding(3),
    PointMass(),
]


@settings(max_examples=120, deadline=None)
@given(
    law=st.sampled_from(LAWS),
    threshold=st.none() | st.sampled_from([0.0, 2.0, 5.5, 18.0]),
    rule=st.sampled_from(["gt", "ge"]),
    rounding=st.sampled_from(["none", "nearest"]),
    cut=st.sampled_from(["before", "after"]),
    zeros=st.sampled_from(["keep", "perturb", "show"]),
    value=st.integers(-4, 30),
)
def test_likelihood_is_that_of_each_response(law, threshold, rule, rounding, cut, zeros, value):
    mechanism = Mechanism(law=law, threshold=threshold, rule=rule, rounding=rounding, cut=cut, zeros=zeros)
    counts = np.arange(25)
    shown = mechanism.log_likelihood(float(value), counts)
    hidden = mechanism.log_likelihood(np.nan, counts)
    for count in counts:
        response = mechanism.response(int(count))
        np.testing.assert_allclose(shown[count], response.logprob(float(value)), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(hidden[count], response.log_suppressed, rtol=1e-12, atol=1e-12)


def test_negative_sums_are_impossible():
    assert EXACT.log_likelihood(0.0, np.array([-1, 0, 1])).tolist() == [-np.inf, 0.0, -np.inf]


@pytest.mark.parametrize("law", LAWS)
def test_windows_hold_all_but_the_stated_mass(law):
    mechanism = Mechanism(law=law, threshold=5, zeros="perturb")
    far = mechanism.reach(20.0)
    assert float(mechanism.published_law.logsf(far)) <= -20.0 or far == 0
    low, high = mechanism.window(np.array([50.0, np.nan]), nats=20.0)
    assert low.tolist() == [50 - far, 0]
    assert high.tolist() == [50 + far, 5 + far]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Sums.of_cells([np.inf], mechanism=CUT), DataError, "infinite"),
        (lambda: Sums.of_cells([20.5], mechanism=CUT), DataError, "not integers"),
        (lambda: Sums.of_cells([17.0], mechanism=CUT), DataError, "lower the threshold"),
        (lambda: Sums.of_cells([np.nan], mechanism=EXACT), DataError, "give a threshold"),
        (lambda: Sums(indptr=[0, 2], indices=[0], values=[20], mechanism=CUT), SpecError, "indptr"),
        (
            lambda: Sums(indptr=[0, 1, 0, 1], indices=[0], values=[20] * 3, mechanism=CUT),
            SpecError,
            "decrease",
        ),
        (lambda: Sums(indptr=[0, 1], indices=[0], values=[20, 21], mechanism=CUT), SpecError, "values of"),
        (lambda: Sums.by([0, 2], [40.0, 40.0], mechanism=CUT), SpecError, "codes of"),
        (lambda: Problem(cells=0, tables=()), SpecError, "cells"),
        (lambda: Problem(cells=1, tables=(Sums.of_cells([20, 20], mechanism=CUT),)), SpecError, "outside"),
        (lambda: Problem(cells=2, tables=(), structural_zero=[True]), SpecError, "structural_zero"),
        (lambda: Identities(indptr=[0, 1], indices=[0], signs=[2]), SpecError, "sign"),
        (lambda: Identities.between_cells([0, 1], [2]), SpecError, "equal lists"),
        (lambda: NegativeBinomial(mean=[-1.0], shape=1.0, zero_share=0.0), SpecError, "means"),
        (lambda: NegativeBinomial(mean=[1.0], shape=0.0, zero_share=0.0), SpecError, "shapes"),
        (lambda: NegativeBinomial(mean=[1.0], shape=1.0, zero_share=1.0), SpecError, "shares"),
    ],
)
def test_what_cannot_be_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_value_just_under_the_cut_may_come_from_rounding():
    Sums.of_cells([18.0], mechanism=CUT)
    with pytest.raises(DataError, match="above 18"):
        Sums.of_cells([18.0], mechanism=Mechanism(law=Laplace(1.4), threshold=18, rounding="nearest"))


def test_published_sum_of_structural_zeros_is_refused():
    problem = Problem(cells=2, tables=(Sums.by([0, 0], [40.0], mechanism=CUT),), structural_zero=[True, True])
    with pytest.raises(DataError, match="structurally zero"):
        infer(problem)


def test_exact_tables_that_disagree_are_refused():
    tables = (Sums.by([0, 0], [4.0], mechanism=EXACT), Sums.of_cells([3.0, 3.0], mechanism=EXACT))
    with pytest.raises(DataError, match="contradict"):
        infer(Problem(cells=2, tables=tables))


def test_a_flat_prior_cannot_speak_of_cells_in_no_sum():
    with pytest.raises(DataError, match="in no published or suppressed sum"):
        infer(Problem(cells=2, tables=(Sums.of_cells([20.0], mechanism=CUT),)))


def test_level_is_checked():
    with pytest.raises(SpecError, match="level"):
        infer(Problem(cells=1, tables=(Sums.of_cells([20.0], mechanism=CUT),)), level=0.0)


def test_equal_cells_are_one_unknown_and_zeros_spread_along_equalities():
    problem = Problem(
        cells=5,
        tables=(Sums.by([0, 0, 0, 0, 0], [60.0], mechanism=CUT),),
        identities=(Identities.between_cells([0, 2], [1, 3]),),
        structural_zero=[False, False, True, False, False],
    )
    model = Model.of(problem)
    assert model.unknowns == 2
    assert model.unknown_of[0] == model.unknown_of[1] >= 0
    assert model.unknown_of[2] == model.unknown_of[3] == -1
    assert sorted(model.factors.weights.tolist()) == [1, 2]


def test_components_are_runs_and_unlinked_cells_come_last():
    table = Sums.by([0, -1, 1, 0, 1, -1], [40.0, np.nan], mechanism=CUT)
    base = Sums.of_cells(np.full(6, np.nan), mechanism=CUT)
    model = Model.of(Problem(cells=6, tables=(base, table)))
    assert model.bounds.tolist() == [0, 2, 4, 6]
    assert model.factor_bounds.tolist() == [0, 1, 2, 2]
    assert set(model.first_cell[4:].tolist()) == {1, 5}


def test_prior_is_a_value_of_its_own():
    given = np.array([1.0, 2.0])
    prior = NegativeBinomial(mean=given, shape=2.0, zero_share=0.1)
    given[0] = 9.0
    assert prior.mean[0] == 1.0
    assert prior.at(np.array([1])).mean.tolist() == [2.0]
    assert Flat() == Flat()
