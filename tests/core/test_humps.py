"""Counts of several humps: they are found where they are, not elsewhere, and their law is what it says."""

import numpy as np
import pytest
from scipy import special, stats

from noisegate.errors import SpecError
from noisegate.inference import HiddenWidth, Humps, NegativeBinomial, Problem, Sums, infer
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import publish_case


def humps_of(case, seed, *, way="as in 2016"):
    engine = publish_case(case, way, rng=np.random.default_rng([77, seed]), rows=24, columns=16).engine()
    prior = engine.prior(np.arange(engine.evidence.layout.size))
    return engine, prior.humps


@pytest.mark.parametrize("case", ["poisson", "negative binomial"])
def test_size_one_hump_is_left_alone(case):
    for seed in range(4):
        engine, humps = humps_of(case, seed)
        assert not humps
        assert "shape of counts" not in [check.name for check in engine.checks]


def test_power_two_humps_are_found():
    for seed in range(4):
        engine, (humps,) = humps_of("two-humped", seed)
        (check,) = [one for one in engine.checks if one.name == "shape of counts"]
        low, high = check.numbers["at"]
        assert low == pytest.approx(2.0, abs=0.8)
        assert high == pytest.approx(30.0, abs=1.5)
        assert humps.plain < 0.05


def test_power_vehicles_that_did_not_run_and_counts_that_hardly_vary():
    for seed in range(4):
        _, (humps,) = humps_of("full or empty", seed, way="independent")
        assert humps.share[humps.factor < 0.05].sum() > 0.3
    narrow = [humps_of("fixed", seed)[1] for seed in range(4)]
    assert sum(bool(one) and one[0].narrow for one in narrow) >= 3


@pytest.mark.parametrize("case", ["full or empty", "fixed", "uniform"])
def test_humps_that_lie_together_are_said_once(case):
    for seed in range(4):
        engine, _ = humps_of(case, seed, way="independent")
        for check in engine.checks:
            if check.name == "shape of counts":
                assert (np.diff(np.log(check.numbers["at"])) > 0.15).all()


def to_a_power(power, mean, *, size=400):
    x = np.arange(size)
    found = np.exp(power * (x * np.log(mean + 0.5 * (1 - 1 / power)) - special.gammaln(x + 1)))
    return found / found.sum()


@pytest.mark.parametrize("mean", [4.0, 12.0, 20.0])
def test_counts_with_a_capacity_vary_as_a_binomial_law_does(mean):
    law, x = to_a_power(1 / (1 - mean / 28), mean), np.arange(400)
    assert law @ x == pytest.approx(mean, rel=0.01)
    assert law @ (x - mean) ** 2 == pytest.approx(28 * (mean / 28) * (1 - mean / 28), rel=0.03)


def test_how_hidden_counts_vary_by_humps_alone():
    """Of counts that may have a capacity of 28 or not, hidden below 18."""
    made = Mechanism(law=DiscreteLaplace(1.5), threshold=18, rule="ge", zeros="perturb")
    one = np.ones(2)
    humps = Humps(
        plain=0.0,
        stray=0.0,
        share=np.array([0.3, 0.7]),
        factor=one,
        power=one,
        dispersion=np.array([0.0, -1 / 28]),
        temper=16 * one,
    )
    x = np.arange(400)
    hidden = np.exp(made.log_likelihood(np.full(400, np.nan), x))
    for mean in (4.0, 16.0, 27.5):
        found = HiddenWidth.of(humps, np.array([mean, 4.0, 27.5]), made)
        power = min(1 / (1 - mean / 28), 16)
        laws = np.array([0.3 * to_a_power(16, mean), 0.7 * to_a_power(power, mean)]) * hidden
        assert found.capped[0] == pytest.approx(laws[1].sum() / laws.sum(), rel=0.02)
        for said, law in ((found.narrow[0], laws[0]), (found.wide[0], laws[1])):
            chance = law / law.sum()
            assert said == pytest.approx(chance @ x**2 - (chance @ x) ** 2, rel=0.02)


def test_the_law_of_humps_is_what_it_says():
    """One cell whose value is hidden has its prior times the chance to be hidden."""
    made = Mechanism(law=DiscreteLaplace(1.5), threshold=9, rule="ge", zeros="perturb")
    humps = Humps(
        plain=0.2,
        stray=0.01,
        share=np.array([0.3, 0.25, 0.15, 0.1]),
        factor=np.array([0.4, 7.0, 1.5, 2.0]),
        power=np.array([1.0, 0.0, 0.5, 1.0]),
        dispersion=np.array([0.0, 0.2, 0.0, -1 / 28]),
        temper=np.array([1.0, 1.0, 8.0, 8.0]),
    )
    prior = NegativeBinomial(
        mean=np.array([6.0]),
        shape=np.array([2.0]),
        zero_share=np.array([0.02]),
        stray_share=np.array([0.01]),
        humps=(humps,),
        hump_of=np.array([0]),
    )
    hidden = Sums.of_cells(np.array([np.nan]), mechanism=made, name="base")
    found = infer(Problem(cells=1, tables=(hidden,)), prior=prior, keep=True)
    x = np.arange(400)
    law = 0.97 * (
        0.2 * stats.nbinom(2.0, 2 / 8).pmf(x)
        + 0.3 * stats.poisson(2.4).pmf(x)
        + 0.25 * stats.nbinom(5.0, 5 / 12).pmf(x)
        + 0.15 * to_a_power(8.0, 1.5 * 6**0.5)
        + 0.1 * to_a_power(28 / 16, 12.0)
    )
    law += 0.01 * stats.nbinom(1.0, 1 / 7).pmf(x) + 0.02 * (x == 0)
    law *= np.exp(made.log_likelihood(np.full(400, np.nan), x))
    law /= law.sum()
    assert found.p_zero[0] == pytest.approx(law[0], rel=1e-6)
    assert found.mean[0] == pytest.approx(law @ x, rel=1e-6)
    assert found.sd[0] ** 2 == pytest.approx(law @ x**2 - (law @ x) ** 2, rel=1e-5)


def test_shares_that_are_none_are_refused():
    one = np.ones(1)
    with pytest.raises(SpecError, match="shares of humps"):
        Humps(plain=0.5, stray=0.0, share=one, factor=one, power=one, dispersion=0 * one, temper=one)
    with pytest.raises(SpecError, match="factors"):
        Humps(plain=0.0, stray=0.0, share=one, factor=-one, power=one, dispersion=0 * one, temper=one)
