"""Days and times of day, however a file writes them: the wall clock is what counts."""

import datetime as dt

import pyarrow as pa
import pytest

from noisegate.errors import DataError

FINE = {"time": {"column": "tapped_at", "every": "15min"}}


def counted(town, table, **given):
    town.write(table)
    spec = town.spec(unit="event", **given)
    counts = town.count(spec)
    return town.labelled(spec, counts), counts.tally


def with_times(town, values, name="tapped_at"):
    events = [
        {"card_id": 1, "mode": "bus", "tap": "on", "tapped_at": None, "stop": "Central"} for _ in values
    ]
    table = town.table(events)
    return table.set_column(3, name, values if isinstance(values, pa.Array) else pa.array(values))


AT = [
    dt.datetime.fromisoformat(text)
    for text in ("2016-07-25 00:00:00", "2016-07-26 13:44:59.999", "2016-07-27 23:59:59")
]
CELLS = {("2016-07-25", "00:00"), ("2016-07-26", "13:30"), ("2016-07-27", "23:45")}


@pytest.mark.parametrize(
    "values",
    [
        pa.array(AT, pa.timestamp("s")),
        pa.array(AT, pa.timestamp("ms")),
        pa.array(AT, pa.timestamp("us")),
        pa.array(AT, pa.timestamp("ns")),
        pa.array([str(at) for at in AT]),
        pa.array([at.isoformat() for at in AT]),
    ],
)
def test_every_kind_of_timestamp(town, values):
    found, _ = counted(town, with_times(town, values), dimensions=FINE)
    assert {(cell[1], cell[3]) for cell in found} == CELLS


@pytest.mark.parametrize("text", [False, True])
def test_a_date_column_and_a_time_column(town, text):
    dates, times = [at.date() for at in AT], [at.time() for at in AT]
    table = with_times(town, [str(day) for day in dates] if text else dates, "day")
    table = table.append_column("clock", pa.array([str(time) for time in times] if text else times))
    dims = {
        "date": {"column": "day", "from": "2016-07-25", "to": "2016-07-27"},
        "time": {"column": "clock", "every": "15min"},
    }
    found, _ = counted(town, table, dimensions=dims)
    assert {(cell[1], cell[3]) for cell in found} == CELLS


@pytest.mark.parametrize(
    "values",
    [
        pa.array([at - dt.timedelta(hours=10) for at in AT], pa.timestamp("us", "UTC")),
        pa.array([f"{at.isoformat()}+10:00" for at in AT]),
        pa.array([f"{(at - dt.timedelta(hours=10)).isoformat()}Z" for at in AT]),
        pa.array([at.isoformat() for at in AT]),
        pa.array(AT, pa.timestamp("us")),
    ],
)
def test_times_with_an_offset_follow_the_clock_of_the_spec(town, values):
    zone = {"timezone": "Australia/Sydney"}
    found, _ = counted(town, with_times(town, values), dimensions=FINE, events=zone)
    assert {(cell[1], cell[3]) for cell in found} == CELLS


def test_times_before_1970(town):
    dims = {"date": {"column": "tapped_at", "from": "1969-12-30", "to": "1970-01-01"}, **FINE}
    values = pa.array([dt.datetime.fromisoformat("1969-12-31 23:50:00")], pa.timestamp("us"))
    found, _ = counted(town, with_times(town, values), dimensions=dims)
    assert {(cell[1], cell[3]) for cell in found} == {("1969-12-31", "23:45")}


def test_days_outside_and_missing_times_are_told_apart(town):
    days = ["2016-07-24 23:59:59", "2016-07-28 00:00:00", "2999-01-01 00:00:00", "0001-01-01 00:00:00"]
    values = [*(dt.datetime.fromisoformat(day) for day in days), None, *AT]
    found, tally = counted(town, with_times(town, values))
    assert found.total() == 3
    assert tally.outside == {"date is missing": 1, "date is not in the list": 4}


def test_numbers_and_flags_can_be_listed(town):
    table = town.table(town.events(200, strays=False))
    platforms = pa.array([n % 3 for n in range(200)])
    flags = pa.array([n % 2 == 0 for n in range(200)])
    town.write(table.append_column("platform", platforms).append_column("paid", flags))
    dims = {
        "platform": {"column": "platform", "values": ["0", "1"]},
        "paid": {"column": "paid", "values": ["true", "false"]},
    }
    spec = town.spec(unit="event", dimensions=dims, tables={"t": ["platform", "paid"]})
    counts = town.count(spec)
    assert town.labelled(spec, counts) == {
        ("0", "true"): 34,
        ("0", "false"): 33,
        ("1", "true"): 33,
        ("1", "false"): 34,
    }
    assert counts.tally.outside == {"platform is not in the list": 66}


@pytest.mark.parametrize(
    ("order", "written"),
    [
        ("day-first", "{0.day}/{0.month:02d}/{0.year} {0.hour}:{0.minute:02d}:{0.second:02d}"),
        ("day-first", "{0.day:02d}.{0.month:02d}.{0.year}, {0.hour:02d}:{0.minute:02d}"),
        ("month-first", "{0.month}-{0.day}-{0.year} {0.hour:02d}:{0.minute:02d}"),
        ("day-first", "{0.year}-{0.month:02d}-{0.day:02d} {0.hour:02d}:{0.minute:02d}"),
    ],
)
def test_dates_with_the_day_or_the_month_first_are_read_as_the_spec_says(town, order, written):
    texts = pa.array([written.format(at) for at in AT])
    found, tally = counted(town, with_times(town, texts), dimensions=FINE, events={"dates": order})
    assert {(cell[1], cell[3]) for cell in found} == CELLS
    assert tally.counted == len(AT)


def test_a_month_that_does_not_exist_is_no_date_in_the_other_order(town):
    texts = pa.array(["25/07/2016 08:00", "26/07/2016 08:00"])
    with pytest.raises(DataError, match=r"text that is not a time.*events\.dates"):
        counted(town, with_times(town, texts), dimensions=FINE, events={"dates": "month-first"})
