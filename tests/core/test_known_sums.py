"""Sums that exact totals tell: said to a number, and cells add up to them."""

import numpy as np
import pytest

from noisegate.testing import BASE, WAYS, make_world


def busy_corner(seed, *, places=36, hours=20):
    """Busy places are busy in busy hours alone, which is no product of rows and columns: the law is off about rows, and pulls against their totals."""
    rng = np.random.default_rng([65, seed])
    quiet = np.exp(rng.normal(0, 0.3, (places, 1)) + rng.normal(0, 0.3, (1, hours)))
    place, hour = np.indices((places, hours))
    counts = rng.poisson(np.where((place <= places // 2) & (hour <= hours // 2), 40, 3) * quiet)
    made = WAYS["exact margins"]
    return make_world(
        {"place": places, "hour": hours},
        margins={"by place": ["place"], "by hour": ["hour"]},
        mechanism={BASE: made.base, "by place": made.margin, "by hour": made.margin},
        counts=counts.ravel(),
        rng=rng,
    )


@pytest.mark.parametrize("seed", range(3))
def test_an_exact_total_is_its_number(seed):
    """Means of cells were up to 5 people off, and intervals a person wide."""
    world = busy_corner(seed)
    cells, total = np.arange(len(world.counts)), world.published["by place"]
    found = world.engine().sums(cells, cells // 20, size=len(total), level=0.95)
    np.testing.assert_array_equal(found.low, total)
    np.testing.assert_array_equal(found.high, total)
    assert np.abs(found.mean - total).max() < 0.2


def test_what_is_hidden_in_rows_of_which_nothing_is_shown():
    world = busy_corner(3)
    shown = np.ones(len(world.counts), bool)
    shown[world.hidden] = False
    rows = np.flatnonzero(np.bincount(np.flatnonzero(shown) // 20, minlength=36) == 0)
    cells = np.flatnonzero(np.isin(np.arange(len(world.counts)) // 20, rows))
    assert len(rows) >= 10
    found = world.engine().sums(cells, np.searchsorted(rows, cells // 20), size=len(rows), level=0.5)
    np.testing.assert_array_equal(found.low, world.published["by place"][rows])
    np.testing.assert_array_equal(found.high, found.low)
