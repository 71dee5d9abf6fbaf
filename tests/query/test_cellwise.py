"""Laws of many cells at once: against brute force, against the engine for linked tables, against draws."""

import numpy as np
import pytest
from scipy import stats

from noisegate.inference import (
    NegativeBinomial,
    NoisySums,
    Problem,
    Sums,
    cell_laws,
    fit_profile,
    infer,
    suits,
)
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism

NOISE = DiscreteLaplace(2.0)


def cut(zeros="perturb", least=10):
    return Mechanism(law=NOISE, threshold=least, rule="ge", zeros=zeros)


def brute_force(value, mechanism, mean, shape, share):
    counts = np.arange(600)
    prior = (1 - share) * stats.nbinom.pmf(counts, shape, shape / (shape + mean)) + share * (counts == 0)
    law = prior * np.exp(mechanism.log_likelihood(value, counts))
    return counts, law / law.sum()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4])
@pytest.mark.parametrize("zeros", ["perturb", "keep"])
def test_a_law_is_prior_times_likelihood(zeros, share):
    mechanism = cut(zeros)
    values = np.array([np.nan, np.nan, np.nan, 10, 14, 60, 300])
    prior = NegativeBinomial(
        mean=np.array([0.01, 2, 300, 0.5, 20, 80, 20]),
        shape=np.array([0.5, 3, 8, 1, 200, 4, 2.0]),
        zero_share=np.full(1, share),
    )
    found = cell_laws(values, mechanism=mechanism, prior=prior)
    laws = found.pmfs(np.arange(len(values)))
    for i, value in enumerate(values):
        counts, law = brute_force(value, mechanism, prior.mean[i], prior.shape[i], share)
        mean = law @ counts
        assert found.mean[i] == pytest.approx(mean, abs=2e-3, rel=2e-4)
        assert found.variance[i] == pytest.approx(law @ (counts - mean) ** 2, abs=0.01, rel=2e-3)
        assert found.third[i] == pytest.approx(law @ (counts - mean) ** 3, abs=0.2, rel=0.02)
        first, mass = int(laws.low[i]), laws.one(i)
        assert mass == pytest.approx(law[first : first + len(mass)], abs=1e-5)


def test_wide_sums_move_cells_as_the_engine_for_linked_tables_says():
    rng = np.random.default_rng(4)
    rows, columns = 60, 50
    mean = np.exp(rng.normal(0.5, 1.0, rows * columns))
    raw = rng.negative_binomial(4, 4 / (4 + mean))
    code = np.repeat(np.arange(rows), columns)
    noisy = raw + rng.geometric(1 - np.exp(-0.5), raw.size) - rng.geometric(1 - np.exp(-0.5), raw.size)
    values = np.where(noisy >= 10, noisy, np.nan)
    totals = np.bincount(code, weights=raw) + rng.integers(-4, 5, rows)
    prior = NegativeBinomial(mean=mean, shape=np.full(raw.size, 4.0), zero_share=np.zeros(1))
    margin = Mechanism(law=DiscreteLaplace(3.0), zeros="perturb")
    sums = NoisySums(
        codes=code, seen=totals, variance=np.full(rows, margin.law.variance), side=np.zeros(rows, np.int8)
    )
    alone = cell_laws(values, mechanism=cut(), prior=prior)
    found = cell_laws(values, mechanism=cut(), prior=prior, sums=[sums])
    exact = infer(
        Problem(
            cells=raw.size,
            tables=(Sums.of_cells(values, mechanism=cut()), Sums.by(code, totals, mechanism=margin)),
        ),
        prior=prior,
    )
    off = np.abs(np.bincount(code, weights=found.mean - exact.mean))
    moved = np.abs(np.bincount(code, weights=alone.mean - exact.mean))
    assert off.max() < 2.0
    assert off.mean() < 0.1 * moved.mean()
    assert np.abs(found.mean - exact.mean).max() < 0.6


def test_noise_just_above_the_threshold_is_not_taken_for_travel():
    """Nothing was there: one value in a hundred is shown, and intensities stay near nothing all the same."""
    rng = np.random.default_rng(6)
    mechanism = cut(least=8)
    noise = rng.geometric(1 - np.exp(-0.5), 20_000) - rng.geometric(1 - np.exp(-0.5), 20_000)
    values = np.where(noise >= 8, noise, np.nan)
    assert 100 < np.isfinite(values).sum() < 400
    rows, columns = np.divmod(np.arange(20_000), 100)
    fit = fit_profile(values, [rows, columns], mechanism=mechanism, mains=2)
    assert fit.prior.mean.mean() < 0.8


def test_slopes_that_are_carried_on_lead_to_the_same_intensities(monkeypatch):
    """Of very many cells slopes are worked out once a sweep: levels end up where they would, beside what they are unsure by."""
    rng = np.random.default_rng(8)
    mean = np.exp(rng.normal(2.5, 0.7, 60))[:, None] * np.exp(rng.normal(0, 0.5, 40))[None, :]
    counts = rng.poisson(mean)
    values = np.where(counts >= 10, counts, np.nan).astype(float).ravel()
    rows, columns = np.divmod(np.arange(values.size), 40)
    plain = fit_profile(values, [rows, columns], mechanism=cut(), mains=2).mean
    monkeypatch.setattr("noisegate.inference.profile.profile._MANY_CELLS", 0)
    carried = fit_profile(values, [rows, columns], mechanism=cut(), mains=2).mean
    assert not np.array_equal(plain, carried)
    assert np.sqrt(np.mean(np.log(carried / plain) ** 2)) < 0.03


def test_laws_that_depend_on_fractions_are_left_to_others():
    assert suits(cut())
    assert not suits(Mechanism(law=NOISE, zeros="perturb"))
