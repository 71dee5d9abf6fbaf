"""Responses, detection, verdicts and bad parameters of a mechanism."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace, Laplace, make_law
from noisegate.mechanisms import (
    Mechanism,
    corrected,
    delta,
    describe,
    detection,
    epsilon,
    second_algorithm,
    stability_histogram,
    verdict,
)
from noisegate.testing.strategies import mechanisms


@given(mechanism=mechanisms(), count=st.integers(0, 30))
def test_a_response_has_total_mass_one(mechanism, count):
    response = mechanism.response(count)
    published = math.exp(response.log_published)
    assert published + math.exp(response.log_suppressed) == pytest.approx(1, abs=1e-12)
    if mechanism.integers:
        listed = np.exp(response.logprob(response.support())).sum()
        assert listed == pytest.approx(published, abs=1e-10)


@given(mechanism=mechanisms())
def test_nothing_below_the_cut_is_published(mechanism):
    values = np.arange(-5, 25) if mechanism.integers else np.linspace(-5, 25, 61)
    logs = mechanism.response(9).logprob(values)
    half = 0.5 if mechanism.cuts_before_rounding else 0.0
    for value, logp in zip(values, logs, strict=True):
        if not mechanism.passes(value + half):
            assert logp == -np.inf


def test_the_three_responses_of_the_report():
    mechanism = second_algorithm(scale=1.0)
    suppressed = [math.exp(mechanism.response(c).log_suppressed) for c in (0, 17, 20)]
    assert suppressed == pytest.approx([1.0, 1 - math.exp(-1) / 2, math.exp(-2) / 2], rel=1e-14)


def test_responses_agree_with_a_simulation():
    rng = np.random.default_rng(3)
    for cut, rule in (("before", "gt"), ("after", "ge")):
        mechanism = Mechanism(law=Laplace(1.4), threshold=18, rule=rule, rounding="nearest", cut=cut)
        noisy = 18 + rng.laplace(scale=1.4, size=400_000)
        seen = np.rint(noisy)[noisy > 18] if cut == "before" else np.rint(noisy)[np.rint(noisy) >= 18]
        for value in (18, 19, 23):
            p = math.exp(mechanism.response(18).logprob(value))
            assert abs((seen == value).sum() / 400_000 - p) < 6 * math.sqrt(p / 400_000)


@pytest.mark.parametrize(
    ("group", "above", "at_least"),
    [(1, 2.663e-6, 3.806e-6), (5, 4.637e-5, 6.627e-5), (12, 6.882e-3, 9.836e-3)],
)
def test_detection_under_both_conventions(group, above, at_least):
    assert detection(second_algorithm(), group) == pytest.approx(above, rel=2e-4)
    assert detection(second_algorithm(rule="ge", rounding="nearest"), group) == pytest.approx(
        at_least, rel=2e-4
    )


def test_nothing_is_proof_when_zeros_get_unbounded_noise():
    assert detection(corrected(), 17) == 0
    assert detection(corrected(rounding="nearest"), 17) == 0


def test_bounded_noise_is_proof_even_with_zeros_perturbed():
    mechanism = Mechanism(law=make_law("uniform", scale=3), zeros="perturb")
    assert detection(mechanism, 2) == pytest.approx(2 / 7)
    assert detection(mechanism, 7) == pytest.approx(1)


def test_keeping_zeros_without_a_cut_gives_everything_away():
    bare = Mechanism(law=Laplace(1.4), threshold=None, zeros="keep")
    assert float(delta(bare, 50.0)) == 1.0
    assert verdict(bare)[0] == "none"


def test_verdicts():
    assert verdict(corrected())[0] == "pure"
    assert verdict(second_algorithm())[0] == "approximate"
    assert "2.663e-06" in verdict(second_algorithm())[1]
    assert verdict(Mechanism(law=make_law("gaussian", scale=5), zeros="perturb"))[0] == "approximate"
    assert verdict(Mechanism(law=make_law("random-rounding", scale=5), zeros="perturb"))[0] == "none"


@given(mechanism=mechanisms(), first=st.floats(0, 3), more=st.floats(0, 3))
def test_delta_never_grows_with_epsilon(mechanism, first, more):
    at = delta(mechanism, [first, first + more])
    assert at[1] <= at[0] + 1e-13
    assert 0 <= at[1] <= at[0] + 1e-13 <= 1 + 1e-12


def test_stability_histogram_keeps_its_promise():
    mechanism = stability_histogram(epsilon=0.5, delta=1e-6)
    assert float(delta(mechanism, 0.5)) <= 1e-6
    tighter = Mechanism(law=mechanism.law, threshold=mechanism.threshold - 1, rule="ge", zeros="keep")
    assert float(delta(tighter, 0.5)) > 1e-6


def test_replacement_moves_two_counts():
    mechanism = Mechanism(law=DiscreteLaplace(1.4), zeros="perturb")
    assert epsilon(mechanism, 0.0, neighbours="replace") == pytest.approx(2 / 1.4)


def test_description_names_every_part():
    assert describe(second_algorithm()) == {
        "law": "laplace",
        "scale": 1.4,
        "threshold": 18,
        "rule": "gt",
        "rounding": "none",
        "cut": "after",
        "zeros": "keep",
    }


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"threshold": -1}, "threshold must be a finite number of at least 0, got -1."),
        ({"threshold": math.nan}, "threshold must be a finite number of at least 0, got nan."),
        ({"rule": "lt"}, "rule must be one of gt, ge, got 'lt'."),
        ({"zeros": "kep"}, "zeros must be one of keep, perturb, show, got 'kep'. Did you mean 'keep'?"),
        ({"rounding": "up"}, "rounding must be one of none, nearest, got 'up'."),
        ({"cut": "later"}, "cut must be one of before, after, got 'later'. Did you mean 'after'?"),
        ({"law": "laplace"}, "law must be a noise law, got 'laplace'."),
    ],
)
def test_bad_parameters_say_what_is_allowed(change, sentence):
    with pytest.raises(SpecError) as caught:
        Mechanism(**{"law": Laplace(1.4), **change})
    assert str(caught.value) == sentence


def test_bad_questions_say_what_is_allowed():
    for call in (
        lambda: delta(corrected(), -1),
        lambda: delta(corrected(), math.nan),
        lambda: delta(corrected(), 1, neighbours="swap"),
        lambda: delta(corrected(), 1, change=0),
        lambda: detection(corrected(), 0),
        lambda: epsilon(corrected(), 1.5),
        lambda: corrected().response(-1),
        lambda: corrected().response(1.5),
    ):
        with pytest.raises(SpecError, match="must be"):
            call()


@pytest.mark.parametrize("law", [stats.norm, stats.laplace], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("threshold", [1, 3.2, 5])
@pytest.mark.parametrize("change", [1, 2])
@pytest.mark.parametrize("eps", [0.1, 1.0])
def test_delta_of_a_cut_before_rounding_is_that_of_the_worst_pair_empty_cells_among_them(
    law, threshold, change, eps
):
    noise = law(scale=0.9)
    values = np.arange(-60, 90)

    def outcomes(count):
        low = np.maximum(values - 0.5, threshold)
        shown = noise.cdf(np.maximum(values + 0.5, low) - count) - noise.cdf(low - count)
        return np.append(shown, noise.cdf(threshold - count))

    def gap(one, other):
        return np.maximum(outcomes(one) - math.exp(eps) * outcomes(other), 0).sum()

    worst = max(max(gap(c, c + change), gap(c + change, c)) for c in range(40))
    name = "gaussian" if law is stats.norm else "laplace"
    mechanism = Mechanism(
        law=make_law(name, scale=0.9), threshold=threshold, rounding="nearest", cut="before", zeros="perturb"
    )
    assert float(delta(mechanism, eps, change=change)) == pytest.approx(worst, rel=1e-9)
