"""Fifty people click at random for minutes: memory stays bounded, nothing fails, and a server that is killed under them has lost nothing.

`NOISEGATE_SOAK_SECONDS` makes it longer: the hour of the promise is 3600. `NOISEGATE_SOAK_LOG` names a file for what was measured.
"""

import hashlib
import http.client
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from .conftest import write_releases, write_world
from .people import Memory, Person

pytestmark = pytest.mark.slow

SESSIONS = 50
SECONDS = float(os.environ.get("NOISEGATE_SOAK_SECONDS", "90"))
#: Between two clicks of a person, in seconds on average.
THINK = 1.0
#: Before memory is read: what is opened once is open then, in seconds.
WARM = 30.0
#: Times that memory is read.
READINGS = 60
#: What memory may grow by from the second quarter of the time to the last: it is bounded, not only large.
MOST_GROWTH = 1.1
#: Open files, and threads, of the server.
MOST_OPEN = 300


class Addresses(dict):
    """The releases by name, and what the custodian has."""

    spec = hashlib.sha256(b"custodian/spec.yaml").hexdigest()[:12]
    events = hashlib.sha256(b"custodian/taps.parquet").hexdigest()[:12]


class Server:
    """A server over one directory, which can be killed and started again."""

    def __init__(self, top):
        self.top = top
        self.begin()

    def begin(self):
        self.log = self.top / f"log-{time.monotonic_ns()}"
        words = ["serve", self.top / "data", "--custodian", "--ledger", self.top / "ledger.db", "--port", "0"]
        with self.log.open("w") as stream:
            self.process = subprocess.Popen(
                [Path(sys.executable).with_name("noisegate"), *words],
                stdout=stream,
                stderr=stream,
                env={**os.environ, "XDG_STATE_HOME": str(self.top / "home")},
            )
        for _ in range(1200):
            found = re.search(r"http://([\d.:]+)/\?token=(\S+)", self.log.read_text())
            if found:
                self.address = (found.group(1), found.group(2))
                return
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def reading(self):
        """Resident memory in megabytes, threads, and open files."""
        place = Path(f"/proc/{self.process.pid}")
        text = (place / "status").read_text()
        found = [int(re.search(rf"{name}:\s+(\d+)", text).group(1)) for name in ("VmRSS", "Threads")]
        return found[0] / 1024, found[1], len(list((place / "fd").iterdir()))


@pytest.fixture
def server(tmp_path):
    for name in ("towns", "villages"):
        write_world(tmp_path / "data" / name)
    write_releases(tmp_path / "data")
    found = Server(tmp_path)
    yield found
    found.kill()


def released(visitor):
    """The releases that lie on the bench, by name."""
    _, body = visitor.ask("start", "/start.json")
    listed = json.loads(body)["cases"]
    return Addresses({one["name"]: one["id"] for one in listed if not one["uploaded"]})


@contextmanager
def visitor_of(server):
    """Somebody who does not click at random."""
    found = Person(10_000, server.address, {}, Memory())
    with closing(http.client.HTTPConnection(server.address[0], timeout=120)) as found.line:
        found.enter()
        yield found
    assert found.memory.wrong == []


def soak(server, memory, cases):
    """Let them click and read memory meanwhile; they still click when this returns, until `over` is set."""
    over, began = threading.Event(), time.monotonic() + WARM
    crowd = [
        threading.Thread(
            target=Person(seed, server.address, cases, memory).live,
            args=(lambda: -math.inf if over.is_set() else math.inf, THINK),
            daemon=True,
        )
        for seed in range(SESSIONS)
    ]
    for one in crowd:
        one.start()
    readings = []
    for k in range(READINGS):
        time.sleep(max(0.0, began + SECONDS * (k + 1) / READINGS - time.monotonic()))
        readings.append(server.reading())
        note(memory, readings, time.monotonic() - began)
    return crowd, over, np.array(readings)


def note(memory, readings, seconds):
    """Write down what was measured so far, if somebody wants to know."""
    if not os.environ.get("NOISEGATE_SOAK_LOG"):
        return
    waits = np.array(memory.waits or [0.0])
    measured = {
        "sessions": SESSIONS,
        "seconds": round(seconds),
        "requests": int(memory.statuses.total()),
        "saves": sum(count for (kind, _), count in memory.statuses.items() if kind == "remark"),
        "wrong": memory.wrong[:20],
        "refused_as_busy": memory.busy,
        "wait_ms": {f"p{q}": round(float(np.percentile(waits, q)) * 1000) for q in (50, 90, 99, 100)},
        "memory_mb": [round(one[0]) for one in readings],
        "threads": [one[1] for one in readings][-1],
        "open_files": [one[2] for one in readings][-1],
        "statuses": {f"{kind} {status}": n for (kind, status), n in sorted(memory.statuses.items())},
    }
    Path(os.environ["NOISEGATE_SOAK_LOG"]).write_text(json.dumps(measured, indent=1))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_fifty_people_click_and_a_killed_server_has_lost_nothing(server):
    with visitor_of(server) as first:
        cases = released(first)
        for name in ("towns", "villages"):
            first.ask("noise", f"/r/{cases[name]}/attack", {"noise": "laplace:1.4"}, fine={200})
    memory = Memory()
    crowd, over, readings = soak(server, memory, cases)
    # It is killed in the middle of their clicks.
    over.set()
    server.kill()
    for one in crowd:
        one.join(150)
    printed = server.log.read_text()
    _nothing_is_lost(server, memory)
    assert memory.wrong == []
    assert "fault" not in printed
    assert memory.statuses.total() > 5 * SESSIONS
    assert memory.busy < memory.statuses.total() / 1000
    _bounded(readings)


def _bounded(readings):
    quarter = len(readings) // 4
    early, late = (np.median(one) for one in (readings[quarter : 2 * quarter, 0], readings[-quarter:, 0]))
    assert late < early * MOST_GROWTH, f"memory grows: {early:.0f} MB, then {late:.0f} MB"
    assert readings[:, 1:].max() < MOST_OPEN


def _nothing_is_lost(server, memory):
    server.begin()
    kept = {}
    with visitor_of(server) as again:
        for number in {case for case, _ in memory.remarks}:
            status, until = 202, time.monotonic() + 300
            while status == 202 and time.monotonic() < until:
                status, body = again.ask("findings", f"/r/{number}/findings.json")
                time.sleep(0.2)
            kept[number] = json.loads(body)["remarks"]
        listed = {one["id"] for one in json.loads(again.ask("start", "/start.json")[1])["cases"]}
    lost = {
        (case, key): said
        for (case, key), said in memory.remarks.items()
        # What was on its way when the server was killed may or may not be there.
        if f"{case}/{key}" not in memory.doubtful and kept[case].get(key, {}).get("comment") != said
    }
    assert lost == {}
    assert memory.uploads <= listed
