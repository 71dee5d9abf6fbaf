"""How tables were made, as far as it is known: rivals where it is not, and who says so."""

import numpy as np
import pytest

from noisegate.laws import DiscreteLaplace, Laplace
from noisegate.mechanisms import Mechanism, parse_noise
from noisegate.reading import find_structure, read_table
from noisegate.recovery import Makers, Noise
from noisegate.testing import make_world


@pytest.fixture
def structure(tmp_path):
    world = make_world(
        {"mode": 3, "stop": 40},
        margins={"by mode": ["mode"]},
        mechanism=Mechanism(law=DiscreteLaplace(1.4), threshold=6, rule="ge"),
        rng=np.random.default_rng(1),
    )
    return find_structure([read_table(path) for path in world.write(tmp_path)])


def made(structure, *, stated="laplace:1.4", zeros=None, consistent=frozenset()):
    makers = Makers(
        noise={table.name: Noise(table=table.name) for table in structure.tables},
        card=None,
        stated=None if stated is None else parse_noise(stated),
        zeros=zeros,
        consistent=consistent,
    )
    return makers.of(structure.tables[0], structure)


def test_unknown_zeros_are_rivals_and_the_weaker_evidence_is_used(structure):
    seen = made(structure)
    assert {one.zeros for one, _ in seen.known.rivals} == {"keep", "perturb"}
    assert (seen.known.zeros, seen.mechanism.zeros) == (None, "perturb")
    assert (seen.known.source, seen.mechanism.law) == ("person", Laplace(1.4))
    assert any("noise as stated" in sentence for sentence in seen.assumes)


@pytest.mark.parametrize("zeros", ["keep", "perturb"])
def test_a_known_rule_for_zeros_leaves_no_rival(structure, zeros):
    seen = made(structure, zeros=zeros)
    assert (seen.known.certain, seen.mechanism.zeros) == (True, zeros)


def test_nothing_is_made_up_where_nobody_knows_the_noise(structure):
    assert made(structure, stated=None) is None
    exact = made(structure, stated=None, consistent=frozenset({structure.tables[0].name}))
    assert (exact.known.source, exact.mechanism.law.name) == ("recovered", "none")
