"""Events that cannot be used: one clear sentence, and nothing of the data in it."""

import datetime as dt
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.engine import connect
from noisegate.errors import DataError

SECRET = 7_000_000_000_000_000


def refused(town, *, connection=None, **given):
    with pytest.raises(DataError) as caught:
        town.count(town.spec(**given), connection=connection)
    assert str(SECRET)[:8] not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_a_file_that_does_not_exist(town):
    assert refused(town) == "The events 'taps.parquet' do not exist beside the spec."
    assert refused(town, source="x/*.csv") == "No file matches the glob 'x/*.csv'."
    assert (
        refused(town, source="no.duckdb::taps") == "The database 'no.duckdb' does not exist beside the spec."
    )


def test_a_source_that_is_nothing_known(town):
    assert refused(town, source="taps") == (
        "events.source 'taps' is not something to read; give a Parquet or CSV file, a glob of these, "
        "or 'file.duckdb::table'."
    )


def test_a_table_that_does_not_exist(town):
    with duckdb.connect(str(town.folder / "x.duckdb")) as database:
        database.execute("CREATE TABLE other AS SELECT 1 AS one")
    assert refused(town, source="x.duckdb::taps") == "There is no table 'x.duckdb::taps' in the database."
    with duckdb.connect() as connection:
        message = refused(town, source="taps", connection=connection)
    assert message == "There is no table 'taps' in the database."
    connection = connect(f"sqlite://{town.folder}/x.sqlite")
    assert refused(town, source="taps", connection=connection) == "There is no table 'taps' in the database."
    connection.disconnect()


def test_a_missing_column(town):
    town.write(town.events(20))
    assert (
        refused(town, events={"person": "card"})
        == "taps.parquet has no column 'card'; did you mean 'card_id'?"
    )
    dims = {"tap": {"column": "direction", "values": ["on", "off"]}}
    assert refused(town, dimensions=dims) == (
        "taps.parquet has no column 'direction'; it has card_id, mode, tap, tapped_at, stop."
    )


def test_an_empty_file(town):
    (town.folder / "taps.csv").touch()
    assert refused(town, source="taps.csv") == (
        "taps.csv is empty; a CSV file starts with a line of column names."
    )
    (town.folder / "taps.parquet").touch()
    assert refused(town).startswith("taps.parquet cannot be read: DuckDB reports an error of kind ")


@pytest.mark.parametrize("name", ["taps.parquet", "taps.csv"])
@pytest.mark.parametrize("unit", ["event", "person"])
def test_a_file_without_events(town, name, unit):
    town.write([], name)
    assert refused(town, source=name, unit=unit) == f"{name} holds no events."


def test_a_file_that_is_something_else(town):
    (town.folder / "taps.parquet").write_text(f"card {SECRET} was here")
    assert refused(town).startswith("taps.parquet cannot be read: DuckDB reports an error of kind ")


@pytest.mark.parametrize("unit", ["event", "person-day"])
@pytest.mark.parametrize(
    "bad", ["25/07/2016 06:15", "soon", "2016-13-45 06:15:00", "2016-07-25 06:15:00+10:00"]
)
def test_text_that_is_no_time(town, unit, bad):
    events = town.events(300, strays=False)
    town.write(events, "good.csv")
    text = (town.folder / "good.csv").read_text().splitlines()
    text.insert(150, f'{SECRET},"bus","on","{bad}","Central"')
    (town.folder / "taps.csv").write_text("\n".join(text))
    message = refused(town, source="taps.csv", unit=unit)
    assert message == (
        "Column 'tapped_at' of taps.csv holds text that is not a time; write it as 2016-07-25 06:15:00, "
        "or say with events.dates that the day or the month comes first, and set events.timezone if it carries a UTC offset."
    )


def test_a_csv_file_with_a_broken_row(town):
    (town.folder / "taps.csv").write_text(
        f"card_id,mode,tap,tapped_at,stop\n1,bus,on,2016-07-25,Central\n{SECRET},bus\n"
    )
    assert refused(town, source="taps.csv") == (
        "taps.csv holds lines that are no row of its 5 columns, or in which a quotation mark is not closed, and a row is one line; "
        "mend them, or write the events as Parquet."
    )


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        (
            "tapped_at",
            np.array([1.0]),
            "holds DOUBLE; dimension date needs a date: a timestamp, or text such as",
        ),
        (
            "tapped_at",
            np.array([5]),
            "holds BIGINT; dimension date needs a date: a timestamp, or text such as",
        ),
        ("stop", [["Central"]], "holds VARCHAR[]; plain text or numbers are needed."),
        ("stop", [{"name": "Central"}], "plain text or numbers are needed."),
        ("card_id", np.array([1.5]), "holds DOUBLE, which can blur persons; give whole numbers or text."),
        ("card_id", [[SECRET]], "holds BIGINT[]; plain text or numbers are needed."),
        (
            "tapped_at",
            pa.array([dt.datetime.fromisoformat("2016-07-25")], pa.timestamp("us", "UTC")),
            "holds times with a UTC offset; say with events.timezone whose clock the table is about.",
        ),
    ],
)
def test_a_column_of_the_wrong_type(town, column, values, sentence):
    table = town.table(town.events(1, strays=False))
    pq.write_table(
        table.set_column(table.column_names.index(column), column, pa.array(values)),
        town.folder / "taps.parquet",
    )
    message = refused(town)
    assert message.startswith(f"Column {column!r} of taps.parquet holds ")
    assert sentence in message


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (
            "card_id REAL, tapped_at TIMESTAMP, stop TEXT",
            "Column 'card_id' of taps holds float64; a person needs whole numbers or text.",
        ),
        (
            "card_id TEXT, tapped_at TEXT, stop TEXT",
            "Column 'tapped_at' of taps holds string; dimension date needs a date or a timestamp.",
        ),
        (
            "card_id TEXT, tapped_at TIMESTAMP",
            "taps has no column 'stop'; it has card_id, tapped_at, mode, tap.",
        ),
    ],
)
def test_a_table_of_another_engine_with_the_wrong_columns(town, declared, sentence):
    connection = connect(f"sqlite://{town.folder}/x.sqlite")
    connection.raw_sql(f"CREATE TABLE taps ({declared}, mode TEXT, tap TEXT)")
    assert refused(town, source="taps", connection=connection) == sentence
    connection.disconnect()


def test_a_table_of_another_engine_without_events(town):
    connection = connect(f"sqlite://{town.folder}/x.sqlite")
    connection.raw_sql(
        "CREATE TABLE taps (card_id TEXT, mode TEXT, tap TEXT, tapped_at TIMESTAMP, stop TEXT)"
    )
    for unit in ("event", "person"):
        assert refused(town, source="taps", unit=unit, connection=connection) == "taps holds no events."
    connection.disconnect()


def test_an_error_of_another_engine_is_not_quoted(town, monkeypatch):
    connection = connect(f"sqlite://{town.folder}/x.sqlite")
    connection.raw_sql(
        "CREATE TABLE taps (card_id TEXT, mode TEXT, tap TEXT, tapped_at TIMESTAMP, stop TEXT)"
    )

    class DriverError(Exception):
        pass

    def fail(*_, **__):
        raise DriverError(f"row of card {SECRET}")

    monkeypatch.setattr(type(connection), "to_pyarrow", fail)
    message = refused(town, source="taps", connection=connection)
    connection.disconnect()
    said, mark, rest = message.partition(" Its own words, which may quote the data, are in ")
    assert said == "taps cannot be counted: the engine reports an error of kind 'DriverError'."
    assert mark
    log = Path(rest.removesuffix(", for you alone."))
    assert str(SECRET) in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("scheme", ["s3", "gs", "https", "hdfs", "abfss"])
def test_events_elsewhere_are_refused_by_name(town, scheme, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # no extension of DuckDB is installed there
    message = refused(town, source=f"{scheme}://key:secret@bucket/taps.parquet?sign=7000")
    assert message.startswith(f"The events are at {scheme}://…/taps.parquet, which DuckDB")
    assert "--engine spark" in message
    assert "secret" not in message
    assert "beside the spec" in message
    assert "do not exist" not in message
