"""Published tables on their domain."""

import numpy as np
import pytest

from noisegate.errors import InternalError
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Known, Mechanism
from noisegate.tables import Dimension, Domain, Release, Status, Table

DOMAIN = Domain.product(
    [Dimension(name="mode", values=("train", "bus")), Dimension(name="stop", values=("A", "B", "C"))]
)


def table(**more):
    return Table(name="base", domain=DOMAIN, cells=np.array([1, 4]), values=np.array([20, 30]), **more)


def test_a_status_for_every_cell():
    found = table(hidden=np.array([2]))
    expected = [Status.IMPOSSIBLE, Status.ABSENT, Status.PUBLISHED, Status.HIDDEN, Status.ABSENT]
    assert found.status(np.array([-1, 0, 1, 2, 3])).tolist() == expected
    assert found.at(np.array([4, 0])).tolist()[0] == 30
    assert np.isnan(found.at(np.array([4, 0]))[1])


def test_values_cell_by_cell():
    values, shown = table().filled()
    assert values.tolist() == [0, 20, 0, 0, 30, 0]
    assert shown.tolist() == [False, True, False, False, True, False]
    full = Table(name="t", domain=DOMAIN, cells=np.arange(6), values=np.arange(6))
    values, shown = full.filled()
    assert values.tolist() == [0, 1, 2, 3, 4, 5]
    assert shown.all()


def test_what_is_known_of_the_noise():
    mechanism = Mechanism(law=DiscreteLaplace(2.0), zeros="perturb")
    assert table(mechanism=Known.sure(mechanism, source="card")).law is mechanism.law
    assert table().law is None


def test_every_cell_has_one_value():
    with pytest.raises(InternalError, match="do not line up"):
        Table(name="t", domain=DOMAIN, cells=np.array([4, 1]), values=np.array([1]))


def test_a_release_without_a_card_has_the_name_of_its_base():
    release = Release(tables=(table(),))
    assert (release.name, release.base.name, release.margins, release.domain) == ("base", "base", (), DOMAIN)
