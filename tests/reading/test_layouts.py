"""Layouts that statistical offices publish, each with what must be found in it: dimensions, measures, counts, markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noisegate import limits
from noisegate.errors import DataError
from noisegate.reading import (
    Structure,
    find_structure,
    parse_overrides,
    read_sources,
    read_table,
    summarise,
)

AREAS = ("Ayton", "Beeford", "Ceeville", "Deeham", "Eastow", "All Saints")
AGES = ("0-14", "15-64", "65+")
SEXES = ("Male", "Female")


@pytest.fixture(scope="session")
def counts():
    """Six areas by three ages by two sexes; none below 20."""
    return np.random.default_rng(8).integers(20, 900, (len(AREAS), len(AGES), len(SEXES)))


def structure_of(*files: Path, **said: object) -> Structure:
    overrides = parse_overrides({"tables": {files[0].name: said}}) if said else None
    read = read_sources(list(files), overrides=overrides)
    return find_structure(read.tables, overrides=overrides, lookups=read.lookups, left_out=read.left_out)


def cells(structure: Structure, *order: str) -> dict[tuple[str, ...], float]:
    """The published counts of the base by the labels of some dimensions."""
    labels = structure.base.labels(structure.base.cells)
    rows = zip(*(labels[name] for name in order), structure.base.values.tolist(), strict=True)
    return {tuple(row[:-1]): row[-1] for row in rows}


def world(counts: np.ndarray) -> dict[tuple[str, str, str], int]:
    return {
        (a, b, s): int(counts[i, j, k])
        for i, a in enumerate(AREAS)
        for j, b in enumerate(AGES)
        for k, s in enumerate(SEXES)
    }


def long_rows(counts: np.ndarray) -> list[list[object]]:
    return [["area", "age", "sex", "count"], *([*key, value] for key, value in world(counts).items())]


def names(structure: Structure) -> set[str]:
    return set(structure.base.domain.names)


def test_1_long(write, counts):
    found = structure_of(write("t.csv", long_rows(counts)))
    assert cells(found, "area", "age", "sex") == world(counts)


def test_2_sexes_as_columns(write, counts):
    rows = [["area", "age", "Male", "Female"]]
    rows += [[a, b, *counts[i, j].tolist()] for i, a in enumerate(AREAS) for j, b in enumerate(AGES)]
    found = structure_of(write("t.csv", rows))
    assert cells(found, "area", "age", "sex") == world(counts)
    assert found.links == ()


def test_3_sexes_with_a_total_as_columns(write, counts):
    rows = [["area", "age", "Female", "Male", "Total persons"]]
    rows += [
        [a, b, counts[i, j, 1], counts[i, j, 0], counts[i, j].sum()]
        for i, a in enumerate(AREAS)
        for j, b in enumerate(AGES)
    ]
    found = structure_of(write("t.csv", rows))
    assert cells(found, "area", "age", "sex") == world(counts)
    (link,) = found.links
    assert link.summed == ("sex",)
    assert np.array_equal(link.parts, link.margin.dense())


def test_4_years_as_columns(write, counts):
    rows = [["area", "2018", "2019", "2020"], *([a, *counts[i, :, 0].tolist()] for i, a in enumerate(AREAS))]
    found = structure_of(write("t.csv", rows))
    assert names(found) == {"area", "year"}
    assert cells(found, "area", "year")["Beeford", "2019"] == counts[1, 1, 0]


def test_5_ages_as_columns_with_what_is_counted_in_front(write, counts):
    rows = [
        ["area", "Persons 0-14", "Persons 15-64", "Persons 65+"],
        *([a, *counts[i, :, 1].tolist()] for i, a in enumerate(AREAS)),
    ]
    found = structure_of(write("t.csv", rows))
    assert names(found) == {"area", "age"}
    assert cells(found, "area", "age")["Ayton", "65+"] == counts[0, 2, 1]


def test_6_a_diagnosis_as_columns_is_told_by_its_total(write, counts):
    rows = [["area", "Asthma", "Diabetes", "Stroke", "Total"]]
    rows += [[a, *counts[i, :, 0].tolist(), counts[i, :, 0].sum()] for i, a in enumerate(AREAS)]
    found = structure_of(write("t.csv", rows))
    assert names(found) == {"area", "category"}
    assert found.base.size == 18
    assert found.links[0].summed == ("category",)


def test_7_without_a_total_nobody_can_tell_and_both_ways_out_work(write, counts):
    rows = [
        ["area", "Asthma", "Diabetes", "Stroke"],
        *([a, *counts[i, :, 0].tolist()] for i, a in enumerate(AREAS)),
    ]
    file = write("t.csv", rows)
    with pytest.raises(DataError) as caught:
        structure_of(file)
    message = str(caught.value)
    assert "can be 3 measures or the values of one dimension" in message
    assert "'measures: [Asthma, ...]' or 'wide: name of the dimension'" in message
    wide = structure_of(file, wide="diagnosis")
    assert names(wide) == {"area", "diagnosis"}
    apart = structure_of(file, measures=["Asthma", "Stroke"])
    assert [one.measure for one in apart.every] == ["Asthma", "Stroke"]
    assert structure_of(file, count="Stroke").base.values.sum() == counts[:, 2, 0].sum()


def test_8_several_measures_side_by_side(write, counts):
    rows = [["area", "age", "births", "deaths"]]
    rows += [[a, b, *counts[i, j].tolist()] for i, a in enumerate(AREAS) for j, b in enumerate(AGES)]
    found = structure_of(write("t.csv", rows))
    assert [one.measure for one in found.every] == ["births", "deaths"]
    assert found.sisters == found.beside
    deaths = found.every[1]
    assert cells(deaths, "area", "age")["Eastow", "15-64"] == counts[4, 1, 1]


def test_9_a_total_that_does_not_add_up_is_a_measure(write, counts):
    rows = [["state", "Flu deaths", "Covid deaths", "Total deaths"]]
    rows += [[a, counts[i, 0, 0], counts[i, 1, 0], 40 * counts[i].sum()] for i, a in enumerate(AREAS)]
    found = structure_of(write("t.csv", rows))
    assert [one.measure for one in found.every] == ["Flu deaths", "Covid deaths", "Total deaths"]


def test_10_number_and_percent(write, counts):
    rows = [["area", "age", "Number", "Percent"]]
    rows += [
        [a, b, counts[i, j, 0], f"{100 * counts[i, j, 0] / counts.sum():.2f}"]
        for i, a in enumerate(AREAS)
        for j, b in enumerate(AGES)
    ]
    table = read_table(write("t.csv", rows))
    assert table.names == ("area", "age")
    assert [(one.name, one.reason) for one in table.extra] == [
        ("Percent", "proportions or the like, by its name")
    ]


def test_11_counts_and_rates_in_one_column(write, counts):
    rows = [["area", "age", "indicator", "value"]]
    for i, a in enumerate(AREAS):
        for j, b in enumerate(AGES):
            rows.append([a, b, "Admissions", counts[i, j, 0]])
            rows.append([a, b, "Admissions per 1,000", f"{counts[i, j, 0] / 7:.3f}"])
    table = read_table(write("t.csv", rows))
    assert table.rows == 18
    assert table.measure == "Admissions"
    assert "Admissions per 1,000" in table.set_aside[0].reason
    assert table.set_aside[0].rows == 18


def test_12_decimals_told_apart_by_a_column_that_says_nothing(write, counts):
    rows = [["area", "age", "kind", "value"]]
    for i, a in enumerate(AREAS):
        for j, b in enumerate(AGES):
            rows.append([a, b, "A", counts[i, j, 0]])
            rows.append([a, b, "B", f"{counts[i, j, 0] / 7 + 0.03:.3f}"])
    table = read_table(write("t.csv", rows))
    assert table.rows == 18
    assert "kind is 'B'" in table.set_aside[0].reason


def test_13_codes_and_names_are_one_dimension(write, counts):
    rows = [["TZcode", "TZname", "age", "count"]]
    rows += [[f"Z{i:03d}", a, b, counts[i, j, 0]] for i, a in enumerate(AREAS) for j, b in enumerate(AGES)]
    table = read_table(write("t.csv", rows))
    assert table.names == ("TZname", "age")
    zone = table.dimensions[0]
    assert dict(zip(zone.labels, zone.keys, strict=True))["Beeford"] == "z001"


@pytest.mark.parametrize("by", ["TZcode", "TZname"])
def test_14_a_margin_may_have_the_codes_or_the_names(write, counts, by):
    rows = [["TZcode", "TZname", "age", "count"]]
    rows += [[f"Z{i:03d}", a, b, counts[i, j, 0]] for i, a in enumerate(AREAS) for j, b in enumerate(AGES)]
    total = [
        [by, "count"],
        *([f"Z{i:03d}" if by == "TZcode" else a, counts[i, :, 0].sum()] for i, a in enumerate(AREAS)),
    ]
    found = structure_of(write("base.csv", rows), write("total.csv", total))
    (link,) = found.links
    assert np.array_equal(link.parts, link.margin.dense())


def test_15_a_lookup_links_areas_and_districts(write, counts):
    base = [
        ["msoa", "age", "count"],
        *([a, b, counts[i, j, 0]] for i, a in enumerate(AREAS) for j, b in enumerate(AGES)),
    ]
    district = {a: "North" if i < 4 else "South" for i, a in enumerate(AREAS)}
    lookup = [["area", "region"], *([a, d] for a, d in district.items())]
    margin = [["region", "age", "count"]]
    margin += [
        [d, b, counts[[district[a] == d for a in AREAS], j, 0].sum()]
        for d in ("North", "South")
        for j, b in enumerate(AGES)
    ]
    found = structure_of(write("base.csv", base), write("margin.csv", margin), write("areas.csv", lookup))
    (link,) = found.links
    assert link.coarser == ("region",)
    assert np.array_equal(link.parts, link.margin.dense())
    assert link.members.tolist() == [4, 4, 4, 2, 2, 2]


def test_16_tables_that_overlap_share_what_both_sum_to(write, counts):
    one = [
        ["time", "mode", "count"],
        *([f"{7 + j:02d}:00", m, counts[k, j, 0]] for j in range(3) for k, m in enumerate("ABC")),
    ]
    other = [["origin", "destination", "mode", "count"]]
    other += [
        [o, d, m, counts[i, k, 1] + 3 * n]
        for i, o in enumerate(AREAS)
        for n, d in enumerate(AREAS)
        for k, m in enumerate("ABC")
    ]
    found = structure_of(write("time.csv", one), write("od.csv", other))
    assert len(found.every) == 2
    (shared,) = found.shared
    assert shared.dimensions == ("mode",)
    assert {shared.left.name, shared.right.name} == {"time", "od"}
    for onto, table in ((shared.onto_left, shared.left), (shared.onto_right, shared.right)):
        terms = onto.terms(np.arange(3))
        assert terms.tolist() == [table.size // 3] * 3


def test_17_tables_that_overlap_through_a_lookup(write, counts):
    district = {a: "North" if i < 4 else "South" for i, a in enumerate(AREAS)}
    one = [
        ["municipality", "day", "count"],
        *([a, f"2020-03-{j + 1:02d}", counts[i, j, 0]] for i, a in enumerate(AREAS) for j in range(3)),
    ]
    other = [
        ["province", "age", "count"],
        *([p, b, 900 + 7 * j] for p in ("North", "South") for j, b in enumerate(AGES)),
    ]
    lookup = [["municipality", "province"], *map(list, district.items())]
    found = structure_of(write("days.csv", one), write("ages.csv", other), write("list.csv", lookup))
    (shared,) = found.shared
    assert shared.dimensions == ("province",)
    left = shared.onto_left if shared.left.name == "days" else shared.onto_right
    assert left.terms(np.arange(2)).tolist() == [12, 6]
    assert "list" in shared.how


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "cp1252"])
def test_18_encodings(write, encoding):
    rows = [["Gemeinde", "Anzahl Fälle count"], ["Köln", 40], ["Düren", 50], ["Jülich", 61]]
    table = read_table(write("t.csv", rows, delimiter=";", encoding=encoding))
    assert set(table.dimensions[0].labels) == {"Köln", "Düren", "Jülich"}


@pytest.mark.parametrize(
    ("texts", "delimiter", "expected"),
    [
        (("1,234", "56", "12,345,678"), ";", [1234, 56, 12345678]),
        (("1 234", "56", "12 345"), ",", [1234, 56, 12345]),
        (("1.234", "56", "12.345.678"), ";", [1234, 56, 12345678]),
        (("1'234", "56", "999"), ",", [1234, 56, 999]),
        (("1,5", "56", "2,25"), ";", [1.5, 56, 2.25]),
        (("1\u202f234", "56", "7"), ",", [1234, 56, 7]),
    ],
)
def test_19_thousands_and_decimals(write, texts, delimiter, expected):
    rows = [["area", "count"], *([f"a{k}", text] for k, text in enumerate(texts))]
    assert read_table(write("t.csv", rows, delimiter=delimiter)).counts.tolist() == expected


def test_20_a_thousand_columns(write):
    values = np.random.default_rng(3).integers(5, 90, (4, 1_000))
    rows = [
        ["area", *(f"Zone: Z{k:04d}" for k in range(1_000))],
        *([f"a{i}", *row.tolist()] for i, row in enumerate(values)),
    ]
    table = read_table(write("t.csv", rows))
    assert [(d.name, d.size) for d in table.dimensions] == [("area", 4), ("Zone", 1_000)]
    assert table.counts.sum() == values.sum()


def test_21_a_workbook_with_two_header_rows_and_notes(workbook, counts):
    rows: list[list[object]] = [
        ["Table 1"],
        [],
        ["Persons by area, sex and age"],
        ["Source: the office, 2021"],
        [],
    ]
    rows.append(["Area", "Male", "", "", "Female", "", ""])
    rows.append(["", *AGES, *AGES])
    rows += [[a, *counts[i, :, 0].tolist(), *counts[i, :, 1].tolist()] for i, a in enumerate(AREAS)]
    rows += [[], ["Note: all counts are true."], ["Source: the office"]]
    found = structure_of(
        workbook("t.xlsx", {"Table 1": rows}, merged={"Table 1": ["B6:D6", "E6:G6", "A6:A7"]})
    )
    assert cells(found, "Area", "age", "sex") == world(counts)


def test_22_the_same_as_text_without_merged_cells(write, counts):
    rows: list[list[object]] = [["Area", "Male", "", "", "Female", "", ""], ["", *AGES, *AGES]]
    rows += [[a, *counts[i, :, 0].tolist(), *counts[i, :, 1].tolist()] for i, a in enumerate(AREAS)]
    found = structure_of(write("t.csv", rows))
    assert cells(found, "Area", "age", "sex") == world(counts)


def test_23_three_header_rows_with_number_and_percent(workbook, counts):
    rows: list[list[object]] = [["Area", "2019", "", "", "", "2020", "", "", ""]]
    rows += [["", *("Male", "", "Female", "") * 2], ["", *("Number", "%") * 4]]
    for i, a in enumerate(AREAS):
        rows.append(
            [
                a,
                *(
                    cell
                    for j in range(2)
                    for k in range(2)
                    for cell in (int(counts[i, j, k]), round(counts[i, j, k] / 9, 2))
                ),
            ]
        )
    found = structure_of(workbook("t.xlsx", {"T": rows}))
    assert names(found) == {"Area", "year", "sex"}
    assert cells(found, "Area", "year", "sex")["Deeham", "2020", "Female"] == counts[3, 1, 1]
    assert len(summarise(found)[0].extra) == 4


def test_24_headings_between_rows(workbook, counts):
    rows: list[list[object]] = [["Age group and area", "Sex", "", "Total people"], ["", "Male", "Female", ""]]
    for i, a in enumerate(AREAS):
        rows.append([a])
        rows += [[b, *counts[i, j].tolist(), int(counts[i, j].sum())] for j, b in enumerate(AGES)]
        rows.append([f"Total people, {a}", *counts[i].sum(axis=0).tolist(), int(counts[i].sum())])
    found = structure_of(workbook("t.xlsx", {"T": rows}))
    assert cells(found, "area", "Age group", "Sex") == world(counts)
    assert {link.summed for link in found.links} == {("Sex",), ("Age group",), ("Age group", "Sex")}
    for link in found.links:
        assert np.array_equal(link.parts, link.margin.dense())


def test_25_totals_in_rows_and_columns_and_a_place_called_all_saints(write, counts):
    rows = [["area", "age", "sex", "count"]]
    for a in (*AREAS, "England"):
        for b in (*AGES, "All ages"):
            for s in (*SEXES, "Persons"):
                i = slice(None) if a == "England" else [AREAS.index(a)]
                j = slice(None) if b == "All ages" else [AGES.index(b)]
                k = slice(None) if s == "Persons" else [SEXES.index(s)]
                rows.append([a, b, s, counts[i][:, j][:, :, k].sum()])
    found = structure_of(write("t.csv", rows))
    assert cells(found, "area", "age", "sex") == world(counts)
    assert len(found.links) == 7
    assert all(np.array_equal(link.parts, link.margin.dense()) for link in found.links)
    assert not [note for note in found.sources[0].notes if "All Saints" in note]


def test_26_subtotals_above_and_below_their_parts(write, counts):
    by_area = counts.sum(axis=(1, 2))
    rows = [
        ["area", "count"],
        *([a, by_area[i]] for i, a in enumerate(AREAS[:4])),
        ["Total North", by_area[:4].sum()],
    ]
    rows += [[a, by_area[4 + i]] for i, a in enumerate(AREAS[4:])]
    rows += [["Total South", by_area[4:].sum()], ["Total", by_area.sum()]]
    found = structure_of(write("t.csv", rows))
    assert found.base.size == 6
    levels = {link.margin.name: link for link in found.links}
    assert levels["t (subtotals of area)"].members.tolist() in ([4, 2], [2, 4])
    assert levels["t (total over area)"].members.tolist() == [6]
    assert all(np.array_equal(link.parts, link.margin.dense()) for link in found.links)


def test_27_age_bands_over_single_years(write):
    single = np.random.default_rng(2).integers(30, 200, (3, 10))
    rows = [["area", "age", "count"]]
    for i in range(3):
        rows += [[f"a{i}", f"Aged {k} years" if k else "Aged under 1 year", single[i, k]] for k in range(10)]
        rows += [
            [f"a{i}", "Aged 4 years and under", single[i, :5].sum()],
            [f"a{i}", "Aged 5 to 9 years", single[i, 5:].sum()],
        ]
    found = structure_of(write("t.csv", rows))
    assert found.base.size == 30
    (link,) = found.links
    assert np.array_equal(link.parts, link.margin.dense())
    assert set(link.members.tolist()) == {5}


def test_28_dates_with_the_day_first_by_another_column(write):
    rows = [["start", "end", "area", "count"]]
    rows += [["01/06/2024", "31/08/2024", f"a{k}", 40 + k] for k in range(8)]
    found = structure_of(write("t.csv", rows))
    assert found.base.labels(found.base.cells)["start"][0] == "01/06/2024"
    assert next(d for d in found.base.dimensions if d.name == "start").keys == ("2024-06-01",)


def test_29_remarks_are_no_dimension_and_explain_a_marker(write):
    counts = np.random.default_rng(4).integers(0, 60, (30, 4))
    note = "One or more cells have counts between 1-9 and were suppressed to protect persons."
    rows = [["area", "age", "deaths", "Footnote"]]
    for i in range(30):
        for j in range(4):
            hidden = 0 < counts[i, j] < 10
            rows.append([f"a{i}", f"g{j}", "" if hidden else counts[i, j], note if hidden else ""])
    base = structure_of(write("t.csv", rows)).base
    assert base.domain.names == ("area", "age")
    (marker,) = base.markers
    assert (marker.low, marker.high) == (1, 9)
    assert "a note says" in marker.evidence


@pytest.mark.parametrize(
    ("legend", "expected"),
    [
        ("* = fewer than 5", (1, 4)),
        ("'*' denotes a count between 1 and 7", (1, 7)),
        ("*: not available", (0, None)),
        ("* means nil", (0, 0)),
    ],
)
def test_30_notes_below_explain_a_sign(write, legend, expected):
    rows = "area,age,count\n" + "".join(f"a{k},g{k % 3},{k}\n" for k in range(0, 60, 3)) + "b,g0,*\nb,g1,*\n"
    base = structure_of(write("t.csv", f"{rows}{legend}\n")).base
    assert (base.markers[0].low, base.markers[0].high) == expected


def test_31_breakdowns_below_each_other(write, counts):
    rows = [["START", "BREAKDOWN", "LEVEL_CODE", "LEVEL_NAME", "MEASURE_ID", "VALUE"]]
    for m, start in enumerate(("01/06/2024", "01/08/2024", "01/08/2024")):
        rows.append([start, "England", "England", "England", f"M{m}", counts[:, m, 0].sum()])
        rows += [[start, "Board", f"Q{i:02d}", a, f"M{m}", counts[i, m, 0]] for i, a in enumerate(AREAS)]
    found = structure_of(write("t.csv", rows))
    assert names(found) == {"Board", "MEASURE_ID"}
    (link,) = found.links
    assert link.summed == ("Board",)
    assert np.array_equal(link.parts, link.margin.dense())


def test_32_banner_tables_have_a_table_for_each_breakdown(workbook, counts):
    rows: list[list[object]] = [["Area", "Sex", "", "Age", "", ""], ["", *SEXES, *AGES]]
    rows += [
        [a, *counts[i].sum(axis=0).tolist(), *counts[i].sum(axis=1).tolist()] for i, a in enumerate(AREAS)
    ]
    found = structure_of(workbook("t.xlsx", {"T": rows}, merged={"T": ["B1:C1", "D1:F1"]}))
    assert [names(one) for one in found.every] == [{"Area", "Age"}, {"Area", "Sex"}]
    (shared,) = found.shared
    assert shared.dimensions == ("Area",)


def test_32_the_total_beside_breakdowns_is_one_of_each(workbook, counts):
    rows: list[list[object]] = [["Area", "All persons", "Sex", "", "Age", "", ""], ["", "", *SEXES, *AGES]]
    rows += [
        [a, int(counts[i].sum()), *counts[i].sum(axis=0).tolist(), *counts[i].sum(axis=1).tolist()]
        for i, a in enumerate(AREAS)
    ]
    found = structure_of(workbook("t.xlsx", {"T": rows}, merged={"T": ["C1:D1", "E1:G1"]}))
    assert [names(one) for one in found.every] == [{"Area", "Age"}, {"Area", "Sex"}]
    for one, summed in zip(found.every, ("Age", "Sex"), strict=True):
        (link,) = one.links
        assert link.summed == (summed,)
        assert np.array_equal(link.parts, link.margin.dense())


def test_33_several_sheets_and_a_sheet_without_a_table(workbook, counts):
    one = [
        ["area", "age", "count"],
        *([a, b, int(counts[i, j].sum())] for i, a in enumerate(AREAS) for j, b in enumerate(AGES)),
    ]
    total = [["area", "count"], *([a, int(counts[i].sum())] for i, a in enumerate(AREAS))]
    about = [["About"], ["This workbook was made by the office."]]
    found = structure_of(workbook("t.xlsx", {"About": about, "Ages": one, "Totals": total}))
    assert [table.name for table in found.tables] == ["Ages", "Totals"]
    assert np.array_equal(found.links[0].parts, found.links[0].margin.dense())
    assert len(found.left_out) == 1
    assert "'About'" in found.left_out[0]


def test_34_two_tables_on_one_sheet(workbook, counts):
    first = [["Table A"], ["area", "count"], *([a, int(counts[i].sum())] for i, a in enumerate(AREAS))]
    second = [[], ["Table B"], ["age", "count"], *([b, int(counts[:, j].sum())] for j, b in enumerate(AGES))]
    read = read_sources(workbook("t.xlsx", {"S": [*first, *second]}))
    assert [table.names for table in read.tables] == [("area",), ("age",)]


def test_35_rows_that_repeat_are_refused_and_say_so(write):
    rows = [["area", "age", "count"], *([f"a{k % 4}", f"g{k % 2}", 30 + k] for k in range(24))]
    with pytest.raises(DataError, match="a dimension was missed"):
        read_table(write("t.csv", rows))


def test_36_what_was_decided_is_stored(write, counts):
    rows = [["area", "age", "Male", "Female", "Total"]]
    rows += [
        [a, b, *counts[i, j].tolist(), counts[i, j].sum()]
        for i, a in enumerate(AREAS)
        for j, b in enumerate(AGES)
    ]
    found = structure_of(write("t.csv", rows))
    notes = summarise(found)[0].to_json()["notes"]
    assert "the columns 'Male' to 'Total' are values of sex" in notes
    assert "'Total' of sex is the total of its other values" in notes


def test_37_too_many_columns_are_refused(write):
    with limits.override(file_columns=3), pytest.raises(DataError, match="has 4 columns, at most 3"):
        read_table(write("t.csv", [["a", "b", "c", "count"], ["x", "y", "z", 40]]))


_PREFECTURES = [
    ["都道府県", "年齢", "count"],
    ["北海道", "0-4歳", 40],
    ["青森県", "5-9歳", 50],
    ["東京都", "5-9歳", 61],
]


@pytest.mark.parametrize("encoding", ["shift_jis", "cp932"])
def test_japanese_text_is_not_read_as_western(write, encoding):
    table = read_table(write("t.csv", _PREFECTURES, encoding=encoding))
    assert set(table.dimensions[0].labels) == {"北海道", "青森県", "東京都"}


@pytest.mark.parametrize(
    ("encoding", "place"), [("cp1251", "Санкт-Петербург"), ("koi8_r", "Новосибирск"), ("gb18030", "北京市")]
)
def test_a_script_that_may_be_in_several_encodings_is_asked_for(write, encoding, place):
    rows = [["место" if encoding != "gb18030" else "地区", "count"], [place, 40], [place * 2, 50]]
    with pytest.raises(DataError, match="give its encoding in the spec"):
        read_table(write("t.csv", rows, encoding=encoding))
