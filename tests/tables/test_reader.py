"""Files as agencies publish them: what is found, what is set aside, and where."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.errors import DataError, SpecError
from noisegate.reading import parse_overrides, read_table
from noisegate.tables import Kind

PLAIN = (
    "mode,date,tap,time,loc,count\nbus,20160808,on,07:15,2000,41\nferry,20160808,off,07:30,Manly Wharf,88\n"
)


def rows_of(table):
    """The rows as dictionaries from dimension to written value."""
    columns = [
        [d.labels[code] for code in codes] for d, codes in zip(table.dimensions, table.codes, strict=True)
    ]
    return [
        dict(zip(table.names, values, strict=True)) | {"count": count}
        for *values, count in zip(*columns, table.counts.tolist(), strict=True)
    ]


def test_a_plain_table(write):
    table = read_table(write("time-loc.csv", PLAIN))
    assert table.name == "time-loc"
    assert [(d.name, d.kind, d.size) for d in table.dimensions] == [
        ("mode", Kind.TEXT, 2),
        ("date", Kind.DATE, 1),
        ("tap", Kind.TEXT, 2),
        ("time", Kind.TIME, 2),
        ("loc", Kind.TEXT, 2),
    ]
    assert rows_of(table)[1] == {
        "mode": "ferry",
        "date": "20160808",
        "tap": "off",
        "time": "07:30",
        "loc": "Manly Wharf",
        "count": 88,
    }
    assert table.counts.dtype == np.int64
    assert (table.set_aside, table.extra, table.notes) == ((), (), ())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(write, delimiter, ending):
    table = read_table(write("t.csv", PLAIN.replace(",", delimiter).replace("\n", ending)))
    assert rows_of(table) == rows_of(read_table(write("plain.csv", PLAIN)))


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("latin-1", "cp1252"), ("utf-16", "utf-16")],
)
def test_encodings(write, encoding, named):
    table = read_table(write("t.csv", "région,count\nÎle-de-France,40\nRhône,50\n", encoding=encoding))
    assert table.names == ("région",)
    assert set(table.dimensions[0].labels) == {"Île-de-France", "Rhône"}
    assert named in table.dialect


def test_an_accent_after_a_megabyte_of_ascii(write):
    lines = "".join(f"stop {k},40\n" for k in range(120_000))
    table = read_table(write("t.csv", ("loc,count\n" + lines + "Rhône,50\n").encode("latin-1")))
    assert "Rhône" in table.dimensions[0].labels
    assert table.rows == 120_001


@pytest.mark.parametrize("name", ["t.csv.gz", "t.gz"])
def test_gzip(write, name):
    table = read_table(write(name, PLAIN))
    assert table.name == "t"
    assert table.rows == 2
    assert "gzip" in table.dialect


def test_trailing_junk_is_set_aside_with_its_line(write):
    junk = '<?xml version="1.0" encoding="utf-8"?>\n<result>Downloaded</result>\n'
    table = read_table(write("t.csv", PLAIN + junk))
    (aside,) = table.set_aside
    assert (aside.rows, aside.first_line, aside.file) == (2, 4, "t.csv")
    assert aside.reason == "another number of fields than the header"
    assert aside.example.startswith("<?xml")
    assert table.rows == 2


def test_titles_before_the_header_and_sources_after_the_rows(write):
    text = "Table 3: passengers\n\n" + PLAIN + "\nSource: the agency\nTotal,,,,,129\n,,,,,\n"
    table = read_table(write("t.csv", text))
    assert table.rows == 2
    assert {(one.reason, one.rows, one.first_line) for one in table.set_aside} == {
        ("blank line", 2, 6),
        ("another number of fields than the header", 1, 7),
        ("a total of the whole table", 1, 8),
    }


def test_quoted_commas_and_line_breaks_keep_their_line_numbers(write):
    text = 'loc,count\n"Central, Grand Concourse",40\n"Two\nlines",50\nOdd,many\n1,2,3\nLast,60\n'
    table = read_table(write("t.csv", text))
    assert "Central, Grand Concourse" in table.dimensions[0].labels
    assert table.rows == 3
    assert {(one.reason, one.first_line) for one in table.set_aside} == {
        ("the count is not a number", 5),
        ("another number of fields than the header", 6),
    }


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (['"1,234"', "56"], [1234, 56]),
        (["1 234", "56"], [1234, 56]),
        (["1'234", "56"], [1234, 56]),
        (["1234.0", "5.6e1"], [1234, 56]),
        (["12.5", "1.25"], [12.5, 1.25]),
        (["-3", "56"], [-3, 56]),
    ],
)
def test_how_counts_are_written(write, counts, expected):
    table = read_table(write("t.csv", f"loc,count\na,{counts[0]}\nb,{counts[1]}\n"))
    assert table.counts.tolist() == expected


def test_points_between_thousands_and_decimal_commas(write):
    assert read_table(write("a.csv", "ort;count\na;1.234\nb;56\n")).counts.tolist() == [1234, 56]
    assert read_table(write("b.csv", "ort;count\na;1,5\nb;56\n")).counts.tolist() == [1.5, 56]
    assert read_table(write("c.csv", "ort;count\na;1.234.567\nb;56.123\n")).counts.tolist() == [
        1234567,
        56123,
    ]


def test_hidden_counts_are_cells_without_a_count(write):
    table = read_table(write("t.csv", "loc,sex,count\na,m,40\na,f,<5\nb,m,np\nb,f,61\nc,m,\n"))
    assert table.rows == 2
    labels = [d.labels for d in table.dimensions]
    found = {
        (labels[0][i], labels[1][j]): table.markers[k].text
        for (i, j), k in zip(table.hidden.T, table.marks, strict=True)
    }
    assert found == {("a", "f"): "<5", ("b", "m"): "np", ("c", "m"): ""}
    assert not table.set_aside


def test_repeated_rows_keep_the_first_count(write):
    body = "".join(f"stop {k},{40 + k}\n" for k in range(60))
    table = read_table(write("t.csv", f"loc,count\n{body}stop 0,40\nstop 1,99\n"))
    assert table.rows == 60
    assert table.counts.tolist()[:2] == [40, 41]
    assert [(one.reason, one.rows, one.first_line) for one in table.set_aside] == [
        ("the same row again", 1, 62),
        ("another count for the same cell", 1, 63),
    ]


def test_many_repeats_mean_that_a_dimension_was_missed(write):
    with pytest.raises(
        DataError, match=r"50% of its rows for cells .* \(first on line 3\); a dimension was missed"
    ):
        read_table(write("t.csv", "loc,count\n" + "a,1\na,2\nb,4\nb,5\n" * 1))


def test_unknown_values_stay_and_are_marked(write):
    text = "loc,hour,count\nUNKNOWN,7,50\n-1,8,61\nCentral,-1,70\nCentral,7,71\n"
    location, hour = read_table(write("t.csv", text)).dimensions
    assert location.labels == ("Central", "-1", "UNKNOWN")
    assert location.unknown.tolist() == [False, True, True]
    assert (hour.kind, hour.step) == (Kind.TIME, 60)
    assert hour.labels == ("7", "8", "-1")
    assert hour.unknown.tolist() == [False, False, True]


def test_extra_columns_are_named_with_the_reason(write):
    body = "".join(
        f"{k},stop {k % 80},{'on' if k < 80 else 'off'},{-33.8 + k / 1e4:.4f},,{k + 40}\n" for k in range(160)
    )
    table = read_table(write("t.csv", "row,loc,tap,latitude,note,count\n" + body))
    assert table.names == ("loc", "tap")
    assert {one.name: one.reason for one in table.extra} == {
        "note": "remarks",
        "latitude": "decimal numbers: a measurement, not a code",
        "row": "a running number",
    }


def test_values_that_differ_in_case_or_blanks_are_one(write):
    table = read_table(write("t.csv", "tap,loc,count\nOn,a,40\n on ,b,50\nOFF,a,60\n"))
    assert [d.size for d in table.dimensions] == [2, 2]
    assert table.dimensions[0].keys == ("off", "on")


def test_date_and_time_in_one_column_become_two(write):
    text = (
        "tapped_at,loc,count\n2016-08-08 07:15:00,a,40\n2016-08-08T07:30:00,a,50\n2016-08-09 07:15:00,a,60\n"
    )
    table = read_table(write("t.csv", text))
    assert [(d.name, d.kind, d.size) for d in table.dimensions] == [
        ("tapped_at date", Kind.DATE, 2),
        ("tapped_at time", Kind.TIME, 2),
        ("loc", Kind.TEXT, 1),
    ]
    assert "split into" in table.notes[0]


@pytest.mark.parametrize(
    "columns",
    [
        {"loc": ["a", "b"], "count": [40, 50]},
        {"loc": pa.array(["a", "b"]).dictionary_encode(), "count": pa.array([40.0, 50.0])},
        {"loc": pa.array(["a", None]), "count": pa.array([40, 50], pa.int16())},
    ],
)
def test_parquet(tmp_path, columns):
    pq.write_table(pa.table(columns), tmp_path / "release.parquet")
    table = read_table(tmp_path / "release.parquet")
    assert (table.name, table.dialect, table.names) == ("release", "Parquet", ("loc",))
    assert table.counts.tolist() == [40, 50]


def test_parquet_dates_and_times(tmp_path):
    moments = np.array(["2016-08-08T07:15", "2016-08-09T07:30"], dtype="datetime64[ns]")
    table = pa.table(
        {
            "day": moments.astype("datetime64[D]"),
            "clock": pa.array([26_100_000, 27_000_000], pa.time32("ms")),
            "at": moments,
            "count": [40, 50],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert [(d.name, d.kind, d.keys) for d in found.dimensions] == [
        ("day", Kind.DATE, ("2016-08-08", "2016-08-09")),
        ("clock", Kind.TIME, ("07:15", "07:30")),
        ("at date", Kind.DATE, ("2016-08-08", "2016-08-09")),
        ("at time", Kind.TIME, ("07:15", "07:30")),
    ]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("region,sex,OBS_VALUE", "OBS_VALUE"),
        ("region,sex,tapCount", "tapCount"),
        ("region,sex,n", "n"),
        ("region,sex,passengers", "passengers"),
        ("region,sex,whatever", "whatever"),
    ],
)
def test_the_count_column_is_found_by_name_or_by_being_the_only_one(write, header, expected):
    assert read_table(write("t.csv", f"{header}\nN,m,40\nS,m,50\nS,f,41\n")).count_name == expected


def test_a_code_is_not_taken_for_the_count(write):
    body = "".join(f"{2000 + k},{tap},{40 + k % 7}\n" for k in range(40) for tap in ("on", "off"))
    assert read_table(write("t.csv", "area,tap,riders_seen\n" + body)).count_name == "riders_seen"


def test_overrides_decide(write):
    path = write("odd.csv", "08/09/2016;x;7;1\n09/09/2016;y;8;2\n")
    spec = {
        "columns": ["day", "kind", "n1", "n2"],
        "count": "n1",
        "ignore": ["n2"],
        "dimensions": {"day": {"as": "date", "kind": "date", "format": "%m/%d/%Y"}},
    }
    table = read_table(path, overrides=parse_overrides({"tables": {"odd.csv": spec}}))
    assert table.names == ("date", "kind")
    assert table.dimensions[0].keys == ("2016-08-09", "2016-09-09")
    assert table.counts.tolist() == [7, 8]
    assert [one.reason for one in table.extra] == ["ignored as told"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"count": "cuont"}, r"count of table t.csv must be one of mode, .*Did you mean 'count'\?"),
        ({"ignore": ["lok"]}, r"a column of table t.csv must be one of .*Did you mean 'loc'\?"),
        ({"dimensions": {"loc": {"kind": "date"}}}, r"'loc' should hold dates, but '2000' is not one"),
        ({"encoding": "utf-99"}, r"encoding 'utf-99' of t.csv is unknown"),
    ],
)
def test_overrides_that_do_not_fit(write, spec, words):
    path = write("t.csv", PLAIN)
    with pytest.raises((SpecError, DataError), match=words):
        read_table(path, overrides=parse_overrides({"tables": {"t.csv": spec}}))
