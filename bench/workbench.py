"""The microscope of the workbench in a real browser: first paint, a table switched off, frames while the pointer moves and while the page scrolls.

Needs Chromium, Node and what `npm ci` installs in `frontend`; without them there are no rows. The totals of these worlds tie all cells together, so
that a close look is at its hardest. Wanted: paint under 1 s at 200,000 cells, a switch under 300 ms at 100,000, 30 frames a second, moving or scrolling.
"""

import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world

FRONTEND = Path(__file__).resolve().parents[1] / "frontend"
WORLDS = {"hundred": (1000, 100), "two-hundred": (2000, 100)}


def run():
    """A row for each world."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None or shutil.which("node") is None or not (FRONTEND / "node_modules").exists():
        print("the workbench is not measured: Chromium, Node or the packages of frontend are not here")
        return []
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        for name, (places, slots) in WORLDS.items():
            (top / "data" / name).mkdir(parents=True)
            make_world(
                {"slot": slots, "place": places},
                margins={"by place": ["place"], "by slot": ["slot"]},
                mechanism=Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb"),
                rng=np.random.default_rng(1),
            ).write(top / "data" / name)
        return _measured(top, browser)


def _measured(top, browser):
    with (top / "log").open("w") as log:
        server = subprocess.Popen(
            [Path(sys.executable).with_name("noisegate"), "serve", top / "data", "--port", "0"],
            stdout=log,
            stderr=log,
            env={**os.environ, "XDG_STATE_HOME": str(top / "state")},
        )
    try:
        address = _wait(lambda: re.search(r"http://\S+token=\S+", (top / "log").read_text()), 60).group()
        return [_row(name, address, browser, top) for name in WORLDS]
    finally:
        server.terminate()
        server.wait(60)


def _row(name, address, browser, top):
    number = hashlib.sha256(name.encode()).hexdigest()[:12]
    origin, token = address.split("/?token=")
    _ask(f"{origin}/r/{number}/attack", token, {"noise": "laplace:1.4"})
    _wait(lambda: "tables" in _ask(f"{origin}/r/{number}/files.json", token), 900)
    (top / "context.json").write_text(json.dumps({"address": address, "browser": browser, "id": number}))
    done = subprocess.run(
        ["node", FRONTEND / "measure.mjs", top / "context.json"],
        cwd=FRONTEND,
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
    )
    runs = json.loads(done.stdout)
    places, slots = WORLDS[name]
    return {
        "kind": "microscope",
        "cells": places * slots,
        "paint_ms": round(statistics.median(one["paint_ms"] for one in runs)),
        "slowest_switch_ms": round(max(one["toggle_ms"] for one in runs)),
        "frames_per_s": round(statistics.median(one["frames"] for one in runs)),
        "scrolled_frames_per_s": round(statistics.median(one["scrolled"] for one in runs)),
        "slowest_scrolled_frame_ms": round(max(one["longest_ms"] for one in runs)),
    }


def _ask(url, token, content=None):
    body = None if content is None else json.dumps(content).encode()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        return json.load(answer)


def _wait(found, seconds):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        result = found()
        if result:
            return result
        time.sleep(0.2)
    raise TimeoutError
