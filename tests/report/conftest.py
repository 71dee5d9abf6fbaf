"""A browser without a window for the report, and assessments to report on."""

import base64
import csv
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from noisegate.assessment import (
    AttackScore,
    Check,
    Coarsening,
    Finding,
    LossSummary,
    Microdata,
    MissingTaps,
    Ranked,
    Row,
    Uniqueness,
    assess,
)
from noisegate.report import browser_command, find_browser, write_report
from noisegate.tables import Kind


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


def has_letters():
    """Whether there is a font with the widths that pictures are drawn by; a browser without one takes another, which may be wider by a sixth."""
    if shutil.which("fc-match") is None:
        return False
    found = subprocess.run(
        ["fc-match", "-f", "%{family}", "Helvetica"], capture_output=True, text=True, check=False
    ).stdout
    return any(name in found for name in ("Helvetica", "Arial", "Liberation Sans", "Nimbus Sans"))


def _installed():
    """Chromium, and a font for it, installed if they are missing and we may: as root on Debian, as in a container."""
    missing = ["chromium"] * (find_browser() is None) + ["fontconfig", "fonts-liberation"] * (
        not has_letters()
    )
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        command = [
            "apt-get",
            "install",
            "-y",
            "--no-install-recommends",
            "-o",
            "DPkg::Lock::Timeout=240",
            *missing,
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


@pytest.fixture
def letters(browser):  # noqa: ARG001 - installs them
    """A font with the widths that pictures are drawn by."""
    if not has_letters():
        pytest.skip("there is no font with the widths of Helvetica here, and none can be installed")


#: Values that are code somewhere: in HTML, in a spreadsheet, in Markdown, in SQL.
HOSTILE = (
    "<script>alert(1)</script>",
    '=HYPERLINK("x")',
    "[a](javascript:alert(1)) | `b` <img src=x onerror=alert(1)>",
    "\"'; DROP TABLE cells; --",
)


def _publish(folder, *, name, place):
    """A base and a margin with rounded noise of their own, cut at 18; the stops have names that came from somebody."""
    rng = np.random.default_rng(5)
    stops = [place, f"{place} 1", f"{place} 2", f"{place} 3"]
    days, hours = [f"2016-07-{day}" for day in range(25, 31)], [f"{hour:02d}:00" for hour in range(24)]
    rows = list(itertools.product(days, hours, stops))
    quiet = np.array([stop == stops[3] and int(hour[:2]) % 2 == 0 for _, hour, stop in rows])
    raw = rng.poisson(np.where(quiet, 12, 60))
    totals = raw.reshape(-1, len(stops)).sum(axis=1)
    files = {}
    for table, header, keys, counts in (
        (name, ("date", "time", "location", "count"), rows, raw),
        (f"{name} sum", ("date", "time", "count"), list(itertools.product(days, hours)), totals),
    ):
        shown = np.rint(counts + rng.laplace(scale=1.4, size=len(counts))).astype(int)
        files[table] = folder / f"{table}.csv"
        with files[table].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(
                [*key, count] for key, count in zip(keys, shown.tolist(), strict=True) if count >= 18
            )
    return list(files.values())


class Stated:
    """A part of an assessment that says what it is told to."""

    def __init__(self, content, **more):
        self._content = content
        self.__dict__.update(more)

    def to_json(self):
        return self._content


def _findings(*, table, place):
    def finding(kind, severity, **rest):
        numbers = {"table": table, "scale": 1.4, "interval": [1.2, 1.6], place: place}
        return Finding(
            **{
                "id": kind,
                "severity": severity,
                "title": f"{kind}: 12 of {place}",
                "numbers": numbers,
                "evidence": [f"Seen at {place}."],
                "assumptions": [f"{place} is a place"],
                "advice": f"Do something about {kind} at {place}. Then look again.",
                **rest,
            }
        )

    couplings = {"pairs": 385, "couplings": [{"first": place, "gain": 1.4}]}
    return (
        finding("privacy-loss", "high"),
        finding("zeros-kept", "high"),
        finding("coupled-cells", "medium", numbers=couplings),
        finding("pinned-cells", "medium"),
        finding("presence", "medium", numbers={"present": 9, "suppressed": 700, "probability": 0.99}),
        finding("noise-recovered", "low"),
        finding("something-new", "low"),
    )


def _vehicles(*, table, place):
    """What a timetable says, about one vehicle and one total."""
    cell = f"ferry 2016-07-25 on 05:45 {place}"
    hours = {"cells": [10] * 23 + [0], "one_vehicle": [9] * 4 + [1] * 19 + [0], "one_stop": [0] * 24}
    candidate = SimpleNamespace(probability=0.97)
    content = {
        "hours": {place: hours, "bus": hours},
        "cells": {"possible": 900, "published_one_vehicle": 4},
        "one_vehicle": [{"cell": cell, "count": 21, "vehicle": place, "stop": place}],
        "merges": {"k": 2, "fragment": f"merges:\n  - {place}\n  - ```{place}```\n"},
    }
    ranked = (Ranked(title=cell, candidate=candidate, on_time=None),)
    missing = MissingTaps(margin=table, row=place, residual=18.0, noise_sd=2.0, ranked=ranked)
    return Stated(content, missing=(missing,))


def _utility(*, place):
    """Questions measured against the raw data: one with an answer, and one without."""
    return Stated(
        {
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
                {"name": f"trips from {place}", "answered": False, "reason": f"no table links {place}"},
            ],
        }
    )


def _filled(found, /, *, name, place):
    """The assessment with every part there is; `place` stands in all that came from data."""
    unique = Uniqueness(points=2, able=1.0, sampled=100, unique=40, low=0.38, high=0.42)
    row = Row(name=f"location={place}", cells=700, coverage=0.97, width=3.7, error=1.0, baseline_error=2.0)
    claim = SimpleNamespace(
        claim=SimpleNamespace(text=f"{place} dropped 0.0005%"),
        rows=SimpleNamespace(table=name),
        verdict="wrong",
        arithmetic=lambda: [place],
    )
    return replace(
        found,
        findings=_findings(table=name, place=place),
        checks=(
            Check(id="threshold", outcome="known", title=f"{name}: from 18 on", evidence=[place]),
            Check(id="margins", outcome="cannot tell", title=f"nothing about {place}"),
            Check(id="card", outcome="fine", title="agrees"),
        ),
        privacy=LossSummary(
            event_epsilon=2.14,
            person_epsilon=85.7,
            delta=1.1e-5,
            source="recovered",
            numbers={"person_events": 40, "unit": place},
        ),
        score=AttackScore(
            level=0.95, linked=True, rows=(row,), pinned_right=None, present_right=None, outside=0.0
        ),
        vehicles=_vehicles(table=name, place=place),
        claims=(claim,),
        useful=_utility(place=place),
        microdata=Microdata(
            persons=100, level=0.95, coarsenings=(Coarsening(minutes=15, places=True, found=(unique,)),)
        ),
    )


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """What the tables alone tell, once plain and once with hostile names."""
    made = {}
    for kind, name, place in (
        ("plain", "time-loc", "Manly Wharf"),
        ("hostile", HOSTILE[1], " ".join(HOSTILE)),
    ):
        files = _publish(tmp_path_factory.mktemp(kind), name=name, place=place)
        made[kind] = assess(files, noise="laplace:1.4", weeks=52)
    return made


@pytest.fixture(scope="session")
def assessments(bare):
    """The same with every part that an assessment can have."""
    return {
        "plain": _filled(bare["plain"], name="time-loc", place="Manly Wharf"),
        "hostile": _filled(bare["hostile"], name=HOSTILE[1], place=" ".join(HOSTILE)),
    }


@pytest.fixture(scope="session")
def reported(tmp_path_factory, assessments):
    """A directory with the whole report, once plain and once with hostile values everywhere."""
    places = {kind: tmp_path_factory.mktemp(f"report-{kind}") for kind in assessments}
    for kind, folder in places.items():
        write_report(assessments[kind], folder)
    return places


@pytest.fixture
def whole(assessments):
    """An assessment with everything, to be changed by a test."""
    return assessments["plain"]


@pytest.fixture
def only(bare):
    """An assessment with the tables and nothing else, but for what a test adds."""

    def make(**parts):
        nothing = {
            "findings": (),
            "checks": (),
            "privacy": LossSummary(),
            "inference": None,
            "couplings": (),
            "weeks": None,
        }
        return replace(bare["plain"], **{**nothing, **parts})

    return make


@pytest.fixture
def inferred():
    """Makes posteriors of cells: those of the first place are told sharply, others are open or published."""

    def make(*, place="Manly Wharf", days=2, times=4, places=5, kinds=("text", "date", "time", "text")):
        first = np.datetime64("2016-07-25")
        labels = (
            ("ferry",),
            tuple(str(first + one) for one in range(days)),
            tuple(f"{one // 60:02d}:{one % 60:02d}" for one in range(0, 1440, 1440 // times)),
            tuple(place if one == 0 else f"{place} {one}" for one in range(places)),
        )
        shape = tuple(map(len, labels))
        where = np.indices(shape)[3].ravel()
        told = where == 0
        names = ("mode", "date", "time", "location")
        posterior = SimpleNamespace(
            mean=np.where(told, 16.0, 1.0),
            sd=np.where(told, 1.2, 1.0),
            mode=np.where(told, 17, 0),
            low=np.where(told, 13, 0),
            high=np.where(told, 18, 4),
            p_zero=np.where(told, 1e-9, 0.6),
        )
        return SimpleNamespace(
            looked=None,
            cells=SimpleNamespace(
                size=where.size,
                dimensions=[
                    SimpleNamespace(name=name, labels=some, kind=Kind(kind))
                    for name, some, kind in zip(names, labels, kinds, strict=True)
                ],
                codes=lambda flat: np.array(np.unravel_index(flat, shape)),
            ),
            posterior=posterior,
            evidence=SimpleNamespace(
                base=SimpleNamespace(values=np.where(where == 1, 30.0, np.nan)), assumes=()
            ),
            totals={},
        )

    return make


@pytest.fixture
def hostile():
    return HOSTILE
