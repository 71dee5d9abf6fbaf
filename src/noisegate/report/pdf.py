"""The report on paper: printed by a Chromium without a window, where there is one."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from noisegate.report.browser import VARIABLE, browser_command, find_browser

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
