"""Cases with known answers, and what must hold at any size."""

import numpy as np
import pytest

from noisegate.errors import DataError, SpecError
from noisegate.inference import (
    CellEstimates,
    Flat,
    Identities,
    NegativeBinomial,
    Options,
    Pmfs,
    Problem,
    Schedule,
    Sums,
    bells,
    crossed,
    infer,
    spread,
    tilt,
)
from noisegate.laws import DiscreteLaplace, Laplace, PointMass
from noisegate.mechanisms import Mechanism
from noisegate.testing import (
    CITY,
    ModePlan,
    Score,
    enumerate_exact,
    from_residual,
    recipe_2016,
    simulate_tables,
)

EXACT = Mechanism(law=PointMass(), zeros="perturb")


# Cremorne Point, 12 August 2016, midnight: published 91 and 41, the third suppressed, total 150.


def test_cremorne_point_as_the_report_sets_it_up():
    cell = from_residual(
        150 - 91 - 41, noise=Laplace(1.4).sum_of(3), suppressed_by=Mechanism(law=Laplace(1.4), threshold=18)
    )
    values, p = cell.marginal(0)
    assert cell.mean[0] == pytest.approx(15.70, abs=0.005)
    assert cell.mode[0] == 17
    assert (cell.low[0], cell.high[0]) == (10, 20)
    assert p[values < 5].sum() == pytest.approx(0.0011, abs=5e-5)
    assert cell.p_zero[0] == pytest.approx(5e-5, abs=5e-6)


def test_cremorne_point_without_the_evidence_of_suppression():
    cell = from_residual(18, noise=Laplace(1.4).sum_of(3))
    assert cell.mean[0] == pytest.approx(18.0, abs=0.001)
    assert (cell.mode[0], cell.low[0], cell.high[0]) == (18, 11, 25)


@pytest.mark.parametrize(("rounding", "mean"), [("none", 15.774), ("nearest", 15.672)])
def test_cremorne_point_with_all_cells_integers(rounding, mean):
    def mechanism(threshold):
        return Mechanism(law=Laplace(1.4), threshold=threshold, rounding=rounding, cut="before")

    tables = (
        Sums.of_cells([91, 41, np.nan], mechanism=mechanism(18)),
        Sums.by([0, 0, 0], [150], mechanism=mechanism(35)),
    )
    posterior = infer(Problem(cells=3, tables=tables))
    assert posterior.exact.all()
    assert posterior.mean[2] == pytest.approx(mean, abs=0.001)
    assert (posterior.mode[2], posterior.low[2], posterior.high[2]) == (17, 10, 20)
    # The published cells are sharper too, and higher: the total asks for more than they show.
    assert posterior.sd[0] < np.sqrt(2) * 1.4
    assert posterior.mean[0] > 91.5


# Regions A,B,I,J,K,L,M,N of a statistical office: two tables with exact totals, cells up to 3 suppressed.

REGIONS = np.array([2, 2, 8, 8, 3, 3, 3, 7])
COUNTY = np.array([0, 0, 1, 1, 2, 2, 2, 3])
SIZE = np.array([1, 1, 1, 1, 1, 0, 0, 1])


def region_problem(*codes):
    shown = np.flatnonzero(REGIONS > 3)
    tables = [Sums.of_cells(REGIONS[shown].astype(float), mechanism=EXACT, cells=shown)]
    tables += [Sums.by(code, np.bincount(code, weights=REGIONS), mechanism=EXACT) for code in codes]
    return Problem(cells=8, tables=tuple(tables))


def test_linked_regions():
    def bounds(*codes):
        posterior = infer(region_problem(*codes), level=1.0)
        return list(zip(posterior.low.tolist(), posterior.high.tolist(), strict=True))

    assert bounds(COUNTY)[4] == (0, 9)
    assert bounds(SIZE)[4] == (0, 7)
    both = bounds(COUNTY, SIZE)
    assert both[4] == (3, 3)
    assert both[:2] == [(0, 4), (0, 4)]
    assert both[5:7] == [(0, 6), (0, 6)]
    assert both[2:4] + both[7:] == [(8, 8), (8, 8), (7, 7)]


def test_linked_regions_with_the_evidence_of_suppression():
    cut = Mechanism(law=PointMass(), threshold=3, zeros="perturb")
    base = Sums.of_cells(np.where(REGIONS > 3, REGIONS, np.nan), mechanism=cut)
    problem = Problem(cells=8, tables=(base, *region_problem(COUNTY, SIZE).tables[1:]))
    posterior = infer(problem, level=1.0)
    assert posterior.low.tolist() == [1, 1, 8, 8, 3, 3, 3, 7]
    assert posterior.high.tolist() == [3, 3, 8, 8, 3, 3, 3, 7]


# Structures.


def test_equal_cells_are_sharper_than_one_record():
    mechanism = recipe_2016(threshold=18)
    tables = (Sums.of_cells([88, 86], mechanism=mechanism),)
    alone = infer(Problem(cells=2, tables=tables))
    both = infer(Problem(cells=2, tables=tables, identities=(Identities.between_cells([0], [1]),)))
    assert both.mean[0] == both.mean[1] == pytest.approx(87, abs=0.01)
    assert both.sd[0] < 0.8 * alone.sd[0]


def test_nested_time_bins_are_solved_without_loops():
    """Quarter hours in hours in a day: exact, and equal to brute force."""
    mechanism = Mechanism(law=DiscreteLaplace(0.5), threshold=2)
    tables = (
        Sums.of_cells([np.nan, 3, np.nan, np.nan], mechanism=mechanism),
        Sums.by([0, 0, 1, 1], [5, np.nan], mechanism=mechanism),
        Sums.by([0, 0, 0, 0], [6], mechanism=mechanism),
    )
    problem = Problem(cells=4, tables=tables)
    truth = enumerate_exact(problem, prior=Flat())
    np.testing.assert_allclose(infer(problem).mean, truth.mean, atol=1e-6)


def test_structural_zeros_are_zero_and_leave_more_to_the_others():
    mechanism = recipe_2016(threshold=18)
    tables = (
        Sums.of_cells(np.full(3, np.nan), mechanism=mechanism),
        Sums.by(np.zeros(3, dtype=int), [36], mechanism=recipe_2016(threshold=35)),
    )
    open_day = infer(Problem(cells=3, tables=tables))
    closed = infer(Problem(cells=3, tables=tables, structural_zero=[False, False, True]))
    assert (closed.mean[2], closed.sd[2], closed.p_zero[2]) == (0, 0, 1)
    assert closed.mean[0] > open_day.mean[0] + 3


def test_an_unobserved_cell_takes_the_rest_of_its_total():
    """A location left out of the base table: only the total speaks of it."""
    tables = (
        Sums.of_cells([100.0, 50.0], mechanism=recipe_2016(threshold=18)),
        Sums.by([0, 0, 0], [180.0], mechanism=recipe_2016(threshold=35)),
    )
    posterior = infer(Problem(cells=3, tables=tables))
    assert posterior.mean[2] == pytest.approx(30, abs=0.1)
    assert posterior.sd[2] == pytest.approx(np.sqrt(3 * 2) * 1.4, rel=0.05)


def test_marginals_are_kept_on_demand_only():
    problem = Problem(cells=1, tables=(Sums.of_cells([50.0], mechanism=recipe_2016(threshold=18)),))
    with pytest.raises(SpecError, match="keep=True"):
        infer(problem).marginal(0)
    values, p = infer(problem, keep=True).marginal(0)
    assert values[np.argmax(p)] == 50
    assert p.sum() == pytest.approx(1)


# Kernels against plain formulas.


def test_spread_is_the_sum_over_all_others():
    rng = np.random.default_rng(5)
    sizes, weights = np.array([4, 3, 5]), np.array([1, -1, 2])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    p = rng.random(sizes.sum())
    reach = 1 + int((np.abs(weights) * (sizes - 1)).sum())
    evidence, out = rng.random(reach), np.empty(len(p))
    spread(first, sizes, weights, p, evidence, out)
    joint = np.einsum("i,j,k->ijk", *(p[f : f + s] for f, s in zip(first, sizes, strict=True)))
    i, j, k = np.indices(joint.shape)
    joint = joint * evidence[i + (2 - j) + 2 * k]
    for axis, (f, s) in enumerate(zip(first, sizes, strict=True)):
        others = joint.sum(axis=tuple({0, 1, 2} - {axis})) / p[f : f + s]
        np.testing.assert_allclose(out[f : f + s], others / others.max(), rtol=1e-12)


@pytest.mark.parametrize(("centre", "width"), [(3.2, 4.0), (-40.0, 2.0), (900.0, 0.5), (5.0, 1e10)])
def test_tilting_is_multiplication_by_a_gaussian(centre, width):
    rng = np.random.default_rng(2)
    p = rng.random(12)
    low, start = np.array([4]), np.array([0, 12])
    logs = np.log(p) - (low + np.arange(12) - centre) ** 2 / (2 * width)
    q = np.exp(logs - logs.max())
    q /= q.sum()
    values = low + np.arange(12)
    mean, variance, edge = tilt(low, start, p, np.array([centre]), np.array([width]))
    assert mean[0] == pytest.approx(q @ values, rel=1e-9)
    assert variance[0] == pytest.approx(max(q @ (values - q @ values) ** 2, 1e-9), rel=1e-6, abs=1e-9)
    assert edge[0] == pytest.approx(q[0], rel=1e-9, abs=1e-300)
    weighed = p * bells(low, start, p, np.array([centre]), np.array([width]))
    np.testing.assert_allclose(weighed / weighed.sum(), q, rtol=1e-9, atol=1e-300)


# Sizes.


def one_total(rng, cells):
    """A total over many cells, too many for one loop but not for convolution."""
    counts = rng.poisson(rng.gamma(0.7, 5.0, cells))
    base, margin = recipe_2016(threshold=18), recipe_2016(threshold=35)
    noisy = counts + rng.laplace(0, 1.4, cells)
    shown = np.where((noisy > 18) & (counts > 0), np.rint(noisy), np.nan)
    total = counts.sum() + rng.laplace(0, 1.4)
    total = np.rint(total) if total > 35 else np.nan
    tables = (
        Sums.of_cells(shown, mechanism=base),
        Sums.by(np.zeros(cells, dtype=int), [total], mechanism=margin),
    )
    prior = NegativeBinomial(mean=np.full(cells, 3.5), shape=np.full(cells, 0.7), zero_share=np.zeros(cells))
    return Problem(cells=cells, tables=tables), prior


@pytest.mark.parametrize("flat", [True, False])
def test_gaussian_sums_are_good_for_a_dozen_members_and_more(flat):
    """The same total by convolution and as a Gaussian among many cells."""
    rng = np.random.default_rng(11)
    distances = []
    for cells in (12, 20, 40):
        for _ in range(4):
            problem, prior = one_total(rng, cells)
            belief = Flat() if flat else prior
            truth = infer(problem, prior=belief, keep=True, options=Options(exact_limit=1e9))
            assert truth.exact.all()
            wide = infer(problem, prior=belief, keep=True, options=Options(exact_limit=0))
            assert wide.converged
            assert not wide.exact.any()
            for cell in range(cells):
                gap = np.zeros(500)
                for sign, posterior in ((1, truth), (-1, wide)):
                    values, p = posterior.marginal(cell)
                    gap[values] += sign * p
                distances.append(np.abs(gap).sum() / 2)
    assert np.mean(distances) < 0.002
    assert np.max(distances) < 0.01


def small_city(seed=3):
    return simulate_tables(
        [ModePlan(stops=20, taps=800.0)], days=2, rng=np.random.default_rng(seed), known_service=False
    )


def test_many_sums_one_by_one_agree_with_all_at_once():
    truth = small_city()
    joint = infer(truth.problem, options=Options(exact_limit=0))
    schedule = Schedule(joint_limit=0)
    loopy = infer(truth.problem, options=Options(exact_limit=0, schedule=schedule))
    assert joint.converged
    assert loopy.converged
    assert np.abs(joint.mean - loopy.mean).max() < 0.25
    assert np.abs(joint.mean - loopy.mean).mean() < 0.02


def test_results_do_not_depend_on_threads_and_repeat():
    truth = small_city()
    runs = [infer(truth.problem, options=Options(threads=threads)) for threads in (1, 2, 2)]
    for other in runs[1:]:
        for name in ("mean", "sd", "mode", "low", "high", "p_zero"):
            np.testing.assert_array_equal(getattr(runs[0], name), getattr(other, name))


def test_progress_counts_cells_to_the_end():
    truth = simulate_tables(CITY[2:], days=1, rng=np.random.default_rng(1))
    seen = []
    infer(truth.problem, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (truth.problem.cells, truth.problem.cells)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_sweeps_that_run_out_are_reported():
    truth = small_city()
    posterior = infer(truth.problem, options=Options(schedule=Schedule(sweeps=1)))
    assert not posterior.converged
    assert posterior.unsettled > 0
    settled = infer(truth.problem)
    assert settled.converged
    assert 0 < settled.change <= Schedule().tolerance < posterior.change


def test_crossed_effects_are_each_dimension_and_each_pair():
    effects = crossed(row=["a", "a", "b", "b"], column=[10, 20, 10, 20])
    assert [effect.tolist() for effect in effects] == [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 3]]
    assert len(crossed(row=[0], column=[0], day=[0])) == 6


def test_real_and_impossible_totals_of_closed_stops():
    truth = simulate_tables(CITY[2:3], days=1, rng=np.random.default_rng(4))
    zeros = np.ones(truth.problem.cells, dtype=bool)
    with pytest.raises(DataError):
        infer(Problem(cells=truth.problem.cells, tables=truth.problem.tables, structural_zero=zeros))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_fair_coverage_of_an_honest_posterior_is_its_level(level):
    """Averaged over what the posterior itself expects: the level, however few integers there are."""
    p = np.array([0.7, 0.2, 0.06, 0.04])
    pmfs = Pmfs(low=np.full(4, 3), start=np.arange(0, 20, 4), p=np.tile(p, 4))
    posterior = CellEstimates.from_pmfs(pmfs, level=level, keep=True)
    counts = 3 + np.arange(4)
    each = [Score.of(posterior, counts, cells=np.arange(4) == cell) for cell in range(4)]
    assert sum(share * one.fair for share, one in zip(p, each, strict=True)) == pytest.approx(level)
    whole = sum(share * one.coverage for share, one in zip(p, each, strict=True))
    assert whole == pytest.approx(each[0].claimed)
    assert whole >= level


def test_a_score_by_hand():
    pmfs = Pmfs(low=np.array([0, 10]), start=np.array([0, 2, 4]), p=np.array([0.5, 0.5, 0.95, 0.05]))
    score = Score.of(CellEstimates.from_pmfs(pmfs, level=0.8), np.array([1, 12]))
    assert (score.cells, score.coverage, score.width) == (2, 0.5, 0.5)
    assert score.error == pytest.approx((0.5 + 1.95) / 2)
    assert score.quarters == (1.0, 0.0)
    assert score.fair is None
    with pytest.raises(SpecError, match="true count of every cell"):
        Score.of(CellEstimates.from_pmfs(pmfs, level=0.8), np.array([1]))
