"""The ledger on a server: addresses, secrets, rights, and a missing driver."""

import subprocess
import sys

import pytest

from noisegate.errors import DataError, GateError, InternalError, NoisegateError, OutputError, SpecError
from noisegate.ledger import open_ledger

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
_postgres = pytest.importorskip("noisegate.ledger._postgres")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql://me:s3cret@db.example:5433/books?sslmode=require",
            "postgresql://me@db.example:5433/books",
        ),
        ("postgres://db.example/books?password=s3cret&user=me", "postgres://db.example/books"),
        ("postgresql://me:s3c@ret@db/books", "postgresql://me@db/books"),
        ("postgresql://[s3cret", "postgresql://…"),
    ],
)
def test_a_password_is_never_shown(url, shown):
    assert _postgres.without_password(url) == shown


def test_a_server_that_does_not_answer_is_bad_input_without_the_password():
    with pytest.raises(DataError) as caught:
        open_ledger("postgresql://me:s3cret@127.0.0.1:1/books")
    assert str(caught.value) == (
        "The database of the ledger postgresql://me@127.0.0.1:1/books cannot be reached or does not let us in. "
        "Check its address, user and password."
    )
    assert caught.value.__cause__ is None


def test_an_address_that_makes_no_sense_is_bad_input_without_the_password():
    with pytest.raises(SpecError, match="is not an address that PostgreSQL understands") as caught:
        open_ledger("postgresql://me:s3cret@host/db?colour=blue")
    assert "s3cret" not in str(caught.value)


def test_without_the_driver_one_sentence_says_what_to_install():
    code = """
import sys
sys.modules["psycopg"] = None
from noisegate.errors import SpecError
from noisegate.ledger import open_ledger
try:
    open_ledger("postgresql://host/db")
except SpecError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "A ledger in PostgreSQL needs the package psycopg, which is not installed. "
        "Install it with: pip install 'noisegate[postgres]'.\n"
    )


def test_the_driver_is_imported_late():
    code = "import sys, noisegate.ledger; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("statement", ["UPDATE {} SET {}", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_tables_only_grow(postgres_target, charge, statement):
    with open_ledger(postgres_target) as ledger:
        charge(ledger)
    with psycopg.connect(postgres_target, autocommit=True) as raw:
        for table, change in (("noisegate_entry", "epsilon = '0'"), ("noisegate_ledger", "format = 1")):
            with pytest.raises(psycopg.errors.RaiseException, match="the ledger only grows"):
                raw.execute(statement.format(table, change).encode())


@pytest.fixture
def role(postgres_target):
    """The address of the same schema for a user with few rights, and a way to give more."""
    open_ledger(postgres_target).close()
    schema = postgres_target.rpartition("%3D")[2]
    name = f"r{schema}"
    with psycopg.connect(postgres_target, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN".encode())
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {name}".encode())

        def allow(rights):
            owner.execute(f"GRANT {rights} TO {name}".encode())

        yield postgres_target.replace("postgres@", f"{name}@"), allow


def test_the_rights_that_are_written_down_are_enough(role, charge):
    url, allow = role
    with pytest.raises(OutputError, match="Check the rights of the database's user"):
        open_ledger(url)
    allow("SELECT ON noisegate_ledger, noisegate_entry")
    with open_ledger(url, read_only=True) as ledger:
        assert ledger.check() == ()
    with open_ledger(url) as ledger, pytest.raises(OutputError, match="cannot be opened or written"):
        charge(ledger)
    allow("UPDATE ON noisegate_ledger")
    allow("INSERT ON noisegate_entry")
    with open_ledger(url) as ledger:
        charge(ledger)
        assert len(ledger.history()) == 2


def test_a_ledger_opened_for_reading_cannot_be_written(postgres_target, charge):
    open_ledger(postgres_target).close()
    with open_ledger(postgres_target, read_only=True) as ledger, pytest.raises(OutputError):
        charge(ledger)


def test_commits_are_durable_even_where_the_default_is_not(postgres_target):
    with open_ledger(postgres_target) as ledger:
        assert ledger._store._value("SHOW synchronous_commit") == "on"
        assert ledger._store._value("SHOW transaction_isolation") == "read committed"


def test_a_busy_ledger_says_so(postgres_target):
    with open_ledger(postgres_target) as ledger, ledger._store.exclusive():
        waiting = _postgres.PostgresStore(postgres_target, busy_s=0.05)
        with pytest.raises(OutputError, match="is in use by another process"), waiting.exclusive():
            pytest.fail("two writers at once")
        waiting.close()


def test_a_connection_that_breaks_says_so(postgres_target, server):
    with open_ledger(postgres_target) as ledger:
        pid = ledger._store._value("SELECT pg_backend_pid()")
        with psycopg.connect(server, autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(%s)", [pid])
        with pytest.raises(OutputError, match=r"was lost\. Try again when the database is back"):
            ledger.accounts()


def test_tables_of_another_format_or_lost_are_refused(postgres_target):
    open_ledger(postgres_target).close()
    with psycopg.connect(postgres_target, autocommit=True) as raw:
        raw.execute("DROP TRIGGER noisegate_ledger_only_grows ON noisegate_ledger")
        raw.execute("UPDATE noisegate_ledger SET format = 9")
        with pytest.raises(DataError, match="has format 9; this version of noisegate reads formats 1 and 2"):
            open_ledger(postgres_target)
        raw.execute("DROP TABLE noisegate_entry")
    with pytest.raises(DataError, match="lacks some of its tables"):
        open_ledger(postgres_target)


def test_every_error_of_the_driver_becomes_one_of_ours():
    errors = {
        one
        for one in vars(psycopg.errors).values()
        if isinstance(one, type) and issubclass(one, psycopg.Error)
    }
    assert len(errors) > 200
    for one in errors:
        ours = _postgres._as_ours(one("words of the driver"), place="PLACE")
        assert isinstance(ours, NoisegateError)
        assert "PLACE" in str(ours)
    assert isinstance(_postgres._as_ours(psycopg.errors.UniqueViolation("x"), place="P"), InternalError)


def test_a_backup_that_was_restored_is_noticed_and_taken_over_when_somebody_says_so(
    postgres_target, tmp_path, monkeypatch
):
    monkeypatch.setenv("NOISEGATE_HEADS", str(tmp_path / "heads"))

    def reserve(name):
        with open_ledger(postgres_target) as book:
            return book.reserve(
                "taps", epsilon="1", unit="event", release=name, spec_digest="0" * 64, output=tmp_path / name
            )

    reserve("first")
    with psycopg.connect(postgres_target, autocommit=True) as connection:
        (kept,) = connection.execute("SELECT max(seq) FROM noisegate_entry").fetchone()
    reserve("second")
    # What restoring a dump from before the second release leaves: the same ledger without its last entry.
    with psycopg.connect(postgres_target, autocommit=True) as connection:
        connection.execute("ALTER TABLE noisegate_entry DISABLE TRIGGER ALL")
        connection.execute("DELETE FROM noisegate_entry WHERE seq > %s", [kept])
        connection.execute("ALTER TABLE noisegate_entry ENABLE TRIGGER ALL")
    with pytest.raises(GateError, match="was restored from a backup, emptied or replaced"):
        reserve("third")
    with open_ledger(postgres_target) as book:
        assert [one.kind for one in book.check()][:1] == ["restored"]
        book.forget()
    reserve("third")
    with open_ledger(postgres_target) as book:
        assert book.account("taps").spent.epsilon == 2
