"""What `noisegate assess` prints about the questions of a workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import console
from noisegate.cli.utility import short

if TYPE_CHECKING:
    from noisegate.assessment import Assessment
    from noisegate.workload import Answered, Measured, Usefulness

#: Each cause as a terminal has room for it.
_SHORT = {
    "aggregation": "coarse",
    "bounding": "bound",
    "noise": "noise",
    "noise and bounding": "noise+bound",
    "suppression": "missing",
}
_LEGEND = (
    "Mean error of an answer in events: by coarse bins, by the bound on units, by noise, by missing rows (taken as 0), and "
    "all together. rel.: median relative error; lost, false: answers that vanish, and that are really empty. Not private: "
    "do not publish."
)


def show_questions(result: Assessment, /) -> None:
    """Print the questions of the workload: their errors, or the intervals of their answers."""
    if result.useful is not None:
        _show_errors(result.useful)
    if result.answered is not None:
        _show_intervals(result.answered)


def _show_errors(useful: Usefulness, /) -> None:
    console.rule("Utility by query, for the custodian only", align="left")
    answered = [one for one in useful.questions if one.parts is not None]
    if answered:
        console.print(_errors(answered))
        console.print(f"[dim]{_LEGEND}[/dim]")
    _show_unanswered([(one.name, one.reason) for one in useful.questions])
    for place, line in enumerate(useful.how):
        style = "yellow" if useful.fits is False and place == 0 else "dim"
        console.print(f"[{style}]{escape(line)}[/{style}]")


def _errors(questions: Sequence[Measured], /) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column("question", overflow="fold")
    first = questions[0]
    causes = [] if first.parts is None else list(first.causes(first.parts.absolute))
    for name in (*(_SHORT[cause] for cause in causes), "all", "rel.", "lost", "false"):
        grid.add_column(name, justify="right", no_wrap=True)
    for one in questions:
        if one.parts is None or one.trio is None:
            continue
        errors = one.causes(one.parts.absolute)
        shares = (one.trio.relative["median"], one.trio.dropped, one.trio.spurious)
        grid.add_row(
            escape(one.name),
            *(short(errors[cause]) for cause in causes),
            short(one.parts.total_absolute),
            *(f"{share:.1%}" for share in shares),
        )
    return grid


def _show_intervals(answered: Answered, /) -> None:
    console.rule("Utility by query, from the release alone", align="left")
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column("question", overflow="fold")
    for name in ("answers", f"± {answered.level:.0%}", "rel.", "missing"):
        grid.add_column(name, justify="right", no_wrap=True)
    for one in answered.questions:
        if one.answers is not None:
            relative = "-" if one.relative is None else f"{one.relative:.1%}"
            grid.add_row(
                escape(one.name),
                f"{len(one.answers):,}",
                short(one.half_width),
                relative,
                f"{one.missing:.1%}",
            )
    if grid.row_count:
        console.print(grid)
        console.print(
            "[dim]±: half the mean interval of an answer, in events; rel.: half the interval as a share of the answer, "
            "median; missing: cells without a row.[/dim]"
        )
    _show_unanswered([(one.name, one.reason) for one in answered.questions])


def _show_unanswered(reasons: Sequence[tuple[str, str | None]], /) -> None:
    for name, reason in reasons:
        if reason is not None:
            console.print(f"[red]not answered[/red] {escape(name)}: {escape(reason)}.")
