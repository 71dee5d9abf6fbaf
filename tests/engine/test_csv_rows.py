"""A row of a CSV file is one line: what is no row is tallied, and costs no other row, whichever way the file is read."""

import gzip
import random

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noisegate import limits
from noisegate.engine import CsvFiles, CsvHeader, count, csv_header, split_line
from noisegate.errors import DataError
from noisegate.laws import OsNoise
from noisegate.spec import parse_spec

HEADER = "card,line,day,note"
SECRET = "5550123"
UNREAD = "the row cannot be read"


def row(number, *, line="A", note="x"):
    return f"{SECRET}{number:03d},{line},2016-07-25,{note}"


ROWS = [row(n) for n in range(20)]


def counted(folder, lines, *, unit="event", total=True, name="taps.csv", end="\n"):
    text = end.join([HEADER, *lines]).encode() if isinstance(lines, list) else lines
    (folder / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    content = {
        "name": "lines",
        "events": {"source": name, "person": "card"},
        "dimensions": {
            "line": {"column": "line", "values": ["A", "B"]},
            "date": {"column": "day", "from": "2016-07-25", "to": "2016-07-27"},
        },
        "tables": {"base": ["line", "date"]},
        "privacy": {"unit": unit, "epsilon": "1", **({} if unit == "event" else {"max_cells": 3})},
    }
    return count(parse_spec(content, folder=folder), entropy=OsNoise(), total=total)


NO_ROW = {
    "too few": f"{SECRET}999,A",
    "too many": row(999) + ",y,z",
    "unclosed at the end": row(999, note='"never closed'),
    "unclosed in the middle": f'{SECRET}999,"A,2016-07-25,x',
    "beside the mark": row(999, note='"a"b'),
    "no UTF-8": row(999, note="\udcff"),
    "nothing but a mark": '"',
}


@pytest.mark.parametrize("unit", ["event", "person"])
@pytest.mark.parametrize("what", NO_ROW)
@pytest.mark.parametrize("place", [0, 7, 20])
def test_a_line_that_is_no_row_is_tallied_and_costs_no_other(tmp_path, unit, what, place):
    """The rows behind it count, too, and another mark further down closes nothing."""
    lines = [*ROWS[:place], NO_ROW[what], *ROWS[place:], row(500, note='"fine"'), row(501, line="B")]
    text = "\n".join([HEADER, *lines]).encode("utf-8", "surrogateescape")
    found = counted(tmp_path, text, unit=unit)
    assert found.tally.outside == {UNREAD: 1}
    assert (found.tally.events, found.tally.counted) == (23, 22)
    assert found.raw_counts.tolist() == [21, 1]
    with pytest.raises(DataError, match=r"^taps\.csv holds lines that are no row of its 4 columns") as caught:
        counted(tmp_path, text, unit=unit, total=False)
    assert SECRET not in str(caught.value)


def test_a_value_of_two_lines_is_two_lines_that_are_no_rows(tmp_path):
    found = counted(tmp_path, [*ROWS, row(999, note='"two'), 'lines"', *ROWS])
    assert found.tally.outside == {UNREAD: 2}
    assert found.tally.counted == 40


def test_one_persons_mark_moves_nobody_else(tmp_path):
    """Neighbours in the sense of the proof: the same file with and without one person's lines."""
    rng = random.Random(5)
    others = [row(n, note=rng.choice(['"a"', "", '"b, c"', "d"])) for n in range(60)]
    without = counted(tmp_path, others).raw_counts
    for mine in ('"', row(999, note='"'), row(999, note='"a'), f'"{row(999)}', 'A,"', row(999) + "\r", "\0"):
        for place in (0, 30, 60):
            found = counted(tmp_path, [*others[:place], mine, *others[place:]])
            assert 0 <= int(found.raw_counts.sum() - without.sum()) <= 1
            assert found.tally.events == 61


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["taps.csv", "taps.csv.gz"])
@pytest.mark.parametrize("bad", [0, 2])
def test_packed_files_and_other_ends_of_lines(tmp_path, end, name, bad):
    found = counted(
        tmp_path, [*ROWS, "", *([SECRET] * bad), row(1, note='"a ""b"""'), ""], name=name, end=end
    )
    assert found.tally.outside == ({UNREAD: bad} if bad else {})
    assert found.tally.counted == 21


def test_files_of_a_pattern_are_read_to_their_ends(tmp_path):
    (tmp_path / "taps-1.csv").write_text("\n".join([HEADER, *ROWS, f'{SECRET}999,"A']))
    (tmp_path / "taps-2.csv").write_text("\ufeff" + "\n".join([HEADER, *ROWS, '"', row(1)]))
    tables = list(CsvFiles.of([tmp_path / "taps-1.csv", tmp_path / "taps-2.csv"]).tables())
    assert sum(rows.num_rows for rows, _ in tables) == 41
    assert sum(odd for _, odd in tables) == 2


def test_a_line_that_is_too_long_is_no_row(tmp_path):
    with limits.override(csv_line_bytes=5_000):
        for length, odd in ((4_000, 0), (5_200, 1), (2_500_000, 1)):
            found = counted(tmp_path, [*ROWS, row(1, note="x" * length), *ROWS])
            assert found.tally.outside == ({UNREAD: odd} if odd else {})
            assert found.tally.counted == 41 - odd


@pytest.mark.parametrize("name", ["taps.csv", "taps.csv.gz"])
@pytest.mark.parametrize("letter", ["a", "\0", '"'])
def test_a_line_longer_than_what_the_engine_holds_is_tallied(tmp_path, letter, name):
    """DuckDB passes over a line of more than its buffer without a word."""
    for after in ([], ROWS):
        found = counted(tmp_path, [*ROWS, letter * (40 << 20), *after], name=name)
        assert found.tally.outside == {UNREAD: 1}
        assert found.tally.counted == 20 + len(after)


def test_blocks_of_a_long_file_are_joined(tmp_path):
    """Two blocks and more, so that a line lies on the border: no line is lost or read twice."""
    lines = [row(n % 1000, note="y" * (n % 83)) for n in range(45_000)]
    found = counted(tmp_path, [*lines, '"', *ROWS], end="\r\n")
    assert found.tally.outside == {UNREAD: 1}
    assert found.tally.counted == 45_020


PIECES = st.sampled_from(
    ["a", "b", "é", " ", '"', '""', ",", "\n", "\r", "\r\n", "\t", "\0", "\\", "'", '"a"', ' "a"', '"a" ', '"a,b"', ",,", "\udcff"]
)  # fmt: skip


@given(names=st.integers(1, 3), pieces=st.lists(PIECES, max_size=18))
@example(names=2, pieces=[" ", '"', ",", "\n"])
@example(names=1, pieces=[",", "\r\n", "b", "\n", "\n", ","])
@settings(max_examples=400, deadline=None)
def test_what_the_engine_reads_is_what_lines_say(tmp_path_factory, names, pieces):
    """Wherever the quick way does not give up, all lines are rows, and the same ones."""
    file = tmp_path_factory.mktemp("csv") / "t.csv"
    text = ",".join("hij"[:names]) + "\n" + "".join(pieces)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    files = CsvFiles.of([file])
    try:
        quick = duckdb.sql(f"SELECT * FROM {files.quick_sql()}").fetchall()
    except duckdb.Error:
        return
    tables = list(files.tables())
    assert sum(odd for _, odd in tables) == 0
    slow = [tuple(one.values()) for rows, _ in tables for one in rows.to_pylist()]
    assert sorted(quick, key=str) == sorted(slow, key=str)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"a,b", ("a", "b")),
        (b"a,", ("a", None)),
        (b"a,b,,", ("a", "b")),
        (b'"a, b", "c" ', ("a, b", "c")),
        (b'"say ""a""",b', ('say "a"', "b")),
        (b'a"b,c"', ('a"b', 'c"')),
        (b'"",""', (None, None)),
        (b'"a"  "b",c', ("a  b", "c")),
        (b"", ()),
        (b"a", None),
        (b"a,b,c", None),
        (b'"a,b', None),
        (b'a,"b"c', None),
        (b'a, "b', None),
        (b"a,\xff", None),
    ],
)
def test_what_a_line_holds(line, values):
    assert split_line(line, header=CsvHeader(names=("x", "y"), separator=",")) == values


def test_the_engine_is_fast_where_it_may_be(tmp_path):
    """A file without quotation marks costs no look at its values; one with them is looked at."""
    (tmp_path / "plain.csv").write_text("\n".join([HEADER, *ROWS]))
    (tmp_path / "marks.csv").write_text("\n".join([HEADER, *ROWS, row(1, note='"x"')]))
    assert csv_header(tmp_path / "plain.csv") == csv_header(tmp_path / "marks.csv")
    plain, marks = (CsvFiles.of([tmp_path / f"{name}.csv"]).quick_sql() for name in ("plain", "marks"))
    assert plain.startswith("read_csv(")
    assert "contains" in marks
