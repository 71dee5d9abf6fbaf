"""Searching for closed services, coupled cells, and the zero rule."""

import math

import numpy as np
import pytest
from scipy import stats

from noisegate.errors import DataError, SpecError
from noisegate.laws import DiscreteLaplace, Laplace, RoundedLaplace
from noisegate.recovery import compare, find_pairs, sharpen, weigh_zeros
from noisegate.recovery.equality import _log_two_counts, _noise

CUT = 18.0


def world(rng, series=40, days=7, bins=48, *, closed=(), scale=1.4, alike=False):
    """Published counts; `closed` lists (first, second, lag) of planted closed services."""
    shape = np.exp(0.8 * np.sin(np.linspace(0, 4 * math.pi, bins)))
    level = 40.0 if alike else np.exp(rng.normal(3.6, 0.8, size=(series, 1, 1)))
    raw = rng.poisson(np.broadcast_to(level * shape, (series, days, bins))).astype(float)
    for first, second, lag in closed:
        raw[first] = rng.poisson(40 * shape, size=(days, bins))
        raw[second, :, lag:] = raw[first, :, : bins - lag]
    values = raw + np.rint(rng.laplace(scale=scale, size=raw.shape))
    return np.where(values >= CUT, values, np.nan)


# --- the search ------------------------------------------------------------------------------------------


def test_planted_closed_services_are_found_with_their_lags_and_nothing_else():
    planted = {(0, 1): 2, (5, 9): 0, (20, 21): 7}
    cube = world(np.random.default_rng(1), closed=[(a, b, lag) for (a, b), lag in planted.items()])
    found = find_pairs(cube, cut=CUT)
    assert {(p.first, p.second): p.lag for p in found} == planted
    for pair in found:
        assert pair.equality.log_evidence > pair.needed
        assert pair.equality.spread < pair.equality.poisson_spread / 2
        assert pair.equality.doubt is None
        assert pair.equality.moments > 100


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_world_without_closed_services_reports_nothing(seed, alike):
    """Also when every series has the very same intensity at every moment."""
    assert find_pairs(world(np.random.default_rng(seed), alike=alike), cut=CUT) == ()


def test_sparse_series_that_barely_pass_the_cut_report_nothing():
    """Suppression squeezes what is published between 18 and 22: alike, and no evidence at all."""
    rng = np.random.default_rng(2)
    values = rng.poisson(11.0, size=(60, 14, 96)).astype(float)
    assert find_pairs(np.where(values >= CUT, values, np.nan), cut=CUT) == ()


def test_only_the_series_that_may_be_first_and_second_are_compared():
    cube = world(np.random.default_rng(3), closed=[(0, 1, 2), (5, 9, 1)])
    found = find_pairs(cube, cut=CUT, firsts=[0, 2, 4], seconds=[1, 9])
    assert [(p.first, p.second) for p in found] == [(0, 1)]
    assert find_pairs(cube, cut=CUT, firsts=[0], seconds=[1])[0].needed < found[0].needed
    assert find_pairs(cube, cut=CUT, firsts=[1], seconds=[0]) == ()


def test_copies_make_as_many_pairs_as_there_are_copies_not_their_square():
    """Each is paired with the first of its kind, and only that one is compared with the others."""
    cube = world(np.random.default_rng(4), closed=[(0, 1, 2)])
    many = np.concatenate(
        [cube, np.repeat(cube[:1], 200, axis=0), np.repeat(np.full_like(cube[:1], np.nan), 200, 0)]
    )
    found = find_pairs(many, cut=CUT)
    assert {(p.first, p.second, p.lag) for p in found} == {(0, 1, 2), *((0, 40 + i, 0) for i in range(200))}


def test_copies_that_only_come_first_share_the_partner_of_their_kind():
    cube = world(np.random.default_rng(4), closed=[(0, 1, 2)])
    many = np.concatenate([cube, np.repeat(cube[:1], 3, axis=0)])
    found = find_pairs(many, cut=CUT, firsts=[0, 2, 40, 41, 42], seconds=[1, 3])
    assert {(p.first, p.second, p.lag) for p in found} == {(i, 1, 2) for i in (0, 40, 41, 42)}


def test_counts_that_mostly_travel_together_are_doubted():
    """Nine riders in ten go from the first stop to the second: close, far closer than chance, not equal."""
    rng = np.random.default_rng(4)
    on = rng.poisson(rng.integers(20, 400, size=900)).astype(float)
    off = rng.binomial(on.astype(int), 0.95) + rng.poisson(0.05 * on)
    noise = np.rint(rng.laplace(scale=1.4, size=(2, 900)))
    found = compare(on + noise[0], off + noise[1], cut=1.0)
    assert found.log_evidence > 20
    assert "grow with the count" in found.doubt
    steady = rng.integers(95, 105, size=900)
    forgetful = rng.binomial(steady, 0.985)
    assert "larger throughout" in compare(steady + noise[0], forgetful + noise[1], cut=1.0).doubt


def test_a_busy_moment_without_a_partner_speaks_against_equality():
    rng = np.random.default_rng(5)
    x = rng.integers(30, 90, size=100).astype(float)
    y = x + np.rint(rng.laplace(scale=2, size=100))
    whole = compare(x, y, cut=CUT)
    y[:20] = np.nan
    torn = compare(x, y, cut=CUT)
    assert (torn.unmatched, torn.moments) == ((x[:20] > CUT + 3 * math.sqrt(CUT)).sum(), 80)
    assert torn.log_evidence < 0.6 * whole.log_evidence


def test_evidence_is_a_fair_bet_against_different_counts():
    """Under Poisson counts of one intensity the likelihood ratio has mean at most one."""
    rng = np.random.default_rng(6)
    ratio = []
    for _ in range(1500):
        x, y = rng.poisson(30.0, size=(2, 4)).astype(float)
        ratio.append(
            math.exp(
                compare(np.where(x >= CUT, x, np.nan), np.where(y >= CUT, y, np.nan), cut=CUT).log_evidence
            )
        )
    assert np.mean(ratio) < 1 + 4 * np.std(ratio) / math.sqrt(len(ratio))
    assert np.mean(np.array(ratio) > 20) < 1 / 20


def test_the_two_laws_of_a_difference_are_laws():
    """Given the sum, each adds up to one (the one for two counts: to at least one, being a supremum)."""
    least = 18
    for total in (40, 61, 200):
        most = total - 2 * least
        away = np.arange(total % 2, most + 1, 2)
        times = np.where(away == 0, 1, 2)
        s = np.full(len(away), float(total))
        one = np.exp(_noise(2.0).log_chance(away, np.full(len(away), most), s))
        two = np.exp(_log_two_counts(away, s, least=least))
        assert 0.95 < one @ times < 1.001
        split = stats.binom.pmf((total - away) / 2, total, 0.5)
        narrow = away <= math.sqrt(total)
        assert two[narrow] == pytest.approx(split[narrow] / (split @ times), rel=1e-9)
        assert two @ times >= 1 - 1e-9


def test_the_search_refuses_what_it_cannot_use():
    cube = np.full((3, 2, 10), 30.0)
    with pytest.raises(DataError, match="found 2 dimensions"):
        find_pairs(cube[0], cut=CUT)
    with pytest.raises(DataError, match="finite, or not-a-number"):
        find_pairs(np.where(cube > 0, np.inf, 0), cut=CUT)
    with pytest.raises(SpecError, match="lags must be from 0 to 9 bins"):
        find_pairs(cube, cut=CUT, lags=[10])
    with pytest.raises(SpecError, match="series numbers must be below 3"):
        find_pairs(cube, cut=CUT, firsts=[3])
    with pytest.raises(SpecError, match="false_alarm must be between 0 and 1"):
        find_pairs(cube, cut=CUT, false_alarm=0.0)


# --- coupled cells ---------------------------------------------------------------------------------------


def brute_posterior(values, laws, level):
    count = np.arange(400)
    weight = np.ones(400)
    for value, law in zip(values, laws, strict=True):
        weight *= np.exp(law.logpmf(value - count) if law.lattice else law.logpdf(value - count))
    weight /= weight.sum()
    mean = weight @ count
    below = np.cumsum(weight)
    low, high = (int(np.searchsorted(below, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    return math.sqrt(weight @ (count - mean) ** 2), high - low + 1


@pytest.mark.parametrize(
    "laws",
    [(RoundedLaplace(1.4), RoundedLaplace(1.4)), (DiscreteLaplace(2.0), Laplace(1.0))],
)
def test_sharpening_matches_the_posterior_over_all_counts(laws):
    first, second = np.array([88.0, 33, 20, 2]), np.array([86.0, 32, 27, 5])
    found = sharpen(first, second, laws=laws, level=0.9)
    for i, (x, y) in enumerate(zip(first, second, strict=True)):
        sd, width = brute_posterior([x], laws[:1], 0.9)
        assert found.sd_one[i] == pytest.approx(sd, rel=1e-6)
        assert found.width_one[i] == width
        sd, width = brute_posterior([x, y], laws, 0.9)
        assert found.sd_both[i] == pytest.approx(sd, rel=1e-6)
        assert found.width_both[i] == width


def test_two_records_of_a_ferry_are_sharper_by_the_root_of_two():
    rng = np.random.default_rng(7)
    values = 100 + np.rint(rng.laplace(scale=1.4, size=(2, 2000)))
    law = RoundedLaplace(1.4)
    assert 1.35 < sharpen(*values, laws=(law, law)).gain < 1.5


def test_sharpening_refuses_missing_values():
    law = RoundedLaplace(1.4)
    with pytest.raises(DataError, match="none of them missing"):
        sharpen([20.0, np.nan], [21.0, 22.0], laws=(law, law))
    with pytest.raises(SpecError, match="level"):
        sharpen([20.0], [21.0], laws=(law, law), level=0.0)


# --- the zero rule ---------------------------------------------------------------------------------------


def test_the_zero_rule_of_the_2016_recipe_cannot_be_told_from_a_fortnight():
    found = weigh_zeros(0, 430_000, law=RoundedLaplace(1.4), threshold=18)
    assert found.verdict == "cannot tell"
    assert found.chance == pytest.approx(0.5 * math.exp(-17.5 / 1.4), rel=1e-9)
    assert found.expected == pytest.approx(430_000 * found.chance)
    assert "empty cells would be needed" in found.statement
    needed = int(found.statement.split(";")[1].split()[0])
    assert weigh_zeros(0, needed, law=RoundedLaplace(1.4), threshold=18).verdict == "kept"
    assert weigh_zeros(0, needed - 1, law=RoundedLaplace(1.4), threshold=18).verdict == "cannot tell"


def test_the_zero_rule_is_told_where_noise_reaches_the_cut():
    law = DiscreteLaplace(5.0)
    q = math.exp(float(law.logsf(17)))
    cells = 5_000
    rng = np.random.default_rng(8)
    assert weigh_zeros(0, cells, law=law, threshold=18).verdict == "kept"
    verdicts = [
        weigh_zeros(int(rng.binomial(cells, q)), cells, law=law, threshold=18).verdict for _ in range(300)
    ]
    assert verdicts.count("perturbed") > 285
    assert "kept" not in verdicts


def test_more_published_cells_than_noise_makes_were_not_empty():
    found = weigh_zeros(40, 10_000, law=RoundedLaplace(1.4), threshold=18)
    assert found.verdict == "cannot tell"
    assert "were not empty" in found.statement


def test_the_cut_of_a_continuous_law_is_taken_as_it_is():
    found = weigh_zeros(0, 10, law=Laplace(1.4), threshold=18)
    assert found.chance == pytest.approx(0.5 * math.exp(-18 / 1.4), rel=1e-12)


def test_the_zero_rule_refuses_impossible_numbers():
    with pytest.raises(SpecError, match="published empty cells must be from 0 to 3"):
        weigh_zeros(4, 3, law=RoundedLaplace(1.4), threshold=18)
    with pytest.raises(SpecError, match="size"):
        weigh_zeros(0, 3, law=RoundedLaplace(1.4), threshold=18, size=2.0)
