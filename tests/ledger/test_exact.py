"""Exact numbers, and rounding outward where they are shown."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.errors import SpecError
from noisegate.ledger import as_delta, as_epsilon, float_down, float_up, shown_down, shown_up

amounts = st.fractions(min_value=0, max_value=10**8, max_denominator=10**12)


@given(amounts)
def test_text_holds_every_digit(value):
    assert as_epsilon(str(value)) == value


@given(amounts)
def test_shown_amounts_enclose_the_value_closely(value):
    low, high = Fraction(shown_down(value)), Fraction(shown_up(value))
    assert low <= value <= high
    assert high - low <= value / 10**5


@given(amounts)
def test_json_numbers_enclose_the_value_closely(value):
    low = Fraction(json.dumps(float_down(value)))
    high = Fraction(json.dumps(float_up(value)))
    assert low <= value <= high
    assert high - low <= value / 10**15


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        ("0", "0", "0"),
        ("10", "10", "10"),
        ("0.1", "0.1", "0.1"),
        ("1e-6", "1e-6", "1e-6"),
        ("1/3", "0.333333", "0.333334"),
        ("2/3", "0.666666", "0.666667"),
        ("123456789", "1.23456e8", "1.23457e8"),
        ("1/30000000", "3.33333e-8", "3.33334e-8"),
    ],
)
def test_amounts_read_well(value, down, up):
    assert (shown_down(Fraction(value)), shown_up(Fraction(value))) == (down, up)


def test_a_tenth_is_written_as_a_tenth():
    assert json.dumps(float_up(Fraction(1, 10))) == "0.1"
    assert json.dumps(float_up(Fraction(1, 10**6))) == "1e-06"


@pytest.mark.parametrize(
    "text", ["", " ", "one", "1e", "0x1", "1_0", "٣", "inf", "1e9999", "--1", "1/2/3", "1 / 2"]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(SpecError, match=r"^budget must be an exact number"):
        as_epsilon(text, name="budget")


@pytest.mark.parametrize(("text", "fine"), [("0", True), ("0.999", True), ("1", False), ("-1e-9", False)])
def test_delta_is_a_probability_below_one(text, fine):
    if fine:
        assert as_delta(text) == Fraction(text)
    else:
        with pytest.raises(SpecError, match="at least 0 and below 1"):
            as_delta(text)
