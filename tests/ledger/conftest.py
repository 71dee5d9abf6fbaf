"""Ledgers to test: one in SQLite, one on a PostgreSQL server that lives as long as the tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from noisegate.ledger import open_ledger

DIGEST = "ab" * 32


def _server_programs():
    """The directory of `initdb` and `pg_ctl`, or None."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("pg_ctl")
    places += [Path(found).parent] if found else []
    return next((one for one in places if (one / "initdb").exists() and (one / "pg_ctl").exists()), None)


def _as_server_user(command):
    """Run a server program; PostgreSQL refuses root, so root lends it another user."""
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **user)
    assert done.returncode == 0, done.stderr or done.stdout


@pytest.fixture(scope="session")
def server():
    """The address of a database on a throw-away server, reached by a socket and not by a port."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (initdb and pg_ctl were not found)")
    home = Path(tempfile.mkdtemp(prefix="ng-pg-"))
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user 'postgres'")
        shutil.chown(home, "postgres", "postgres")
    data, log = str(home / "data"), str(home / "log")
    try:
        _as_server_user(
            [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        )
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        _as_server_user([programs / "pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start"])
        try:
            yield f"postgresql://postgres@/postgres?host={home}"
        finally:
            _as_server_user([programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres_target(server):
    """The address of an empty schema."""
    import psycopg

    schema = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return f"{server}&options=-csearch_path%3D{schema}"


@pytest.fixture
def sqlite_target(tmp_path):
    return str(tmp_path / "state" / "ledger.sqlite")


@pytest.fixture(params=["sqlite", "postgres"])
def target(request):
    """A ledger that does not exist yet, in each kind of storage."""
    return request.getfixturevalue(f"{request.param}_target")


@pytest.fixture
def ledger(target):
    with open_ledger(target) as opened:
        yield opened


@pytest.fixture
def few_rights():
    """A context in which we act as a user who may not read and write everything, as root may."""

    @contextmanager
    def few_rights():
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            yield
        finally:
            os.seteuid(0)

    return few_rights


@pytest.fixture
def charge(tmp_path):
    """Reserve with everything but the amount filled in."""

    def charge(ledger, *, dataset="taps", epsilon="1", delta=0, unit="person-day", release="week", **more):
        output = more.pop("output", tmp_path / "out" / release)
        return ledger.reserve(
            dataset,
            epsilon=epsilon,
            delta=delta,
            unit=unit,
            release=release,
            spec_digest=DIGEST,
            output=output,
            **more,
        )

    return charge


@pytest.fixture
def put_in_place():
    """Write a released directory with a card, as a release does; returns the card's digest."""
    import hashlib
    import json

    def put_in_place(paid, /, *, where=None, **changes):
        about = {"dataset": paid.dataset, "reservation": paid.id, **changes}
        octets = json.dumps({"ledger": about}).encode()
        directory = where or paid.output
        directory.mkdir(parents=True)
        (directory / "card.json").write_bytes(octets)
        return hashlib.sha256(octets).hexdigest()

    return put_in_place
