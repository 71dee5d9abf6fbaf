"""The tables behind published noise against mpmath: the proven distance holds, with the laws as defined."""

import bisect
import itertools
import math
from fractions import Fraction

import mpmath as mp
import pytest

from noisegate.laws import (
    REACH,
    bernoulli_table,
    discrete_gaussian_runs,
    discrete_laplace_runs,
    exact,
    geometric_runs,
    rounded_laplace_runs,
)
from noisegate.laws.exact import fixed
from noisegate.laws.exact.gaussian import _above as gaussian_above_runs
from noisegate.laws.exact.laplace import _above as laplace_above_runs

SCALES = [
    Fraction(1, 20),
    Fraction(0.3),
    Fraction(1.4),
    Fraction(7, 3),
    Fraction(30),
    Fraction(1000),
    Fraction(2**40),
]
SIGMAS = [Fraction(1, 20), Fraction(0.3), Fraction(1.4), Fraction(55, 3), Fraction(200)]
CHANCES = [
    Fraction(1),
    Fraction(0.3),
    Fraction(1, 7),
    Fraction(1e-12),
    Fraction(1e-19),
    Fraction(1e-30),
    Fraction(1, 10**50),
]


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(130):
        yield


def real(value):
    """A Fraction as an mpmath number."""
    return mp.mpf(value.numerator) / value.denominator


def run_mass(pmf_first, ratio, count):
    """Sum of pmf_first * ratio**j over j < count."""
    return pmf_first * (count if ratio == 1 else (1 - ratio**count) / (1 - ratio))


def distance(table, ideal):
    """Total variation between a table and ideal probabilities of its outcomes; what is missing is outside."""
    drawn = [real(p) for p in table.probabilities()]
    outside = 1 - mp.fsum(ideal)
    return (mp.fsum(abs(a - b) for a, b in zip(drawn, ideal, strict=True)) + abs(outside)) / 2


def distance_of_runs(runs, *, ratio, pmf):
    """Bound on the distance of a draw: that of the top table plus those of the digit tables."""
    unit = 256 ** len(runs.digits)
    starts, steps = runs.start.tolist(), runs.step.tolist()
    top = [
        run_mass(pmf(first), ratio, unit if step else 1) for first, step in zip(starts, steps, strict=True)
    ]
    total = distance(runs.top, top)
    for place, digit in enumerate(runs.digits):
        base = ratio ** (256**place)
        whole = run_mass(mp.mpf(1), base, 256)
        total += distance(digit, [base**value / whole for value in range(256)])
    return total


def discrete_laplace_pmf(scale):
    return lambda k: mp.tanh(1 / (2 * real(scale))) * mp.exp(-abs(k) / real(scale))


def rounded_laplace_pmf(scale):
    half = 1 / (2 * real(scale))
    return lambda k: mp.sinh(half) * mp.exp(-abs(k) / real(scale)) if k else -mp.expm1(-half)


def gaussian_weight(sigma):
    return lambda k: mp.exp(-(mp.mpf(k) ** 2) / (2 * real(sigma) ** 2))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("law", "make", "pmf"),
    [
        ("discrete-laplace", discrete_laplace_runs, discrete_laplace_pmf),
        ("rounded-laplace", rounded_laplace_runs, rounded_laplace_pmf),
    ],
)
def test_laplace_tables_are_within_the_proven_distance(law, make, pmf, scale):
    runs = make(scale)
    found = distance_of_runs(runs, ratio=mp.exp(-1 / real(scale)), pmf=pmf(scale))
    assert found <= real(exact.distance_bound(law, scale)) <= mp.mpf(2) ** -exact.DISTANCE_BOUND_BITS


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("threshold", [0, 17])
def test_laplace_above_a_threshold_is_within_the_proven_distance(scale, threshold):
    pmf = discrete_laplace_pmf(scale)
    tail = mp.exp(-(threshold + 1) / real(scale)) / (1 + mp.exp(-1 / real(scale)))
    runs = laplace_above_runs(scale, threshold)
    found = distance_of_runs(runs, ratio=mp.exp(-1 / real(scale)), pmf=lambda k: pmf(k) / tail)
    assert found <= real(runs.distance_bound) <= real(exact.distance_bound("discrete-laplace", scale))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_table_is_within_the_proven_distance(sigma):
    weight, runs = gaussian_weight(sigma), discrete_gaussian_runs(sigma)
    whole = mp.fsum(weight(k) for k in range(-math.ceil(30 * sigma) - 2, math.ceil(30 * sigma) + 3))
    found = distance(runs.top, [weight(k) / whole for k in runs.start.tolist()])
    assert (
        found
        <= real(exact.distance_bound("discrete-gaussian", sigma))
        <= mp.mpf(2) ** -exact.DISTANCE_BOUND_BITS
    )


@pytest.mark.parametrize(
    ("sigma", "threshold"), [(Fraction(1.4), 0), (Fraction(1.4), 18), (Fraction(20), 900)]
)
def test_gaussian_above_a_threshold_is_within_the_proven_distance(sigma, threshold):
    weight, runs = gaussian_weight(sigma), gaussian_above_runs(sigma, threshold)
    whole = mp.fsum(weight(k) for k in range(threshold + 1, threshold + 2 + math.ceil(30 * sigma)))
    found = distance(runs.top, [weight(k) / whole for k in runs.start.tolist()])
    assert found <= real(runs.distance_bound) <= real(exact.distance_bound("discrete-gaussian", sigma))


@pytest.mark.parametrize("success", CHANCES)
def test_geometric_tables_are_within_the_proven_distance(success):
    chance = real(success)
    runs = geometric_runs(success)
    beyond = (1 - chance) ** REACH
    found = distance_of_runs(
        runs, ratio=1 - chance, pmf=lambda k: chance * (1 - chance) ** k if k < REACH else beyond
    )
    assert (
        found <= real(exact.distance_bound("geometric", success)) <= mp.mpf(2) ** -exact.DISTANCE_BOUND_BITS
    )


@pytest.mark.parametrize("success", [*CHANCES, Fraction(0), Fraction(2, 3)])
def test_a_trial_is_within_the_proven_distance(success):
    table = bernoulli_table(success)
    ideal = [1 - success, success][: table.outcomes]
    found = sum(abs(a - b) for a, b in zip(table.probabilities(), ideal, strict=True)) + 1 - sum(ideal)
    assert found / 2 <= exact.distance_bound("bernoulli", success)


def test_exact_laws_have_distance_zero():
    assert exact.distance_bound("uniform", 5) == exact.distance_bound("random-rounding", 3) == 0


@pytest.mark.parametrize("scale", [Fraction(200), Fraction(123456, 7)])
def test_a_value_has_the_product_of_the_probabilities_of_its_digits(scale):
    runs, pmf = discrete_laplace_runs(scale), discrete_laplace_pmf(scale)
    unit = 256 ** len(runs.digits)
    top = dict(zip(runs.start.tolist(), runs.top.probabilities(), strict=True))
    digits = [digit.probabilities() for digit in runs.digits]
    assert digits
    for value in (0, 1, -1, 255, 256, -256, -257, 7000, -7001):
        magnitude = value if value >= 0 else -1 - value
        start = magnitude // unit * unit
        chance = top[start if value >= 0 else -1 - start]
        for place, digit in enumerate(digits):
            chance *= digit[magnitude // 256**place % 256]
        assert abs(real(chance) / pmf(value) - 1) < mp.mpf(2) ** -120


def test_exponentials_are_within_two_ulps():
    for exponent in (
        Fraction(0),
        Fraction(1, 3),
        Fraction(1.4),
        Fraction(1, 10**40),
        Fraction(299),
        Fraction(301),
    ):
        gap = abs(fixed.exp_minus(exponent) - mp.exp(-real(exponent)) * fixed.ONE)
        assert gap < 2


def test_powers_keep_to_their_stated_error():
    ratio = mp.exp(-mp.mpf(1) / 1000)
    found = fixed.power_256(fixed.exp_minus(Fraction(1, 1000)))
    assert abs(found - ratio**256 * fixed.ONE) <= 256 * 3


def test_weights_keep_to_their_stated_error():
    sigma = Fraction(40)
    weight = gaussian_weight(sigma)
    for k, found in enumerate(fixed.gaussian_weights(sigma, start=0)):
        assert abs(found - weight(k) * fixed.ONE) <= 2 * (k + 1) ** 2


def test_ends_rise_and_the_guide_knows_which_prefixes_decide():
    table = discrete_gaussian_runs(Fraction(200)).top
    ends = list(itertools.accumulate(int(p * 2**192) for p in table.probabilities()))[:-1]
    assert ends == sorted(ends)
    for prefix, decided in enumerate(table.guide.tolist()):
        first, last = prefix << 176, ((prefix + 1) << 176) - 1
        outcomes = bisect.bisect_right(ends, first), bisect.bisect_right(ends, last)
        assert decided == (outcomes[0] if outcomes[0] == outcomes[1] else -1)


TAILS = [
    (exact.discrete_laplace_tail, lambda p, t: mp.exp(-(t + 1) / p) / (1 + mp.exp(-1 / p))),
    (exact.rounded_laplace_tail, lambda p, t: mp.exp(-(t + mp.mpf(1) / 2) / p) / 2),
    (
        exact.discrete_gaussian_tail,
        lambda s, t: (
            mp.fsum(mp.exp(-(mp.mpf(k) ** 2) / (2 * s**2)) for k in range(t + 1, t + 2 + math.ceil(50 * s)))
            / mp.fsum(
                mp.exp(-(mp.mpf(k) ** 2) / (2 * s**2))
                for k in range(-math.ceil(50 * s), math.ceil(50 * s) + 1)
            )
        ),
    ),
]


@pytest.mark.parametrize(("tail", "ideal"), TAILS)
@pytest.mark.parametrize(("scale", "threshold"), [(0.3, 0), (1.4, 0), (1.4, 18), (1.4, 200), (30, 1000)])
def test_the_chance_to_pass_a_threshold_has_seventy_digits(tail, ideal, scale, threshold):
    found = mp.mpf(str(tail(scale, threshold)))
    assert abs(found / ideal(real(Fraction(scale)), threshold) - 1) < mp.mpf(10) ** -70


def test_the_chance_of_uniform_noise_to_pass_a_threshold_is_a_fraction():
    assert exact.uniform_tail(5, 3) == Fraction(2, 11)
    assert exact.uniform_tail(5, 5) == exact.uniform_tail(5, 9) == 0
