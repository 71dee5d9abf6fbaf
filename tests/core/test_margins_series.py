"""Weekly series on one budget: the figures of the plan, and what a strategy may not do."""

from fractions import Fraction

import numpy as np
import pytest

from noisegate.margins import plan_series, prefix_strategy


def by_name(found):
    return {one.name: one for one in reversed(found)}  # the best of each name


def test_one_participation_gaussian_a_year_of_weeks():
    found = plan_series(52, participation="one", law="gaussian")
    weeks = by_name(found)["independent weeks"]
    assert (weeks.week, weeks.running, weeks.total) == (1.0, 26.5, 52.0)
    best = found[0]
    assert best.name == "prefix"
    assert best.running == pytest.approx(5.1, abs=0.05)
    assert best.week == pytest.approx(1.35, abs=0.01)
    assert best.total == pytest.approx(8.1, abs=0.05)


def test_running_totals_alone_reach_what_is_known_to_be_best():
    # Weeks hardly weighted: 4.15 on average and 5.0 at the end, single weeks 2.5.
    best = plan_series(52, participation="one", law="gaussian", week_weight=0.01)[0]
    assert best.running == pytest.approx(4.15, abs=0.02)
    assert best.total == pytest.approx(5.0, abs=0.05)
    assert best.week == pytest.approx(2.5, abs=0.05)


def test_a_person_in_every_week_is_served_by_a_total_at_the_end():
    found = plan_series(52, participation="every", law="laplace")
    best = found[0]
    assert best.name == "weeks and total"
    assert best.week <= 2
    assert best.total / 52 <= 0.25
    # 0.71 and 0.29 of the budget: the total measured alone has 0.23 of the variance, with the weeks beside it 0.2.
    entries = np.vstack([71 * np.eye(52, dtype=np.int64), np.full((1, 52), 29)])
    stated = next(one for one in found if np.array_equal(one.entries, entries))
    assert stated.total / 52 == pytest.approx(1 / (0.71**2 + 52 * 0.29**2), rel=1e-9)
    assert stated.total / 52 <= 0.22
    assert stated.week <= 2


def test_trees_do_not_pay_under_pure_epsilon_at_a_year():
    found = by_name(plan_series(52, participation="one", law="laplace"))
    assert found["tree"].running > found["independent weeks"].running


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("participation", ["one", "every"])
@pytest.mark.parametrize("weeks", [1, 2, 5, 13, 52])
def test_never_worse_than_independent_weeks(weeks, participation, law):
    found = plan_series(weeks, participation=participation, law=law)
    alone = by_name(found)["independent weeks"]
    assert found[0].objective(2.0) <= alone.objective(2.0)


@pytest.mark.parametrize("participation", ["one", "every"])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_sensitivities_are_those_of_the_worst_unit(participation, law):
    for one in plan_series(6, participation=participation, law=law):
        rows = np.array([[int(e * one.denominator) for e in row] for row in one.rows])
        if participation == "one":
            changes = [rows[:, week] for week in range(6)]
        else:  # Every sign of a change in every week.
            signs = np.array(np.meshgrid(*[[-1, 0, 1]] * 6)).reshape(6, -1).T
            changes = [rows @ sign for sign in signs]
        worst = max((c**2).sum() if law == "gaussian" else np.abs(c).sum() for c in changes)
        assert worst == one.sensitivity()


def test_variances_are_those_of_draws():
    rng = np.random.default_rng(3)
    one = plan_series(8, participation="one", law="gaussian")[0]
    rows = np.array([[float(e) for e in row] for row in one.rows])
    # Noise of one week measured alone has sd 1, so this strategy's has the root of its sensitivity.
    sigma = np.sqrt(one.sensitivity()) / one.denominator
    noise = sigma * rng.normal(size=(200_000, len(rows)))
    errors = noise @ np.linalg.pinv(rows).T
    assert (errors**2).mean() == pytest.approx(one.week, rel=0.02)
    assert (errors.cumsum(axis=1) ** 2).mean() == pytest.approx(one.running, rel=0.02)


def test_nothing_waits_for_weeks_to_come_and_entries_are_rational():
    rows = prefix_strategy(52, week_weight=2.0)
    assert np.array_equal(rows, np.tril(rows))
    assert all(
        isinstance(e, Fraction) for e in plan_series(4, participation="one", law="gaussian")[0].rows[0]
    )
