"""PostgreSQL: the contract of every engine, on a server that the tests start and stop."""

import datetime as dt
import re
import signal
import time
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from scipy.stats import chisquare

from noisegate.engine import connect
from noisegate.errors import DataError
from noisegate.releases import release

psycopg = pytest.importorskip("psycopg")
MERGED = {
    "dimensions": {
        "location": {"column": "stop", "values": "stops.csv", "group_by": {"postcode": {"mode": "bus"}}}
    },
    "merge": [{"dimension": "time", "into": "4h", "where": {"time": {"from": "20:00", "to": "04:00"}}}],
}
PLAIN = "card_id bigint, mode text, tap text, tapped_at timestamp, stop text"


@pytest.fixture(scope="module")
def postgres(new_server):
    """A throw-away PostgreSQL server that is reached by a socket."""
    with new_server() as server:
        yield server.url


@pytest.fixture
def in_postgres(postgres):
    """A function that puts events into a table with these columns."""

    def put(columns=PLAIN):
        def place(_, events):
            with psycopg.connect(postgres, autocommit=True) as database:
                database.execute("DROP TABLE IF EXISTS taps")
                database.execute("DROP TYPE IF EXISTS way")
                database.execute("CREATE TYPE way AS ENUM ('train', 'bus', 'monorail')")
                database.execute(f"CREATE TABLE taps ({columns})")
                with database.cursor() as cursor:
                    rows = [tuple(event.values()) for event in events]
                    cursor.executemany("INSERT INTO taps VALUES (%s, %s, %s, %s, %s)", rows)
            return {"source": "public.taps"}, connect(postgres)

        return place

    return put


@pytest.mark.parametrize(
    ("unit", "more"), [("event", {}), ("event", MERGED), ("person-day", {}), ("person", MERGED)]
)
def test_postgresql_counts_the_same(town, in_postgres, check_contract, unit, more):
    check_contract(town, in_postgres(), unit=unit, **more)


def test_every_kind_of_dimension_is_counted_as_elsewhere(town, in_postgres, check_kinds):
    check_kinds(town, in_postgres())


def test_bounds_hold_in_postgresql(town, in_postgres, check_bounds):
    check_bounds(town, in_postgres())


def test_nested_values_enum_columns_and_text_ids(town, in_postgres, check_contract):
    columns = PLAIN.replace("mode text", "mode way").replace("card_id bigint", "card_id text")
    only = {"location": {"column": "stop", "values": "stops.csv"}}
    check_contract(town, in_postgres(columns), unit="person-day", dimensions=only)


@pytest.mark.parametrize("kind", ["timestamptz", "text"])
def test_times_with_an_offset_are_read_on_the_clock_of_the_table(town, in_postgres, kind):
    sydney = dt.timezone(dt.timedelta(hours=10))
    events = town.events(400, strays=False)
    given, connection = in_postgres(PLAIN.replace("timestamp", kind))(
        town,
        [
            event | {"tapped_at": at if kind == "timestamptz" else at.isoformat()}
            for event in events
            if (at := event["tapped_at"].replace(tzinfo=sydney))
        ],
    )
    spec = town.spec(**given, events={"timezone": "Australia/Sydney"})
    assert town.labelled(spec, town.count(spec, connection=connection)) == town.expected(
        events, unit="person-day"
    )
    with pytest.raises(DataError, match=r"UTC offset; say with events\.timezone|text that is not a time"):
        town.count(town.spec(**given), connection=connection)
    connection.disconnect()


@pytest.mark.parametrize(
    ("order", "written"), [("day-first", "%d/%m/%Y %H:%M"), ("month-first", "%m-%d-%Y %H:%M")]
)
def test_dates_with_the_day_or_the_month_first(town, in_postgres, order, written):
    events = town.events(300, strays=False)
    given, connection = in_postgres(PLAIN.replace("timestamp", "text"))(
        town, [event | {"tapped_at": event["tapped_at"].strftime(written)} for event in events]
    )
    spec = town.spec(**given, events={"dates": order})
    found = town.labelled(spec, town.count(spec, connection=connection))
    assert found == town.expected(events, unit="person-day")
    connection.disconnect()


def test_lots_are_drawn_evenly_in_the_server(town, in_postgres):
    """A person with five cells keeps two: every cell equally often, over the persons. Size 1e-9; a favoured cell is seen."""
    start = dt.datetime.fromisoformat("2016-07-25 06:00")
    events = [
        {
            "card_id": n,
            "mode": "bus",
            "tap": "on",
            "tapped_at": start + dt.timedelta(hours=hour),
            "stop": "Lee St",
        }
        for n in range(2000)
        for hour in range(5)
    ]
    given, connection = in_postgres()(town, events)
    spec = town.spec(unit="person", max_cells=2, **given)
    found = town.count(spec, connection=connection).raw_counts
    connection.disconnect()
    assert found.sum() == 4000
    assert chisquare(found).pvalue > 1e-9
    assert chisquare([1000, 1000, 1000, 1000 - 350, 350]).pvalue < 1e-9


def test_no_person_comes_out_of_the_server(town, in_postgres, monkeypatch):
    """What is asked for are four numbers for each cell; the only text that comes back are names of columns."""
    asked = []
    execute = psycopg.Cursor.copy

    def watched(self, statement, *arguments, **options):
        asked.append(statement.as_string(self) if hasattr(statement, "as_string") else str(statement))
        return execute(self, statement, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "copy", watched)
    given, connection = in_postgres()(town, town.events(300, persons=3))
    counts = town.count(town.spec(unit="person", max_cells=2, **given), connection=connection)
    connection.disconnect()
    assert len(asked) == 2
    for half, statement in zip("<>", sorted(asked, key=lambda one: ", 0) >= 0" in one), strict=True):
        assert statement.startswith("COPY (SELECT key, sum(n), sum(CASE")
        assert "gen_random_uuid()" in statement
        assert f'WHERE coalesce(hashint8("card_id"::bigint), 0) {half}' in statement
    assert counts.tally.beyond > 0


def test_two_connections_count_one_state_of_the_table(town, postgres, in_postgres, monkeypatch):
    """Whatever is written after the first of them has begun: every event once, those of before."""
    copy, written = psycopg.Cursor.copy, []

    def watched(self, *arguments, **options):
        if not written:
            written.append(True)
            with psycopg.connect(postgres, autocommit=True) as database:
                database.execute("INSERT INTO taps SELECT card_id + 1, mode, tap, tapped_at, stop FROM taps")
        return copy(self, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "copy", watched)
    events = town.events(300)
    given, connection = in_postgres()(town, events)
    spec = town.spec(**given)
    counts = town.count(spec, connection=connection)
    connection.disconnect()
    assert counts.tally.events == len(events)
    assert town.labelled(spec, counts) == town.expected(events, unit="person-day")


@pytest.mark.parametrize("why", ["no room", "policy", "view", "transaction"])
def test_one_connection_counts_alone_where_a_second_may_see_less(town, in_postgres, monkeypatch, why):
    events = town.events(300)
    given, connection = in_postgres()(town, events)
    raw, real, asked = connection.con, psycopg.connect, []
    if why == "no room":

        def full(*_, **__):
            asked.append(True)
            raise psycopg.OperationalError("sorry, too many clients already")

        monkeypatch.setattr(psycopg, "connect", full)
    elif why == "policy":
        raw.execute("ALTER TABLE taps ENABLE ROW LEVEL SECURITY")
    elif why == "view":
        raw.execute("CREATE TEMP VIEW mine AS SELECT * FROM taps")
        given = {"source": "mine"}
    else:
        raw.execute("BEGIN")
    if why != "no room":
        monkeypatch.setattr(psycopg, "connect", lambda *_, **__: pytest.fail("a second connection"))
    spec = town.spec(**given)
    assert town.labelled(spec, town.count(spec, connection=connection)) == town.expected(
        events, unit="person-day"
    )
    assert bool(asked) == (why == "no room")
    monkeypatch.setattr(psycopg, "connect", real)
    connection.disconnect()


def test_a_second_connection_that_dies_ends_the_count(town, postgres, in_postgres, monkeypatch, tmp_path):
    """Half of the persons would be missing: one sentence instead, no reservation, no release, and the first connection can be used again."""
    copy = psycopg.Cursor.copy

    def dying(self, statement, *arguments, **options):
        if ", 0) >= 0" in statement.as_string(self):
            with psycopg.connect(postgres, autocommit=True) as database:
                database.execute("SELECT pg_terminate_backend(%s)", [self.connection.info.backend_pid])
        return copy(self, statement, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "copy", dying)
    given, connection = in_postgres()(town, town.events(300))
    ledger, out = tmp_path / "ledger.sqlite", tmp_path / "out"
    with pytest.raises(DataError, match="cannot be counted: the engine reports an error"):
        release(town.spec(**given, population="town"), out=out, engine=connection, ledger=ledger, yes=True)
    assert not out.exists()
    assert not ledger.exists()
    monkeypatch.setattr(psycopg.Cursor, "copy", copy)
    assert connection.con.execute("SELECT 1").fetchone() == (1,)
    connection.disconnect()


def test_lookups_are_hash_joins_and_events_are_read_once(town, postgres, in_postgres, monkeypatch):
    """The plan of the very statement that counts, with its arguments and settings, as if there were twenty million events: no loop over
    lookups, no sort of all events to join them, no second look at the table.
    """
    asked, copy = [], psycopg.Cursor.copy
    settings, execute = [], psycopg.Cursor.execute

    def heard(self, statement, *arguments, **options):
        if str(statement).startswith("SET LOCAL"):
            settings.append(statement)
        return execute(self, statement, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", heard)

    def watched(self, statement, arguments=None, **options):
        asked.append((statement.as_string(self), arguments))
        return copy(self, statement, arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "copy", watched)
    for unit in ("event", "person-day"):
        given, connection = in_postgres()(town, town.events(3000))
        town.count(town.spec(unit=unit, **given), connection=connection)
        connection.disconnect()
        statement, arguments = asked[-1]
        query = statement.removeprefix("COPY (").rpartition(") TO STDOUT")[0]
        monkeypatch.setattr(psycopg.Cursor, "execute", execute)
        with psycopg.connect(postgres, autocommit=True) as database, database.transaction():
            database.execute("ANALYZE taps")
            database.execute("UPDATE pg_class SET reltuples = 2e7 WHERE relname = 'taps'")
            for setting in settings:
                database.execute(setting)
            plan = "\n".join(row[0] for row in database.execute(f"EXPLAIN {query}", arguments).fetchall())
        assert "Hash" in plan
        assert "Nested Loop" not in plan
        assert not re.search("Merge (Left )?Join", plan)
        assert any("enable_mergejoin = 'off'" in setting for setting in settings)  # lists of thousands
        assert len(re.findall("Scan on taps", plan)) == 1
        assert ("card_id" in query) == (unit != "event")


def test_what_cannot_be_counted_is_said(town, in_postgres):
    given, connection = in_postgres()(town, [])
    with pytest.raises(DataError, match=r"public\.taps holds no events"):
        town.count(town.spec(**given), connection=connection)
    with pytest.raises(DataError, match=r"There is no table 'public\.trips' in the database"):
        town.count(town.spec(source="public.trips"), connection=connection)
    with pytest.raises(DataError, match="has no column 'person'"):
        town.count(town.spec(**given, events={"person": "person"}), connection=connection)
    connection.disconnect()
    floats = PLAIN.replace("card_id bigint", "card_id float8")
    given, connection = in_postgres(floats)(town, town.events(5))
    with pytest.raises(DataError, match="holds double precision; a person needs whole numbers or text"):
        town.count(town.spec(**given), connection=connection)
    connection.disconnect()


def test_bounds_hold_whatever_persons_do(town, in_postgres, check_any_bounds):
    check_any_bounds(town, in_postgres(), examples=25)


def test_a_connection_that_is_lost_costs_nothing(town, postgres, in_postgres, tmp_path):
    """The server ends our connection while it counts: one sentence, no reservation, no release."""
    given, connection = in_postgres()(town, town.events(300))
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [connection.con.info.backend_pid])
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(
        DataError, match=r"public\.taps cannot be counted: the engine reports an error of kind"
    ) as caught:
        release(town.spec(**given, population="town"), out=tmp_path / "out", engine=connection, ledger=ledger)
    assert "Its own words" in str(caught.value)
    assert not ledger.exists()
    assert not (tmp_path / "out").exists()
    given, connection = in_postgres()(town, town.events(300))
    spec = town.spec(**given, population="town")
    made = release(spec, out=tmp_path / "out", engine=connection, ledger=ledger)
    connection.disconnect()
    assert made.tally.events == 300


@pytest.mark.parametrize("half", ["<", ">="])
def test_ctrl_c_ends_both_connections(town, postgres, in_postgres, monkeypatch, half):
    """Whichever of them hears of it: it stays Ctrl-C, and nothing goes on in the server."""
    copy = psycopg.Cursor.copy

    @contextmanager
    def stopped(self, statement, *arguments, **options):
        with copy(self, statement, *arguments, **options) as answer:
            if f", 0) {half} 0" in statement.as_string(self):
                next(iter(answer))
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(psycopg.Cursor, "copy", stopped)
    given, connection = in_postgres()(town, town.events(300))
    with pytest.raises(KeyboardInterrupt):
        town.count(town.spec(**given), connection=connection)
    connection.disconnect()
    with psycopg.connect(postgres, autocommit=True) as database:
        asking = "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE 'COPY%'"
        assert database.execute(asking).fetchone() == (0,)


def test_ctrl_c_while_the_other_half_is_waited_for_ends_it(town, in_postgres, monkeypatch):
    """One half is done, and the other would take minutes."""
    copy = psycopg.Cursor.copy
    begun = Event()

    @contextmanager
    def slow(self, statement, *arguments, **options):
        with copy(self, statement, *arguments, **options) as answer:
            yield answer
        if ", 0) >= 0" in statement.as_string(self):
            begun.set()
            self.execute("SELECT pg_sleep(120)")

    def stop():
        begun.wait(30)
        time.sleep(0.3)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(psycopg.Cursor, "copy", slow)
    given, connection = in_postgres()(town, town.events(300))
    started = time.monotonic()
    thread = Thread(target=stop)
    # A shell that runs the tests in the background has them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            town.count(town.spec(**given), connection=connection)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 20
    connection.disconnect()


def test_what_a_driver_says_after_ctrl_c_is_still_ctrl_c(town, in_postgres, monkeypatch):
    """Clearing up after it may fail, and that error must not take its place."""

    @contextmanager
    def broken(*_, **__):
        try:
            raise KeyboardInterrupt
        finally:
            raise psycopg.OperationalError("consuming input failed")
        yield

    given, connection = in_postgres()(town, town.events(60))
    monkeypatch.setattr(psycopg.Cursor, "copy", broken)
    with pytest.raises(KeyboardInterrupt):
        town.count(town.spec(**given), connection=connection)
    connection.disconnect()


@pytest.mark.parametrize("unit", ["event", "person-day"])
def test_a_day_without_anybody_is_released_like_any(town, in_postgres, check_empty_days, unit):
    check_empty_days(town, in_postgres(), unit=unit)
