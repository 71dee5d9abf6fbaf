"""Four official releases as their users download them, read without options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noisegate.reading import Structure, find_structure, read_sources


@pytest.fixture(scope="session")
def official(shared_data):
    folder = shared_data / "official"
    if not folder.is_dir():
        pytest.skip("the official releases (../shared/data/official) are not on this machine")
    return folder


def _structure(*files: Path) -> Structure:
    read = read_sources(list(files))
    return find_structure(read.tables, lookups=read.lookups, left_out=read.left_out)


def test_deaths_by_state_have_six_measures_and_blanks_from_1_to_9(official):
    found = _structure(official / "cdc_covid" / "cdc_sex_age_state.csv")
    assert [one.measure for one in found.every] == [
        "COVID-19 Deaths",
        "Total Deaths",
        "Pneumonia Deaths",
        "Pneumonia and COVID-19 Deaths",
        "Influenza Deaths",
        "Pneumonia, Influenza, or COVID-19 Deaths",
    ]
    assert len(found.sisters) == 5
    base = found.base
    assert {"State", "Sex", "Age group"} <= set(base.domain.names)
    assert base.hidden.size == 288
    low, high = base.ranges(base.hidden)
    assert (set(low), set(high)) == ({1.0}, {9.0})
    assert {link.summed for link in found.links} >= {("State",), ("Age group",), ("Sex", "Age group")}


@pytest.mark.parametrize("name", ["blank", "lt10", "range", "star"])
def test_every_marker_of_the_same_deaths_means_1_to_9(official, name):
    base = _structure(official / "cdc_covid" / f"states_{name}.csv").base
    (marker,) = base.markers
    assert (marker.low, marker.high, base.hidden.size) == (1, 9, 288)


def test_waits_are_read_with_proportions_set_aside_and_days_first(official):
    found = _structure(official / "nhs_mhsds" / "MHSDS_Data_4WW_AugPerf_2024.csv")
    boards = next(one for one in found.every if "ICB" in one.base.name)
    assert boards.base.published == 1_095
    assert (boards.base.values % 5 == 0).all()
    (marker,) = [one for one in boards.base.markers if one.text == "*"]
    assert (marker.low, marker.high) == (1, 4)
    assert [link.margin.name for link in boards.links] == ["MHSDS_Data_4WW_AugPerf_2024 (England)"]
    aside = [one for source in found.every for table in source.sources for one in table.set_aside]
    assert sum(one.rows for one in aside) >= 7_000


def test_electorates_wide_and_long_are_the_same(official):
    folder = official / "nz2013"
    wide, whole = _structure(folder / "t1_wide.csv"), _structure(folder / "t1_electorates.csv")
    assert set(wide.base.domain.names) == {"electorate", "age", "sex"}
    assert whole.base.published == 2_304
    assert wide.base.values.sum() == whole.base.values.sum()


def test_a_census_of_113_columns_has_single_years_bands_and_a_total(official):
    found = _structure(official / "ons2021" / "census2021-ts007-ltla.csv")
    assert found.base.size == 331 * 101
    by_name = {link.margin.name.partition(" (")[2]: link for link in found.links}
    assert set(by_name) == {"total over Age)", "subtotals of Age)"}
    for link in found.links:
        assert np.array_equal(link.parts, link.margin.dense())


def test_a_lookup_links_small_areas_and_districts(official):
    folder = official / "ons2021"
    found = _structure(
        folder / "msoa_age_by_single_year_2021_data.csv",
        folder / "census2021-ts007-ltla.csv",
        folder / "lookup_msoa_lad.csv",
    )
    assert found.base.size == 7_264 * 101
    link = next(one for one in found.links if one.margin.name == "census2021-ts007-ltla")
    assert link.coarser == ("geography",)
    gap = link.margin.dense()[link.complete] - link.parts[link.complete]
    assert link.complete.sum() > 30_000
    assert np.abs(gap).mean() < 5


def test_a_workbook_of_55_sheets_is_read(official):
    read = read_sources(official / "nz2013" / "2013-census-electorate-tables.xlsx")
    assert len(read.tables) >= 54
    assert [text.partition(" of ")[0] for text in read.left_out] == ["sheet 'Contents'"]
    first = next(table for table in read.tables if table.name == "Table 1")
    assert first.names == ("general electorate", "Age group", "Sex")
    wide = next(table for table in read_sources(official / "nz2013" / "t1_all.csv").tables)
    assert first.counts.max() == wide.counts.max()
