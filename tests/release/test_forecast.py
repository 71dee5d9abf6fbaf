"""What is said before anything is spent: a function of the spec, never of a raw count."""

import numpy as np
import pytest

from noisegate.engine import count
from noisegate.laws import SeededNoise
from noisegate.releases import make_plan, publish_tables, warnings_before_spending

EVENT = {"unit": "event", "epsilon": "1", "margins": "derive"}


def test_a_low_threshold_is_said_to_show_empty_cells_and_does(spec_of):
    plan = make_plan(spec_of({**EVENT, "suppress": {"below": 1}}))
    (sentence,) = warnings_before_spending(plan)
    assert sentence.startswith("about 27 % of the cells of time-loc that are really empty will be shown")
    counts = count(plan.spec, entropy=SeededNoise(seed=1))
    shown = publish_tables(plan, counts, entropy=SeededNoise(seed=2))["time-loc"].cells
    empty = plan.base.cells - counts.cells.size
    assert np.setdiff1d(shown, counts.cells).size / empty == pytest.approx(0.27, abs=0.01)


def test_the_threshold_that_is_advised_is_the_least_that_does(spec_of):
    (sentence,) = warnings_before_spending(make_plan(spec_of({**EVENT, "suppress": {"below": 1}})))
    below = int(sentence.rpartition("{below: ")[2].partition("}")[0])
    better = make_plan(spec_of({**EVENT, "suppress": {"below": below}}))
    assert warnings_before_spending(better) == ()
    assert float(better.base.noise.passing(below)) <= 0.001 < float(better.base.noise.passing(below - 1))


def test_reconciled_tables_show_at_most_so_many(spec_of):
    plan = make_plan(spec_of({"unit": "event", "epsilon": "1", "suppress": {"below": 1}}))
    assert warnings_before_spending(plan)[0].startswith("up to ")


@pytest.mark.parametrize(
    "privacy",
    [
        {**EVENT, "suppress": {"spurious": "0.001"}},
        {**EVENT, "zeros": "keep", "unsafe": "true", "suppress": {"below": 2}},
        EVENT,
    ],
    ids=["chosen share", "kept zeros", "nothing cut"],
)
def test_other_choices_are_not_warned_of(privacy, spec_of):
    assert warnings_before_spending(make_plan(spec_of(privacy))) == ()
