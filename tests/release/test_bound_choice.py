"""A bound that is chosen privately: charged, near what was asked for, and no more telling than its epsilon."""

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from noisegate import OsNoise, SeededNoise
from noisegate import release as make
from noisegate.engine import own_connection, unit_sizes
from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace
from noisegate.releases import bound_scores, choose_bound, make_plan, score_sensitivity
from noisegate.spec import parse_spec

RNG = np.random.default_rng(7)
PERSONS = np.repeat(np.arange(3000), RNG.integers(1, 6, 3000))
EVENTS = {"card": PERSONS, "cell": [f"c{n}" for n in RNG.integers(0, 20, PERSONS.size)]}


def spec(*, choice=None, **privacy):
    return parse_spec(
        {
            "name": "chosen",
            "events": {"source": "events", "person": "card"},
            "budget": {"dataset": "people", "epsilon": "10"},
            "dimensions": {"cell": {"column": "cell", "values": [f"c{n}" for n in range(20)]}},
            "tables": {"cells": ["cell"]},
            "privacy": {
                "unit": "person",
                "epsilon": 1,
                "choose_bound": {
                    "epsilon": "0.5",
                    "among": ["1", "2", "3", "4", "5", "10"],
                    **(choice or {}),
                },
                **privacy,
            },
        },
        folder=Path(),
    )


def chances(wanted, sizes):
    """The law of the choice, worked out exactly up to tails of 1e-12: every value that the winner's noise can have."""
    scores = bound_scores(wanted, np.asarray(sizes))
    law = DiscreteLaplace(float(2 * score_sensitivity(wanted) / wanted.epsilon))
    reach = int(28 * law.scale)
    values = np.arange(-reach, reach + 1)
    found = []
    for k, score in enumerate(scores):
        mass = np.exp(law.logpmf(values))
        for other, rival in enumerate(scores):
            if other != k:  # a rival that comes first must be less, one that comes later may be equal
                mass = mass * np.exp(law.logcdf(values + score - rival - (other < k)))
        found.append(float(mass.sum()))
    return np.array(found)


@pytest.mark.parametrize("keeps", ["0.95", "0.5"])
def test_no_choice_is_more_telling_than_its_epsilon(keeps):
    wanted = spec(choice={"keeps": keeps, "among": ["1", "2", "4"], "epsilon": "1"}).privacy.choose_bound
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(40):
        sizes = rng.integers(1, 7, int(rng.integers(1, 30)))
        more = np.append(sizes, rng.integers(1, 7))
        one, other = chances(wanted, sizes), chances(wanted, more)
        assert one.sum() == pytest.approx(1, abs=1e-9)
        worst = max(worst, float(np.abs(np.log(one / other)).max()))
    assert worst <= 1 + 1e-9
    assert worst > 0.2  # and not much less, so the noise is not idle


def test_choices_have_the_law_that_was_proved():
    wanted = spec(choice={"among": ["1", "2", "4"], "epsilon": "1"})
    sizes = np.array([1, 1, 2, 3, 3, 4, 5, 6])
    drawn = Counter(choose_bound(wanted, sizes, entropy=OsNoise()).privacy.max_cells for _ in range(4000))
    expected = 4000 * chances(wanted.privacy.choose_bound, sizes)
    seen = np.array([drawn[k] for k in (1, 2, 4)])
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert math.exp(-statistic / 2) > 1e-9  # two degrees of freedom


def test_the_bound_is_near_the_share_that_was_asked_for_and_both_are_charged(tmp_path):
    cells = {}
    for who, cell in zip(PERSONS.tolist(), EVENTS["cell"], strict=True):
        cells.setdefault(who, set()).add(cell)
    sizes = np.array([len(own) for own in cells.values()])
    with own_connection() as connection:
        connection.register("events", pa.table(EVENTS))
        assert np.array_equal(np.sort(unit_sizes(spec(), connection=connection)), np.sort(sizes))
    near = min((1, 2, 3, 4, 5, 10), key=lambda k: abs((sizes <= k).mean() - 0.95))
    out = tmp_path / "out"
    made = make(
        spec(), events=pa.table(EVENTS), out=out, ledger=tmp_path / "l.db", entropy=SeededNoise(seed=1)
    )
    assert made.card.bounding.max_cells == near
    assert made.card.parameters.epsilon == 1.5
    assert "chosen with epsilon 0.5 among 1, 2, 3, 4, 5, 10" in made.card.bounding.kept
    table = json.loads((out / "card.json").read_text())["tables"]["cells"]
    assert Fraction(table["noise"]["scale_exact"]) == near


def test_the_loss_of_a_unit_does_not_depend_on_the_choice():
    losses = [make_plan(spec().bounded_by(k)).losses for k in (1, 3, 10)]
    assert {one.unit.epsilon for one in losses} == {Fraction(3, 2)}
    assert max(one.event.epsilon for one in losses) == make_plan(spec()).losses.event.epsilon


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"max_cells": 3}, "keep one of max_cells and choose_bound"),
        ({"choice": {"among": ["4", "2"]}}, "ascending order"),
        ({"choice": {"among": ["4"]}}, "at least two bounds"),
        ({"unit": "event"}, "events are not bounded"),
        ({"epsilon": None, "scale": "2"}, "give epsilon, not scale"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(changed, words):
    with pytest.raises(SpecError, match=words):
        spec(**changed)
