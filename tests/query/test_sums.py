"""Laws of sums against brute force, and what cells err together."""

import numpy as np
import pytest
from scipy import stats

from noisegate.errors import SpecError
from noisegate.inference import (
    NegativeBinomial,
    NoisySums,
    SharedError,
    cumulant_intervals,
    fit_profile,
    lattice_law,
    sum_law,
)
from noisegate.laws import DiscreteLaplace, Tabulated
from noisegate.margins import ErrorLaw, ErrorTerm, SumErrors
from noisegate.mechanisms import Mechanism
from noisegate.tables import Dimension, Domain, Margin, Selection

BASE = Domain.product(
    [Dimension(name="time", values=tuple("abcdef")), Dimension(name="stop", values=tuple("123"))]
)


def test_a_sum_is_the_convolution():
    rng = np.random.default_rng(1)
    masses = [rng.dirichlet(np.ones(n)) for n in (4, 7, 1, 12)]
    law = sum_law([2, 0, 5, 1], masses)
    direct = np.ones(1)
    for mass in masses:
        direct = np.convolve(direct, mass)
    assert law.first == 8
    assert law.mass == pytest.approx(direct, abs=1e-14)


def test_a_shared_shift_widens_by_its_variance():
    law = sum_law([10], [np.array([0.2, 0.6, 0.2])], shared_variance=9.0)
    values = law.first + np.arange(len(law.mass))
    mean = float(law.mass @ values)
    assert mean == pytest.approx(11.0, abs=1e-9)
    assert float(law.mass @ (values - mean) ** 2) == pytest.approx(9.4, abs=0.02)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_an_interval_holds_its_level_and_no_more_than_it_must(level):
    mass = stats.nbinom.pmf(np.arange(400), 3, 0.05)
    low, high = sum_law([0], [mass]).interval(level)
    inside = stats.nbinom.cdf(high, 3, 0.05) - stats.nbinom.cdf(low - 1, 3, 0.05)
    assert level <= inside <= level + 0.03


def test_where_zero_is_likely_there_is_no_lower_tail():
    mass = stats.poisson.pmf(np.arange(40), 2.0)
    low, high = sum_law([0], [mass]).interval(0.9)
    assert low == 0
    assert high == stats.poisson.ppf(0.9, 2.0)


def test_cumulants_are_close_to_the_exact_quantiles_of_a_skew_sum():
    shape, p = 40, 0.2
    law = stats.nbinom(shape, p)
    mean, variance, skewness, _ = (float(value) for value in law.stats("mvsk"))
    low, high = cumulant_intervals(
        np.array([mean]), np.array([variance]), np.array([skewness * variance**1.5]), level=0.95
    )
    assert abs(low[0] - law.ppf(0.025)) <= 1
    assert abs(high[0] - law.ppf(0.975)) <= 1


@pytest.mark.parametrize("level", [0, 1, -0.1, "x", True])
def test_strange_levels_are_refused(level):
    with pytest.raises(SpecError, match="level must be between 0 and 1"):
        sum_law([0], [np.ones(1)]).interval(level)


def test_a_combination_of_noises_as_a_law():
    terms = (
        ErrorTerm(coefficient=0.6, copies=2, law=DiscreteLaplace(3.0)),
        ErrorTerm(coefficient=-0.2, copies=5, law=DiscreteLaplace(2.0)),
    )
    error = ErrorLaw(terms=terms)
    law = lattice_law(error)
    assert isinstance(law, Tabulated)
    # Rounding to a neighbouring integer adds at most a quarter to the variance.
    assert error.standard_deviation**2 <= law.variance <= error.standard_deviation**2 + 0.25
    half = error.half_width(0.95)
    assert float(np.exp(law.logsf(half))) <= 0.025 < float(np.exp(law.logsf(half - 1)))


def selection(by=(), **masks):
    chosen = [np.array(masks.get(d.name, np.ones(len(d.labels))), dtype=bool) for d in BASE.dimensions]
    return Selection.of_masks(BASE, chosen, by=by)


def test_cells_are_added_up_by_group():
    values = np.arange(18)
    cells = selection(by=("stop",), time=[1, 1, 0, 0, 0, 1]).groups(BASE)
    expected = values.reshape(6, 3)[[0, 1, 5]].sum(axis=0)
    assert cells.sums(values).tolist() == expected.tolist()
    assert cells.counts().tolist() == [3, 3, 3]
    numbers, groups = cells.numbers()
    assert np.bincount(groups, weights=values[numbers]).tolist() == expected.tolist()
    assert cells.labels(np.array([0, 2])) == {"stop": ["1", "3"]}


@pytest.mark.parametrize("method", ["derive", "reconcile", "independent"])
def test_the_law_of_a_box_is_that_of_simulated_releases(method):
    from noisegate.margins import Measurement, reconcile

    laws = {"base": DiscreteLaplace(2.0), "time": DiscreteLaplace(3.0)}
    errors = SumErrors.of(
        BASE, base="base", margins={"time": Margin.over(BASE, ["time"])}, laws=laws, method=method
    )
    chosen = selection(time=[1, 1, 1, 0, 0, 0])
    tables = errors.tables(chosen)
    table = errors.best_table(tables)
    assert table == {"derive": "base", "reconcile": "time", "independent": "time"}[method]
    (law,) = errors.laws_of(tables[table], table, np.array([0]))
    rng, draws = np.random.default_rng(3), []
    for _ in range(3000):
        base, time = laws["base"].sample(18, rng=rng).reshape(6, 3), laws["time"].sample(6, rng=rng)
        if method == "reconcile":
            parts = [
                Measurement(axes=("time", "stop"), values=base, variance=laws["base"].variance),
                Measurement(axes=("time",), values=time, variance=laws["time"].variance),
            ]
            draws.append(reconcile(parts[0], parts[1:]).base[:3].sum())
        else:
            draws.append(base[:3].sum() if method == "derive" else time[:3].sum())
    assert np.std(draws) == pytest.approx(law.standard_deviation, rel=0.06)


def test_what_is_shared_grows_with_the_number_of_cells():
    cells = 50
    prior = NegativeBinomial(mean=np.full(cells, 4.0), shape=np.full(cells, 1e6), zero_share=np.zeros(1))
    level = np.zeros(cells, np.int64)
    shared = SharedError.of(
        [level], own=[np.array([0.01])], common=[np.zeros(1)], prior=prior, variance=np.full(cells, 4.0)
    )
    every = np.arange(cells)
    one = shared.variance(every[:1], np.zeros(1, np.int64), size=1)[0]
    assert shared.variance(every, np.zeros(cells, np.int64), size=1)[0] == pytest.approx(
        cells**2 * one, rel=1e-5
    )
    apart = shared.variance(every, every, size=cells)
    assert apart.sum() == pytest.approx(cells * one, rel=1e-5)


def test_what_was_never_seen_errs_together():
    prior = NegativeBinomial(mean=np.full(6, 4.0), shape=np.full(6, 1e6), zero_share=np.zeros(1))
    codes = np.array([0, 0, 1, 1, 2, 2])
    shared = SharedError.of(
        [codes],
        own=[np.array([0.01, 0.0, 0.0])],
        common=[np.array([0.0, 1.0, 1.0])],
        prior=prior,
        variance=np.full(6, 4.0),
    )
    assert (shared.common > 0).tolist() == [False, False, True, True, True, True]
    assert (shared.moves[0] > 0).tolist() == [True, True, False, False, False, False]
    assert shared.joint == pytest.approx(16 * np.array([0.01, 0.01, 1.0, 1.0, 1.0, 1.0]), rel=1e-4)


def counts_behind(rng, rate, mechanism):
    truth = rng.poisson(rate)
    noisy = truth + mechanism.law.sample(truth.size, rng=rng).reshape(truth.shape)
    return truth, np.where(noisy >= mechanism.threshold, noisy, np.nan)


def test_intensities_are_found_behind_a_threshold():
    rng = np.random.default_rng(6)
    rate = np.exp(rng.normal(2.2, 0.7, (40, 1)) + rng.normal(0, 0.4, (1, 60)))
    mechanism = Mechanism(law=DiscreteLaplace(2.0), threshold=12, rule="ge", zeros="perturb")
    _, shown = counts_behind(rng, rate, mechanism)
    row, column = (axis.ravel() for axis in np.indices(rate.shape))
    fit = fit_profile(shown.ravel(), [row, column], mechanism=mechanism, mains=2)
    hidden = np.isnan(shown.ravel())
    assert 0.3 < hidden.mean() < 0.9
    assert fit.prior.mean[hidden].sum() == pytest.approx(rate.ravel()[hidden].sum(), rel=0.1)
    assert np.corrcoef(np.log(fit.prior.mean), np.log(rate.ravel()))[0, 1] > 0.95


def test_remainders_tell_what_is_missing_where_nothing_is_shown():
    rng = np.random.default_rng(7)
    rate = np.exp(np.linspace(-2, 1.5, 30))[:, None] * np.ones((1, 50))
    mechanism = Mechanism(law=DiscreteLaplace(2.0), threshold=25, rule="ge", zeros="perturb")
    truth, shown = counts_behind(rng, rate, mechanism)
    row, column = (axis.ravel() for axis in np.indices(rate.shape))
    hidden = np.isnan(shown.ravel())
    sums = np.bincount(row, weights=truth.ravel() * hidden)
    rest = NoisySums(
        codes=np.where(hidden, row, -1), seen=sums, variance=np.full(30, 50.0), side=np.zeros(30, np.int8)
    )
    told = fit_profile(shown.ravel(), [row, column], mechanism=mechanism, mains=2, remainders=[rest])
    blind = fit_profile(shown.ravel(), [row, column], mechanism=mechanism, mains=2)
    found, guess = (np.bincount(row, weights=fit.prior.mean * hidden) for fit in (told, blind))
    assert np.corrcoef(found, sums)[0, 1] > 0.98
    assert found.sum() == pytest.approx(sums.sum(), rel=0.3)
    assert np.abs(found - sums).sum() < 0.4 * np.abs(guess - sums).sum()


@pytest.mark.parametrize("mean", [0.3, 2.0, 5.0, 12.0, 40.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_an_interval_has_no_end_that_the_level_does_not_need(mean, level):
    law = stats.poisson(mean)
    low, high = sum_law([0], [law.pmf(np.arange(150))]).interval(level)
    inside = law.cdf(high) - law.cdf(low - 1)
    assert inside >= level
    assert inside - law.pmf(high) < level or high == low
    assert low == 0 or inside - law.pmf(low) < level
