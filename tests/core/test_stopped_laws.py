"""Laws that fall off like one without a bound and stop: against plain sums, and what is left open of them."""

import numpy as np
import pytest

from noisegate.laws import make_law
from noisegate.recovery import NoiseSums, half_of, open_stop, stopped, stopped_laws

LAWS = [("discrete-laplace", 1.4), ("rounded-laplace", 2.0), ("discrete-gaussian", 3.0)]


def masses(name, scale, bound, ending):
    """P(-bound), ..., P(bound), by the definition."""
    steps = np.arange(-400, 401)
    whole = np.exp(make_law(name, scale=scale).logpmf(steps))
    inside = np.where(np.abs(steps) <= bound, whole, 0.0)
    if ending == "cut":
        inside /= inside.sum()
    else:
        inside[steps == bound] += whole[steps > bound].sum()
        inside[steps == -bound] += whole[steps < -bound].sum()
    return inside[np.abs(steps) <= bound]


@pytest.mark.parametrize("ending", ["cut", "edge"])
@pytest.mark.parametrize(("name", "scale"), LAWS)
def test_the_masses_are_those_of_the_definition_and_add_up_to_one(name, scale, ending):
    half = stopped(half_of(make_law(name, scale=scale)), 7, ending=ending)
    assert half.size == 8
    assert half[0] + 2 * half[1:].sum() == pytest.approx(1, abs=1e-12)
    assert np.concatenate([half[:0:-1], half]) == pytest.approx(masses(name, scale, 7, ending), rel=1e-9)


@pytest.mark.parametrize("noises", [1, 2, 3])
@pytest.mark.parametrize("ending", ["cut", "edge"])
def test_the_likelihood_of_sums_is_that_of_plain_convolution(ending, noises):
    residual = np.array([0, 1, -1, 3, 5, -6, 2, 0, 7])
    law = masses("discrete-laplace", 1.7, 7, ending)
    whole = law
    for _ in range(noises - 1):
        whole = np.convolve(whole, law)
    expected = np.log(whole[residual + 7 * noises]).sum()
    half = stopped(half_of(make_law("discrete-laplace", scale=1.7)), 7, ending=ending)
    sums = NoiseSums.of(residual, np.full(residual.size, noises))
    assert sums.log_likelihood(half) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("ending", ["cut", "edge"])
@pytest.mark.parametrize(("name", "scale"), LAWS)
def test_far_out_it_is_the_whole_law(name, scale, ending):
    whole = half_of(make_law(name, scale=scale))
    apart = [
        np.abs(np.pad(stopped(whole, bound, ending=ending), (0, whole.size))[: whole.size] - whole).sum()
        for bound in (4, 8, 12, 20)
    ]
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 1e-3
    assert stopped(whole, 2 * whole.size, ending=ending)[: whole.size] == pytest.approx(whole, abs=1e-14)


def drawn(rng, n, noises, *, scale, bound=None):
    stop = 1 - np.exp(-1 / scale)
    found = rng.geometric(stop, (20 * n, noises)) - rng.geometric(stop, (20 * n, noises))
    if bound is not None:
        found = found[(np.abs(found) <= bound).all(axis=1)]
    return found[:n].sum(axis=1)


def sums_of(seed, n, noises, **law):
    residual = drawn(np.random.default_rng(seed), n, noises, **law)
    return NoiseSums.of(residual, np.full(n, noises))


@pytest.mark.parametrize("ending", ["cut", "edge"])
def test_each_bound_has_its_likeliest_scale(ending):
    sums = sums_of(1, 2000, 2, scale=2.0, bound=10)
    found = stopped_laws("discrete-laplace", 1.95, sums, ending=ending)
    assert [one.bound for one in found] == sorted((one.bound for one in found), reverse=True)
    assert found[0].left_out < 0.002
    assert all(0.0005 < one.left_out < 0.05 for one in found)
    for one in found:
        tried = [
            sums.log_likelihood(
                stopped(half_of(make_law("discrete-laplace", scale=s)), one.bound, ending=ending)
            )
            for s in one.scale * np.exp(np.linspace(-0.2, 0.2, 81))
        ]
        assert one.log_likelihood == pytest.approx(max(tried), abs=0.02)
        assert sums.log_likelihood(one.half) == pytest.approx(one.log_likelihood, abs=0.02)


def test_noise_that_stops_is_left_open_and_a_large_sample_of_the_whole_law_leaves_nothing_that_counts():
    sums = sums_of(2, 1000, 2, scale=2.0, bound=10)
    whole = max(
        sums.log_likelihood(half_of(make_law("discrete-laplace", scale=s))) for s in np.linspace(1.6, 2.2, 61)
    )
    found = open_stop("discrete-laplace", 1.95, sums, whole - 3)
    assert found is not None
    assert found.counts
    assert found.bound <= 10
    sums = sums_of(3, 20_000, 2, scale=2.0)
    whole = sums.log_likelihood(half_of(make_law("discrete-laplace", scale=2.0)))
    found = open_stop("discrete-laplace", 2.0, sums, whole - 3)
    assert found is None or not found.counts
