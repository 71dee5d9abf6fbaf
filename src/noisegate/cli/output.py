"""What the commands share when they print: one console, JSON files, numbers for people."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from noisegate.errors import OutputError

console = Console(highlight=False, soft_wrap=False)

JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Also write the result as JSON.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress.")]


def write_json(path: Path | None, content: Any, /) -> None:
    """Write `content` to `path` as JSON, if there is a path."""
    if path is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise OutputError(
            f"cannot write {path}: {problem.strerror or 'unknown reason'}. Choose a folder that exists and can be written."
        ) from None


def number(value: float | None, /) -> str:
    """A number as a person reads it."""
    if value is None:
        return "-"
    if math.isinf(value):
        return "infinite"
    if value == 0:
        return "0"
    return f"{value:.4g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.3e}"
