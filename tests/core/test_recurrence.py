"""More weeks: detection, the width of a recurring count, and the growth of the loss, against simulation and oracles."""

import math

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    PointMass,
    RandomRounding,
    RoundedLaplace,
)
from noisegate.mechanisms import (
    Contribution,
    Mechanism,
    Residual,
    composed_delta,
    composed_epsilon,
    detection,
    loss_by_week,
    occasions_until,
    seen_by,
    widths,
)
from noisegate.testing import simulated_widths


def as_in_2016(*, threshold=18, zeros="keep", scale=1.4):
    return Mechanism(
        law=RoundedLaplace(scale), rounding="nearest", threshold=threshold, rule="ge", zeros=zeros
    )


CREMORNE = Residual(total=RoundedLaplace(1.4), part=RoundedLaplace(1.4), parts=2, cell=as_in_2016())


def test_a_group_of_twelve_is_seen_as_often_as_simulated():
    """1 - (1 - q)^w against published counts, week by week, within three standard errors."""
    mechanism, group, runs, weeks = as_in_2016(), 12, 4_000, 52
    rng = np.random.default_rng(1)
    counts = group + mechanism.law.sample(runs * weeks, rng=rng).reshape(runs, weeks)
    seen = np.maximum.accumulate(counts >= 18, axis=1).mean(axis=0)
    told = seen_by(detection(mechanism, group), np.arange(1, weeks + 1))
    error = np.sqrt(told * (1 - told) / runs)
    assert (np.abs(seen - told)[[0, 3, 12, 51]] < 3 * error[[0, 3, 12, 51]]).all()
    # Power: five times a week is not once a week.
    assert (
        np.abs(seen - seen_by(detection(mechanism, group), 5 * np.arange(1, weeks + 1)))[51] > 10 * error[51]
    )


def test_detection_keeps_its_digits_for_one_person():
    q = detection(as_in_2016(), 1)
    assert q == pytest.approx(3.806267658e-06, rel=1e-9)
    assert seen_by(q, 52) == pytest.approx(52 * q - 52 * 51 / 2 * q**2, rel=1e-7)
    assert seen_by(q, 0) == 0
    assert seen_by(1.0, [0, 1]).tolist() == [0, 1]


@pytest.mark.parametrize("chance", [1e-6, 0.01, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("certainty", [0.01, 0.5, 0.75, 0.95])
def test_occasions_until_is_the_least_number(chance, certainty):
    n = occasions_until(chance, certainty)
    assert seen_by(chance, n) >= certainty
    assert n == 1 or seen_by(chance, n - 1) < certainty


def test_what_never_happens_is_never_seen():
    assert occasions_until(0.0, 0.5) is None
    assert detection(as_in_2016(zeros="perturb"), 12) == 0


@pytest.mark.parametrize("count", [3, 12, 17])
def test_the_expected_width_is_that_of_simulated_weeks(count):
    """Exact averages against 2,000 simulated attackers, within three standard errors."""
    weeks = [1, 4, 26]
    told = widths(CREMORNE, count=count, weeks=26)
    mean, error = simulated_widths(CREMORNE, count=count, weeks=weeks, rng=np.random.default_rng(count))
    at = np.array(weeks) - 1
    assert (np.abs(told.expected[at] - mean) < 3 * error).all()
    # Power: the width of the week before differs by more than that.
    assert abs(told.expected[1] - mean[0]) > 10 * error[0]


def test_one_week_against_a_plain_loop():
    """Every outcome of one week by hand; at residual 18 it is the posterior of MATH 4 (but for rounding): 10 to 20."""
    noise, hidden = CREMORNE.noise(), as_in_2016()
    chances = np.exp([hidden.response(c).log_suppressed for c in range(120)])
    total = whole = 0.0
    at_18 = None
    for residual in range(-60, 90):
        weight = float(np.exp(noise.logpmf(residual - 12)))
        mass = np.array([np.exp(noise.logpmf(residual - c)) for c in range(120)]) * chances
        tail = np.cumsum(mass) / mass.sum()
        low, high = int(np.argmax(tail >= 0.025)), int(np.argmax(tail >= 0.975))
        total, whole = total + weight * (high - low), whole + weight
        at_18 = (low, high) if residual == 18 else at_18
    assert at_18 == (10, 20)
    assert widths(CREMORNE, count=12, weeks=1).expected[0] == pytest.approx(total / whole, rel=1e-6)


def test_intervals_cover_and_shrink_like_one_over_the_root_of_weeks():
    told = widths(CREMORNE, count=12, weeks=104)
    assert (told.covered > 0.94).all()
    assert told.expected[15] / told.expected[3] == pytest.approx(0.5, abs=0.06)
    assert told.expected[0] < 2 * 6.956  # sharper than the exact interval without the evidence of suppression
    assert told.weeks_until(2) == 1 + int(np.flatnonzero(told.expected > 2)[-1]) + 1
    assert told.weeks_until(-1) is None
    assert told.weeks_until(100) == 1


def test_more_parts_and_more_noise_make_it_harder():
    base = widths(CREMORNE, count=12, weeks=8).expected
    for other in (
        Residual(total=RoundedLaplace(1.4), part=RoundedLaplace(1.4), parts=10, cell=as_in_2016()),
        Residual(total=Laplace(3.0), part=Laplace(3.0), parts=2, cell=as_in_2016(scale=3.0)),
    ):
        assert (widths(other, count=12, weeks=8).expected > base).all()


@pytest.mark.parametrize("zeros", ["keep", "perturb"])
@pytest.mark.parametrize("law", [DiscreteLaplace(1.4), RoundedLaplace(2.0), DiscreteGaussian(3.0)])
def test_the_loss_of_weeks_agrees_with_composition(law, zeros):
    """The tight curve lies above the lower bound of the composition, and not far above its upper bound."""
    tables = [
        Mechanism(law=law, rounding="nearest", threshold=cut, rule="ge", zeros=zeros) for cut in (18, 35)
    ]
    for found in loss_by_week(tables, events_per_week=3, weeks=[1, 2, 9]):
        parts = [Contribution(mechanism=table, cells=3 * found.weeks) for table in tables]
        bracket = composed_epsilon(parts, found.delta)
        assert bracket.lower * (1 - 1e-9) <= found.tight <= bracket.upper * 1.02
        assert composed_delta(parts, found.tight).lower <= found.delta
        pure = sum(t.law.loss_bound(1) for t in tables)
        if math.isfinite(pure):
            assert found.linear == pytest.approx(3 * found.weeks * pure)
        else:
            (week,) = loss_by_week(tables, events_per_week=3, weeks=[1])
            assert found.linear == pytest.approx(found.weeks * week.tight, rel=1e-3)


def test_the_coarse_grid_of_a_year_costs_little():
    tables = [as_in_2016(zeros="perturb")] * 3
    (year,) = loss_by_week(tables, events_per_week=20, weeks=[5])
    bracket = composed_epsilon([Contribution(mechanism=t, cells=100) for t in tables], year.delta)
    assert bracket.lower <= year.tight <= 1.01 * bracket.upper
    assert year.tight < 0.5 * year.linear


def test_zeros_that_are_kept_show_somebody_in_the_end():
    (once, year) = loss_by_week([as_in_2016()], events_per_week=5, weeks=[1, 52])
    q = detection(as_in_2016(), 1)
    assert once.shown == pytest.approx(1 - (1 - q) ** 5, rel=1e-6)
    assert year.shown == pytest.approx(1 - (1 - q) ** 260, rel=1e-6)
    assert year.delta == pytest.approx(2 * year.shown)


def test_noise_with_a_largest_value_has_no_bound():
    table = Mechanism(law=BoundedUniform(3), threshold=10, rule="ge", zeros="perturb")
    (week,) = loss_by_week([table], events_per_week=1, weeks=[1])
    assert week.linear == week.tight == math.inf
    exact = Residual(total=PointMass(), part=PointMass(), parts=1, cell=table)
    known = widths(exact, count=6, weeks=3)
    assert (known.expected == 0).all()
    with pytest.raises(SpecError, match="always published"):
        widths(exact, count=30, weeks=1)


def test_bad_requests_are_refused():
    with pytest.raises(SpecError, match="without a cut"):
        Residual(total=Laplace(1), part=Laplace(1), parts=1, cell=Mechanism(law=Laplace(1)))
    with pytest.raises(SpecError, match="parts must be"):
        Residual(total=Laplace(1), part=Laplace(1), parts=-1, cell=as_in_2016())
    for bad in ({"count": -1, "weeks": 1}, {"count": 1, "weeks": 0}, {"count": 1, "weeks": 1, "level": 1.0}):
        with pytest.raises(SpecError):
            widths(CREMORNE, **bad)
    with pytest.raises(SpecError, match="ascending"):
        loss_by_week([as_in_2016()], events_per_week=1, weeks=[2, 1])
    with pytest.raises(SpecError, match="events_per_week"):
        loss_by_week([as_in_2016()], events_per_week=0, weeks=[1])
    with pytest.raises(SpecError, match="random rounding"):
        loss_by_week([Mechanism(law=RandomRounding(3))], events_per_week=1, weeks=[1])
    with pytest.raises(SpecError, match="chance"):
        seen_by(math.nan, 1)
