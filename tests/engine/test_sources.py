"""One suite that every source of events must pass: same events, same counts, same tally."""

import hashlib
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.engine import connect, count
from noisegate.errors import DataError, SpecError
from noisegate.laws import OsNoise
from noisegate.places import begin_digest, file_digest
from noisegate.spec import parse_spec

UNITS = ["event", "person-day", "person"]


def in_parquet(town, events):
    town.write(events)
    return {"source": "taps.parquet"}, None


def in_csv(town, events):
    town.write(events, "taps.csv")
    return {"source": "taps.csv"}, None


def in_semicolons(town, events):
    town.write(events, "commas.csv")
    text = (town.folder / "commas.csv").read_text()
    (town.folder / "taps.csv").write_text(text.replace(",", ";"))
    return {"source": "taps.csv"}, None


def in_zipped_csv(town, events):
    town.write(events, "taps.csv")
    subprocess.run(["gzip", town.folder / "taps.csv"], check=True)
    return {"source": "taps.csv.gz"}, None


def in_parquet_files(town, events):
    town.write(events[:700], "taps-1.parquet")
    town.write(events[700:], "taps-2.parquet")
    return {"source": "taps-*.parquet"}, None


def in_csv_files(town, events):
    (town.folder / "days").mkdir()
    town.write(events[:10], "days/1.csv")
    town.write(events[10:], "days/2.csv")
    return {"source": "days/*.csv"}, None


def in_a_file_with_brackets(town, events):
    town.write(events, "taps [1].parquet")
    return {"source": "taps [1].parquet"}, None


def in_duckdb_file(town, events):
    town.write(events)
    with duckdb.connect(str(town.folder / "taps.duckdb")) as database:
        database.execute(f"CREATE TABLE taps AS FROM '{town.folder}/taps.parquet'")
    return {"source": "taps.duckdb::taps"}, None


def in_duckdb_connection(town, events):
    in_duckdb_file(town, events)
    return {"source": "taps"}, duckdb.connect(str(town.folder / "taps.duckdb"))


def in_ibis_duckdb(town, events):
    in_duckdb_file(town, events)
    return {"source": "main.taps"}, connect(f"duckdb://{town.folder}/taps.duckdb")


def in_sqlite(town, events):
    path = town.folder / "taps.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE taps (card_id INTEGER, mode TEXT, tap TEXT, tapped_at TIMESTAMP, stop TEXT)"
        )
        rows = [(*event.values(),) for event in events]
        rows = [
            [str(cell) if cell is not None and n == 3 else cell for n, cell in enumerate(row)] for row in rows
        ]
        database.executemany("INSERT INTO taps VALUES (?, ?, ?, ?, ?)", rows)
    database.close()
    return {"source": "taps"}, connect(f"sqlite://{path}")


SOURCES = [
    in_parquet,
    in_csv,
    in_semicolons,
    in_zipped_csv,
    in_parquet_files,
    in_csv_files,
    in_a_file_with_brackets,
    in_duckdb_file,
    in_duckdb_connection,
    in_ibis_duckdb,
    in_sqlite,
]
MERGED = {
    "dimensions": {
        "location": {"column": "stop", "values": "stops.csv", "group_by": {"postcode": {"mode": "bus"}}}
    },
    "merge": [{"dimension": "time", "into": "4h", "where": {"time": {"from": "20:00", "to": "04:00"}}}],
}


@pytest.mark.parametrize("place", SOURCES)
@pytest.mark.parametrize("unit", UNITS)
def test_counts_are_the_same_everywhere(town, check_contract, place, unit):
    check_contract(town, place, unit=unit)


@pytest.mark.parametrize("place", [in_csv, in_sqlite])
def test_merged_counts_are_the_same_everywhere(town, check_contract, place):
    check_contract(town, place, unit="person-day", **MERGED)


@pytest.mark.parametrize("place", [in_csv, in_duckdb_connection, in_sqlite])
def test_bounds_hold_everywhere(town, check_bounds, place):
    check_bounds(town, place)


def in_sqlite_anew(town, events):
    (town.folder / "taps.sqlite").unlink(missing_ok=True)
    return in_sqlite(town, events)


@pytest.mark.parametrize(("place", "examples"), [(in_parquet, 60), (in_sqlite_anew, 15)])
def test_bounds_hold_whatever_persons_do(town, check_any_bounds, place, examples):
    check_any_bounds(town, place, examples=examples)


@pytest.mark.parametrize("place", [in_parquet, in_sqlite])
def test_persons_that_floats_would_blur_are_told_apart(town, closed, place):
    events = town.events(600, persons=2, strays=False)
    for event in events:
        event["stop"] = list(town.stops)[event["card_id"] % 2]
        event["card_id"] = 2**60 + event["card_id"] % 2
    given, connection = place(town, events)
    spec = town.spec(unit="person", max_cells=5, **given)
    with closed(connection):
        found = town.labelled(spec, town.count(spec, connection=connection))
    assert sorted(sum(cell[-1] == stop for cell in found) for stop in list(town.stops)[:2]) == [5, 5]


@pytest.mark.parametrize("place", [in_duckdb_connection, in_ibis_duckdb])
def test_a_connection_is_left_as_it_was(town, closed, place):
    given, connection = place(town, town.events(50))
    names = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() ORDER BY 1"
    with closed(connection):
        raw = getattr(connection, "con", connection)
        before = raw.sql(names).fetchall()
        town.count(town.spec(unit="person", **given), connection=connection)
        assert raw.sql(names).fetchall() == before


def test_duckdb_needs_no_connection():
    assert connect("duckdb") is None


def test_an_engine_that_nobody_has_tried_is_refused_by_name(town):
    for url in ("mysql://me:secret@host/db", "clickhouse://host/db", "polars://"):
        with pytest.raises(SpecError, match="is not one of those that are tried to hold persons") as caught:
            connect(url)
        assert "secret" not in str(caught.value)
    other = SimpleNamespace(name="mysql")
    with pytest.raises(SpecError, match="'mysql' is not one of those"):
        town.count(town.spec(source="taps"), connection=other)


def test_an_unknown_engine_is_refused():
    with pytest.raises(
        SpecError, match=r"engine must be one of duckdb, spark, .* got 'sparc'\. Did you mean 'spark'\?"
    ):
        connect("sparc")


@pytest.mark.parametrize("url", ["nosuch://me:secret@host/db", "postgresql://me:secret@127.0.0.1:1/none"])
def test_an_engine_that_fails_does_not_print_its_password(url):
    with pytest.raises((SpecError, DataError)) as caught:
        connect(url)
    assert url.partition("://")[0] in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("url", "extra"), [("sqlite:///taps.db", "sqlite"), ("postgresql://host/base", "postgres")]
)
def test_an_engine_that_needs_ibis_names_what_to_install(monkeypatch, url, extra):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(SpecError, match=rf"noisegate\[{extra}\]"):
        connect(url)


@pytest.mark.parametrize("unit", ["event", "person"])
@pytest.mark.parametrize("size", [1, 4, 5])
def test_lists_are_looked_up_as_they_are_spelt(tmp_path, size, unit):
    """Short lists are compared, long ones joined: the same, whatever the texts hold."""
    texts = ["it's", 'a "b"', "é", "A", "a"][:size]
    for odd in ("line\nbreak", "tab\tbed", "%s {n}"):
        values = [*texts[1:], odd]
        rows = [*values, *values, "a ", "B", None]
        cards = list(range(len(rows)))
        pq.write_table(pa.table({"card": cards, "kind": pa.array(rows, pa.string())}), tmp_path / "t.parquet")
        spec = {
            "name": "t",
            "population": "p",
            "events": {"source": "t.parquet", "person": "card"},
            "dimensions": {"kind": {"column": "kind", "values": values}},
            "tables": {"base": ["kind"]},
            "privacy": {"unit": unit, "epsilon": 1} | ({} if unit == "event" else {"max_cells": 1}),
        }
        counts = count(parse_spec(spec, folder=tmp_path), entropy=OsNoise())
        assert counts.raw_counts.tolist() == [2] * size
        assert counts.tally.outside == {"kind is missing": 1, "kind is not in the list": 2}


def test_a_digest_that_was_begun_is_that_of_the_file_as_it_is(tmp_path):
    path = tmp_path / "taps.csv"
    path.write_bytes(b"a,b\n1,2\n")
    begin_digest(path)
    assert file_digest(path) == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    path.write_bytes(b"a,b\n3,4\n")
    assert file_digest(path) == hashlib.sha256(b"a,b\n3,4\n").hexdigest()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file_digest(path)
    begin_digest(path)
    path.write_bytes(b"new")
    assert file_digest(path) == hashlib.sha256(b"new").hexdigest()


def test_files_of_a_delta_table_are_refused(town):
    """Which of their rows are deleted only the log of the table says."""
    (town.folder / "taps" / "_delta_log").mkdir(parents=True)
    (town.folder / "taps" / "day=1").mkdir()
    for name in ("taps/a.parquet", "taps/day=1/b.parquet"):
        town.write(town.events(20), name)
        for source in (name, "taps/**/*.parquet"):
            with pytest.raises(DataError, match=r"lie in 'taps', which is a Delta table.*or write a copy"):
                town.count(town.spec(source=source))


def test_a_place_that_says_no_is_said_with_a_way_out(town):
    """DuckDB with its extension, and without a secret for the place."""
    source = sys.modules["noisegate.engine.source"]

    class Far:
        def execute(self, _):
            return self

        def sql(self, _):
            raise duckdb.HTTPException(
                "HTTP GET error: 403 for https://bucket.s3.amazonaws.com/key?secret=abc"
            )

    with pytest.raises(DataError) as caught:
        source.open_source("s3://bucket/taps.parquet", Far(), folder=town.folder, own=True)
    said = str(caught.value)
    assert "s3://…: check the address, and that DuckDB has a secret for it" in said
    assert "abc" not in said
    log = re.search(r"are in (\S+\.log)", said)[1]
    assert Path(log).stat().st_mode & 0o777 == 0o600
    assert "403" in Path(log).read_text()
