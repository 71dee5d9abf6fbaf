"""Published locations and the stops they stand for."""

import pytest

from noisegate.errors import DataError, SpecError
from noisegate.timetable import (
    How,
    folded,
    match_locations,
    mode_of_type,
    mode_of_word,
    read_feed,
    read_groups,
)

HARBOUR = {
    "routes": "route_id,route_short_name,route_type\nF1,F1,4\nT1,T1,2\nB1,400,3\n",
    "stops": (
        "stop_id,stop_code,stop_name,parent_station\n"
        'cq,,"Circular Quay Station",\n'
        'cq1,2000,"Circular Quay Station, Platform 1",cq\n'
        'cq3,,"Circular Quay, Wharf 3",cq\n'
        "mw,20951,Manly Wharf,\n"
        "b1,,George St at Bridge St,\n"
        "b2,,George St opp Town Hall,\n"
        "zz,,Nowhere Else,\n"
    ),
    "trips": "route_id,service_id,trip_id\nF1,W,f\nT1,W,t\nB1,W,b\n",
    "stop_times": (
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "f,08:00:00,08:00:00,cq3,1\nf,08:30:00,08:30:00,mw,2\n"
        "t,08:00:00,08:00:00,cq1,1\nt,08:30:00,08:30:00,zz,2\n"
        "b,08:00:00,08:00:00,b1,1\nb,08:30:00,08:30:00,b2,2\n"
    ),
}


@pytest.fixture
def harbour(write_folder):
    return read_feed(write_folder(**HARBOUR))


def placed(feed, matching):
    """(mode, stop id, location) of every stop that has a location."""
    return {
        (feed.modes[mode], feed.stops.ids[stop], matching.locations[matching.places[mode, stop]])
        for mode in range(len(feed.modes))
        for stop in range(len(feed.stops))
        if matching.places[mode, stop] >= 0
    }


def test_every_way_to_match(harbour):
    labels = ["Circular Quay Station", "Circular Quay No. 3 Wharf", "20951", "2000", "UNKNOWN", "Atlantis"]
    groups = {"b1": "2000", "George St opp Town Hall": "2000"}
    of_mode = {"train": labels[:1], "ferry": labels[1:3], "bus": ["2000"]}
    matching = match_locations(harbour, labels, of_mode=of_mode, groups=groups)
    assert placed(harbour, matching) == {
        ("train", "cq1", "Circular Quay Station"),
        ("ferry", "cq3", "Circular Quay No. 3 Wharf"),
        ("ferry", "mw", "20951"),
        ("bus", "b1", "2000"),
        ("bus", "b2", "2000"),
    }
    assert matching.how == {
        "Circular Quay Station": How.PARENT,
        "Circular Quay No. 3 Wharf": How.SIMILAR,
        "20951": How.CODE,
        "2000": How.GROUP,
    }
    assert [(one.location, one.reason) for one in matching.unmatched] == [
        ("UNKNOWN", "it means that the place is not known"),
        ("Atlantis", "no served stop has this name, code or group"),
    ]
    assert [harbour.stops.ids[stop] for _, stop in matching.left_over] == ["zz"]
    assert matching.summary() == (
        "4 of 6 locations match stops (1 by code, 1 by station, 1 by similar name, 1 by group); without a stop: 2; "
        "served stops without a location: 1"
    )


def test_exact_names_win_over_similar_ones_and_the_user_over_all(harbour):
    labels = ["Manly Wharf", "MANLY", "elsewhere"]
    assert ("ferry", "mw", "Manly Wharf") in placed(harbour, match_locations(harbour, labels))
    given = match_locations(harbour, labels, given={"mw": "elsewhere"})
    assert ("ferry", "mw", "elsewhere") in placed(harbour, given)
    assert given.how["elsewhere"] is How.GIVEN
    assert given.unmatched[0].location == "Manly Wharf"


def test_names_that_differ_only_in_spelling_are_left_to_the_user(harbour):
    matching = match_locations(harbour, ["George Street / Bridge Street", "george st at bridge st."])
    assert not placed(harbour, matching)
    assert all("only in spelling" in one.reason for one in matching.unmatched)


def test_a_near_name_is_offered(harbour):
    (one,) = match_locations(harbour, ["Manly Warf East"]).unmatched
    assert one.reason.endswith("the nearest name is 'Manly Wharf'")


def test_a_wrong_map_is_refused(harbour):
    with pytest.raises(DataError, match="names 'nobody', which is no id"):
        match_locations(harbour, ["A"], given={"nobody": "A"})
    with pytest.raises(DataError, match="sends 'mw' to 'B', which the table does not have"):
        match_locations(harbour, ["A"], given={"mw": "B"})
    with pytest.raises(SpecError, match="different from each other"):
        match_locations(harbour, ["A", "A"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Circular Quay No. 3 Wharf", "CIRCULAR QUAY, Wharf 3"),
        ("Central Station", "Central Railway Stn"),
        ("Mt Druitt Station", "Mount Druitt Station, Stand B"),
        ("St. Peter's", "St Peters"),
        ("Château Rd & 1st Ave", "Chateau Road and 1st Avenue"),
        ("Town Hall Station, Platform 4", "Town Hall"),
    ],
)
def test_spellings_that_mean_the_same(one, other):
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rose Bay", "Rose"),
        ("Circular Quay, Wharf 3", "Circular Quay, Wharf 4"),
        ("North Ryde", "Ryde"),
        ("Wharf", "Station"),
    ],
)
def test_spellings_that_do_not(one, other):
    assert folded(one) != folded(other)


def test_modes_of_types_and_words():
    assert [mode_of_type(t) for t in (0, 1, 2, 3, 4, 700, 712, 1000, 900, 109, 1700, 6)] == [
        *(3, 0, 0, 1, 2),
        *(1, 1, 2, 3, 0, 4, 4),
    ]
    assert [mode_of_word(word) for word in ("Light Rail", "BUS", "ferry", "Trains", "sled")] == [
        3,
        1,
        2,
        0,
        None,
    ]


def test_groups_from_a_list_of_places(tmp_path):
    path = tmp_path / "stops.csv"
    path.write_text('\ufeffstop,mode,postcode\n"A, b",bus,2000\nB,bus,\nUNKNOWN,,UNKNOWN\n', encoding="utf-8")
    assert read_groups(path) == {"A, b": "2000", "UNKNOWN": "UNKNOWN"}
    assert read_groups(path, column="stop", stop="mode") == {"bus": "B"}
    with pytest.raises(DataError, match="has no column 'suburb'; it has stop, mode, postcode"):
        read_groups(path, column="suburb")
    with pytest.raises(DataError, match="does not exist"):
        read_groups(tmp_path / "none.csv")
    path.write_bytes(b"stop,postcode\n\xff\xfe,1\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_groups(path)
