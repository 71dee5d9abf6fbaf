"""Every exact sampler on the operating system's bits: the true law is accepted, one 10 % off is caught.

Chi-square over cells that hold about equal shares under the true law, so tails are pooled.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from noisegate.laws import OsNoise, exact

SIZE, POWER = 1e-9, 1e-9
DRAWS = 200_000
CELLS = 40


def chi_square_p(seen, shares):
    """Chance of cell counts at least this far from their shares."""
    expected = np.asarray(shares, float) / np.sum(shares) * np.sum(seen)
    possible = expected > 0
    if np.any(np.asarray(seen)[~possible]):
        return 0.0
    return stats.chisquare(np.asarray(seen)[possible], expected[possible]).pvalue


def law_p(drawn, cdf, edges):
    """Chi-square p-value of draws in the cells between edges, for a law with this cdf."""
    below = np.concatenate([[0.0], [cdf(int(edge)) for edge in edges], [1.0]])
    seen = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(edges) + 1)
    return chi_square_p(seen, np.diff(below))


def edges_of(drawn):
    """Cell edges from quantiles of a separate sample, so that they do not depend on what is tested."""
    return np.unique(np.quantile(drawn, np.linspace(0, 1, CELLS + 1)[1:-1], method="lower"))


def laplace_cdf(scale, *, zero_share):
    """Of a law with P(0) = zero_share and equal, geometrically falling sides."""
    ratio = math.exp(-1 / scale)

    def cdf(k):
        side = (1 - zero_share) / 2
        return side * ratio ** (-k - 1) if k < 0 else 1 - side * ratio**k

    return cdf


def discrete_laplace_cdf(scale):
    return laplace_cdf(scale, zero_share=math.tanh(1 / (2 * scale)))


def rounded_laplace_cdf(scale):
    return laplace_cdf(scale, zero_share=-math.expm1(-1 / (2 * scale)))


def gaussian_cdf(sigma, above=None):
    """Of discrete Gaussian noise, perhaps given that it exceeds `above`."""
    first = -math.ceil(12 * sigma) if above is None else above + 1
    k = np.arange(first, first + 2 * math.ceil(12 * sigma) + 1)
    cumulative = np.cumsum(np.exp(-(k**2 - (0 if above is None else first**2)) / (2 * sigma**2)))
    return lambda at: float(cumulative[min(at - first, k.size - 1)] / cumulative[-1]) if at >= first else 0.0


def geometric_cdf(success, start=0):
    return lambda k: -math.expm1((k - start + 1) * math.log1p(-success)) if k >= start else 0.0


def uniform_cdf(width):
    return lambda k: min(max((k + width + 1) / (2 * width + 1), 0), 1)


# For each: the parameter, how to draw, and the cdf for a parameter.
LAWS = {
    "discrete Laplace, one table": (1.4, exact.discrete_laplace, discrete_laplace_cdf),
    "discrete Laplace, many outcomes": (40, exact.discrete_laplace, discrete_laplace_cdf),
    "discrete Laplace, one digit": (1000.0, exact.discrete_laplace, discrete_laplace_cdf),
    "discrete Laplace, four digits": (1e11, exact.discrete_laplace, discrete_laplace_cdf),
    "rounded Laplace": (1.4, exact.rounded_laplace, rounded_laplace_cdf),
    "rounded Laplace, one digit": (1000, exact.rounded_laplace, rounded_laplace_cdf),
    "discrete Gaussian": (1.4, exact.discrete_gaussian, gaussian_cdf),
    "discrete Gaussian, mostly undecided": (8000, exact.discrete_gaussian, gaussian_cdf),
    "uniform": (10, exact.uniform, uniform_cdf),
    "uniform, 64-bit words": (10**9, exact.uniform, uniform_cdf),
    "geometric": (0.3, exact.geometric, geometric_cdf),
    "geometric, long gaps": (1e-12, exact.geometric, geometric_cdf),
    "discrete Laplace above 18": (
        1.4,
        lambda scale, size, entropy: exact.discrete_laplace_above(scale, 18, size, entropy=entropy),
        lambda scale: geometric_cdf(-math.expm1(-1 / scale), 19),
    ),
    "rounded Laplace above 18": (
        1.4,
        lambda scale, size, entropy: exact.rounded_laplace_above(scale, 18, size, entropy=entropy),
        lambda scale: geometric_cdf(-math.expm1(-1 / scale), 19),
    ),
    "discrete Gaussian above 12": (
        6,
        lambda sigma, size, entropy: exact.discrete_gaussian_above(sigma, 12, size, entropy=entropy),
        lambda sigma: gaussian_cdf(sigma, above=12),
    ),
    "uniform above 2": (
        10,
        lambda width, size, entropy: exact.uniform_above(width, 2, size, entropy=entropy),
        lambda width: lambda k: min(max((k - 2) / (width - 2), 0), 1),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_true_law_is_accepted_and_one_a_tenth_off_is_rejected(name):
    parameter, draw, cdf = LAWS[name]
    edges = edges_of(draw(parameter, DRAWS, entropy=OsNoise()))
    drawn = draw(parameter, DRAWS, entropy=OsNoise())
    assert law_p(drawn, cdf(parameter), edges) > SIZE
    for off in (0.9, 1.1):
        assert law_p(drawn, cdf(off * parameter), edges) < POWER


@pytest.mark.parametrize("scale", [65, 80])
def test_low_digits_follow_the_law_too(scale):
    k = np.arange(-(1 << 14), 1 << 14)

    def shares(of):
        return np.bincount(k % 256, np.exp(-np.abs(k) / of), minlength=256)

    drawn = exact.discrete_laplace(scale, DRAWS, entropy=OsNoise())
    seen = np.bincount(drawn % 256, minlength=256)
    assert chi_square_p(seen, shares(scale)) > SIZE
    for off in (0.9, 1.1):
        assert chi_square_p(seen, shares(off * scale)) < POWER


@pytest.mark.parametrize("success", [0.3, Fraction(1, 3), Decimal("0.7"), 1e-2])
def test_trials_succeed_as_often_as_they_should(success):
    hits = np.count_nonzero(exact.bernoulli(success, 2_000_000, entropy=OsNoise()))
    chance = float(success)
    assert stats.binomtest(hits, 2_000_000, chance).pvalue > SIZE
    for off in (0.9, 1.1):
        assert stats.binomtest(hits, 2_000_000, off * chance).pvalue < POWER


def pattern_shares(success, trials):
    ones = np.array([pattern.bit_count() for pattern in range(1 << trials)])
    return success**ones * (1 - success) ** (trials - ones)


def test_successes_have_the_joint_law_of_a_draw_for_every_trial():
    trials, success, entropy = 4, 0.3, OsNoise()
    seen = np.zeros(1 << trials, dtype=int)
    for _ in range(20_000):
        seen[int((1 << exact.successes(trials, success, entropy=entropy)).sum())] += 1
    assert chi_square_p(seen, pattern_shares(success, trials)) > SIZE
    for off in (0.9, 1.1):
        assert chi_square_p(seen, pattern_shares(off * success, trials)) < POWER


def test_successes_are_spread_evenly_over_a_large_domain():
    trials, success = 10**10, 1e-5
    places = exact.successes(trials, success, entropy=OsNoise())
    cells = np.bincount(places // (trials // 20), minlength=20)
    assert chi_square_p(cells, np.ones(20)) > SIZE
    assert chi_square_p(cells, np.where(np.arange(20) < 10, 0.95, 1.05)) < POWER
    assert stats.poisson.cdf(places.size, 1.1e5) < POWER < SIZE * 2 < 2 * stats.poisson.cdf(places.size, 1e5)
    assert stats.poisson.sf(places.size, 0.9e5) < POWER < SIZE * 2 < 2 * stats.poisson.sf(places.size, 1e5)


@pytest.mark.parametrize("base", [3, 5, 10_000])
def test_random_rounding_is_unbiased(base):
    counts = np.arange(DRAWS) * 7919 % (4 * base)
    up = exact.random_rounding(counts, base, entropy=OsNoise()) > counts
    rest = counts % base
    third = (3 * rest) // base
    seen = np.array([np.bincount(third, up, minlength=3), np.bincount(third, ~up, minlength=3)])

    def shares(off):
        chance = np.minimum(off * rest / base, 1)
        return np.array(
            [np.bincount(third, chance, minlength=3), np.bincount(third, 1 - chance, minlength=3)]
        )

    assert chi_square_p(seen.ravel(), shares(1.0).ravel()) > SIZE
    for off in (0.9, 1.1):
        assert chi_square_p(seen.ravel(), shares(off).ravel()) < POWER
