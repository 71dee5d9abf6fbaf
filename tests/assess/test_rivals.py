"""A rival beside the fitted law: likelihood and curve against those worked out directly."""

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.laws import RoundedLaplace, convolve
from noisegate.recovery import difference_curve, fit_noise, pair_identities, rivals_of


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    on, off = 100 + np.rint(rng.laplace(scale=1.4, size=(2, 3000)))
    fit = fit_noise(pair_identities(on, off))
    return fit, difference_curve(fit, rng=rng), on - off


def test_the_likelihood_of_a_rival_is_that_of_the_sum_of_its_noises(fitted):
    fit, curve, differences = fitted
    found = rivals_of(fit, "rounded-laplace", differences=curve.difference)

    def weighed(scale):
        law = convolve([RoundedLaplace(scale)] * 2)
        return float(law.logpmf(differences.astype(np.int64)).sum())

    mine = np.array([weighed(scale) for scale in found.scales])
    # Strays are held as fitted, of which these counts have hardly any: near the fit they change nothing.
    near = np.abs(np.log(found.scales / fit.scale)) < 0.3
    assert near.sum() >= 8
    np.testing.assert_allclose(np.diff(found.log_likelihood[near]), np.diff(mine[near]), atol=0.3)
    best = found.scales[int(np.argmax(found.log_likelihood))]
    assert best == pytest.approx(fit.scale, rel=0.04)
    assert found.log_likelihood.max() <= 0.01
    assert found.log_likelihood[[0, -1]].max() < -20


def test_the_curve_of_a_rival_holds_every_difference(fitted):
    fit, curve, _ = fitted
    found = rivals_of(fit, "rounded-laplace", differences=curve.difference)
    near = int(np.argmin(np.abs(found.scales - fit.scale)))
    np.testing.assert_allclose(found.expected[near], curve.expected, atol=0.05 * curve.expected.max())
    assert found.expected[near].sum() == pytest.approx(curve.expected.sum(), rel=0.01)
    middle = int(np.argmin(np.abs(curve.difference)))
    assert (np.diff(found.expected[:, middle]) <= 1e-9).all()


def test_a_gaussian_rival_is_far_less_likely(fitted):
    fit, curve, _ = fitted
    found = rivals_of(fit, "rounded-gaussian", differences=curve.difference)
    assert found.log_likelihood.max() < -3


def test_a_law_that_is_none_is_refused(fitted):
    fit, curve, _ = fitted
    with pytest.raises(SpecError, match="law"):
        rivals_of(fit, "cauchy", differences=curve.difference)
    with pytest.raises(SpecError, match="other numbers"):
        rivals_of(fit, "laplace", differences=curve.difference)
