"""Dimensions: their labels, and what is known of them."""

import numpy as np
import pytest

from noisegate.errors import InternalError, SpecError
from noisegate.reading import find_structure, read_table
from noisegate.tables import NO_ORDINAL, Dimension, Kind

HOURS = Dimension(
    name="hour",
    values=("6", "7", "?"),
    kind=Kind.TIME,
    keys=("06:00", "07:00", "?"),
    ordinals=np.array([360, 420, NO_ORDINAL]),
    unknown=np.array([False, False, True]),
    step=60,
)


def test_what_is_not_said_is_plain():
    plain = Dimension(name="tap", values=("on", "off"))
    assert (plain.keys, plain.size, plain.kind, plain.step) == (("on", "off"), 2, Kind.TEXT, None)
    assert plain.ordinals.tolist() == [NO_ORDINAL] * 2
    assert not plain.unknown.any()


def test_dimensions_are_the_same_by_name_and_labels():
    assert Dimension(name="hour", values=("6", "7", "?")) == HOURS
    assert len({Dimension(name="hour", values=("6", "7", "?")), HOURS}) == 1
    assert Dimension(name="hour", values=("6", "7")) != HOURS


def test_some_labels():
    some = HOURS.take(np.array([2, 0]))
    assert (some.labels, some.keys, some.step) == (("?", "6"), ("?", "06:00"), 60)
    assert some.unknown.tolist() == [True, False]


def test_merged_labels_come_after_the_values():
    grouped = HOURS.with_groups(("day",))
    assert (grouped.values, grouped.labels) == (("6", "7", "?"), ("6", "7", "?", "day"))
    assert grouped.ordinals.tolist() == [360, 420, NO_ORDINAL, NO_ORDINAL]
    assert grouped.take(np.array([3, 1])).values == ("day", "7")


def test_labels_that_cannot_be_told_apart_are_refused():
    with pytest.raises(SpecError, match="would show 'on' for two things"):
        Dimension(name="tap", values=("on", "on"))
    with pytest.raises(SpecError, match="has no values"):
        Dimension(name="tap", values=())
    with pytest.raises(InternalError, match="do not line up"):
        Dimension(name="tap", values=("on", "off"), keys=("x",))
    with pytest.raises(InternalError, match="do not line up"):
        Dimension(name="tap", values=("on", "off"), keys=("x", "x"))


def test_dates_are_read_one_way_in_all_files(write):
    """The first file alone looks like twelve days of January; the other shows that months come first."""
    january = "\n".join(f"{day:02d}/01/2016,a,{day + 30}" for day in range(1, 13))
    february = "\n".join(f"02/{day:02d}/2016,a,{day + 90}" for day in range(2, 29))
    files = [
        write("a.csv", f"date,stop,count\n{january}\n"),
        write("b.csv", f"date,stop,count\n{february}\n"),
    ]
    alone = find_structure([read_table(files[0])]).base.dimensions[0]
    assert (alone.keys[0], alone.keys[-1]) == ("2016-01-01", "2016-01-12")
    date = find_structure([read_table(file) for file in files]).base.dimensions[0]
    labels = dict(zip(date.keys, date.labels, strict=True))
    assert labels["2016-03-01"] == "03/01/2016"
    assert labels["2016-02-28"] == "02/28/2016"
    assert "2016-01-02" not in labels
