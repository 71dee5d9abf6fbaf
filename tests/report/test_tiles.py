"""The five numbers say what is so, also where there is nothing to count."""

import pytest

from noisegate.assessment import LossSummary
from noisegate.report import tiles_of


@pytest.mark.parametrize(
    ("law", "note"), [("none", "there is no noise"), ("uniform", "the noise has a largest value")]
)
def test_a_loss_without_bound_says_why(only, law, note):
    privacy = LossSummary(unbounded=True, numbers={"laws": {"time": law}})
    first = tiles_of(only(privacy=privacy))[0]
    assert (first.value, first.note) == ("no bound", note)
