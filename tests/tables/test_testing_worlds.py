"""Worlds that `noisegate.testing` makes come back from their files as they were written."""

import numpy as np

from noisegate.laws import PointMass
from noisegate.mechanisms import Mechanism
from noisegate.reading import read_tables
from noisegate.testing import make_world


def test_a_world_can_be_read_back_from_its_files(tmp_path):
    world = make_world(
        {"sex": 2, "age": 4, "area": 6},
        margins={"by area": ["area"]},
        mechanism=Mechanism(law=PointMass(), threshold=3, rule="ge"),
        rng=np.random.default_rng(1),
    )
    base, margin = read_tables(world.write(tmp_path))
    for table, name in ((base, "base"), (margin, "by area")):
        shown = world.published[name]
        assert sorted(table.counts) == sorted(shown[~np.isnan(shown)])
