"""Accuracy in, epsilon out: the least budget for stated errors, and what it means."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace, SeededNoise
from noisegate.margins import ErrorLaw, ErrorTerm, predict
from noisegate.releases import asked_questions, make_plan, release, sum_errors
from noisegate.spec import parse_spec
from noisegate.workload import needed_budget, outlook, parse_wants, stand_in


def half_width(spec, want):
    (asked,) = asked_questions(spec, questions=(want.question,))
    return predict(asked, sum_errors(make_plan(spec))).half_width


def test_the_least_epsilon_of_derived_sums_is_that_of_the_exact_law(town):
    # 384 base cells a mode: the law of the sum is worked out here without any plan.
    def within(epsilon):
        terms = (ErrorTerm(coefficient=1.0, copies=2 * 24 * 8, law=DiscreteLaplace(2 / epsilon)),)
        return ErrorLaw(terms=terms).half_width(0.95)

    found = needed_budget(town.spec(margins="derive"), "by mode: 100")
    assert within(found.epsilon) <= 100 < within(0.99 * found.epsilon)
    assert found.wants[0].half_width == within(found.epsilon)


@pytest.mark.parametrize("law", [{}, {"law": "discrete-gaussian", "delta": "1e-6"}])
def test_every_want_is_met_and_less_would_not_do(town, law):
    text = "by mode: 60, peak: 45"
    found = needed_budget(town.spec(**law), text)
    epsilon = Fraction(str(found.epsilon))
    for share, fine in ((Fraction(1), True), (Fraction(98, 100), False)):
        spec = town.spec(**{**law, "epsilon": str(epsilon * share)})
        met = [half_width(spec, want) <= want.error for want in parse_wants(text, spec)]
        assert all(met) is fine
    assert found.binding == max(found.wants, key=lambda one: one.alone).name
    assert found.epsilon_without == sorted(one.alone for one in found.wants)[-2] <= found.epsilon


def test_each_way_works_as_written_and_the_least_needs_less(town):
    found = needed_budget(town.spec(), "by mode: 60, by stop: 60")
    assert {way.law for way in found.ways} == {"discrete-laplace", "discrete-gaussian"}
    assert found.least.epsilon < 0.8 * found.epsilon
    for way in found.ways:
        keys = json.loads(json.dumps(way.keys))  # what a person copies
        tables = {**town.spec().tables, **{k: tuple(v) for k, v in keys.get("tables", {}).items()}}
        privacy = {k: v if isinstance(v, dict) else str(v) for k, v in keys["privacy"].items()}
        privacy = {k: {t: str(s) for t, s in v.items()} if k == "split" else v for k, v in privacy.items()}
        spec = town.spec(tables={k: list(v) for k, v in tables.items()}, **privacy)
        assert all(half_width(spec, w) <= w.error for w in parse_wants("by mode: 60, by stop: 60", spec))
        assert float(make_plan(spec).charged.epsilon) == pytest.approx(way.epsilon)


def test_a_percentage_of_nothing_says_from_which_size_on_it_holds(town):
    found = needed_budget(town.spec(), "by mode: 5%, by stop: 60")
    mode, stop = found.wants
    assert mode.limit is None
    assert mode.holds_from == math.ceil(mode.half_width / 0.05)
    assert stop.half_width <= 60
    alone = needed_budget(town.spec(margins="derive"), "by mode: 5%")
    assert alone.epsilon == 1  # that of the spec: nothing says another
    assert needed_budget(town.spec(margins="derive"), "by mode: 5% of 1200").wants[0].limit == pytest.approx(
        60
    )


def test_a_percentage_is_of_the_counts_that_stand_in(town, tmp_path):
    spec = town.spec(workload=None, epsilon="9")
    folder = tmp_path / "last"
    release(spec, out=folder, ledger=tmp_path / "ledger.db", entropy=SeededNoise(seed=3))
    like = stand_in(town.spec(), folder, rng=np.random.default_rng(1))
    found = needed_budget(town.spec(margins="derive"), "by mode: 5%", like=like)
    truth = {mode: sum(m == mode for m, _, _ in town.moments) for mode in ("train", "bus")}
    (mode,) = found.wants
    assert mode.limit == pytest.approx(0.05 * min(truth.values()), rel=0.35)  # persons are bounded there
    assert mode.half_width <= mode.limit
    assert "last" not in found.assumes
    assert "town" in found.assumes
    with pytest.raises(SpecError, match="more than a twentieth of its groups are empty"):
        needed_budget(town.spec(), "by mode and date and time and stop: 5%", like=like)


def test_the_attacker_is_right_as_often_as_the_exact_test_says():
    spec = parse_spec(
        {
            "name": "one",
            "events": {"source": "e.csv", "person": "card"},
            "dimensions": {"line": {"column": "line", "values": ["A", "B"]}},
            "tables": {"lines": ["line"]},
            "privacy": {"unit": "person", "max_cells": 1, "epsilon": 1},
        },
        folder=Path(),
    )
    found = needed_budget(spec, {"by line": 3})
    q = math.exp(-found.epsilon)
    (event, person) = found.attacker
    # A person with one event changes one cell by one: the best test is right with 1 - q / (1 + q).
    assert person.right == pytest.approx(1 / (1 + q), rel=1e-6)
    assert event.right >= person.right - 1e-9  # it may take the place of another one
    assert person.guessing == 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing is wanted"),
        ("by mode", "a question, a colon, a number of events or a percentage"),
        ("by mode: 5, by mode: 6", "is wanted twice"),
        ("by colur: 5", "did you mean 'colour'"),
        ("by colour: 5", "cannot be answered: no table has colour"),
        ("peek: 5", "did you mean 'peak'"),
        ("by mode: 0", "a number above 0"),
        ("by mode: 5 of 20", "5% of 2000"),
    ],
)
def test_what_cannot_be_wanted_is_refused_with_a_way_out(town, text, words):
    with pytest.raises(SpecError, match=words):
        needed_budget(town.spec(), text)


def test_conditions_may_hold_colons():
    spec = parse_spec(
        {
            "name": "one",
            "events": {"source": "e.csv", "person": "card"},
            "dimensions": {"time": {"column": "at", "every": "1h"}},
            "tables": {"hours": ["time"]},
            "privacy": {"unit": "person", "max_cells": 1, "epsilon": 1},
        },
        folder=Path(),
    )
    one, two = parse_wants("total where time=07:00..09:00: 20, hours: 5", spec)
    assert one.question.where == {"time": ("07:00..09:00",)}
    assert two.question.by == ("time",)


def test_the_law_with_the_smaller_error_is_proposed_with_both_figures(town):
    few, many = outlook(town.spec(max_cells=1)), outlook(town.spec(max_cells=40))
    assert [one.law for one in few.laws] == ["discrete-laplace", "discrete-gaussian"]
    assert [one.law for one in many.laws] == ["discrete-gaussian", "discrete-laplace"]
    assert few.laws[0].chosen
    assert many.laws[0].error < many.laws[1].error
    assert many.as_json()["laws"][0]["delta"] <= 1e-6


def test_the_command_prints_what_is_needed_within_a_screen(noisegate, town, tmp_path):
    file, out_file = town.folder / "want.yaml", tmp_path / "want.json"
    file.write_text(
        yaml.safe_dump(
            {
                "name": "town",
                "events": {"source": "taps.csv", "person": "card"},
                "dimensions": {
                    "mode": {"column": "mode", "values": ["train", "bus"]},
                    "time": {"column": "at", "every": "1h"},
                    "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
                },
                "tables": {"base": ["mode", "date", "time"], "time": ["date", "time"]},
                "privacy": {"unit": "person-day", "max_cells": 2, "epsilon": 1},
            }
        )
    )
    code, out, _ = noisegate(
        "release", file, "--plan", "--want", "by mode: 5%, by time: 30", "--json", out_file
    )
    assert code == 0
    assert "needs epsilon" in out
    assert "guessing: 50 %" in out
    assert max(map(len, out.splitlines())) <= 80
    needed = json.loads(out_file.read_text())["needed"]
    assert needed["binding"] == "by time"
    assert needed["wants"][0]["holds_from"] > 0
    code, _, err = noisegate("release", file, "--want", "by mode: 5", "--out", tmp_path / "x")
    assert code == 2
    assert "--want belongs to a plan" in err
