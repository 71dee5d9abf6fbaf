"""The report on paper: printed by a Chromium without a window, where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

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
    """How to start it with an empty profile; as root it refuses its sandbox, and our page holds no script."""
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
