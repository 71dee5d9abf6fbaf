"""Fitting the noise: what is found, how sure it is, and when it is refused."""

import numpy as np
import pytest

from noisegate.errors import DataError, RandomnessError, SpecError
from noisegate.laws import PointMass, RoundedLaplace
from noisegate.recovery import (
    CANDIDATES,
    difference_curve,
    fit_noise,
    margin_identities,
    pair_identities,
    residual_identities,
)

CUT = 18.0


def laplace(rng, scale, size):
    return np.rint(rng.laplace(scale=scale, size=size))


def pairs(rng, n, *, scale=1.4, raw=None, cut=None):
    """Pairs of one raw count with rounded Laplace noise; values below the cut are not-a-number."""
    count = rng.integers(50, 400, size=n) if raw is None else raw
    values = count + laplace(rng, scale, (2, len(count)))
    return values if cut is None else np.where(values >= cut, values, np.nan)


# --- what is found -----------------------------------------------------------------------------------


def test_laplace_pairs_give_back_their_law_and_scale():
    fit = fit_noise(pair_identities(*pairs(np.random.default_rng(1), 2000)))
    assert (fit.law, fit.rounding, fit.name) == ("laplace", "nearest", "rounded-laplace")
    assert fit.interval[0] < 1.4 < fit.interval[1]
    assert fit.interval[1] - fit.interval[0] < 0.25
    assert fit.refusal is None
    assert fit.n == 2000
    assert fit.contamination < 0.01
    assert fit.noise == RoundedLaplace(fit.scale)


def test_the_evidence_names_every_law_and_adds_up_to_one():
    fit = fit_noise(pair_identities(*pairs(np.random.default_rng(2), 400)))
    assert set(fit.evidence) == {
        "rounded-laplace",
        "discrete-laplace",
        "rounded-gaussian",
        "discrete-gaussian",
        "uniform",
    }
    assert sum(e.probability for e in fit.evidence.values()) == pytest.approx(1.0)
    named = fit.evidence[fit.name]
    assert (named.scale, named.interval) == (fit.scale, fit.interval)
    for one in fit.evidence.values():
        assert one.interval[0] <= one.scale <= one.interval[1]


def test_rounded_and_discrete_laplace_are_not_told_apart_from_few_pairs_and_it_says_so():
    fit = fit_noise(pair_identities(*pairs(np.random.default_rng(3), 300)))
    assert not fit.told_apart
    assert fit.evidence["discrete-laplace"].probability > 0.05


@pytest.mark.parametrize(("truth", "other"), [("rounded-laplace", 0), ("discrete-laplace", 1)])
def test_they_are_told_apart_at_a_small_scale_from_many_pairs(truth, other):
    rng = np.random.default_rng(4 + other)
    law = CANDIDATES[truth].make(0.7)
    count = rng.integers(50, 400, size=6000)
    fit = fit_noise(pair_identities(count + law.sample(6000, rng=rng), count + law.sample(6000, rng=rng)))
    assert fit.name == truth
    assert fit.told_apart


def test_other_families_are_named_for_what_they_are():
    rng = np.random.default_rng(5)
    count = rng.integers(50, 400, size=600)
    for name, scale in [("rounded-gaussian", 2.0), ("uniform", 3)]:
        law = CANDIDATES[name].make(scale)
        noise = [law.sample(600, rng=rng) for _ in range(2)]
        fit = fit_noise(pair_identities(count + noise[0], count + noise[1]))
        assert fit.name == name
        assert fit.interval[0] <= scale <= fit.interval[1]


def test_a_law_that_is_likely_but_not_clear_is_a_rival_and_not_named():
    """Draws of Gaussian noise in which it leads: from so few it is named from 98 in a hundred on, and a rival below."""
    rng, unclear = np.random.default_rng(6), 0
    for _ in range(30):
        noise = np.rint(rng.normal(scale=2.0, size=(2, 100)))
        fit = fit_noise(pair_identities(*(100 + noise)))
        share = {name: one.probability for name, one in fit.evidence.items()}
        gaussian = share["rounded-gaussian"] + share["discrete-gaussian"]
        assert ("gaussian" in fit.law) == (gaussian >= 0.98)
        if 0.5 < gaussian < 0.98:
            unclear += 1
            assert fit.law == "laplace"
            assert fit.rivals["gaussian"] == pytest.approx(gaussian)
            assert fit.certainty == pytest.approx(share["rounded-laplace"] + share["discrete-laplace"])
    assert unclear >= 3


@pytest.mark.parametrize("base", [3, 10])
def test_random_rounding_is_named_with_its_base(base):
    rng = np.random.default_rng(6)
    count = rng.integers(50, 400, size=200)
    up = rng.random((2, 200)) * base < count % base
    values = count - count % base + base * up
    fit = fit_noise(pair_identities(*values.astype(float)))
    assert (fit.law, fit.scale, fit.interval) == ("random-rounding", base, (base, base))
    assert fit.evidence["random-rounding"].probability > 0.999
    assert fit.refusal is None


def test_values_that_are_not_whole_have_not_been_rounded():
    rng = np.random.default_rng(7)
    values = 100 + rng.laplace(scale=1.4, size=(2, 600))
    fit = fit_noise(pair_identities(*values))
    assert (fit.law, fit.rounding) == ("laplace", "none")
    assert set(fit.evidence) == {"laplace", "gaussian"}
    assert fit.interval[0] < 1.4 < fit.interval[1]


@pytest.mark.parametrize("scale", [0.4, 20.0, 400.0])
def test_small_and_large_scales_are_found_as_well(scale):
    rng = np.random.default_rng(80)
    values = pairs(rng, 800, scale=scale, raw=rng.integers(10**4, 10**5, size=800))
    fit = fit_noise(pair_identities(*values), laws=("rounded-laplace", "rounded-gaussian"))
    assert fit.law == "laplace"
    assert fit.interval[0] < scale < fit.interval[1]
    assert fit.interval[1] / fit.interval[0] < 1.4


def test_identities_that_hold_exactly_mean_no_noise():
    fit = fit_noise(pair_identities(np.arange(50.0), np.arange(50.0)))
    assert (fit.law, fit.scale, fit.noise) == ("none", 0.0, PointMass())
    assert 0 < fit.interval[1] < 0.2
    assert "hold exactly" in fit.goodness.statement


def test_a_lower_level_gives_a_shorter_interval_inside():
    identities = pair_identities(*pairs(np.random.default_rng(9), 300))
    wide, narrow = (fit_noise(identities, level=level) for level in (0.99, 0.5))
    assert wide.interval[0] < narrow.interval[0] < wide.scale < narrow.interval[1] < wide.interval[1]


# --- suppression ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("thinning", lambda rng, n: np.floor(rng.exponential(10, size=n))),
        ("around the cut", lambda rng, n: rng.poisson(20, size=n)),
    ],
)
def test_truncation_matters_and_is_modelled(name, raw):
    """Both values of a pair passed the cut: the plain standard deviation is biased, the fit is not."""
    del name
    rng = np.random.default_rng(10)
    values = pairs(rng, 0, raw=raw(rng, 120_000), cut=CUT)
    both = ~np.isnan(values).any(axis=0)
    x, y = values[:, both][:, :15_000]
    n = len(x)
    assert n > 10_000
    plain = np.sqrt((np.var(y - x) - 1 / 6) / 4)
    error = 1.4 * 1.0 / np.sqrt(n)
    assert plain < 1.4 - 5 * error
    fit = fit_noise(pair_identities(x, y, cuts=(CUT, CUT)), laws=("rounded-laplace",))
    assert abs(fit.scale - 1.4) < 0.04
    assert abs(fit.scale - 1.4) < abs(plain - 1.4) / 2
    naive = fit_noise(pair_identities(x, y), laws=("rounded-laplace",))
    assert naive.interval[1] < 1.4


def test_zeros_for_suppressed_partners_would_ruin_a_plain_estimate_and_help_ours():
    rng = np.random.default_rng(11)
    values = pairs(rng, 0, raw=np.floor(rng.exponential(30, size=6000)), cut=CUT)
    seen = ~np.isnan(values).all(axis=0)
    filled = np.nan_to_num(values[:, seen])
    assert np.std(filled[1] - filled[0]) / 2 > 2.0
    fit = fit_noise(
        pair_identities(*values[:, seen], cuts=(CUT, CUT), one_sided=True), laws=("rounded-laplace",)
    )
    assert abs(fit.scale - 1.4) < 0.08
    assert fit.refusal is None


# --- margins -------------------------------------------------------------------------------------------


def margins(rng, n, *, members=3, scales=(1.4, 1.4), mean=80.0, cuts=(18.0, 35.0)):
    count = np.floor(rng.exponential(mean, size=(n, members)))
    parts = count + laplace(rng, scales[0], count.shape)
    total = count.sum(axis=1) + laplace(rng, scales[1], n)
    keep = total >= cuts[1]
    return total[keep], np.where(parts >= cuts[0], parts, np.nan)[keep]


def test_complete_margins_give_the_scale_that_both_tables_share():
    total, parts = margins(np.random.default_rng(12), 1500)
    identities = margin_identities(total, parts, cuts=(18, 35), most_missing=0)
    fit = fit_noise(identities, shared=True, laws=("rounded-laplace",))
    assert fit.interval[0] < 1.4 < fit.interval[1]
    assert fit.refusal is None


def test_rows_with_missing_members_still_tell_the_scale():
    total, parts = margins(np.random.default_rng(13), 500, mean=40)
    identities = margin_identities(total, parts, cuts=(18, 35), most_missing=1)
    assert (identities.missing > 0).sum() > 100
    fit = fit_noise(identities, shared=True, laws=("rounded-laplace",))
    assert fit.interval[0] < 1.4 < fit.interval[1]
    assert fit.interval[1] - fit.interval[0] < 0.8
    assert fit.refusal is None


def test_two_tables_with_two_scales():
    rng = np.random.default_rng(14)
    base = pair_identities(*pairs(rng, 300), tables=("base", "base"))
    total, parts = margins(rng, 500, scales=(1.4, 4.0))
    both = [base, margin_identities(total, parts, cuts=(18, 35), most_missing=0)]
    for table, scale in [("base", 1.4), ("margin", 4.0)]:
        fit = fit_noise(both, table=table, laws=("rounded-laplace",))
        assert fit.table == table
        assert fit.interval[0] < scale < fit.interval[1]
        assert len(fit.others) == 1


def test_bare_residuals_of_many_noises():
    rng = np.random.default_rng(15)
    noises = rng.choice([60, 72, 96], size=40)
    residual = [laplace(rng, 1.4, k + 1).sum() for k in noises]
    identities = residual_identities(residual, noises=np.column_stack([noises, np.ones(40, int)]))
    fit = fit_noise(identities, shared=True)
    assert fit.law == "laplace"
    assert fit.interval[0] < 1.4 < fit.interval[1]
    # A sum of so many noises is normal whatever they are, and the evidence says that it cannot tell.
    assert fit.evidence["rounded-gaussian"].probability > 0.02


# --- contamination and refusal --------------------------------------------------------------------------


def test_a_few_identities_that_are_off_do_not_widen_the_noise():
    rng = np.random.default_rng(16)
    x, y = pairs(rng, 1000)
    late = rng.random(1000) < 0.04
    y = y + late * rng.integers(15, 60, size=1000) * rng.choice([-1, 1], size=1000)
    assert np.std(y - x) / 2 > 2.5
    fit = fit_noise(pair_identities(x, y))
    assert fit.law == "laplace"
    assert fit.interval[0] < 1.4 < fit.interval[1]
    assert 0.02 < fit.contamination < 0.06
    assert fit.refusal is None


def test_riders_who_forget_to_tap_off_are_noticed():
    rng = np.random.default_rng(17)
    count = rng.integers(50, 200, size=300)
    off = rng.binomial(count, 0.98)
    fit = fit_noise(pair_identities(count + laplace(rng, 1.4, 300), off + laplace(rng, 1.4, 300)))
    assert fit.refusal is not None
    assert fit.refusal.startswith(
        "these do not look like equal counts: the second side is smaller throughout"
    )


def test_differences_that_grow_with_the_count_are_noticed():
    rng = np.random.default_rng(18)
    count = rng.integers(20, 1000, size=400)
    off = rng.binomial(count, 0.9) + rng.poisson(0.1 * count)
    fit = fit_noise(pair_identities(count + laplace(rng, 1.4, 400), off + laplace(rng, 1.4, 400)))
    assert fit.refusal is not None
    assert "grow with the count" in fit.refusal


def test_identities_of_which_many_are_off_are_refused():
    rng = np.random.default_rng(19)
    x, y = pairs(rng, 400, scale=0.8)
    off = rng.random(400) < 0.25
    y = y + off * rng.choice([-12, -8, 8, 12], size=400)
    fit = fit_noise(pair_identities(x, y), laws=("rounded-laplace",))
    assert "of the identities are off by more than noise" in fit.refusal


def test_differences_that_no_law_explains_are_refused():
    rng = np.random.default_rng(20)
    x = rng.integers(100, 900, size=600)
    y = x + rng.choice([-4, 0, 4], size=600, p=[0.45, 0.1, 0.45])
    refusal = fit_noise(pair_identities(x, y), laws=("rounded-laplace", "discrete-laplace")).refusal
    assert refusal is not None
    assert "none of the noise laws" in refusal


# --- the picture ----------------------------------------------------------------------------------------


def test_the_curve_holds_what_was_seen_what_was_expected_and_a_simulation():
    rng = np.random.default_rng(21)
    x, y = pairs(rng, 500)
    curve = difference_curve(fit_noise(pair_identities(x, y)), rng=rng)
    values, times = np.unique(y - x, return_counts=True)
    shown = dict(zip(curve.difference.tolist(), curve.observed.tolist(), strict=True))
    assert all(shown[v] == t for v, t in zip(values.tolist(), times.tolist(), strict=True))
    assert np.diff(curve.difference) == pytest.approx(1.0)
    assert curve.observed.sum() == curve.simulated.sum() == 500
    assert curve.expected.sum() == pytest.approx(500, rel=1e-3)
    deviation = (curve.observed - curve.expected) ** 2 / np.maximum(curve.expected, 1.0)
    assert deviation.sum() < 60


def test_the_curve_needs_noise_and_a_generator():
    fit = fit_noise(pair_identities(np.arange(50.0), np.arange(50.0)))
    with pytest.raises(DataError, match="no differences to draw"):
        difference_curve(fit, rng=np.random.default_rng(1))
    with pytest.raises(RandomnessError):
        difference_curve(fit, rng=1)


# --- what is refused in words ---------------------------------------------------------------------------


def test_bad_requests_are_refused_in_words():
    few = pair_identities([20, 30], [21, 30])
    good = pair_identities(*pairs(np.random.default_rng(22), 30), tables=("a", "a"))
    with pytest.raises(DataError, match="2 identities are too few"):
        fit_noise(few)
    with pytest.raises(SpecError, match="level must be between 0 and 1"):
        fit_noise(good, level=1.0)
    with pytest.raises(SpecError, match=r"law must be one of .* Did you mean 'rounded-laplace'"):
        fit_noise(good, laws=("rounded-laplac",))
    with pytest.raises(SpecError, match="table must be one of a, got 'b'"):
        fit_noise(good, table="b")
    with pytest.raises(SpecError, match="none of the laws gaussian makes residuals that are whole"):
        fit_noise(good, laws=("gaussian",))
    three = [
        residual_identities([1, 2, -1, 0, 3], noises=(2, 1), tables=("a", other)) for other in ("b", "c")
    ]
    with pytest.raises(SpecError, match="the scales of 3 tables cannot be told apart"):
        fit_noise(three)
    assert fit_noise(three, shared=True).n == 10


def test_a_set_without_rows_changes_nothing():
    good = pair_identities(*pairs(np.random.default_rng(23), 60), tables=("a", "a"))
    empty = good.take(np.array([], dtype=int))
    assert fit_noise([good, empty]).interval == fit_noise(good).interval
    with pytest.raises(DataError, match="0 identities are too few"):
        fit_noise(empty)


def test_a_few_even_residuals_are_no_sign_of_random_rounding():
    few = residual_identities([2, -4, 0, 6, -2, 2], noises=(1, 1))
    assert "random-rounding" not in fit_noise(few, shared=True).evidence
