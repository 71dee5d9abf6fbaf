"""The files of an assessment: written to a staging directory, renamed into place at once."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noisegate.errors import OutputError

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
