"""A series end to end: what its weeks measure and cost, that it goes on after faults, and that its intervals are true."""

import json
import shutil
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import noisegate
from noisegate.errors import BudgetExceeded, DataError, GateError, OutputError, SpecError
from noisegate.laws import SeededNoise
from noisegate.releases import bell_delta, make_plan, running_plan
from noisegate.spec import parse_spec

FIRST = date(2024, 1, 1)


def series_spec(weeks=3, *, unit="event", law="discrete-gaussian", lines=3, margins="derive", **privacy):
    """A series of counts by line."""
    more = {"delta": "1e-6"} if law == "discrete-gaussian" else {}
    more |= {} if unit == "event" else {"max_cells": 2}
    return {
        "name": "year",
        "population": "riders",
        "events": {"source": "events", "person": "card"},
        "dimensions": {
            "line": {"column": "line", "values": [f"L{n}" for n in range(lines)]},
            "date": {"column": "at", "from": str(FIRST), "to": str(FIRST + timedelta(days=7 * weeks - 1))},
        },
        "tables": {"lines": ["line"]},
        "series": {"weeks": weeks},
        "privacy": {"unit": unit, "epsilon": 2, "law": law, "margins": margins, **more, **privacy},
    }


def week_spec(**changes):
    """One independent week of the same."""
    whole = series_spec(**changes)
    whole.pop("series")
    whole["dimensions"]["date"]["to"] = str(FIRST + timedelta(days=6))
    return whole


def events(weeks=3, each=40, lines=3):
    """So many events of every line in every week, each of its own person."""
    rows = [
        (f"L{line}", FIRST + timedelta(days=7 * week + n % 7))
        for week in range(weeks)
        for line in range(lines)
        for n in range(each)
    ]
    at = pa.array([day for _, day in rows]).cast(pa.timestamp("us"))
    return pa.table(
        {"line": [line for line, _ in rows], "at": at, "card": [f"c{n}" for n in range(len(rows))]}
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEGATE_HEADS", str(tmp_path / "heads"))
    (tmp_path / "out").mkdir()
    return tmp_path


def make_week(place, week, *, spec=None, out=None, frame=None, **options):
    return noisegate.release(
        spec or series_spec(),
        events=events() if frame is None else frame,
        out=place / "out" / (out or f"week{week}"),
        ledger=place / "ledger.db",
        week=week,
        **options,
    )


def spent(place, unit="event"):
    with noisegate.open_ledger(place / "ledger.db", read_only=True) as book:
        return book.account("riders").per(unit).worst


# What a series is good for.


def variances(spec):
    """Of each week, and of each running total that is published, as their plans state it."""
    parsed = parse_spec(spec, folder=Path())
    plans = [make_plan(parsed, week=week) for week in range(1, parsed.series.weeks + 1)]
    runs = [running_plan(plan) for plan in plans]
    return [p.base.noise.law.variance for p in plans], [r and r.base.noise.law.variance for r in runs]


@pytest.mark.parametrize("unit", ["event", "person-day"])
def test_a_year_of_running_totals_against_independent_weeks(unit):
    single, running = variances(series_spec(52, unit=unit, epsilon=1))
    alone = make_plan(parse_spec(week_spec(unit=unit, epsilon=1), folder=Path())).base.noise.law.variance
    assert np.mean(single) / alone == pytest.approx(1.35, abs=0.03)
    assert np.mean([single[0], *running[1:]]) / alone == pytest.approx(5.1, abs=0.1)
    # Independent weeks on the same budget: a unit is in one of them, so each has all of it.
    assert np.mean(np.arange(1, 53)) == 26.5


def test_a_person_in_every_week_has_a_total_at_the_end():
    single, running = variances(series_spec(52, unit="person", law="discrete-laplace", epsilon=1))
    alone = make_plan(
        parse_spec(week_spec(unit="person", law="discrete-laplace", epsilon="1/52"), folder=Path())
    ).base.noise.law.variance
    assert max(single) <= 2 * alone
    assert running[:-1] == [None] * 51
    assert running[-1] <= 0.25 * 52 * alone


@pytest.mark.parametrize("unit", ["event", "person-day", "person"])
@pytest.mark.parametrize("law", ["discrete-gaussian", "discrete-laplace"])
def test_the_promise_is_kept_and_never_dearer_than_stated(unit, law):
    plan = make_plan(parse_spec(series_spec(8, unit=unit, law=law), folder=Path()))
    terms = plan.series.terms
    assert plan.charged.epsilon == 2
    rows = np.array([terms.row(n) for n in range(len(terms.strategy.entries))])
    scale = [terms.noise(n, "lines").scale for n in range(len(rows))]
    bound = plan.spec.privacy.contribution
    weeks = [np.eye(8, dtype=int)[w] for w in range(8)] if unit != "person" else [np.ones(8, dtype=int)]
    for where in weeks:  # a unit adds 1 to each of its cells in these weeks
        moved = [abs(int(row @ where)) for row in rows]
        if law == "discrete-laplace":
            assert sum(Fraction(bound.total * m) / s for m, s in zip(moved, scale, strict=True)) <= 2
        else:
            squares = float(
                sum(Fraction(bound.cells * m * m) / s**2 for m, s in zip(moved, scale, strict=True))
            )
            assert bell_delta(squares, 2.0, narrowest=float(min(scale))) <= 1e-6


def test_stated_noise_is_that_of_draws(place):
    # 20,000 empty cells: the variance of each table is known to a percent; one that is 10 % off fails.
    frame = events(weeks=3, each=1, lines=1)
    spec = series_spec(3, lines=20_000)
    for week in (1, 2, 3):
        made = make_week(place, week, spec=spec, frame=frame, entropy=SeededNoise(seed=week), yes=True)
        for found in (
            made,
            *([noisegate.open_release(place / "out" / f"week{week}" / "running")] if week > 1 else []),
        ):
            base = found.tables[0]
            stated, seen = found.card.tables[0].noise.variance, float((base.values[1:] ** 2.0).mean())
            error = stated * np.sqrt(2 / 20_000)
            assert abs(seen - stated) < 5 * error < 0.1 * stated
    assert found.card.series["of"] == "all weeks so far"


# What it costs, and what it refuses.


def test_a_series_is_paid_once_and_each_week_released_once(place):
    for week in (1, 2, 3):
        made = make_week(place, week)
        assert made.card.series["week"] == week
        answer = made.answer(level=0.9999999)
        assert answer.low[0] <= 120 <= answer.high[0]
        assert spent(place).epsilon == 2
    running = noisegate.open_release(place / "out" / "week3" / "running").answer(level=0.9999999)
    assert running.low[0] <= 360 <= running.high[0]
    with pytest.raises(GateError, match="Week 2 of series 'year' is released already"):
        make_week(place, 2, out="again")
    assert not (place / "out" / "again").exists()
    with noisegate.open_ledger(place / "ledger.db") as book:
        assert book.check() == ()
    said = (place / "out" / "week3" / "CARD.md").read_text()
    assert "week 3 of 3" in said
    assert "paid once" in said


def test_a_week_must_be_named_and_only_of_a_series(place):
    with pytest.raises(SpecError, match="say which one is to be released, such as --week 1"):
        make_week(place, None)
    with pytest.raises(SpecError, match="the series has weeks 1 to 3"):
        make_week(place, 4)
    with pytest.raises(SpecError, match="--week belongs to a series"):
        make_week(place, 1, spec=week_spec())


def test_another_spec_under_the_same_name_is_refused(place):
    make_week(place, 1)
    with pytest.raises(SpecError, match="with another spec"):
        make_week(place, 2, spec=series_spec(epsilon=1))
    assert spent(place).epsilon == 2


def test_weeks_wait_for_those_they_are_told_from(place):
    with pytest.raises(DataError, match="week 1 is not released"):
        make_week(place, 2)
    make_week(place, 1)
    shutil.move(place / "out" / "week1", place / "elsewhere")
    with pytest.raises(DataError, match="put it back"):
        make_week(place, 2)
    shutil.move(place / "elsewhere", place / "out" / "first")  # beside the new one is found
    make_week(place, 2)
    file = place / "out" / "first" / "measured" / "lines.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match="altered"):
        make_week(place, 3)


def test_a_week_that_was_lost_is_paid_again_and_the_series_goes_on(place, monkeypatch):
    make_week(place, 1)

    def stop(*_, **__):
        raise OutputError("the machine stops here.")

    with monkeypatch.context() as patched:
        patched.setattr("noisegate.releases.job.write_measured", stop)
        with pytest.raises(OutputError, match="stops here"):
            make_week(place, 2)
    assert spent(place).epsilon == 2  # the loss of the lost week is part of what was paid
    with noisegate.open_ledger(place / "ledger.db") as book:
        book.set_budget("riders", epsilon="2", delta="1e-6", unit="event")
    with pytest.raises(BudgetExceeded):  # its noise may have been seen: once more costs more
        make_week(place, 2)
    with noisegate.open_ledger(place / "ledger.db") as book:
        book.set_budget("riders", epsilon="5", delta="1e-5", unit="event")
    make_week(place, 2)
    assert 2 < spent(place).epsilon <= 4
    make_week(place, 3)
    assert spent(place).epsilon <= 4


def test_events_of_earlier_weeks_that_are_gone_are_asked_about(place):
    make_week(place, 1)
    late = events().slice(120, 120)  # week 2 alone
    with pytest.raises(GateError, match="No event of week 1 of the series is counted any more"):
        make_week(place, 2, frame=late)
    make_week(place, 2, frame=late, yes=True)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"series": {"weeks": 4}}, "give dates of 28 days"),
        ({"tables": {"days": ["line", "date"]}}, "leave it out, or count by weekday"),
        ({"series": {"weeks": "0"}}, "whole number of at least 1"),
    ],
)
def test_specs_that_are_no_series(change, match):
    with pytest.raises(SpecError, match=match):
        parse_spec({**series_spec(), **change}, folder=Path())


def test_a_series_refuses_what_has_no_law():
    for key, value in (("zeros", "keep"), ("margins", "independent")):
        spec = series_spec(unsafe=True, **{key: value})
        with pytest.raises(SpecError, match=f"privacy.{key}"):
            parse_spec(spec, folder=Path())


def test_the_card_says_what_a_week_was_told_from(place):
    for week in (1, 2):
        make_week(place, week)
    said = json.loads((place / "out" / "week2" / "card.json").read_text())["series"]
    assert [one["week"] for one in said["estimated_from"]] == [1, 2]
    assert said["running"] == "running"
    assert (said["first_day"], said["last_day"]) == ("2024-01-08", "2024-01-14")
