"""A Chromium without a window: found on this machine, or not."""

from __future__ import annotations

import os
import shutil
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
