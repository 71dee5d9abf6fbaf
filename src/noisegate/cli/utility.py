"""What `noisegate release` prints about the questions of a workload: the plan, and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from noisegate import limits
from noisegate.cli.output import Bar, console, number, write_json
from noisegate.places import MARK, MARK_KEY

if TYPE_CHECKING:
    from noisegate.engine import SlicedCounts
    from noisegate.releases import Plan, WorkloadStrategy
    from noisegate.spec import ReleaseSpec
    from noisegate.workload import Measured, NeededBudget, Outlook, QuestionOutlook

#: The places among the factors of an outlook that a terminal has room for.
_SHOWN_FACTORS = frozenset({1, 2, 3, 4, 5})
_WARNING = "measured against the raw events; not private, not for publishing"


def show_plan(
    spec: ReleaseSpec,
    /,
    *,
    error: float | None,
    want: str | None,
    like: Path | None,
    picture: Path | None,
    json: Path | None,
    quiet: bool,
) -> None:
    """Print, draw and write the outlook of a spec."""
    from noisegate.workload import outlook

    with Bar("planning", silent=quiet) as bar:
        found = outlook(spec, wanted=error, want=want, like=like, report=bar.show)
    if spec.series is not None:
        _print_series(spec)
    _print_plan(spec, found)
    if picture is not None:
        from noisegate.pictures import outlook_picture, save

        curves = {one.name: one.curve for one in found.questions if one.by_epsilon}
        save(
            outlook_picture(curves, epsilon=found.epsilon, title=f"What a budget buys: {found.spec_name}"),
            picture,
        )
        console.print(f"Picture: {escape(str(picture))}")
    write_json(json, found.as_json())


def _print_series(spec: ReleaseSpec, /) -> None:
    """What a series measures, against independent weeks on the same budget."""
    from noisegate.releases import make_plan

    part = make_plan(spec).series
    assert part is not None
    strategy, total = part.terms.strategy, part.terms.variance_of_total
    console.print(
        f"A series of {strategy.weeks} weeks on one budget: {strategy.name}. On average, over the variance of one of as many independent weeks, a week "
        f"has {number(strategy.week)}"
        + (f", a running total {number(strategy.running)}" if strategy.law == "gaussian" else "")
        + ("" if total is None else f", the total of all weeks {number(total)}")
        + f" (weeks added up: {(strategy.weeks + 1) / 2:g} and {strategy.weeks}). Errors below are of the week with the most noise."
    )


def _print_plan(spec: ReleaseSpec, found: Outlook, /) -> None:
    answered = [one for one in found.questions if one.reason is None]
    if answered:
        console.print(_plan_table(found, answered))
        console.print(
            "Bold: the epsilon of the spec. What suppression, bounding and coarse bins add depends on the events."
            if found.like is None
            else "Bold: the epsilon of the spec. all: with missing rows, each counted as nothing, at that epsilon. "
            "What bounding and coarse bins add depends on the events."
        )
        _print_assumption(found)
        _print_laws(found)
        _print_strategy(spec, found.strategy)
    _print_thresholds(found)
    if found.needed is not None:
        show_needed(found.needed)
    _print_unanswered([(one.name, one.reason) for one in found.questions])
    what = "Nothing was read" if found.like is None else "No event was read"
    console.print(f"{what} and nothing was spent.")


def _plan_table(found: Outlook, answered: Sequence[QuestionOutlook], /) -> Table:
    table = Table(
        title=f"{escape(found.spec_name)}: expected error by noise, for epsilon of one {found.unit}",
        title_justify="left",
    )
    table.add_column("question", no_wrap=True)
    shown = [place for place in range(len(answered[0].by_epsilon)) if place in _SHOWN_FACTORS]
    for place in shown:
        epsilon = answered[0].by_epsilon[place][0]
        style = "bold" if epsilon == found.epsilon else ""
        table.add_column(number(epsilon), justify="right", no_wrap=True, style=style)
    if found.like is not None:
        table.add_column("all", justify="right", no_wrap=True)
    if any(one.wanted is not None for one in answered):
        table.add_column("wanted", justify="right", no_wrap=True)
        table.add_column("needs", justify="right", no_wrap=True)
    for one in answered:
        everything = [
            short(r.published)
            for (e, _), r in zip(one.by_epsilon, one.rehearsed, strict=False)
            if e == found.epsilon
        ]
        aim = [] if one.wanted is None else [short(one.wanted), number(one.epsilon_needed)]
        errors = (one.curve[place][1] for place in shown)
        table.add_row(escape(one.name), *map(short, errors), *everything, *aim)
    return table


def _print_assumption(found: Outlook, /) -> None:
    """Say what the plan takes counts to be, and for which questions it matters."""
    if found.like is not None:
        console.print(f"Assumes {escape(str(found.assumes))}.")
        if found.like.left_out > 0:
            console.print(
                f"[yellow]{found.like.left_out:.1%}[/yellow] of its cells have no row; they were filled in from its margins, "
                "so these errors are rough."
            )
        for name, labels in found.like.unknown.items():
            console.print(f"It does not know {labels:,} of the values of {escape(name)}; taken to be empty.")
    elif found.assumes is not None:
        names = ", ".join(one.name for one in found.questions if one.depends_on_counts)
        console.print(
            f"[yellow]Assumes {escape(found.assumes)}.[/yellow] Where they are small, other errors are likely, mostly smaller "
            f"ones, in: {escape(names)}. To plan with counts, add --like DIR: an earlier release, or a simulated one."
        )


def _print_laws(found: Outlook, /) -> None:
    """Which law has the smaller error for these questions, with both figures."""
    if not found.laws:
        return
    best, other = found.laws
    verb = "suits these questions best" if best.chosen else "would suit these questions better"
    sentence = (
        f"{best.law} {verb}: expected error {short(best.error)}, base sd {short(best.base)} at epsilon "
        f"{number(best.epsilon)}, delta {number(best.delta)}; {other.law}: {short(other.error)}, base sd {short(other.base)}"
        f" (delta {number(other.delta)}; means over questions)."
    )
    console.print(sentence)


def _print_strategy(spec: ReleaseSpec, made: WorkloadStrategy | None, /) -> None:
    """What is measured for the workload, or that it could be."""
    privacy = spec.privacy
    if made is None:
        free = privacy.epsilon is not None and privacy.margins == "reconcile" and privacy.split is None
        if free and spec.series is None and privacy.choose_bound is None:
            console.print(
                "What is measured serves all tables alike; [bold]strategy: workload[/bold] in the privacy block makes the errors of these "
                "questions least instead."
            )
        return
    shares = {name: share for name, share in (made.spec.privacy.split or {}).items() if share}
    listed = ", ".join(f"{name} {float(100 * share):.2g} %" for name, share in shares.items())
    console.print(
        f"Measured for this workload: {escape(listed)} of the budget. The mean of the questions' variances, each over its own by the base alone, "
        f"is {made.value / made.flat:.2g} of what the declared tables have with their usual split."
    )


def _print_thresholds(found: Outlook, /) -> None:
    """What thresholds do to cells of the base: by the spec alone, or with the counts of another release."""
    if not found.thresholds:
        return
    table = Table(title="Thresholds of the base (suppress: {below: …})", title_justify="left")
    for name in ("from", "empty shown", *(() if found.like is None else ("false rows", "hidden", "error"))):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.thresholds:
        row = ["all" if one.threshold is None else f"{one.threshold:,}", f"{100 * one.spurious:.2g} %"]
        if one.false_rows is not None and one.hidden is not None and one.error is not None:
            row += [f"{one.false_rows:,.0f}", f"{100 * one.hidden:.1f} %", f"{one.error:,.3g}"]
        table.add_row(*row, style="bold" if one.chosen else "")
    console.print(table)
    words = "Bold: that of the spec. empty shown: empty cells that noise carries over it"
    if found.like is None:
        console.print(
            f"{words}. What it hides depends on counts: add --like DIR, never the events themselves."
        )
        return
    best = next(one for one in found.thresholds if one.best)
    told = "no threshold" if best.threshold is None else f"suppress: {{below: {best.threshold}}}"
    console.print(
        f"{words}; hidden: events in cells that are not shown; error: of a cell on average, one that is not shown counted as nothing: "
        f"least with {told}. By the published counts of {escape(found.like.name)} alone."
    )


def show_needed(needed: NeededBudget, /) -> None:
    """Print the least budget for what is wanted, and what it means."""
    table = Table(
        title=f"What is wanted, 19 times in 20: needs epsilon {number(needed.epsilon)} of one {needed.unit}",
        title_justify="left",
    )
    table.add_column("question")
    for name in ("wanted", "events", "within", "alone needs"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in needed.wants:
        limit = "?" if one.limit is None else f"{one.limit:,.1f}".removesuffix(".0")
        table.add_row(escape(one.name), escape(one.wanted), limit, f"± {one.half_width:,}", number(one.alone))
    console.print(table)
    for one in needed.wants:
        if one.limit is None:
            console.print(
                f"[yellow]{escape(one.name)}[/yellow]: a percentage of what? With this epsilon {escape(one.wanted)} holds for "
                f"counts from {one.holds_from:,} on. Add --like DIR, or write {escape(one.wanted)} of a size."
            )
    if needed.binding is not None and len(needed.wants) > 1 and needed.epsilon_without is not None:
        console.print(
            f"{escape(needed.binding)} costs most: without it epsilon {number(needed.epsilon_without)} would do."
        )
    _print_ways(needed)
    for view in needed.attacker:
        console.print(
            f"Somebody who knows all else is right about {escape(view.whose)} {100 * view.right:.1f} % of the time at most "
            f"(guessing: {100 * view.guessing:.0f} %)."
        )
    console.print(f"Assumes {escape(needed.assumes)}.")


def _print_ways(needed: NeededBudget, /) -> None:
    """What other choices would need."""
    if len(needed.ways) == 1:
        return
    table = Table(title="Ways to meet it", title_justify="left")
    table.add_column("change to the spec")
    for name in ("epsilon", "delta"):
        table.add_column(name, justify="right", no_wrap=True)
    for way in needed.ways:
        style = "bold" if way is needed.least else ""
        table.add_row(escape(way.change), number(way.epsilon), number(way.delta), style=style)
    console.print(table)
    keys = _yaml(needed.least.keys)
    if needed.least is not needed.ways[0]:
        console.print(f"For the least of these write into the spec:\n{escape(keys)}", soft_wrap=True)


def _yaml(keys: Any, /) -> str:
    import yaml

    return str(yaml.safe_dump(keys, sort_keys=False, default_flow_style=None)).rstrip()


def short(value: float, /) -> str:
    """An error as a table has room for it."""
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def measuring(
    found: list[Measured], /, *, engine: str | None, report: Callable[[str], None]
) -> Callable[[Plan, SlicedCounts], None]:
    """A look at the raw counts before they are released: fills `found` with measured errors."""

    def look(plan: Plan, counts: SlicedCounts) -> None:
        from noisegate.engine import connect
        from noisegate.laws import OsNoise
        from noisegate.workload import measure

        if plan.base.cells > limits.current().rehearsed_cells:
            return
        report("measuring the errors of the workload")
        elsewhere = connect(engine) if engine not in (None, "duckdb") else None
        found.extend(measure(plan, counts.whole(), entropy=OsNoise(), connection=elsewhere))

    return look


def show_measured(found: Sequence[Measured], /) -> None:
    """Print where the error of each question comes from."""
    answered = [one for one in found if one.parts is not None]
    if answered:
        table = Table(
            title="Errors of the workload", title_justify="left", caption=_WARNING, caption_justify="left"
        )
        table.add_column("question", no_wrap=True)
        for name in ("coarse", "bound", "noise", "missing", "all", "rel.", "lost", "false"):
            table.add_column(name, justify="right", no_wrap=True)
        for one in answered:
            table.add_row(escape(one.name), *_measured_row(one))
        console.print("[bold]For your eyes only[/bold] (not in the release)")
        console.print(table)
        console.print(
            "Mean absolute error of a group: by coarse bins, by the bound on units, by noise, by missing rows (taken as 0), and "
            "all together. rel.: median relative error; lost, false: groups that vanish, groups that are really empty."
        )
    _print_unanswered([(one.name, one.reason) for one in found])


def _measured_row(one: Measured, /) -> list[str]:
    assert one.parts is not None
    assert one.trio is not None
    parts = [one.parts.absolute[name] for name in ("aggregation", "bounding", "noise", "suppression")]
    return [
        *map(short, (*parts, one.parts.total_absolute)),
        *(
            f"{100 * share:.1f} %"
            for share in (one.trio.relative["median"], one.trio.dropped, one.trio.spurious)
        ),
    ]


def measured_json(name: str, found: Sequence[Measured], /) -> dict[str, Any]:
    """Measured errors as plain data."""
    return {
        "spec": name,
        "private": False,
        MARK_KEY: True,
        "warning": f"{_WARNING}; {MARK}",
        "questions": [one.to_json() for one in found],
    }


def _print_unanswered(reasons: Sequence[tuple[str, str | None]], /) -> None:
    for name, reason in reasons:
        if reason is not None:
            console.print(f"[red]not answered[/red] {escape(name)}: {escape(reason)}.")
