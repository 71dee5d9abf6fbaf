"""The files of an assessment: tables that are read, and results that are renamed into place at once."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noisegate.assessment.weeks import Weeks
from noisegate.errors import OutputError
from noisegate.recovery.noise import Noise

#: Characters of a table's name that have no place in a file's.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
#: The whole assessment, for programs.
ASSESSMENT = "assessment.json"


def check_output(folder: Path, /) -> None:
    """Refuse a place that exists or cannot be written, before any work is done."""
    if folder.exists() or folder.is_symlink():
        raise OutputError(f"The output directory {folder} exists already; remove it, or choose another name.")
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise OutputError(f"There is no directory {parent} to put the assessment in; make it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"The directory {parent} cannot be written; choose another place.")


@contextmanager
def staged(folder: Path, /) -> Iterator[Path]:
    """A directory to write into that becomes `folder` when all is well and disappears otherwise."""
    staging = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        staging.mkdir()
        yield staging
        staging.rename(folder)
    except OSError as problem:
        reason = problem.strerror or "unknown reason"
        raise OutputError(f"The assessment cannot be written to {folder}: {reason}.") from problem
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_assessment(folder: Path, content: Mapping[str, Any], /) -> None:
    """Write `assessment.json`."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    (folder / ASSESSMENT).write_text(text, encoding="utf-8")


def write_pictures(folder: Path, noise: Mapping[str, Noise], /) -> None:
    """Write `noise-TABLE.svg` for each table whose noise was recovered."""
    # Drawing takes a second to load, and most assessments draw nothing.
    from noisegate.pictures.assess_noise import recovered_noise_picture
    from noisegate.pictures.canvas import save

    for name, one in noise.items():
        fit, curve = one.fit, one.curve()
        if fit is None or curve is None or fit.law == "none":
            continue
        low, high = fit.interval
        picture = recovered_noise_picture(
            curve,
            title=f"Noise of {name}: {fit.name}, scale {fit.scale:.3g}",
            subtitle=f"{fit.n:,} identities; {fit.level:.0%} interval {low:.3g} to {high:.3g}",
        )
        save(picture, folder / f"noise-{_UNSAFE.sub('_', name)}.svg")


def write_weeks_picture(folder: Path, weeks: Weeks | None, /) -> None:
    """Write `weeks.svg`, if more weeks were looked at."""
    if weeks is None or weeks.width is None:
        return
    from noisegate.assessment.weeks_picture import picture_of
    from noisegate.pictures.canvas import save

    save(picture_of(weeks), folder / "weeks.svg")
