"""Tables that come as frames: the same is decided about them as about files."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from noisegate.assessment import assess
from noisegate.errors import DataError, SpecError
from noisegate.reading import find_structure, parse_overrides, read_table, read_tables, summarise
from noisegate.tables import Kind

COLUMNS = {
    "mode": ["train", "train", "ferry", "ferry", None],
    "date": ["2016-08-08", "2016-08-09", "2016-08-08", "2016-08-09", "2016-08-09"],
    "count": ["120", "130", "<18", "22", "40"],
}


class Stream:
    """A stranger's frame: it has the Arrow stream and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def as_arrow(columns):
    return pa.table(columns)


def as_stream(columns):
    return Stream(pa.table(columns))


def as_batch(columns):
    return pa.record_batch(columns)


def as_pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


FRAMES = pytest.mark.parametrize("frame", [as_arrow, as_stream, as_batch, as_pandas, as_polars])


@FRAMES
def test_a_frame_is_read_as_the_file_would_be(frame, write):
    rows = zip(*([value or "" for value in column] for column in COLUMNS.values()), strict=True)
    text = "\n".join([",".join(COLUMNS), *(",".join(row) for row in rows)]) + "\n"
    file, found = read_table(write("taps.csv", text)), read_table(frame(COLUMNS), name="taps")
    assert (found.name, found.names, found.count_name) == (file.name, file.names, file.count_name)
    for ours, theirs in zip(found.dimensions, file.dimensions, strict=True):
        assert (ours.labels, ours.keys, ours.kind) == (theirs.labels, theirs.keys, theirs.kind)
        np.testing.assert_array_equal(ours.unknown, theirs.unknown)
    np.testing.assert_array_equal(found.codes, file.codes)
    np.testing.assert_array_equal(found.counts, file.counts)
    np.testing.assert_array_equal(found.hidden, file.hidden)
    assert (found.files, found.sources) == ((), ("taps",))
    assert found.dialect.endswith(" frame")


def test_types_of_pandas_become_the_values_that_they_mean():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["2016-08-08", "2016-08-09", "2016-08-10"]),
            "hour": [6, 7, 8],
            "stop": pd.Categorical(["a", "b", "a"]),
            "postcode": [2000.0, 2001.0, None],
            "count": [40.0, 50.0, 60.0],
        }
    )
    found = read_table(frame)
    assert found.name == "table"
    assert [(d.name, d.kind) for d in found.dimensions] == [
        ("date", Kind.DATE),
        ("hour", Kind.TIME),
        ("stop", Kind.TEXT),
        ("postcode", Kind.NUMBER),
    ]
    assert found.dimensions[0].keys == ("2016-08-08", "2016-08-09", "2016-08-10")
    assert found.dimensions[3].labels == ("2000", "2001", "")
    assert found.counts.tolist() == [40, 50, 60]


def test_an_index_of_pandas_with_names_holds_dimensions():
    pd = pytest.importorskip("pandas")
    taps = pd.DataFrame({"stop": list("aabb"), "tap": ["on", "off"] * 2, "count": [10, 20, 30, 40]})
    found = read_table(taps.set_index(["stop", "tap"]))
    assert set(found.names) == {"stop", "tap"}
    assert sorted(found.counts.tolist()) == [10, 20, 30, 40]


def test_types_of_polars_become_the_values_that_they_mean():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {"stop": pl.Series(["a", "b"], dtype=pl.Categorical), "day": ["x", None], "count": [40, 50]}
    )
    found = read_table(frame)
    assert found.dimensions[0].labels == ("a", "b")
    assert found.counts.tolist() == [40, 50]


def test_rows_that_are_set_aside_are_counted_by_their_place():
    stops = [f"s{k}" for k in range(40)]
    counts = ["10", "oops", *map(str, range(30, 68))]
    frame = pa.table({"stop": [*stops, "s39"], "count": [*counts, "67"]})
    found = read_table(frame, name="taps")
    assert [(one.reason, one.first_line, one.file) for one in found.set_aside] == [
        ("the count is not a number", 2, "taps"),
        ("the same row again", 41, "taps"),
    ]


@FRAMES
def test_a_frame_that_is_no_table_is_named(frame):
    with pytest.raises(DataError, match=r"^night trains has no count column"):
        read_table(frame({"stop": ["a", "b"], "tap": ["on", "off"]}), name="night trains")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[1], [2]]), "lists, records or bytes"),
        (
            pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
            "Column 'odd' of taps holds INTERVAL",
        ),
    ],
)
def test_columns_that_hold_no_plain_values_are_refused(column, message):
    with pytest.raises(DataError, match=message):
        read_table(pa.table({"odd": column, "count": [40, 50]}), name="taps")


@pytest.mark.parametrize("source", [42, None, [1, 2], object()])
def test_what_is_neither_file_nor_frame_is_refused(source):
    with pytest.raises(DataError, match=r"give the path of a file, or a pandas, Polars or Arrow frame"):
        read_table(source)


def test_a_frame_of_no_columns_is_refused():
    with pytest.raises(DataError, match="taps"):
        read_table(Stream(pa.chunked_array([[1, 2]])), name="taps")
    with pytest.raises(DataError, match="there is nothing to assess"):
        read_table(pa.table({"stop": pa.array([], pa.string()), "count": pa.array([], pa.int64())}))


def test_overrides_are_found_by_the_name_of_the_frame():
    told = parse_overrides({"tables": {"taps": {"count": "weight"}}})
    frame = pa.table({"stop": ["a", "b"], "n": [1, 2], "weight": [40, 50]})
    assert read_table(frame, name="taps", overrides=told).count_name == "weight"
    with pytest.raises(SpecError, match="a table in the spec"):
        find_structure([read_table(frame, name="other")], overrides=told)


def test_tables_are_named_by_the_mapping_or_by_their_place(write):
    base = pa.table({"stop": ["a", "a", "b"], "tap": ["on", "off", "on"], "count": [40, 50, 60]})
    stops = write("stops.csv", "stop,count\na,90\nb,60\n")
    assert [table.name for table in read_tables([base, stops])] == ["table 1", "stops"]
    assert [table.name for table in read_tables({"fine": base, "coarse": stops})] == ["fine", "coarse"]
    assert [table.name for table in read_tables(base)] == ["table 1"]
    assert [table.name for table in read_tables(stops)] == ["stops"]
    structure = find_structure(read_tables({"coarse": stops, "fine": base}))
    assert [cells.name for cells in structure.tables] == ["fine", "coarse"]
    assert [one.files for one in summarise(structure)] == [(), (str(stops),)]


def test_frames_are_assessed_as_files_are():
    rng = np.random.default_rng(3)
    stops, taps = np.indices((40, 2)).reshape(2, -1)
    counts = np.rint(rng.lognormal(3.5, 1, stops.size)).astype(int)
    shown = counts >= 18
    base = pa.table({"stop": [f"s{k}" for k in stops[shown]], "tap": taps[shown], "count": counts[shown]})
    total = pa.table({"tap": [0, 1], "count": [int(counts[taps == k].sum()) for k in (0, 1)]})
    found = assess({"time-loc": base, "tap": total}, attacker=None)
    assert [table.summary.name for table in found.tables] == ["time-loc", "tap"]
    assert found.to_json()["tables"][0]["files"] == []


def test_reading_a_frame_imports_neither_pandas_nor_polars():
    code = (
        "import io, sys, pyarrow.csv; from noisegate.reading import read_table;"
        "read_table(pyarrow.csv.read_csv(io.BytesIO(b'stop,count\\na,40\\nb,50\\n')));"
        "print('pandas' in sys.modules, 'polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
