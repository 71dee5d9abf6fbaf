"""What `assess` says in a terminal of estimates that its own checks widened or took back."""

import re

import numpy as np
import pytest

from noisegate.testing import BASE, WAYS, make_world


@pytest.fixture(scope="module")
def corner(tmp_path_factory):
    """Counts of 2, and of 30 in a corner, with totals of rows alone; what is hidden has a marker."""
    rng, made = np.random.default_rng(5), WAYS["as in 2016"]
    busy = (np.arange(40)[:, None] < 10) & (np.arange(24) < 6)
    world = make_world(
        {"place": 40, "hour": 24},
        margins={"by place": ["place"]},
        mechanism={BASE: made.base, "by place": made.margin},
        counts=rng.poisson(np.where(busy, 30.0, 2.0)),
        rng=rng,
    )
    return world.write(tmp_path_factory.mktemp("corner"), marker="<18")


def test_it_names_the_checks_in_brief_and_says_why_in_full(noisegate, corner):
    asked = ("assess", *corner, "--noise", "laplace:1.4", "--quiet")
    brief, full = (" ".join(noisegate(*asked, *more)[1].split()) for more in ((), ("--verbose",)))
    assert "estimates are widened by division of rows" in brief
    assert re.search(r"Fit, division of rows \(widened\): \d+ rows show few of their cells or none", full)
    assert "Fit, convergence" not in full  # what holds had no consequence
