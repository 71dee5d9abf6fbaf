"""A browser without a window for the report, and assessments to report on."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.report import write_report
from noisegate.report.pdf import browser_command, find_browser


class Browser:
    """A Chromium that is spoken to over two pipes: no port, no network, no further dependency."""

    def __init__(self, program, profile):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        redirect = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = [*browser_command(program, profile), "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", redirect, *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._buffer, self._last = ours_in, ours_out, b"", 0
        self.events = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, /, *, seconds=60, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            answer = self._next(until)
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self, until):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            assert chunk, "the browser does not answer"
            self._buffer += chunk
        one, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(one)

    def open(self, page, /, *, width=1280, height=900, scheme="light"):
        self.events.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Page.navigate", url=page.resolve().as_uri())
        until = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next(until))
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def ask(self, expression, /):
        """The value of a JavaScript expression on the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path, /):
        """A picture of the whole page."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)


def _installed():
    """Chromium, installed if it is missing and we may: as root on Debian, as in a container."""
    if find_browser() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        command = [
            "apt-get",
            "install",
            "-y",
            "--no-install-recommends",
            "-o",
            "DPkg::Lock::Timeout=240",
            "chromium",
        ]
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for one in (["apt-get", "update"], command):
            try:
                subprocess.run(one, env=quiet, capture_output=True, timeout=300, check=False)
            except (OSError, subprocess.TimeoutExpired):
                break
    return find_browser()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = _installed()
    if program is None:
        pytest.skip("there is no Chromium here, and none can be installed")
    try:
        one = Browser(program, tmp_path_factory.mktemp("profile"))
    except (AssertionError, OSError) as problem:
        pytest.skip(f"{program} does not start: {problem}")
    yield one
    one.close()


#: Values that are code somewhere: in HTML, in a spreadsheet, in Markdown, in SQL.
HOSTILE = (
    "<script>alert(1)</script>",
    '=HYPERLINK("x")',
    "[a](javascript:alert(1)) | `b` <img src=x onerror=alert(1)>",
    "\"'; DROP TABLE cells; --",
)


def whole(*, name="time-loc", place="Manly Wharf"):
    """An assessment with every part there is; `name` is its base, `place` stands in all that came from data."""
    curve = np.arange(-6, 7)
    seen = np.rint(400 * np.exp(-np.abs(curve) / 2) / 4).astype(int)
    cell = f"ferry 2016-07-25 on 05:45 {place}"
    exposed = [{"cell": cell, "mean": 16.0, "lo": 13, "hi": 18, "p_zero": 1e-9}]
    table = {
        "name": name,
        "role": "base",
        "files": [f"/somewhere/{name}.csv"],
        "rows": 300,
        "domain_size": 1000,
        "suppressed": 700,
        "dimensions": ["mode", "date", "time", "location"],
        "threshold": {"value": 18.0, "rule": "ge", "sure": 0.999},
        "details": [
            {"name": "mode", "kind": "text", "values": 1},
            {"name": "date", "kind": "date", "values": 2, "first": "2016-07-25", "last": "2016-07-26"},
            {"name": "time", "kind": "time", "values": 4},
            {"name": "location", "kind": "text", "values": 5},
        ],
        "set_aside": [{"reason": f"odd line {place}", "rows": 2, "example": place}],
        "noise": {
            "law": "laplace",
            "scale": 1.4,
            "interval": [1.2, 1.6],
            "level": 0.95,
            "rounding": "nearest",
            "n": int(seen.sum()),
            "curve": {
                "difference": curve.tolist(),
                "observed": seen.tolist(),
                "expected": (seen + 0.5).tolist(),
                "simulated": seen.tolist(),
            },
        },
    }
    margin = {**table, "name": f"{name} sum", "role": "margin", "noise": {"law": None, "scale": None, "n": 0}}
    numbers = {"table": name, "scale": 1.4, "interval": [1.2, 1.6], place: place}

    def finding(kind, severity, **rest):
        return {
            "id": kind,
            "severity": severity,
            "title": f"{kind}: 12 of {place}",
            "numbers": numbers,
            "evidence": [f"Seen at {place}.", f"Assumed: {place} is a place."],
            "advice": f"Do something about {kind} at {place}. Then look again.",
            **rest,
        }

    findings = [
        finding("privacy-loss", "high"),
        finding("zeros-kept", "high"),
        finding(
            "coupled-cells", "medium", numbers={"pairs": 385, "couplings": [{"first": place, "gain": 1.4}]}
        ),
        finding("pinned-cells", "medium", numbers={"most_exposed": exposed}),
        finding("presence", "medium", numbers={"present": 9, "suppressed": 700, "probability": 0.99}),
        finding("noise-recovered", "low"),
        finding("something-new", "low"),
    ]
    hours = {"cells": [10] * 23 + [0], "one_vehicle": [9] * 4 + [1] * 19 + [0], "one_stop": [0] * 24}
    growth = [
        {"week": week, "linear": 40.0 * week, "tight": 20.0 * week, "delta": 1e-6} for week in (1, 4, 52)
    ]
    return {
        "software": {"name": "noisegate", "version": "0.1.0"},
        "level": 0.95,
        "tables": [table, margin],
        "findings": findings,
        "privacy": {
            "event_epsilon": 2.14,
            "person_epsilon": 85.7,
            "delta": 1.1e-5,
            "source": "recovered",
            "person_events": 40,
            "unit": place,
        },
        "checks": [
            {"id": "threshold", "outcome": "known", "title": f"{name}: from 18 on", "evidence": [place]},
            {"id": "margins", "outcome": "cannot tell", "title": f"nothing about {place}", "evidence": []},
            {"id": "card", "outcome": "fine", "title": "agrees", "evidence": []},
        ],
        "inference": {
            "assumes": [f"{place} is as it seems"],
            "suppressed_totals": {name: {"mean": 665275.6, "sd": 210.6, "interval": [664862, 665689]}},
        },
        "score": {"suppressed": {f"location={place}": {"cells": 700, "coverage": 0.97, "mean_width": 3.7}}},
        "services": {
            "hours": {place: hours, "bus": hours},
            "cells": {"possible": 900, "published_one_vehicle": 4},
            "one_vehicle": [{"cell": cell, "count": 21, "vehicle": place, "stop": place}],
            "missing_taps": [
                {
                    "margin": name,
                    "row": place,
                    "residual": 18,
                    "candidates": [{"cell": cell, "probability": 0.97}],
                }
            ],
            "merges": {"k": 2, "fragment": f"merges:\n  - {place}\n  - ```{place}```\n"},
        },
        "dropped": {
            "rows": [
                {
                    "table": name,
                    "mode": place,
                    "possible": 1000,
                    "published": 300,
                    "suppressed": 700,
                    "share": 0.7,
                    "trips": {"share": 0.2, "share_interval": [0.19, 0.21]},
                }
            ],
            "claims": [
                {
                    "claim": f"{place} dropped 0.0005%",
                    "table": name,
                    "verdict": "impossible",
                    "arithmetic": place,
                }
            ],
        },
        "weeks": {
            "horizon": 52,
            "detection": [
                {
                    "group": group,
                    "pattern": "once a week",
                    "occasions_per_week": 1,
                    "chance": p,
                    "by_week": [1 - (1 - p) ** week for week in range(1, 53)],
                    "weeks_until": {"0.01": 3, "0.5": None, "0.95": None},
                }
                for group, p in ((1, 1e-6), (12, 1e-2))
            ],
            "width": {"by_week": [12 / week**0.5 for week in range(1, 53)]},
            "loss": [
                {"who": f"commuter of {place}", "by_week": growth, "weeks_until": {"1": 1, "10": 1, "100": 3}}
            ],
        },
        "utility": {
            "source": "card",
            "measured": True,
            "how": [f"Lots of {place} are not written down."],
            "questions": [
                {
                    "name": f"total at {place}",
                    "answered": True,
                    "reason": None,
                    "absolute": {"aggregation": 0.0, "bounding": 2.0, "noise": 12.0, "suppression": 900.0},
                    "total": {"absolute": 905.0},
                    "relative_error": {"median": 0.02, "ninth_decile": 0.3},
                    "drop_rate": 0.1,
                    "spurious_rate": 0.0,
                    "ranking_kept": 0.9,
                },
                {"name": "ten busiest", "answered": True, "noise": {"expected_absolute": 3.0}},
                {"name": f"trips from {place}", "answered": False, "reason": f"no table links {place}"},
            ],
        },
        "microdata": {
            "coarsenings": [
                {"coarsening": place, "unique": [{"points": 2, "share": 0.4, "interval": [0.38, 0.42]}]}
            ]
        },
    }


def cells_table(*, place="Manly Wharf", days=2, times=4, places=5):
    """Cells of a base: the first place is told sharply, every other one is open or published."""
    shape = (days, times, places)
    day, time_, where = (axis.ravel() for axis in np.indices(shape))
    first = np.datetime64("2016-07-25")
    published = np.where(where == 1, 30, None).astype(object)
    told = where == 0
    return pa.table(
        {
            "mode": ["ferry"] * day.size,
            "date": [str(first + one) for one in day.tolist()],
            "time": [f"{one // 60:02d}:{one % 60:02d}" for one in (time_ * (1440 // times)).tolist()],
            "location": [place if one == 0 else f"{place} {one}" for one in where.tolist()],
            "published": pa.array(published.tolist(), pa.int64()),
            "mean": np.where(told, 16.0, 1.0),
            "sd": np.where(told, 1.2, 1.0),
            "mode_count": np.where(told, 17, 0),
            "lo": np.where(told, 13, 0),
            "hi": np.where(told, 18, 4),
            "p_zero": np.where(told, 1e-9, 0.6),
            "level": np.full(day.size, 0.95),
        }
    )


@pytest.fixture
def assessed(tmp_path):
    """Writes an assessment to a new directory and gives its place."""

    def write(content, cells=None):
        (tmp_path / "assessment.json").write_text(json.dumps(content), encoding="utf-8")
        if cells is not None:
            pq.write_table(cells, tmp_path / "cells.parquet")
        return tmp_path

    return write


@pytest.fixture(scope="session")
def reported(tmp_path_factory):
    """A directory with the whole report, once plain and once with hostile values everywhere."""
    places = {}
    for kind, name, place in (
        ("plain", "time-loc", "Manly Wharf"),
        ("hostile", HOSTILE[1], " ".join(HOSTILE)),
    ):
        folder = tmp_path_factory.mktemp(kind)
        (folder / "assessment.json").write_text(json.dumps(whole(name=name, place=place)), encoding="utf-8")
        pq.write_table(cells_table(place=place), folder / "cells.parquet")
        write_report(folder)
        places[kind] = folder
    return places


@pytest.fixture
def content():
    """The whole assessment as a function of names, to be changed by a test."""
    return whole


@pytest.fixture
def cells():
    return cells_table


@pytest.fixture
def hostile():
    return HOSTILE
