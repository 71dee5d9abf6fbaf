"""Parquet files of ours, read back by others: pyarrow and DuckDB find the same types, values and gaps as are in memory."""

import io
from datetime import date

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from noisegate.columns import Columns, ParquetWriter, Values, parquet_octets, write_parquet
from noisegate.errors import InternalError

KINDS = (
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f4",
    "f8",
    "?",
    "M8[D]",
    "M8[ms]",
    "M8[us]",
    "M8[ns]",
)


def read(frame):
    return pq.read_table(io.BytesIO(parquet_octets(frame)))


def same(frame, path):
    """Whether pyarrow and DuckDB read a frame's file as the frame is."""
    write_parquet(frame, path)
    found = pq.read_table(path)
    want = pa.table(frame)
    assert found.schema.equals(want.schema)
    assert found.column_names == frame.column_names
    for name in frame.column_names:
        # Categories may be numbered in another way; what they stand for may not change.
        assert str(found[name].to_pylist()) == str(want[name].to_pylist())
    rows = duckdb.sql(f"FROM read_parquet('{path}')").fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * len(frame.columns)
    for name, column in zip(frame.column_names, columns, strict=True):
        if frame.columns[name].values.dtype != "M8[ns]":  # DuckDB rounds them for Python
            assert str(list(column)) == str(frame[name].to_pylist())


@st.composite
def columns(draw, rows):
    missing = draw(st.none() | npst.arrays(bool, rows))
    if draw(st.booleans()):
        labels = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=300))
        codes = draw(npst.arrays(np.int32, rows, elements=st.integers(0, len(labels) - 1)))
        return Values(values=codes, labels=tuple(labels), missing=missing, plain=draw(st.booleans()))
    kind = np.dtype(draw(st.sampled_from(KINDS)))
    if kind.kind == "M":
        days = draw(npst.arrays(np.int32, rows, elements=st.integers(-30_000, 30_000)))
        values = days.astype("M8[D]").astype(kind)
    elif kind.kind == "f":
        values = draw(npst.arrays(kind, rows, elements={"allow_nan": False}))
    else:
        values = draw(npst.arrays(kind, rows))
    return Values.numbers(values, missing=missing)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), rows=st.integers(0, 40), width=st.integers(1, 4))
def test_any_columns_are_read_back_by_others(tmp_path, data, rows, width):
    same(Columns({f"c{n}": data.draw(columns(rows)) for n in range(width)}), tmp_path / "t.parquet")


def some(rows, rng):
    gaps = rng.random(rows) < 0.3
    labels = [f"Straße {n}" for n in range(70_000)]
    return Columns(
        {
            "few": Values.coded(rng.integers(0, 3, rows), ["x", "", "z"], missing=gaps),
            "many": Values.coded(rng.integers(0, 70_000, rows), labels),
            "text": Values.texts([None if n % 7 == 0 else f"t{n}" for n in range(rows)]),
            "count": Values.numbers(rng.poisson(20, rows)),
            "wide": Values.numbers(rng.integers(-(2**62), 2**62, rows), missing=gaps),
            "mean": Values.numbers(rng.normal(size=rows), missing=gaps),
            "level": Values.numbers(np.full(rows, 0.95)),
            "flag": Values.numbers(gaps),
            "day": Values.numbers(np.datetime64("2016-07-25") + rng.integers(0, 14, rows)),
            "at": Values.numbers(np.datetime64("2016-07-25", "ms") + rng.integers(0, 10**9, rows)),
            "nothing": Values.numbers(np.zeros(rows), missing=np.ones(rows, bool)),
            "one": Values.coded(np.zeros(rows, np.int8), ["only"]),
        }
    )


def test_many_pages_and_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("noisegate.columns.parquet._PAGE", 1_000)
    monkeypatch.setattr("noisegate.columns.parquet.ROW_GROUP", 4_096)
    same(some(10_007, np.random.default_rng(1)), tmp_path / "t.parquet")
    assert pq.read_metadata(tmp_path / "t.parquet").num_row_groups == 3


def test_a_file_grows_by_parts(tmp_path):
    frame = some(300, np.random.default_rng(2))
    parts = [
        Columns({name: _part(one, here) for name, one in frame.columns.items()})
        for here in (slice(100), slice(100, 300))
    ]
    with ParquetWriter(tmp_path / "t.parquet", notes={"custodian_only": "yes"}) as writer:
        for part in parts:
            writer.write(part)
    found = pq.read_table(tmp_path / "t.parquet")
    assert found.to_pylist() == frame.to_pylist() == Columns.joined(parts).to_pylist()
    assert found.schema.metadata[b"custodian_only"] == b"yes"


def _part(column, here):
    missing = None if column.missing is None else column.missing[here]
    return Values(values=column.values[here], labels=column.labels, missing=missing, plain=column.plain)


def test_categories_stay_categories_unless_the_file_is_for_engines():
    frame = Columns(
        {"stop": Values.coded(np.array([1, 0, 1]), ["a", "b"]), "n": Values.numbers(np.arange(3))}
    )
    assert read(frame).schema.field("stop").type == pa.dictionary(pa.int32(), pa.string())
    out = io.BytesIO()
    with ParquetWriter(out, typed=False) as writer:
        writer.write(frame)
    assert pq.read_table(out).schema.field("stop").type == pa.string()


def test_the_least_and_the_greatest_are_those_of_the_rows_that_are_there():
    frame = Columns(
        {
            "stop": Values.coded(
                np.array([1, 2, 1, 0]), ["zz", "b", "é"], missing=np.array([False] * 3 + [True])
            ),
            "n": Values.numbers(np.array([-7, 5, 300, 9_999]), missing=np.array([False] * 3 + [True])),
            "p": Values.numbers(np.array([0.5, np.nan, 1, 2])),
        }
    )
    about = pq.read_metadata(io.BytesIO(parquet_octets(frame))).row_group(0)
    stop, number, share = (about.column(n).statistics for n in range(3))
    assert (stop.min, stop.max, stop.null_count) == ("b", "é", 1)
    assert (number.min, number.max, number.null_count) == (-7, 300, 1)
    assert not share.has_min_max


def test_nothing_at_all():
    assert (
        read(
            Columns(
                {"stop": Values.coded(np.zeros(0, np.int32), []), "n": Values.numbers(np.zeros(0, np.int64))}
            )
        ).num_rows
        == 0
    )
    assert read(Columns({"stop": Values.texts([None, None])})).to_pylist() == [{"stop": None}] * 2


def test_the_same_rows_give_the_same_octets():
    one, two = (parquet_octets(some(5_000, np.random.default_rng(3))) for _ in range(2))
    assert one == two


def test_columns_may_not_change_on_the_way():
    with ParquetWriter(io.BytesIO()) as writer:
        writer.write(Columns({"n": Values.numbers(np.arange(3))}))
        with pytest.raises(InternalError, match="change on the way"):
            writer.write(Columns({"n": Values.numbers(np.arange(3.0))}))


def test_a_file_that_fails_is_no_file(tmp_path):
    writer = ParquetWriter(tmp_path / "t.parquet")
    writer.write(Columns({"n": Values.numbers(np.arange(3))}))
    writer.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    with pytest.raises(pa.ArrowInvalid):
        pq.read_table(tmp_path / "t.parquet")


def test_dates_are_dates():
    assert read(Columns({"d": Values.numbers(np.array(["1969-12-31", "2016-07-25"], "M8[D]"))}))[
        "d"
    ].to_pylist() == [
        date(1969, 12, 31),
        date(2016, 7, 25),
    ]
