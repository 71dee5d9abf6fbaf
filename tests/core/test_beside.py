"""What rows and laws of cells say of a sum together: two kinds of rows, and sums of few cells that have several humps."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from noisegate.inference import Beside, ShownTotals, law_of_few, quantile_of_two
from noisegate.testing import Tallied, ask_world, publish_case


def words(away, width, off, noise, *, rare=0.0):
    return Beside.of(*(np.array([float(one)]) for one in (away, width, off, noise)), rare=rare)


def poisson(mean, size=80):
    mass = stats.poisson.pmf(np.arange(size), mean)
    return mass / mass.sum()


def test_sums_of_smooth_laws_have_the_mean_and_the_variance_of_both_words():
    masses = [poisson(9.0)] * 20
    for away, off, noise in ((0.0, 0.0, 120.0), (15.0, 60.0, 90.0), (-20.0, 90.0, 400.0)):
        said = words(away, 180.0, off, noise)
        law = law_of_few([0] * 20, masses, beside=said, group=0)
        at = law.first + np.arange(len(law.mass))
        assert law.mean == pytest.approx(180 + said.near[0], abs=0.3)
        assert law.mass @ (at - law.mean) ** 2 == pytest.approx(said.sure[0], rel=0.06)


def test_vehicles_that_did_or_did_not_run_are_told_by_their_row_as_by_enumeration():
    """Six vehicles of 14 to 16 each, most of which did not run, and a row with noise; marginal laws are the exact ones."""
    one = np.zeros(17)
    one[[0, 14, 15, 16]] = 0.85, 0.05, 0.05, 0.05
    worst, without = [], []
    for left in (-6.0, 4.0, 9.0, 16.0):
        noise, sums, marginal = 60.0, np.zeros(97), np.zeros(17)
        for counts in product((0, 14, 15, 16), repeat=6):
            chance = np.prod(one[list(counts)]) * np.exp(-((left - sum(counts)) ** 2) / (2 * noise))
            sums[sum(counts)] += chance
            marginal[counts[0]] += chance
        sums, marginal = sums / sums.sum(), marginal / marginal.sum()
        mean = float(marginal @ np.arange(17))
        width = 6 * float(marginal @ (np.arange(17) - mean) ** 2)
        law = law_of_few([0] * 6, [marginal] * 6, beside=words(left - 6 * mean, width, 0.0, noise), group=0)
        assert law.mean == pytest.approx(6 * mean, abs=0.05)
        apart = 0.5 * np.abs(law.mass - sums[: len(law.mass)]).sum()
        worst.append(apart)
        # As independent cells they are further off.
        alone = np.ones(1)
        for _ in range(6):
            alone = np.convolve(alone, marginal)
        without.append(0.5 * np.abs(alone - sums[: len(alone)]).sum())
    assert max(worst) < 0.5 * max(without)


def test_quantiles_of_two_laws():
    none = np.zeros(1)
    near, far, loose, chance = (np.array([10.0]), np.array([4.0]), none, none), 30.0, 90.0, 0.2
    for share in (0.025, 0.25, 0.5, 0.75, 0.975):
        at = quantile_of_two(near, np.array([far]), np.array([loose]), np.array([chance]), share)[0]
        below = (1 - chance) * stats.norm(10, 2).cdf(at) + chance * stats.norm(far, np.sqrt(loose)).cdf(at)
        assert below == pytest.approx(share, abs=1e-5)
    alone = quantile_of_two(near, np.array([far]), np.array([loose]), none, 0.25)[0]
    assert alone == pytest.approx(stats.norm(10, 2).ppf(0.25))


def test_rows_far_from_the_law_have_their_own_word():
    near, far = (words(away, 20.0, 5.0, 30.0, rare=0.05) for away in (2.0, 60.0))
    assert near.chance[0] < 0.05
    assert far.chance[0] > 0.99
    assert far.moved[0] == pytest.approx(60.0, abs=1.0)
    assert far.variance[0] == pytest.approx(30.0, rel=0.2)


def test_intensities_add_up_to_totals_that_are_surer_than_cells():
    """Columns of 12 and 25: their totals say it to a hundredth, where cells are 1 off."""
    world = publish_case("fixed", "independent", rng=np.random.default_rng(3))
    evidence = world.evidence()
    rough = world.counts * np.exp(np.random.default_rng(4).normal(0, 0.05, 24))[np.arange(960) % 24]
    raked = ShownTotals(evidence=evidence).raked(np.arange(960), rough)
    found, doubt = raked.mean, raked.doubt
    assert np.abs(found / world.counts - 1).max() < 0.03
    assert np.sqrt(np.mean((found / world.counts - 1) ** 2)) == pytest.approx(np.sqrt(doubt.mean()), rel=0.5)


@pytest.mark.parametrize("way", ["independent", "gaussian"])
def test_single_totals_of_full_or_empty_vehicles(way):
    """Intervals around a mean lay between no vehicle and one: those of 50 % held 59 to 63 % (in part), of which somebody who knows the law has 44."""
    said = []
    for seed in range(6):
        rng = np.random.default_rng([41, seed])
        world = publish_case("full or empty", way, rng=rng)
        said += ask_world(world, world.engine(), rng=rng, only_hidden=True)[:1]
    found = Tallied.of(said)
    assert 0.36 < found.half < 0.54
    assert found.wide > 0.92


def test_few_cells_of_a_row_that_is_nothing_like_the_law():
    """Its sum may lie where the laws of its cells have nothing."""
    law = law_of_few([0] * 3, [np.full(5, 0.2)] * 3, beside=words(60.0, 6.0, 2.0, 9.0, rare=0.05), group=0)
    low, high = law.interval(0.95)
    assert 59 <= low <= 66 <= high <= 73
    assert law.mass.sum() == pytest.approx(1.0)
