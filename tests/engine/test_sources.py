"""One suite that every source of events must pass: same events, same counts, same tally."""

import datetime as dt
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from noisegate.engine import connect
from noisegate.errors import DataError, SpecError

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


@contextmanager
def closed(connection):
    """Close a connection of DuckDB or Ibis at the end."""
    yield
    if connection is not None:
        getattr(connection, "disconnect", getattr(connection, "close", None))()


def check_contract(town, place, *, unit, **grammar):
    """The source counts the same as Parquet does, which other tests hold against a simple counter."""
    events = town.events(1500)
    town.write(events, "reference.parquet")
    reference = town.count(town.spec(source="reference.parquet", unit=unit, **grammar))
    given, connection = place(town, events)
    with closed(connection):
        counts = town.count(town.spec(unit=unit, **given, **grammar), connection=connection)
    assert counts.cells.tolist() == reference.cells.tolist()
    assert counts.raw_counts.tolist() == reference.raw_counts.tolist()
    assert counts.tally == reference.tally
    assert list(counts.tally.outside) == list(reference.tally.outside)


def check_bounds(town, place):
    """Six persons, at a stop each, have one to six cells; of more than three exactly three are kept."""
    start = dt.datetime.fromisoformat("2016-07-25")
    events = [
        {
            "card_id": n,
            "mode": "bus",
            "tap": "on",
            "tapped_at": start + dt.timedelta(hours=hour),
            "stop": stop,
        }
        for n, stop in enumerate(town.stops)
        for hour in [*range(n + 1), 0]
    ]
    given, connection = place(town, events)
    spec = town.spec(unit="person", max_cells=3, **given)
    with closed(connection):
        counts = town.count(spec, connection=connection)
    found = town.labelled(spec, counts)
    assert [sum(cell[-1] == stop for cell in found) for stop in town.stops] == [1, 2, 3, 3, 3, 3]
    assert set(found.values()) == {1}
    assert (counts.tally.repeated, counts.tally.beyond) == (6, 1 + 2 + 3)


@pytest.mark.parametrize("place", SOURCES)
@pytest.mark.parametrize("unit", UNITS)
def test_counts_are_the_same_everywhere(town, place, unit):
    check_contract(town, place, unit=unit)


@pytest.mark.parametrize("place", [in_csv, in_sqlite])
def test_merged_counts_are_the_same_everywhere(town, place):
    check_contract(town, place, unit="person-day", **MERGED)


@pytest.mark.parametrize("place", [in_csv, in_duckdb_connection, in_sqlite])
def test_bounds_hold_everywhere(town, place):
    check_bounds(town, place)


@pytest.mark.parametrize("place", [in_parquet, in_sqlite])
def test_persons_that_floats_would_blur_are_told_apart(town, place):
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
def test_a_connection_is_left_as_it_was(town, place):
    given, connection = place(town, town.events(50))
    names = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() ORDER BY 1"
    with closed(connection):
        raw = getattr(connection, "con", connection)
        before = raw.sql(names).fetchall()
        town.count(town.spec(unit="person", **given), connection=connection)
        assert raw.sql(names).fetchall() == before


@pytest.fixture(scope="module")
def postgres():
    """A throw-away PostgreSQL server that is reached by a socket."""
    programs = shutil.which("pg_ctl")
    if programs is None or shutil.which("initdb") is None:
        pytest.skip("no PostgreSQL server is installed (initdb and pg_ctl were not found)")
    home = Path(tempfile.mkdtemp(prefix="ng-pg-"))
    user = {}
    if os.geteuid() == 0:
        if "postgres" not in {entry.pw_name for entry in pwd.getpwall()}:
            pytest.skip("PostgreSQL does not run as root, and there is no user 'postgres'")
        shutil.chown(home, "postgres", "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}

    def server(*command):
        subprocess.run(command, check=True, capture_output=True, cwd="/", **user)

    try:
        server("initdb", "-D", f"{home}/data", "-U", "postgres", "-A", "trust", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        server("pg_ctl", "-D", f"{home}/data", "-l", f"{home}/log", "-o", options, "-w", "start")
        yield f"postgresql://postgres@/postgres?host={home}"
        server("pg_ctl", "-D", f"{home}/data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_postgresql_counts_the_same(town, postgres, unit):
    import psycopg

    def in_postgres(_, events):
        with psycopg.connect(postgres, autocommit=True) as database:
            database.execute("DROP TABLE IF EXISTS taps")
            database.execute(
                "CREATE TABLE taps (card_id bigint, mode text, tap text, tapped_at timestamp, stop text)"
            )
            with database.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO taps VALUES (%s, %s, %s, %s, %s)",
                    [tuple(event.values()) for event in events],
                )
        return {"source": "public.taps"}, connect(postgres)

    check_contract(town, in_postgres, unit=unit, **(MERGED if unit == "person" else {}))
    if unit == "person":
        check_bounds(town, in_postgres)


def test_duckdb_needs_no_connection():
    assert connect("duckdb") is None


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
    assert caught.value.__suppress_context__
