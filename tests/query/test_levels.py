"""Levels of which little is shown: their posterior laws, and the likelihood that these come from, against direct sums."""

import math

import numpy as np
import pytest
from scipy import stats

from noisegate.inference import (
    AT_MOST,
    EQUAL,
    GRID,
    LevelTotal,
    NoisySums,
    Observed,
    ProfileEffect,
    fit_profile,
    level_logs,
    level_posterior,
)
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism

SCALE, LEAST = 2.0, 13
CUT = Mechanism(law=DiscreteLaplace(SCALE), threshold=LEAST, rule="ge", zeros="perturb")


def shown_chance(mean, dispersion, values):
    """P(value) for each of the values, and P(nothing), by adding up over counts."""
    counts = np.arange(400)
    mass = stats.nbinom.pmf(counts, 1 / dispersion, 1 / (1 + dispersion * mean))
    noise = np.exp(CUT.law.logpmf(np.arange(-800, 801)))
    law = np.convolve(mass, noise)
    at = {value: law[value + 800] for value in values}
    return at, float(law[: LEAST + 800].sum())


def test_the_likelihood_of_a_level_is_that_of_its_cells():
    values = np.array([np.nan, 14.0, np.nan, np.nan, 16.0, np.nan])
    observed = Observed.of(values, CUT, [])
    effect = ProfileEffect.of(np.array([0, 0, 0, 1, 1, 1]))
    logs, _ = level_logs(observed, effect, np.array([True, True]))
    rest = math.exp(observed.eta[0])
    for level, value in ((0, 14), (1, 16)):
        for point in (6, 10, 14):
            at, nothing = shown_chance(rest * math.exp(GRID[point]), observed.dispersion, [value])
            wanted = math.log(at[value]) + 2 * math.log(nothing)
            assert logs[level, point] == pytest.approx(wanted, abs=0.02)


def one_row(side=EQUAL):
    return NoisySums(
        codes=np.zeros(40, int),
        seen=np.array([60.0]),
        variance=np.array([9.0]),
        side=np.full(1, side, np.int8),
    )


def without_and_with(row, codes, unsure):
    """What is said of levels without the row and with it; and what the row leaves for their sum."""
    values = np.full(40, np.nan)
    (alone, none), (told, totals) = (
        level_logs(Observed.of(values, CUT, rows), ProfileEffect.of(codes), unsure) for rows in ([], [row])
    )
    assert none == []
    return told - alone, totals


@pytest.mark.parametrize("side", [EQUAL, AT_MOST])
def test_a_row_that_a_level_has_to_itself_speaks_of_it(side):
    row = one_row(side)
    said, totals = without_and_with(row, np.zeros(40, int), np.array([True]))
    assert totals == []
    observed = Observed.of(np.full(40, np.nan), CUT, [row])
    for point in (10, 14, 16):
        eta = np.full(1, observed.eta[0] + GRID[point])
        mean, variance = observed.missing.at(eta, observed.missing.mean, observed.missing.variance)
        gap, width = 60 - 40 * mean[0], 40 * variance[0] + 9.0
        known = -0.5 * gap**2 / width - 0.5 * math.log(width)
        wanted = known if side == EQUAL else stats.norm.logcdf(gap / math.sqrt(width))
        assert said[0, point] == pytest.approx(wanted, abs=0.03)


def test_a_row_of_several_levels_speaks_of_their_sum_only():
    said, totals = without_and_with(one_row(), np.repeat([0, 1], [30, 10]), np.array([True, True]))
    assert not said.any()
    (total,) = totals
    assert (total.seen, total.side) == (60.0, EQUAL)
    assert total.weight[0] == pytest.approx(3 * total.weight[1])


@pytest.mark.parametrize(("side", "moves"), [(EQUAL, True), (AT_MOST, False)])
def test_a_total_moves_the_law_of_levels_and_leaves_each_uncertain(side, moves):
    """Forty levels of which nothing is seen hold 200 together: about five each, and none of them for certain."""
    logs = np.broadcast_to(-0.02 * np.exp(GRID), (40, len(GRID)))
    total = LevelTotal(seen=200.0, variance=25.0, weight=np.ones(40), side=side)
    before, after = level_posterior(logs), level_posterior(logs, [total])
    assert before.mean.sum() < 100
    if not moves:
        assert after.mean.sum() < 100
        return
    assert after.mean.sum() == pytest.approx(200.0, rel=0.25)
    assert (after.own + after.common > 0.15).all()


def test_the_law_of_levels_is_learnt_and_its_doubt_is_common():
    """Of levels that nothing is seen of it is not said that they are like the others, nor that they are nothing."""
    seen = -0.5 * 30 * (GRID - np.linspace(0.5, 1.5, 12)[:, None]) ** 2
    unseen = np.broadcast_to(-3 * np.exp(GRID), (12, len(GRID)))
    found = level_posterior(np.concatenate([seen, unseen]))
    assert np.log(found.mean[:12]) == pytest.approx(np.linspace(0.5, 1.5, 12), abs=0.15)
    assert (found.mean[12:] < 0.2).all()
    assert (found.common[:12] < 0.01).all()
    assert (found.common[12:] > 0.2).all()


def test_evidence_on_levels_is_used_up_by_all_of_them():
    """Many levels that show nothing say together what none says alone: that such levels hold little."""
    seen = -0.5 * 30 * (GRID - 1.0) ** 2
    few, many = (
        level_posterior(np.concatenate([[seen] * 5, np.tile(-0.3 * np.exp(GRID), (n, 1))])).mean[-1]
        for n in (2, 60)
    )
    assert many < 0.5 * few


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_places_without_service_are_told_from_quiet_ones(share):
    rng = np.random.default_rng(11)
    rate = np.exp(rng.normal(1.6, 0.8, (60, 1)) + rng.normal(0, 0.3, (1, 80)))
    rate[: int(60 * share)] = 0.0
    noisy = rng.poisson(rate) + CUT.law.sample(rate.size, rng=rng).reshape(rate.shape)
    values = np.where(noisy >= LEAST, noisy, np.nan).ravel()
    row, column = (axis.ravel() for axis in np.indices(rate.shape))
    fit = fit_profile(values, [row, column], mechanism=CUT, mains=2)
    missing, empty = np.isnan(values), rate.ravel() == 0
    served = missing & ~empty
    assert fit.prior.mean[served].sum() == pytest.approx(rate.ravel()[served].sum(), rel=0.1)
    if share:
        found = fit.prior.mean[empty]
        assert found.mean() < 0.2 * rate[rate > 0].mean()
        # That there was nothing is within what is said to be possible.
        assert found.sum() < 2 * (found * np.sqrt(fit.common[0][row[empty]])).sum()


def test_a_pair_that_strays_is_learnt_from_single_cells():
    """Habits of a place at a time show in the shape, and what is left to a cell in the dispersion."""
    rng = np.random.default_rng(12)
    habit = rng.gamma(5, 1 / 5, (30, 40, 1))
    rate = np.broadcast_to(20 * habit, (30, 40, 5))
    noisy = rng.poisson(rate) + CUT.law.sample(rate.size, rng=rng).reshape(rate.shape)
    values = np.where(noisy >= LEAST, noisy, np.nan).ravel()
    row, column, day = (axis.ravel() for axis in np.indices(rate.shape))
    fit = fit_profile(values, [row, column, day, row * 40 + column], mechanism=CUT, mains=3)
    assert fit.dispersion < 0.05
    unseen = fit.own[3].max()
    assert 1 / 9 < unseen < 1 / 3
