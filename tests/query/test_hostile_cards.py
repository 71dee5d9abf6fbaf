"""Cards that state what cannot be: one sentence, quickly and in little memory; and tables that are too much."""

import json
import time

import numpy as np
import pyarrow as pa
import pytest

import noisegate
from noisegate import limits
from noisegate.errors import InputError
from noisegate.laws import DiscreteGaussian
from noisegate.query import open_release
from noisegate.reading import read_table

SPEC = {
    "name": "day",
    "events": {"person": "card"},
    "budget": {"dataset": "example", "epsilon": 100},
    "dimensions": {"line": {"column": "line", "values": ["A", "B", "C", "D"]}},
    "tables": {"lines": ["line"]},
    "privacy": {"unit": "person", "max_cells": 2, "epsilon": "1/2", "suppress": {"below": 30}},
}


@pytest.fixture
def place(tmp_path):
    taps = {"card": [f"c{n % 90}" for n in range(600)], "line": ["AAB"[n % 3] for n in range(600)]}
    noisegate.release(
        SPEC, events=pa.table(taps), out=tmp_path / "day", ledger=tmp_path / "l.sqlite", yes=True
    )
    return tmp_path / "day"


def with_card(place, change):
    card = json.loads((place / "card.json").read_text())
    change(card)
    (place / "card.json").write_text(json.dumps(card))


@pytest.mark.parametrize("scale", [1e7, 1e18, 1e300, 0, -1, "1e7", True, None, [], {"a": 1}, 10**400])
def test_a_scale_that_cannot_be(place, scale):
    with_card(place, lambda card: card["tables"]["lines"]["noise"].update(scale=scale))
    refused(lambda: open_release(place).answer(by=["line"]))


@pytest.mark.parametrize("value", [10**6, 10**18, 10**30, 1e300, -5, "18", [], 10**400])
def test_a_threshold_that_cannot_be(place, value):
    with_card(place, lambda card: card["tables"]["lines"]["threshold"].update(value=value))
    refused(lambda: open_release(place).answer(by=["line"]))


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '{"x": ' + "[" * 700 + "]" * 700 + "}", '"\\ud800"', "9" * 9999],
)
def test_a_card_that_nests_or_runs_on(place, text):
    whole = (place / "card.json").read_text()
    for content in (text, f'{whole.rstrip().removesuffix("}")}, "x": {text}}}'):
        (place / "card.json").write_text(content)
        try:
            open_release(place).answer(by=["line"])
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 - what it does not need may be kept as it is


def refused(work):
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        work()
    assert time.monotonic() - began < 30
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


def test_a_column_of_too_many_values_is_no_dimension(tmp_path):
    (tmp_path / "ids.csv").write_text("id,count\n" + "".join(f"x{n},{n % 40}\n" for n in range(3000)))
    with (
        limits.override(dimension_values=2000),
        pytest.raises(InputError, match=r"'id' of .* more than 2,000 different"),
    ):
        read_table(tmp_path / "ids.csv")
    assert read_table(tmp_path / "ids.csv").rows == 3000


def test_tails_of_a_narrow_law_on_a_wide_lattice_are_quick_and_the_same():
    law, far = DiscreteGaussian(1.3), np.linspace(0, 400_000, 50_001).round()
    began = time.monotonic()
    together = law.logsf(far)
    assert time.monotonic() - began < 5
    alone = [float(law.logsf(k)) for k in far[::5000]]
    assert np.allclose(together[::5000], alone, rtol=1e-13, atol=0)


@pytest.mark.parametrize(
    ("taps", "says"),
    [
        (
            {"card": pa.array([None, None], pa.string()), "line": ["A", "B"]},
            "column 'card' is empty throughout",
        ),
        ({"card": ["a", "b"], "line": ["a", "b"]}, "line is not in the list"),
    ],
)
def test_events_of_which_none_counts_are_noticed(taps, says):
    (warning,) = noisegate.check(SPEC, events=pa.table(taps)).warnings
    assert warning.startswith("none of the events is counted, so that the release would be noise alone")
    assert says in warning
