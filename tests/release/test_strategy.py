"""Strategies for a workload: exact, never worse than the declared tables, and with coarser bins where ranges are asked for."""

import csv
from fractions import Fraction

import numpy as np
import pytest

from noisegate.engine import count
from noisegate.errors import SpecError
from noisegate.laws import SeededNoise
from noisegate.margins import predict
from noisegate.query import open_release
from noisegate.releases import (
    asked_questions,
    make_plan,
    publish_tables,
    release,
    sum_errors,
    warnings_before_spending,
    workload_strategy,
)
from noisegate.spec import parse_spec

BASE = ["mode", "date", "time", "stop"]
GAUSSIAN = {"law": "discrete-gaussian", "delta": "1e-6"}
PEAKS = {
    "peak": {"where": {"time": "07:00..09:00"}, "by": ["mode", "date"]},
    "evening": {"where": {"time": "16:00..19:00"}, "by": ["mode", "date"]},
}
RANGES = {f"until-{h}": {"where": {"time": f"00:00..{h:02d}:00"}, "by": ["mode"]} for h in range(2, 24, 3)}
MIXED = {**PEAKS, "cells": {"by": BASE}, "stops": {"by": ["stop"]}}


def spec(folder, workload, tables=None, *, stops=12, every="15min", **privacy):
    return parse_spec(
        {
            "name": "town",
            "population": "cards",
            "events": {"source": "taps.csv", "person": "card"},
            "dimensions": {
                "mode": {"column": "mode", "values": ["train", "bus"]},
                "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
                "time": {"column": "at", "every": every},
                "stop": {"column": "stop", "values": [f"S{n}" for n in range(stops)]},
            },
            "tables": tables or {"base": BASE, "time": ["mode", "date", "time"]},
            "privacy": {"unit": "person-day", "max_cells": 2, "epsilon": 1, **privacy},
            "workload": workload,
        },
        folder=folder,
    )


@pytest.fixture
def town(tmp_path):
    rng = np.random.default_rng(3)
    lines = ["card,at,mode,stop"]
    for card in range(3000):
        for _ in range(int(rng.integers(1, 3))):
            hour = int(np.clip(rng.normal(rng.choice([8, 17]), 1.5), 0, 23))
            when = f"2016-07-{25 + int(rng.integers(2))} {hour:02d}:{int(rng.integers(60)):02d}:00"
            lines.append(f"c{card},{when},{rng.choice(['train', 'bus'])},S{int(rng.integers(12))}")
    (tmp_path / "taps.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def deviations(plan):
    errors = sum_errors(plan)
    return {one.name: predict(one, errors).standard_deviation for one in asked_questions(plan.spec)}


@pytest.mark.parametrize("law", [{}, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("workload", [PEAKS, RANGES, MIXED], ids=["peaks", "ranges", "mixed"])
def test_a_strategy_is_what_it_says_and_never_worse_than_the_declared_tables(tmp_path, workload, law):
    usual = spec(tmp_path, workload, **law)
    made = workload_strategy(spec(tmp_path, workload, strategy="workload", **law))
    assert made.value < made.flat
    ours, flat = deviations(make_plan(made.spec)), deviations(make_plan(usual))
    alone = deviations(make_plan(spec(tmp_path, workload, split={"base": 1, "time": 0}, **law)))

    def mean(found):
        return sum((found[name] / alone[name]) ** 2 for name in found)

    # Exact variances of the plans themselves, by the other way of working them out.
    assert mean(ours) / mean(flat) == pytest.approx(made.value / made.flat, rel=0.03)
    assert sum(made.spec.privacy.split.values()) == 1
    assert all(isinstance(share, Fraction) for share in made.spec.privacy.split.values())


def test_ranges_of_hours_are_measured_by_the_hour(tmp_path):
    made = workload_strategy(spec(tmp_path, PEAKS, strategy="workload"))
    assert list(made.added.values()) == [("mode", "date", "time-1h")]
    usual = deviations(make_plan(spec(tmp_path, PEAKS)))
    ours = deviations(make_plan(made.spec))
    assert ours["peak"] < usual["peak"] / 4
    # Gaussian losses add up squared, so that several levels pay.
    many = workload_strategy(spec(tmp_path, RANGES, strategy="workload", **GAUSSIAN))
    assert sum("time-" in names[-1] for names in many.added.values()) >= 3


def test_bins_that_no_range_needs_are_not_measured(tmp_path):
    odd = {"odd": {"where": {"time": "07:15..07:30"}, "by": ["mode"]}}
    made = workload_strategy(spec(tmp_path, odd, strategy="workload"))
    assert list(made.added.values()) == [("mode", "time")]
    assert "time-1h" not in make_plan(spec(tmp_path, odd, strategy="workload")).spec.dimensions


def test_levels_of_time_add_no_cell(tmp_path):
    plain = spec(tmp_path, PEAKS)
    made = workload_strategy(spec(tmp_path, PEAKS, strategy="workload")).spec
    assert made.domain.size == plain.domain.size
    assert made.tables["base"] == (*BASE, "time-1h")


@pytest.mark.parametrize(
    "law", [pytest.param({}, id="laplace", marks=pytest.mark.slow), pytest.param(GAUSSIAN, id="gaussian")]
)
def test_drawn_errors_are_those_of_the_strategy(town, law):
    plan = make_plan(spec(town, PEAKS, strategy="workload", **law))
    counts = count(plan.spec, entropy=SeededNoise(seed=1))
    margin = plan.spec.margins["by-mode-date-time-1h"]
    truth = np.bincount(
        margin.of(counts.cells), weights=counts.raw_counts, minlength=margin.domain.size
    ).reshape(2, 2, 24)[:, :, 7:9]
    errors = []
    for seed in range(60):
        made = publish_tables(plan, counts, entropy=SeededNoise(seed=seed))["by-mode-date-time-1h"]
        values = np.zeros(margin.domain.size)
        values[made.cells] = made.values
        errors.append((values.reshape(2, 2, 24)[:, :, 7:9] - truth).sum(axis=2))
    # 240 sums of counts well above zero.
    assert np.std(errors) == pytest.approx(deviations(plan)["peak"], rel=0.2)


def test_such_a_release_is_made_charged_and_answered(town):
    out, ledger = town / "out", town / "ledger.sqlite"
    made = release(
        spec(town, PEAKS, strategy="workload"), out=out, ledger=ledger, entropy=SeededNoise(seed=4), yes=True
    )
    assert made.card.parameters.epsilon == 1
    with (out / "base.csv").open() as stream:
        row = next(csv.DictReader(stream))
    assert row["time"][:2] == row["time-1h"][:2]
    answer = open_release(out).query(where="time=07:00..09:00,mode=train", by="date")
    rows = [line.split(",") for line in (town / "taps.csv").read_text().splitlines()[1:]]
    for one in answer.to_pylist():
        truth = sum(
            r[2] == "train" and "07:" <= r[1][11:14] < "09:" and r[1][:10] == str(one["date"]) for r in rows
        )
        assert one["low"] <= truth <= one["high"]
        assert one["high"] - one["low"] < 30


def test_a_base_that_nobody_asks_about_is_said_to_be_poor(tmp_path):
    (said,) = warnings_before_spending(make_plan(spec(tmp_path, PEAKS, strategy="workload")))
    assert "0.5 % of the budget to base" in said
    assert "by [mode, date, time, stop" in said
    assert warnings_before_spending(make_plan(spec(tmp_path, MIXED, strategy="workload"))) == ()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"split": {"base": "1/2", "time": "1/2"}}, "the shares follow from the workload"),
        ({"epsilon": None, "scale": 1}, "it divides an epsilon"),
        ({"margins": "derive"}, "it needs margins: reconcile"),
        ({"max_cells": None, "choose_bound": {"epsilon": 1, "among": [1, 2]}}, "it needs to know the bound"),
        ({"strategy": "best"}, "strategy"),
    ],
)
def test_what_does_not_go_with_a_strategy_is_refused(tmp_path, more, words):
    given = {"epsilon": 1, "max_cells": 2, "strategy": "workload", **more}
    block = {"unit": "person-day", **{k: v for k, v in given.items() if v is not None}}
    with pytest.raises(SpecError, match=words):
        parse_spec(
            {
                "name": "town",
                "events": {"source": "taps.csv", "person": "card"},
                "dimensions": {
                    "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
                    "time": {"column": "at", "every": "1h"},
                },
                "tables": {"base": ["date", "time"], "time": ["time"]},
                "privacy": block,
                "workload": {"all": {}},
            },
            folder=tmp_path,
        )


def test_a_strategy_needs_a_workload(tmp_path):
    with pytest.raises(SpecError, match="write down the questions"):
        spec(tmp_path, {}, strategy="workload")
