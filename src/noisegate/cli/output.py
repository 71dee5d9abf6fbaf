"""What the commands share when they print: one console, JSON files, numbers for people, progress."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console

from noisegate.places import STANDARD_OUTPUT, check_file, write_file

if TYPE_CHECKING:
    from rich.progress import Progress

#: The words of the command that runs, as they were typed.
typed: list[str] = []


class _Console(Console):
    """A console whose reader (a pager, head) may go away: the rest is done all the same, and ends with its own code."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = _Console(highlight=False, soft_wrap=False)

JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the result as JSON; to standard output if it is -.",
        allow_dash=True,
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|URL",
        help="An SQLite file or postgresql://… (default: $NOISEGATE_LEDGER, or ledger.sqlite in your state directory)",
        show_default=False,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress.")]


def check_outputs(json: Path | None, /, *, inputs: Iterable[Path | None] = (), **others: Path | None) -> None:
    """Refuse files that must not be written, before any work is done; `others` are by the name of their option.

    If JSON goes to standard output, everything for people goes to standard error.
    """
    known = list(inputs)
    for option, path in {"json": json, **others}.items():
        check_file(path, option=f"--{option}", inputs=known)
        known += [path] if path != STANDARD_OUTPUT else []
    console.stderr = json == STANDARD_OUTPUT


def write_json(path: Path | None, content: Any, /) -> None:
    """Write `content` to `path` as JSON, if there is a path: whole or not at all."""
    if path is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    octets = text.encode("utf-8", errors="backslashreplace")
    if path != STANDARD_OUTPUT:
        write_file(path, octets)
        return
    sys.stdout.write(octets.decode())
    sys.stdout.flush()


def ledger_file(target: str | None, /) -> Path | None:
    """The file of the ledger that is meant, which nothing else may be written to; None if it is a database."""
    from noisegate.ledger import default_target

    named = target if target is not None else default_target()
    return None if "://" in named else Path(named).expanduser()


def number(value: float | None, /) -> str:
    """A number as a person reads it."""
    if value is None:
        return "-"
    if math.isinf(value):
        return "infinite"
    if value == 0:
        return "0"
    return f"{value:.4g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.3e}"


PATIENCE_S = 2.0


class _Late:
    """Progress that appears once the work has taken two seconds, and never when silent."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._began = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _ready(self) -> bool:
        return not self._silent and (self._bar is not None or time.monotonic() - self._began >= PATIENCE_S)


class Steps(_Late):
    """A line that says what is being done and how many events have been read."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__(silent=silent)
        self._what, self._events = "", 0

    def show(self, what: str) -> None:
        """Say what is being done from now on."""
        self._what = what
        self._update()

    def advance(self, events: int) -> None:
        """Count `events` more."""
        self._events += events
        self._update()

    def _update(self) -> None:
        if not self._ready():
            return
        if self._bar is None:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
        # Not exactly: whoever looks over a shoulder before anything is charged learns no count.
        read = f" (about {float(f'{self._events:.0e}'):,.0f} events read)" if self._events else ""
        self._bar.update(self._bar.task_ids[0], description=self._what + read)


class Bar(_Late):
    """A bar for work whose parts are counted."""

    def __init__(self, what: str, /, *, silent: bool) -> None:
        super().__init__(silent=silent)
        self._what = what

    def show(self, done: int, total: int) -> None:
        """Move the bar to `done` of `total`."""
        if not self._ready():
            return
        if self._bar is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn(self._what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done)
