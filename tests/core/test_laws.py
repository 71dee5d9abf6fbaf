"""Noise laws against mpmath, far into the tails."""

import math

import mpmath as mp
import numpy as np
import pytest

from noisegate.errors import RandomnessError, SpecError
from noisegate.laws import (
    LAWS,
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LaplaceSum,
    PointMass,
    RandomRounding,
    RoundedGaussian,
    RoundedLaplace,
    SeededNoise,
    Tabulated,
    convolve,
    make_law,
)

TIGHT = 1e-12
SCALES = [0.3, 1.4, 17.0]


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(60):
        yield


def close(log_value, expected):
    """Relative error of exp(log_value) against an mpmath probability."""
    return abs(mp.mpf(float(log_value)) - mp.log(expected)) < TIGHT


# --- the laws, written a second time in mpmath -------------------------------------------------


def mp_laplace(scale):
    b = mp.mpf(scale)
    return (
        lambda x: mp.exp(-abs(mp.mpf(x)) / b) / (2 * b),
        lambda x: mp.exp(-mp.mpf(x) / b) / 2 if x >= 0 else 1 - mp.exp(mp.mpf(x) / b) / 2,
    )


def mp_rounded_laplace(scale):
    above = mp_laplace(scale)[1]
    return lambda k: above(k - mp.mpf("0.5")) - above(k + mp.mpf("0.5")), lambda k: above(k + mp.mpf("0.5"))


def mp_discrete(weight, reach):
    total = mp.fsum(weight(k) for k in range(-reach, reach + 1))
    return lambda k: weight(k) / total, lambda k: mp.fsum(weight(j) for j in range(k + 1, k + reach)) / total


def mp_discrete_laplace(scale):
    q = mp.exp(-1 / mp.mpf(scale))
    return (
        lambda k: (1 - q) / (1 + q) * q ** abs(k),
        lambda k: q ** (k + 1) / (1 + q) if k >= 0 else 1 - q ** (-k) / (1 + q),
    )


def mp_discrete_gaussian(scale):
    s = mp.mpf(scale)
    return mp_discrete(lambda k: mp.exp(-(mp.mpf(k) ** 2) / (2 * s**2)), math.ceil(60 * scale) + 3)


def mp_gaussian(scale):
    s = mp.mpf(scale)
    return lambda x: mp.npdf(x, 0, s), lambda x: mp.erfc(mp.mpf(x) / (s * mp.sqrt(2))) / 2


def mp_rounded_gaussian(scale):
    above, half = mp_gaussian(scale)[1], mp.mpf("0.5")
    return lambda k: above(abs(k) - half) - above(abs(k) + half), lambda k: above(k + half)


ORACLES = {
    Laplace: mp_laplace,
    RoundedLaplace: mp_rounded_laplace,
    DiscreteLaplace: mp_discrete_laplace,
    Gaussian: mp_gaussian,
    RoundedGaussian: mp_rounded_gaussian,
    DiscreteGaussian: mp_discrete_gaussian,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("family", ORACLES)
def test_law_matches_mpmath_out_to_forty_scales(family, scale):
    law = family(scale)
    prob, above = ORACLES[family](scale)
    far = 36 if family is RoundedGaussian else 40
    points = sorted({round(scale * m) for m in (-far, -12, -3, -1, 0, 1, 2, 5, 12, 25, far)})
    log_prob = law.logpmf if law.lattice else law.logpdf
    for k in points:
        assert close(log_prob(k), prob(k)), ("prob", k)
        assert close(law.logsf(k), above(k)), ("sf", k)
        below = above(-k - 1) if law.lattice else above(-k)
        assert close(law.logcdf(k), below), ("cdf", k)


@pytest.mark.parametrize(("n", "scale"), [(2, 0.6), (3, 1.4), (7, 17.0)])
def test_sum_of_laplace_matches_the_gamma_integral(n, scale):
    law, b = Laplace(scale).sum_of(n), mp.mpf(scale)

    def gamma_pdf(y):
        return y ** (n - 1) * mp.exp(-y / b) / (mp.gamma(n) * b**n)

    def gamma_sf(y):
        return mp.gammainc(n, y / b, regularized=True)

    for m in (0, 0.5, 3, 40):
        s = mp.mpf(scale) * m
        grid = [0, scale, 5 * scale, 20 * scale, mp.inf]
        assert close(law.logpdf(float(s)), mp.quad(lambda y, s=s: gamma_pdf(y) * gamma_pdf(y + s), grid))
        assert close(law.logsf(float(s)), mp.quad(lambda y, s=s: gamma_pdf(y) * gamma_sf(y + s), grid))


def test_sum_of_three_laplace_is_the_printed_polynomial():
    x = np.array([0.0, 0.7, 3.0, 40.0])
    law = Laplace(1.4).sum_of(3)
    u = x / 1.4
    np.testing.assert_allclose(law.logpdf(x), np.log((u**2 + 3 * u + 3) / (16 * 1.4)) - u, rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.logsf(x), np.log((u**2 + 5 * u + 8) / 16) - u, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("family", [DiscreteLaplace, RoundedLaplace, DiscreteGaussian])
def test_lattice_sums_match_brute_force_convolution(family, n):
    scale = 1.4
    single = ORACLES[family](scale)[0]
    half = math.ceil(150 * scale) if family is not DiscreteGaussian else math.ceil(42 * scale)
    base = {k: single(k) for k in range(-half, half + 1)}
    law = family(scale).sum_of(n)
    dense = [mp.mpf(0)] * (2 * half + 1)
    dense[half] = mp.mpf(1)
    for _ in range(n):
        dense = [
            mp.fsum(
                dense[j + half] * base[k - j] for j in range(max(-half, k - half), min(half, k + half) + 1)
            )
            for k in range(-half, half + 1)
        ]
    for m in (0, 1, 4, 12, 40):
        k = round(m * scale)
        if k > half // 2:
            continue
        assert close(law.logpmf(k), dense[k + half]), k
        assert close(law.logsf(k), mp.fsum(dense[k + half + 1 :])), k


def test_sum_of_97_discrete_laplace_stays_exact_in_the_far_tail():
    n, scale = 97, 1.4
    q = mp.exp(-1 / mp.mpf(scale))
    law = DiscreteLaplace(scale).sum_of(n)
    for k in (0, 20, 56, 200):
        expected = (1 - q) ** (2 * n) * mp.nsum(
            lambda j, k=k: mp.binomial(n + j - 1, j) * mp.binomial(n + j + k - 1, j + k) * q ** (2 * j + k),
            [0, mp.inf],
        )
        assert close(law.logpmf(k), expected)


@pytest.mark.parametrize("name", LAWS)
def test_variance_and_total_mass(name):
    law = make_law(name, scale=3)
    for one in (law, law.sum_of(3), law.difference()):
        if not one.lattice:
            x = np.linspace(-150, 150, 600_001)
            mass = np.exp(one.logpdf(x)) * (x[1] - x[0])
            rtol = 1e-6
        else:
            x = np.arange(-400, 401)
            mass, rtol = np.exp(one.logpmf(x)), 1e-11
        assert mass.sum() == pytest.approx(1, rel=rtol)
        assert mass @ x**2 == pytest.approx(one.variance, rel=max(rtol, 1e-9))
    assert law.sum_of(3).variance == pytest.approx(3 * law.variance)


@pytest.mark.parametrize("name", LAWS)
def test_cdf_and_sf_complement_each_other_and_between_adds_up(name):
    law = make_law(name, scale=2)
    x = np.arange(-9, 10) + (0.0 if law.lattice else 0.25)
    np.testing.assert_allclose(np.exp(law.logcdf(x)) + np.exp(law.logsf(x)), 1, rtol=1e-14)
    np.testing.assert_allclose(
        np.exp(law.log_between(x[:-1], x[1:])).sum(),
        np.exp(law.logcdf(x[-1])) - np.exp(law.logcdf(x[0])),
        rtol=1e-12,
    )


@pytest.mark.parametrize("name", LAWS)
def test_simulation_draws_follow_the_law(name):
    law = make_law(name, scale=2)
    draws = law.sample(200_000, rng=np.random.default_rng(7))
    assert abs(draws.mean()) < 6 * math.sqrt(law.variance / 200_000)
    for x in (-3, 0, 2):
        p = math.exp(law.logcdf(x))
        assert abs((draws <= x).mean() - p) < 6 * math.sqrt(p * (1 - p) / 200_000 + 1e-12)


def test_different_laws_convolve():
    total = convolve([DiscreteLaplace(1.4), BoundedUniform(2), PointMass()])
    by_hand = sum(math.exp(DiscreteLaplace(1.4).logpmf(5 - j)) / 5 for j in range(-2, 3))
    assert math.exp(total.logpmf(5)) == pytest.approx(by_hand, rel=1e-13)


def test_random_rounding_is_unbiased_at_every_count():
    law = RandomRounding(3)
    for count in range(7):
        noise = law.at(count)
        assert noise.mean == pytest.approx(0, abs=1e-15)
        values = count + np.arange(-3, 4)
        assert np.exp(noise.logpmf(np.arange(-3, 4)))[values % 3 == 0].sum() == pytest.approx(1)
    mixture = np.mean([np.exp(law.at(c).logpmf(np.arange(-3, 4))) for c in range(3)], axis=0)
    np.testing.assert_allclose(np.exp(law.logpmf(np.arange(-3, 4))), mixture, atol=1e-15)


def test_lattice_laws_know_only_integers():
    assert DiscreteLaplace(1.4).logpmf(0.5) == -np.inf
    assert float(DiscreteLaplace(1.4).logsf(2.9)) == float(DiscreteLaplace(1.4).logsf(2))


def test_rounding_a_sum_of_laplace():
    lattice = LaplaceSum(1.4, 3).rounded()
    assert isinstance(lattice, Tabulated)
    k = np.arange(-40, 41)
    np.testing.assert_allclose(
        lattice.logpmf(k), LaplaceSum(1.4, 3).log_between(k - 0.5, k + 0.5), atol=1e-11
    )


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "wide", None])
def test_bad_scales_are_refused_in_one_sentence(name, scale):
    with pytest.raises(SpecError, match=r"must be .* got") as caught:
        make_law(name, scale=scale)
    assert "\n" not in str(caught.value)


def test_unknown_law_names_the_nearest():
    with pytest.raises(SpecError, match="Did you mean 'laplace'"):
        make_law("laplas", scale=1)


def test_the_two_kinds_of_randomness_do_not_mix():
    law = DiscreteLaplace(1.4)
    with pytest.raises(RandomnessError, match=r"numpy\.random\.Generator, got SeededNoise"):
        law.sample(3, rng=SeededNoise(seed=1))
    with pytest.raises(RandomnessError, match="an Entropy source, got Generator"):
        law.draw(3, entropy=np.random.default_rng(1))


def test_continuous_noise_cannot_be_published():
    assert not hasattr(Laplace(1.4), "draw")
    with pytest.raises(SpecError, match="cannot be published"):
        RoundedGaussian(2.0).draw(3, entropy=SeededNoise(seed=1))
