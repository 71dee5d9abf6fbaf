"""More downloads as offices write them: subtotals that no word names, flags behind years and counts, and files that are no tables of rows."""

import json

import numpy as np
import pytest

from noisegate.errors import DataError
from noisegate.reading import find_structure, read_sources

WARDS = ["Abbey", "Manor", "Castle", "Harbour", "Mill", "Station"]
COUNTS = np.random.default_rng(7).integers(3, 90, (6, 3))


def _structure(path):
    read = read_sources([path])
    return find_structure(read.tables, lookups=read.lookups, left_out=read.left_out)


def _base(path):
    base = _structure(path).base
    return {one.name: one.labels for one in base.dimensions}, float(np.sum(base.values))


@pytest.mark.parametrize("total", ["All causes", None])
@pytest.mark.parametrize("above", [True, False])
def test_indented_subtotals_are_not_counted_twice(write, total, above):
    rows = [["Cause", "2019", "2020", "2021"]]
    for name, members in (("Heart", (0, 1, 2)), ("Lungs", (3, 4, 5))):
        parts = [[f"  {WARDS[k]} disease", *COUNTS[k].tolist()] for k in members]
        head = [name, *COUNTS[list(members)].sum(axis=0).tolist()]
        rows += [head, *parts] if above else [*parts, head]
    rows += [[total, *COUNTS.sum(axis=0).tolist()]] if total else []
    dimensions, summed = _base(write("t.csv", rows))
    assert summed == COUNTS.sum()
    assert len(dimensions["Cause"]) == 6


def test_subtotals_of_subtotals(write):
    rows = [["Cause", "Count", "Of these last year"]]
    counts = COUNTS[:, :2]
    rows += [["Body", *counts.sum(axis=0).tolist()]]
    for name, members in (("Heart", (0, 1, 2)), ("Lungs", (3, 4, 5))):
        rows += [[name, *counts[list(members)].sum(axis=0).tolist()]]
        rows += [[WARDS[k], *counts[k].tolist()] for k in members]
    rows += [
        ["Mind", 40, 30],
        ["Fear", 17, 13],
        ["Grief", 23, 17],
        ["Total", *(counts.sum(axis=0) + np.array([40, 30])).tolist()],
    ]
    found = _structure(write("t.csv", rows))
    assert found.base.size == 8


def test_values_that_happen_to_follow_a_sum_once_are_values(write):
    """One row: 12 = 5 + 7 may be chance."""
    rows = [["Ward", "Count"], ["A", 12], ["B", 5], ["C", 7], ["D", 9], ["E", 4], ["F", 5]]
    assert _base(write("t.csv", rows))[1] == 42


@pytest.mark.parametrize(("flag", "mark"), [("(p)", "(a)"), (" (p)", " r"), ("p", "r"), ("[e]", "(b)")])
def test_provisional_years_and_flagged_counts(write, flag, mark):
    rows = [["Region", "2018", "2019", f"2020{flag}"]]
    rows += [[ward, *(f"{1000 + 7 * n:,}" for n in COUNTS[k].tolist())] for k, ward in enumerate(WARDS)]
    rows[3][2] += mark
    dimensions, summed = _base(write("t.csv", rows))
    assert len(dimensions["year"]) == 3
    assert summed == (1000 + 7 * COUNTS).sum()


def test_line_breaks_in_column_names_are_blanks(write):
    text = '"Local\nauthority",Age,"Number of\npeople"\n'
    text += "".join(
        f"{ward},{age},{COUNTS[k, j]}\n" for k, ward in enumerate(WARDS) for j, age in enumerate("abc")
    )
    assert "Local authority" in _base(write("t.csv", text))[0]


JSON_STAT = {"version": "2.0", "class": "dataset", "id": ["area"], "size": [2], "value": [1, 2]}
XML = '<?xml version="1.0"?><message:GenericData xmlns:message="m"><Obs value="3"/></message:GenericData>'


@pytest.mark.parametrize(
    ("name", "text", "called"),
    [
        ("t.json", json.dumps(JSON_STAT), "JSON-stat"),
        ("t.json", json.dumps([{"area": "Abbey", "count": 3}]), "JSON file"),
        ("t.px", 'CHARSET="ANSI";\nAXIS-VERSION="2010";\nSTUB="area";\nDATA=\n1 2\n3 4;\n', "PC-Axis"),
        ("t.xls", "<html><table><tr><td>Abbey</td><td>3</td></tr></table></html>", "web page"),
        ("t.xml", XML, "XML"),
        ("t.rtf", "{\\rtf1 Abbey, 3\nManor, 4\n}", "text document"),
    ],
)
def test_what_is_no_table_of_rows_is_refused_by_name_with_a_way_out(write, name, text, called):
    with pytest.raises(DataError) as error:
        read_sources([write(name, text)])
    said = str(error.value)
    assert called in said
    assert "CSV" in said
    assert said.count(". ") == 0


@pytest.mark.parametrize("word", ["Total général", "Gesamt", "Ensemble", "合計", "Totale generale"])
def test_totals_in_other_languages(write, word):
    rows = [["Zone", "Groupe", "Count"]]
    for k, ward in enumerate(WARDS):
        rows += [[ward, f"g{j}", int(COUNTS[k, j])] for j in range(3)] + [[ward, word, int(COUNTS[k].sum())]]
    rows += [[word, f"g{j}", int(COUNTS[:, j].sum())] for j in range(3)] + [[word, word, int(COUNTS.sum())]]
    found = _structure(write("t.csv", rows))
    assert found.base.size == 18
    assert len(found.tables) == 4


def test_sdmx_csv(write):
    rows = [["DATAFLOW", "FREQ", "REF_AREA", "SEX", "TIME_PERIOD", "OBS_VALUE", "OBS_STATUS", "DECIMALS"]]
    for k, area in enumerate(("DE", "FR", "NL", "BE", "AT", "PL")):
        for sex, count in (("M", COUNTS[k, 0]), ("F", COUNTS[k, 1]), ("T", COUNTS[k, :2].sum())):
            rows.append(["ESTAT:DEMO(1.0)", "A", area, sex, "2021", int(count), "A", "0"])
    found = _structure(write("t.csv", rows))
    assert float(np.sum(found.base.values)) == COUNTS[:, :2].sum()
    assert len(found.tables) == 2


def test_a_percent_column_beside_counts_is_set_aside(write):
    rows = [["Gemeinde", "Geschlecht", "Anzahl", "Anteil in %"]]
    for k, ward in enumerate(WARDS):
        whole = COUNTS[k, :2].sum()
        for sex, n in zip(("männlich", "weiblich"), COUNTS[k, :2].tolist(), strict=True):
            rows.append([ward, sex, n, f"{100 * n / whole:.1f}".replace(".", ",")])
        rows.append([ward, "Gesamt", int(whole), "100,0"])
    path = write("t.csv", rows, delimiter=";", encoding="latin-1")
    found = _structure(path)
    assert float(np.sum(found.base.values)) == COUNTS[:, :2].sum()
    assert len(found.every) == 1


TOWNS = [f"Town {k}" for k in range(8)]


def _by_towns(total, *, noise=0):
    """Ages down, towns across, a column of all towns first."""
    rng = np.random.default_rng(2)
    counts = rng.integers(20, 300, (5, 8))
    rows = [["Age", total, *TOWNS]]
    for age, row in zip(["0-14", "15-29", "30-44", "45-64", "65+"], counts.tolist(), strict=True):
        rows.append([age, sum(row) + int(rng.integers(-noise, noise + 1)), *row])
    return rows


@pytest.mark.parametrize(("total", "noise"), [("All towns", 0), ("All towns", 2), ("Wessex", 0)])
def test_columns_of_which_one_is_the_sum_of_all_others_are_values(write, total, noise):
    base = _structure(write("t.csv", _by_towns(total, noise=noise))).base
    assert base.size == 5 * 8
    assert all(total not in label for one in base.dimensions for label in one.labels)


def test_columns_that_no_sum_ties_together_are_asked_about(write):
    """Noise in a column of another name is no proof; and All Saints is a place."""
    for total in ("Wessex", "All Saints"):
        rows = _by_towns(total)
        rows[1][1] += 900
        rows[2][1] -= 700
        rows[3][1] += 800
        with pytest.raises(DataError, match="measures or the values of one dimension"):
            _base(write("t.csv", rows))


def test_tables_side_by_side_in_one_sheet_are_two(workbook):
    rng = np.random.default_rng(5)
    left, right = rng.integers(20, 300, (8, 2)).tolist(), rng.integers(20, 300, (8, 3)).tolist()
    rows = [
        ["By sex", None, None, None, "By fuel", None, None, None],
        ["Town", "Male", "Female", None, "Town", "gas", "oil", "Total"],
    ]
    for town, one, other in zip(TOWNS, left, right, strict=True):
        rows.append([town, *one, None, town, *other[:2], sum(other[:2])])
    read = read_sources([workbook("t.xlsx", {"T": rows})])
    assert sorted(table.rows for table in read.tables) == [16, 24]
    assert [set(table.names) for table in read.tables] == [{"Town", "sex"}, {"Town", "category"}]


def test_years_in_groups_that_an_empty_column_divides_are_one_table(workbook):
    rows = [["Town", 2011, 2012, None, 2021, 2022]] + [
        [town, 50 + k, 60 + k, None, 70 + k, 80 + k] for k, town in enumerate(TOWNS)
    ]
    (table,) = read_sources([workbook("t.xlsx", {"T": rows})]).tables
    assert table.rows == 32


def test_a_note_on_another_sheet_says_what_a_sign_hides(workbook):
    rows = [["Provider", "2018/19", "2019/20", "2020/21", "All years"]]
    counts = np.random.default_rng(4).integers(0, 40, (12, 3))
    rows += [
        [f"Trust {i}", *("[c]" if 0 < v < 8 else int(v) for v in row), int(row.sum()) + 40]
        for i, row in enumerate(counts)
    ]
    notes = [["Symbol", "Meaning"], ["[c]", "between 1 and 7, suppressed"]]
    read = read_sources([workbook("n.xlsx", {"Notes": notes, "Table_4": rows})])
    found = find_structure(read.tables, lookups=read.lookups, left_out=read.left_out)
    (marker,) = found.base.markers
    assert (marker.low, marker.high) == (1, 7)
    assert "a note says" in marker.evidence


def test_not_available_is_no_small_count(write):
    """Large counts of which none is 1 by chance: the words are taken as they are."""
    counts = np.random.default_rng(2).integers(200, 900, (60, 4))
    counts[[3, 9, 20], 0] = [2, 2, 3]
    rows = [["station", "Jan 2023", "Feb 2023", "Mar 2023", "Apr 2023", "2023 total"]]
    rows += [[f"S{i}", *map(int, row), int(row.sum())] for i, row in enumerate(counts)]
    rows[6][4], rows[8][1] = "n/a", 0
    found = _structure(write("m.csv", rows))
    (marker,) = found.base.markers
    assert marker.high is None


def test_a_second_table_below_whose_columns_look_like_ranges(workbook):
    """`1-2` and `5+` are rooms there, and the rows beside them are the same wards."""
    first = np.random.default_rng(6).integers(20, 90, (8, 4))
    second = np.random.default_rng(7).integers(20, 90, (8, 3))
    rows = [["Table A. Tenure"], ["Ward", "Own", "Mortgage", "Social", "Private", "All"]]
    rows += [[f"Ward {i + 1}", *map(int, row), int(row.sum())] for i, row in enumerate(first)]
    rows += [[], ["Table B. Rooms"], ["Ward", "1-2", "3-4", "5+", "All"]]
    rows += [[f"Ward {i + 1}", *map(int, row), int(row.sum())] for i, row in enumerate(second)]
    read = read_sources([workbook("two.xlsx", {"S": rows})])
    assert [(table.rows, table.hidden.shape[1]) for table in read.tables] == [(40, 0), (32, 0)]


def test_a_total_of_all_beside_columns_that_repeat_is_not_lost(workbook):
    counts = np.random.default_rng(8).integers(10, 90, (9, 2, 3))
    ages = ["0-14 years", "15-64 years", "65 years and over"]
    rows = [["Area", "Total people", "Male", "", "", "Female", "", ""], ["", "", *ages, *ages]]
    rows += [[f"Area {i}", int(row.sum()), *map(int, row.ravel())] for i, row in enumerate(counts)]
    merged = {"S": ["A1:A2", "B1:B2", "C1:E1", "F1:H1"]}
    read = read_sources([workbook("nz.xlsx", {"S": rows}, merged=merged)])
    found = find_structure(read.tables, lookups=read.lookups, left_out=read.left_out)
    assert tuple(one.name for one in found.base.dimensions) == ("Area", "sex", "age")
    assert [
        tuple(one.name for one in margin.dimensions) for margin in [link.margin for link in found.links]
    ] == [("Area",)]


def test_a_row_of_units_under_a_header_with_a_corner(workbook):
    """Statistics Netherlands: `Sex`, `Age`, and "number" over every column beside the name of the regions."""
    counts = np.random.default_rng(9).integers(10, 90, (7, 2, 2))
    rows = [
        ["Onderwerp", "Mannen", "", "", "Vrouwen", "", ""],
        ["Leeftijd", *["Totaal", "15 tot 27 jaar", "27 tot 45 jaar"] * 2],
    ]
    rows.append(["Regio's", *["aantal"] * 6])
    rows += [
        [f"Gemeente {i}", *(int(v) for sex in row for v in (sex.sum(), *sex))] for i, row in enumerate(counts)
    ]
    read = read_sources([workbook("cbs.xlsx", {"StatLine": rows}, merged={"StatLine": ["B1:D1", "E1:G1"]})])
    found = find_structure(read.tables, lookups=read.lookups, left_out=read.left_out)
    assert tuple(one.name for one in found.base.dimensions) == ("Regio's", "Onderwerp", "Leeftijd")
    assert found.base.values.size == counts.size


@pytest.mark.parametrize("label", ["Alle land", "Tous les pays", "Todos los países"])
def test_all_of_them_in_other_languages_beside_the_eu(write, label):
    counts = np.random.default_rng(3).integers(3, 60, (9, 3))
    rows = [["region", "origin", "people"]]
    for i, row in enumerate(counts):
        rows += [[f"R{i}", name, int(v)] for name, v in zip(("Norden", "EU", "Rest"), row, strict=True)]
        rows.append([f"R{i}", label, int(row.sum())])
    found = _structure(write("w.csv", rows))
    assert found.base.values.size == counts.size
    assert len(found.links) == 1


def test_all_others_are_no_total(write):
    rows = [
        ["region", "origin", "people"],
        *(
            [f"R{i}", name, 20 + 3 * i + k]
            for i in range(6)
            for k, name in enumerate(("Norden", "Asien", "Alle andere"))
        ),
    ]
    assert not _structure(write("o.csv", rows)).links


def test_a_country_in_two_languages_is_the_total_of_its_parts(write):
    counts = np.random.default_rng(5).integers(0, 30, (9, 3))
    rows = [
        [
            "Awdurdod lleol / Local authority",
            "Cymraeg / Welsh",
            "Saesneg / English",
            "Arall / Other",
            "Cyfanswm / Total",
        ]
    ]
    rows += [
        [f"Ardal {i} / Area {i}", *("*" if 0 < v < 5 else int(v) for v in row), int(row.sum())]
        for i, row in enumerate(counts)
    ]
    rows.append(["Cymru / Wales", *map(int, counts.sum(axis=0)), int(counts.sum())])
    found = _structure(write("c.csv", rows))
    assert found.base.dimensions[0].size == 9
    assert len(found.links) == 3


def test_no_is_an_answer_and_a_total_may_stand_over_hidden_parts(write):
    counts = np.random.default_rng(5).integers(20, 60, (9, 3))
    rows = [
        ["Council", "Yes", "No", "Don't know", "Base"],
        *([f"C{i}", *map(int, row), int(row.sum())] for i, row in enumerate(counts)),
    ]
    assert _structure(write("yes.csv", rows)).base.values.size == 27
    some = [["Year", "Quarter", "Hospital A", "Hospital B", "Hospital C", "All hospitals"]]
    some += [
        [
            2019 + i // 4,
            f"Q{i % 4 + 1}",
            *("<10" if k == i % 3 else int(v) for k, v in enumerate(row)),
            int(row.sum()),
        ]
        for i, row in enumerate(np.where(np.arange(3) == np.arange(9)[:, None] % 3, 4, counts))
    ]
    found = _structure(write("q.csv", some))
    assert found.base.hidden.size == 9
    assert len(found.links) == 1
