"""`noisegate query`: totals of a published release, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import Bar, JsonOption, QuietOption, Steps, check_outputs, console, write_json
from noisegate.cli.standard_input import with_standard_input
from noisegate.cli.tabular import FormatOption, TableOutput, ToOption
from noisegate.errors import DataError, SpecError

if TYPE_CHECKING:
    from noisegate.query import Answers, Askable
    from noisegate.tables import Clipped
    from noisegate.workload import WorkloadAnswer

#: Rows that are printed; all of them are in the JSON.
_SHOWN_ROWS = 50


def query(
    *,
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="RELEASE_DIR|TABLE...",
            help="A directory that 'noisegate release' made; or tables of any maker, whose noise is recovered from them; - is standard input.",
        ),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            help='Conditions, such as "mode=ferry,time=06:00..09:00" or "location=A|B"; may be given again.'
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="A dimension to tell apart; may be given again, or as a list: mode,tap."),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability that an interval holds the truth.")] = 0.95,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITIONS",
            help="How many more than under these conditions, in place of those of --where for the same dimensions.",
        ),
    ] = None,
    ratio: Annotated[
        str | None,
        typer.Option(metavar="CONDITIONS", help="How many for each one under these conditions."),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(metavar="RELEASE_DIR", help="How many more than in another release."),
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank", help="The rank of each group, largest first, with its interval.")
    ] = False,
    workload: Annotated[
        bool,
        typer.Option(
            "--workload", help="Answer the questions that the card lists, instead of one of your own."
        ),
    ] = False,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only the groups with the largest estimates.")
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Decisions about tables without a card, as for assess."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="LAW:SCALE|FILE",
            help="Noise of tables without a card, such as laplace:1.4, none, or a file in which OpenDP states it; else it is recovered.",
        ),
    ] = None,
    json: JsonOption = None,
    form: FormatOption = None,
    to: ToOption = None,
    quiet: QuietOption = False,
) -> None:
    """How many events meet some conditions, and how sure that is, from the published tables alone.

    A range of times runs up to its end, a range of dates includes it. Values with commas need quotation marks.

    For example: noisegate query week --by mode

    or: noisegate query week --where "mode=ferry,time=06:00..09:00" --by location

    or: noisegate query week --where mode=ferry --compare mode=bus --by date

    or: noisegate query week2 --since week --by mode

    or: noisegate query week --by location --rank --top 10

    or: noisegate query time-loc.csv time.csv --by mode

    or: noisegate query week --workload

    or: noisegate query week --by date,mode --format csv > by-date.csv
    """
    check_outputs(json, inputs=[*tables, *([] if since is None else [since])])
    table = TableOutput.asked(form, to, json_to=json, inputs=[*tables, since])
    names = [name.strip() for part in by or [] for name in part.split(",") if name.strip()]
    _check_asked(
        workload=workload,
        other=bool(where or names or top or rank or compare or ratio or since),
        forms=[bool(compare), bool(ratio), since is not None, rank],
        ranked=rank and not names,
    )
    with (
        Bar("working out what is missing", silent=quiet) as bar,
        Steps(silent=quiet) as steps,
        with_standard_input(tables) as files,
    ):
        source = _opened(files, spec=spec, noise=noise, bar=bar, steps=steps)
        if workload:
            answered = _answered_workload(source, level)
        else:
            answers = _answered(
                source, where or None, names, level, compare=compare, ratio=ratio, since=since, rank=rank
            )
        _keep(source)
    if workload:
        _show_workload(source, answered, level)
        questions = [one.as_json() for one in answered]
        write_json(json, {"release": source.name, "level": level, "questions": questions})
        table.write(questions)
        return
    if top is not None:
        answers = answers.largest(top)
    beside = compare or ratio or (None if since is None else str(since))
    _show(source, answers, where or [], beside=beside)
    write_json(
        json,
        {
            "release": source.name,
            "where": where or [],
            "by": names,
            "level": level,
            "simulated": _simulated(source),
            "form": answers.form,
            "compared_with": beside,
            "answers": answers.to_rows(),
            **_assumed(source, answers),
        },
    )
    table.write(answers.to_rows())


def _check_asked(*, workload: bool, other: bool, forms: Sequence[bool], ranked: bool) -> None:
    """Refuse options that contradict each other."""
    if workload and other:
        raise SpecError("--workload asks the questions of the card; leave out --where, --by and --top.")
    if sum(forms) > 1:
        raise SpecError("--compare, --ratio, --since and --rank are four questions; ask one at a time.")
    if ranked:
        raise SpecError("--rank needs groups to rank; name a dimension with --by.")


def _opened(
    tables: list[Path], /, *, spec: Path | None, noise: str | None, bar: Bar, steps: Steps
) -> Askable:
    """A release by its card, or tables by what can be recovered of how they were made."""
    from noisegate.query import open_release

    plain = spec is None and noise is None
    if plain and len(tables) == 1 and tables[0].suffix and not tables[0].exists():
        raise DataError(
            f"There is no file {str(tables[0])!r}; give published tables, or the directory that 'noisegate release' made."
        )
    if plain and len(tables) == 1 and (tables[0].is_dir() or not tables[0].exists()):
        folder = tables[0]
        if (folder / "card.json").exists() or not any(folder.glob("*.*")):
            return open_release(folder, report=lambda _, done, total: bar.show(done, total), remember=True)
    from noisegate.api.asking import open_tables

    decisions = None if spec is None else str(spec)
    return open_tables(list(map(str, tables)), decisions=decisions, noise=noise, progress=steps.show)


def _answered(
    source: Askable,
    where: list[str] | None,
    by: list[str],
    level: float,
    /,
    *,
    compare: str | None,
    ratio: str | None,
    since: Path | None,
    rank: bool,
) -> Answers:
    """The answers to the one question that was asked."""
    if compare is not None or ratio is not None:
        form: Literal["difference", "ratio"] = "difference" if compare is not None else "ratio"
        return source.compare(where=where, to=compare or ratio, by=by, form=form, level=level)
    if since is not None:
        from noisegate.query import open_release

        other = open_release(since, remember=True)
        changed = source.change(other, where=where, by=by, level=level)
        _keep(other)
        return changed
    if rank:
        return source.ranking(where=where, by=by, level=level)
    return source.answer(where=where, by=by, level=level)


def _keep(source: Askable, /) -> None:
    """Keep what was worked out of a release for the next question to it."""
    from noisegate.query import OpenRelease

    if isinstance(source, OpenRelease):
        source.keep()


def _answered_workload(source: Askable, level: float, /) -> tuple[WorkloadAnswer, ...]:
    from noisegate.query import OpenRelease
    from noisegate.workload import answer_workload

    if not isinstance(source, OpenRelease):
        raise SpecError("--workload asks the questions of a card, and these tables have none.")
    return answer_workload(source, level=level)


def _simulated(source: Askable, /) -> bool:
    card = getattr(source, "card", None)
    return bool(card is not None and card.simulated)


def _assumed(source: Askable, answers: Answers, /) -> dict[str, Any]:
    """What had to be assumed, and, where answers were withdrawn, what the engine found when it tried itself."""
    clipped = _clipped(source)
    found: dict[str, Any] = {
        "assumes": list(getattr(source, "assumes", ())),
        "checks": [] if answers.told.all() else [one.to_json() for one in source.checks],
        "clipped": None if clipped is None else clipped.to_json(),
        "for_all_events": None if clipped is None or answers.form != "total" else _for_all(clipped, answers),
    }
    return {name: said for name, said in found.items() if said}


def _clipped(source: Askable, /) -> Clipped | None:
    """What the card says of events beyond the bound, if it does."""
    card = getattr(source, "card", None)
    bounding = getattr(card, "bounding", None)
    return None if bounding is None else bounding.clipped


def _factors(clipped: Clipped, /) -> tuple[float, float]:
    """What answers are multiplied by to be about all events: least and most."""
    return 1 / (1 - min(clipped.events_low, 0.99)), 1 / (1 - min(clipped.events_high, 0.99))


def _for_all(clipped: Clipped, answers: Answers, /) -> dict[str, Any]:
    """Intervals about all events, those beyond the bound too: wider by the interval of their share."""
    low, high = _factors(clipped)
    return {
        "low": [float(low * value) for value in answers.low.tolist()],
        "high": [float(high * value) if math.isfinite(value) else None for value in answers.high.tolist()],
        "assumes": "events beyond the bound are spread over groups like the others, and no unit has more than twice its bound",
    }


def _show_clipped(source: Askable, answers: Answers, /) -> None:
    """Say how much bounding left out, and what a total would be with it."""
    clipped = _clipped(source)
    if clipped is None:
        return
    low, high = _factors(clipped)
    console.print(
        f"[yellow]Bounded:[/yellow] {100 * clipped.events:.1f} % of all events ({100 * clipped.events_low:.1f} to "
        f"{100 * clipped.events_high:.1f} %) are beyond the bound and in no count. Answers are about events that count; for all "
        f"events multiply by {low:.2f} to {high:.2f}, if those left out are like the others."
    )
    if len(answers) == 1 and answers.form == "total":
        ends = f"{low * float(answers.low[0]):,.0f} to {high * float(answers.high[0]):,.0f}"
        console.print(f"All events, those beyond the bound too: {ends}.")


_FORMS = {"total": "", "rank": "", "difference": " less ", "ratio": " for each of "}


def _show(source: Askable, answers: Answers, where: list[str], /, *, beside: str | None) -> None:
    asked = ", ".join(where) or "everything"
    title = f"{source.name}: {asked}" + (f"{_FORMS[answers.form]}{beside}" if beside else "")
    table = Table(title=escape(title), title_justify="left")
    for name in answers.labels:
        table.add_column(escape(name), overflow="fold")
    sure = f"{100 * answers.level:g} % interval"
    for name in ("estimate", sure, *(["rank"] if answers.ranks is not None else []), "cells", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in range(min(len(answers), _SHOWN_ROWS)):
        table.add_row(
            *(escape(labels[row]) for labels in answers.labels.values()),
            *answers.words(row),
            *([] if answers.ranks is None else [answers.rank_words(row)]),
            f"{answers.cells[row]:,}",
            f"{answers.suppressed[row]:,}",
        )
    console.print(table)
    if len(answers) > _SHOWN_ROWS:
        console.print(f"... and {len(answers) - _SHOWN_ROWS:,} more rows; --json FILE writes all of them.")
    _show_notes(source, answers)
    _show_clipped(source, answers)
    console.print(
        f"From table '{escape(answers.table)}'; missing: cells without a published row, which the interval allows for."
    )
    for check in source.checks:
        if check.outcome in {"widened", "withdrawn"}:
            console.print(
                f"[yellow]Checked: {escape(check.name)}: {escape(check.says)} ({check.outcome}).[/yellow]"
            )
    for line in getattr(source, "assumes", ()):
        console.print(f"[dim]Assumed: {escape(line)}.[/dim]")
    card = getattr(source, "card", None)
    if card is not None and card.bounding is not None:
        console.print("Events beyond the release's bound on what one unit adds are in no published number.")
    if _simulated(source):
        console.print("[yellow]This release was made with repeatable noise, for a demonstration.[/yellow]")


def _show_notes(source: Askable, answers: Answers, /) -> None:
    """What the tables do not tell, and why."""
    for note in answers.notes:
        console.print(f"[yellow]{escape(note)}[/yellow]")
    for check in () if answers.told.all() else source.checks:
        if check.outcome != "holds":
            console.print(f"[yellow]{escape(check.name)}: {escape(check.says)}.[/yellow]")


def _show_workload(release: Askable, answered: Sequence[WorkloadAnswer], level: float, /) -> None:
    table = Table(title=f"{escape(release.name)}: what the release can say", title_justify="left")
    table.add_column("question", overflow="fold")
    for name in ("groups", "of noise", f"{100 * level:g} % within", "relative", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in answered:
        if one.answers is not None:
            table.add_row(
                escape(one.name),
                f"{len(one.answers):,}",
                f"± {one.noise_half_width:,}",
                f"± {one.half_width:,.0f}",
                "-" if one.relative is None else f"{100 * one.relative:.1f} %",
                f"{100 * one.missing:.0f} %",
            )
    console.print(table)
    for one in answered:
        if one.answers is None:
            console.print(f"[red]not answered[/red] {escape(one.name)}: {escape(one.reason or '')}")
    console.print(
        "of noise: what the card predicts if nothing is missing; within: half the mean interval of a group, missing rows "
        "allowed for; relative: its median share of the estimate; missing: cells without a row."
    )
