"""Frames of ours in the hands of others: Arrow, DuckDB, pandas and Polars get the same columns."""

import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from noisegate.columns import Columns, Values, arrow_table, numbers_or_gaps
from noisegate.errors import DataError, InternalError

GAPS = np.array([False, True, False])
FRAME = Columns(
    {
        "stop": Values.coded(np.array([1, 0, 1]), ["a", "b"], missing=GAPS),
        "name": Values.texts(["x", None, "é"]),
        "count": Values.numbers(np.array([4, 7, 9])),
        "shown": Values.numbers(np.array([4, 0, 9]), missing=GAPS),
        "mean": Values.numbers(np.array([0.5, 0, np.inf]), missing=GAPS),
        "sure": Values.numbers(np.array([True, False, True])),
        "day": Values.numbers(np.array(["2016-07-25", "2016-07-26", "2016-07-27"], "M8[D]")),
        "at": Values.numbers(
            np.array(["2016-07-25T06:15", "2016-07-26", "2016-07-27"], "M8[us]"), missing=GAPS
        ),
    }
)


def test_arrow_takes_it():
    table = pa.table(FRAME)
    table.validate(full=True)
    assert FRAME.to_arrow().equals(table)
    assert table.to_pydict() == FRAME.to_pydict()
    assert [str(field.type) for field in table.schema] == [
        "dictionary<values=string, indices=int32, ordered=0>", "string", "int64", "int64", "double", "bool", "date32[day]", "timestamp[us]",
    ]  # fmt: skip
    assert pa.schema(FRAME).equals(table.schema)


def test_duckdb_takes_it():
    assert duckdb.sql("FROM FRAME").fetchall() == [tuple(row.values()) for row in FRAME.to_pylist()]


def test_pandas_is_what_arrow_makes_of_it():
    pd = pytest.importorskip("pandas")
    pd.testing.assert_frame_equal(FRAME.to_pandas(), FRAME.to_arrow().to_pandas())
    nothing = Columns({"stop": Values.texts([]), "n": Values.numbers(np.zeros(0, np.int64))})
    assert list(nothing.to_pandas().columns) == ["stop", "n"]


def test_polars_takes_it():
    pl = pytest.importorskip("polars")
    assert pl.DataFrame(FRAME).to_dicts() == FRAME.to_pylist()


@given(texts=st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts(texts):
    column = Values.texts(texts)
    assert column.to_pylist() == texts
    assert pa.table(Columns({"t": column}))["t"].to_pylist() == texts


@given(data=st.data(), kind=st.sampled_from(["i1", "i4", "i8", "u2", "u8"]), rows=st.integers(1, 70))
def test_numbers_with_gaps_come_back(data, kind, rows):
    values, gaps = data.draw(npst.arrays(kind, rows)), data.draw(npst.arrays(bool, rows))
    column = arrow_table(Columns({"n": Values.numbers(values, missing=gaps)})).column("n").combine_chunks()
    for start in (0, rows // 3):
        found, missing = numbers_or_gaps(column.slice(start))
        assert found.dtype == values.dtype
        there = ~gaps[start:]
        np.testing.assert_array_equal(found[there], values[start:][there])
        np.testing.assert_array_equal(np.zeros(rows - start, bool) if missing is None else missing, ~there)


def test_columns_are_arrays_and_lists():
    assert FRAME.column("count").to_numpy().tolist() == [4, 7, 9]
    assert str(FRAME["shown"].to_numpy()) == "[ 4. nan  9.]"
    assert FRAME["stop"].to_numpy().tolist() == list(FRAME["stop"]) == ["b", None, "b"]
    assert FRAME.equals(FRAME)
    assert not FRAME.equals(Columns({"count": FRAME["count"]}))


def test_columns_must_line_up():
    with pytest.raises(InternalError, match="differ in length"):
        Columns({"a": Values.numbers(np.arange(2)), "b": Values.numbers(np.arange(3))})
    with pytest.raises(InternalError, match="line up"):
        Values.numbers(np.arange(2), missing=GAPS)


@pytest.mark.parametrize(("method", "library"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas")])
def test_what_is_not_installed_is_said_with_a_way_out(monkeypatch, method, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DataError, match=rf"pip install {library}, or hand this over as it is"):
        getattr(FRAME, method)()


def test_neither_pandas_nor_pyarrow_is_loaded_to_write_and_to_read():
    code = (
        "import io, sys, numpy as np; from noisegate.columns import Columns, Values, parquet_octets; "
        "frame = Columns({'n': Values.numbers(np.arange(3))}); parquet_octets(frame); "
        "import duckdb; duckdb.sql('FROM frame').fetchall(); sys.exit(bool({'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
