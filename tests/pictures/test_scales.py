"""Scales put every value where it belongs, and mark round numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.pictures import Linear, Log, Rooms, Symlog, number, odds, percent, round_ticks

SIZES = st.floats(min_value=1e-9, max_value=1e15)


@pytest.mark.parametrize(
    ("low", "high", "count", "ticks"),
    [
        (0, 10, 5, [0, 2, 4, 6, 8, 10]),
        (0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3, 3, 6, [-3, -2, -1, 0, 1, 2, 3]),
        (17, 19.5, 5, [17, 17.5, 18, 18.5, 19, 19.5]),
        (0, 0.003, 3, [0, 0.001, 0.002, 0.003]),
        (0, 7e9, 4, [0, 2e9, 4e9, 6e9]),
    ],
)
def test_ticks_are_round(low, high, count, ticks):
    assert round_ticks(low, high, count) == ticks


# A span that is no more than the last digits of its ends cannot be divided.
@given(low=st.floats(-1e6, 1e6), span=SIZES.filter(lambda one: one > 1e-3), count=st.integers(2, 12))
def test_ticks_are_inside_in_order_and_about_as_many_as_asked_for(low, span, count):
    high = low + span
    found = round_ticks(low, high, count)
    assert found == sorted(set(found))
    assert all(low - span / 1e6 <= one <= high + span / 1e6 for one in found)
    assert len(found) <= 2.5 * count + 1
    assert len(found) >= count / 2.5 - 1


@given(values=st.lists(st.floats(-1e12, 1e12), max_size=8), zero=st.booleans())
def test_a_linear_scale_holds_every_value(values, zero):
    scale = Linear.over(values, zero=zero)
    assert scale.low < scale.high
    for value in [*values, *([0.0] if zero else [])]:
        assert -1e-6 <= scale.at(value) <= 1 + 1e-6


@pytest.mark.parametrize("value", [0.0, 5.0, -5.0, 1e15, 1e-12])
def test_equal_values_and_single_ones_have_a_scale(value):
    for scale in (Linear.over([value]), Linear.over([value, value], zero=True)):
        assert 0 <= scale.at(value) <= 1
        assert scale.ticks(5)
    if value > 0:
        scale = Log.over([value, value])
        assert scale.at(value) == pytest.approx(0.5)
        assert scale.ticks(5)


def test_nothing_and_what_is_no_number_have_a_scale():
    for scale in (
        Linear.over([]),
        Linear.over([math.nan, math.inf]),
        Log.over([]),
        Log.over([0, -3, math.nan]),
    ):
        assert scale.high > scale.low
        assert scale.ticks(5)
    assert Linear(0, 1).at(math.nan) is None
    assert Linear(2, 2).at(2) == 0


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf])
def test_what_is_not_above_zero_has_no_place_on_a_scale_of_factors(value):
    assert Log(1, 10).at(value) is None


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 1000, [1, 10, 100, 1000]),
        (1, 20, [1, 2, 5, 10, 20]),
        (0.3, 40, [0.3, 1, 3, 10, 30]),
        (1e-12, 1, [1e-12, 1e-9, 1e-6, 1e-3, 1]),
        (41, 47, [42, 44, 46]),
    ],
)
def test_factors_are_marked_by_powers_and_few_between(low, high, ticks):
    assert Log(low, high).ticks(4) == pytest.approx(ticks)


@given(low=SIZES, factor=st.floats(1.001, 1e12), count=st.integers(2, 10))
def test_factors_are_marked_inside_and_not_too_often(low, factor, count):
    found = Log(low, low * factor).ticks(count)
    assert found == sorted(found)
    assert all(low * (1 - 1e-6) <= one <= low * factor * (1 + 1e-6) for one in found)
    assert len(found) <= 2.5 * count + 1


def test_powers_around_a_range():
    assert Log(3, 70).rounded() == Log(1, 100)
    assert Log(1, 100).rounded() == Log(1, 100)
    assert Log(1, 1.5).rounded() == Log(1, 10)


def test_rooms_stand_in_order_and_do_not_touch():
    rooms = Rooms(["b", "a", "b", "constructor"])
    places = [rooms.at(name) for name in ("b", "a", "constructor")]
    assert places == sorted(places)
    assert places[0] - rooms.width / 2 >= 0
    assert places[-1] + rooms.width / 2 <= 1 + 1e-12
    assert places[1] - places[0] > rooms.width
    assert rooms.at("z") is None
    assert Rooms([]).ticks(3) == []


def test_small_numbers_stay_visible_beside_large_ones():
    scale = Symlog(1000)
    assert (scale.at(0), scale.at(1000)) == (0, 1)
    assert scale.at(1) > 0.05
    assert scale.at(-1) is None
    assert scale.ticks(5) == [0, 1, 10, 100, 1000]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (-2.5, "−2.5"),
        (1500, "1,500"),
        (999_999, "999,999"),
        (3e6, "3M"),
        (2.5e9, "2.5G"),
        (1e-6, "1e−6"),
        (1e20, "1e20"),
        ("name", "name"),
    ],
)
def test_numbers_are_said_as_people_write_them(value, said):
    assert number(value) == said


def test_shares_and_odds():
    assert (percent(0), percent(0.125), percent(1)) == ("0%", "12.5%", "100%")
    assert (odds(1), odds(0.6), odds(1e-6), odds(0)) == ("1 in 1", "1 in 1.7", "1 in 1,000,000", "never")
