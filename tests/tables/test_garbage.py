"""What is not a table ends in one sentence, quickly and in little memory."""

import gzip
import os
import random
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisegate import limits
from noisegate.errors import DataError, InputError
from noisegate.reading import find_structure, read_table


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("loc,count\n", "has a header but no rows"),
        ("loc,count", "has a header but no rows"),
        ("\n\n\n", "does not split into columns"),
        ("just some prose\nand more of it\n", "does not split into columns"),
        ("bus,20160808,40\nbus,20160809,41\n", "has numbers where column names belong (line 1)"),
        ("loc,tap\na,on\nb,off\n", "has no count column: none of 'loc', 'tap'"),
        ("date,time\n20160808,07:15\n20160809,07:30\n", "has no count column"),
        ("loc,count\na,many\nb,few\n", "should hold counts but holds text such as 'many'"),
        ("loc,count\na,<5\nb,np\n", "should hold counts but holds hardly any numbers"),
        (
            "loc,price,weight\na,1,2\nb,3,4\n",
            "('price', 'weight'), which can be 2 measures or the values of one dimension",
        ),
        ("count,n\n1,2\n3,4\n", "has counts but no dimension"),
        ("count,note\n1,\n3,\n", "has counts but no dimension"),
        ("loc,count\na,1\n" + "junk\n" * 9, "more lines that are no rows of a table than rows"),
        ("loc,count\na,1\n" + '"' + "x,1\n" * 9, "more lines that are no rows"),
        ('loc,count\na,1\n"b' + "x" * 9_000_000 + "\n", "a quotation mark that is never closed"),
        (b"loc,count\na,1\nb," + b"9" * 9_000_000 + b"\n", "a line longer than 4 MiB"),
        (b"x" * 3_000_000, "a line longer than 1 MiB"),
        (b"\0" * 1000, "holds binary data"),
        (bytes(random.Random(1).randbytes(5000)), "holds binary data"),
        (bytes(b for b in random.Random(2).randbytes(9000) if b), "holds binary data"),
        (b"PK\x03\x04" + bytes(100), "is a zip archive"),
        (b"%PDF-1.4 something", "is a PDF document"),
        (b"PAR1" + bytes(100), "starts as a Parquet file but cannot be read"),
        (b"\x1f\x8b\x08 not really", "cannot be unpacked as gzip"),
        (
            ",".join(f"c{k}" for k in range(5_300)) + "\n" + ",".join("1" * 5_300) + "\n",
            "has 5300 columns, at most 5000",
        ),
        ("a,b,count\n" + "é".join("x,y,1\n" for _ in range(3)).replace("é", ""), "of its rows for cells"),
    ],
)
def test_one_sentence(write, content, words):
    with pytest.raises(DataError) as caught:
        read_table(write("odd.csv", content))
    message = str(caught.value)
    assert words in message
    assert len(message) < 400
    assert "\n" not in message


def test_places_that_are_no_files(tmp_path):
    with pytest.raises(DataError, match=r"missing\.csv: there is no such file"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(DataError, match="is a directory; name the table files in it"):
        read_table(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is not a regular file"):
        read_table(tmp_path / "pipe")


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(DataError, match="Cannot read"):
        read_table(tmp_path / ("x" * 5000))


def test_damaged_gzip(write):
    whole = gzip.compress(b"loc,count\n" + b"".join(f"stop {k},{k}\n".encode() for k in range(500_000)))
    with pytest.raises(DataError, match="damaged"):
        read_table(write("cut.csv", whole[: len(whole) // 2]))


def test_nested_parquet(tmp_path):
    pq.write_table(pa.table({"loc": [["a"], ["b"]], "count": [1, 2]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="a column 'loc' of lists, records or bytes"):
        read_table(tmp_path / "t.parquet")


def test_an_empty_parquet_table(tmp_path):
    pq.write_table(
        pa.table({"loc": pa.array([], pa.string()), "count": pa.array([], pa.int64())}),
        tmp_path / "t.parquet",
    )
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "t.parquet")


def test_a_table_that_does_not_fit_is_refused_on_the_way(write, tmp_path):
    rows = "".join(f"stop {k},{k}\n" for k in range(50_000))
    with limits.override(held_bytes=100_000), pytest.raises(DataError, match="does not fit"):
        read_table(write("t.csv", "loc,count\n" + rows))
    pq.write_table(pa.table({"loc": np.arange(50_000), "count": np.arange(50_000)}), tmp_path / "t.parquet")
    with limits.override(held_bytes=100_000), pytest.raises(DataError, match="does not fit"):
        read_table(tmp_path / "t.parquet")


def test_too_many_misfits_are_refused_on_the_way(write):
    refused = pytest.raises(DataError, match="more than 100 lines that do not fit")
    with limits.override(rejected_lines=100), refused:
        read_table(write("t.csv", "loc,count\n" + "a,1\n" * 600 + "junk\n" * 500))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.one_of(
        st.binary(max_size=300), st.text(alphabet='ab1,;"\n\r\t -<é', max_size=200).map(str.encode)
    )
)
def test_any_bytes_end_in_a_table_or_in_a_sentence(tmp_path, data):
    path = tmp_path / "any.csv"
    path.write_bytes(data)
    try:
        table = read_table(path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is fine, a traceback is not
    else:
        assert table.rows == table.codes.shape[1] > 0
        structure = find_structure([table])
        assert structure.base.published == structure.sources[0].rows


def _peak_of(code, *paths):
    """Peak resident memory (MiB) and output of a fresh interpreter that runs `code`."""
    program = (
        "import sys, resource\n"
        + textwrap.dedent(code)
        + ("\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)")
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *lines, peak = done.stdout.splitlines()
    return int(peak), lines


READ = """
from noisegate.errors import DataError
from noisegate.reading import read_table
for path in sys.argv[1:]:
    try:
        read_table(path)
    except DataError as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_SELF"), reason="needs resource usage")
def test_two_gibibytes_of_nothing_take_no_memory(tmp_path):
    with (tmp_path / "zeros.csv").open("wb") as file:
        file.write(b"loc,count\na,1\n")
        file.truncate(2 << 30)
    idle, _ = _peak_of("import noisegate.reading")
    peak, lines = _peak_of(READ, tmp_path / "zeros.csv")
    assert peak < idle + 200
    assert "binary data" in lines[0]


@pytest.mark.slow
def test_two_gibibytes_of_one_line_take_no_memory(tmp_path):
    """As a plain start of a table with one endless line, and packed."""
    chunk = b"x" * (1 << 24)
    for name, start in (("line.csv.gz", b""), ("later.csv.gz", b"loc,count\n" + b"a,1\n" * 400_000)):
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
            file.write(start)
            for _ in range(128):
                file.write(chunk)
    idle, _ = _peak_of("import noisegate.reading")
    peak, lines = _peak_of(READ, tmp_path / "line.csv.gz", tmp_path / "later.csv.gz")
    assert peak < idle + 300
    assert "a line longer than 1 MiB" in lines[0]
    assert "a line longer than 4 MiB" in lines[1]
