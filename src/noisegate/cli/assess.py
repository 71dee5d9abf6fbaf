"""`noisegate assess`: what published tables give away."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from typer.core import TyperCommand

from noisegate.cli.output import (
    JsonOption,
    QuietOption,
    check_outputs,
    console,
    number,
    typed,
    write_json,
)
from noisegate.cli.questions import show_questions
from noisegate.cli.standard_input import with_standard_input
from noisegate.cli.tabular import FormatOption, TableOutput, ToOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from noisegate.assessment import AssessedTable, Assessment, Attacker, Check, Finding
    from noisegate.reading import TableSummary

_COLOURS = {"high": "red", "medium": "yellow", "low": "cyan"}
_MARKS = {
    "fine": "[green]ok[/green]",
    "known": "[dim]..[/dim]",
    "cannot tell": "? ",
    "refused": "[yellow]! [/yellow]",
}
#: What is written of a finding by --format.
_COLUMNS = ("id", "severity", "title", "numbers", "evidence", "advice", "baseline", "assumptions", "picture")
#: Joins the pairs of several --pair options; nobody types it.
_JOINT = "\x1f"
_SHOWN = 4
_NOISE_LEGEND = (
    "from: least count that is shown, and how sure that is; identities: equations among raw counts "
    "that the noise was recovered from"
)
_OPEN_LEGEND = "; ?: or one that falls off likewise and stops"
_CHECK_LEGEND = "ok: in order; ?: these tables do not tell; ..: a fact; !: does not hold"


class AssessCommand(TyperCommand):
    """Lets `--pair FIRST SECOND` be given several times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join all pairs into one before the options are parsed."""
        return super().parse_args(ctx, joined_pairs(args))


def joined_pairs(arguments: list[str], /) -> list[str]:
    """The arguments with all `--pair FIRST SECOND` in one; anything incomplete stays for the parser to refuse."""
    firsts: list[str] = []
    seconds: list[str] = []
    rest: list[str] = []
    left = list(arguments)
    while left and left[0] != "--":
        one = left.pop(0)
        if one == "--pair" and len(left) >= 2:
            firsts.append(left.pop(0))
            seconds.append(left.pop(0))
        else:
            rest.append(one)
    pairs = ["--pair", _JOINT.join(firsts), _JOINT.join(seconds)] if firsts else []
    return [*pairs, *rest, *left]


def assess(
    *,
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            help="Published tables: CSV or Parquet, in any order; or the directory of a release; - is standard input.",
        ),
    ],
    spec: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Decisions about the files, in place of what is found."),
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="FIRST SECOND", help="Cells with equal raw counts; may be repeated."),
    ] = None,
    lag: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How much later the second of a pair is: 30min, 1h, 1d."),
    ] = None,
    identity: Annotated[
        list[str] | None,
        typer.Option(metavar="SUM", help='Values of a dimension that add up: "Male + Female = Total".'),
    ] = None,
    summed_from: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Bins in which summed counts were published first: 15min."),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Card of the release; found if it lies beside the tables."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="LAW:SCALE|FILE",
            help="Noise of the tables, such as laplace:1.4, none, or a file in which OpenDP states it; it is used whatever the tables tell.",
        ),
    ] = None,
    attacker: Annotated[
        str,
        typer.Option(
            metavar="informed|minimal|none",
            help="Who infers suppressed cells: one who learns how counts vary, one who only sees the totals, or nobody.",
        ),
    ] = "informed",
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Raw events or counts, for the custodian: how well the attack really did, and what analysts lose.",
        ),
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the raw events that says whose they are.")
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option(
            metavar="SPEC",
            help="Release spec with the questions to measure by, in place of those on the card; also selects raw events.",
        ),
    ] = None,
    gtfs: Annotated[
        Path | None, typer.Option(metavar="FEED", help="Timetable of the services: GTFS, a zip or a folder.")
    ] = None,
    late: Annotated[
        int, typer.Option(metavar="MINUTES", help="How far off the timetable cards may be read.")
    ] = 20,
    stops: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Stops of locations: CSV with the columns location and stop."),
    ] = None,
    k: Annotated[
        int, typer.Option(metavar="N", help="Vehicles that suggested merges leave in every cell.")
    ] = 3,
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help='Stated share to check: "lightrail off dropped 0.0005%".'),
    ] = None,
    weeks: Annotated[
        int | None, typer.Option(metavar="N", help="Look ahead: so many weeks of such releases.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="TABLE", help="Another release of the same people, to subtract; may be repeated."
        ),
    ] = None,
    areas: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where --against is by other areas: CSV with a column for each, a row for each small area.",
        ),
    ] = None,
    movement: Annotated[
        bool,
        typer.Option(
            "--movement",
            help="Follow people through counts of who is where; scored with --truth and --person.",
        ),
    ] = False,
    level: Annotated[float, typer.Option(help="Level of intervals.")] = 0.95,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Directory to make for report.html, assessment.json and cells.parquet."
        ),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also print report.pdf; needs Chromium.")] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="unrecognised|low|medium|high",
            help="Exit with 3 on findings so severe or worse; 'unrecognised' also on tables whose protection is not recognised.",
        ),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the findings as SARIF 2.1.0, for code hosts and pipelines."
        ),
    ] = None,
    programme: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the programme behind exact bounds: .lp (CPLEX), .mps, or .jj (tau-ARGUS, sdcTable).",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the report is called, in place of the base.")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Print every table, finding and check, not only what matters most."),
    ] = False,
    json: JsonOption = None,
    form: FormatOption = None,
    to: ToOption = None,
    quiet: QuietOption = False,
) -> None:
    """Find structure, cuts and noise of published tables, and what follows for privacy.

    Example: noisegate assess time-loc.csv time.csv location.csv --out assessed

    A closed ferry: noisegate assess time-loc.csv --pair "tap=on,loc=Manly Wharf" "tap=off,loc=Circular Quay" --lag 30min

    A custodian checks attack and usefulness: noisegate assess release --truth taps.parquet --out assessed

    With a timetable, looking ahead: noisegate assess time-loc.csv time.csv --gtfs feed.zip --late 10 --weeks 52

    A corrected version: noisegate assess new.csv --against old.csv

    A gate in a pipeline: noisegate assess release/*.csv --fail-on medium

    The findings as a table: noisegate assess release --format csv > findings.csv
    """
    from noisegate.assessment import assess as run
    from noisegate.assessment import at_least
    from noisegate.cli.output import Steps
    from noisegate.errors import FindingsAbove, SpecError
    from noisegate.places import check_directory, write_file
    from noisegate.reading import load_overrides
    from noisegate.report import print_report, programme_form, programme_text, write_assessment

    if fail_on is not None:
        at_least((), fail_on)
    check_outputs(
        json,
        inputs=[*tables, *(against or ()), spec, card, truth, workload, gtfs, stops, areas, out],
        sarif=sarif,
        programme=programme,
    )
    form_of_programme = None if programme is None else programme_form(programme)
    table = TableOutput.asked(form, to, json_to=json, inputs=[*tables, *(against or ())])
    if pdf and out is None:
        raise SpecError("--pdf prints the report, which is written to --out; give a directory with --out.")
    overrides = None if spec is None else load_overrides(spec)
    if out is not None:
        check_directory(out)
    with Steps(silent=quiet) as steps, with_standard_input(tables) as files:
        result = run(
            files,
            overrides=overrides,
            pairs=[]
            if pair is None
            else list(zip(pair[0].split(_JOINT), pair[1].split(_JOINT), strict=True)),
            identities=identity or (),
            lag=lag,
            summed_from=summed_from,
            card=card,
            noise=noise,
            attacker=None if attacker == "none" else cast("Attacker", attacker),
            truth=truth,
            person=person,
            workload=workload,
            gtfs=gtfs,
            late=late,
            stops=stops,
            k=k,
            claims=claim or (),
            weeks=weeks,
            against=against or (),
            areas=areas,
            movement=movement,
            level=level,
            title=title or "",
            command=_command(),
            progress=steps.show,
        )
        if out is not None:
            write_assessment(result, out, progress=steps.show)
    (show if verbose else show_brief)(result)
    write_json(json, result.to_json())
    table.write([one.to_json() for one in result.findings], columns=_COLUMNS)
    if sarif is not None:
        from noisegate.report import as_sarif

        write_json(sarif, as_sarif(result))
    if programme is not None and form_of_programme is not None:
        write_file(programme, programme_text(result, form_of_programme).encode())
    if out is not None:
        console.print(f"Written to {escape(str(out))}; open {escape(str(out / 'report.html'))} in a browser.")
    if out is not None and pdf:
        console.print(escape(print_report(out) or f"Printed to {out / 'report.pdf'}."))
    if fail_on is not None and (failed := result.failures(fail_on)):
        least = "low" if fail_on == "unrecognised" else fail_on
        raise FindingsAbove(
            f"{len(failed)} finding{'s are' if len(failed) > 1 else ' is'} of severity {least} or above"
            f"{', or not recognised' if fail_on == 'unrecognised' else ''}: {', '.join(dict.fromkeys(failed))}."
        )


def _command() -> str:
    """The command as it was typed, files without their folders: a report may go to people who need not know these."""
    import shlex

    return shlex.join(["noisegate", *(Path(one).name if os.sep in one else one for one in typed)])


#: What fits on one screen, and how many lines what was read and each finding may take of it.
_WIDTH, _LINES, _READ_LINES, _FINDING_LINES = 80, 24, 7, 3
_TOP = 3
#: From this length on the name of a file gives way.
_LONG_NAME = 16
#: Words that want another one after them.
_OPEN_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "do",
        "for",
        "from",
        "in",
        "is",
        "not",
        "of",
        "on",
        "or",
        "so",
        "than",
        "that",
        "the",
        "to",
        "were",
        "with",
    ]
)


def show_brief(result: Assessment, /) -> None:
    """Print what matters most of an assessment, on one screen of 24 lines of 80 letters."""
    from noisegate.report import verdict_of

    verdict = verdict_of(result, dict.fromkeys(range(len(result.findings)), ""))
    names = _short_names(result)
    head = [f"[bold]{escape(text)}[/bold]" for text in _wrapped(f"{_title(result)}: {verdict.headline}", 2)]
    head += map(escape, _wrapped(verdict.tally, 2))
    if verdict.gaps and not verdict.headline.startswith("No protection"):
        others = f"; and {len(verdict.gaps) - 1} more" if len(verdict.gaps) > 1 else ""
        head += map(escape, _wrapped(f"Not examined: {names(verdict.gaps[0])}{others}.", 2, indent="  "))
    tail = [""] if result.findings else []
    for finding in result.findings[:_TOP]:
        colour = _COLOURS[finding.severity]
        mark = finding.severity.upper()
        first, *rest = _wrapped(f"{mark} {names(finding.title)}", _FINDING_LINES, indent="  ")
        tail.append(f"[bold {colour}]{mark}[/bold {colour}]{escape(first.removeprefix(mark))}")
        tail += map(escape, rest)
    more = len(result.findings) - _TOP
    left = f"{more} more finding{'s' if more > 1 else ''} and all else" if more > 0 else "All else"
    tail.append(f"[dim]{left}: --verbose, --out DIR (a report), --json FILE[/dim]")
    room = min(_READ_LINES, _LINES - 2 - len(head) - len(tail))
    read = [text for line in _read_lines(result) for text in _wrapped(line, 2, indent="  ")]
    for line in [*head, "", *map(escape, read[:room]), *tail]:
        console.print(line, soft_wrap=True)
    show_questions(result)


def _short_names(result: Assessment) -> Callable[[str], str]:
    """What tables of one file are called where their file need not be named: what stands in brackets behind its name."""
    import re

    stems: dict[str, int] = {}
    for table in result.tables:
        stem, bracket, _ = table.summary.name.partition(" (")
        stems[stem] = stems.get(stem, 0) + bool(bracket)
    long = max(stems, key=lambda stem: stems[stem] * len(stem), default="")
    if stems.get(long, 0) < 2 or len(long) < _LONG_NAME:
        return lambda text: text
    pattern = re.compile(rf"{re.escape(long)} \(((?:[^()]|\([^()]*\))*)\)")
    return lambda text: pattern.sub(r"\1", text)


def _title(result: Assessment) -> str:
    return (result.provenance.title if result.provenance is not None else "") or result.base.name


def _wrapped(text: str, most: int, /, *, indent: str = "") -> list[str]:
    """The text in lines of a screen, broken between words; what does not fit is left to the full output, at the end of a word."""
    import textwrap

    lines = textwrap.wrap(text, _WIDTH - 1, subsequent_indent=indent, break_on_hyphens=False)
    if len(lines) <= most:
        return lines
    words = textwrap.wrap(" ".join(lines[most - 1 : most]), _WIDTH - 1 - len(" (more: --verbose)"))[0].split()
    # A number that has lost what it counts says something else.
    while len(words) > 1 and (any(map(str.isdigit, words[-1])) or words[-1].strip(",;:") in _OPEN_WORDS):
        words.pop()
    return [*lines[: most - 1], f"{indent}{' '.join(words).rstrip(',;:')} (more: --verbose)"]


def _read_lines(result: Assessment) -> list[str]:
    """What was read: the base, what its markers mean, and how much there is beside it."""
    base = result.base
    over = ", ".join(f"{one.name} ({one.values:,})" for one in base.details if one.values > 1)
    one = ", ".join(f"{one.name} {one.first}" for one in base.details) or "one total"
    cells = "cell" if base.domain_size == 1 else "cells"
    lines = [f"{base.name}: {over or one}; {base.rows:,} of {base.domain_size:,} {cells} published"]
    lines += [one.describe() for one in base.markers]
    margins = sum(table.summary.link is not None for table in result.tables)
    beside = [one.structure.measure or one.base.name for one in result.beside]
    with_it = [f"{margins} margin{'s' if margins != 1 else ''}"] if margins else []
    with_it += (
        [f"{len(beside)} beside it ({', '.join(beside[:3])}{', ...' if len(beside) > 3 else ''})"]
        if beside
        else []
    )
    lines += [f"with {' and '.join(with_it)}"] if with_it else []
    aside = sum(one.rows for table in result.tables for one in table.summary.set_aside)
    columns = sum(len(table.summary.extra) for table in result.tables)
    sheets = len(result.structure.left_out)
    counted = ((aside, "line", "set aside"), (columns, "column", "left out"), (sheets, "sheet", "not read"))
    left = [f"{n:,} {what}{'s' if n > 1 else ''} {how}" for n, what, how in counted if n]
    lines += [f"{', '.join(left)}; --verbose says why"] if left else []
    return lines + _doubted(result)


def _doubted(result: Assessment, /) -> list[str]:
    """Which of its own checks made estimates of cells and sums wider, or took them back; nothing if none did."""
    engine = None if result.inference is None else result.inference.engine
    checks = engine.checks if engine is not None and engine.knows_sums else ()
    said = [
        f"{outcome} by {' and '.join(names)}"
        for outcome in ("widened", "withdrawn")
        if (names := [one.name for one in checks if one.outcome == outcome])
    ]
    return [f"estimates are {', some '.join(said)}; --verbose says why"] if said else []


def show(result: Assessment, /) -> None:
    """Print an assessment for people."""
    console.rule("Tables", align="left")
    for table in result.tables:
        _show_table(table.summary)
    console.print(_noise_table(result.tables))
    console.print(f"[dim]{_noise_legend(result.tables)}[/dim]")
    console.rule(f"Findings: {len(result.findings) or 'none'}", align="left")
    said_below = () if result.inference is None else result.inference.evidence.assumes
    for finding in result.findings:
        _show_finding(finding, said_below)
    for name, why in result.not_examined.items():
        console.print(f"[bold]Not examined[/bold] {escape(name)}: {escape(why)}.")
    console.rule("Looked at", align="left")
    console.print(f"[dim]{_CHECK_LEGEND}[/dim]")
    for check in result.checks:
        if check.id not in ("threshold", "noise-recovered"):
            _show_check(check)
    show_questions(result)


def _show_table(table: TableSummary, /) -> None:
    role = "base" if table.link is None else f"margin of {table.link.base}"
    console.print(f"[bold]{escape(table.name)}[/bold]: {escape(role)}")
    parts = ", ".join(
        f"{detail.name} ({detail.values:,} value{'s' if detail.values != 1 else ''})"
        if detail.kind in ("text", "number")
        else f"{detail.name} ({detail.first} to {detail.last})"
        for detail in table.details
    )
    lines = [f"{parts}; count in column {table.count_column}"]
    lines.append(f"{table.rows:,} of {table.domain_size:,} possible cells published")
    if table.link is not None:
        lines.append(_link_words(table))
    lines += [one.describe() for one in table.markers]
    lines += [
        f"set aside: {one.rows:,} line{'s' if one.rows != 1 else ''}, {one.reason} (line {one.first_line})"
        for one in table.set_aside
    ]
    lines += [f"left out: column {one.name}, {one.reason}" for one in table.extra]
    lines += list(table.notes)
    for line in lines:
        console.print(Padding(escape(line), (0, 0, 0, 2), expand=False))


def _link_words(table: TableSummary, /) -> str:
    link = table.link
    if link is None:
        return ""
    over = f"sums over {', '.join(link.summed)}" if link.summed else "the same dimensions"
    coarser = f", {', '.join(link.coarser)} in wider bins" if link.coarser else ""
    some = f"; covers {'; '.join(link.coverage)}" if link.coverage else ""
    return f"{over}{coarser}; {link.complete:,} of {link.comparable:,} rows have every cell published{some}"


def _noise_legend(tables: tuple[AssessedTable, ...], /) -> str:
    from noisegate.assessment import may_stop

    return _NOISE_LEGEND + _OPEN_LEGEND * any(map(may_stop, tables))


def _noise_table(tables: tuple[AssessedTable, ...], /) -> Table:
    from noisegate.assessment import may_stop, recognised_law

    grid = Table(title="Cuts and noise", title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column("table", overflow="fold")
    for name in ("from", "sure", "law", "scale", "interval", "identities"):
        grid.add_column(name, justify="left" if name == "law" else "right")
    for table in tables:
        cut, fit = table.summary.threshold, table.noise.fit
        row = [
            escape(table.summary.name),
            number(cut.value),
            f"{cut.sure:.1%}" if cut.value is not None else "-",
        ]
        made = recognised_law(table)
        if made is not None:
            row += [made[0], made[1].replace("–", "-"), "-", f"{made[2]:,}" if made[2] else "-"]
        elif fit is None:
            row += ["not recovered", "-", "-", "-"]
        else:
            low, high = fit.interval
            row += [
                f"{fit.name}{'?' * may_stop(table)}",
                f"{fit.scale:.3g}",
                f"{low:.3g} to {high:.3g}",
                f"{fit.n:,}",
            ]
        grid.add_row(*row)
    return grid


def _show_finding(finding: Finding, said_below: tuple[str, ...], /) -> None:
    """Print a finding; assumptions of the inference of all cells are said once, where it is looked at."""
    colour = _COLOURS[finding.severity]
    console.print(f"[bold {colour}]{finding.severity.upper()}[/bold {colour}] {escape(finding.title)}")
    # What was assumed is always shown; of the rest, enough to see what it is about.
    for line in finding.evidence[:_SHOWN]:
        console.print(_bullet(line))
    if len(finding.evidence) > _SHOWN:
        more = f"[dim]- and {len(finding.evidence) - _SHOWN} more, with --json or --out[/dim]"
        console.print(Padding(more, (0, 0, 0, 2), expand=False))
    if finding.comparison:
        console.print(_bullet(f"By comparison: {finding.comparison}"))
    for line in () if tuple(finding.assumptions) == said_below else finding.assumptions:
        console.print(_bullet(f"Assumed: {line}."))
    console.print(Padding(f"[bold]Advice[/bold]: {escape(finding.advice)}", (0, 0, 1, 2), expand=False))


def _bullet(line: str, /) -> Padding:
    grid = Table.grid(padding=(0, 1))
    grid.add_row("[dim]-[/dim]", escape(line))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _show_check(check: Check, /) -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    said = escape(check.title)
    # Of its own fit, what had a consequence.
    fit = [line for line in check.evidence if line.startswith("Fit,") and "(holds)" not in line]
    assumed = [line for line in check.evidence if line.startswith("Assumed")] + fit
    grid.add_row(_MARKS[check.outcome], "\n".join([said, *map(escape, assumed)]))
    console.print(grid)
