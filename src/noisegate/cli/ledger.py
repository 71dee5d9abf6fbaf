"""`noisegate ledger`: show, check and set what each population may spend.

Errors of noisegate are left to the main program, which prints them and sets the exit code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import JsonOption, LedgerOption, check_outputs, console, ledger_file, write_json
from noisegate.cli.tabular import FormatOption, TableOutput, ToOption
from noisegate.errors import DataError, GateError
from noisegate.ledger import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    Account,
    Discrepancy,
    Entry,
    Ledger,
    PrivacyBudget,
    Spent,
    account_document,
    as_delta,
    as_epsilon,
    as_unit,
    budget_document,
    entry_document,
    open_ledger,
    problem_document,
    shown_down,
    shown_up,
    signatures,
)

app = typer.Typer(
    name="ledger",
    help="What each population may spend, has spent, and on what.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_SHOW = """Examples:

- `noisegate ledger show`: all populations
- `noisegate ledger show taps`: one population, with its history
- `noisegate ledger show --json ledger.json`: exact amounts, for programs
- `noisegate ledger show taps --format csv`: the history of one, as a table
"""

_CHECK = """Examples:

- `noisegate ledger check`: exit code 0 if all is well, 3 if not
- `noisegate ledger check --settle`: also close what stopped releases left open
- `noisegate ledger check --accept`: an older copy of the ledger was restored on purpose
"""

_SET = """Examples:

- `noisegate ledger set taps --epsilon 10 --unit person-day`: at first
- `noisegate ledger set taps --epsilon 12 --delta 1e-6 --by "A. Jones"`: later, to raise it
"""


@app.command(epilog=_SHOW)
def show(
    *,
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="POPULATION", help="Only this one, with its history.", show_default=False),
    ] = None,
    ledger: LedgerOption = None,
    json_file: JsonOption = None,
    form: FormatOption = None,
    to: ToOption = None,
) -> None:
    """Show what each population may spend, has spent and has left.

    What one event, one day of a person and one person have lost: spent by plain addition on the worst day, and tight by composing
    what each release promises. Amounts are rounded outward: spent upward, left downward. The JSON file has them exactly.
    """
    check_outputs(json_file, inputs=[ledger_file(ledger)])
    rows = TableOutput.asked(form, to, json_to=json_file, inputs=[ledger_file(ledger)])
    with open_ledger(ledger, read_only=True) as book:
        accounts = book.accounts()
        history = book.history(dataset) if dataset is not None else ()
        document: dict[str, Any] = {"ledger": book.place, "exists": book.exists}
    if dataset is not None:
        accounts = tuple(one for one in accounts if one.dataset == dataset)
        if not accounts:
            raise DataError(
                f"The ledger {book.place} knows no population {dataset!r}. See 'noisegate ledger show'."
            )
        document["history"] = [entry_document(entry) for entry in history]
    _print_place(book)
    if accounts:
        _print_accounts(accounts)
    elif book.exists:
        console.print("It is empty: nothing has been spent.")
    _print_remarks(accounts)
    if history:
        console.print(_history_table(history))
    listed = [account_document(one) for one in accounts]
    write_json(json_file, {**document, "accounts": listed})
    rows.write(document.get("history", listed))


@app.command(epilog=_CHECK)
def check(
    *,
    settle: Annotated[
        bool,
        typer.Option(
            "--settle",
            help="Mark what stopped releases left open: published if in place, else abandoned. Still spent.",
        ),
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Take the ledger as it is: an older copy that was restored on purpose, or a new one.",
        ),
    ] = False,
    ledger: LedgerOption = None,
    json_file: JsonOption = None,
) -> None:
    """Check the ledger, and the releases it speaks of, for consistency.

    Verifies that it is no older copy of itself, the chain of entries, that no reservation was ever over its budget, that each
    release still in place has the card the ledger recorded, and that there is none it does not
    know. What a stopped release left behind is listed as a note. Exit code 3 on any fault.
    """
    check_outputs(json_file, inputs=[ledger_file(ledger)])
    with open_ledger(ledger, read_only=not settle) as book:
        if accept:
            book.forget()
        settled = book.settle() if settle else ()
        problems = (*book.check(), *_left_by_counts())
        history = book.history()
    faults = [one for one in problems if one.fault]
    _print_place(book)
    if problems:
        console.print(_problem_table(problems))
    if settled:
        console.print(f"Settled: {_many(len(settled), 'reservation')}. All still count as spent.")
    if not faults:
        last = f", last digest {history[-1].digest}" if history else ""
        console.print(f"Consistent: {_many(len(history), 'entry')}{last}.", soft_wrap=True)
    write_json(
        json_file,
        {
            "ledger": book.place,
            "exists": book.exists,
            "consistent": not faults,
            "entries": len(history),
            "last_digest": history[-1].digest if history else None,
            "problems": [problem_document(one) for one in problems],
            "settled": [one.id for one in settled],
        },
    )
    if faults:
        raise GateError(
            f"The ledger {book.place} is not consistent: {_many(len(faults), 'fault')}, listed above."
        )


@app.command("set", epilog=_SET)
def set_budget(
    *,
    dataset: Annotated[
        str, typer.Argument(metavar="POPULATION", help="The name of the population.", show_default=False)
    ],
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="NUMBER", help="For all releases together: 10, 0.5, 1/3.")
    ],
    delta: Annotated[
        str | None,
        typer.Option(
            "--delta",
            metavar="NUMBER",
            help="Likewise; unchanged if not given, 0 at first.",
            show_default=False,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="event|person-day|person",
            help="What it protects; needed at first. There may be a budget for each.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME", help="Who decides; twice for a second signature.", show_default=False
        ),
    ] = None,
    ledger: LedgerOption = None,
    json_file: JsonOption = None,
) -> None:
    """Set, raise or lower a budget of a population. The change is kept in the history, with its time and who decided."""
    check_outputs(json_file, inputs=[ledger_file(ledger)])
    as_epsilon(epsilon)  # what is wrong is said before a ledger is made
    as_delta(delta or "0")
    as_unit(unit or "event")
    signatures(by or ())
    with open_ledger(ledger) as book:
        budget = book.set_budget(dataset, epsilon=epsilon, delta=delta, unit=unit, by=by or ())
        account = book.account(dataset)
    _print_place(book)
    _print_accounts([account])
    _say_large(budget, by=by or ())
    write_json(json_file, {"ledger": book.place, "dataset": dataset, "budget": budget_document(budget)})


def _left_by_counts() -> tuple[Discrepancy, ...]:
    """Notes on temporary files that counts which were stopped left on this machine."""
    from noisegate.engine import leftovers

    return tuple(
        Discrepancy(
            kind="temporary",
            message=f"{place} was left by a count that was stopped, and may hold ids of persons. "
            "The next count removes it, or delete it.",
            path=place,
        )
        for place in leftovers()
    )


def _print_place(book: Ledger) -> None:
    """Where the ledger is, and what it means that nothing is in it."""
    console.print(f"Ledger: {escape(book.place)}", soft_wrap=True)
    if not book.exists:
        console.print(
            "There is no ledger there yet: nothing has been spent. "
            "The first release makes it, or 'noisegate ledger set'.",
            soft_wrap=True,
        )


def _print_accounts(accounts: Sequence[Account]) -> None:
    """One table; or, if the names leave too little room for the numbers, each name above a table of its own."""
    together = _account_table(accounts, named=True)
    needed = console.measure(together, options=console.options.update(width=10_000)).maximum
    if needed <= console.width:
        console.print(together)
        return
    for one in accounts:
        console.print(f"\n[bold]{escape(one.dataset)}[/bold]", soft_wrap=True)
        console.print(_account_table([one], named=False))


def _say_large(budget: PrivacyBudget, /, *, by: Sequence[str]) -> None:
    """Say that a budget is beyond what protects anybody: it must not pass without a word."""
    if budget.epsilon <= DEFAULT_EPSILON and budget.delta <= DEFAULT_DELTA:
        return
    approved = f"Decided by {' and '.join(by)}." if by else "Decided by nobody: name who does with --by."
    console.print(
        f"[yellow]warning:[/yellow] that is above the default of epsilon {shown_up(DEFAULT_EPSILON)} and delta "
        f"{shown_up(DEFAULT_DELTA)}, beyond which little is promised. {escape(approved)}",
        soft_wrap=True,
    )


def _account_table(accounts: Sequence[Account], *, named: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True)
    if named:
        table.add_column("dataset")
    for heading in ("per", "", "budget", "spent", "left", "releases", "unpublished"):
        table.add_column(heading, justify="left" if heading in ("per", "") else "right", no_wrap=True)
    for one in accounts:
        for number, cells in enumerate(_account_rows(one)):
            name = escape(one.dataset) if number == 0 else ""
            table.add_row(*([name] if named else []), *cells)
    return table


def _account_rows(one: Account) -> Sequence[tuple[str, ...]]:
    """Up to two rows a unit, epsilon and delta; the second only where delta plays a part."""
    published = sum(each.state == "published" for each in one.reservations)
    numbers = (str(published), str(len(one.reservations) - published))
    units = [each for each in one.units if each.budget or one.reservations]
    rows = list[tuple[str, ...]]()
    for unit in units or [one.per(one.main)]:
        rows += [(*cells, *(("", "") if rows else numbers)) for cells in _unit_rows(unit)[:1]]
        rows += [(*cells, "", "") for cells in _unit_rows(unit)[1:]]
    return rows


def _unit_rows(unit: Spent) -> list[tuple[str, ...]]:
    """What one unit may lose, has lost as worst case and tight, and has left."""
    spent, left, budget, tight = unit.worst, unit.left, unit.budget, unit.tight
    worst = shown_up(spent.epsilon) if unit.bounded else "unbounded" if unit.unbounded else "unknown"
    remains = shown_down(left.epsilon) if budget else "-"
    rows: list[tuple[str, ...]] = [(unit.unit, "ε", _allowed(budget, "epsilon"), worst, remains)]
    if math.isfinite(tight) and spent.epsilon:
        rows.append(("  tight", "ε", f"at {shown_down(unit.tight_delta)}", shown_up(Fraction(tight)), ""))
    if unit.bounded and (spent.delta or (budget is not None and budget.delta)):
        remains = shown_down(left.delta) if budget else "-"
        rows.append(("", "δ", _allowed(budget, "delta"), shown_up(spent.delta), remains))
    return rows


def _print_remarks(accounts: Sequence[Account]) -> None:
    """What the marks in the table mean, and what is not known."""
    said = []
    if any(
        each.budget is not None and each.budget.source == "default" for one in accounts for each in one.units
    ):
        said.append("* the default, as nobody has set a budget: choose one with 'noisegate ledger set'.")
    if any(one.reservations for one in accounts):
        said.append(
            "spent: plain addition on the worst day; tight: what all releases together promise at that δ, if what they ask for "
            "was not chosen by what earlier ones showed."
        )
    for one in accounts:
        unknown = max(each.unknown for each in one.units)
        if unknown:
            said.append(
                f"{_many(unknown, 'release')} of {one.dataset} {'was' if unknown == 1 else 'were'} charged by an older version in one unit "
                "only: what they cost in the others is not known."
            )
        said += [
            f"Series {each.name} of {one.dataset}: paid once for {_many(each.weeks, 'week')}; reserved so far: {_runs(each.reserved)}."
            for each in one.series
        ]
        if one.adopted:
            said.append(f"{one.dataset} has taken over {', '.join(one.adopted)}.")
    for sentence in said:
        console.print(escape(sentence), soft_wrap=True)


def _runs(numbers: Iterable[int]) -> str:
    """Numbers as people write them: 1 to 4, 6."""
    found: list[list[int]] = []
    for one in sorted(numbers):
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in found)


def _allowed(budget: PrivacyBudget | None, name: str) -> str:
    if budget is None:
        return "-"
    return ("*" if budget.source == "default" else "") + shown_down(getattr(budget, name))


def _history_table(history: Sequence[Entry]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("entry")
    table.add_column("ε", justify="right")
    table.add_column("δ", justify="right")
    table.add_column("about", overflow="fold")
    for entry in history:
        about = {
            "budget": f"{entry.source}, per {entry.unit}{_approved(entry)}",
            "reserved": f"{entry.release} → {entry.output} ({entry.reservation_id}){_approved(entry)}",
        }.get(entry.kind, entry.reservation_id)
        table.add_row(entry.at[:19], entry.kind, entry.epsilon or "", entry.delta or "", escape(about))
    return table


def _approved(entry: Entry) -> str:
    """Who approved an entry, if anybody said."""
    names = entry_document(entry).get("by")
    return f", by {' and '.join(names)}" if names else ""


def _problem_table(problems: Sequence[Discrepancy]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column("what", no_wrap=True)
    table.add_column("found", overflow="fold")
    for one in sorted(problems, key=lambda each: not each.fault):
        table.add_row("[red]fault[/red]" if one.fault else "note", one.kind, escape(one.message))
    return table


def _many(count: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count} {noun if count == 1 else plural}"
