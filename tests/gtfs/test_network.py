"""Networks of feeds, and feeds of networks: what is written is read again."""

from dataclasses import fields
from datetime import date, timedelta

import numpy as np
import pytest

from noisegate.errors import DataError
from noisegate.simulation import FIRST_DAY, Conduct, Scenario, invent_network
from noisegate.timetable import NETWORK_MODES, Network, read_feed, write_feed

AGENCY = "agency_name,agency_url,agency_timezone\nA,https://example.org,Etc/UTC\n"
STOPS = "stop_id,stop_name,stop_lat,stop_lon\nA,Alpha St,1,2\nB,Beta Rd,1.1,2\nC,Gamma Ave,1.2,2\n"


def exceptions(calendar):
    return sorted(zip(calendar.service.tolist(), calendar.day.tolist(), calendar.kind.tolist(), strict=True))


def assert_same(first, second):
    """Equal in every name and number; positions to the six decimals that are written, exceptions in any order."""
    for part, others in (("stops", {"lat", "lon"}), ("patterns", ()), ("trips", ())):
        mine, yours = getattr(first, part), getattr(second, part)
        for name in {field.name for field in fields(mine)} - set(others):
            assert np.array_equal(getattr(mine, name), getattr(yours, name)), (part, name)
    for name in ("ids", "weekdays", "first", "last"):
        assert np.array_equal(getattr(first.calendar, name), getattr(second.calendar, name)), name
    assert exceptions(first.calendar) == exceptions(second.calendar)
    assert np.allclose(first.stops.lat, second.stops.lat, rtol=0, atol=6e-7)
    assert np.allclose(first.stops.lon, second.stops.lon, rtol=0, atol=6e-7)
    assert (first.agency, first.routes) == (second.agency, second.routes)


@pytest.fixture(scope="module")
def invented():
    scenario = Scenario(days=7, persons=4_000, seed=5, conduct=Conduct())
    return invent_network(scenario, stops=60, closed_ferry=True, first=FIRST_DAY)


def test_an_invented_network_is_read_as_it_was_written(invented, tmp_path):
    write_feed(invented, tmp_path / "feed.zip")
    assert_same(Network.of(read_feed(tmp_path / "feed.zip")), invented)


@pytest.mark.parametrize("name", ["cairns_2014/cairns_gtfs.zip", "seattle_area_2017"])
def test_a_real_network_is_read_as_it_was_written(shared_data, tmp_path, csv_oracle, name):
    feed = read_feed(shared_data / "gtfs" / name)
    network = Network.of(feed)
    write_feed(network, tmp_path / "feed.zip")
    assert_same(Network.of(read_feed(tmp_path / "feed.zip")), network)
    oracle = csv_oracle(shared_data / "gtfs" / name)
    for day in (feed.first_date + timedelta(days=n) for n in (0, 3, 20, 41)):
        services = network.services_on(day)
        mine = {
            t for t, s in zip(network.trips.ids, network.trips.service.tolist(), strict=True) if s in services
        }
        assert mine == oracle.trips_on(day) & set(network.trips.ids)


@pytest.mark.parametrize(
    ("name", "stops", "trips", "patterns", "calls"),
    [
        ("cairns_2014/cairns_gtfs.zip", 416, 1339, 47, 37_790),
        ("seattle_area_2017", 259, 3888, 57, 57_205),
    ],
)
def test_the_size_of_real_networks(shared_data, name, stops, trips, patterns, calls):
    network = Network.of(read_feed(shared_data / "gtfs" / name))
    sizes = (len(network.stops), len(network.trips), len(network.patterns), len(network.trips.arrival_s))
    assert sizes == (stops, trips, patterns, calls)


def test_feeds_without_what_riders_need_are_read_but_have_no_network(write_folder):
    with pytest.raises(DataError, match=r"is not a GTFS feed: it has no agency\.txt"):
        Network.of(read_feed(write_folder("plain")))
    with pytest.raises(DataError, match="gives no position for the stop 'A'"):
        Network.of(read_feed(write_folder("placeless", agency=AGENCY)))
    network = Network.of(read_feed(write_folder("whole", agency=AGENCY, stops=STOPS)))
    assert network.trips.ids == ("t1", "t2")
    assert network.stops.names == ("Alpha St", "Beta Rd", "Gamma Ave")
    assert [NETWORK_MODES[mode] for mode in network.stops.modes] == ["bus"] * 3
    assert network.services_on(date(2016, 7, 25)) == {0}
    assert not network.services_on(date(2016, 7, 30))


def test_services_that_have_dates_only_keep_them(write_folder, tmp_path):
    dates = "service_id,date,exception_type\nD,20160727,1\nD,20160729,2\nD,20160725,1\n"
    trips = "route_id,service_id,trip_id\nR,D,t1\nR,nobody,t2\n"
    path = write_folder(agency=AGENCY, stops=STOPS, trips=trips, calendar=None, calendar_dates=dates)
    network = Network.of(read_feed(path))
    assert network.trips.ids == ("t1",)  # no calendar knows the service of the other
    write_feed(network, tmp_path / "again.zip")
    again = Network.of(read_feed(tmp_path / "again.zip"))
    assert_same(again, network)
    days = [date(2016, 7, 24) + timedelta(days=n) for n in range(7)]
    assert [day.day for day in days if again.services_on(day)] == [25, 27]
