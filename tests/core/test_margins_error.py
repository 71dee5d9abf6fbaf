"""The law of the error of sums, against closed forms and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from noisegate.errors import SpecError
from noisegate.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LaplaceSum,
    RoundedLaplace,
    Tabulated,
)
from noisegate.margins import ErrorLaw, ErrorTerm, TableShape, characteristic, error_figures

AXES = ("day", "time", "location")
SHAPE = TableShape(axes=AXES, sizes=(3, 24, 40))


def law_of(*terms):
    return ErrorLaw(terms=tuple(ErrorTerm(coefficient=c, copies=n, law=law) for c, n, law in terms))


@settings(deadline=None, max_examples=50)
@given(st.floats(0.2, 30), st.integers(1, 60), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_half_width_of_a_sum_is_exact(scale, copies, level):
    exact = DiscreteLaplace(scale).sum_of(copies)
    found = law_of((1.0, copies, DiscreteLaplace(scale))).half_width(level)

    def inside(k):
        return 1 - 2 * math.exp(float(exact.logsf(k)))

    assert inside(found) >= level - 1e-9
    assert found == 0 or inside(found - 1) < level + 1e-9


@settings(deadline=None, max_examples=50)
@given(st.floats(0.2, 30))
def test_expected_absolute_error_of_one_noise_is_exact(scale):
    q = math.exp(-1 / scale)
    assert law_of((1.0, 1, DiscreteLaplace(scale))).expected_absolute == pytest.approx(2 * q / (1 - q * q))


@pytest.mark.parametrize("coefficient", [0.35, 0.98, 1.7])
def test_a_real_coefficient_gives_the_law_rounded_by_its_fraction(coefficient):
    """E max(0, 1 - |X - k|) for a Laplace X: the second difference of b/2 e^{-|k|/b} + |k|/2."""
    b = 2.0 * coefficient
    _, mass = law_of((coefficient, 1, Laplace(2.0))).tabulated()
    k = np.arange(12.0)
    twice = [b / 2 * np.exp(-np.abs(x) / b) + np.abs(x) / 2 for x in (k - 1, k, k + 1)]
    assert np.allclose(mass[:12], twice[0] - 2 * twice[1] + twice[2], atol=1e-7)


def test_a_mixed_sum_agrees_with_simulation():
    law = law_of((0.96, 1, DiscreteLaplace(3.0)), (-0.04, 95, DiscreteLaplace(3.0)), (0.3, 2, Gaussian(4.0)))
    rng = np.random.default_rng(8)
    n = 400_000
    draws = 0.96 * DiscreteLaplace(3.0).sample(n, rng=rng) + 0.3 * rng.normal(0, 4 * 2**0.5, n)
    draws -= 0.04 * DiscreteLaplace(3.0).sum_of(95).sample(n, rng=rng)
    error = np.floor(draws + rng.random(n))
    assert law.standard_deviation == pytest.approx(draws.std(), rel=0.01)
    assert law.expected_absolute == pytest.approx(np.abs(error).mean(), rel=0.01)
    _, mass = law.tabulated()
    observed = np.bincount(np.abs(error).astype(int), minlength=25)[:25]
    expected = n * np.concatenate([mass[:1], 2 * mass[1:25]])
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-9
    wrong = law_of(
        (0.96, 1, DiscreteLaplace(3.3)), (-0.04, 95, DiscreteLaplace(3.3)), (0.3, 2, Gaussian(4.4))
    )
    _, mass = wrong.tabulated()
    expected = n * np.concatenate([mass[:1], 2 * mass[1:25]])
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue < 1e-9


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(1.4),
        RoundedLaplace(1.4),
        DiscreteGaussian(2.0),
        BoundedUniform(4),
        Laplace(0.7),
        Gaussian(2.0),
    ],
)
def test_characteristic_functions_are_means_of_cosines(law):
    t = np.array([0.0, 0.3, 1.0, 2.5])
    draws = law.sample(200_000, rng=np.random.default_rng(2))
    assert np.allclose(characteristic(law, t), np.cos(np.multiply.outer(t, draws)).mean(1), atol=0.01)
    assert characteristic(law, t)[0] == pytest.approx(1)


def test_a_law_that_is_not_symmetric_is_refused():
    with pytest.raises(SpecError, match="not worked out"):
        characteristic(Tabulated(0, np.log([0.5, 0.5])), np.zeros(1))


def test_the_worked_example_of_three_noises():
    # Exact 95 % and 99 % half-widths for three Laplace(1.4) noises: 6.956 and 9.884; whole numbers beyond.
    law = law_of((1.0, 3, Laplace(1.4)))
    assert (law.half_width(0.95), law.half_width(0.99)) == (7, 10)
    # P(rounded error > 7) is the mean of the chance of X > u over u in (7, 8).
    u = np.linspace(7, 8, 2001)
    tail = np.exp(LaplaceSum(1.4, 3).logsf((u[1:] + u[:-1]) / 2)).mean()
    _, mass = law.tabulated()
    assert mass[8:].sum() == pytest.approx(tail, abs=1e-8)


def test_very_wide_laws_are_rounded_up_to_their_unit():
    law = law_of((1.0, 10_000, DiscreteLaplace(500.0)))
    expected = stats.norm.ppf(0.975) * law.standard_deviation
    assert expected * 0.995 < law.half_width(0.95) < expected * 1.005 + law.tabulated()[0]
    assert law.expected_absolute == pytest.approx(law.standard_deviation * math.sqrt(2 / math.pi), rel=1e-3)


def test_methods_differ_as_they_should():
    laws = {
        AXES: DiscreteLaplace(3.5),
        ("day", "time"): DiscreteLaplace(15.0),
        ("day", "location"): DiscreteLaplace(7.0),
    }
    table = ("day", "location")
    found = {
        method: error_figures(SHAPE, laws, table=table, method=method)
        for method in ("derive", "reconcile", "independent")
    }
    assert found["derive"].standard_deviation == pytest.approx((24 * DiscreteLaplace(3.5).variance) ** 0.5)
    assert found["independent"].standard_deviation == pytest.approx(DiscreteLaplace(7.0).variance ** 0.5)
    assert found["reconcile"].standard_deviation < min(
        found["derive"].standard_deviation, found["independent"].standard_deviation
    )
    assert found["reconcile"].half_width <= found["independent"].half_width
    assert found["reconcile"].terms == 24
    assert found["reconcile"].level == 0.95


def test_reconciling_nothing_is_deriving():
    laws = {AXES: DiscreteLaplace(2.0)}
    for table in (AXES, ("day", "time"), ("day",), ()):
        left, right = (error_figures(SHAPE, laws, table=table, method=m) for m in ("derive", "reconcile"))
        assert left.half_width == right.half_width
        assert left.expected_absolute == pytest.approx(right.expected_absolute, rel=1e-6)


def test_bad_requests_are_refused():
    laws = {AXES: DiscreteLaplace(2.0)}
    with pytest.raises(SpecError, match="one of derive, reconcile, independent"):
        error_figures(SHAPE, laws, table=AXES, method="guess")
    with pytest.raises(SpecError, match="must be among the measured"):
        error_figures(SHAPE, laws, table=("day",), method="independent")
    with pytest.raises(SpecError, match="base table must be among"):
        error_figures(SHAPE, {("day",): DiscreteLaplace(2.0)}, table=("day",), method="derive")
    with pytest.raises(SpecError, match="level must be between 0 and 1"):
        law_of((1.0, 1, DiscreteLaplace(2.0))).half_width(1.0)


@pytest.mark.parametrize(
    "law",
    [
        *(DiscreteGaussian(scale) for scale in (0.3, 0.5, 1.4, 20.0)),
        *(RoundedLaplace(s) for s in (0.3, 1.4, 7.0)),
    ],
    ids=str,
)
def test_the_characteristic_function_is_the_sum_over_all_integers(law):
    t = np.linspace(-20, 20, 401)
    values = np.arange(-law.reach(60), law.reach(60) + 1)
    summed = (np.exp(law.logpmf(values))[:, None] * np.cos(values[:, None] * t)).sum(axis=0)
    np.testing.assert_allclose(characteristic(law, t), summed, atol=1e-13)
