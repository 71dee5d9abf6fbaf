"""The real tables of 2016, without any configuration."""

import csv
import time
from functools import partial

import pytest

from noisegate import assessment as package

#: Suppressed cells have tests of their own.
assess = partial(package.assess, attacker=None)


@pytest.fixture(scope="module")
def week_1(shared_data):
    folder = shared_data / "opal_2016"
    return assess([folder / "time-loc_20160725-31_train_on_only.csv", folder / "time_20160725-31.csv"])


@pytest.fixture(scope="module")
def week_2(shared_data):
    folder = shared_data / "opal_2016"
    # The margin first: the order does not matter.
    return assess([folder / "location_20160808-14.csv", folder / "time-loc-hourly_20160808-14.csv"])


def test_week_1_is_understood(week_1):
    base, margin = (table.summary for table in week_1.tables)
    assert (base.role, margin.role) == ("base", "margin")
    assert (base.rows, margin.rows) == (49_809, 4_602)
    assert (base.threshold.value, margin.threshold.value) == (18, 35)
    assert base.threshold.sure > 0.99
    assert margin.threshold.sure > 0.9
    assert margin.link.summed == ("loc",)


def test_week_1_says_why_there_is_no_number(week_1):
    """No quarter of an hour has every station published, and tap-offs are not there to be paired."""
    assert week_1.findings == ()
    assert all(table.noise.fit is None for table in week_1.tables)
    assert all("no identity" in table.noise.reason for table in week_1.tables)
    outcomes = {check.id: check.outcome for check in week_1.checks}
    assert outcomes["margins"] == outcomes["coupled-cells"] == outcomes["zeros"] == "cannot tell"
    assert week_1.privacy.event_epsilon is None


def test_week_2_gives_a_scale_consistent_with_the_report(week_2):
    base, margin = week_2.tables
    low, high = base.noise.fit.interval
    assert low < 1.4 < high
    assert high / low < 4
    assert 0.9 < base.noise.fit.scale < 1.9
    assert margin.noise.fit is None
    assert "cannot be seen beside the 96" in margin.noise.reason


def test_week_2_says_how_few_rows_allow_it_and_what_is_assumed(week_2):
    noise = week_2.tables[0].noise
    assert 5 <= noise.fit.n <= 15
    assert "of the 15 rows" in noise.sets[0].title
    said = " ".join(noise.assumes)
    assert "sum of 4 counts of 15 min, each with its own noise and cut" in said
    assert "at least 108 hold all 4" in said
    assert "same scale" in said
    (finding,) = [one for one in week_2.findings if one.id == "noise-recovered"]
    assert finding.numbers["few"]
    assert f"from only {noise.fit.n} identities" in finding.title


def test_week_2_shows_independent_tables(week_2):
    (finding,) = [one for one in week_2.findings if one.id == "independent-margins"]
    assert finding.numbers["below_parts"] == 5
    assert "bus 20160809 on 2000" in finding.evidence[0]
    assert not [one for one in week_2.findings if one.id == "coupled-cells"]


def test_week_2_sets_the_trailing_xml_aside(week_2):
    margin = week_2.tables[1].summary
    assert [(one.rows, one.first_line) for one in margin.set_aside] == [(2, 8607)]
    assert margin.threshold.value in (34, 35)


@pytest.mark.slow
def test_a_workbook_of_55_sheets_is_assessed_and_twenty_counts_are_proven(shared_data):
    """Stats NZ, electorates: where a total differs by 6 from male and female, all three raw counts follow."""
    file = shared_data / "official" / "nz2013" / "2013-census-electorate-tables.xlsx"
    if not file.is_file():
        pytest.skip("the official releases (../shared/data/official) are not on this machine")
    begun = time.process_time()
    found = package.assess(file)
    assert time.process_time() - begun < 90  # 39 seconds on a machine with others at work
    listed = [
        one
        for numbers in found.numbers("known-exactly")
        for one in numbers["listed"]
        if one["table"] == "Table 1"
    ]
    proven = {(one["general electorate"], one["Age group"], one["Sex"]): one for one in listed}
    shown = {}
    with (file.parent / "t1_electorates.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            shown.setdefault((row["electorate"], row["age"]), {})[row["sex"]] = int(row["count"])
    sums = {key: (sum(n for sex, n in one.items() if "Total" not in sex), one) for key, one in shown.items()}
    extreme = [
        key
        for key, (parts, one) in sums.items()
        if any("Total" in sex and abs(n - parts) == 6 for sex, n in one.items())
    ]
    assert len(extreme) == 10
    assert all(proven[place, age, sex]["proof"] for place, age in extreme for sex in ("Female", "Male"))
    assert proven["Hutt South", "20–24 Years", "Female"]["low"] == 2233
    assert proven["Hutt South", "20–24 Years", "Male"]["low"] == 2173
