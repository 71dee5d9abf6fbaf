"""Places and vehicles: the map of a small city with its timetable, against the feed and the assessment itself."""

import csv
import io
import zipfile

import pytest

import noisegate
from noisegate.laws import SeededNoise

from .conftest import PORT, TOKEN, Visitor, make_app


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    top = tmp_path_factory.mktemp("town")
    world = noisegate.simulate(top / "data" / "city", days=1, persons=1500, seed=3)
    (top / "data" / "day").mkdir()
    noisegate.release(
        world.spec_2016,
        out=top / "data" / "day" / "release",
        ledger=top / "ledger.db",
        entropy=SeededNoise(seed=1),
    )
    visitor = Visitor(make_app(top / "data", port=PORT, token=TOKEN, state=top / "state"))
    return visitor, visitor.cases()["day"], top / "data" / "city" / "gtfs.zip"


def test_without_the_timetable_the_map_says_how_to_get_it(town):
    visitor, number, _ = town
    page = visitor.page(f"/r/{number}/map.json").json()
    assert page["places"] == []
    assert "dial" in page["why"]


def test_places_stand_where_the_feed_says_and_vehicles_are_counted(town):
    visitor, number, feed = town
    assert visitor.send("/dial", {"timetable": True}).status_code == 200
    page = visitor.page(f"/r/{number}/map.json").json()
    assert page["timetable"] is True
    with zipfile.ZipFile(feed) as archive:
        stops = list(csv.DictReader(io.StringIO(archive.read("stops.txt").decode())))
    at = {one["stop_name"]: (float(one["stop_lat"]), float(one["stop_lon"])) for one in stops}
    named = [one for one in page["places"] if one["label"] in at]
    assert len(named) > 5
    for one in named:
        assert (one["lat"], one["lon"]) == pytest.approx(at[one["label"]], abs=1e-4)
    states = visitor.page(f"/r/{number}/files.json").json()["states"]
    assert sum(one["published"] for one in page["places"]) == states["published"]
    labels = {one["label"] for one in page["places"]}
    assert page["lines"]
    assert all(a in labels and b in labels for a, b in page["lines"])
    board = page["place"]
    assert all(row["scheduled"] <= row["possible"] for row in board["rows"])
    assert [row["slot"] for row in board["rows"]] == sorted(row["slot"] for row in board["rows"])
    other = visitor.page(f"/r/{number}/map.json?place={named[0]['label']}&tap=on").json()["place"]
    assert other["label"] == named[0]["label"]
    assert other["held"]["tap"]["at"] == "on"
    assert visitor.page(f"/r/{number}/map.json?place=nowhere").status_code == 422
