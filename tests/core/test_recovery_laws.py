"""Laws of residuals against brute force: every raw count, every noise, no transform."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from noisegate.laws import DiscreteLaplace, LaplaceSum, RandomRounding, RoundedLaplace, convolve
from noisegate.recovery import (
    CANDIDATES,
    SHELLS,
    Points,
    ResidualLaw,
    columns,
    common_step,
    edge_density,
    lattice_for,
    margin_identities,
    observe,
    pair_identities,
    residual_identities,
)

SCALE = 1.4
REACH = 40


def points(name="rounded-laplace", ratio=1.0, **scales):
    scales = scales or {"table": SCALE}
    return Points(
        candidate=CANDIDATES[name],
        scales={table: np.array([float(scale)]) for table, scale in scales.items()},
        ratio=np.array([ratio]),
    )


def law_of(identities, at, noises=(1, 1), missing=0):
    """{residual: probability} of a sound identity."""
    lattice = lattice_for(identities, step=common_step([identities]), widest=4.0)
    table = ResidualLaw.at(identities, lattice, at).tables(noises, missing)[0, 0]
    return {k - len(table) // 2: p for k, p in enumerate(table)}


def pmf(law, reach=REACH):
    return {k: float(np.exp(law.logpmf(k))) for k in range(-reach, reach + 1)}


def residuals_of_about(spread, n=200):
    return np.rint(np.linspace(-2.5, 2.5, n) * spread)


# --- pairs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.0, 0.05, 0.4])
@pytest.mark.parametrize(("held", "pick"), [("smaller", min), ("larger", max)])
def test_pair_law_given_one_value_matches_a_sum_over_all_counts(held, pick, slope):
    """Counts with log-density -slope c; the law of y - x given min(x, y), or max, is summed up."""
    f = pmf(RoundedLaplace(SCALE))
    given = 100
    brute = {}
    for r in range(-15, 16):
        x = given if pick(0, r) == 0 else given - r
        y = x + r
        assert pick(x, y) == given
        brute[r] = sum(
            np.exp(-slope * (c - given)) * f.get(x - c, 0.0) * f.get(y - c, 0.0)
            for c in range(given - REACH, given + REACH + 1)
        )
    r0 = residuals_of_about(2.8)
    identities = replace(pair_identities(100 + 0 * r0, 100 + r0), held=held, edge=slope)
    ours = law_of(identities, points())
    inside = sum(ours[r] for r in brute)
    total = sum(brute.values())
    assert inside > 0.98
    for r, p in brute.items():
        assert ours[r] / inside == pytest.approx(p / total, rel=1e-9)


def test_pair_law_with_two_scales_and_two_cuts():
    """x has scale 1.4 and cut 18, y scale 3 and cut 30; held is the smaller height above its cut."""
    fx, fy, slope, height = pmf(RoundedLaplace(1.4), 60), pmf(RoundedLaplace(3.0), 90), 0.1, 7
    brute = {}
    for extra in range(-12, 13):
        x, y = 18 + height + max(-extra, 0), 30 + height + max(extra, 0)
        brute[y - x] = sum(
            np.exp(-slope * c) * fx.get(x - c, 0.0) * fy.get(y - c, 0.0) for c in range(-80, 140)
        )
    r0 = residuals_of_about(5.0) + 12
    identities = pair_identities(200 + 0 * r0, 200 + r0, cuts=(18, 30), tables=("on", "off"))
    identities = replace(identities, edge=slope)
    assert identities.shift == 12
    ours = law_of(identities, points(on=1.4, off=3.0))
    inside, total = sum(ours[r] for r in brute), sum(brute.values())
    for r, p in brute.items():
        assert ours[r] / inside == pytest.approx(p / total, rel=1e-8)


def test_without_suppression_the_pair_law_is_that_of_a_difference():
    r0 = residuals_of_about(2.8)
    ours = law_of(pair_identities(100 + 0 * r0, 100 + r0), points("discrete-laplace"))
    exact = DiscreteLaplace(SCALE).difference()
    for r in range(-20, 21):
        assert ours[r] == pytest.approx(float(np.exp(exact.logpmf(r))), rel=1e-9)


def test_one_sided_pairs_get_the_tail_and_both_ways_add_up_to_one():
    """Given the larger value, the partner is somewhere: seen at each distance, or suppressed."""
    cut, above = 18, 4
    x = np.array([22.0] * (2 * above + 1) + [22.0, np.nan])
    y = np.array([22.0 - d for d in range(above + 1)] + [22.0] * above + [np.nan, 22.0])
    x[above + 1 : 2 * above + 1] = 22.0 - np.arange(1, above + 1)
    identities = replace(pair_identities(x, y, cuts=(cut, cut), one_sided=True), edge=0.07)
    probability, times = columns([observe(identities, step=1.0, widest=4.0)], points())
    assert times.sum() == len(x)
    assert float(probability[0, 0] @ times) == pytest.approx(1.0, abs=1e-9)


# --- margins -------------------------------------------------------------------------------------


def test_margin_law_is_the_convolution_of_its_noises():
    r0 = residuals_of_about(8.0)
    identities = residual_identities(r0, noises=(4, 1))
    ours = law_of(identities, points(base=1.4, margin=2.5), noises=(4, 1))
    exact = convolve([RoundedLaplace(1.4)] * 4 + [RoundedLaplace(2.5)])
    for r in range(-30, 31, 3):
        assert ours[r] == pytest.approx(float(np.exp(exact.logpmf(r))), rel=1e-8)


def test_margin_law_with_thinning_counts_tilts_each_member():
    slope = 0.08
    tilted = {k: p * np.exp(slope * k) for k, p in pmf(RoundedLaplace(SCALE), 60).items()}
    total = sum(tilted.values())
    plain = pmf(RoundedLaplace(SCALE), 60)
    brute = dict.fromkeys(range(-15, 16), 0.0)
    for a, b in itertools.product(tilted, tilted):
        for r in brute:
            brute[r] += tilted[a] * tilted[b] * plain.get(r + a + b, 0.0) / total**2
    members = np.column_stack([np.arange(200.0) + 50, np.arange(200.0) + 50])
    identities = margin_identities(members.sum(axis=1) + residuals_of_about(3.5), members, cuts=(18, 35))
    ours = law_of(replace(identities, edge=slope), points(base=SCALE, margin=SCALE), noises=(2, 1))
    for r, p in brute.items():
        assert ours[r] == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 0.8])
def test_missing_member_follows_its_prior_times_its_chance_of_suppression(ratio):
    cut = 18
    law = RoundedLaplace(SCALE)
    f = pmf(law)
    counts = range(46)
    hidden = np.array([ratio**c * float(np.exp(law.logcdf(cut - 1 - c))) for c in counts])
    hidden /= hidden.sum()
    noise = np.convolve(list(f.values()), list(f.values()))
    brute = np.convolve(hidden, noise)
    members = np.column_stack([np.arange(300.0) + 50, np.full(300, np.nan)])
    totals = members[:, 0] + np.rint(np.linspace(0, 17, 300))
    identities = margin_identities(totals, members, cuts=(cut, 35))
    ours = law_of(replace(identities, edge=0.0), points(base=SCALE, margin=SCALE, ratio=ratio), missing=1)
    for r in range(-5, 26):
        assert ours[r] == pytest.approx(brute[r + 2 * REACH], rel=1e-4)


def test_a_row_that_would_have_been_suppressed_is_divided_out():
    members = np.array([[20.0, 20.0], [200.0, 200.0]])
    identities = margin_identities([41.0, 401.0], members, cuts=(18, 40))
    probability, _ = columns([observe(identities, step=1.0, widest=4.0)], points(base=SCALE, margin=SCALE))
    free = replace(identities, floor=np.full(2, -np.inf))
    unbound, times = columns([observe(free, step=1.0, widest=4.0)], points(base=SCALE, margin=SCALE))
    seen = np.sort(probability[0, 0])
    law = law_of(identities, points(base=SCALE, margin=SCALE), noises=(2, 1))
    above = sum(p for r, p in law.items() if r >= 0)
    assert times.tolist() == [2]
    assert seen == pytest.approx(
        np.sort([float(unbound[0, 0, 0]), float(unbound[0, 0, 0]) / above]), rel=1e-9
    )


# --- random rounding -------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("base", [3, 5])
def test_random_rounding_matches_every_remainder_and_every_choice(base, members):
    """All remainders of the members, each rounded up or down; the total has the remainder it must."""
    rounding = RandomRounding(base)
    brute = {}
    for counts in itertools.product(range(base), repeat=members):
        parts = [rounding.at(c) for c in counts] + [rounding.at(sum(counts))]
        choices = [[k for k in range(-base, base + 1) if np.exp(part.logpmf(k)) > 0] for part in parts]
        for noises in itertools.product(*choices):
            weight = np.prod([np.exp(part.logpmf(k)) for part, k in zip(parts, noises, strict=True)])
            r = noises[-1] - sum(noises[:-1])
            brute[r] = brute.get(r, 0.0) + float(weight) / base**members
    identities = residual_identities(base * residuals_of_about(1.0), noises=(members, 1))
    ours = law_of(identities, points("random-rounding", base=base, margin=base), noises=(members, 1))
    for r in range(-3 * base, 3 * base + 1):
        assert ours[r] == pytest.approx(brute.get(r, 0.0), abs=1e-12)


# --- lattices, shells, edges -------------------------------------------------------------------------


def test_contaminated_laws_are_laws_and_lie_in_their_shells():
    r0 = residuals_of_about(2.8)
    identities = pair_identities(100 + 0 * r0, 100 + r0)
    lattice = lattice_for(identities, step=1.0, widest=4.0)
    table = ResidualLaw.at(identities, lattice, points(table=0.2)).tables((1, 1), 0)[:, 0]
    assert table.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    away = np.abs(np.arange(table.shape[1]) - table.shape[1] // 2)
    for shell, law in zip(SHELLS, table[1:], strict=True):
        inside = (away >= shell * lattice.width - 2) & (away <= 2 * shell * lattice.width + 2)
        assert law[inside].sum() > 0.99


def test_unrounded_residuals_get_a_lattice_much_finer_than_the_noise():
    rng = np.random.default_rng(1)
    x = 100 + rng.laplace(scale=SCALE, size=(2, 500))
    identities = pair_identities(x[0], x[1])
    step = common_step([identities])
    assert step < SCALE / 10
    lattice = lattice_for(identities, step=step, widest=4.0)
    table = ResidualLaw.at(identities, lattice, points("laplace")).tables((1, 1), 0)[0, 0]
    at = np.array([0.0, 1.0, 4.0])
    density = table[np.rint(at / step).astype(int) + len(table) // 2] / step
    assert density == pytest.approx(np.exp(LaplaceSum(SCALE, 2).logpdf(at)), rel=0.02)


@pytest.mark.parametrize("mean", [10.0, 30.0, 200.0])
def test_edge_density_of_exponential_counts_is_one_over_their_mean(mean):
    rng = np.random.default_rng(2)
    values = 18 + np.floor(rng.exponential(mean, size=200_000))
    found = edge_density(values, cut=18.0, window=8.0, step=1.0)
    assert found == pytest.approx(1 / mean, rel=0.03)


def test_edge_density_is_zero_far_from_the_cut_or_without_one():
    values = np.arange(100.0, 200.0)
    assert edge_density(values, cut=18.0, window=8.0, step=1.0) == 0.0
    assert edge_density(values, cut=-np.inf, window=8.0, step=1.0) == 0.0
