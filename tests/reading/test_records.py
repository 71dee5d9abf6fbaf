"""Two readers of text files: wherever DuckDB is believed, it reads what Python reads."""

import bz2
import gzip
from importlib import import_module

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisegate.columns import zstandard
from noisegate.errors import DataError
from noisegate.reading import read_table

records = import_module("noisegate.reading.records")

DIALECT = records.Dialect(
    compression=None, encoding="utf-8", delimiter=",", header=("a", "b", "c"), header_line=0
)
PLAIN = "mode,stop,count\n" + "".join(f"{'bus' if k % 3 else 'train'},Straße {k},{k}\n" for k in range(400))


def plain(found):
    columns = [[labels[code] for code in codes.tolist()] for codes, labels in found.columns]
    return found.rows, columns, found.rejected


def both(path, dialect=DIALECT):
    """What DuckDB and what Python reads; None where DuckDB is not believed, a sentence where there is nothing to read."""
    found = records._quickly(path, dialect, lambda _: None)
    try:
        return None if found is None else plain(found), plain(
            records._one_by_one(path, dialect, lambda _: None)
        )
    except DataError as problem:
        return None if found is None else plain(found), str(problem)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.lists(st.text(alphabet="ab1 é'.-\t;#\\", max_size=3), min_size=3, max_size=3).map(",".join)
        | st.text(alphabet='ab,"\r é', max_size=6),
        min_size=1,
        max_size=12,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_what_duckdb_reads_is_what_python_reads(tmp_path, lines, end, last, mark):
    path = tmp_path / "t.csv"
    path.write_bytes(mark + (end.join(["a,b,c", *lines]) + end * last).encode())
    quick, slow = both(path)
    assert quick in (None, slow)


def test_plain_files_are_left_to_duckdb(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "x,é,1\n, y ,NULL\n" * 5_000, encoding="utf-8")
    quick, slow = both(path)
    assert quick == slow
    assert quick[0] == 10_000
    assert quick[1][0][:2] == ["x", ""]


@pytest.mark.parametrize(
    "odd", ['x,"y",1\n', "\n", "x,y\n", "x,y,1,\n", "x,y,1,2\n", "x\0,y,1\n", "x\r,y,1\n", '"x,y,1\n']
)
def test_odd_lines_are_left_to_python(tmp_path, odd):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b,c\n" + b"x,y,1\n" * 1_000 + odd.encode() + b"x,y,2\n" * 1_000)
    quick, slow = both(path)
    assert quick is None
    assert slow[0] + len(slow[2]) >= 1_001


def test_a_large_file_gives_the_same_table(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_text(PLAIN, encoding="utf-8")
    small = read_table(file)
    monkeypatch.setattr(records, "_SMALL", 0)
    monkeypatch.setattr(records, "_one_by_one", None)
    large = read_table(file)
    np.testing.assert_array_equal(small.codes, large.codes)
    np.testing.assert_array_equal(small.counts, large.counts)
    assert [one.labels for one in small.dimensions] == [one.labels for one in large.dimensions]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lambda octets: zstandard().compress(octets)])
def test_packed_files(tmp_path, pack):
    packed, file = pack(PLAIN.encode()), tmp_path / "t.csv"
    file.write_bytes(packed)
    assert read_table(file).counts.tolist() == list(range(400))
    file.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="damaged"):
        read_table(file)
