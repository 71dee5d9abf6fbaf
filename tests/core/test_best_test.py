"""An attacker's certainty against the same game played out, against listed outcomes, and against the figure that was printed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomRounding,
    RoundedLaplace,
)
from noisegate.mechanisms import (
    Contribution,
    LossAtoms,
    Mechanism,
    certainty,
    envelope,
    statement,
    success_bound,
)


def middle(mechanism, *, cells=1, change=1, **said):
    found = certainty([Contribution(mechanism=mechanism, cells=cells, change=change)], **said)
    assert 0.5 <= found.lower <= found.upper <= 1
    assert found.upper - found.lower < 0.001
    return (found.lower + found.upper) / 2


def played_out(law, *, most, games, prior=0.5, rng):
    """For 1 to `most` events known, how often the likelihood ratio is right: the mean, over what is shown, of its chance then."""
    density = law.logpmf if law.lattice else law.logpdf
    right, done = np.zeros(most), 0
    while done < games:
        n = min(20_000, games - done)
        inside = rng.random(n) < prior
        shown = law.sample(n * most, rng=rng).reshape(n, most) + inside[:, None]
        ratio = np.cumsum(density(shown - 1) - density(shown), axis=1) + math.log(prior / (1 - prior))
        right += (1 / (1 + np.exp(-np.abs(ratio)))).sum(axis=0)
        done += n
    return right / games


def test_google_flows_are_as_bad_as_was_printed():
    """Houssiau, Rocher, de Montjoye, Nature Communications 13:29 (2022): 95.4 % for 32 trips a week, where 16 % gain were claimed."""
    flows = Mechanism(law=Laplace(1 / 0.66), zeros="perturb")
    assert middle(flows, cells=32) == pytest.approx(0.954, abs=0.0015)
    assert middle(flows, cells=32) == pytest.approx(0.95522, abs=2e-5)  # exact; theirs was played out
    assert success_bound(0.66) - 0.5 == pytest.approx(0.16, abs=0.005)  # the claim, true of one trip only
    assert middle(flows) == pytest.approx(1 - math.exp(-0.33) / 2, abs=1e-6)


@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_one_to_a_hundred_trips_are_as_often_right_as_when_played_out(prior):
    law = Laplace(1 / 0.66)
    seen = played_out(law, most=100, games=300_000, prior=prior, rng=np.random.default_rng(3))
    ours = [middle(Mechanism(law=law, zeros="perturb"), cells=k, prior=prior) for k in range(1, 101)]
    assert np.abs(seen - ours).max() < 0.001
    # The test has power: noise that is 2 % wider would be told.
    wider = [
        middle(Mechanism(law=Laplace(1.02 / 0.66), zeros="perturb"), cells=k, prior=prior)
        for k in (1, 10, 20)
    ]
    assert np.abs(seen[[0, 9, 19]] - wider).max() > 0.001


@pytest.mark.parametrize(
    "law",
    [DiscreteLaplace(2.0), Gaussian(2.5), DiscreteGaussian(2.5), RoundedLaplace(2.0)],
    ids=lambda law: law.name,
)
def test_other_laws_too(law):
    seen = played_out(law, most=60, games=100_000, rng=np.random.default_rng(5))
    ours = [middle(Mechanism(law=law, zeros="perturb"), cells=k) for k in range(1, 61)]
    assert np.abs(seen - ours).max() < 0.002


def listed(mechanism, *, cells, change, others, prior):
    """The success of the best test by listing every outcome of every cell."""
    values = np.arange(others - 60, others + change + 61)
    with_, without = (mechanism.response(others + more) for more in (change, 0))
    p, q = (np.exp(np.append(one.logprob(values), one.log_suppressed)) for one in (with_, without))
    both = [p * prior, q * (1 - prior)]
    for _ in range(cells - 1):
        both = [np.outer(both[0], p).ravel(), np.outer(both[1], q).ravel()]
    return float(np.maximum(*both).sum())


@pytest.mark.parametrize("zeros", ["keep", "perturb"])
@pytest.mark.parametrize(
    "law",
    [DiscreteLaplace(1.4), RoundedLaplace(1.4), DiscreteGaussian(1.2), RandomRounding(3)],
    ids=lambda law: law.name,
)
def test_near_a_threshold_it_is_what_listing_gives(law, zeros):
    mechanism = Mechanism(law=law, threshold=6, rule="ge", zeros=zeros)
    for others, cells, change, prior in itertools.product((0, 5, 20), (1, 2), (1, 3), (0.5, 0.9)):
        found = certainty(
            [Contribution(mechanism=mechanism, cells=cells, change=change)], prior=prior, others=others
        )
        truth = listed(mechanism, cells=cells, change=change, others=others, prior=prior)
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
        assert found.upper - found.lower < 0.001


@pytest.mark.parametrize("law", [Laplace(1.4), Gaussian(1.2)], ids=lambda law: law.name)
@pytest.mark.parametrize("others", [1, 5, 6, 20])
def test_continuous_noise_near_a_threshold(law, others):
    """One cell, by integrating the larger of two densities on a fine grid."""
    mechanism = Mechanism(law=law, threshold=6.0, zeros="perturb")
    y = np.linspace(6, 80, 2_000_001)
    p, q = (np.exp(law.logpdf(y - others - more)) for more in (2, 0))
    hidden = [math.exp(law.logcdf(6.0 - others - more)) for more in (2, 0)]
    for prior in (0.5, 0.2, 0.9):
        truth = np.trapezoid(np.maximum(prior * p, (1 - prior) * q), y) + max(
            prior * hidden[0], (1 - prior) * hidden[1]
        )
        assert middle(mechanism, change=2, others=others, prior=prior) == pytest.approx(truth, abs=1e-4)


def test_the_worst_case_is_at_least_every_case():
    for law, zeros in itertools.product((DiscreteLaplace(1.4), RandomRounding(5)), ("keep", "perturb")):
        mechanism = Mechanism(law=law, threshold=4, zeros=zeros)
        for cells in (1, 7):
            made = [Contribution(mechanism=mechanism, cells=cells)]
            worst = certainty(made)
            cases = [certainty(made, others=others) for others in range(12)]
            assert max(one.lower for one in cases) <= worst.upper + 1e-9
            assert max(one.upper for one in cases) >= worst.lower - 1e-3


def test_an_envelope_dominates_and_is_no_wider_than_it_must():
    losses = [
        LossAtoms(loss=np.array([math.log(0.5)]), mass=np.array([2 / 3]), infinite=1 / 3),
        LossAtoms(loss=np.array([math.log(0.5), math.log(2.0)]), mass=np.array([1 / 3, 2 / 3])),
        LossAtoms(loss=np.array([math.log(1.5)]), mass=np.array([1.0])),
    ]
    joined = envelope(losses, step=1e-3)
    at = np.linspace(-2, 2, 401)
    most = np.max([one.delta(at) for one in losses], axis=0)
    assert (joined.delta(at) >= most - 1e-12).all()
    assert (joined.delta(at) <= most + 1e-3).all()


def test_trips_in_one_cell_show_more_than_trips_apart():
    mechanism = Mechanism(law=DiscreteLaplace(10.0), zeros="perturb")
    for k in (2, 5, 20):
        assert middle(mechanism, change=k) > middle(mechanism, cells=k)


def test_what_is_told_beside_adds_to_it():
    assert certainty([], beside=0.66).upper == pytest.approx(success_bound(0.66), abs=1e-6)
    made = [Contribution(mechanism=Mechanism(law=Laplace(1.0), zeros="perturb"), cells=1)]
    assert certainty(made).upper < certainty(made, beside=0.5).upper < success_bound(1.5) + 1e-9


def test_certainty_never_passes_what_epsilon_allows():
    for epsilon, cells, prior in itertools.product((0.1, 1.0), (1, 3), (0.5, 0.05)):
        mechanism = Mechanism(law=Laplace(cells / epsilon), zeros="perturb")
        made = [Contribution(mechanism=mechanism, cells=cells)]
        assert certainty(made, prior=prior).upper <= success_bound(epsilon, prior=prior) + 1e-9
    assert success_bound(50.0) == 1.0
    assert success_bound(0.0, delta=0.1) == pytest.approx(0.55)


def test_huge_losses_are_certain_and_no_overflow():
    for law in (Gaussian(0.01), Laplace(0.001), DiscreteGaussian(0.3), DiscreteLaplace(0.02)):
        for said in ({}, {"others": 3}):
            made = [Contribution(mechanism=Mechanism(law=law, zeros="perturb"), cells=3, change=50)]
            assert certainty(made, **said).lower > 1 - 1e-6


@pytest.mark.parametrize("said", [{"prior": 0.0}, {"prior": 1.0}, {"others": -1}, {"beside": -1.0}])
def test_what_cannot_be_is_an_error(said):
    with pytest.raises(SpecError):
        certainty([], **said)


def test_a_statement_names_persons_and_takes_other_numbers():
    rows = statement(Mechanism(law=Laplace(1 / 0.66), zeros="perturb"), events=[32], prior=0.5)["certainty"]
    assert [row["who"] for row in rows] == [
        "one event",
        "a day",
        "32 events",
        "a commuter",
        "a heavy traveller",
    ]
    assert all(row["baseline"] == 0.5 for row in rows)
    assert rows[2]["high"] == pytest.approx(0.955, abs=5e-4)
    assert all(row["same_cell_high"] >= row["high"] - 1e-9 for row in rows)
    with pytest.raises(SpecError):
        statement(Mechanism(law=Laplace(1.0)), events=[0])


def test_a_kept_zero_beside_noise_of_any_width():
    """Kept zeros are a long loss beside losses of a millionth: the grid must not have a step for each of these."""
    wide = Mechanism(law=DiscreteLaplace(3e4), rule="ge", zeros="keep")
    found = certainty([Contribution(mechanism=wide, cells=40)])
    assert 0.5 <= found.lower <= found.upper <= 1.0
    perturbed = Mechanism(law=DiscreteLaplace(3e4), rule="ge", zeros="perturb")
    assert certainty([Contribution(mechanism=perturbed, cells=40)]).upper < 0.5001
