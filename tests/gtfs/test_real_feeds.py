"""The two real feeds against the csv module, and against partridge."""

from collections import Counter
from datetime import date, timedelta

import numpy as np
import partridge
import pytest

from noisegate.timetable import MODES, match_locations, read_feed, two_stop_services

#: Ordinary days, weekends, the ends of calendars, and days with exceptions (2014-06-09, 2017-12-25, 2018-01-01).
FEEDS = {
    "cairns_2014/cairns_gtfs.zip": [(date(2014, 5, 25), 2), (date(2014, 6, 7), 3), (date(2014, 12, 27), 3)],
    "seattle_area_2017": [
        (date(2017, 11, 18), 2),
        (date(2017, 12, 24), 2),
        (date(2018, 1, 1), 1),
        (date(2018, 3, 9), 2),
    ],
}
CASES = [(name, *span) for name, spans in FEEDS.items() for span in spans]


@pytest.fixture(scope="module")
def feeds(shared_data):
    return {name: read_feed(shared_data / "gtfs" / name) for name in FEEDS}


@pytest.fixture(scope="module")
def oracles(shared_data, csv_oracle):
    return {name: csv_oracle(shared_data / "gtfs" / name) for name in FEEDS}


@pytest.mark.parametrize(("name", "first", "days"), CASES)
def test_visits_are_those_of_the_csv_module(feeds, oracles, our_visits, name, first, days):
    dates = [first + timedelta(days=n) for n in range(days)]
    expected = oracles[name].visits(dates)
    assert our_visits(feeds[name], dates) == expected
    assert expected


def test_dates_need_not_be_neighbours(feeds, our_visits):
    feed = feeds["cairns_2014/cairns_gtfs.zip"]
    one, other = date(2014, 6, 2), date(2014, 6, 7)
    together = our_visits(feed, [other, one])
    assert together == our_visits(feed, [one]) + our_visits(feed, [other])


def test_cairns_runs_past_midnight_onto_the_next_date(feeds):
    feed = feeds["cairns_2014/cairns_gtfs.zip"]
    visits = feed.visits([date(2014, 6, 8)])
    night = visits.runs.day[visits.run] < visits.days[0]
    assert night.any()
    assert visits.arrival_s[night].max() > 5 * 3600
    assert (visits.departure_date[visits.departure_s < 86_400] == 0).all()


def test_two_stop_ferries_of_seattle_are_closed_pairs(feeds):
    feed = feeds["seattle_area_2017"]
    matching = match_locations(feed, sorted(set(feed.stops.names)))
    assert not matching.unmatched
    visits = feed.visits([date(2017, 11, 28)])
    found = two_stop_services(visits, places=matching.places)
    ferries = [service for service in found if MODES[service.mode] == "ferry"]
    routes = {
        name for name, mode in zip(feed.routes.ids, feed.routes.mode, strict=True) if MODES[mode] == "ferry"
    }
    assert {"100336", "100337"} <= routes
    ten_minutes = [service for service in ferries if service.lag_s == (600, 600, 600)]
    assert len(ten_minutes) == 2
    pairs = {(service.origin, service.destination) for service in ferries}
    assert pairs == {(b, a) for a, b in pairs}


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # partridge, on recent pandas
@pytest.mark.parametrize("name", FEEDS)
def test_trips_and_calls_are_those_of_partridge(feeds, shared_data, name):
    """Which trips run on which date, and every call of theirs, by another library."""
    ours, path = feeds[name], str(shared_data / "gtfs" / name)
    services = partridge.read_service_ids_by_date(path)
    for first, days in FEEDS[name]:
        for day in (first + timedelta(days=n) for n in range(days)):
            runs_here = partridge.load_feed(
                path, view={"trips.txt": {"service_id": services.get(day, set())}}
            )
            calls = runs_here.stop_times
            visits = ours.visits([day, day + timedelta(days=1)], margin_s=6 * 3600)
            runs = visits.runs
            today = runs.day == visits.days[0]
            assert {ours.trips.ids[t] for t in runs.trip[today]} == set(calls["trip_id"])
            timed = calls[calls["departure_time"].notna()]  # times that are left out, we fill in
            theirs = Counter(
                zip(timed["trip_id"], timed["stop_id"], timed["departure_time"].astype(int), strict=True)
            )
            mine = np.flatnonzero(today[visits.run])
            trips = [ours.trips.ids[runs.trip[r]] for r in visits.run[mine]]
            stops = [ours.stops.ids[s] for s in visits.stop[mine]]
            told = Counter(zip(trips, stops, visits.departure_s[mine].tolist(), strict=True))
            assert not theirs - told
            assert told.total() == len(calls)
