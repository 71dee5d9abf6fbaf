"""How values are written: dates, times, numbers, text."""

import pytest

from noisegate.errors import DataError
from noisegate.reading import find_form, read_numbers
from noisegate.tables import Kind


def form(name, *labels, **options):
    return find_form(name, labels, unknown=[False] * len(labels), **options)


@pytest.mark.parametrize(
    "written",
    [
        "20160808",
        "2016-08-08",
        "2016/8/8",
        "8/8/2016",
        "08.08.2016",
        "8-8-2016",
        "8 Aug 2016",
        "08-Aug-16",
        "8 August 2016",
    ],
)
def test_dates(written):
    found = form("when", written)
    assert (found.kind, found.keys) == (Kind.DATE, ("2016-08-08",))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("01/08/2016", "02/08/2016", "03/08/2016"), "2016-08-01"),  # three days running, not three months
        (("08/01/2016", "08/02/2016", "08/03/2016"), "2016-08-01"),  # month first
        (("13/08/2016", "14/08/2016"), "2016-08-13"),
        (("08/13/2016", "08/14/2016"), "2016-08-13"),
    ],
)
def test_day_and_month_are_told_apart(labels, expected):
    found = form("date", *labels)
    assert (found.keys[0], found.note) == (expected, "")


def test_a_date_that_fits_both_ways_is_noted():
    found = form("date", "01/02/2016")
    assert found.keys == ("2016-02-01",)
    assert "month first fits as well" in found.note


@pytest.mark.parametrize(
    ("name", "labels", "keys", "step"),
    [
        ("x", ("07:15", "07:30"), ("07:15", "07:30"), 15),
        ("x", ("7:15:00", "19:00:00"), ("07:15", "19:00"), 15),
        ("x", ("7:15 am", "7:15 PM", "12:00 am"), ("07:15", "19:15", "00:00"), 15),
        ("x", ("07:00-07:30", "07:30-08:00"), ("07:00", "07:30"), 30),
        ("x", ("07:00 to 07:14", "07:15 to 07:29"), ("07:00", "07:15"), 15),
        ("hour", ("0", "7", "23"), ("00:00", "07:00", "23:00"), 60),
        ("tap_time", ("0715", "0730"), ("07:15", "07:30"), 15),
        ("time", ("25:30", "26:00"), ("25:30", "26:00"), 30),
        ("time", ("07:00",), ("07:00",), None),
    ],
)
def test_times(name, labels, keys, step):
    found = form(name, *labels)
    assert (found.kind, found.keys, found.step) == (Kind.TIME, keys, step)


@pytest.mark.parametrize(
    ("name", "labels", "kind"),
    [
        ("age", ("0", "7", "23"), Kind.NUMBER),
        ("postcode", ("2000", "2007"), Kind.NUMBER),
        ("postcode", ("0800", "2007"), Kind.TEXT),
        ("loc", ("2000", "Central"), Kind.TEXT),
        ("time", ("07:15", "night"), Kind.TEXT),
        ("date", ("20161308", "20160808"), Kind.NUMBER),
        ("code", ("12345678", "20160808"), Kind.NUMBER),
        ("age", ("0-4", "5-9"), Kind.TEXT),
        ("price", ("12.50", "7.15"), Kind.TEXT),
    ],
)
def test_what_only_looks_like_a_date_or_a_time(name, labels, kind):
    assert form(name, *labels).kind is kind


def test_totals_and_unknown_values_do_not_spoil_the_kind():
    found = find_form("hour", ("7", "Total", "-1"), unknown=[False, False, True])
    assert (found.kind, found.ordinals) == (Kind.TIME, (420, None, None))


def test_a_given_kind_is_believed_or_refused():
    assert form("x", "7", "8", kind=Kind.TIME).keys == ("07:00", "08:00")
    assert form("x", "7", "8", kind=Kind.TEXT).kind is Kind.TEXT
    assert form("x", "08/09/2016", pattern="%m/%d/%Y").keys == ("2016-08-09",)
    with pytest.raises(DataError, match="should hold numbers, but 'b' is not one"):
        form("x", "7", "b", kind=Kind.NUMBER)
    with pytest.raises(DataError, match=r"should hold dates written %Y, but '20160808' is not one"):
        form("x", "2016", "20160808", pattern="%Y")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("1e400", "inf", "nan", "0x10", "1_000", "9" * 30), [None] * 6),
        (("12", "1,234,567"), [12, 1234567]),
        (("1.234", "1.5"), [1.234, 1.5]),
        (("1\u00a0234", "5"), [1234, 5]),
        (("\u22125", "5"), [-5, 5]),
        (("1,23,4", "5"), [None, 5]),
    ],
)
def test_numbers(labels, expected):
    found = read_numbers(labels)
    assert found.is_number.tolist() == [value is not None for value in expected]
    assert found.values[found.is_number].tolist() == [value for value in expected if value is not None]


def test_marks_for_hidden_counts():
    found = read_numbers(["<5", "≤ 3", "np", "..", "*", "less than 10", "", "many", "7"])
    assert found.marked.tolist() == [True] * 6 + [False] * 3
    assert found.blank.tolist() == [False] * 6 + [True, False, False]
