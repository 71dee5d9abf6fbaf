"""What the engine is told by a file is not believed: ranges, headers, rows, patterns and temporary files."""

import gzip
import os
import re
import stat
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate import limits
from noisegate.engine import count, leftovers, own_connection
from noisegate.errors import DataError
from noisegate.laws import OsNoise
from noisegate.spec import parse_spec

SECRET = "5550123"
DAY = 17_007  # 2016-07-25


def spec(folder, source, *, unit="event", **dimensions):
    bound = {} if unit == "event" else {"max_cells": 100}
    content = {
        "name": "lines",
        "events": {"source": source, "person": "card"},
        "dimensions": {
            "line": {"column": "line", "values": ["A", "B"]},
            "date": {"column": "day", "from": "2016-07-25", "to": "2016-07-27"},
        }
        | dimensions,
        "tables": {"base": ["line", "date"]},
        "privacy": {"unit": unit, "epsilon": "1", **bound},
    }
    return parse_spec(content, folder=folder)


def counted(folder, source, **options):
    return count(spec(folder, source, **options), entropy=OsNoise())


def lying(path, table, *, column, said):
    """Write a Parquet file whose footer says another greatest value of a column of 32-bit or 64-bit numbers than it holds."""
    pq.write_table(table, path, compression="none", use_dictionary=False)
    octets = bytearray(path.read_bytes())
    start = len(octets) - 8 - struct.unpack("<I", octets[-8:-4])[0]
    values = table[column].cast(pa.int32() if pa.types.is_date(table[column].type) else pa.int64())
    shape = "<i" if values.type == pa.int32() else "<q"
    greatest = struct.pack(shape, max(values.to_pylist()))
    footer = bytes(octets[start:-8])
    assert greatest in footer
    octets[start:-8] = footer.replace(greatest, struct.pack(shape, said))
    path.write_bytes(octets)


def stray_days(events=3000, strays=1500):
    days = [DAY + n % 3 for n in range(events)] + [DAY + 3 + n % 2 for n in range(strays)]
    cards = [n % 500 for n in range(events + strays)]
    lines = ["AB"[n % 2] for n in range(events + strays)]
    return pa.table(
        {
            "card": pa.array(cards, pa.int64()),
            "line": lines,
            "day": pa.array(days, pa.int32()).cast(pa.date32()),
        }
    )


@pytest.mark.parametrize("unit", ["event", "person-day", "person"])
def test_statistics_that_lie_move_no_event_into_another_cell(tmp_path, unit):
    table = stray_days()
    lying(tmp_path / "lie.parquet", table, column="day", said=DAY + 2)
    pq.write_table(table, tmp_path / "true.parquet")
    found, meant = (counted(tmp_path, f"{name}.parquet", unit=unit) for name in ("lie", "true"))
    assert found.tally == meant.tally
    assert found.tally.outside == {"date is not in the list": 1500}
    assert found.cells.tolist() == meant.cells.tolist()
    assert found.raw_counts.tolist() == meant.raw_counts.tolist()


@pytest.mark.parametrize("unit", ["event", "person"])
def test_values_that_statistics_call_missing_are_tallied(tmp_path, unit):
    """The engine may believe that all of a column is missing; then its events are outside, and said to be."""
    table = pa.table(
        {
            "card": [f"p{n}" for n in range(60)],
            "line": ["AB"[n % 2] for n in range(60)],
            "day": stray_days(60, 0)["day"],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    octets = (tmp_path / "t.parquet").read_bytes()
    start = len(octets) - 8 - struct.unpack("<I", octets[-8:-4])[0]
    none, all_of_them = b"\x36\x00\x28", b"\x36\x78\x28"  # null_count of a column of text: 0, and 60
    for many in (1, 2):
        footer = octets[start:-8].replace(none, all_of_them, many)
        assert footer.count(all_of_them) == many
        (tmp_path / "lie.parquet").write_bytes(octets[:start] + footer + octets[-8:])
        tally = counted(tmp_path, "lie.parquet", unit=unit).tally
        assert tally.events == 60
        assert tally.counted + sum(tally.outside.values()) == 60
        assert tally.counted in (0, 60)


def test_persons_that_statistics_deny_are_counted(tmp_path):
    table = stray_days(strays=0)
    lying(tmp_path / "lie.parquet", table, column="card", said=3)
    assert counted(tmp_path, "lie.parquet", unit="person").tally.outside == {}


@pytest.mark.parametrize("missing", [False, True])
def test_a_person_that_is_missing_is_in_no_cell(tmp_path, monkeypatch, missing):
    """An engine that gives a cell to nobody is not believed: the gap would be taken for some person."""
    table = stray_days(strays=0)
    nobody = pa.array([None if n < 7 else n for n in range(table.num_rows)], pa.int64())
    table = table.set_column(table.column_names.index("card"), "card", nobody)
    pq.write_table(table, tmp_path / "t.parquet")
    if not missing:
        assert counted(tmp_path, "t.parquet", unit="person").tally.outside == {"no person is named": 7}
        return
    duck = sys.modules["noisegate.engine.duck"]
    monkeypatch.setattr(duck, "_unit_query", _forgetful(duck._unit_query))
    with pytest.raises(DataError, match=r"t\.parquet contradicts itself"):
        counted(tmp_path, "t.parquet", unit="person")


def _forgetful(query):
    """The query of units by an engine that takes nobody for somebody."""

    @contextmanager
    def made(*args, **options):
        with query(*args, **options) as answer:
            answer.query = answer.query.replace("e.person IS NOT NULL", "true")
            yield answer

    return made


@pytest.mark.parametrize("lines", ["AB", "A"])
@pytest.mark.parametrize("unit", ["event", "person-day", "person"])
def test_an_engine_that_believes_statistics_is_caught_by_our_own_check(tmp_path, monkeypatch, unit, lines):
    """Also where all strays would land in cells that exist: a fourth day of line A is the first of line B."""
    table = stray_days()
    strays = ["AB"[n % 2] for n in range(3000)] + [lines[n % len(lines)] for n in range(1500)]
    table = table.set_column(table.column_names.index("line"), "line", pa.array(strays))
    lying(tmp_path / "lie.parquet", table, column="day", said=DAY + 2)
    monkeypatch.setattr(sys.modules["noisegate.engine.session"], "_UNTRUSTED", "join_order")
    with pytest.raises(DataError, match=r"lie\.parquet contradicts itself: .* write it anew"):
        counted(tmp_path, "lie.parquet", unit=unit)


def test_a_connection_of_somebody_else_keeps_its_settings(tmp_path):
    pq.write_table(stray_days(), tmp_path / "t.parquet")
    with duckdb.connect() as connection:
        connection.execute("SET disabled_optimizers = 'join_order'")
        connection.execute(f"CREATE VIEW taps AS FROM '{tmp_path}/t.parquet'")
        count(spec(tmp_path, "taps"), connection=connection)
        assert connection.sql("SELECT current_setting('disabled_optimizers')").fetchall() == [("join_order",)]


ROWS = [f"{SECRET}{n:03d},{'AB'[n % 2]},2016-07-2{5 + n % 3}" for n in range(90)]


def csv_of(folder, *lines, name="taps.csv"):
    (folder / name).write_text("\n".join(lines))
    return name


def sentence(folder, source="taps.csv", **options):
    with pytest.raises(DataError) as caught:
        counted(folder, source, **options)
    message = str(caught.value)
    assert SECRET not in message
    assert "2016-07-2" not in message
    assert "\n" not in message
    assert caught.value.__cause__ is None
    return message


@pytest.mark.parametrize("last", [",", ",\n", ",,\n", ",x\n"])
@pytest.mark.parametrize("rows", [1, 3, 90])
def test_a_comma_too_many_loses_no_row(tmp_path, last, rows):
    csv_of(tmp_path, "card,line,day", *ROWS[:rows])
    with (tmp_path / "taps.csv").open("a") as file:
        file.write(last)
    try:
        assert counted(tmp_path, "taps.csv").tally.events == rows
    except DataError as refused:
        assert "taps.csv" in str(refused)  # noqa: PT017 - either every row counts, or the file is refused


@pytest.mark.parametrize(
    "lines",
    [
        ["card,line", *ROWS],
        ["card,line,day,more", *ROWS],
        ["card,line,day", *ROWS[:5], ROWS[5] + ",x,y", *ROWS[6:]],
        ["card,line,day", *ROWS[:5], SECRET, *ROWS[6:]],
        ["card;line;day", *ROWS],
        ['"card,line,day', *ROWS],
        ["", *ROWS],
    ],
)
def test_rows_that_do_not_fit_the_first_line_are_refused_and_not_shown(tmp_path, lines):
    csv_of(tmp_path, *lines)
    assert "taps.csv" in sentence(tmp_path)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("card,line,day,line", "Columns 2 and 4 of taps.csv have the same name; give them different ones."),
        ("card,line,day,Line", "Columns 2 and 4 of taps.csv have the same name; give them different ones."),
        ("card,line,day,", "Column 4 of taps.csv has no name in the first line; give it one."),
    ],
)
def test_a_header_names_each_column_once(tmp_path, header, says):
    csv_of(tmp_path, header, *(f"{row},A" for row in ROWS))
    assert sentence(tmp_path) == says


def test_a_first_line_that_is_empty_is_refused(tmp_path):
    """Found by damaged inputs: a return before anything else."""
    (tmp_path / "taps.csv").write_bytes(b"\rcard,line,day\n")
    assert sentence(tmp_path) == "The first line of taps.csv is empty; write the names of the columns there."


@pytest.mark.parametrize("row", [ROWS[0], f"card-{SECRET},A,2016-07-25", "0421 555 012,line one,soon"])
def test_a_file_without_a_header_shows_no_row(tmp_path, row):
    csv_of(tmp_path, row, *ROWS)
    message = sentence(tmp_path)
    assert message.startswith(
        "taps.csv has no column 'line', and its first line may be no line of column names"
    )
    assert "0421" not in message


def test_a_header_that_is_one_is_shown(tmp_path):
    csv_of(tmp_path, "kard,line,day", *ROWS)
    assert sentence(tmp_path, unit="person") == "taps.csv has no column 'card'; did you mean 'kard'?"


def test_files_with_other_columns_are_not_added_up(tmp_path):
    csv_of(tmp_path, "card,line,day", *ROWS, name="taps-1.csv")
    csv_of(tmp_path, "card,day,line", *ROWS, name="taps-2.csv")
    assert "taps-2.csv has other columns than taps-1.csv" in sentence(tmp_path, "taps-*.csv")


def test_what_is_no_gzip_is_refused(tmp_path):
    (tmp_path / "taps.csv.gz").write_text("card,line,day\n" + "\n".join(ROWS))
    assert sentence(tmp_path, "taps.csv.gz") == (
        "taps.csv.gz cannot be unpacked as gzip; it is damaged, or no such file."
    )
    whole = gzip.compress(("card,line,day\n" + "\n".join(ROWS * 500)).encode())
    (tmp_path / "taps.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "taps.csv.gz" in sentence(tmp_path, "taps.csv.gz")


def test_text_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "taps.csv").write_bytes("card,line,größe\n".encode("latin-1"))
    assert sentence(tmp_path) == "taps.csv is not UTF-8 text; save it as UTF-8."


def test_parquet_that_is_cut_or_overwritten_is_refused(tmp_path):
    pq.write_table(stray_days(), tmp_path / "good.parquet")
    octets = (tmp_path / "good.parquet").read_bytes()
    for place in range(0, len(octets), max(1, len(octets) // 40)):
        (tmp_path / "cut.parquet").write_bytes(octets[:place])
        sentence(tmp_path, "cut.parquet")
        (tmp_path / "bent.parquet").write_bytes(octets[:place] + b"\xff\xfe" + octets[place + 2 :])
        try:
            counted(tmp_path, "bent.parquet", unit="person")
        except DataError as refused:
            assert SECRET not in str(refused)  # noqa: PT017 - some bytes mean nothing


def test_a_part_with_fewer_than_no_rows_is_refused(tmp_path):
    """The engine would read such a file for ever."""
    pq.write_table(stray_days(60, 0), tmp_path / "t.parquet", compression="none", use_dictionary=False)
    octets = (tmp_path / "t.parquet").read_bytes()
    start = len(octets) - 8 - struct.unpack("<I", octets[-8:-4])[0]
    footer = octets[start:-8]
    for place in (n for n in range(len(footer)) if footer[n : n + 2] == b"\x16\x78"):
        bent = footer[:place] + b"\x16\x79" + footer[place + 2 :]
        (tmp_path / "bent.parquet").write_bytes(octets[:start] + bent + octets[-8:])
        if min(pq.read_metadata(tmp_path / "bent.parquet").row_group(0).num_rows, 0) < 0:
            assert "its parts do not add up to its rows" in sentence(tmp_path, "bent.parquet")
            return
    pytest.fail("no number of rows was found in the footer")


def test_a_pattern_that_means_the_whole_disk_ends(tmp_path):
    with limits.override(glob_entries=1000), pytest.raises(DataError, match="means more than 1,000 names"):
        counted(tmp_path, "/**/*.parquet")
    began = time.monotonic()
    with limits.override(glob_entries=20_000), pytest.raises(DataError):
        counted(tmp_path, "/**/**/**/nothing.csv")
    assert time.monotonic() - began < 10


def test_patterns_find_what_they_should(tmp_path):
    for place in ("a.csv", "x/b.csv", "x/y/c.csv", ".hidden/d.csv", "x/.e.csv"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        csv_of(tmp_path, "card,line,day", ROWS[0], name=place)
    for pattern, files in {
        "*.csv": 1,
        "**/*.csv": 3,
        "x/*/?.csv": 1,
        "**/[bc].csv": 2,
        "x/**/*.csv": 2,
    }.items():
        assert counted(tmp_path, pattern).tally.events == files


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "taps.csv")
    assert "are not a regular file" in sentence(tmp_path)


SPILLING = """
import os, sys, time
from noisegate.engine import own_connection
with own_connection() as connection:
    connection.execute("SET memory_limit = '30MB'; SET threads = 1")
    connection.execute("CREATE TEMP TABLE ids AS SELECT md5(i::VARCHAR) AS id FROM range(3000000) t(i)")
    place = connection.sql("SELECT current_setting('temp_directory')").fetchall()[0][0]
    files = [name for name in os.listdir(place) if name != "lock"]
    print(place, oct(os.stat(place).st_mode & 0o777), len(files), flush=True)
    time.sleep(60)
"""


@pytest.fixture
def own_temporary(tmp_path, monkeypatch):
    """A directory for temporary files of this test alone."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path / "tmp"
    tempfile.tempdir = None


def test_what_is_spilled_is_private_named_and_removed_after_a_kill(tmp_path, own_temporary, noisegate):
    process = subprocess.Popen(
        [sys.executable, "-c", SPILLING], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    place, mode, files = process.stdout.readline().split()
    assert Path(place).parent == own_temporary
    assert mode == "0o700"
    assert int(files) > 0
    assert not (tmp_path / ".tmp").exists()
    with own_connection():  # another start does not take it for one that was left
        assert Path(place).is_dir()
    assert leftovers() == ()
    process.kill()
    process.communicate()
    assert leftovers() == (Path(place),)
    code, out, _ = noisegate(
        "ledger", "check", "--ledger", tmp_path / "l.sqlite", "--json", tmp_path / "c.json"
    )
    assert code == 0
    assert Path(place).name in re.sub(r"\s", "", out)
    assert '"temporary"' in (tmp_path / "c.json").read_text()
    with own_connection():
        assert not Path(place).exists()
    assert list(own_temporary.iterdir()) == []


def test_an_interrupt_that_the_engine_reports_is_one(own_temporary):
    """Whatever the engine is asked when Ctrl-C comes, at the end as well, it is no fault of ours."""
    for error in (
        RuntimeError("Query interrupted"),
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
    ):
        with pytest.raises(KeyboardInterrupt), own_connection():
            raise error
    with pytest.raises(RuntimeError, match="another"), own_connection():
        raise RuntimeError("another")
    assert list(own_temporary.iterdir()) == []


def test_temporary_directories_of_others_are_left_alone(own_temporary):
    (own_temporary / "noisegate-spill-x").symlink_to(own_temporary.parent, target_is_directory=True)
    (own_temporary / "noisegate-new-y").mkdir()
    with own_connection() as connection:
        place = Path(connection.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert sorted(path.name for path in own_temporary.iterdir()) == ["noisegate-new-y", "noisegate-spill-x"]


def test_connections_come_and_go_beside_each_other(own_temporary):
    """Whoever looks for what was left behind may see a folder that is gone a moment later."""

    def come_and_go(_):
        for _ in range(8):
            with own_connection():
                pass
        return True

    with ThreadPoolExecutor(8) as people:
        assert all(people.map(come_and_go, range(8)))
    assert list(own_temporary.iterdir()) == []
