"""The feed that is written, read back with the csv module."""

from __future__ import annotations

import re
import zipfile
from datetime import date, timedelta

import pytest

REQUIRED = {
    "agency.txt": {"agency_name", "agency_url", "agency_timezone"},
    "stops.txt": {"stop_id", "stop_name", "stop_lat", "stop_lon"},
    "routes.txt": {"route_id", "route_short_name", "route_long_name", "route_type"},
    "trips.txt": {"route_id", "service_id", "trip_id"},
    "stop_times.txt": {"trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"},
    "calendar.txt": {"service_id", "monday", "sunday", "start_date", "end_date"},
    "calendar_dates.txt": {"service_id", "date", "exception_type"},
}


@pytest.fixture(scope="module")
def timetable(week, read_timetable):
    return read_timetable(week.gtfs)


def test_required_files_and_columns(timetable):
    assert set(timetable.tables) == set(REQUIRED)
    for name, columns in REQUIRED.items():
        assert columns <= set(timetable.tables[name][0]), name


def test_keys_are_unique_and_references_resolve(timetable):
    tables = timetable.tables
    for name, key in (
        ("stops", "stop_id"),
        ("routes", "route_id"),
        ("trips", "trip_id"),
        ("calendar", "service_id"),
    ):
        keys = [row[key] for row in tables[f"{name}.txt"]]
        assert len(set(keys)) == len(keys), name
    services = {row["service_id"] for row in tables["calendar.txt"]}
    assert {row["service_id"] for row in tables["calendar_dates.txt"]} <= services
    assert {row["service_id"] for row in timetable.trips.values()} <= services
    assert {row["route_id"] for row in timetable.trips.values()} == set(timetable.route_types)
    assert set(timetable.calls) == set(timetable.trips)
    assert {row["stop_id"] for row in tables["stop_times.txt"]} == set(timetable.names)


def test_times_are_well_formed_and_never_fall(timetable):
    clock = re.compile(r"\d\d:[0-5]\d:[0-5]\d")
    for calls in timetable.calls.values():
        assert len(calls) >= 2
        assert [int(row["stop_sequence"]) for row in calls] == list(range(1, len(calls) + 1))
        times = [row[key] for row in calls for key in ("arrival_time", "departure_time")]
        assert all(clock.fullmatch(time) for time in times)
        assert times == sorted(times)
        assert times[0] < times[-1]


def test_modes_have_their_route_types(timetable):
    letter = {"T": 2, "B": 3, "N": 3, "F": 4, "L": 0}
    assert {letter[route[0]] for route in timetable.route_types} == {0, 2, 3, 4}
    for route, kind in timetable.route_types.items():
        assert kind == letter[route[0]]


def test_night_trips_run_past_midnight(timetable):
    nights = [calls for trip, calls in timetable.calls.items() if trip.startswith("N")]
    assert nights
    assert all(calls[0]["departure_time"] > "24:00:00" for calls in nights)
    assert max(calls[-1]["arrival_time"] for calls in nights) > "28:00:00"


def test_the_calendar_covers_the_days_and_has_exceptions_of_both_kinds(week, timetable):
    days = [week.first + timedelta(days=i) for i in range(week.days)]
    for day in days:
        running = [trip for trip, row in timetable.trips.items() if timetable.runs_on(row["service_id"], day)]
        assert {timetable.route_types[timetable.trips[trip]["route_id"]] for trip in running} == {0, 2, 3, 4}
    exceptions = {
        (row["service_id"], row["date"], row["exception_type"])
        for row in timetable.tables["calendar_dates.txt"]
    }
    assert exceptions == {("sunday-works", "20160731", "2"), ("festival", "20160730", "1")}
    assert timetable.runs_on("festival", date(2016, 7, 30))
    assert not timetable.runs_on("sunday-works", date(2016, 7, 31))


def test_the_closed_ferry_sails_half_hourly_and_takes_half_an_hour(week, timetable):
    sailings = [calls for trip, calls in timetable.calls.items() if trip.startswith("F0.")]
    for calls in sailings:
        names = tuple(timetable.names[row["stop_id"]] for row in calls)
        minute = int(calls[0]["departure_time"][3:5])
        assert (names == week.closed_pair, minute % 30) in {(True, 10), (False, 25)}
        assert set(names) == set(week.closed_pair)
        hours = int(calls[1]["arrival_time"][:2]) - int(calls[0]["departure_time"][:2])
        assert 60 * hours + int(calls[1]["arrival_time"][3:5]) - minute == 30


def test_a_vehicle_is_in_one_place_at_a_time(timetable):
    free_at = {}
    for trip in sorted(timetable.trips, key=lambda t: timetable.calls[t][0]["departure_time"]):
        calls, vehicle = timetable.calls[trip], timetable.trips[trip]["block_id"]
        time, place = free_at.get(vehicle, ("", calls[0]["stop_id"]))
        assert calls[0]["departure_time"] >= time
        assert calls[0]["stop_id"] == place
        free_at[vehicle] = (calls[-1]["arrival_time"], calls[-1]["stop_id"])


def test_the_archive_has_no_clock_in_it(week):
    with zipfile.ZipFile(week.gtfs) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
