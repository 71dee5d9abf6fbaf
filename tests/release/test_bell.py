"""The bound on wide Gaussian noise: above exact composition, close to it, and its lemma on a grid."""

import numpy as np
import pytest
from scipy import stats

from noisegate.laws import DiscreteGaussian
from noisegate.mechanisms import Contribution, Mechanism, safe_delta
from noisegate.releases import bell_delta


@pytest.mark.parametrize("sigma", [0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 40.0, 400.0])
def test_a_bell_curve_with_an_eighth_more_variance_is_larger_in_convex_order(sigma):
    whole = np.arange(-int(40 * sigma) - 60, int(40 * sigma) + 60)
    mass = np.exp(-(whole**2) / (2 * sigma**2))
    mass /= mass.sum()
    tail = np.cumsum(mass[::-1])[::-1]
    first = np.cumsum((mass * whole)[::-1])[::-1]
    at = np.arange(0.0, 12 * sigma, 0.05)
    place = np.ceil(at).astype(int) - whole[0]
    lattice = first[place] - at * tail[place]
    for extra, holds in ((0.125, True), (0.0, False)):
        wide = np.sqrt(sigma**2 + extra)
        bell = wide * stats.norm.pdf(at / wide) - at * stats.norm.sf(at / wide)
        assert bool((lattice <= bell * (1 + 1e-9)).all()) is holds


@pytest.mark.parametrize("sigma", [1.0, 3.0, 8.0, 20.0])
@pytest.mark.parametrize("change", [1, 2])
def test_it_is_above_exact_composition_and_close_to_it(sigma, change):
    noise = Mechanism(law=DiscreteGaussian(sigma), zeros="perturb")
    squares = 3 * change**2 / sigma**2
    for epsilon in (0.5 * np.sqrt(squares), 2 * np.sqrt(squares)):
        exact = safe_delta([Contribution(mechanism=noise, cells=3, change=change)], float(epsilon))
        bound = bell_delta(squares, float(epsilon), narrowest=sigma)
        assert exact <= bound * (1 + 1e-6)
        if sigma >= 8:
            assert bound <= 1.05 * exact
