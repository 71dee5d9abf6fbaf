"""Numbers as people read them."""

import doctest

import pytest

from noisegate.assessment import words
from noisegate.report import markdown


@pytest.mark.parametrize("module", [words, markdown])
def test_examples_in_the_documentation_hold(module):
    result = doctest.testmod(module)
    assert result.attempted >= 1
    assert result.failed == 0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (True, "yes"),
        (0, "0"),
        (-1234, "-1,234"),
        (float("inf"), "without bound"),
        (float("nan"), "not a number"),
        (1234.5678, "1,235"),
        (2.0, "2"),
        (3.3e-9, "3.3e-09"),
        ("a", "a"),
    ],
)
def test_a_value_is_said_as_people_say_it(value, said):
    assert words.number(value) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0, "0%"), (0.5, "50%"), (0.05, "5.0%"), (0.9995, "above 99.9%")]
)
def test_a_share_is_never_rounded_to_none_or_all(share, said):
    assert words.percent(share) == said


def test_nested_numbers_become_pairs():
    nested = {"a": {"b": [{"c": 1}, {"c": None}]}, "list": [1, "x"], "none": []}
    assert list(words.flat(nested)) == [
        ("a, b 1, c", "1"),
        ("a, b 2, c", "not known"),
        ("list", "1, x"),
        ("none", "none"),
    ]
