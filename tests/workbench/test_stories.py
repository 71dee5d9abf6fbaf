"""Stories of people at the workbench, in a real browser: no console error, no request to elsewhere, nothing serious for axe."""

import ast
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import noisegate
from noisegate.laws import DiscreteLaplace, SeededNoise
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world

from .conftest import write_releases, write_world
from .hostile import IMAGE, NAMES, write_hostile_city, write_hostile_release, write_hostile_tables

SOURCES = Path(__file__).resolve().parents[2] / "frontend"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not here"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not here"),
    pytest.mark.skipif(
        not (SOURCES / "node_modules" / "playwright-core").exists(),
        reason="run 'npm ci' in frontend to have Playwright",
    ),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    top = tmp_path_factory.mktemp("stories")
    data = top / "data"
    write_world(data / "towns")
    write_world(data / "towns_again")
    _write_full(top / "drop", 3)
    _write_full(data / "full", 4)
    write_hostile_tables(data / IMAGE)
    write_hostile_release(data)
    write_hostile_city(data)
    write_releases(data)
    _write_liar(data)
    server, address = _serve(data, top)
    try:
        context = _context(top, address)
        (top / "context.json").write_text(json.dumps(context))
        done = subprocess.run(
            ["node", SOURCES / "stories.mjs", top / "context.json"],
            check=False,
            cwd=SOURCES,
            capture_output=True,
            text=True,
            timeout=2400,
        )
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def _write_full(folder, seed):
    """Nothing is hidden, so that totals give the noise away."""
    folder.mkdir()
    make_world(
        {"age": 12, "area": 30},
        margins={"by area": ["area"], "by age": ["age"]},
        mechanism=Mechanism(law=DiscreteLaplace(1.4), zeros="perturb"),
        rng=np.random.default_rng(seed),
    ).write(folder)


def _write_liar(data):
    """A release whose card was changed afterwards: it states four times the noise."""
    rng = np.random.default_rng(6)
    n = 60_000
    taps = pa.table(
        {
            "card": rng.integers(0, 9000, n),
            "hour": rng.integers(0, 12, n).astype(str),
            "stop": rng.integers(0, 30, n).astype(str),
        }
    )
    spec = {
        "name": "liar",
        "population": "others",
        "events": {"person": "card"},
        "dimensions": {
            "hour": {"column": "hour", "values": [str(k) for k in range(12)]},
            "stop": {"column": "stop", "values": [str(k) for k in range(30)]},
        },
        "tables": {"cells": ["hour", "stop"], "stops": ["stop"], "hours": ["hour"]},
        "privacy": {
            "unit": "event",
            "scale": 1.4,
            "law": "laplace",
            "margins": "independent",
            "unsafe": True,
        },
    }
    noisegate.release(
        spec, events=taps, out=data / "liar", ledger=data.parent / "ledger.db", entropy=SeededNoise(seed=2)
    )
    card = data / "liar" / "card.json"
    document = json.loads(card.read_text())
    for table in document["tables"].values():
        table["noise"]["scale"] = 5.6
    card.write_text(json.dumps(document))


def _serve(data, top):
    environment = {**os.environ, "XDG_STATE_HOME": str(top / "home")}
    command = [
        str(Path(sys.executable).with_name("noisegate")),
        "serve",
        str(data),
        "--custodian",
        "--ledger",
        str(top / "ledger.db"),
        "--port",
        "0",
    ]
    with (top / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=top)
    for _ in range(600):
        found = re.search(r"http://\S+token=\S+", (top / "log").read_text())
        if found:
            return server, found.group()
        time.sleep(0.1)
    server.kill()
    raise AssertionError((top / "log").read_text())


def _context(top, address):
    import hashlib

    def number(name):
        return hashlib.sha256(name.encode()).hexdigest()[:12]

    pictures = os.environ.get("NOISEGATE_PICTURES")
    return {
        "address": address,
        "browser": BROWSER,
        "patience": 180_000,
        "drop": [str(one) for one in sorted((top / "drop").iterdir())],
        "work": str(top),
        "looks": [[390, "dark"], [1280, "light"], [1920, "dark"]],
        "pictures": pictures,
        "custodian": str(top / "data" / "custodian"),
        "events": number("custodian/taps.parquet"),
        "spec": number("custodian/spec.yaml"),
        "image": IMAGE,
        "names": list(NAMES),
        "hostile": number(IMAGE),
        "hostile_release": number("hostile-release"),
        "hostile_spec": number("custodian-hostile/spec-hostile.yaml"),
        "hostile_events": number(f"custodian-hostile/{IMAGE}.parquet"),
        "town": number("town/release"),
        **{name: number(name) for name in ("towns", "towns_again", "full", "week", "leaky", "liar")},
    }


def test_every_story_comes_to_its_end(told):
    assert {name: one for name, one in told["stories"].items() if not one["ok"]} == {}
    assert len(told["stories"]) == 27


def test_nothing_is_complained_of_and_nothing_is_asked_from_elsewhere(told):
    assert told["trouble"] == []


def test_axe_finds_nothing_and_nothing_is_cut_off(told):
    assert told["axe"] == []
    assert told["overflow"] == []


def test_the_law_is_read_off_dropped_files(told):
    assert "scale 1." in told["stories"]["drop three tables and read the law and the scale"]["law"]


def test_what_is_copied_runs_nothing_and_says_what_was_asked(told):
    copied = told["stories"]["a hostile name is text in what is taken along"]
    rows = list(csv.DictReader(io.StringIO(copied["csv"])))
    # What a spreadsheet would run is quoted; all else is as it was.
    calm = {f"'{name}" if name.startswith(("=", "+", "-", "@", "\t")) else name for name in NAMES}
    assert {row["stop"] for row in rows} == calm
    assert not any(row["stop"].startswith(("=", "+", "-", "@", "\t")) for row in rows)
    calls = [one for one in ast.walk(ast.parse(copied["python"])) if isinstance(one, ast.Call)]
    words = {
        word.arg: ast.literal_eval(word.value)
        for call in calls
        for word in call.keywords
        if word.arg == "where"
    }
    assert words["where"] == {"stop": list(NAMES), "constructor": ["bus"]}
