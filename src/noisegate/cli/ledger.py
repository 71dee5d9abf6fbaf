"""`noisegate ledger`: show, check and set what each dataset may spend.

Errors of noisegate are left to the main program, which prints them and sets the exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from noisegate.cli.output import JsonOption, check_outputs, console, write_json
from noisegate.errors import DataError, GateError
from noisegate.ledger import (
    Account,
    Discrepancy,
    Entry,
    Ledger,
    PrivacyBudget,
    account_document,
    as_delta,
    as_epsilon,
    as_unit,
    budget_document,
    default_target,
    entry_document,
    open_ledger,
    problem_document,
    shown_down,
    shown_up,
)

app = typer.Typer(
    name="ledger",
    help="What each dataset may spend, has spent, and on what.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|URL",
        help="An SQLite file or postgresql://… (default: $NOISEGATE_LEDGER, or ledger.sqlite in your state directory)",
        show_default=False,
    ),
]

_SHOW = """Examples:

- `noisegate ledger show`: all datasets
- `noisegate ledger show taps`: one dataset, with its history
- `noisegate ledger show --json ledger.json`: exact amounts, for programs
"""

_CHECK = """Examples:

- `noisegate ledger check`: exit code 0 if all is well, 3 if not
- `noisegate ledger check --settle`: also close what stopped releases left open
"""

_SET = """Examples:

- `noisegate ledger set taps --epsilon 10 --unit person-day`: at first
- `noisegate ledger set taps --epsilon 12 --delta 1e-6`: later, to raise it
"""


@app.command(epilog=_SHOW)
def show(
    *,
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET", help="Only this one, with its history.", show_default=False),
    ] = None,
    ledger: LedgerOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show what each dataset may spend, has spent and has left.

    Amounts are rounded outward: spent upward, left downward. The JSON file has them exactly.
    """
    check_outputs(json_file, inputs=[ledger_file(ledger)])
    with open_ledger(ledger, read_only=True) as book:
        accounts = book.accounts()
        history = book.history(dataset) if dataset is not None else ()
        document: dict[str, Any] = {"ledger": book.place, "exists": book.exists}
    if dataset is not None:
        accounts = tuple(one for one in accounts if one.dataset == dataset)
        if not accounts:
            raise DataError(
                f"The ledger {book.place} knows no dataset {dataset!r}. See 'noisegate ledger show'."
            )
        document["history"] = [entry_document(entry) for entry in history]
    _print_place(book)
    if accounts:
        _print_accounts(accounts)
    elif book.exists:
        console.print("It is empty: nothing has been spent.")
    if any(one.budget is not None and one.budget.source == "default" for one in accounts):
        console.print(
            "* the default, as nobody has set a budget: choose one with 'noisegate ledger set'.",
            soft_wrap=True,
        )
    if history:
        console.print(_history_table(history))
    write_json(json_file, {**document, "accounts": [account_document(one) for one in accounts]})


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
    ledger: LedgerOption = None,
    json_file: JsonOption = None,
) -> None:
    """Check the ledger, and the releases it speaks of, for consistency.

    Verifies the chain of entries, that no reservation was ever over its budget, that each
    release still in place has the card the ledger recorded, and that there is none it does not
    know. What a stopped release left behind is listed as a note. Exit code 3 on any fault.
    """
    check_outputs(json_file, inputs=[ledger_file(ledger)])
    with open_ledger(ledger, read_only=not settle) as book:
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
        str, typer.Argument(metavar="DATASET", help="The name of the dataset.", show_default=False)
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
            help="What it protects; needed at first.",
            show_default=False,
        ),
    ] = None,
    ledger: LedgerOption = None,
    json_file: JsonOption = None,
) -> None:
    """Set, raise or lower the budget of a dataset. The change is kept in the history, with its time."""
    check_outputs(json_file, inputs=[ledger_file(ledger)])
    as_epsilon(epsilon)  # what is wrong is said before a ledger is made
    as_delta(delta or "0")
    as_unit(unit or "event")
    with open_ledger(ledger) as book:
        budget = book.set_budget(dataset, epsilon=epsilon, delta=delta, unit=unit)
        account = book.account(dataset)
    _print_place(book)
    _print_accounts([account])
    write_json(json_file, {"ledger": book.place, "dataset": dataset, "budget": budget_document(budget)})


def ledger_file(target: str | None) -> Path | None:
    """The file of the ledger that is meant, which nothing else may be written to; None if it is a database."""
    named = target if target is not None else default_target()
    return None if "://" in named else Path(named).expanduser()


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
    """Two rows a dataset, epsilon and delta; the second only where delta plays a part."""
    spent, left, budget = one.spent, one.left, one.budget
    published = sum(each.state == "published" for each in one.reservations)
    epsilon = ("ε", _allowed(budget, "epsilon"), shown_up(spent.epsilon), shown_down(left.epsilon))
    delta = ("δ", _allowed(budget, "delta"), shown_up(spent.delta), shown_down(left.delta))
    rows = [
        (budget.unit if budget else "-", *epsilon, str(published), str(len(one.reservations) - published))
    ]
    if spent.delta or (budget is not None and budget.delta):
        rows.append(("", *delta, "", ""))
    return rows


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
            "budget": f"{entry.source}, per {entry.unit}",
            "reserved": f"{entry.release} → {entry.output} ({entry.reservation_id})",
        }.get(entry.kind, entry.reservation_id)
        table.add_row(entry.at[:19], entry.kind, entry.epsilon or "", entry.delta or "", escape(about))
    return table


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
