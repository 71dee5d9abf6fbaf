"""Worlds on a given feed: two real ones, and feeds that are odd or broken."""

from __future__ import annotations

import shutil
import zipfile
from datetime import date, timedelta

import pyarrow.parquet as pq
import pytest

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.simulation import LINGER_S, READERS, simulate
from noisegate.timetable import MODES

FEED = {
    "agency.txt": "agency_name,agency_url,agency_timezone\nA,https://example.org,Etc/UTC\n",
    "routes.txt": "route_id,route_short_name,route_type\nR,1,3\nF,2,4\nX,3,6\n",
    "stops.txt": (
        "stop_id,stop_name,stop_lat,stop_lon,parent_station\n"
        "a,Alpha,10.0,20.0,\nb1,Beta platform,10.01,20.0,b\nb,Beta,10.01,20.0,\nc,Gamma,10.02,20.0,\n"
        "d,Gamma,10.03,20.0,\nw,UNKNOWN,10.0,20.1,\nz,Zeta,10.1,20.1,\n"
    ),
    "trips.txt": "route_id,service_id,trip_id,direction_id\n"
    + "".join(
        f"R,all,r{h},0\nR,all,s{h},1\nF,all,f{h},0\nF,all,g{h},1\nX,all,x{h},0\n" for h in range(5, 23)
    ),
    "stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
    + "".join(
        f"r{h},{h}:00:00,{h}:00:00,a,10\nr{h},,,b1,20\nr{h},{h}:20:00,{h}:21:00,c,30\nr{h},{h}:30:00,{h}:30:00,d,40\n"
        f"s{h},{h}:00:00,{h}:00:00,d,1\ns{h},{h}:10:00,,c,2\ns{h},{h}:20:00,{h}:20:00,b1,3\ns{h},{h}:30:00,{h}:30:00,a,4\n"
        f"f{h},{h}:10:00,{h}:10:00,w,1\nf{h},{h}:40:00,{h}:40:00,z,2\n"
        f"g{h},{h}:10:00,{h}:10:00,z,1\ng{h},{h}:40:00,{h}:40:00,w,2\n"
        f"x{h},{h}:10:00,{h}:10:00,z,1\nx{h},{h}:40:00,{h}:40:00,a,2\n"
        for h in range(5, 23)
    ),
    "calendar.txt": (
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        "all,1,1,1,1,1,1,1,20200101,20200131\n"
    ),
    "calendar_dates.txt": "service_id,date,exception_type\nall,20200108,2\n",
}


def write_folder(path, tables):
    path.mkdir()
    for name, text in tables.items():
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def feed(tmp_path):
    return write_folder(tmp_path / "feed", FEED)


@pytest.fixture
def odd(tmp_path):
    def make(**changes):
        return write_folder(tmp_path / "odd", FEED | {f"{name}.txt": text for name, text in changes.items()})

    return make


def test_a_real_feed_is_ridden_as_it_is_timetabled(real_feed, tmp_path, read_timetable, read_rides):
    world = simulate(tmp_path / "world", gtfs=real_feed, days=7, persons=800)
    theirs, ours = read_timetable(real_feed), read_timetable(world.gtfs)
    assert world.first.weekday() == 0
    rides = read_rides(world)
    assert len(rides) > 1_500
    places = {name: stop for stop, name in ours.names.items()}
    for on, off in rides:
        trip = theirs.trips[on["true_trip_id"]]
        assert theirs.runs_on(trip["service_id"], on["true_service_date"])
        closed = len(theirs.calls[on["true_trip_id"]]) == 2 and on["mode"] == "ferry"
        reader = READERS[MODES.index(on["mode"])]
        calls = [(row["stop_id"], row) for row in ours.calls[on["true_trip_id"]]]
        leaves = [_second(row["departure_time"]) for stop, row in calls if stop == places[on["stop"]]]
        arrives = [_second(row["arrival_time"]) for stop, row in calls if stop == places[off["true_stop"]]]
        assert any(-reader.lead_max_s <= on["second"] - time <= reader.delay_max_s for time in leaves)
        if off["stop"] != "UNKNOWN":
            slack = reader.delay_max_s + reader.exit_max_s + closed * LINGER_S
            assert any(0 <= off["second"] - time <= slack for time in arrives)


def _second(clock):
    hours, minutes, rest = map(int, clock.split(":"))
    return 3600 * hours + 60 * minutes + rest


def test_the_feed_in_the_world_is_the_given_one(real_feed, tmp_path, read_timetable):
    world = simulate(tmp_path / "world", gtfs=real_feed, days=2, persons=500)
    theirs, ours = read_timetable(real_feed), read_timetable(world.gtfs)
    assert set(ours.calls) == {trip for trip, calls in theirs.calls.items() if len(calls) > 1}
    for trip, calls in ours.calls.items():
        times = [row[key] for row in calls for key in ("arrival_time", "departure_time")]
        assert times == sorted(times)
        for mine, given in zip(calls, theirs.calls[trip], strict=True):
            assert mine["stop_id"] == given["stop_id"]
            for key in ("arrival_time", "departure_time"):
                assert given[key] in {mine[key], ""}
    kinds = {route: kind for route, kind in theirs.route_types.items() if route in ours.route_types}
    assert ours.route_types == kinds
    for day in (world.first + timedelta(days=i) for i in range(60)):
        for service in {row["service_id"] for row in ours.trips.values()}:
            assert ours.runs_on(service, day) == theirs.runs_on(service, day)


def test_a_world_on_its_own_feed_is_the_same_world(real_feed, tmp_path):
    first = simulate(tmp_path / "first", gtfs=real_feed, days=3, persons=500)
    second = simulate(tmp_path / "second", gtfs=first.gtfs, days=3, persons=500)
    assert first.taps.read_bytes() == second.taps.read_bytes()
    assert first.gtfs.read_bytes() == second.gtfs.read_bytes()


def test_platforms_missing_times_namesakes_and_other_modes(feed, tmp_path, read_timetable, read_rides):
    world = simulate(tmp_path / "world", gtfs=feed, days=7, persons=3_000, punctual=True, forget_rate=0)
    ours = read_timetable(world.gtfs)
    assert set(ours.names.values()) == {"Alpha", "Beta", "Gamma [c]", "Gamma [d]", "UNKNOWN [w]", "Zeta"}
    assert ours.calls_by_name("r7")["Beta"] == (25_800, 25_800)  # half-way between 7:00 and 7:20
    assert ours.calls_by_name("s7")["Gamma [c]"] == (25_800, 25_800)
    assert set(ours.route_types) == {"R", "F"}
    assert world.closed_pair == ("UNKNOWN [w]", "Zeta")
    days = {on["true_service_date"] for on, _ in read_rides(world)}
    assert world.first == date(2020, 1, 6)
    assert days == {world.first + timedelta(days=i) for i in range(7)} - {date(2020, 1, 8)}


def test_a_closed_ferry_of_the_feed_can_be_left_out(feed, tmp_path):
    world = simulate(tmp_path / "world", gtfs=feed, days=2, persons=500, closed_ferry=False)
    assert world.closed_pair is None
    assert set(pq.read_table(world.taps)["mode"].to_pylist()) == {"bus"}


def test_byte_order_mark_blank_lines_spaces_and_a_folder_in_the_zip(tmp_path, feed):
    plain = simulate(tmp_path / "plain", gtfs=feed, days=2, persons=500)
    tables = {
        name: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r\n" for name, text in FEED.items()
    }
    with zipfile.ZipFile(tmp_path / "feed.zip", "w") as archive:
        for name, text in tables.items():
            archive.writestr(f"folder/{name}", text)
    same = simulate(tmp_path / "same", gtfs=tmp_path / "feed.zip", days=2, persons=500)
    assert same.taps.read_bytes() == plain.taps.read_bytes()


def test_calendar_dates_alone_are_a_calendar(tmp_path, odd):
    dates = "service_id,date,exception_type\n" + "".join(f"all,202001{day},1\n" for day in range(13, 20))
    path = odd(calendar_dates=dates)
    (path / "calendar.txt").unlink()
    world = simulate(tmp_path / "world", gtfs=path, days=7, persons=500)
    assert world.first == date(2020, 1, 13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": 40}, "days must be from 1 to 31, the length of the feed's calendar, got 40."),
        (
            {"start": date(2016, 7, 25)},
            "start must be from 2020-01-01 to 2020-01-30 with this feed, got '2016-07-25'.",
        ),
        ({"stops": 100}, "stops and gtfs cannot be given together: a feed has its own stops. Leave one out."),
        ({"days": 1, "start": date(2020, 1, 8)}, "No trip runs from 2020-01-08 to 2020-01-08"),
    ],
)
def test_what_does_not_fit_the_feed_is_refused(feed, tmp_path, options, message):
    with pytest.raises(SpecError) as refusal:
        simulate(tmp_path / "world", gtfs=feed, **({"days": 2, "persons": 100} | options))
    assert str(refusal.value).startswith(message)
    assert not (tmp_path / "world").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop_times": "trip_id,arrival_time,departure_time,stop_id\n"}, "has no column 'stop_sequence'"),
        (
            {"stop_times": FEED["stop_times.txt"].replace("7:20:00", "99:99:99")},
            "arrival_time must be a time from 00:00:00 to 167:59:59, got '99:99:99'",
        ),
        (
            {"stop_times": FEED["stop_times.txt"].replace(",7:30:00", ",06:00:00")},
            "Trip 'r7' goes back in time",
        ),
        (
            {"stop_times": FEED["stop_times.txt"].replace(",a,10", ",nowhere,10")},
            "the stop_id 'nowhere', which stops.txt does not have",
        ),
        (
            {"stop_times": FEED["stop_times.txt"].replace("7:00:00,7:00:00", ",")},
            "first and at the last stop",
        ),
        (
            {"stop_times": FEED["stop_times.txt"].replace(",10\n", ",ten\n")},
            "stop_sequence must be a whole number",
        ),
        ({"stop_times": FEED["stop_times.txt"].split("\n")[0]}, "has no calls: stop_times.txt is empty"),
        ({"stop_times": FEED["stop_times.txt"] + "r7,too,short\n"}, "stop_times.txt has the stop_id ''"),
        ({"stop_times": b"\xff\xfe\x00 trip"}, "stop_times.txt of the feed"),
        ({"stops": FEED["stops.txt"].encode("utf-16")}, "stops.txt of the feed"),
        ({"stops": FEED["stops.txt"].replace("Alpha,10.0", "Alpha,north")}, "stop_lat must be degrees"),
        ({"stops": FEED["stops.txt"].replace("Alpha,10.0", "Alpha,")}, "no position for the stop 'a'"),
        ({"routes": "route_id,route_type\nR,bus\n"}, "route_type must be a whole number, got 'bus'"),
        ({"routes": "route_id,route_type\nR,6\nF,6\nX,6\n"}, "has no trips by rail, bus, ferry or tram"),
        (
            {"calendar": FEED["calendar.txt"].replace("20200101", "2020-1-1")},
            "start_date must be a date like",
        ),
        ({"agency": "agency_name,agency_url,agency_timezone\n"}, "agency.txt must have at least one row"),
        ({"agency": ""}, "agency.txt of the feed"),
    ],
)
def test_a_broken_table_is_named(odd, tmp_path, changes, message):
    with pytest.raises(DataError) as refusal:
        simulate(tmp_path / "world", gtfs=odd(**changes), days=2, persons=100)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "world").exists()


@pytest.mark.parametrize("missing", ["agency", "routes", "stops", "trips", "stop_times"])
def test_a_missing_table_is_named(feed, tmp_path, missing):
    (feed / f"{missing}.txt").unlink()
    with pytest.raises(DataError, match=rf"no {missing}\.txt"):
        simulate(tmp_path / "world", gtfs=feed, days=2, persons=100)


def test_what_is_no_feed_is_refused(feed, tmp_path):
    (tmp_path / "text.zip").write_text("not a zip")
    (tmp_path / "empty").mkdir()
    shutil.make_archive(str(tmp_path / "cut"), "zip", feed)
    whole = (tmp_path / "cut.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:200] + b"\0" * 400 + whole[600:])
    for name in ("absent.zip", "text.zip", "empty", "cut.zip"):
        with pytest.raises(DataError):
            simulate(tmp_path / "world", gtfs=tmp_path / name, days=2, persons=100)
    assert not (tmp_path / "world").exists()


def test_a_member_that_is_packed_too_well_is_not_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "feed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FEED.items():
            archive.writestr(name, text + "\n" * (1 << 25 if name == "stop_times.txt" else 0))
    with pytest.raises(
        DataError, match=r"stop_times\.txt of the feed .* unpacks to more than 200 times its size"
    ):
        simulate(tmp_path / "world", gtfs=tmp_path / "feed.zip", days=2, persons=100)
    assert not (tmp_path / "world").exists()


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"feed_file_bytes": 1_000}, "is too large"),
        ({"feed_calls": 100}, "has 216 calls if every departure is counted, at most 100 can be ridden"),
    ],
)
def test_a_feed_beyond_a_limit_is_not_ridden(feed, tmp_path, limit, message):
    with limits.override(**limit), pytest.raises(DataError, match=message):
        simulate(tmp_path / "world", gtfs=feed, days=2, persons=100)


def test_a_member_with_a_climbing_path_is_refused_and_writes_nothing(tmp_path):
    with zipfile.ZipFile(tmp_path / "feed.zip", "w") as archive:
        for name, text in FEED.items():
            archive.writestr(f"../../climb/{name}", text)
    with pytest.raises(DataError, match="has an entry that points out of it"):
        simulate(tmp_path / "deep" / "er" / "world", gtfs=tmp_path / "feed.zip", days=2, persons=100)
    assert {path.name for path in tmp_path.iterdir()} == {"feed.zip"}
    assert not (tmp_path.parent / "climb").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trips": FEED["trips.txt"].replace("R,all,r7,0", "Q,all,r7,0")}, "names the route 'Q'"),
        ({"trips": FEED["trips.txt"] + "R,all,r7,0\n"}, "has the trip_id 'r7' twice"),
        (
            {"stop_times": FEED["stop_times.txt"] + "q,7:00:00,7:00:00,a,1\n"},
            "the trip_id 'q', which trips.txt",
        ),
        ({"stops": FEED["stops.txt"].replace("20.0,b\n", "20.0,nowhere\n")}, "parent station 'nowhere'"),
        (
            {"stops": FEED["stops.txt"].replace("Alpha,10.0", "Alpha,910")},
            "stop_lat must be degrees from -90 to 90",
        ),
        ({"calendar_dates": "service_id,date,exception_type\nall,20200108,3\n"}, "exception_type must be 1"),
    ],
)
def test_what_only_the_timetable_reader_refused_is_refused_here_too(odd, tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        simulate(tmp_path / "world", gtfs=odd(**changes), days=2, persons=100)


HEADWAYS = "trip_id,start_time,end_time,headway_secs,exact_times\n"


def test_a_trip_that_frequencies_repeat_is_ridden_at_every_departure(
    odd, tmp_path, read_timetable, read_rides
):
    frequencies = (
        HEADWAYS + "r7,07:00:00,09:00:00,600,1\nr7,09:00:00,10:00:00,1200,0\ns7,07:30:00,07:31:00,600,1\n"
    )
    path = odd(frequencies=frequencies)
    world = simulate(tmp_path / "world", gtfs=path, days=7, persons=3_000, punctual=True, forget_rate=0)
    ours = read_timetable(world.gtfs)
    leaves = [*range(7 * 3600, 9 * 3600, 600), *range(9 * 3600, 10 * 3600, 1200)]
    assert "r7" not in ours.calls
    repeated = {trip for trip in ours.calls if trip.startswith("r7 ")}
    assert {ours.calls_by_name(trip)["Alpha"][1] for trip in repeated} == set(leaves)
    assert len(repeated) == len(leaves) == len({ours.trips[trip]["block_id"] for trip in repeated})
    for trip in repeated:  # as far apart as in the trip itself: 0, 10, 20 with a minute's stop, 30 minutes
        calls = ours.calls_by_name(trip)
        began = calls["Alpha"][1]
        assert [calls[name] for name in ("Beta", "Gamma [c]", "Gamma [d]")] == [
            (began + 600, began + 600),
            (began + 1200, began + 1260),
            (began + 1800, began + 1800),
        ]
    assert ours.calls_by_name("s7")["Gamma [d]"] == (27_000, 27_000)
    ridden = [on for on, _ in read_rides(world) if on["true_trip_id"] in repeated]
    assert len({on["true_trip_id"] for on in ridden}) > 10
    for on in ridden:
        assert ours.calls_by_name(on["true_trip_id"])[on["stop"]][1] == on["second"]


def test_departures_of_a_repeated_trip_have_names_of_their_own(odd, tmp_path, read_timetable):
    rows = "r7,07:00:00,07:10:00,600,1\n" * 2 + "r8,00:00:00,00:10:00,300,1\n"
    path = odd(
        frequencies=HEADWAYS + rows,
        stop_times=FEED["stop_times.txt"].replace("r8,8:00:00,8:00:00,a", "r8,7:50:00,8:00:00,a"),
    )
    ours = read_timetable(simulate(tmp_path / "world", gtfs=path, days=2, persons=100).gtfs)
    assert {trip for trip in ours.calls if trip[:2] in {"r7", "r8"}} == {
        "r7 07:00:00",
        "r7 07:00:00+",
        "r8 00:00:00",
        "r8 00:05:00",
    }
    assert ours.calls_by_name("r8 00:05:00")["Alpha"] == (0, 300)  # no time before midnight


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q,07:00:00,09:00:00,600,1\n", "frequencies.txt has the trip_id 'q'"),
        ("r7,07:00:00,09:00:00,0,1\n", "headway_secs must be a whole number of seconds above 0"),
        ("r7,167:50:00,167:59:00,60,1\n", "Trip 'r7 167:50:00' runs on after 167:59:59 of its service day."),
    ],
)
def test_frequencies_that_cannot_be_ridden_are_refused(odd, tmp_path, rows, message):
    with pytest.raises(DataError, match=message):
        simulate(tmp_path / "world", gtfs=odd(frequencies=HEADWAYS + rows), days=2, persons=100)
