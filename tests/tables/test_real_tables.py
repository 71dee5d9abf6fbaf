"""The four real Opal tables of 2016: alone, in pairs that belong together, and in pairs that do not."""

from itertools import permutations

import numpy as np
import pytest

from noisegate.errors import DataError
from noisegate.reading import find_structure, read_table, summarise
from noisegate.tables import Kind

FILES = {
    "time": "time_20160725-31.csv",
    "time-loc": "time-loc_20160725-31_train_on_only.csv",
    "location": "location_20160808-14.csv",
    "hourly": "time-loc-hourly_20160808-14.csv",
}


@pytest.fixture(scope="module")
def opal(shared_data):
    folder = shared_data / "opal_2016"
    if not folder.is_dir():
        pytest.skip("the Opal tables of 2016 are not on this machine")
    return {name: read_table(folder / file) for name, file in FILES.items()}


@pytest.mark.parametrize(
    ("name", "rows", "names", "sizes"),
    [
        ("time", 4602, ("mode", "date", "tap", "time"), (4, 7, 2, 97)),
        ("time-loc", 49809, ("mode", "date", "tap", "time", "loc"), (1, 7, 1, 91, 241)),
        ("location", 8605, ("mode", "date", "tap", "loc"), (4, 7, 2, 646)),
        ("hourly", 72937, ("mode", "date", "tap", "hour", "loc"), (4, 7, 2, 24, 605)),
    ],
)
def test_reading(opal, name, rows, names, sizes):
    table = opal[name]
    assert (table.rows, table.names, table.count_name) == (rows, names, "count")
    assert tuple(d.size for d in table.dimensions) == sizes
    assert table.dimensions[1].kind is Kind.DATE
    assert table.extra == ()


def test_the_two_lines_of_xml_are_set_aside(opal):
    (aside,) = opal["location"].set_aside
    assert (aside.rows, aside.first_line) == (2, 8607)
    assert all(opal[name].set_aside == () for name in ("time", "time-loc", "hourly"))


def test_unknown_places_and_times_are_marked(opal):
    for name, unknown in (("location", ("-1", "UNKNOWN")), ("time", ("-1",))):
        last = opal[name].dimensions[3]
        assert last.labels[-len(unknown) :] == unknown
        assert last.unknown.sum() == len(unknown)


@pytest.mark.parametrize(("name", "value"), [("time", 35), ("time-loc", 18), ("hourly", 18)])
def test_thresholds(opal, name, value):
    cut = find_structure([opal[name]]).base.threshold
    assert (cut.value, cut.rule, cut.cut) == (value, "ge", "after")
    assert cut.sure > 0.95


def test_the_location_table_is_34_or_35(opal):
    """Four rows of 34 where about eleven are expected: a cut at 34 before rounding, or 35 with a leak."""
    cut = find_structure([opal["location"]]).base.threshold
    assert (cut.value, cut.rule, cut.cut) == (34, "gt", "before")
    assert 0.5 < cut.sure < 0.99
    assert 0.2 < cut.fill < 0.5
    assert (35, "ge") in {(other.value, other.rule) for other in cut.alternatives}


@pytest.mark.parametrize("order", list(permutations(["time", "time-loc"])))
def test_week_one(opal, order):
    structure = find_structure([opal[name] for name in order])
    (link,) = structure.links
    assert structure.sources[0].files == opal["time-loc"].files
    assert structure.base.size == 7 * 96 * 241
    assert link.summed == ("loc",)
    coverage = {part.dimensions: part for part in link.coverage()}
    assert coverage["mode",].inside == ("train",)
    assert coverage["tap",].inside == ("on",)
    assert coverage["time",].outside == ("-1",)
    # Time minus the sum of its stations is never negative; no row has all its stations published.
    both = link.published & (link.shown > 0)
    residual = link.margin.dense()[both] - link.parts[both]
    assert (residual.size, residual.min(), residual.max()) == (607, 10, 976)
    assert not link.complete.any()


@pytest.mark.parametrize("order", list(permutations(["hourly", "location"])))
def test_week_two(opal, order):
    structure = find_structure([opal[name] for name in order])
    (link,) = structure.links
    assert structure.sources[0].files == opal["hourly"].files
    assert structure.nests == (("mode", "loc"),)
    (part,) = link.coverage()
    # Large places that somebody left out are not covered; small ones are suppressed hour by hour.
    gone = {value.split(" / ")[1] for value in part.outside}
    assert {"Manly Wharf", "Circular Quay No. 3 Wharf", "Circular Quay Station", "UNKNOWN", "-1"} <= gone
    assert {"Muswellbrook Station", "Kotara Station", "Coalcliff Station"}.isdisjoint(gone)
    assert len(part.outside) == 13
    # Bus postcode 2000 on seven days, on and off, and one day at Central.
    complete = np.flatnonzero(link.complete)
    assert sorted(set(link.margin.labels(complete)["loc"])) == ["2000", "Central Station"]
    assert complete.size == 15
    assert np.abs(link.margin.dense()[complete] - link.parts[complete]).max() < 60


def test_light_rail_has_47_platforms_every_day(opal):
    cells = find_structure([opal["location"]]).base
    rail = cells.labels(cells.cells)["mode"] == "lightrail"
    assert rail.sum() == 47 * 7


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("time", "location"), "have no date in common"),
        (("time-loc", "location"), "have no date in common"),
        (("time-loc", "hourly"), "have no date in common"),
        (("hourly", "time"), "have no date in common"),
        (tuple(FILES), "have no date in common"),
    ],
)
def test_tables_of_different_weeks_do_not_belong_together(opal, names, words):
    with pytest.raises(DataError, match=words):
        find_structure([opal[name] for name in names])


def test_the_summary_is_plain(opal):
    base, margin = (
        table.to_json() for table in summarise(find_structure([opal["location"], opal["hourly"]]))
    )
    assert base["threshold"]["value"] == 18
    assert margin["set_aside"][0]["first_line"] == 8607
    assert margin["link"]["complete"] == 15
    assert base["rows"] + base["suppressed"] == base["domain_size"] == 636 * 7 * 2 * 24
