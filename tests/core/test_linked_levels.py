"""The minimal attacker's prior: flat where nothing is told, and never at odds with the totals; loops that take many small things at a time."""

import numpy as np
import pytest
from scipy import special, stats

from noisegate.errors import DataError, SpecError
from noisegate.inference import Flat, Problem, Sums, fit_levels, fit_prior, infer
from noisegate.inference.linked.fit import _codes_of
from noisegate.inference.linked.pmfs import _correlate, multiply_humps, spread
from noisegate.inference.profile.levels import _log_products, multiplied
from noisegate.testing import CityTruth, ModePlan, recipe_2016, simulate_tables

BASE, MARGIN = recipe_2016(threshold=18), recipe_2016(threshold=35)


@pytest.fixture(scope="module")
def day():
    """One day of 80 stops, most of whose night is suppressed."""
    plan = ModePlan(stops=80, taps=300.0, night_stops=80)
    return simulate_tables([plan], days=1, rng=np.random.default_rng(4), known_service=False)


def sums_of(values, table):
    row = np.repeat(np.arange(table.rows), np.diff(table.indptr))
    return np.bincount(row, weights=values[table.indices])


def test_totals_are_believed_where_a_flat_prior_overrules_them(day):
    """Published totals within their noise, suppressed ones below the cut; a flat prior in 80 cells does neither."""
    flat, levels = infer(day.problem), infer(day.problem, prior=fit_levels(day.problem))
    assert levels.converged
    for table in day.problem.tables[1:]:
        shown = ~np.isnan(table.values)
        away = {
            name: np.abs(sums_of(posterior.mean, table) - table.values)[shown].max()
            for name, posterior in (("flat", flat), ("levels", levels))
        }
        assert away["levels"] < 1.4 < 4 * 1.4 < away["flat"]
    night = day.problem.tables[1]
    hidden = np.isnan(night.values)
    assert hidden.sum() > 10
    raw, told, before = (sums_of(values, night)[hidden] for values in (day.counts, levels.mean, flat.mean))
    assert told.mean() == pytest.approx(raw.mean(), rel=0.1)
    assert told.max() < 35 < before.min()


def small_town(rng):
    """Nine stops by twelve hours, uneven in both, with over-dispersed cells: published as in 2016."""
    stops, hours = rng.gamma(2.0, 0.5, (9, 1)), rng.gamma(2.0, 0.5, (1, 12))
    counts = rng.poisson(20 * stops * hours * rng.gamma(2.0, 0.5, (9, 12)))
    return CityTruth.publish([counts[None]], rng=rng)


@pytest.mark.slow
def test_small_tables_are_covered():
    """150 towns of 108 cells: a level for each of 21 totals from one table alone."""
    rng = np.random.default_rng(20)
    inside = {"levels": [], "too sure": []}
    for _ in range(150):
        town = small_town(rng)
        prior = fit_levels(town.problem)
        for name, shape in (("levels", prior.shape), ("too sure", 20 * prior.shape)):
            sharper = type(prior)(mean=prior.mean, shape=shape, zero_share=prior.zero_share)
            found = infer(town.problem, prior=sharper)
            hidden = town.suppressed
            inside[name].append(((town.counts >= found.low) & (town.counts <= found.high))[hidden])
    covered = {name: np.concatenate(flags).mean() for name, flags in inside.items()}
    assert 0.93 <= covered["levels"] <= 0.98
    assert covered["too sure"] < 0.93


def test_a_single_total_is_as_with_a_flat_prior():
    """Cremorne Point: 91, 41 and a suppressed cell in a total of 150; the evidence outweighs any level."""
    tables = (
        Sums.of_cells([91, 41, np.nan], mechanism=BASE),
        Sums.by([0, 0, 0], [150], mechanism=MARGIN),
    )
    problem = Problem(cells=3, tables=tables)
    flat, levels = infer(problem), infer(problem, prior=fit_levels(problem))
    assert levels.exact.all()
    assert levels.mean[2] == pytest.approx(flat.mean[2], abs=0.15)
    assert (levels.low[2], levels.high[2]) == (flat.low[2], flat.high[2]) == (10, 20)


def test_without_totals_or_numbers_it_is_flat():
    base = Sums.of_cells([30.0, np.nan, np.nan, 22.0], mechanism=BASE)
    assert fit_levels(Problem(cells=4, tables=(base,))) == Flat()
    nothing = (
        Sums.of_cells(np.full(4, np.nan), mechanism=BASE),
        Sums.by([0, 0, 1, 1], [np.nan] * 2, mechanism=MARGIN),
    )
    assert fit_levels(Problem(cells=4, tables=nothing)) == Flat()
    alone = Sums.by([0, 1, 2, 3], [60.0, np.nan, np.nan, 41.0], mechanism=MARGIN)
    assert fit_levels(Problem(cells=4, tables=(base, alone))) == Flat()


def test_cells_outside_all_totals_keep_a_flat_prior(day):
    """The same day, its first stop in no total, beside a group of which nothing is known."""
    extra = 5
    cells = day.problem.cells + extra
    values = np.concatenate([day.problem.tables[0].values, np.full(extra, np.nan)])
    keep = day.stop > 0
    codes = np.concatenate([np.where(keep, day.time, -1), np.full(extra, 96)])
    totals = np.concatenate([day.problem.tables[1].values, [np.nan]])
    tables = (
        Sums.of_cells(values, mechanism=BASE),
        Sums.by(codes, totals, mechanism=MARGIN),
    )
    problem = Problem(cells=cells, tables=tables)
    groups = np.repeat(["day", "dark"], [day.problem.cells, extra])
    prior = fit_levels(problem, groups=groups)
    outside = np.flatnonzero(codes < 0)
    found, flat = infer(problem, prior=prior), infer(problem)
    np.testing.assert_allclose(found.mean[outside], flat.mean[outside], rtol=1e-4)
    np.testing.assert_allclose(found.mean[-extra:], flat.mean[-extra:], rtol=1e-3)
    night = np.isin(codes, np.flatnonzero(np.isnan(totals[:-1])))
    assert found.mean[night].mean() < 0.5 * flat.mean[night].mean()


def test_cells_in_several_totals_of_one_table_have_several_levels():
    nested = Sums(indptr=[0, 2, 6], indices=[0, 1, 0, 1, 2, 3], values=[40.0, 90.0], mechanism=MARGIN)
    problem = Problem(cells=5, tables=(nested,), structural_zero=[False, False, False, False, True])
    first, second = _codes_of(nested, problem)
    assert first.tolist() == [1, 1, 2, 2, 0]
    assert second.tolist() == [2, 2, 0, 0, 0]
    closed = Problem(cells=5, tables=(nested,), structural_zero=[False, True, True, True, True])
    assert _codes_of(nested, closed) == []


def test_a_cell_in_no_sum_is_refused():
    tables = (
        Sums.of_cells([30.0, np.nan], cells=[0, 1], mechanism=BASE),
        Sums.by([0, 0, -1], [45.0], mechanism=MARGIN),
    )
    with pytest.raises(DataError, match="in no published or suppressed sum"):
        fit_levels(Problem(cells=3, tables=tables))
    with pytest.raises(SpecError, match="one for each of 2 cells"):
        fit_levels(
            Problem(cells=2, tables=(tables[0], Sums.by([0, 0], [45.0], mechanism=MARGIN))), groups=[0]
        )


@pytest.mark.parametrize(("shape", "found"), [(0.4, 1.0), (1.5, 1.5), (6.0, 6.0)])
def test_the_one_dispersion_is_recovered(shape, found):
    """Cells about products of levels, in a dense table, so that the truth shows; never wider than geometric."""
    rng = np.random.default_rng(12)
    row, column = np.divmod(np.arange(60 * 80), 80)
    mean = 60 * rng.gamma(6, 1 / 6, 60)[row] * rng.gamma(6, 1 / 6, 80)[column]
    counts = rng.poisson(mean * rng.gamma(shape, 1 / shape, len(mean)))
    truth = CityTruth.publish([counts.reshape(1, 60, 80)], rng=rng)
    prior = fit_levels(truth.problem)
    assert prior.shape == pytest.approx(found, rel=0.15)
    assert (prior.zero_share == 0).all()


@pytest.mark.parametrize("values", [[40.0, 41.0, 39.0, 40.0], [22.0, 21.0, np.nan, np.nan]])
def test_a_few_even_cells_are_no_proof_that_all_are_even(values):
    """Equal counts by chance: the most likely dispersion is none at all, and none of it is believed."""
    tables = (
        Sums.of_cells(values, mechanism=BASE),
        Sums.by([0, 0, 1, 1], [81.0, 79.0] if values[0] > 30 else [43.0, 36.0], mechanism=MARGIN),
    )
    prior = fit_levels(Problem(cells=4, tables=tables))
    assert (1 / prior.shape > 0.1).all()


def test_plain_fits_ignore_what_multipliers_leave_open(day):
    """One shape for all cells, unlike the informed prior, which widens cells of unsure means."""
    codes = [day.stop, day.time]
    plain = fit_prior(day.problem, effects=codes, plain=True, rounds=3).prior
    informed = fit_prior(day.problem, effects=codes, rounds=3).prior
    assert np.ptp(plain.shape) == 0 < np.ptp(informed.shape)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 33])
@pytest.mark.parametrize("terms", [1, 5, 40])
def test_correlations_of_any_length(size, terms):
    rng = np.random.default_rng(size + 100 * terms)
    kernel, source, target = rng.random(terms), rng.random(terms + size), np.zeros(size)
    _correlate(kernel, source, target)
    wanted = [kernel @ source[j : j + terms] for j in range(size)]
    np.testing.assert_allclose(target, wanted, rtol=1e-13)


@pytest.mark.parametrize("weights", [[1, 1, 1], [1, -1, 2]])
def test_messages_are_those_of_all_combinations(weights):
    rng = np.random.default_rng(5)
    sizes = np.array([9, 12, 10])
    first, p = np.array([0, 9, 21]), rng.random(31)
    least = sum(min(0, w * (n - 1)) for w, n in zip(weights, sizes.tolist(), strict=True))
    most = sum(max(0, w * (n - 1)) for w, n in zip(weights, sizes.tolist(), strict=True))
    evidence, found = rng.random(most - least + 1), np.zeros(31)
    spread(first, sizes, np.array(weights), p, evidence, found)
    wanted = np.zeros(31)
    for a in np.ndindex(*sizes.tolist()):
        likely = evidence[sum(w * k for w, k in zip(weights, a, strict=True)) - least]
        for j in range(3):
            others = np.prod([p[first[i] + a[i]] for i in range(3) if i != j])
            wanted[first[j] + a[j]] += likely * others
    for j in range(3):
        mine = slice(first[j], first[j] + sizes[j])
        np.testing.assert_allclose(found[mine], wanted[mine] / wanted[mine].max(), rtol=1e-12)


def test_logs_of_products_of_what_is_next_to_nothing():
    rng = np.random.default_rng(2)
    used = 10.0 ** rng.uniform(-320, 0, (60, 5))
    low = np.where(rng.random((60, 3)) < 0.5, 0.0, 10.0 ** rng.uniform(-200, 0, (60, 3)))
    shares = np.array([0.1, 0.6])
    found = _log_products(shares, used, low, used.min(axis=1), low.min(axis=1))
    for share, logs in zip(shares.tolist(), found, strict=True):
        both = share * used[:, :, None] + (1 - share) * low[:, None, :]
        np.testing.assert_allclose(logs, np.log(np.maximum(both, 1e-300)).sum(axis=0), rtol=1e-12)


def test_products_of_long_matrices():
    rng = np.random.default_rng(1)
    left, right = rng.random((5_000, 20)), rng.random((20, 60))
    np.testing.assert_allclose(multiplied(left, right), left @ right, rtol=1e-12)
    assert multiplied(left[:0], right).shape == (0, 60)


@pytest.mark.parametrize("far", [0, 5, 10**7])
def test_humps_of_cells_near_each_other_and_far_apart(far):
    """Where counts of cells lie far apart, nothing is worked out for all numbers between."""
    low, start = np.array([0, far]), np.array([0, 12, 24])
    p, mean = np.ones(24), np.array([4.0, far + 4.0])
    share, factor, power = np.array([0.7, 0.3]), np.array([0.8, 1.5]), np.ones(2)
    dispersion, none = np.array([0.1, 0.0]), np.zeros(2)
    multiply_humps(
        np.arange(2), low, start, p, mean, np.full(2, 2.0), none, none, 0.0, share, factor, power, dispersion, np.ones(2), np.inf
    )  # fmt: skip
    for i in range(2):
        x, m = low[i] + np.arange(12.0), factor * mean[i]
        wide = special.gammaln(x + 10) - special.gammaln(10) - special.gammaln(x + 1)
        wide += x * np.log(m[0] / (m[0] + 10)) - 10 * np.log1p(m[0] / 10)
        law = 0.7 * np.exp(wide) + 0.3 * np.exp(x * np.log(m[1]) - m[1] - special.gammaln(x + 1))
        wanted = law / law.max() if law.max() > 0 else np.ones(12)
        np.testing.assert_allclose(p[start[i] : start[i + 1]], wanted, rtol=1e-6)


@pytest.mark.parametrize(("power", "wider"), [(1.0, 0.5), (0.0, 0.0)])
def test_humps_around_an_intensity_that_is_less_sure_than_others_are_wider(power, wider):
    """Counts around an intensity of relative variance 0.6, where humps were learnt around such of 0.1, are negative binomial; humps that do not follow it stay as they are."""
    low, start, p = np.array([0]), np.array([0, 30]), np.ones(30)
    none, one = np.zeros(1), np.ones(1)
    multiply_humps(
        np.arange(1), low, start, p, np.array([4.0]), np.array([1 / 0.6]), none, none, 0.0, one, np.array([1.5]), np.array([power]), none, one, 0.1
    )  # fmt: skip
    x, m = np.arange(30), 1.5 * 4**power
    law = stats.nbinom.pmf(x, 1 / wider, 1 / (1 + m * wider)) if wider else stats.poisson.pmf(x, m)
    np.testing.assert_allclose(p, law / law.max(), rtol=1e-6)
