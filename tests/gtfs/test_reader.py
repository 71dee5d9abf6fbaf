"""What feeds may look like, and what is refused."""

import stat
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.timetable import read_feed

MONDAY = date(2016, 7, 25)


def calls(feed, day=MONDAY):
    visits = feed.visits([day])
    names = np.array(feed.stops.names, dtype=object)
    return list(zip(names[visits.stop], visits.arrival_s.tolist(), visits.departure_s.tolist(), strict=True))


def test_a_plain_folder_and_zip_say_the_same(write_folder, write_zip):
    folder, archive = read_feed(write_folder()), read_feed(write_zip())
    assert calls(folder) == calls(archive)
    assert len(calls(folder)) == 4
    assert [c[0] for c in calls(folder, date(2016, 7, 26))] == [
        *("Beta Rd", "Gamma Ave"),
        *("Alpha St", "Beta Rd", "Gamma Ave", "Alpha St"),
    ]
    assert folder.first_date == MONDAY
    assert folder.last_date == date(2016, 7, 31)


def test_wall_clock_of_a_trip_past_midnight(write_folder):
    visits = read_feed(write_folder()).visits([date(2016, 7, 30)])
    assert len(visits.runs) == 1
    assert visits.arrival_s.tolist() == [300, 900]
    assert visits.position.tolist() == [1, 2]
    assert visits.last.tolist() == [False, True]
    assert visits.boards.tolist() == [True, False]
    assert visits.alights.tolist() == [True, True]
    assert not visits.first.any()


def test_margin_brings_in_calls_around_the_date(write_folder):
    feed = read_feed(write_folder())
    assert len(feed.visits([MONDAY])) == 4
    wide = feed.visits([MONDAY], margin_s=600)
    assert len(wide) == 5
    assert wide.arrival_date.tolist().count(-1) == 1


def test_byte_order_marks_blank_lines_extra_columns_and_quoted_commas(write_folder):
    feed = read_feed(
        write_folder(
            stops=b'\xef\xbb\xbf\r\nstop_id, stop_name ,stop_lat,wheelchair\r\nA,"Alpha St, Stand ""B""",-33.8,1\r\n\r\n'
            b"B,Beta Rd\r\nC, Gamma Ave ,1,2,3,4\r\n   \r\n",
            stop_times=(
                "shape,trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\n"
                ",t1, 8:00:00,08:00:00 ,A,1\n,t1,08:10:00,08:11:00,B,2\n,t1,08:20:00,08:20:00,C,3\n  \n,,,,,\n"
            ),
        )
    )
    assert calls(feed) == [
        ('Alpha St, Stand "B"', 28800, 28800),
        ("Beta Rd", 29400, 29460),
        ("Gamma Ave", 30000, 30000),
    ]


def test_line_breaks_inside_values(write_folder):
    rows = "".join(f't1,{8 + n // 60:02d}:{n % 60:02d}:00,,A,{n},"one\ntwo"\n' for n in range(90))
    feed = read_feed(
        write_folder(stop_times=f"trip_id,arrival_time,departure_time,stop_id,stop_sequence,note\n{rows}")
    )
    assert len(calls(feed)) == 90


def test_rows_out_of_order_are_sorted_by_sequence(write_folder):
    feed = read_feed(
        write_folder(
            stop_times="trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
            "t2,09:20:00,09:20:00,C,30\nt1,08:20:00,08:20:00,C,9\nt2,09:00:00,09:00:00,A,2\nt1,08:00:00,08:00:00,A,1\n"
        )
    )
    assert [name for name, _, _ in calls(feed)] == ["Alpha St", "Gamma Ave"] * 2


def test_missing_times_are_filled_in_evenly(write_folder):
    feed = read_feed(
        write_folder(
            stop_times="trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
            "t1,,08:00:00,A,1\nt1,,,B,2\nt1,,,C,3\nt1,08:09:00,,A,4\n"
        )
    )
    assert [arrival for _, arrival, _ in calls(feed)] == [28800, 28980, 29160, 29340]


def test_no_time_at_the_end_of_a_trip_is_refused(write_folder):
    folder = write_folder(
        stop_times="trip_id,arrival_time,departure_time,stop_id,stop_sequence\nt1,08:00:00,08:00:00,A,1\nt1,,,B,2\n"
    )
    with pytest.raises(DataError, match="first and at the last stop of every trip"):
        read_feed(folder)


def test_calendar_dates_alone_and_exceptions(write_folder):
    folder = write_folder(
        calendar=None, calendar_dates="service_id,date,exception_type\nW,20160727,1\nW,20160801,1\n"
    )
    feed = read_feed(folder)
    assert len(calls(feed, date(2016, 7, 27))) == 4
    assert not calls(feed)
    assert (feed.first_date, feed.last_date) == (date(2016, 7, 27), date(2016, 8, 1))
    other = write_folder(
        "other", calendar_dates="service_id,date,exception_type\nW,20160725,2\nW,20160731,1\n"
    )
    feed = read_feed(other)
    assert not calls(feed)
    assert len(calls(feed, date(2016, 7, 31))) == 4


def test_a_service_that_no_calendar_knows_never_runs(write_folder):
    feed = read_feed(write_folder(trips="route_id,service_id,trip_id\nR,W,t1\nR,nobody,t2\n"))
    assert len(calls(feed)) == 3


def test_frequencies_repeat_a_trip_and_say_how_sure_they_are(write_folder):
    table = "trip_id,start_time,end_time,headway_secs,exact_times\nt1,06:00:00,07:00:00,1200,1\nt1,25:00:00,25:30:00,900,\n"
    feed = read_feed(write_folder(frequencies=table))
    visits = feed.visits([MONDAY])
    leaves = visits.departure_s[visits.first]
    assert sorted(leaves.tolist()) == [21600, 22800, 24000, 86100]
    following = feed.visits([date(2016, 7, 26)])
    early = following.departure_s[following.first & (following.departure_s < 4 * 3600)]
    assert early.tolist() == [3600, 4500]
    slack = following.runs.slack_s[following.run[following.first]]
    assert sorted(set(slack.tolist())) == [0, 900]


def test_stops_where_nobody_may_board_or_alight(write_folder):
    feed = read_feed(
        write_folder(
            stop_times="trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type\n"
            "t1,08:00:00,08:00:00,A,1,0,0\nt1,08:05:00,08:05:00,B,2,1,\nt1,08:06:00,08:06:00,B,3,,1\nt1,08:20:00,08:20:00,C,4,0,0\n"
        )
    )
    visits = feed.visits([MONDAY])
    assert visits.boards.tolist() == [True, False, True, False]
    assert visits.alights.tolist() == [False, True, False, True]


def test_a_folder_whose_name_looks_like_a_pattern(write_folder):
    folder = write_folder("week [1-7] *")
    assert len(calls(read_feed(folder))) == 4


def test_a_feed_in_a_folder_of_the_zip(write_zip, write_folder):
    tables = {f"data/feed/{name}": text for name, text in _plain(write_folder).items()}
    assert len(calls(read_feed(write_zip({"__MACOSX/stop_times.txt": "x", **tables})))) == 4


def _plain(write_folder):
    folder = write_folder("source")
    return {file.name: file.read_bytes() for file in folder.iterdir()}


TIMES = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\nt1,08:00:00,08:00:00,A,1\n"
REFUSED = {
    "missing stop_times": ({"stop_times": None}, "has no stop_times.txt"),
    "missing stops": ({"stops": None}, "has no stops.txt"),
    "no calendar": ({"calendar": None}, "neither calendar.txt nor calendar_dates.txt"),
    "missing column": ({"stop_times": "trip_id,arrival_time\n"}, "has no column 'stop_id'"),
    "empty file": ({"stop_times": "\n\n"}, "stop_times.txt .* is empty"),
    "no rows": ({"stop_times": TIMES.splitlines()[0]}, "has no calls"),
    "99:99:99": (
        {"stop_times": TIMES + "t1,99:99:99,99:99:99,B,2\n"},
        "arrival_time must be a time .* got '99:99:99'",
    ),
    "25:61:00": (
        {"stop_times": TIMES + "t1,09:00:00,25:61:00,B,2\n"},
        "departure_time must be a time .* got '25:61:00'",
    ),
    "168:00:00": ({"stop_times": TIMES + "t1,168:00:00,168:00:00,B,2\n"}, "got '168:00:00'"),
    "-1:00:00": ({"stop_times": TIMES + "t1,-1:00:00,,B,2\n"}, "got '-1:00:00'"),
    "1e:00:00": ({"stop_times": TIMES + "t1,1e:00:00,,B,2\n"}, "got '1e:00:00'"),
    "noon": ({"stop_times": TIMES + "t1,noon,,B,2\n"}, "got 'noon'"),
    "sequence": (
        {"stop_times": TIMES + "t1,09:00:00,,B,two\n"},
        "stop_sequence must be a whole number .* got 'two'",
    ),
    "unknown trip": (
        {"stop_times": TIMES + "t9,09:00:00,,B,2\n"},
        "trip_id 't9', which trips.txt does not have",
    ),
    "unknown stop": (
        {"stop_times": TIMES + "t1,09:00:00,,Z,2\n"},
        "stop_id 'Z', which stops.txt does not have",
    ),
    "no stop": ({"stop_times": TIMES + "t1,09:00:00,,,2\n"}, "stop_id '', which stops.txt does not have"),
    "unknown route": (
        {"trips": "route_id,service_id,trip_id\nX,W,t1\n"},
        "route 'X', which routes.txt does not have",
    ),
    "trip twice": ({"trips": "route_id,service_id,trip_id\nR,W,t1\nR,W,t1\n"}, "trip_id 't1' twice"),
    "stop twice": ({"stops": "stop_id,stop_name\nA,a\nA,b\n"}, "stop_id 'A' twice"),
    "no parent": ({"stops": "stop_id,stop_name,parent_station\nA,a,P\n"}, "parent station 'P'"),
    "route type": (
        {"routes": "route_id,route_type\nR,bus\n"},
        "route_type must be a whole number, got 'bus'",
    ),
    "weekday": (
        {
            "calendar": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nW,yes,1,1,1,1,1,1,20160725,20160731\n"
        },
        "monday must be 0 or 1, got 'yes'",
    ),
    "date": (
        {"calendar_dates": "service_id,date,exception_type\nW,2016-07-25,1\n"},
        "date like 20160725, got '2016-07-25'",
    ),
    "no such day": ({"calendar_dates": "service_id,date,exception_type\nW,20160231,1\n"}, "got '20160231'"),
    "exception": (
        {"calendar_dates": "service_id,date,exception_type\nW,20160725,3\n"},
        "exception_type must be 1",
    ),
    "headway": (
        {"frequencies": "trip_id,start_time,end_time,headway_secs\nt1,06:00:00,07:00:00,0\n"},
        "headway_secs must be a whole number",
    ),
    "headway a second for a week": (
        {"frequencies": "trip_id,start_time,end_time,headway_secs\n" + "t1,00:00:00,167:00:00,1\n" * 9},
        "repeats trips more than",
    ),
    "latin-1": (
        {"stops": "stop_id,stop_name\nA,Ch\xe2teau\n".encode("latin-1")},
        "stops.txt .* is not UTF-8 text",
    ),
    "utf-16": ({"stops": "stop_id,stop_name\nA,a\n".encode("utf-16")}, "is UTF-16, not UTF-8"),
    "latin-1 in times": (
        {"stop_times": TIMES.encode() + b"t\xe9,09:00:00,,B,2\n"},
        "stop_times.txt .* is not UTF-8 text near line 3",
    ),
    "unfinished quote": (
        {"stop_times": TIMES + 't1,"09:00:00,,B,2\n' + "t1,09:00:00,,B,2\n" * 3},
        "stop_times.txt",
    ),
    "binary": ({"stop_times": bytes(range(256)) * 20}, "stop_times.txt"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_malformed_feeds_are_refused_in_one_sentence(write_folder, case):
    tables, message = REFUSED[case]
    folder = write_folder(**tables)
    with pytest.raises(DataError, match=message) as caught:
        read_feed(folder)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tail", ["t9,09:00:00\n", b"t\xe9,09:00:00,,B,2\n", 't9,"09:00:00,,B,2\n'])
def test_what_is_wrong_far_down_is_refused_as_at_the_start(write_folder, tail):
    """An error that comes after pieces were handed over has another kind, and is still one of the feed."""
    head = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
    rows = "".join(f"t{n},08:00:00,08:00:00,A,1\nt{n},08:10:00,08:11:00,B,2\n" for n in range(200_000))
    trips = "route_id,service_id,trip_id\n" + "".join(f"R,W,t{n}\n" for n in range(200_000))
    octets = tail if isinstance(tail, bytes) else tail.encode()
    with pytest.raises(DataError, match=r"stop_times\.txt "):
        read_feed(write_folder(trips=trips, stop_times=(head + rows).encode() + octets))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_what_is_no_zip_is_refused(tmp_path, content):
    path = tmp_path / "feed.zip"
    path.write_bytes(content)
    with pytest.raises(DataError, match="neither a zip nor a folder"):
        read_feed(path)


def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_feed(tmp_path / "nothing")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A temporary directory inside the test's own, to see what is left behind or written elsewhere."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))


def _everything(folder: Path):
    return sorted(path for path in folder.rglob("*"))


HOSTILE = {
    "../stops.txt": "points out of it",
    "/etc/stops.txt": "points out of it",
    "a/../../stops.txt": "points out of it",
    "..\\stops.txt": "points out of it",
    "C:stops.txt": "points out of it",
}


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize("member", HOSTILE)
def test_paths_that_lead_out_of_a_zip(tmp_path, write_zip, write_folder, member):
    members = list(_plain(write_folder).items())
    path = write_zip([*members, (zipfile.ZipInfo(member), "x")])
    before = _everything(tmp_path)
    with pytest.raises(DataError, match=HOSTILE[member]):
        read_feed(path)
    assert _everything(tmp_path) == before


@pytest.mark.usefixtures("scratch")
def test_nothing_is_left_behind(tmp_path, write_zip, write_folder):
    path, broken = write_zip(), write_folder(stop_times=REFUSED["99:99:99"][0]["stop_times"])
    before = _everything(tmp_path)
    read_feed(path)
    with pytest.raises(DataError):
        read_feed(broken)
    assert _everything(tmp_path) == before


def test_a_link_in_a_zip(write_zip, write_folder):
    link = zipfile.ZipInfo("stops.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    members = [item for item in _plain(write_folder).items() if item[0] != "stops.txt"]
    with pytest.raises(DataError, match="is a link"):
        read_feed(write_zip([*members, (link, "/etc/passwd")]))


def test_an_encrypted_zip(write_zip):
    path = write_zip()
    data = bytearray(path.read_bytes())
    at = 0
    while (at := data.find(b"PK\x01\x02", at)) >= 0:
        data[at + 8] |= 1
        at += 4
    path.write_bytes(data)
    with pytest.raises(DataError, match="is encrypted"):
        read_feed(path)


def test_zips_inside_zips_and_two_feeds(write_zip):
    with pytest.raises(DataError, match="holds other zips"):
        read_feed(write_zip({"bus.zip": b"PK", "train.zip": b"PK"}))
    with pytest.raises(DataError, match=r"more than one stop_times\.txt"):
        read_feed(write_zip({"bus/stop_times.txt": "", "train/stop_times.txt": ""}, name="two.zip"))
    with pytest.raises(DataError, match=r"has no stop_times\.txt"):
        read_feed(write_zip({"readme.txt": "hello"}, name="none.zip"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_table_that_comes_twice(write_zip, write_folder):
    members = list(_plain(write_folder).items())
    with pytest.raises(DataError, match=r"has stops\.txt twice"):
        read_feed(write_zip([*members, ("stops.txt", "stop_id\nA\n")]))


def test_a_member_that_unpacks_to_too_much(write_zip, write_folder):
    zeros = bytes(40 << 20)
    members = _plain(write_folder) | {"stop_times.txt": zeros}
    path = write_zip(members)
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match="more than 200 times its size"):
        read_feed(path)
    too_large = pytest.raises(DataError, match="too large: 40 MiB, at most 8")
    with limits.override(feed_file_bytes=8 << 20), too_large:
        read_feed(path)


def test_a_member_that_lies_about_its_size(write_zip, write_folder):
    """The declared size of stop_times is forged to be small; what comes out must still be limited."""
    path = write_zip(_plain(write_folder) | {"stop_times.txt": bytes(40 << 20)})
    data = bytearray(path.read_bytes())
    size = (40 << 20).to_bytes(4, "little")
    assert data.count(size) >= 2
    path.write_bytes(data.replace(size, (100).to_bytes(4, "little")))
    with pytest.raises(DataError):
        read_feed(path)


def test_a_ten_gigabyte_member_is_refused_before_it_is_unpacked(write_zip, write_folder):
    path = write_zip(_plain(write_folder))
    size = len(_plain_size(path))
    data = bytearray(path.read_bytes())
    at = data.rfind(b"stop_times.txt") - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    assert int.from_bytes(data[at + 24 : at + 28], "little") == size
    data[at + 24 : at + 28] = (0xFFFF_FFF0).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"too large|times its size"):
        read_feed(path)


def _plain_size(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("stop_times.txt")


def test_a_damaged_zip(write_zip):
    path = write_zip()
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    with pytest.raises(DataError):
        read_feed(path)


def test_bad_questions_are_refused(write_folder):
    feed = read_feed(write_folder())
    with pytest.raises(SpecError, match="dates"):
        feed.visits([])
    with pytest.raises(SpecError, match="margin_s"):
        feed.visits([MONDAY], margin_s=-1)


def test_progress_counts_rows(write_folder):
    told = []
    read_feed(write_folder(), progress=told.append)
    assert told[-1] == 6


def test_vehicles_in_words(write_folder):
    feed = read_feed(write_folder())
    visits = feed.visits([date(2016, 7, 30)])
    assert feed.vehicle(visits, 0) == "12 23:55 from Alpha St, service day 2016-07-29, trip t2"
