"""Releases on a Spark cluster and on a PostgreSQL server of our own, while parts of them are killed: `make test-engines`.

Whatever dies, the ledger knows of every release that is in place, nothing half-written is left, and nobody pays twice.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

EVENTS = int(os.environ.get("NOISEGATE_CLUSTER_EVENTS", "0"))
if not EVENTS:
    pytest.skip("clusters are started by 'make test-engines'", allow_module_level=True)
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed (noisegate[spark])")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

pytestmark = pytest.mark.slow
HOME = Path(pyspark.__file__).parent
PROGRAM = [sys.executable, "-c", "from noisegate.cli.main import run; run()"]
PATIENCE_S = 900


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ConnectServer:
    """A Spark Connect server with two workers in one process, on loopback."""

    def __init__(self, folder):
        self.url, port = "", free_port()
        self.log = folder / "connect.log"
        self.environment = os.environ | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        about = {
            "spark.connect.grpc.binding.port": port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.ui.enabled": "false",
        }
        options = [part for name, value in about.items() for part in ("--conf", f"{name}={value}")]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        command = [str(HOME / "bin" / "spark-submit"), "--class", server, "--master", "local[2]", *options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "spark-internal"],
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE_S
        while "Spark Connect server started" not in self.log.read_text(errors="replace"):
            assert time.monotonic() < end, self.log.read_text(errors="replace")[-2000:]
            time.sleep(0.3)
        self.url = f"sc://127.0.0.1:{port}"

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory):
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    made = ConnectServer(tmp_path_factory.mktemp("connect"))
    yield made
    made.stop()


class Cluster:
    """A master and two workers with one core each, on loopback."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.environment = os.environ | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_WORKER_DIR": str(folder / "work"),
        }
        deploy = "org.apache.spark.deploy"
        at = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
        self.started = [self._start("master", f"{deploy}.master.Master", "--port", str(self.port), *at)]
        self._wait_for("master", "I have been elected leader|Successfully started service 'sparkMaster'")
        for name in ("one", "two"):
            at = ["--host", "127.0.0.1", "--webui-port", str(free_port()), "--cores", "1", "--memory", "1g"]
            self.started.append(self._start(name, f"{deploy}.worker.Worker", *at, self.url))
        for name in ("one", "two"):
            self._wait_for(name, "Successfully registered with master")

    def _start(self, name, *arguments):
        command = [str(HOME / "bin" / "spark-class"), *arguments]
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )

    def _wait_for(self, name, pattern):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if re.search(pattern, (self.folder / f"{name}.log").read_text(errors="replace")):
                return
            time.sleep(0.3)
        raise AssertionError((self.folder / f"{name}.log").read_text(errors="replace")[-2000:])

    def executors(self):
        """The processes of executors that our workers started."""
        ours = {process.pid for process in self.started}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_bytes()
                    session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                except OSError:
                    continue
                if b"CoarseGrainedExecutorBackend" in line and session in ours:
                    found.append(int(entry.name))
        return found

    def stop(self):
        for process in self.started[::-1]:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


@pytest.fixture
def place(tmp_path):
    """A folder with events, a spec for each way, and a folder for temporary files."""
    rng = np.random.default_rng(1)
    stops = [f"Stop {n}" for n in range(200)]
    table = pa.table(
        {
            "card_id": rng.integers(0, max(EVENTS // 20, 2), EVENTS),
            "tapped_at": np.datetime64("2016-07-25", "us")
            + rng.integers(0, 3 * 86400, EVENTS).astype("timedelta64[s]"),
            "stop": pa.DictionaryArray.from_arrays(
                pa.array(rng.integers(0, 200, EVENTS), pa.int32()), pa.array(stops)
            ).cast(pa.string()),
        }
    )
    pq.write_table(table, tmp_path / "taps.parquet")
    ways = {
        "event": {"unit": "event", "margins": "derive"},
        "day": {"unit": "person-day", "max_cells": 4, "margins": "reconcile"},
        "person": {"unit": "person", "max_cells": 8, "margins": "independent", "unsafe": True},
    }
    for name, privacy in ways.items():
        spec = {
            "name": name,
            "population": "cards",
            "events": {"source": "taps.parquet", "person": "card_id"},
            "dimensions": {
                "date": {"column": "tapped_at", "from": "2016-07-25", "to": "2016-07-27"},
                "time": {"column": "tapped_at", "every": "15min"},
                "location": {"column": "stop", "values": stops},
            },
            "tables": {"base": ["date", "time", "location"], "time": ["date", "time"]},
            "privacy": {"epsilon": 1, "suppress": {"spurious": 0.001}} | privacy,
        }
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(spec))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def start(place, cluster, way, out, *, engine=None):
    command = [*PROGRAM, "release", f"{way}.yaml", "--out", out, "--engine", engine or cluster.url]
    environment = cluster.environment | {
        "TMPDIR": str(place / "tmp"),
        "XDG_STATE_HOME": str(place / "state"),
        "NOISEGATE_LEDGER": str(place / "ledger.sqlite"),
    }
    return subprocess.Popen(
        [*command, "--quiet", "--yes"],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def ledger_says(place):
    """Whether the ledger agrees with what is there, and the states of all reservations."""
    from noisegate.ledger import open_ledger

    with open_ledger(place / "ledger.sqlite", read_only=True) as book:
        problems = [one.kind for one in book.check()]
        states = [one.state for account in book.accounts() for one in account.reservations]
    return problems, states


def whole(place, out):
    """Whether a release is in place: every file of it, and rows as the card says."""
    card = json.loads((place / out / "card.json").read_text())
    for name, table in card["tables"].items():
        assert pq.read_metadata(place / out / f"{name}.parquet").num_rows == table["rows"]
    return True


def left_over(place):
    return [path.name for path in place.iterdir() if "staging" in path.name or "partial" in path.name]


@pytest.mark.parametrize("way", ["event", "day", "person"])
def test_a_release_on_a_cluster(place, cluster, way):
    code, _, err = finished(start(place, cluster, way, "out"))
    assert code == 0, err
    assert whole(place, "out")
    assert ledger_says(place) == ([], ["published"])
    assert left_over(place) == []
    assert not any((place / "tmp").glob("noisegate-spill-*"))


@pytest.mark.parametrize("way", ["event", "day", "person"])
def test_a_release_through_spark_connect(place, connect_server, way):
    code, _, err = finished(start(place, connect_server, way, "out"))
    assert code == 0, err
    assert whole(place, "out")
    assert ledger_says(place) == ([], ["published"])
    assert left_over(place) == []
    assert not any((place / "tmp").glob("noisegate-spill-*"))


def wait_until(condition, process):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_executor_that_is_killed_while_noise_is_drawn(place, cluster):
    """Another takes over; the release is whole, and paid once."""
    process = start(place, cluster, "day", "out")
    wait_until(lambda: any((place / "tmp").glob("noisegate-spill-*/bounded-noisy-*")), process)
    os.kill(cluster.executors()[0], signal.SIGKILL)
    code, _, err = finished(process)
    problems, states = ledger_says(place)
    if code == 0:
        assert whole(place, "out")
        assert (problems, states) == ([], ["published"])
    else:  # said, spent, and nothing in place
        assert "Its own words" in err
        assert not (place / "out").exists()
        assert states == ["reserved"]
    assert code == 0, "the release should survive the loss of one executor"
    assert left_over(place) == []


def test_an_executor_that_is_killed_while_events_are_bounded(place, cluster):
    process = start(place, cluster, "person", "out")
    wait_until(lambda: any((place / "tmp").glob("noisegate-spill-*/bounded/_temporary")), process)
    os.kill(cluster.executors()[0], signal.SIGKILL)
    code, _, err = finished(process)
    assert code == 0, err
    assert whole(place, "out")
    assert ledger_says(place) == ([], ["published"])


def test_a_driver_that_is_killed_after_the_reservation(place, cluster):
    """Nothing is in place, the reservation stays spent, and the next run clears what was left."""
    process = start(place, cluster, "event", "out")
    wait_until(lambda: any((place / "tmp").glob("noisegate-spill-*/bounded-noisy-*")), process)
    process.kill()
    process.communicate()
    assert not (place / "out").exists()
    assert ledger_says(place)[1] == ["reserved"]
    code, _, err = finished(start(place, cluster, "event", "again", engine="duckdb"))
    assert code == 0, err
    assert sorted(ledger_says(place)[1]) == ["published", "reserved"]
    assert not any((place / "tmp").glob("noisegate-spill-*"))
