"""A PostgreSQL server that dies under a release: where the events are, and where the ledger is.

Nothing is spent for what was not made, nothing that was made is lost, and nobody pays twice.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from noisegate.ledger import open_ledger

psycopg = pytest.importorskip("psycopg")
EVENTS = int(os.environ.get("NOISEGATE_CLUSTER_EVENTS", "0")) or 60_000
PROGRAM = [sys.executable, "-c", "from noisegate.cli.main import run; run()"]
PATIENCE_S = 300


@pytest.fixture(scope="module")
def server(new_server):
    with new_server() as made:
        yield made


@pytest.fixture
def place(tmp_path):
    """A folder with events and a spec of them."""
    rng = np.random.default_rng(1)
    stops = [f"Stop {n}" for n in range(200)]
    at = np.datetime64("2016-07-25", "us") + rng.integers(0, 3 * 86400, EVENTS).astype("timedelta64[s]")
    table = pa.table(
        {
            "card_id": rng.integers(0, max(EVENTS // 20, 2), EVENTS),
            "tapped_at": at,
            "stop": pa.array(np.array(stops)[rng.integers(0, 200, EVENTS)]),
        }
    )
    pq.write_table(table, tmp_path / "taps.parquet")
    spec = {
        "name": "killed",
        "population": "cards",
        "events": {"source": "taps.parquet", "person": "card_id"},
        "dimensions": {
            "date": {"column": "tapped_at", "from": "2016-07-25", "to": "2016-07-27"},
            "time": {"column": "tapped_at", "every": "15min"},
            "location": {"column": "stop", "values": stops},
        },
        "tables": {"base": ["date", "time", "location"], "time": ["date", "time"]},
        "privacy": {"unit": "person-day", "max_cells": 4, "epsilon": 1, "margins": "derive"},
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    spec["events"]["source"] = "taps"
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(spec))
    return tmp_path


def start(place, *arguments):
    return subprocess.Popen(
        [*PROGRAM, *arguments], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(condition, process):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def states(ledger):
    with open_ledger(ledger, read_only=True) as book:
        return [one.state for account in book.accounts() for one in account.reservations]


@pytest.mark.slow
def test_a_server_that_dies_while_it_counts_costs_nothing(server, place):
    with psycopg.connect(server.url, autocommit=True) as database:
        database.execute("CREATE TABLE taps (card_id bigint, tapped_at timestamp, stop text)")
        with database.cursor() as cursor, cursor.copy("COPY taps FROM STDIN") as copy:
            for row in zip(*pq.read_table(place / "taps.parquet").to_pydict().values(), strict=True):
                copy.write_row(row)
    # The release waits for the table, so that the server surely dies in the middle of its statement.
    other, watching = (psycopg.connect(server.url, autocommit=one) for one in (False, True))
    other.execute("LOCK TABLE taps IN ACCESS EXCLUSIVE MODE")
    ledger = place / "ledger.sqlite"
    told = ["--ledger", str(ledger), "--engine", server.url, "--quiet"]
    process = start(place, "release", "table.yaml", "--out", "out", *told)
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    wait_until(lambda: watching.execute(waiting).fetchone()[0] > 0, process)
    server.kill()
    for connection in (other, watching):
        connection.close()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, err
    assert "taps cannot be counted: the engine reports an error of kind" in err
    assert "Its own words" in err
    assert not ledger.exists()
    assert not (place / "out").exists()
    server.start()
    again = start(place, "release", "table.yaml", "--out", "out", *told)
    assert (again.communicate(timeout=PATIENCE_S), again.returncode)[1] == 0
    assert states(ledger) == ["published"]


@pytest.mark.parametrize("back", [True, False])
def test_a_ledger_that_dies_after_the_noise_was_drawn(server, place, monkeypatch, back):
    """If it is back in time the release is marked by a new connection; if not, it says what to do, and that is enough."""
    monkeypatch.setenv("NOISEGATE_HEADS", str(place / "heads"))
    with psycopg.connect(server.url, autocommit=True) as database:
        database.execute("DROP SCHEMA public CASCADE")
        database.execute("CREATE SCHEMA public")
    told = ["--ledger", server.url]
    process = start(place, "release", "spec.yaml", "--out", "out", *told, "--quiet")
    wait_until(lambda: any(place.glob(".out.*.staging")), process)
    process.send_signal(signal.SIGSTOP)
    server.kill()
    if back:
        server.start()
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=PATIENCE_S)
    said = " ".join((out + err).split())
    assert process.returncode == (0 if back else 2), said
    assert (place / "out" / "card.json").exists()
    assert ("published and charged; run 'noisegate ledger check --settle'" in said) == (not back)
    if not back:
        server.start()
        assert states(server.url) == ["reserved"]
        settle = start(place, "ledger", "check", "--settle", *told)
        assert (settle.communicate(timeout=PATIENCE_S), settle.returncode)[1] == 0
    assert states(server.url) == ["published"]
