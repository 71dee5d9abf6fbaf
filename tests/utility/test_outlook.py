"""What a budget buys, before anything is read or spent."""

import math

import pytest

from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace
from noisegate.margins import ErrorLaw, ErrorTerm
from noisegate.workload import outlook


def by_name(found):
    return {one.name: one for one in found.questions}


def test_the_error_of_a_derived_total_is_that_of_its_noises(town):
    found = by_name(outlook(town.spec(margins="derive")))["total"]
    law = DiscreteLaplace(2.0)
    exact = ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=2 * 2 * 24 * 8, law=law),))
    at_own = dict(found.by_epsilon)[1.0]
    assert at_own.table == "base"
    assert at_own.expected_absolute == pytest.approx(exact.expected_absolute)
    assert at_own.half_width == exact.half_width(0.95)


def test_a_larger_budget_means_a_smaller_error(town):
    for one in outlook(town.spec()).questions:
        errors = [prediction.expected_absolute for _, prediction in one.by_epsilon]
        assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("law", [{}, {"law": "discrete-gaussian", "delta": 1e-6}])
def test_the_epsilon_that_a_wanted_error_needs_gives_that_error(town, law):
    workload = {"peak": {"where": {"time": "07:00..09:00"}, "by": "mode", "wanted": 12}}
    needed = by_name(outlook(town.spec(workload=workload, **law)))["peak"].epsilon_needed
    again = by_name(outlook(town.spec(workload=workload, **{**law, "epsilon": repr(round(needed, 9))})))[
        "peak"
    ]
    reached = min(again.by_epsilon, key=lambda point: abs(math.log(point[0] / needed)))[1]
    assert reached.expected_absolute == pytest.approx(12, rel=0.02)


def test_a_general_aim_serves_questions_without_their_own(town):
    found = by_name(outlook(town.spec(), wanted=20))
    assert found["total"].wanted == 20
    assert found["peak"].wanted == 5


def test_a_question_that_no_table_answers_is_listed_with_the_reason(town):
    found = by_name(outlook(town.spec()))["by-colour"]
    assert found.reason == "no table has colour"
    assert found.by_epsilon == ()


@pytest.mark.parametrize(
    ("privacy", "tables", "names"),
    [
        # Both margins tell modes apart: their totals are made whole first.
        ({}, None, {"peak", "odd-hours", "busiest"}),
        ({}, {"base": ["mode", "date", "time", "stop"]}, {"by-mode", "peak", "odd-hours", "busiest"}),
        ({"margins": "derive"}, None, set()),
        ({"margins": "independent", "unsafe": True}, None, set()),
    ],
)
def test_questions_whose_error_depends_on_counts_are_named(town, privacy, tables, names):
    found = outlook(town.spec(tables=tables, **privacy))
    assert {one.name for one in found.questions if one.depends_on_counts} == names
    assert found.assumes == ("counts well above zero" if names else None)


def test_nothing_is_read(town, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    spec = town.spec()
    moved = spec.model_copy(update={"events": spec.events.model_copy(update={"source": "not-there.csv"})})
    assert outlook(moved).questions


def test_a_spec_without_a_workload_or_with_a_strange_aim_is_refused(town):
    with pytest.raises(SpecError, match="has no workload"):
        outlook(town.spec(workload=None))
    with pytest.raises(SpecError, match="error must be a number above 0"):
        outlook(town.spec(), wanted=-1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            {"where": {"mode": "tram"}},
            r"workload.x.where.mode has no 'tram'; it has train, bus. Did you mean 'train'\?",
        ),
        (
            {"where": {"time": "7..9"}},
            r"a range of workload.x.where.time looks like 06:00..09:00, got '7..9'",
        ),
        (
            {"where": {"date": "2016..2017"}},
            r"a range of workload.x.where.date looks like 2016-07-25..2016-07-26, got '2016..2017'",
        ),
    ],
)
def test_values_that_do_not_exist_are_refused(town, question, sentence):
    with pytest.raises(SpecError, match=sentence):
        outlook(town.spec(workload={"x": question}))
