"""Fifty people click at random for minutes: memory stays bounded, nothing fails, and a server that is killed has lost nothing that was saved.

`NOISEGATE_SOAK_SECONDS` makes it longer: the hour of the promise is 3600. `NOISEGATE_SOAK_LOG` names a file for what was measured.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from .conftest import write_world

pytestmark = pytest.mark.slow

SESSIONS = 50
SECONDS = float(os.environ.get("NOISEGATE_SOAK_SECONDS", "90"))
#: Memory that may come on top after the first third, in megabytes.
MOST_MORE = 150
#: What a click may be answered with: found, under way, not there, refused in words.
FINE = {200, 201, 202, 404, 409, 422}


@pytest.fixture
def bench(tmp_path):
    for name in ("towns", "villages"):
        write_world(tmp_path / "data" / name)
    server, address = begin(tmp_path)
    yield tmp_path, server, address
    for one in (server,):
        one.kill()
        one.wait(30)


def begin(top):
    log = top / f"log-{time.monotonic_ns()}"
    with log.open("w") as stream:
        server = subprocess.Popen(
            [Path(sys.executable).with_name("noisegate"), "serve", top / "data", "--port", "0"],
            stdout=stream,
            stderr=stream,
            env={**os.environ, "XDG_STATE_HOME": str(top / "home")},
        )
    for _ in range(600):
        found = re.search(r"http://([\d.:]+)/\?token=(\S+)", log.read_text())
        if found:
            return server, (found.group(1), found.group(2), log)
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def ask(address, path, content=None, connection=None):
    host, token, _ = address
    if connection is None:
        with closing(http.client.HTTPConnection(host, timeout=60)) as own:
            return ask(address, path, content, own)
    line = connection
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    line.request(
        "GET" if content is None else "POST", path, None if content is None else json.dumps(content), headers
    )
    answer = line.getresponse()
    return answer.status, answer.read()


def memory(server):
    """Resident memory in megabytes."""
    text = Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def click(address, cases, seed, ends, seen):
    with closing(http.client.HTTPConnection(address[0], timeout=60)) as line:
        clicks(address, cases, np.random.default_rng(seed), seed, ends, seen, line)


def clicks(address, cases, rng, seed, ends, seen, line):
    while time.monotonic() < ends:
        number, cell = str(rng.choice(cases)), int(rng.integers(-2, 330))
        without = str(rng.choice(["[]", '["by%20area"]', '["x"]', "{"]))
        paths = [
            "/start.json",
            *(
                f"/r/{number}/{one}.json"
                for one in ("files", "noise", "findings", "weeks", "attacker", "map")
            ),
            f"/r/{number}/microscope.json?rows={rng.choice(['area', 'age', 'sex', 'x'])}&cell={cell}",
            *[f"/r/{number}/cell.json?cell={cell}&without={without}"] * 4,
            f"/r/{number}/kept.json",
            f"/r/{number}/nonsense.json",
        ]
        posts = [
            (
                f"/r/{number}/remarks",
                {"finding": f"f{rng.integers(9)}", "verdict": "accepted", "by": f"p{seed}"},
            ),
            (f"/r/{number}/attack", {"noise": str(rng.choice(["laplace:1.4", "laplace:1.5", "nonsense"]))}),
            ("/dial", {"known": int(rng.choice([0, 1, 4, -1]))}),
        ]
        if rng.random() < 0.06:
            path, content = posts[int(rng.integers(len(posts)))]
            seen.append(ask(address, path, content, line)[0])
        else:
            seen.append(ask(address, str(rng.choice(paths)), None, line)[0])
        time.sleep(float(rng.exponential(0.15)))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_fifty_people_click_and_a_killed_server_has_lost_nothing(bench):
    top, server, address = bench
    cases = [one["id"] for one in json.loads(ask(address, "/start.json")[1])["cases"]]
    for number in cases:
        assert ask(address, f"/r/{number}/attack", {"noise": "laplace:1.4"})[0] == 200
    seen, ends = [], time.monotonic() + SECONDS
    people = [
        threading.Thread(target=click, args=(address, cases, seed, ends, seen)) for seed in range(SESSIONS)
    ]
    for one in people:
        one.start()
    time.sleep(SECONDS / 3)
    early = memory(server)
    for one in people:
        one.join()
    late = memory(server)
    measured = {"clicks": len(seen), "seconds": SECONDS, "early_mb": round(early), "late_mb": round(late)}
    if os.environ.get("NOISEGATE_SOAK_LOG"):
        Path(os.environ["NOISEGATE_SOAK_LOG"]).write_text(json.dumps(measured))
    assert set(seen) <= FINE
    assert len(seen) > 5 * SESSIONS
    assert late < early + MOST_MORE
    assert "fault" not in address[2].read_text()
    said = {"finding": "last", "verdict": "rejected", "comment": "before the end", "by": "Ada"}
    assert ask(address, f"/r/{cases[0]}/remarks", said)[0] == 200
    assert ask(address, "/dial", {"known": 7})[0] == 200
    server.send_signal(signal.SIGKILL)
    server.wait(30)
    again, address = begin(top)
    try:
        assert json.loads(ask(address, "/start.json")[1])["dial"]["known"] == 7
        status, body = 202, b""
        until = time.monotonic() + 60
        while status == 202 and time.monotonic() < until:
            status, body = ask(address, f"/r/{cases[0]}/findings.json")
            time.sleep(0.1)
        assert json.loads(body)["remarks"]["last"]["comment"] == "before the end"
    finally:
        again.kill()
        again.wait(30)
