"""Make the pictures of the workbench in the documents, from the releases of a demo.

`python docs/_make/workbench_shots.py DEMO [--out DIR]` serves the directory that `noisegate demo` made and looks at it in Chromium; it needs Node
and what `npm ci` installs in `frontend`. The noise of each demo is its own, so the numbers differ from run to run.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import small_png

from noisegate.report import find_browser

_ROOT = Path(__file__).resolve().parents[2]
_NOISEGATE = str(Path(sys.executable).with_name("noisegate"))


def main(demo: Path, out: Path, work: Path, /) -> None:
    """Serve the demo, look at its pages, and keep what is seen with few colours."""
    node, browser = shutil.which("node"), find_browser()
    if node is None or browser is None:
        raise SystemExit("Pictures of the workbench need Node and Chromium.")
    log = work / "log"
    with log.open("w") as stream:
        server = subprocess.Popen(  # noqa: S603 - our own program
            [_NOISEGATE, "serve", str(demo), "--custodian", "--port", "0"],
            stdout=stream,
            stderr=stream,
            env={**os.environ, "XDG_STATE_HOME": str(work / "state")},
        )
    try:
        context = {
            "address": _address(log),
            "browser": str(browser),
            "out": str(work),
            "patience": 300_000,
            "pages": _pages(),
        }
        (work / "context.json").write_text(json.dumps(context))
        command = [node, str(_ROOT / "frontend" / "pictures.mjs"), str(work / "context.json")]
        subprocess.run(command, check=True, cwd=_ROOT / "frontend")  # noqa: S603 - our own script
    finally:
        server.terminate()
        server.wait(30)
    for one in _pages():
        raw = (work / f"{one['name']}.png").read_bytes()
        (out / f"{one['name']}.png").write_bytes(small_png.write(small_png.read(raw)))


def _address(log: Path, /) -> str:
    for _ in range(600):
        found = re.search(r"http://\S+token=\S+", log.read_text())
        if found:
            return found.group()
        time.sleep(0.1)
    raise SystemExit(log.read_text())


def _pages() -> list[dict[str, Any]]:
    """What is looked at, how large, and what must be there."""
    first = _number("2016/release")
    return [
        {
            "name": "workbench-files",
            "path": f"/r/{first}/files",
            "width": 1280,
            "height": 1000,
            "until": ".node.base",
        },
        {
            "name": "workbench-microscope",
            "path": f"/r/{first}/microscope",
            "width": 1280,
            "height": 1120,
            "until": ".panel .law",
        },
        {
            "name": "workbench-phone",
            "path": f"/r/{first}/microscope",
            "width": 390,
            "height": 1000,
            "theme": "dark",
            "until": ".panel .law",
        },
        {
            "name": "workbench-ask",
            "path": f"/r/{first}/ask?by=mode",
            "width": 1280,
            "height": 860,
            "until": ".answer tbody",
        },
        {
            "name": "workbench-price",
            "path": f"/price?spec={_number('city/spec-person-day.yaml')}",
            "width": 1280,
            "height": 1120,
            "until": ".cards li",
        },
        {
            "name": "workbench-weeks",
            "path": f"/r/{first}/weeks?week=26",
            "width": 1280,
            "height": 900,
            "until": ".week",
        },
        {
            "name": "workbench-fix",
            "path": f"/r/{first}/fix?do=zeros,totals,person",
            "width": 1280,
            "height": 1000,
            "until": ".diff",
        },
        {
            "name": "workbench-map",
            "path": f"/r/{first}/map",
            "width": 1280,
            "height": 900,
            "until": ".bench circle",
            "dial": {"timetable": True, "known": 4},
        },
    ]


def _number(where: str, /) -> str:
    """The id that the workbench gives to what lies there."""
    return hashlib.sha256(where.encode()).hexdigest()[:12]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", type=Path, help="directory that 'noisegate demo' made")
    parser.add_argument("--out", type=Path, default=_ROOT / "docs" / "images")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        main(chosen.demo.resolve(), chosen.out, Path(folder))
