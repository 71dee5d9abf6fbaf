"""The page as one HTML file, and printed on paper where there is a Chromium without a window.

Every text is escaped by the template engine. The only markup taken as it is are the pictures, whose texts
are escaped where they are drawn, our own style sheets, and the pages that can be used (`live`). A content security policy forbids everything else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from noisegate.assessment import Figure
from noisegate.pictures import calm, dark_rules, drawn_inline
from noisegate.report.crosswalk import DISCLAIMER
from noisegate.report.live import Live
from noisegate.report.page import Page

_TEMPLATES = Path(__file__).parent / "templates"
_PAGE, _STYLE = "report.html.j2", "report.css"
#: How each outcome of a check is said.
OUTCOMES = {
    "fine": "in order",
    "known": "known",
    "cannot tell": "cannot be told",
    "refused": "refused",
}


def render_html(page: Page, /, *, live: Live | None = None) -> str:
    """The report as HTML, with the pages that can be used if there are any."""
    template = _environment().get_template(_PAGE)
    return template.render(
        page=page, style=_style(), disclaimer=DISCLAIMER, outcomes=OUTCOMES, live=_marked(live)
    ).lstrip()


def _marked(live: Live | None, /) -> dict[str, Markup] | None:
    """Data, script and sheet as they are: each was made so that it cannot end its element."""
    if live is None or not live.script:
        return None
    parts = {"data": live.data, "script": live.script, "style": live.style, "digest": live.digest}
    return {name: Markup(text) for name, text in parts.items()}  # noqa: S704 - made by us, see Live


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_calm,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["picture"] = _picture
    environment.filters["first_sentence"] = lambda text: _split(text)[0]
    environment.filters["other_sentences"] = lambda text: _split(text)[1]
    return environment


def _calm(value: Any, /) -> Any:
    """Text of files without what turns the writing round; what we made ourselves as it is."""
    return calm(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _picture(figure: Figure, /) -> Markup:
    """The picture, drawn: what came from data is escaped there."""
    return Markup(drawn_inline(figure.picture))  # noqa: S704 - made by us, see noisegate.pictures.letters


def _split(text: str, /) -> tuple[str, str]:
    """The first sentence, and the rest."""
    first, dot, rest = text.partition(". ")
    return (first + dot.strip(), rest) if dot else (text, "")


@cache
def _style() -> Markup:
    dark = "\n".join(dark_rules(".picture svg"))
    sheet = (_TEMPLATES / _STYLE).read_text(encoding="utf-8")
    # No text of this came from data.
    return Markup(f"{sheet}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n")  # noqa: S704 - our own sheet


#: Names under which it is installed.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Says which one to take.
VARIABLE = "NOISEGATE_CHROMIUM"
#: No window, no network of its own, nothing kept.
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--metrics-recording-only",
    "--mute-audio",
)


def find_browser() -> Path | None:
    """Where Chromium is; None if there is none."""
    stated = os.environ.get(VARIABLE)
    if stated:
        return Path(stated) if os.access(stated, os.X_OK) else None
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return None if found is None else Path(found)


def browser_command(browser: Path, profile: Path, /) -> list[str]:
    """How to start it with an empty profile; as root it refuses its sandbox, and our page runs no script but ours."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [str(browser), *FLAGS, *(["--no-sandbox"] if root else []), f"--user-data-dir={profile}"]


_SECONDS = 90
#: What to do where there is no browser.
HOW = (
    f"No report.pdf: there is no Chromium here. Install one (Debian: apt install chromium) or name it in {VARIABLE}, or open "
    "report.html in any browser and print it to a file."
)


def print_pdf(page: Path, target: Path, /) -> str:
    """Print `page` to `target`; empty if that worked, else one sentence on how it would."""
    browser = find_browser()
    if browser is None:
        return HOW
    with tempfile.TemporaryDirectory(prefix="noisegate-") as profile:
        command = [
            *browser_command(browser, Path(profile)),
            "--no-pdf-header-footer",
            f"--print-to-pdf={target.resolve()}",
            page.resolve().as_uri(),
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603 - a browser that the user installed
        except (OSError, subprocess.SubprocessError):
            return f"No report.pdf: {browser.name} could not print; open report.html and print it to a file."
    return "" if target.is_file() else f"No report.pdf: {browser.name} printed nothing; print report.html."
