"""Tables as offices around the world publish them: Eurostat, Destatis, Statistics Canada, the American Community Survey and others.

Each layout shows the same world, six areas by three ages by two sexes, or a part of it. What must come out: which dimensions
there are, which cells are published and hidden, which totals are margins, and that these add up where all their parts are published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from noisegate.errors import DataError
from noisegate.reading import Structure, find_structure, parse_overrides, read_sources, summarise

AREAS = ("Ayton", "Beeford", "Ceeville", "Deeham", "Eastow", "Fording")
AGES = ("0-14", "15-64", "65+")
SEXES = ("Male", "Female")
REGIONS = ("North", "South")
ALL = slice(None)


def _world() -> np.ndarray:
    counts = np.random.default_rng(5).integers(6, 60, (6, 3, 2))
    counts[0, 0, 0], counts[1, 2, 1], counts[4, 1, 1], counts[3, 1, 0], counts[2, 0, 1] = 3, 2, 4, 0, 5
    return counts


COUNTS = _world()
LARGE = 37 * COUNTS + 1_000


def total(counts: np.ndarray, i: int, j: int, k: int) -> int:
    """The sum over all of a dimension where its place is one beyond the last."""
    places = [range(n) if place == n else [place] for place, n in zip((i, j, k), counts.shape, strict=True)]
    return int(counts[np.ix_(*places)].sum())


def hid(count: int, mark: str = "*", least: int = 5) -> str:
    return mark if 0 < count < least else str(count)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What must be found: dimensions with more than one value, cells, hidden cells, and the dimensions that margins sum over."""

    names: tuple[str, ...]
    counts: np.ndarray
    hidden: int = 0
    summed: tuple[tuple[str, ...], ...] = ()
    measure: str = ""


def structure_of(*files: Path, **said: object) -> Structure:
    overrides = parse_overrides({"tables": {files[0].name: said}}) if said else None
    read = read_sources(list(files), overrides=overrides)
    return find_structure(read.tables, overrides=overrides, lookups=read.lookups, left_out=read.left_out)


def check(structure: Structure, wanted: Found) -> None:
    base = structure.base
    sizes = {one.name: one.values for one in summarise(structure)[0].details if one.values > 1}
    assert set(sizes) == set(wanted.names)
    assert base.size == wanted.counts.size
    assert base.hidden.size == wanted.hidden
    shown = np.sort(wanted.counts.ravel())
    if wanted.hidden:
        shown = shown[(shown == 0) | (shown >= 5)]
    assert np.sort(base.values).tolist() == shown.tolist()
    assert {frozenset(link.summed) for link in structure.links} == {frozenset(one) for one in wanted.summed}
    for link in structure.links:
        full = link.complete
        assert np.array_equal(link.parts[full], link.margin.dense()[full])
    if wanted.measure:
        assert structure.measure == wanted.measure


Make = Callable[..., Path]


def eurostat(write: Make) -> Path:
    """SDMX-CSV: codes for everything, T and TOTAL, a blank with a flag for what is confidential."""
    rows = [
        [
            "DATAFLOW",
            "LAST UPDATE",
            "freq",
            "unit",
            "sex",
            "age",
            "geo",
            "TIME_PERIOD",
            "OBS_VALUE",
            "OBS_FLAG",
        ]
    ]
    for i, geo in enumerate(("AT", "BE", "CZ", "DE", "EE", "FI")):
        for j, age in enumerate(("Y_LT15", "Y15-64", "Y_GE65", "TOTAL")):
            for k, sex in enumerate("MFT"):
                for year in (2020, 2021):
                    count = total(COUNTS, i, j, k)
                    gone = 0 < count < 5
                    rows.append(["ESTAT:D(1.0)", "12/03/24 23:00:00", "A", "NR", sex, age, geo, year])
                    rows[-1] += ["" if gone else count, "c" if gone else ""]
    return write("t.csv", rows)


def eurostat_bulk(write: Make) -> Path:
    """Keys joined by commas before the first tab, flags behind the numbers, `: c` for what is confidential."""
    lines = ["freq,unit,sex,age,geo\\TIME_PERIOD\t2020 \t2021 "]
    for i, geo in enumerate(("AT", "BE", "CZ", "DE", "EE", "FI")):
        for j, age in enumerate(("Y_LT15", "Y15-64", "Y_GE65")):
            for k, sex in enumerate("MF"):
                text = hid(int(COUNTS[i, j, k]), ": c")
                lines.append(f"A,NR,{sex},{age},{geo}\t{text} \t{text if text == ': c' else f'{text} p'}")
    return write("t.tsv", "\n".join(lines) + "\n")


def destatis(write: Make) -> Path:
    """Metadata above, three header lines, Latin-1, notes with line breaks below."""
    text = "GENESIS-Tabelle: 12411-0010\nBevölkerung: Kreise, Stichtag, Geschlecht\n\nFortschreibung;;;;\nDeutschland;;;;\n"
    text += ";;Bevölkerung;Bevölkerung;Bevölkerung\n;;Anzahl;Anzahl;Anzahl\nKreise;Stichtag;männlich;weiblich;Insgesamt\n"
    for i, area in enumerate(("Köln", "Düren", "Jülich", "Münster", "Höxter", "Unna")):
        for j in range(3):
            men, women = COUNTS[i, j].tolist()
            text += f"{area};31.12.{2019 + j};{hid(men, '.')};{hid(women, '.')};{men + women}\n"
    text += '__________\n"Bevölkerung:\nErgebnisse auf Grundlage des Zensus."\n. = Zahlenwert geheim zu halten\nStand: 21.06.2022\n'
    return write("t.csv", text, encoding="latin-1")


def statcan(write: Make) -> Path:
    """Codes of units and series beside what is counted; a blank with a status."""
    rows = [["REF_DATE", "GEO", "DGUID", "Age group", "Sex", "UOM", "UOM_ID", "SCALAR_FACTOR", "SCALAR_ID"]]
    rows[0] += ["VECTOR", "COORDINATE", "VALUE", "STATUS", "SYMBOL", "TERMINATED", "DECIMALS"]
    for i, area in enumerate((*AREAS, "Canada")):
        for j, age in enumerate(("0 to 14 years", "15 to 64 years", "65 years and over", "Total, all ages")):
            for k, sex in enumerate(("Males", "Females", "Both sexes")):
                count, series = total(COUNTS, i, j, k), 12 * i + 3 * j + k
                gone = 0 < count < 5
                rows.append(["2021", area, f"2021A00{10 + i}", age, sex, "Number", 223, "units ", 0])
                rows[-1] += [f"v{1000 + series}", f"{i}.{j}.{k}", "" if gone else count, "x" if gone else ""]
                rows[-1] += ["", "", 0]
    return write("t.csv", rows, encoding="utf-8-sig")


def crossed(write: Make) -> Path:
    """Two rows of a header with what each is in the corner, and below that what the rows are."""
    text = '"2021 Census"\n"SA2 by SEXP Sex and AGE10P"\n\n"SEXP Sex","Male",,,,"Female",,,,"Total",,,,\n'
    text += '"AGE10P"' + ',"0-14","15-64","65+","Total"' * 3 + ',\n"SA2"' + "," * 13 + "\n"
    for i, area in enumerate((*AREAS, "Total")):
        cells = ",".join(str(total(COUNTS, i, j, k)) for k in range(3) for j in range(4))
        text += f'"{area}",{cells},\n'
    text += '\n"Data Source: Census"\n\n"INFO","Cells in this table have been randomly adjusted."\n'
    return write("t.csv", text)


def paired(write: Make) -> Path:
    """Columns that say a value of each of two dimensions, and one of which there is nothing else."""
    rows = [["geography", "geography code"]]
    pairs = [(j, k) for k in range(3) for j in range(4)]
    ages, sexes = (*AGES, "All categories: Age"), (*SEXES, "All persons")
    rows[0] += [f"Sex: {sexes[k]}; Age: {ages[j]}; measures: Value" for j, k in pairs]
    for i, area in enumerate(AREAS):
        rows.append([area, f"E0600000{i}", *(total(COUNTS, i, j, k) for j, k in pairs)])
    return write("t.csv", rows)


def numbered(write: Make) -> Path:
    """The number of a row and the number of a series beside what they stand for."""
    rows = [["row_id", "series", "year", "area", "age", "count"]]
    for y in range(2):
        for i, area in enumerate(AREAS):
            for j, age in enumerate(AGES):
                rows.append([f"r{len(rows):04d}", f"S{i}.{j}", 2020 + y, area, age, COUNTS[i, j, y]])
    for y in range(2):
        for i, area in enumerate(AREAS):
            rows.append([f"r{len(rows):04d}", f"S{i}.9", 2020 + y, area, "Total", COUNTS[i, :, y].sum()])
    return write("t.csv", rows)


def acs(write: Make) -> Path:
    """A row of codes and a row of labels; estimates and margins of error side by side; totals as shorter labels."""
    cells = [("", 3, 2)]
    for k, sex in enumerate(SEXES):
        cells.append((f"!!{sex}:", 3, k))
        cells += [
            (f"!!{sex}:!!{age}", j, k)
            for j, age in enumerate(("Under 15 years", "15 to 64 years", "65 years and over"))
        ]
    rows = [["GEO_ID", "NAME"], ["Geography", "Geographic Area Name"]]
    for n, (label, *_) in enumerate(cells):
        rows[0] += [f"B01001_{n:03d}E", f"B01001_{n:03d}M"]
        rows[1] += [f"Estimate!!Total:{label}", f"Margin of Error!!Total:{label}"]
    for i, area in enumerate(AREAS):
        row = [f"0500000US010{i:02d}", f"{area} County; Alabama"]
        for n, (_, j, k) in enumerate(cells):
            row += [total(LARGE, i, j, k), 20 + n if n else "*****"]
        rows.append(row)
    return write("t.csv", rows)


def ine(write: Make) -> Path:
    """Spanish words, dots between thousands, codes and names in one value."""
    lines = ["Municipios;Sexo;Edad;Periodo;Total"]
    for i, area in enumerate((*(f"0100{k} {one}" for k, one in enumerate(AREAS)), "Total")):
        for k, sex in enumerate(("Hombres", "Mujeres", "Total")):
            for j, age in enumerate(
                ("De 0 a 14 años", "De 15 a 64 años", "65 años y más", "Todas las edades")
            ):
                lines += [
                    f"{area};{sex};{age};{2020 + y};{total(LARGE, i, j, k):,}".replace(",", ".")
                    for y in range(2)
                ]
    return write("t.csv", "\n".join(lines) + "\n", encoding="latin-1")


def nhs(write: Make) -> Path:
    """Breakdowns below each other with NONE in what they leave out, codes and descriptions, an asterisk."""
    rows = [
        [
            "PERIOD",
            "BREAKDOWN",
            "PRIMARY_LEVEL",
            "PRIMARY_LEVEL_DESCRIPTION",
            "SECONDARY_LEVEL",
            "MEASURE_ID",
            "VALUE",
        ]
    ]
    for m in range(2):
        rows.append(
            ["Aug-24", "England", "England", "England", "NONE", f"MH{m}", total(COUNTS[:, :, [m]], 6, 3, 0)]
        )
        for i, area in enumerate(AREAS):
            rows.append(["Aug-24", "Provider", f"R{i:02d}", f"{area} TRUST", "NONE", f"MH{m}"])
            rows[-1].append(total(COUNTS, i, 3, m))
            for j, age in enumerate(AGES):
                rows.append(["Aug-24", "Provider; Age Group", f"R{i:02d}", f"{area} TRUST", age, f"MH{m}"])
                rows[-1].append(hid(int(COUNTS[i, j, m])))
    return write("t.csv", rows)


def pxweb(write: Make) -> Path:
    """A title, a blank line, years as columns, all texts in quotation marks."""
    text = '"Population by region, age, sex and year"\n\n"region","age","sex","2019","2020"\n'
    for i, area in enumerate(AREAS):
        for j, age in enumerate(AGES):
            for k, sex in enumerate(("men", "women")):
                text += f'"{area}","{age}","{sex}",{hid(int(COUNTS[i, j, k]), "..")},{hid(int(COUNTS[i, j, k]), "..")}\n'
    return write("t.csv", text)


def pxweb_wide(write: Make) -> Path:
    """Sexes by ages as columns."""
    head = ";".join(f'"{sex} {age}"' for sex in ("Men", "Women") for age in AGES)
    lines = [f'"Region";{head}']
    lines += [f'"{i:02d} {a}";' + ";".join(map(str, LARGE[i].T.ravel())) for i, a in enumerate(AREAS)]
    return write("t.csv", "\n".join(lines) + "\n")


def stats_nz(write: Make) -> Path:
    """C and ..C for what is confidential, an empty column of flags."""
    rows = [["Year", "Region", "Industry", "Employees", "Flag"]]
    for i, area in enumerate(AREAS):
        for j, industry in enumerate(("A Agriculture", "B Mining", "C Manufacturing")):
            marked = [hid(int(c), "C" if i % 2 else "..C") for c in COUNTS[i, j]]
            rows += [[2020 + k, area, industry, text, ""] for k, text in enumerate(marked)]
    return write("t.csv", rows)


def tablebuilder(write: Make) -> Path:
    """Seven lines above, names of dimensions in two rows, areas written once, a comma behind each row, notes below."""
    text = '"Australian Bureau of Statistics"\n\n"2021 Census"\n"STATE (UR) and AGE10P by SEXP"\n\n"Filters:"\n"Default Summation","Persons, Place"\n\n'
    text += '"","SEXP Sex","Male","Female","Total",\n"STATE (UR)","AGE10P Age","","","",\n'
    for i, area in enumerate((*AREAS, "Total")):
        for j, age in enumerate((*AGES, "Total")):
            row = ",".join(str(total(COUNTS, i, j, k)) for k in range(3))
            text += f'"{area if j == 0 else ""}","{age}",{row},\n'
    text += '\n"Data Source: Census of Population, TableBuilder"\n"INFO","Cells in this table have been randomly adjusted."\n'
    return write("t.csv", text)


def wonder(write: Make) -> Path:
    """Totals as rows with blanks, `Suppressed` in place of counts and of rates, thirty lines of notes below."""
    rows = [
        ["Notes", "State", "State Code", "Gender", "Gender Code", "Age", "Age Code", "Deaths", "Crude Rate"]
    ]
    ages = ("1-4 years", "5-14 years", "15-24 years")
    for i, area in enumerate(AREAS):
        for k, sex in enumerate(SEXES):
            for j, age in enumerate(ages):
                count = int(COUNTS[i, j, k])
                rate = "Suppressed" if 0 < count < 5 else "Unreliable" if count < 20 else round(count / 7, 1)
                rows.append(
                    ["", area, f"{i:02d}", sex, sex[0], age, age.split()[0], hid(count, "Suppressed"), rate]
                )
            rows.append(["Total", area, f"{i:02d}", sex, sex[0], "", "", total(COUNTS, i, 3, k), 1.5])
        rows.append(["Total", area, f"{i:02d}", "", "", "", "", total(COUNTS, i, 3, 2), 1.5])
    rows.append(["Total", "", "", "", "", "", "", total(COUNTS, 6, 3, 2), 1.5])
    text = "".join(
        "\t".join(f'"{c}"' if isinstance(c, str) and c else str(c) for c in row) + "\n" for row in rows
    )
    return write(
        "t.txt", text + '"---"\n"Dataset: deaths"\n"---"\n"Suppressed: Counts of 1-4 are suppressed."\n'
    )


def opal(write: Make) -> Path:
    """Two measures behind bars, hours as bare numbers."""
    lines = ["trip_origin_date|mode_name|tap_hour|Tap_Ons|Tap_Offs"]
    for i in range(6):
        for j, mode in enumerate(("Bus", "Train", "Ferry")):
            on, off = (hid(int(COUNTS[i, j, k]), "<5") for k in range(2))
            lines.append(f"2020-01-01|{mode}|{6 + i}|{on}|{off}")
    return write("t.txt", "\n".join(lines) + "\n")


HOURS = {
    "clock": [f"{h:02d}:00" for h in range(24)],
    "hour": [f"Hour_{h}" for h in range(24)],
    "range": [f"{h:02d}-{h + 1:02d}" for h in range(24)],
    "letter": [f"H{h:02d}" for h in range(24)],
    "half": [f"{h % 12 or 12} {'AM' if h < 12 else 'PM'}" for h in range(24)],
}
DAY = np.random.default_rng(2).poisson(40, (2, 3, 24))


def months(write: Make) -> Path:
    """German months as columns with their sum, semicolons, Latin-1."""
    names = "Januar;Februar;März;April;Mai;Juni;Juli;August;September;Oktober;November;Dezember;Insgesamt"
    counts = np.random.default_rng(3).integers(30, 90, (4, 12))
    lines = [f"Gemeinde;{names}"]
    lines += [f"{AREAS[i]};{';'.join(map(str, row))};{sum(row)}" for i, row in enumerate(counts.tolist())]
    return write("t.csv", "\n".join(lines) + "\n", encoding="latin-1")


def long_rows(mark: str = "*") -> list[list[object]]:
    rows: list[list[object]] = [["Area", "Age", "Sex", "Persons"]]
    for i, area in enumerate(AREAS):
        for j, age in enumerate(AGES):
            rows += [[area, age, sex, hid(int(COUNTS[i, j, k]), mark)] for k, sex in enumerate(SEXES)]
    return rows


def wide_rows(mark: str = "*") -> list[list[object]]:
    rows: list[list[object]] = [["District", *AGES, "Total"]]
    rows += [
        [a, *(hid(int(c), mark) for c in COUNTS[i, :, 0]), total(COUNTS, i, 3, 0)]
        for i, a in enumerate(AREAS)
    ]
    return [*rows, ["Total", *(total(COUNTS, 6, j, 0) for j in range(4))]]


def insee(write: Make) -> Path:
    """French: narrow blanks between thousands, decimal commas in a column of shares, `s` for what is secret."""
    lines = ["Département;Sexe;Tranche d'âge;Effectif;Part (%)"]
    for i, area in enumerate((*AREAS, "Ensemble")):
        for k, sex in enumerate(("Hommes", "Femmes", "Ensemble")):
            for j, age in enumerate(("Moins de 15 ans", "15 à 64 ans", "65 ans et plus", "Ensemble")):
                count = f"{total(LARGE, i, j, k):,}".replace(",", "\u202f")
                lines.append(
                    f"{area};{sex};{age};{count};{total(LARGE, i, j, k) / 9e3:.1f}".replace(".", ",")
                )
    return write("t.csv", "\n".join(lines) + "\n")


def statline(write: Make) -> Path:
    """Dutch: a running number, codes padded with blanks whose totals no word tells, two topics."""
    lines = ['"ID";"Geslacht";"Leeftijd";"RegioS";"Perioden";"Bevolking_1";"Sterfte_2"']
    for i in range(7):
        for j in range(4):
            for k in range(3):
                area = f"GM{i:04d}" if i < 6 else "NL01  "
                keys = f'"{("3000   ", "4000   ", "T001038")[k]}";"{(70100, 70200, 70300, 10000)[j]}";"{area}";"2020JJ00"'
                deaths = hid(total(COUNTS, i, j, k), "       .")
                lines.append(f'"{len(lines) - 1}";{keys};{total(LARGE, i, j, k):>8};{deaths:>8}')
    return write("t.csv", "\n".join(lines) + "\n")


def nomis(write: Make) -> Path:
    """Six lines above, codes called mnemonic, the total first, a sentence below."""
    text = '"KS101EW"\n"ONS Crown Copyright Reserved"\n\n"population","All usual residents"\n"units","Persons"\n\n'
    text += '"local authority: district","mnemonic","All usual residents","Males","Females"\n'
    for i, area in enumerate(AREAS):
        men, women = LARGE[i].sum(axis=0).tolist()
        text += f'"{area}","E0600000{i}",{men + women},{men},{women}\n'
    return write(
        "t.csv", text + '\n\n"Records have been swapped between different areas, to protect people."\n'
    )


def explore_education(write: Make) -> Path:
    """England's schools: nation, regions and authorities below each other with blanks in what they leave out, `c` and `z`."""
    rows = [
        [
            "time_period",
            "geographic_level",
            "country_name",
            "region_code",
            "region_name",
            "new_la_code",
            "la_name",
        ]
    ]
    rows[0] += ["sex", "phase", "headcount", "percentage"]
    for k, sex in enumerate((*SEXES, "Total")):
        for j, phase in enumerate(("Primary", "Secondary", "Special", "Total")):
            places = [("National", "", "", "", "", total(COUNTS, 6, j, k))]
            for r, region in enumerate(REGIONS):
                part = COUNTS[3 * r : 3 * r + 3]
                places.append(("Regional", f"E12{r}", region, "", "", total(part, 3, j, k)))
            for i, area in enumerate(AREAS):
                region = REGIONS[i // 3]
                places.append(
                    ("Local authority", f"E12{i // 3}", region, f"E06{i}", area, total(COUNTS, i, j, k))
                )
            for level, *place, count in places:
                rows.append([202122, level, "England", *place, sex, phase, hid(count, "c"), "z"])
    return write("t.csv", rows)


def sidra(write: Make) -> Path:
    """Brazil: names of the first columns in a shorter line, a year over all columns, X and a dash."""
    text = "Tabela 9514 - População residente\nMunicípio;Sexo;Ano x Grupo de idade\n;;2022;2022;2022;2022\n"
    text += ";;Total;0 a 14 anos;15 a 64 anos;65 anos ou mais\n"
    for i, area in enumerate(AREAS):
        for k, sex in enumerate(("Homens", "Mulheres", "Total")):
            counts = [total(COUNTS, i, j, k) for j in range(3)]
            text += f"{area};{sex};{sum(counts)};{';'.join(hid(c, 'X') for c in counts)}\n"
    return write("t.csv", text + "Fonte: IBGE - Censo\nNotas:\n1 - Dados do universo.\n")


def oecd(write: Make) -> Path:
    """Codes and labels of everything, years in a column called time, powers of ten."""
    rows = [
        [
            "LOCATION",
            "Country",
            "SEX",
            "Sex",
            "AGE",
            "Age",
            "TIME",
            "Time",
            "PowerCode Code",
            "PowerCode",
            "Value",
            "Flags",
        ]
    ]
    for i, (code, name) in enumerate(
        (("AUS", "Australia"), ("AUT", "Austria"), ("BEL", "Belgium"), ("CAN", "Canada"))
    ):
        for k, sex in enumerate((("MA", "Men"), ("WO", "Women"), ("TT", "Total"))):
            for j, age in enumerate((("Y0", "0-14"), ("Y1", "15-64"), ("Y2", "65 and over"), ("T", "Total"))):
                rows += [
                    [code, name, *sex, *age, y, y, 0, "Units", total(LARGE, i, j, k), ""]
                    for y in (2019, 2020)
                ]
    return write("t.csv", rows)


def cso(write: Make) -> Path:
    """Ireland: codes of dimensions called by codes, the same year twice."""
    rows = [
        [
            "STATISTIC",
            "STATISTIC Label",
            "TLIST(A1)",
            "CensusYear",
            "C02199V02655",
            "Sex",
            "C02076V03371",
            "Age",
            "UNIT",
            "VALUE",
        ]
    ]
    for y in (2016, 2022):
        for k, sex in enumerate((("1", "Male"), ("2", "Female"), ("-", "Both sexes"))):
            for j, age in enumerate(
                (
                    ("205", "0 - 14 years"),
                    ("300", "15 - 64 years"),
                    ("400", "65 years and over"),
                    ("-", "All ages"),
                )
            ):
                rows.append(["FY006AC01", "Population", y, y, *sex, *age, "Number", total(LARGE, 0, j, k)])
    return write("t.csv", rows)


def estat(write: Make) -> Path:
    """Japan: every name behind its code."""
    rows = [
        ["tab_code", "表章項目", "cat01_code", "男女別", "area_code", "地域", "unit", "value", "annotation"]
    ]
    for i, area in enumerate(("北海道", "青森県", "岩手県", "宮城県", "秋田県", "山形県")):
        for k, sex in enumerate(("男", "女", "総数")):
            count = hid(total(COUNTS, i, 0, k), "X")
            rows.append(["001", "人口", f"{k}00", sex, f"0{i}000", area, "人", count, ""])
    return write("t.csv", rows)


def written_once(write: Make) -> Path:
    """Regions and districts are written once for all rows below them."""
    rows: list[list[object]] = [["Region", "District", "Age", "Count"]]
    for i, area in enumerate(AREAS):
        for j, age in enumerate(AGES):
            region = REGIONS[i // 3] if i % 3 == 0 and j == 0 else ""
            rows.append([region, area if j == 0 else "", age, hid(int(COUNTS[i, j, 0]))])
    return write("t.csv", rows)


def flags(write: Make) -> Path:
    """Letters of quality behind numbers."""
    rows = [["area", "2019", "2020", "2021"]]
    rows += [
        [a, f"{c[0]:,}r", f"{c[1]:,}", f"{c[2]:,} p"]
        for a, c in zip(AREAS, LARGE[:, :, 0].tolist(), strict=True)
    ]
    return write("t.csv", rows)


def lakhs(write: Make) -> Path:
    """India: 12,34,567."""
    rows: list[list[object]] = [["State", "Sex", "Persons"]]
    for i, area in enumerate(AREAS):
        for k, sex in enumerate(SEXES):
            count = f"{LARGE[i, 0, k] * 100:d}"
            head, tail = count[:-3], count[-3:]
            pairs = [head[max(n - 2, 0) : n] for n in range(len(head), 0, -2)][::-1]
            rows.append([area, sex, ",".join([*pairs, tail])])
    return write("t.csv", rows)


def thousands(write: Make) -> Path:
    """Counts in thousands with one decimal, as a column says."""
    rows: list[list[object]] = [["REF_DATE", "GEO", "Sex", "SCALAR_FACTOR", "VALUE", "STATUS"]]
    rows += [
        ["2021-01", a, s, "thousands", LARGE[i, 0, k] / 10, ""]
        for i, a in enumerate(AREAS)
        for k, s in enumerate(SEXES)
    ]
    return write("t.csv", rows)


def statbank(write: Make) -> Path:
    """Denmark: quarters called K."""
    head = ";".join(f"2019K{q}" for q in range(1, 4))
    lines = [f"OMRÅDE;KØN;{head}"]
    lines += [
        f"{a};{s};{';'.join(map(str, LARGE[i, :, k]))}"
        for i, a in enumerate(AREAS)
        for k, s in enumerate(("Mænd", "Kvinder"))
    ]
    return write("t.csv", "\n".join(lines) + "\n", encoding="latin-1")


def matrix(write: Make) -> Path:
    """Origins in rows, destinations in columns, called alike."""
    counts = np.resize(COUNTS, (6, 6))
    rows = [["Origin \\ Destination", *AREAS], *([a, *counts[i].tolist()] for i, a in enumerate(AREAS))]
    return write("t.csv", rows)


def two_way(one: str, other: str) -> tuple[tuple[str, ...], ...]:
    return (one,), (other,), (one, other)


def three_way(*names: str) -> tuple[tuple[str, ...], ...]:
    a, b, c = names
    return (a,), (b,), (c,), (a, b), (a, c), (b, c), (a, b, c)


TWICE = np.concatenate([COUNTS, COUNTS])
LAYOUTS: dict[str, tuple[Callable[[Make], Path], Found]] = {
    "eurostat": (
        eurostat,
        Found(
            names=("sex", "age", "geo", "TIME_PERIOD"), counts=TWICE, hidden=6, summed=two_way("sex", "age")
        ),
    ),
    "eurostat bulk": (
        eurostat_bulk,
        Found(names=("sex", "age", "geo", "TIME_PERIOD"), counts=TWICE, hidden=6),
    ),
    "destatis": (
        destatis,
        Found(
            names=("Kreise", "Stichtag", "sex"),
            counts=COUNTS,
            hidden=3,
            summed=(("sex",),),
            measure="Bevölkerung",
        ),
    ),
    "statcan": (
        statcan,
        Found(
            names=("GEO", "Age group", "Sex"),
            counts=COUNTS,
            hidden=3,
            summed=three_way("GEO", "Age group", "Sex"),
        ),
    ),
    "crossed": (
        crossed,
        Found(
            names=("SA2", "AGE10P", "SEXP Sex"),
            counts=COUNTS,
            summed=three_way("SA2", "SEXP Sex", "AGE10P"),
        ),
    ),
    "paired": (
        paired,
        Found(names=("geography", "Sex", "Age"), counts=COUNTS, summed=two_way("Sex", "Age")),
    ),
    "numbered": (
        numbered,
        Found(names=("year", "area", "age"), counts=np.moveaxis(COUNTS, 2, 0), summed=(("age",),)),
    ),
    "acs": (
        acs,
        Found(names=("Geographic Area Name", "sex", "age"), counts=LARGE, summed=(("age",), ("sex", "age"))),
    ),
    "ine": (
        ine,
        Found(
            names=("Municipios", "Sexo", "Edad", "Periodo"),
            counts=np.concatenate([LARGE, LARGE]),
            summed=three_way("Municipios", "Sexo", "Edad"),
        ),
    ),
    "nhs": (
        nhs,
        Found(
            names=("PRIMARY_LEVEL_DESCRIPTION", "SECONDARY_LEVEL", "MEASURE_ID"),
            counts=COUNTS,
            hidden=3,
            summed=(("SECONDARY_LEVEL",), ("PRIMARY_LEVEL_DESCRIPTION", "SECONDARY_LEVEL")),
        ),
    ),
    "pxweb": (pxweb, Found(names=("region", "age", "sex", "year"), counts=TWICE, hidden=6)),
    "pxweb wide": (pxweb_wide, Found(names=("Region", "sex", "age"), counts=LARGE)),
    "stats nz": (stats_nz, Found(names=("Year", "Region", "Industry"), counts=COUNTS, hidden=3)),
    "tablebuilder": (
        tablebuilder,
        Found(
            names=("STATE (UR)", "AGE10P Age", "SEXP Sex"),
            counts=COUNTS,
            summed=three_way("STATE (UR)", "AGE10P Age", "SEXP Sex"),
        ),
    ),
    "wonder": (
        wonder,
        Found(
            names=("State", "Gender", "Age"),
            counts=COUNTS,
            hidden=3,
            summed=(("Age",), ("Gender", "Age"), ("State", "Gender", "Age")),
        ),
    ),
    "opal": (
        opal,
        Found(names=("mode_name", "tap_hour"), counts=COUNTS[:, :, 0], hidden=1, measure="Tap Ons"),
    ),
    "insee": (
        insee,
        Found(
            names=("Département", "Sexe", "Tranche d'âge"),
            counts=LARGE,
            summed=three_way("Département", "Sexe", "Tranche d'âge"),
        ),
    ),
    "statline": (
        statline,
        Found(
            names=("Geslacht", "Leeftijd", "RegioS"),
            counts=LARGE,
            summed=three_way("Geslacht", "Leeftijd", "RegioS"),
            measure="Bevolking 1",
        ),
    ),
    "nomis": (
        nomis,
        Found(names=("local authority: district", "sex"), counts=LARGE.sum(axis=1), summed=(("sex",),)),
    ),
    "explore education": (
        explore_education,
        Found(
            names=("region_name", "la_name", "sex", "phase"),
            counts=COUNTS,
            hidden=3,
            summed=(
                *two_way("sex", "phase"),
                ("la_name",),
                ("la_name", "sex"),
                ("la_name", "phase"),
                ("la_name", "sex", "phase"),
                ("region_name", "la_name"),
                ("region_name", "la_name", "sex"),
                ("region_name", "la_name", "phase"),
                ("region_name", "la_name", "sex", "phase"),
            ),
        ),
    ),
    "sidra": (
        sidra,
        Found(
            names=("Município", "Sexo", "Ano x Grupo de idade"),
            counts=COUNTS,
            hidden=3,
            summed=two_way("Sexo", "Ano x Grupo de idade"),
        ),
    ),
    "oecd": (
        oecd,
        Found(
            names=("Country", "Sex", "Age", "TIME"),
            counts=np.concatenate([LARGE[:4], LARGE[:4]]),
            summed=two_way("Sex", "Age"),
            measure="",
        ),
    ),
    "cso": (
        cso,
        Found(
            names=("TLIST(A1)", "Sex", "Age"),
            counts=np.concatenate([LARGE[0], LARGE[0]]),
            summed=two_way("Sex", "Age"),
            measure="Population",
        ),
    ),
    "e-stat": (estat, Found(names=("男女別", "地域"), counts=COUNTS[:, 0], hidden=1, summed=(("男女別",),))),
    "written once": (
        written_once,
        Found(names=("Region", "District", "Age"), counts=COUNTS[:, :, 0], hidden=1),
    ),
    "flags": (flags, Found(names=("area", "year"), counts=LARGE[:, :, 0])),
    "lakhs": (lakhs, Found(names=("State", "Sex"), counts=100 * LARGE[:, 0])),
    "thousands": (thousands, Found(names=("GEO", "Sex"), counts=100 * LARGE[:, 0])),
    "statbank": (statbank, Found(names=("OMRÅDE", "KØN", "quarter"), counts=LARGE)),
    "matrix": (matrix, Found(names=("Origin", "Destination"), counts=np.resize(COUNTS, (6, 6)))),
    "months": (
        months,
        Found(
            names=("Gemeinde", "month"),
            counts=np.random.default_rng(3).integers(30, 90, (4, 12)),
            summed=(("month",),),
        ),
    ),
    "trailing totals": (
        lambda write: write("t.csv", wide_rows()),
        Found(names=("District", "age"), counts=COUNTS[:, :, 0], hidden=1, summed=two_way("District", "age")),
    ),
    "blank is hidden, in the first row": (
        lambda write: write("t.csv", long_rows("")),
        Found(names=("Area", "Age", "Sex"), counts=COUNTS, hidden=3),
    ),
    "unicode text": (
        lambda write: write("t.txt", long_rows(), delimiter="\t", encoding="utf-16"),
        Found(names=("Area", "Age", "Sex"), counts=COUNTS, hidden=3),
    ),
    "unicode text without a mark": (
        lambda write: write("t.txt", long_rows(), delimiter="\t", encoding="utf-16-le"),
        Found(names=("Area", "Age", "Sex"), counts=COUNTS, hidden=3),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_offices(write, layout):
    make, wanted = LAYOUTS[layout]
    check(structure_of(make(write)), wanted)


@pytest.mark.parametrize("way", HOURS)
def test_hours_as_columns(write, way):
    rows = [["Date", "Counter", *HOURS[way]]]
    rows += [
        [f"2023-05-0{d + 1}", c, *DAY[d, k].tolist()]
        for d in range(2)
        for k, c in enumerate(("Bridge", "Canal", "Depot"))
    ]
    found = structure_of(write("t.csv", rows))
    clock = next(one for one in found.base.dimensions if one.name in {"time", "hour"})
    assert (clock.keys[0], clock.keys[-1], clock.step) == ("00:00", "23:00", 60)
    assert found.base.values.reshape(2, 3, 24).tolist() == DAY.tolist()


def test_numbers_with_their_shares(write):
    rows = [["Characteristic", "Level", "Cases n (%)", "Controls n (%)"]]
    rows += [["Sex", "Male", "22 (36.7%)", "48 (40.0%)"], ["Sex", "Female", "38 (63.3%)", "72 (60.0%)"]]
    rows += [["Age", "0-14", "9 (15.0%)", "20 (16.7%)"], ["Age", "15-64", "30 (50%)", "97 (80.8%)"]]
    rows += [["Age", "65+", "21 (35.0%)", "<5 (<4%)"]]
    found = structure_of(write("t.csv", rows))
    cases = [(one.measure, one.base.domain.names, one.base.values.tolist()) for one in found.every]
    assert ("Cases n (%)", ("Age",), [9, 30, 21]) in cases
    controls = next(one.base for one in found.every if one.base.hidden.size)
    assert (controls.markers[0].text, controls.markers[0].high) == ("<5", 4)


def sheet(add: int) -> list[list[object]]:
    counts = COUNTS[:, :, 0] + add
    rows: list[list[object]] = [["Persons by area and age"], [], ["Area", *AGES, "Total"]]
    return rows + [[a, *row, sum(row)] for a, row in zip(AREAS, counts.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("names", "dimension"),
    [(("2019", "2020", "2021"), "year"), (("Males", "Females"), "sex"), (("Jan", "Feb"), "month")],
)
def test_sheets_are_values_of_a_dimension(workbook, names, dimension):
    sheets = {name: sheet(40 * k) for k, name in enumerate(names)}
    found = structure_of(workbook("t.xlsx", {"Contents": [["Contents"], ["Sheet", "Title"]], **sheets}))
    assert len(found.every) == 1
    assert set(found.base.domain.names) == {"Area", "age", dimension}
    assert found.base.size == 18 * len(names)
    (link,) = found.links
    assert np.array_equal(link.parts, link.margin.dense())
    assert any(f"are values of {dimension}" in note for note in found.sources[0].notes)


def test_sheets_that_count_different_things_stand_beside_each_other(workbook):
    found = structure_of(workbook("t.xlsx", {"Table 1a": sheet(0), "Table 1b": sheet(90)}))
    assert [one.measure for one in found.every] == ["Table 1a", "Table 1b"]
    assert any("quite different counts" in note for note in found.sources[0].notes)


def test_files_of_years_are_values_of_a_dimension(write):
    files = [
        write(
            f"deaths-{year}.csv",
            [["area", "count"], *([a, 50 + 9 * i + 31 * k] for i, a in enumerate(AREAS))],
        )
        for k, year in enumerate((2019, 2020))
    ]
    found = structure_of(*files)
    assert set(found.base.domain.names) == {"area", "year"}
    assert found.base.size == 12


def test_merged_labels_in_rows_and_columns(workbook):
    rows: list[list[object]] = [["Table 2.1 Stays by region, age and sex"], ["(number)"], []]
    rows += [["Region", "Age group", "Sex of patient¹", "", "Total²"], ["", "", "Male", "Female", ""]]
    for i, area in enumerate(AREAS):
        for j, age in enumerate(AGES):
            men, women = COUNTS[i, j].tolist()
            rows.append([area if j == 0 else "", age, hid(men), hid(women), men + women])
    rows += [[], ["1 As recorded."], ["2 Includes not stated."], ["* fewer than 5"], ["Source: registry"]]
    merged = ["A1:E1", "C4:D4", "A4:A5", "B4:B5", "E4:E5", *(f"A{6 + 3 * i}:A{8 + 3 * i}" for i in range(6))]
    found = structure_of(workbook("t.xlsx", {"T": rows}, merged={"T": merged}))
    wanted = Found(
        names=("Region", "Age group", "Sex of patient"),
        counts=COUNTS,
        hidden=3,
        summed=(("Sex of patient",),),
    )
    check(found, wanted)
    (marker,) = found.base.markers
    assert (marker.low, marker.high) == (1, 4)
    assert '"* fewer than 5"' in marker.evidence


def test_days_of_the_week_under_two_measures(workbook):
    rows: list[list[object]] = [["", "", "Entries", "", "", "Exits", "", ""]]
    rows.append(["Station", "Borough", *("Weekday", "Saturday", "Sunday") * 2])
    rows += [[a, REGIONS[i // 3], *COUNTS[i].T.ravel().tolist()] for i, a in enumerate(AREAS)]
    found = structure_of(workbook("t.xlsx", {"S": rows}, merged={"S": ["C1:E1", "F1:H1"]}))
    assert [one.measure for one in found.every] == ["Entries", "Exits"]
    check(found, Found(names=("Station", "Borough", "weekday"), counts=COUNTS[:, :, 0]))


@pytest.mark.parametrize(
    "names", [("North", "South"), ("Asthma", "Sepsis"), ("Marriages in church", "Decimals")]
)
def test_where_two_layouts_are_possible_both_are_named(write, names):
    rows = [["month", *names], *([f"2020-{m:02d}", 40 + m, 61 - m] for m in range(1, 13))]
    file = write("t.csv", rows)
    with pytest.raises(DataError, match="can be 2 measures or the values of one dimension"):
        structure_of(file)
    assert set(structure_of(file, wide="kind").base.domain.names) == {"month", "kind"}
    assert [one.measure for one in structure_of(file, measures=list(names)).every] == list(names)


def test_a_sum_in_few_rows_is_no_total(write):
    """Four rows may add up by chance; nobody calls the third value a total."""
    rows = [["area", "kind", "count"]]
    rows += [
        [a, k, c]
        for a, row in zip("ABCD", ((20, 30, 50), (11, 22, 33), (7, 9, 16), (40, 2, 42)), strict=True)
        for k, c in zip("xyz", row, strict=True)
    ]
    assert structure_of(write("t.csv", rows)).links == ()


def test_a_person_says_that_there_is_no_total(write):
    rows = [["area", "kind", "count"]]
    rows += [
        [f"a{k}", kind, count]
        for k in range(9)
        for kind, count in (("x", 20 + k), ("y", 31 + 3 * k), ("z", 51 + 4 * k))
    ]
    file = write("t.csv", rows)
    assert [link.summed for link in structure_of(file).links] == [("kind",)]
    assert structure_of(file, dimensions={"kind": {"total": "none"}}).links == ()


def test_columns_called_by_codes_are_values(write):
    """Numbers in equal steps name columns, also where some could be years."""
    codes = [str(code) for code in range(1890, 1910)]
    rows = [["area", *codes], *([a, *(7 * i + k for k in range(20))] for i, a in enumerate(AREAS))]
    found = structure_of(write("t.csv", rows))
    assert len(found.every) == 1
    assert {one.name: one.size for one in found.base.domain.dimensions} == {
        "area": 6,
        "category": 20,
    }


@pytest.mark.parametrize("mark", ["\t", "|", ";"])
def test_points_stand_between_thousands_where_decimals_have_commas(tmp_path, mark):
    lines = [["Gemeinde", "Anzahl", "Anteil"]]
    lines += [[a, f"{12 + i}.0{40 + i}", f"{3 * i},{i}"] for i, a in enumerate(AREAS)]
    path = tmp_path / "t.txt"
    path.write_text("\n".join(mark.join(line) for line in lines), encoding="utf-16")
    found = structure_of(path)
    assert found.base.values.tolist() == [12_040 + 1_001 * i for i in range(6)]


def test_a_marker_for_zeros_shows_them(write):
    """Where '-' is 0 another marker hides from 1 on."""
    rows = [["hospital", "diagnosis", "stays"]]
    rng = np.random.default_rng(4)
    for k in range(40):
        for code in ("I21", "C50", "J18"):
            count = int(rng.poisson(rng.gamma(1.2, 6)))
            rows.append([f"h{k}", code, "-" if count == 0 else "c" if count < 6 else str(count)])
    markers = {one.text: one for one in structure_of(write("t.csv", rows)).base.markers}
    assert (markers["-"].low, markers["-"].high) == (0, 0)
    assert (markers["c"].low, markers["c"].high) == (1, 5)
    assert "zeros are shown as '-'" in markers["c"].evidence


def test_a_note_behind_an_empty_column_is_no_value(workbook):
    rows: list[list[object]] = [["", "Births 2022"], [], ["", "Ward", "Births"]]
    rows += [["", a, 20 + 7 * i] for i, a in enumerate(AREAS)]
    rows += [[""], ["", "Note: figures are provisional."]]
    found = structure_of(workbook("t.xlsx", {"S": rows}))
    assert found.base.size == 6
    assert not found.base.hidden.size


def test_tables_side_by_side_in_a_text_file(write):
    """Two tables with an empty column between them are two, each with its own names; years in groups stay one."""
    men, women = COUNTS[:, 0].T
    lines = ["Town,Male,Female,Total,,Cause,Male,Female,Total"]
    for i, area in enumerate(AREAS):
        cause = f"C{'UVWXYZ'[i]},{women[i]},{men[i] + 1},{women[i] + men[i] + 1}" if i < 5 else ",,,"
        lines.append(f"{area},{men[i]},{women[i]},{men[i] + women[i]},,{cause}")
    found = read_sources([write("t.csv", "\n".join(lines) + "\n")]).tables
    assert [table.names for table in found] == [("Town", "sex"), ("Cause", "sex")]
    assert [table.rows for table in found] == [18, 15]
    grouped = ["Area,2018,2019,,2020,2021"]
    grouped += [f"{area},{men[i]},{women[i]},,{men[i]},{women[i]}" for i, area in enumerate(AREAS)]
    (one,) = read_sources([write("g.csv", "\n".join(grouped) + "\n")]).tables
    assert one.rows == 24
