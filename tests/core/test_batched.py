"""Loops that take many small things at a time say what each by itself would."""

import numpy as np
import pytest
from scipy import special

from noisegate.inference.linked.pmfs import _correlate, multiply_humps, spread
from noisegate.inference.profile.levels import _log_products, multiplied


@pytest.mark.parametrize("size", [1, 7, 8, 9, 33])
@pytest.mark.parametrize("terms", [1, 5, 40])
def test_correlations_of_any_length(size, terms):
    rng = np.random.default_rng(size + 100 * terms)
    kernel, source, target = rng.random(terms), rng.random(terms + size), np.zeros(size)
    _correlate(kernel, source, target)
    wanted = [kernel @ source[j : j + terms] for j in range(size)]
    np.testing.assert_allclose(target, wanted, rtol=1e-13)


@pytest.mark.parametrize("weights", [[1, 1, 1], [1, -1, 2]])
def test_messages_are_those_of_all_combinations(weights):
    rng = np.random.default_rng(5)
    sizes = np.array([9, 12, 10])
    first, p = np.array([0, 9, 21]), rng.random(31)
    least = sum(min(0, w * (n - 1)) for w, n in zip(weights, sizes.tolist(), strict=True))
    most = sum(max(0, w * (n - 1)) for w, n in zip(weights, sizes.tolist(), strict=True))
    evidence, found = rng.random(most - least + 1), np.zeros(31)
    spread(first, sizes, np.array(weights), p, evidence, found)
    wanted = np.zeros(31)
    for a in np.ndindex(*sizes.tolist()):
        likely = evidence[sum(w * k for w, k in zip(weights, a, strict=True)) - least]
        for j in range(3):
            others = np.prod([p[first[i] + a[i]] for i in range(3) if i != j])
            wanted[first[j] + a[j]] += likely * others
    for j in range(3):
        mine = slice(first[j], first[j] + sizes[j])
        np.testing.assert_allclose(found[mine], wanted[mine] / wanted[mine].max(), rtol=1e-12)


def test_logs_of_products_of_what_is_next_to_nothing():
    rng = np.random.default_rng(2)
    used = 10.0 ** rng.uniform(-320, 0, (60, 5))
    low = np.where(rng.random((60, 3)) < 0.5, 0.0, 10.0 ** rng.uniform(-200, 0, (60, 3)))
    wanted = np.log(np.maximum(used[:, :, None] + low[:, None, :], 1e-300)).sum(axis=0)
    np.testing.assert_allclose(_log_products(used, low), wanted, rtol=1e-12)


def test_products_of_long_matrices():
    rng = np.random.default_rng(1)
    left, right = rng.random((5_000, 20)), rng.random((20, 60))
    np.testing.assert_allclose(multiplied(left, right), left @ right, rtol=1e-12)
    assert multiplied(left[:0], right).shape == (0, 60)


@pytest.mark.parametrize("far", [0, 5, 10**7])
def test_humps_of_cells_near_each_other_and_far_apart(far):
    """Where counts of cells lie far apart, nothing is worked out for all numbers between."""
    low, start = np.array([0, far]), np.array([0, 12, 24])
    p, mean = np.ones(24), np.array([4.0, far + 4.0])
    share, factor, power = np.array([0.7, 0.3]), np.array([0.8, 1.5]), np.ones(2)
    dispersion, none = np.array([0.1, 0.0]), np.zeros(2)
    multiply_humps(
        np.arange(2), low, start, p, mean, np.full(2, 2.0), none, none, 0.0, share, factor, power, dispersion, np.ones(2)
    )  # fmt: skip
    for i in range(2):
        x, m = low[i] + np.arange(12.0), factor * mean[i]
        wide = special.gammaln(x + 10) - special.gammaln(10) - special.gammaln(x + 1)
        wide += x * np.log(m[0] / (m[0] + 10)) - 10 * np.log1p(m[0] / 10)
        law = 0.7 * np.exp(wide) + 0.3 * np.exp(x * np.log(m[1]) - m[1] - special.gammaln(x + 1))
        wanted = law / law.max() if law.max() > 0 else np.ones(12)
        np.testing.assert_allclose(p[start[i] : start[i + 1]], wanted, rtol=1e-6)
