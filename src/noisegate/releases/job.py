"""The release job: count, charge, perturb, write, in an order that a crash cannot turn round.

1. The plan is made and the output place checked: nothing has been read.
2. Events are counted. Anything wrong with them ends here: nothing has been spent.
3. The ledger reserves the loss, durably. From now on it is spent, whatever happens.
4. Noise is drawn, tables are made and written to a staging directory.
5. The directory is renamed into place, at once and whole.
6. The ledger marks the reservation as published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from noisegate.engine import PublishedSlices, SlicedCounts, Tally, connect, count_slices, unit_sizes
from noisegate.errors import BudgetExceeded
from noisegate.laws import Entropy, OsNoise, as_entropy
from noisegate.ledger import DEFAULT_DELTA, DEFAULT_EPSILON, PrivacyBudget, open_ledger, shown_down, shown_up
from noisegate.releases.bound_choice import choose_bound
from noisegate.releases.card import make_card
from noisegate.releases.card_text import card_text
from noisegate.releases.clipped import report_clipped
from noisegate.releases.files import check_output, staged, write_card, write_table
from noisegate.releases.plan import Plan, make_plan
from noisegate.releases.prediction import warnings_before_spending
from noisegate.releases.tables import publish_tables
from noisegate.spec import ReleaseSpec
from noisegate.tables import Card

#: What chooses a bound once that was charged, and counts by it as long as the context.
ByChoice = Callable[[], AbstractContextManager[tuple[Plan, SlicedCounts]]]
#: Called with a short description of what is being done.
Report = Callable[[str], None]
#: Called with the plan and the raw counts, for the custodian's eyes; what it makes of them must not be published.
Inspect = Callable[[Plan, SlicedCounts], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """What was released. `tally` is raw and `account` may name a private place: for the custodian only."""

    folder: Path
    card: Card
    account: str
    tally: Tally
    warnings: tuple[str, ...]


def release(
    spec: ReleaseSpec,
    /,
    *,
    out: Path,
    engine: Any = None,
    ledger: str | Path | None = None,
    entropy: Entropy | None = None,
    report: Report = lambda _: None,
    warn: Report = lambda _: None,
    progress: Callable[[int], None] | None = None,
    inspect: Inspect | None = None,
) -> ReleaseResult:
    """Make the release that `spec` describes in the directory `out`, and charge the ledger for it.

    `engine` is the name or URL of one, or an open connection. Guarantee: see the card that it writes. `entropy` defaults to the operating system's generator;
    a seeded source marks the release as simulated. `inspect` sees raw counts before anything is spent, such as to
    measure the utility of the release for its maker; nothing of what it does enters the release.
    """
    source = OsNoise() if entropy is None else as_entropy(entropy)
    plan = make_plan(spec)
    check_output(out)
    _check_budget(plan, ledger)
    report("counting events")
    connection = connect(engine) if isinstance(engine, str) else engine
    with count_slices(spec, entropy=source, connection=connection, progress=progress) as counts:
        warnings = warnings_before_spending(plan, counts)
        for sentence in warnings:
            warn(sentence)
        by_choice = _bound_to_choose(spec, connection, source)
        if inspect is not None and by_choice is None:
            inspect(plan, counts)
        card = _spend(plan, counts, out, ledger=ledger, entropy=source, report=report, by_choice=by_choice)
    return ReleaseResult(
        folder=out, card=card, account=dataset_name(spec), tally=counts.tally, warnings=warnings
    )


def _bound_to_choose(spec: ReleaseSpec, connection: Any, entropy: Entropy, /) -> ByChoice | None:
    """What chooses the bound and counts anew, once that was charged; None if the spec states a bound.

    The plan that is charged has the smallest bound: the loss of a unit is the same for all, and that of one event is largest there.
    """
    wanted = spec.privacy.choose_bound
    if wanted is None:
        return None
    make_plan(spec.bounded_by(wanted.among[-1]))  # refuses now what could not be made then
    raw_sizes = unit_sizes(spec, connection=connection)

    @contextmanager
    def choose() -> Iterator[tuple[Plan, SlicedCounts]]:
        chosen = choose_bound(spec, raw_sizes, entropy=entropy)
        with count_slices(chosen, entropy=entropy, connection=connection) as counts:
            yield make_plan(chosen), counts

    return choose


def _spend(
    plan: Plan,
    counts: SlicedCounts,
    out: Path,
    /,
    *,
    ledger: str | Path | None,
    entropy: Entropy,
    report: Report,
    by_choice: ByChoice | None,
) -> Card:
    spec = plan.spec
    with open_ledger(ledger) as book, ExitStack() as stack:
        reservation = book.reserve(
            dataset_name(spec),
            epsilon=plan.charged.epsilon,
            delta=plan.charged.delta,
            unit=spec.privacy.unit,
            release=spec.name,
            spec_digest=spec_digest(spec),
            output=out,
            first_budget=_first_budget(plan),
        )
        if by_choice is not None:
            report("choosing the bound and counting again")
            plan, counts = stack.enter_context(by_choice())
        report("drawing noise")
        tables = publish_tables(plan, counts, entropy=entropy)
        clipped = report_clipped(spec, counts.clipping, entropy=entropy)
        report("writing tables")
        with staged(reservation.staging, reservation.output) as folder:
            _write_tables(plan, tables, folder)
            card = make_card(
                plan,
                rows={name: table.rows for name, table in tables.items()},
                clipped=clipped,
                dataset=spec.budget.dataset if spec.budget is not None else None,
                reservation=reservation.id,
                simulated=entropy.simulated,
            )
            content = write_card(folder, card, card_text(card))
        book.publish(reservation.id, card_digest=hashlib.sha256(content).hexdigest())
    return card


def _write_tables(plan: Plan, tables: dict[str, PublishedSlices], folder: Path, /) -> None:
    for name, table in tables.items():
        domain = plan.spec.domain if name == plan.base.name else plan.spec.margins[name].domain
        write_table(folder, name, domain, table)


def dataset_name(spec: ReleaseSpec, /) -> str:
    """The account that pays: as the spec says, else one for these events and this unit."""
    if spec.budget is not None:
        return spec.budget.dataset
    source = spec.events.source
    place = source if "://" in source else str((spec.folder / source).resolve())
    return f"{place} by {spec.privacy.unit}"


def spec_digest(spec: ReleaseSpec, /) -> str:
    """A digest of everything the spec says."""
    return hashlib.sha256(repr(spec).encode()).hexdigest()


def _first_budget(plan: Plan, /) -> PrivacyBudget:
    """What a dataset may spend that the ledger has not met before.

    The spec may say; else the default. A release that admits to being unsafe may spend ten times
    its own delta: the default of one in a million would refuse the very flaw that it admits.
    """
    spec = plan.spec
    epsilon = spec.budget.epsilon if spec.budget is not None else None
    delta = spec.budget.delta if spec.budget is not None else None
    room = 10 if spec.privacy.unsafe and plan.charged.delta < Fraction(1, 10) else 1
    return PrivacyBudget(
        epsilon=DEFAULT_EPSILON if epsilon is None else epsilon,
        delta=max(DEFAULT_DELTA, room * plan.charged.delta) if delta is None else delta,
        unit=spec.privacy.unit,
        source="default" if epsilon is None else "spec",
    )


def _check_budget(plan: Plan, ledger: str | Path | None, /) -> None:
    """Refuse early what the ledger would refuse anyway; the ledger decides for good at `reserve`."""
    with open_ledger(ledger, read_only=True) as book:
        account = book.account(dataset_name(plan.spec))
        budget = account.budget or _first_budget(plan)
        left = budget.epsilon - account.spent.epsilon
        if plan.charged.epsilon > left:
            raise BudgetExceeded.for_request(
                dataset=dataset_name(plan.spec), asked=shown_up(plan.charged.epsilon), left=shown_down(left)
            )
