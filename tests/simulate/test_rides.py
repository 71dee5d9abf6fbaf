"""Every tap has a vehicle: times follow the timetable that was written."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import duckdb
import pytest

from noisegate.simulation import CLOSED_READER, LINGER_S, READERS
from noisegate.timetable import MODES


@pytest.fixture(scope="module")
def timetable(small, read_timetable):
    return read_timetable(small.gtfs)


def test_off_minus_on_is_the_travel_time_of_the_timetable(punctual, timetable, read_rides):
    rides = read_rides(punctual)
    assert len(rides) > 2_000
    for on, off in rides:
        assert (on["tap"], off["tap"]) == ("on", "off")
        calls = timetable.calls_by_name(on["true_trip_id"])
        assert on["second"] == calls[on["stop"]][1]
        if off["stop"] == "UNKNOWN":
            assert off["second"] == max(arrival for arrival, _ in calls.values())
        else:
            travel_s = calls[off["stop"]][0] - calls[on["stop"]][1]
            assert off["tapped_at"] - on["tapped_at"] == timedelta(seconds=travel_s)


def test_taps_stay_within_the_stated_bounds_of_the_timetable(small, timetable, read_rides):
    lateness = Counter()
    for on, off in read_rides(small):
        closed = on["true_trip_id"].startswith("F0.")
        reader = CLOSED_READER if closed else READERS[MODES.index(on["mode"])]
        calls = timetable.calls_by_name(on["true_trip_id"])
        early = on["second"] - calls[on["stop"]][1]
        assert -reader.lead_max_s <= early <= reader.delay_max_s
        late = off["second"] - calls[off["true_stop"]][0]
        if off["stop"] != "UNKNOWN":
            assert 0 <= late <= reader.delay_max_s + reader.exit_max_s + (LINGER_S if closed else 0)
        lateness[late > 0] += 1
    assert lateness[True] > 10 * lateness[False]


def test_riders_are_recorded_where_their_vehicle_calls(small, timetable, read_rides):
    for on, off in read_rides(small):
        assert on["true_trip_id"] == off["true_trip_id"]
        names = [timetable.names[row["stop_id"]] for row in timetable.calls[on["true_trip_id"]]]
        assert on["stop"] == on["true_stop"]
        assert names.index(on["true_stop"]) < names.index(off["true_stop"])
        assert off["stop"] in {off["true_stop"], "UNKNOWN"}
        assert on["true_vehicle"] == timetable.trips[on["true_trip_id"]]["block_id"]


def test_vehicles_run_only_on_their_service_days(small, timetable, read_rides):
    seen = Counter()
    for on, _ in read_rides(small):
        service = timetable.trips[on["true_trip_id"]]["service_id"]
        assert timetable.runs_on(service, on["true_service_date"])
        seen[service] += 1
    assert {"weekday", "saturday", "sunday", "night"} <= set(seen)


def test_one_card_rides_one_vehicle_at_a_time(small, read_rides):
    last = {}
    for on, off in sorted(read_rides(small), key=lambda pair: pair[0]["tapped_at"]):
        if off["stop"] == "UNKNOWN":
            continue
        assert on["tapped_at"] >= last.get(on["card_id"], on["tapped_at"])
        last[on["card_id"]] = off["tapped_at"]


def truth(world, *, by, where="true"):
    """Numbers of rides, grouped by card and service date or by trip and service date."""
    return [
        count
        for (count,) in duckdb.sql(
            f"""SELECT count(*) FROM (SELECT *, row_number() OVER () AS i FROM read_parquet('{world.taps}'))
            JOIN (SELECT * EXCLUDE stop, row_number() OVER () AS i FROM read_parquet('{world.truth}')) USING (i)
            WHERE tap = 'on' AND {where} GROUP BY {by}, service_date"""
        ).fetchall()
    ]


def test_some_change_vehicles_and_most_come_back(week):
    rides = truth(week, by="card_id")
    sizes = Counter(rides)
    assert sizes[2] > 0.7 * len(rides)
    assert 0.02 * len(rides) < sizes[4] < 0.2 * len(rides)


def test_night_buses_carry_a_handful(week):
    loads = truth(week, by="trip_id", where="trip_id LIKE 'N%'")
    assert len(loads) > 20
    assert max(loads) < 40
    assert sorted(loads)[len(loads) // 2] <= 5
