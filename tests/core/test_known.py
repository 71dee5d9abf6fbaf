"""What is known of a table's making: ranges of raw counts, rivals, and the ways they are mixed."""

import itertools

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.laws import BoundedUniform, DiscreteLaplace, Laplace, PointMass, RandomRounding
from noisegate.mechanisms import (
    UNBOUNDED,
    CountLosses,
    Known,
    Marker,
    Mechanism,
    NoLoss,
    detection,
    known_mechanism,
    parse_noise,
)

LAWS = (PointMass(), BoundedUniform(2), RandomRounding(3), DiscreteLaplace(1.4), Laplace(1.4))
VALUES = np.array([np.nan, -1, 0, 1, 2, 3, 4, 5, 6, 9, 10, 2.5])
FAR = 40


def listed_range(mechanism, value):
    """By asking for the response of every count up to `FAR`."""
    possible = []
    for count in range(FAR + 1):
        response = mechanism.response(count)
        log = response.log_suppressed if np.isnan(value) else float(response.logprob(value))
        if log > -np.inf:
            possible.append(count)
    if not possible:
        return 1, 0
    return possible[0], UNBOUNDED if possible[-1] == FAR else possible[-1]


@pytest.mark.parametrize(
    ("law", "threshold", "rule", "cut", "zeros"),
    [
        *itertools.product(
            LAWS, (None, 0, 3, 4.5), ("gt", "ge"), ("after", "before"), ("keep", "perturb", "show")
        )
    ],
)
def test_the_range_of_raw_counts_is_that_of_all_responses(law, threshold, rule, cut, zeros):
    rounding = "none" if law.lattice else "nearest"
    mechanism = Mechanism(law=law, threshold=threshold, rule=rule, cut=cut, zeros=zeros, rounding=rounding)
    low, high = mechanism.raw_range(VALUES)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [
        listed_range(mechanism, value) for value in VALUES
    ]


def test_the_likelihood_of_random_rounding_is_that_of_its_responses():
    mechanism = Mechanism(law=RandomRounding(5), threshold=5, rule="ge", zeros="perturb")
    counts = np.arange(60)
    found = mechanism.log_likelihood(np.array([[np.nan], [10.0], [11.0]]), counts)
    responses = [mechanism.response(int(count)) for count in counts]
    expected = [
        [response.log_suppressed for response in responses],
        *[[float(response.logprob(value)) for response in responses] for value in (10.0, 11.0)],
    ]
    assert np.array_equal(found, np.array(expected))


def test_noise_with_a_largest_value_has_no_loss_and_says_why():
    loss = Mechanism(law=BoundedUniform(3)).loss()
    assert isinstance(loss, NoLoss)
    assert "largest value" in loss.reason
    assert isinstance(Mechanism(law=DiscreteLaplace(1.4)).loss(2), CountLosses)


def test_unknown_zeros_are_two_rivals():
    known = known_mechanism("laplace", scale=1.4, threshold=18, zeros=None, kept=0.25, source="recovered")
    assert [(one.zeros, chance) for one, chance in known.rivals] == [("perturb", 0.75), ("keep", 0.25)]
    assert (known.zeros, known.certain, known.mechanism.zeros) == (None, False, "perturb")
    assert {(one.law, one.threshold, one.rounding) for one, _ in known.rivals} == {
        (Laplace(1.4), 18, "nearest")
    }


def test_estimates_mix_and_risk_takes_the_worse():
    known = known_mechanism("discrete-laplace", scale=1.4, threshold=18, zeros=None, source="card")
    assert known.mix([[0.0, 1.0], [1.0, 1.0]]).tolist() == [0.5, 1.0]
    mean, sd = known.mix_moments([2.0, 4.0], [1.0, 1.0])
    assert (float(mean), float(sd)) == (3.0, pytest.approx(np.sqrt(2)))
    worst, risk = known.worst(lambda one: detection(one, 12))
    assert (worst.zeros, risk) == ("keep", detection(worst, 12))
    assert risk > 0
    assert detection(known.mechanism, 12) == 0


def test_a_shown_value_is_somebody_only_if_all_rivals_say_so():
    zeros = {rule: known_mechanism("none", threshold=3, zeros=rule, source="card") for rule in ("keep", None)}
    for known in zeros.values():
        low, high = known.raw_range([np.nan, 3.0, 2.0])
        assert (low.tolist(), high.tolist()) == ([0, 3, 1], [2, 3, 0])
    noisy = known_mechanism("discrete-laplace", scale=1, threshold=3, zeros=None, source="card")
    assert noisy.raw_range(5.0)[0] == 0
    sure = known_mechanism("discrete-laplace", scale=1, threshold=3, zeros="keep", source="card")
    assert sure.raw_range(5.0)[0] == 1


def test_evidence_changes_the_probabilities_of_rivals():
    known = known_mechanism("laplace", scale=1.4, threshold=18, zeros=None, source="card")
    after = known.given([0.0, np.log(3)])
    assert [(one.zeros, round(chance, 12)) for one, chance in after.rivals] == [
        ("keep", 0.75),
        ("perturb", 0.25),
    ]
    assert known.given([-np.inf, -5.0]).zeros == "keep"
    with pytest.raises(SpecError, match="none of the rival mechanisms"):
        known.given([-np.inf, -np.inf])


@pytest.mark.parametrize("chances", [(), (0.5,), (1.0, 0.0), (0.7, 0.7)])
def test_the_probabilities_of_rivals_add_up(chances):
    mechanism = Mechanism(law=Laplace(1.4))
    with pytest.raises(SpecError, match="probabilities of rival mechanisms"):
        Known(rivals=tuple((mechanism, chance) for chance in chances), source="card")


def test_what_cannot_be_known_is_refused():
    with pytest.raises(SpecError, match="law must be one of none, laplace"):
        known_mechanism("cauchy", scale=1, zeros="keep", source="card")
    with pytest.raises(SpecError, match="laplace noise needs a scale"):
        known_mechanism("laplace", zeros="keep", source="card")
    with pytest.raises(SpecError, match="source must be one of"):
        known_mechanism("none", zeros="keep", source="rumour")
    with pytest.raises(SpecError, match="chance that zeros are kept"):
        known_mechanism("none", zeros=None, kept=1, source="card")
    with pytest.raises(SpecError, match="parts of rivals"):
        known_mechanism("none", zeros="keep", source="card").mix([1, 2])


def test_noise_that_a_person_states():
    assert parse_noise("laplace:1.4") == Laplace(1.4)
    with pytest.raises(SpecError, match="a law and its scale"):
        parse_noise("laplace")


def test_a_marker_stands_for_a_range():
    assert Marker(text="<18", high=17, cause="primary").low == 0
    for bad in ({"low": -1}, {"low": 5, "high": 4}):
        with pytest.raises(SpecError, match="the range of marker 'np'"):
            Marker(text="np", **bad)
    with pytest.raises(SpecError, match="cause must be one of"):
        Marker(text="np", cause="whim")
