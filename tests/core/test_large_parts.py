"""Large parts are solved in the same way, whoever says how the tables were made."""

from dataclasses import replace

import numpy as np
import pytest

from noisegate.inference import engine_for
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world

MADE = Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb")


@pytest.fixture(scope="module")
def evidence():
    world = make_world(
        {"slot": 96, "place": 1100},
        margins={"by place": ["place"], "by slot": ["slot"]},
        mechanism=MADE,
        rng=np.random.default_rng(1),
    )
    return world.evidence()


def test_a_base_of_which_every_cell_is_usable_is_like_one_of_which_nothing_is_said(evidence):
    """The first is what tables without a card give; it took another way, which needs ten times as much of everything."""
    said = replace(evidence, base=replace(evidence.base, usable=np.ones(evidence.layout.size, bool)))
    mine, theirs = (engine_for(one).cells(0.95) for one in (evidence, said))
    np.testing.assert_array_equal(mine.mean, theirs.mean)
    np.testing.assert_array_equal(mine.high, theirs.high)
