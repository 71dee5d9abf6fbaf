"""The timetables of the report, and feeds and options that cannot be used."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

REPORT_SPEC = """
tables:
  time-loc.csv:
    base: true
    threshold: {value: 18, rule: gt, cut: before}
    dimensions: {time: {kind: time, every: 15min}}
domain:
  loc: [Cremorne Point Wharf, South Mosman Wharf, UNKNOWN]
"""
#: Table 3 of the report: the boats left on Thursday 11 August 2016 and arrived on Friday.
FERRIES = {
    file.stem: file.read_text()
    for file in sorted((Path(__file__).parents[1] / "feeds" / "night-ferries").iterdir())
}
#: The N70 of the report, and the buses of the day that start shortly after 05:00.
NIGHT = {
    "routes": "route_id,route_short_name,route_type\nN70,N70,714\n728,728,3\n750,750,3\n",
    "stops": (
        "stop_id,stop_name\npi,Penrith Interchange\nmd,Mount Druitt Station\nmd2,Luxford Rd\n"
        "bt,Blacktown Station\nbt2,Flushcombe Rd\nth,City Town Hall\n"
    ),
    "trips": "route_id,service_id,trip_id\nN70,W,n\n728,W,a\n750,W,b\n",
    "stop_times": (
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "n,28:16:00,28:16:00,pi,1\nn,28:36:00,28:36:00,md,2\nn,28:52:00,28:52:00,bt,3\nn,29:50:00,29:50:00,th,4\n"
        "a,29:07:00,29:07:00,md,1\na,29:12:00,29:12:00,md2,2\na,29:30:00,29:30:00,bt,3\n"
        "b,29:06:00,29:06:00,bt,1\nb,29:11:00,29:11:00,bt2,2\nb,29:33:00,29:33:00,md,3\n"
    ),
    "calendar_dates": "service_id,date,exception_type\nW,20160725,1\n",
}
POSTCODES = "location,stop\n2750,pi\n2770,md\n2770,md2\n2148,bt\n2148,bt2\n2000,th\n"


@pytest.fixture
def ferry_files(tmp_path, write_feed):
    """The published extract of the report, its timetable extract, and what a person must add."""
    (tmp_path / "time-loc.csv").write_text(
        "mode,date,tap,time,loc,count\nferry,20160812,off,00:00,Manly Wharf,91\n"
        "ferry,20160812,off,00:00,Circular Quay No. 3 Wharf,41\n"
    )
    (tmp_path / "time.csv").write_text("mode,date,tap,time,count\nferry,20160812,off,00:00,150\n")
    (tmp_path / "spec.yaml").write_text(REPORT_SPEC)
    write_feed(tmp_path / "feed", FERRIES)
    return tmp_path


def test_the_ferry_of_the_report_ranks_cremorne_point_first(noisegate, ferry_files):
    target = ferry_files / "a.json"
    code, out, _ = noisegate(
        *(
            "assess",
            ferry_files / "time-loc.csv",
            ferry_files / "time.csv",
            "--spec",
            ferry_files / "spec.yaml",
        ),
        *("--noise", "laplace:1.4", "--gtfs", ferry_files / "feed", "--late", 5, "--attacker", "none"),
        *("--verbose", "--json", target),
    )
    assert code == 0
    (row,) = json.loads(target.read_text())["services"]["missing_taps"]
    first, second = row["candidates"]
    assert first["cell"].endswith("Cremorne Point Wharf")
    assert second["cell"].endswith("South Mosman Wharf")
    # By hand: due 00:10 and read 30 s later, it must be less than 270 s late; the other must be more than 30 s early.
    cremorne = 0.9 * (1 - np.exp(-270 / 120)) + 0.1 * (1 - np.exp(-630 / 60))
    mosman = 0.1 * np.exp(-30 / 60) * (1 - np.exp(-900 / 60))
    assert first["probability"] == pytest.approx(cremorne / (cremorne + mosman), rel=1e-6)
    assert first["probability"] + second["probability"] == pytest.approx(1, abs=1e-12)
    assert (first["on_time"], second["on_time"]) == (1, 0)
    assert second["early"] == 1
    assert first["count"]["interval"] == [10, 20]
    assert "Cremorne Point Wharf 93.7%" in " ".join(out.split())


def test_the_night_bus_of_the_report_is_one_vehicle(noisegate, write_feed, tmp_path):
    (tmp_path / "time-loc.csv").write_text(
        "mode,date,tap,time,loc,count\nbus,20160726,on,04:30,2770,21\nbus,20160726,on,04:45,2148,31\n"
    )
    (tmp_path / "stops.csv").write_text(POSTCODES)
    write_feed(tmp_path / "feed", NIGHT)
    target = tmp_path / "a.json"
    code, out, _ = noisegate(
        *(
            "assess",
            tmp_path / "time-loc.csv",
            "--gtfs",
            tmp_path / "feed",
            "--stops",
            tmp_path / "stops.csv",
        ),
        *("--late", 5, "--verbose", "--json", target),
    )
    assert code == 0
    services = json.loads(target.read_text())["services"]
    (trail,) = services["trails"]
    assert services["map_lines_unused"] == 2  # the table shows neither 2750 nor 2000
    assert trail["vehicle"].startswith("N70 28:16 from Penrith Interchange")
    assert [cell for cell, _ in trail["cells"]] == [
        "bus 20160726 on 04:30 2770",
        "bus 20160726 on 04:45 2148",
    ]
    assert [one["stop"] for one in services["one_vehicle"]] == ["Mount Druitt Station", "Blacktown Station"]
    assert 4 in services["unprotected_hours"]["bus"]
    assert "N70 28:16 from Penrith" in " ".join(out.split())


BAD = "stop_times.txt: arrival_time must be a time"
HOSTILE = {
    "missing stop_times": ({"stop_times": None}, "stop_times.txt"),
    "no such time": (
        {"stop_times": FERRIES["stop_times"].replace("24:10:00,24:10:00,q3", "99:99:99,24:10:00,q3")},
        BAD,
    ),
    "unknown encoding": ({"stops": FERRIES["stops"].encode("utf-16")}, "stops.txt"),
    "empty": ({"stop_times": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"}, "no calls"),
    "unknown trip": ({"stop_times": FERRIES["stop_times"].replace("\nf6,", "\nghost,")}, "ghost"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_broken_feed_is_refused_in_one_sentence(noisegate, write_feed, ferry_files, case):
    changes, said = HOSTILE[case]
    tables = {name: text for name, text in (FERRIES | changes).items() if text is not None}
    refused(noisegate, ferry_files, write_feed(ferry_files / "bad", tables), said)


def refused(noisegate, folder, feed, said):
    """Exit 2, one sentence, no traceback, and not a single new file."""
    before = sorted(folder.rglob("*"))
    code, _, err = noisegate(
        *("assess", folder / "time-loc.csv", folder / "time.csv", "--spec", folder / "spec.yaml"),
        *("--gtfs", feed, "--out", folder / "out"),
    )
    assert code == 2
    assert said in " ".join(err.split())
    assert "Traceback" not in err
    assert sorted(folder.rglob("*")) == before


def as_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_an_archive_that_points_outside_is_refused(noisegate, ferry_files):
    members = {f"{name}.txt": text for name, text in FERRIES.items()} | {"../../evil.txt": "x"}
    refused(noisegate, ferry_files, as_zip(ferry_files / "evil.zip", members), "points out of it")
    assert not (ferry_files.parent / "evil.txt").exists()
    assert not (ferry_files.parent.parent / "evil.txt").exists()


def test_a_member_of_ten_gigabytes_is_refused(noisegate, ferry_files):
    """A small archive that declares a member of ten gigabytes: refused before anything is unpacked."""
    path = ferry_files / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FERRIES.items():
            archive.writestr(f"{name}.txt", text)
        archive.getinfo("stop_times.txt").file_size = 10 << 30
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("stop_times.txt").file_size == 10 << 30
    refused(noisegate, ferry_files, path, "stop_times.txt")


def test_options_without_a_timetable_are_refused(noisegate, ferry_files):
    for arguments, said in (
        (("--stops", ferry_files / "spec.yaml"), "--stops maps locations"),
        (("--late", 500), "--late must be whole minutes"),
        (("--k", 0), "--k must be a whole number"),
        (("--gtfs", ferry_files / "nowhere"), "nowhere"),
        (
            ("--gtfs", ferry_files / "feed", "--stops", ferry_files / "time.csv"),
            "must have the columns location and stop",
        ),
    ):
        code, _, err = noisegate("assess", ferry_files / "time-loc.csv", *arguments)
        assert code == 2
        assert said in " ".join(err.split())


def test_a_feed_of_another_time_is_refused(noisegate, ferry_files):
    table = ferry_files / "time-loc.csv"
    table.write_text(table.read_text().replace("20160812", "20180812"))
    code, _, err = noisegate("assess", table, "--gtfs", ferry_files / "feed")
    assert code == 2
    assert "it runs from 2016-08-11 to 2016-08-11" in " ".join(err.split())
