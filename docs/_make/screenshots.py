"""Make the screenshots of the README: the demo and an assessment in a terminal, and a report in a browser.

`python docs/_make/screenshots.py [--out DIR] [--keep DIR]` runs the real commands; it needs Chromium and a few minutes. The
noise is drawn afresh, so the numbers differ from run to run, as they do for everybody. `--keep` is where the demo writes.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import small_png
from rich.console import Console
from rich.text import Text

from noisegate.report import browser_command, find_browser

_COLUMNS = 106
#: Lines of the assessment that fit on a screen.
_LINES = 44
#: Width and height of what is shown of a report.
_DESKTOP, _PHONE = (1280, 1070), (390, 1070)
#: No window is as narrow as a phone, so the report stands in a frame, and the rest is cut off.
_FRAME = '<!doctype html><style>*{{margin:0;border:0}}</style><iframe src="{page}" width="{width}" height="{height}"></iframe>'
_NOISEGATE = str(Path(sys.executable).with_name("noisegate"))


def main(out: Path, story: Path, work: Path, /) -> None:
    """Run the demo and an assessment of its first release, and take pictures."""
    printed = _run(["demo", "--out", story.name, "--quiet"], story.parent)
    _terminal(["$ noisegate demo", *_shortened(printed.splitlines(), story)], out / "demo.png", work)
    public = work / "published"
    public.mkdir()
    for table in sorted((story / "2016" / "release").glob("*.csv")):
        shutil.copy(table, public)
    printed = _run(["assess", "time-loc.csv", "time.csv", "loc.csv", "--attacker", "none", "--quiet"], public)
    lines = ["$ noisegate assess time-loc.csv time.csv loc.csv --attacker none", *printed.splitlines()]
    _terminal([*lines[:_LINES], "..."], out / "assess.png", work)
    report = story / "2016" / "assessment" / "report.html"
    _browser(report, out / "report.png", work, *_DESKTOP)
    _browser(report, out / "report-phone.png", work, *_PHONE)


def _run(command: Sequence[str], folder: Path, /) -> str:
    """What a command prints on a terminal, colours included."""
    seen = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(_COLUMNS)}
    done = subprocess.run(  # noqa: S603 - our own program
        [_NOISEGATE, *command], cwd=folder, env=seen, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def _shortened(lines: Sequence[str], story: Path, /) -> list[str]:
    """The lines without blank ones at the head, and with places as a reader would see them."""
    kept = [line.replace(f"{story.name}/", "noisegate-demo/") for line in lines]
    return kept[next((k for k, line in enumerate(kept) if line.strip()), 0) :]


def _terminal(lines: Sequence[str], path: Path, work: Path, /) -> None:
    """A picture of a terminal that shows `lines`."""
    with (work / "terminal.txt").open("w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=_COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for line in lines:
            console.print(Text.from_ansi(line), soft_wrap=True)
        svg = console.export_svg(title="noisegate")
    # The font is one that is here; Rich would fetch another.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    page = work / "terminal.html"
    size = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    width, height = (int(float(one)) + 1 for one in size)
    page.write_text(f"<!doctype html><style>*{{margin:0}}svg{{display:block}}</style>{svg}", encoding="utf-8")
    _shot(page, path, work, width, height)


def _browser(report: Path, path: Path, work: Path, width: int, height: int, /) -> None:
    frame = work / "frame.html"
    frame.write_text(
        _FRAME.format(page=report.resolve().as_uri(), width=width, height=height), encoding="utf-8"
    )
    _shot(frame, path, work, width, height)


def _shot(page: Path, path: Path, work: Path, width: int, height: int, /) -> None:
    """A picture of a page, cut to size, with few colours."""
    browser = find_browser()
    if browser is None:
        raise SystemExit("Screenshots need Chromium; install it, or name it in NOISEGATE_CHROMIUM.")
    raw = work / "raw.png"
    command = [
        *browser_command(browser, work / "profile"),
        "--hide-scrollbars",
        "--allow-file-access-from-files",
        f"--window-size={max(width, 600)},{height}",
        f"--screenshot={raw}",
        page.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - the browser we found
    path.write_bytes(small_png.write(small_png.read(raw.read_bytes())[:height, :width]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "images")
    parser.add_argument("--keep", type=Path, help="directory for the demo; must not exist")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        main(chosen.out, (chosen.keep or Path(folder) / "noisegate-demo").resolve(), Path(folder))
