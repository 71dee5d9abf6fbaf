"""What people write about cells."""

from datetime import timedelta

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.reading import find_structure, read_table
from noisegate.recovery import FixedValues, Statement, parse_lag
from noisegate.tables import split_conditions


@pytest.fixture
def base(tables):
    dimensions = {
        "tap": ["on", "off"],
        "stop name": ["Quay, No. 3", "Beach"],
        "date": ["2016-07-25", "2016-07-26"],
    }
    (path,) = tables(t=(dimensions, np.full((2, 2, 2), 40)))
    return find_structure([read_table(path)]).base


def test_values_may_hold_commas_and_any_case(base):
    found = FixedValues.parse("TAP = On, Stop  Name=quay, no. 3", base)
    names = {
        base.dimensions[place].name: base.dimensions[place].labels[code]
        for place, code in found.codes.items()
    }
    assert names == {"tap": "on", "stop name": "Quay, No. 3"}
    assert split_conditions("a=1,b=x, y,c=2") == [("a", "1"), ("b", "x, y"), ("c", "2")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "--pair must be written \"dimension=value,dimension=value\", got ''."),
        ("tap", "--pair must be written \"dimension=value,dimension=value\", got 'tap'."),
        ("tap=", "--pair must be written \"dimension=value,dimension=value\", got 'tap='."),
        ("tab=on", "a dimension must be one of tap, stop name, date, got 'tab'. Did you mean 'tap'?"),
        ("tap=on,tap=off", "--pair 'tap=on,tap=off' names tap twice; name it once."),
        ("stop name=Beech", "stop name has no 'Beech'; it has Beach, Quay, No. 3. Did you mean 'Beach'?"),
        ("stop name=Nowhere at all", "stop name has no 'Nowhere at all'; it has Beach, Quay, No. 3."),
    ],
)
def test_selections_that_mean_nothing(base, text, says):
    with pytest.raises(SpecError) as caught:
        FixedValues.parse(text, base)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("lag", "minutes"),
    [
        ("30min", 30),
        ("30", 30),
        (" 1 h ", 60),
        ("2 Days", 2880),
        (45, 45),
        (timedelta(hours=2), 120),
    ],
)
def test_lags(lag, minutes):
    assert parse_lag(lag) == minutes


@pytest.mark.parametrize(
    "lag", ["", "soon", "-30min", "1.5h", "30 parsecs", True, timedelta(seconds=30), timedelta(-1)]
)
def test_lags_that_are_none(lag):
    with pytest.raises(SpecError, match="--lag must be a number with min, h or d"):
        parse_lag(lag)


def test_identities():
    assert Statement.parse("Male + Female = Total") == Statement.parse(" Total=Male+Female ").__class__(
        text="Male + Female = Total", parts=("Male", "Female"), whole="Total"
    )


@pytest.mark.parametrize(
    "text", ["", "Male", "Male + Female", "A = B = C", "A + = C", "A + B = C + D", "A + a = B"]
)
def test_identities_that_say_nothing(text):
    with pytest.raises(SpecError, match="--identity"):
        Statement.parse(text)


def test_a_part_of_a_name_leads_to_the_names_that_hold_it(tables):
    wharves = ["Manly Wharf", "Circular Quay No. 2 Wharf", "Circular Quay No. 3 Wharf"]
    (path,) = tables(ferries=({"loc": wharves, "tap": ["on", "off"]}, np.full((3, 2), 90)))
    cells = find_structure([read_table(path)]).base
    with pytest.raises(SpecError, match=r"it has Circular Quay No\. 2 Wharf, Circular Quay No\. 3 Wharf\."):
        FixedValues.parse("loc=Quay", cells)
    with pytest.raises(SpecError, match="Did you mean 'Manly Wharf'"):
        FixedValues.parse("loc=Manly", cells)
