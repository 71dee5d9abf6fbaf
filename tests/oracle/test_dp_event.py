"""Mechanisms handed to dp_accounting: its accountants give what ours gives."""

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

from noisegate.errors import SpecError
from noisegate.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomRounding,
    RoundedLaplace,
)
from noisegate.mechanisms import Contribution, Mechanism, composed_delta


@pytest.mark.parametrize("law", [Laplace(2.0), Gaussian(3.0), DiscreteLaplace(2.0)], ids=lambda law: law.name)
@pytest.mark.parametrize(("change", "cells"), [(1, 1), (1, 10), (2, 3)])
def test_their_delta_is_ours(law, change, cells):
    mechanism = Mechanism(law=law, threshold=18, zeros="perturb")
    accountant = PLDAccountant()
    accountant.compose(mechanism.to_dp_event(change=change, cells=cells))
    ours = composed_delta([Contribution(mechanism=mechanism, cells=cells, change=change)], 1.0)
    assert ours.lower - 2e-3 <= accountant.get_delta(1.0) <= ours.upper + 2e-3


def test_what_promises_nothing_is_said_to():
    assert Mechanism(law=Laplace(1.4), threshold=18).to_dp_event() == dp_event.NonPrivateDpEvent()
    assert Mechanism(law=RandomRounding(3), zeros="perturb").to_dp_event() == dp_event.NonPrivateDpEvent()
    assert isinstance(
        Mechanism(law=RoundedLaplace(1.4), zeros="perturb").to_dp_event(), dp_event.UnsupportedDpEvent
    )
    assert Mechanism(law=DiscreteGaussian(5.0), zeros="perturb").to_dp_event() == dp_event.ZCDpEvent(0.02)
    with pytest.raises(SpecError):
        Mechanism(law=Laplace(1.4)).to_dp_event(cells=0)
