"""The informed prior: what it recovers, what it leaves out, what it refuses."""

import numpy as np
import pytest

from noisegate.errors import DataError, SpecError
from noisegate.inference import (
    Identities,
    Intensities,
    Problem,
    Sums,
    as_codes,
    crossed,
    fit_prior,
    infer,
)
from noisegate.inference.linked.dispersion import _log_evidence
from noisegate.inference.linked.effects import _gamma_shape
from noisegate.testing import ModePlan, recipe_2016, simulate_tables


@pytest.fixture(scope="module")
def week():
    """Two modes: one regular, one whose stops have times of their own."""
    plans = [ModePlan(stops=30, taps=900.0, habit=1e6), ModePlan(stops=30, taps=900.0, habit=2.0, shape=20.0)]
    return simulate_tables(plans, days=6, rng=np.random.default_rng(8))


@pytest.fixture(scope="module")
def fitted(week):
    return fit_prior(week.problem, effects=week.effects, groups=week.mode)


def test_dispersion_is_recovered_for_each_group(fitted):
    assert fitted.dispersion[0] == pytest.approx(1 / 8, rel=0.3)
    assert fitted.dispersion[1] == pytest.approx(1 / 20, rel=0.6)
    assert (fitted.zero_share < 0.03).all()


def test_intensities_are_recovered_where_nothing_was_published(week, fitted):
    """Suppressed cells of the regular mode: within a tenth of the truth, up to small means."""
    cells = week.suppressed & (week.mode == 0) & (week.intensity > 1)
    errors = np.log(fitted.prior.mean[cells] / week.intensity[cells])
    assert np.std(errors) < 0.2
    assert abs(np.mean(errors)) < 0.05


def test_closed_stops_have_mean_zero(week, fitted):
    assert (fitted.prior.mean[week.problem.zeros] == 0).all()


def test_margins_improve_the_fit(week, fitted):
    """Without the totals the attacker cannot tell quiet stops from empty ones."""
    without = fit_prior(week.base_only, effects=week.effects, groups=week.mode)
    hidden = week.suppressed
    error = [
        np.abs(infer(problem, prior=fit.prior).mean - week.counts)[hidden].mean()
        for problem, fit in ((week.problem, fitted), (week.base_only, without))
    ]
    assert error[0] < 0.85 * error[1]


def test_fit_is_repeatable_and_reports_progress(week):
    rounds = []
    first = fit_prior(
        week.problem, effects=week.effects, rounds=2, progress=lambda done, of: rounds.append((done, of))
    )
    second = fit_prior(week.problem, effects=week.effects, rounds=2, threads=1)
    np.testing.assert_array_equal(first.prior.mean, second.prior.mean)
    assert rounds == [(1, 2), (2, 2)]
    assert (first.rounds, first.change > 0) == (2, True)


def test_true_zeros_are_found_by_their_share():
    """One cell in four is empty for a reason of its own, at means where few would be by chance."""
    rng = np.random.default_rng(4)
    rows, columns = 40, 60
    row, column = np.divmod(np.arange(rows * columns), columns)
    mean = 25 * rng.gamma(8, 1 / 8, rows)[row] * rng.gamma(8, 1 / 8, columns)[column]
    counts = np.where(rng.random(len(mean)) < 0.25, 0, rng.poisson(mean))
    noisy = counts + rng.laplace(0, 1.4, len(counts))
    shown = np.where((noisy > 18) & (counts > 0), np.rint(noisy), np.nan)
    problem = Problem(cells=len(mean), tables=(Sums.of_cells(shown, mechanism=recipe_2016(threshold=18)),))
    fit = fit_prior(problem, effects=crossed(row=row, column=column))
    assert fit.zero_share[0] == pytest.approx(0.25, abs=0.04)
    posterior = infer(problem, prior=fit.prior)
    hidden = np.isnan(shown) & (mean > 30)
    assert np.mean(posterior.p_zero[hidden]) == pytest.approx(np.mean(counts[hidden] == 0), abs=0.08)


def test_effects_that_say_nothing_new_are_left_out():
    """One day: its effect, and the pairs with it, are others over again; single cells are not effects."""
    row, column = np.divmod(np.arange(12), 4)
    effects = crossed(row=row, column=column, day=np.zeros(12))
    kept = Intensities.of(list(effects), np.zeros(12, dtype=np.int64), np.ones(12)).effects
    assert [effect.levels for effect in kept] == [3, 4]


def test_equal_cells_are_fitted_once():
    mechanism = recipe_2016(threshold=18)
    values = np.tile([30.0, np.nan, 45.0, np.nan], 5)
    problem = Problem(
        cells=20,
        tables=(Sums.of_cells(values, mechanism=mechanism),),
        identities=(Identities.between_cells([0, 1], [2, 3]),),
    )
    prior = fit_prior(problem, effects=[np.arange(20) // 4, np.arange(20) % 4], rounds=2).prior
    assert prior.mean[0] == prior.mean[2]
    assert prior.mean[1] == prior.mean[3]


def test_refusals():
    mechanism = recipe_2016(threshold=18)
    problem = Problem(cells=2, tables=(Sums.of_cells([30.0, np.nan], mechanism=mechanism),))
    with pytest.raises(SpecError, match="one for each of 2 cells"):
        fit_prior(problem, effects=[[0, 1, 2]])
    closed = Problem(cells=1, tables=(), structural_zero=[True])
    with pytest.raises(DataError, match="nothing to fit"):
        fit_prior(closed, effects=[[0]])


@pytest.mark.parametrize("shape", [0.05, 1.0, 30.0, 5e4])
def test_gamma_shape_inverts_its_statistic(shape):
    from scipy import special

    statistic = 1 + np.log(shape) - special.digamma(shape)
    assert _gamma_shape(float(statistic)) == pytest.approx(shape, rel=1e-3)


def test_gamma_shape_has_ends():
    assert _gamma_shape(1.0) == 1e6
    assert _gamma_shape(1e4) == 1e-2


def test_predictive_evidence_is_that_of_scipy():
    from scipy import stats

    low, start = np.array([0, 40]), np.array([0, 6, 12])
    p = np.linspace(0.2, 1.0, 12).astype(np.float32)
    mean, shape, share = np.array([2.0, 44.0]), np.array([1.5, 9.0]), 0.1
    expected = 0.0
    for i in range(2):
        z = low[i] + np.arange(6)
        law = (1 - share) * stats.nbinom.pmf(z, shape[i], shape[i] / (shape[i] + mean[i])) + share * (z == 0)
        expected += np.log(law @ p[start[i] : start[i + 1]])
    assert _log_evidence(low, start, p, mean, shape, share) == pytest.approx(expected, rel=1e-6)


def test_codes_of_words():
    assert as_codes(["b", "a", "b"]).tolist() == [1, 0, 1]
