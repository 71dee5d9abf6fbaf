"""The release job: count, charge, perturb, write, in an order that a crash cannot turn round.

1. The plan is made, the output place and the ledger are looked at: nothing has been read.
2. Events are counted. Anything wrong with them ends here: nothing has been spent.
3. The ledger reserves the loss, durably, and claims the output place. From now on it is spent, whatever happens.
4. Noise is drawn, tables are made and written to a staging directory.
5. The directory is renamed into place, at once and whole.
6. The ledger marks the reservation as published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from noisegate.engine import (
    Counts,
    PublishedSlices,
    SlicedCounts,
    Tally,
    connect,
    count,
    count_slices,
    identify_events,
    unit_sizes,
)
from noisegate.errors import NoisegateError, OutputError, SpecError
from noisegate.laws import Entropy, OsNoise, as_entropy
from noisegate.ledger import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    Binding,
    PrivacyBudget,
    open_ledger,
    signatures,
)
from noisegate.margins import load_loops
from noisegate.releases.attacker import attacker_views
from noisegate.releases.bound_choice import choose_bound
from noisegate.releases.card import make_card
from noisegate.releases.card_text import card_text
from noisegate.releases.charging import charge_of
from noisegate.releases.clipped import report_clipped
from noisegate.releases.files import check_output, staged, write_card, write_table
from noisegate.releases.guards import MistakeGuard, account_name, former_accounts, refuse_other_people
from noisegate.releases.plan import Plan, make_plan, running_plan
from noisegate.releases.prediction import warnings_before_spending
from noisegate.releases.series_week import (
    RUNNING,
    Measurements,
    WeekCounts,
    count_rows,
    estimated_tables,
    measure,
    needed_before,
    read_measured,
    series_statement,
    write_measured,
)
from noisegate.releases.tables import publish_tables
from noisegate.spec import ReleaseSpec
from noisegate.stopping import heed
from noisegate.tables import Card, write_statements

#: What chooses a bound once that was charged, and counts by it as long as the context.
ByChoice = Callable[[], AbstractContextManager[tuple[Plan, SlicedCounts]]]
#: Called with a short description of what is being done.
Report = Callable[[str], None]
#: Called with the plan and the raw counts, for the custodian's eyes; what it makes of them must not be published.
Inspect = Callable[[Plan, SlicedCounts], None]

Tables = dict[str, PublishedSlices]
_NOTHING_SPENT = "Stopped: nothing was reserved or spent."


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRelease:
    """What a week of a series is made of beside its counts: its running total, raw sums with earlier weeks, what these measured."""

    running: Plan | None
    raw: WeekCounts
    before: Measurements


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """What was released. `tally` is raw and `account` may name a private place: for the custodian only.

    `marked` is False if the release is in place and charged, but the ledger could not be told so.
    """

    folder: Path
    card: Card
    account: str
    tally: Tally
    warnings: tuple[str, ...]
    marked: bool = True


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
    by: Sequence[str] = (),
    yes: bool = False,
    confirm: Callable[[str], bool] | None = None,
    week: int | None = None,
) -> ReleaseResult:
    """Make the release that `spec` describes in the directory `out`, and charge the ledger for it.

    `engine` is the name or URL of one, or an open connection. Guarantee: see the card that it writes. `entropy` defaults to the operating system's generator;
    a seeded source marks the release as simulated. `inspect` sees raw counts before anything is spent, such as to
    measure the utility of the release for its maker; nothing of what it does enters the release. `by` says who approved. `week` says
    which week of a series is released, if the spec has one.

    Guards against ordinary mistakes look at the raw events: they ask `confirm`, or refuse where there is none. With `yes`, and for simulated releases, they are
    off, and whether the release succeeds is a function of the spec alone.
    """
    source = OsNoise() if entropy is None else as_entropy(entropy)
    _refuse_no_week(spec, week)
    plan = make_plan(spec, week=week)
    spec = plan.spec
    check_output(out)
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        warn(sentence)

    job = _Job(
        plan=plan,
        out=out,
        ledger=ledger,
        account=account_name(spec, ledger=ledger, simulated=source.simulated),
        by=signatures(by),
        guard=MistakeGuard(yes=yes or source.simulated, confirm=confirm),
        say=say,
    )
    job.look_ahead()
    report("counting events")
    counted = spec if week is None else spec.of_week(week)
    with ExitStack() as stack:
        with _saying_if_stopped(say, _NOTHING_SPENT):
            counts, bindings = stack.enter_context(
                _counted(counted, engine, entropy=source, progress=progress)
            )
            for sentence in warnings_before_spending(plan):
                say(sentence)
            job.guard_events(counts, bindings)
            own = None if week is None else job.week(counts, engine, entropy=source, report=report)
            by_choice = _bound_to_choose(spec, engine, source)
            if inspect is not None and by_choice is None:
                inspect(plan, counts)
        card, marked = job.spend(
            counts, bindings, entropy=source, report=report, by_choice=by_choice, week=own
        )
    return ReleaseResult(
        folder=out, card=card, account=job.account, tally=counts.tally, warnings=tuple(said), marked=marked
    )


@contextmanager
def _saying_if_stopped(say: Report, sentence: str, /) -> Iterator[None]:
    """Say what became of the budget if somebody presses Ctrl-C meanwhile."""
    try:
        yield
    except KeyboardInterrupt:
        say(sentence)
        raise


def _refuse_no_week(spec: ReleaseSpec, week: int | None, /) -> None:
    """A series is released week by week, and nothing else is."""
    if spec.series is not None and week is None:
        raise SpecError(
            f"{spec.name} is a series of {spec.series.weeks} weeks: say which one is to be released, such as --week 1."
        )
    if spec.series is None and week is not None:
        raise SpecError(f"--week belongs to a series, and {spec.name} has none; leave it out.")


def _bound_to_choose(spec: ReleaseSpec, engine: Any, entropy: Entropy, /) -> ByChoice | None:
    """What chooses the bound and counts anew, once that was charged; None if the spec states a bound.

    The plan that is charged has the smallest bound: the loss of a unit is the same for all, and that of one event is largest there.
    """
    wanted = spec.privacy.choose_bound
    if wanted is None:
        return None
    make_plan(spec.bounded_by(wanted.among[-1]))  # refuses now what could not be made then
    connection = connect(engine) if isinstance(engine, str) else engine
    raw_sizes = unit_sizes(spec, connection=connection)

    @contextmanager
    def choose() -> Iterator[tuple[Plan, SlicedCounts]]:
        chosen = choose_bound(spec, raw_sizes, entropy=entropy)
        with count_slices(chosen, entropy=entropy, connection=connection, total=True) as counts:
            yield make_plan(chosen), counts

    return choose


@contextmanager
def _counted(
    spec: ReleaseSpec, engine: Any, /, *, entropy: Entropy, progress: Callable[[int], None] | None
) -> Iterator[tuple[SlicedCounts, tuple[Binding, ...]]]:
    """The raw counts, and what they were counted from, which is found out at the same time."""
    other = ThreadPoolExecutor(2)
    try:
        known = other.submit(identify_events, spec, engine=engine)
        connection = connect(engine) if isinstance(engine, str) else engine
        loading: list[Future[None]] = []

        def begun(events: int) -> None:
            """Once events come in, what rounding needs is loaded beside them."""
            if spec.privacy.margins == "reconcile" and not loading:
                loading.append(other.submit(load_loops))
            if progress is not None:
                progress(events)

        with count_slices(spec, entropy=entropy, connection=connection, progress=begun, total=True) as counts:
            yield counts, tuple(Binding(name=one.name, digest=one.digest) for one in known.result())
    finally:
        # Whoever presses Ctrl-C does not wait for the digest of a hundred gigabytes.
        other.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A release between its plan and its place."""

    plan: Plan
    out: Path
    ledger: str | Path | None
    account: str
    by: tuple[str, ...]
    guard: MistakeGuard
    say: Report

    def look_ahead(self) -> None:
        """Refuse early what the ledger would refuse anyway; the ledger decides for good at `spend`."""
        self._say_large()
        with open_ledger(self.ledger, read_only=True) as book:
            book.examine(
                self.account,
                epsilon=self.plan.charged.epsilon,
                delta=self.plan.charged.delta,
                unit=self.plan.spec.privacy.unit,
                output=self.out,
                first_budget=_first_budget(self.plan),
                charge=charge_of(self.plan, by=self.by, adopts=former_accounts(self.plan.spec, book)),
            )

    def _say_large(self) -> None:
        """Say that an epsilon protects next to nobody: it must not pass without a word."""
        epsilon = self.plan.charged.epsilon
        if epsilon > DEFAULT_EPSILON:
            approved = (
                f"approved by {' and '.join(self.by)}"
                if self.by
                else "approved by nobody; name who does with --by"
            )
            self.say(
                f"epsilon {float(epsilon):.4g} promises next to nothing: whoever has a guess about one {self.plan.spec.privacy.unit} may "
                f"become sure of it; {approved}."
            )

    def guard_events(self, counts: SlicedCounts, bindings: tuple[Binding, ...], /) -> None:
        """Ask before a release that is probably a mistake."""
        self.guard.few_counted(self.plan, counts)
        with open_ledger(self.ledger, read_only=True) as book:
            refuse_other_people(book, self.account, bindings, guard=self.guard, say=self.say)

    def week(
        self, counts: SlicedCounts, engine: Any, /, *, entropy: Entropy, report: Report
    ) -> SeriesRelease:
        """What a week of a series needs beside its own counts: sums with earlier weeks, and what these have measured."""
        running = running_plan(self.plan)
        rows = needed_before(self.plan, running)
        with open_ledger(self.ledger, read_only=True) as book:
            weeks = book.weeks(self.account, self.plan.spec.name)
        before = read_measured(self.plan, rows, weeks=weeks, beside=self.out.absolute().parent)
        connection = connect(engine) if isinstance(engine, str) else engine

        def count_week(week: int) -> Counts:
            return count(self.plan.spec.of_week(week), entropy=entropy, connection=connection, total=True)

        raw = count_rows(self.plan, counts.whole(), count_week=count_week, report=report)
        if raw.gone:
            self.guard.ask(
                f"No event of {'week' if len(raw.gone) == 1 else 'weeks'} {', '.join(map(str, raw.gone))} of the series is counted any more, but "
                "this week is measured together with earlier ones. This guard has looked at the raw events.",
                way_out="Name a source that has the events of all weeks so far, or release all the same with --yes.",
            )
        return SeriesRelease(running=running, raw=raw, before=before)

    def spend(
        self,
        counts: SlicedCounts,
        bindings: tuple[Binding, ...],
        /,
        *,
        entropy: Entropy,
        report: Report,
        by_choice: ByChoice | None,
        week: SeriesRelease | None = None,
    ) -> tuple[Card, bool]:
        """Charge, draw, write, put in place and mark; the card, and whether it could be marked."""
        spec, plan = self.plan.spec, self.plan
        with _saying_if_stopped(self.say, _NOTHING_SPENT):
            heed()
        with open_ledger(self.ledger) as book, ExitStack() as stack:
            reservation = book.reserve(
                self.account,
                epsilon=self.plan.charged.epsilon,
                delta=self.plan.charged.delta,
                unit=spec.privacy.unit,
                release=spec.name,
                spec_digest=spec_digest(spec),
                output=self.out,
                first_budget=_first_budget(self.plan),
                charge=charge_of(
                    self.plan, bindings=bindings, by=self.by, adopts=former_accounts(spec, book)
                ),
            )
            stopped = "Stopped: nothing was published, and what was reserved stays spent."
            telling = stack.enter_context(ExitStack())
            telling.enter_context(_saying_if_stopped(self.say, stopped))
            if by_choice is not None:
                report("choosing the bound and counting again")
                plan, counts = stack.enter_context(by_choice())
            report("drawing noise")
            # What the card says of attackers rests on the plan alone, and drawing and rounding leave half a core for it.
            views = stack.enter_context(ThreadPoolExecutor(1)).submit(attacker_views, plan)
            measured = None if week is None else {**week.before, **measure(plan, week.raw, entropy=entropy)}
            tables = (
                publish_tables(plan, counts, entropy=entropy)
                if measured is None
                else estimated_tables(plan, measured)
            )
            clipped = report_clipped(spec, counts.clipping, entropy=entropy)
            report("writing tables")
            published = datetime.now(UTC).date().isoformat()

            def written(plan: Plan, tables: Tables, folder: Path, **told: Any) -> tuple[Card, bytes]:
                with ThreadPoolExecutor(1) as other:
                    stating = other.submit(
                        make_card,
                        plan,
                        rows={name: table.rows for name, table in tables.items()},
                        dataset=spec.account,
                        reservation=reservation.id,
                        simulated=entropy.simulated,
                        published=published,
                        **told,
                    )
                    _write_tables(plan, tables, folder)
                    card = stating.result()
                content = write_card(folder, card, card_text(card))
                said = {} if spec.publication is None else spec.publication.model_dump(exclude_none=True)
                write_statements(folder, card, said=said)
                return card, content

            with staged(reservation.staging, reservation.output) as folder:
                stated = None
                if week is not None and measured is not None:
                    stated = _write_series(plan, week, measured, folder, written=written)
                card, content = written(
                    plan, tables, folder, clipped=clipped, series=stated, views=views.result()
                )
                heed()
            telling.close()
            digest = hashlib.sha256(content).hexdigest()
            return card, self._mark(book.publish, reservation.id, digest)

    def _mark(self, publish: Callable[..., object], reservation: str, digest: str, /) -> bool:
        """Mark the release as published; on a new connection if that of the reservation is gone."""
        try:
            publish(reservation, card_digest=digest)
        except OutputError:
            try:
                with open_ledger(self.ledger) as again:
                    again.publish(reservation, card_digest=digest)
            except NoisegateError as problem:
                self.say(
                    f"the release is in place at {self.out}: published and charged; run 'noisegate ledger check --settle' to mark it in "
                    f"the ledger. ({problem})"
                )
                return False
        return True


def _write_series(
    plan: Plan,
    week: SeriesRelease,
    measured: Measurements,
    folder: Path,
    /,
    *,
    written: Callable[..., tuple[Card, bytes]],
) -> dict[str, Any]:
    """Write what a week of a series has beside its tables; what its card says of that."""
    if week.running is not None:
        (folder / RUNNING).mkdir()
        tables = estimated_tables(week.running, measured)
        told = series_statement(week.running, measured={}, running=False)
        written(week.running, tables, folder / RUNNING, series=told)
    own = {row: measured[row] for row in week.raw.rows}
    digests = write_measured(folder, own)
    return series_statement(plan, measured=digests, running=week.running is not None)


def _write_tables(plan: Plan, tables: dict[str, PublishedSlices], folder: Path, /) -> None:
    for name, table in tables.items():
        domain = plan.spec.domain if name == plan.base.name else plan.spec.margins[name].domain
        write_table(folder, name, domain, table)


def spec_digest(spec: ReleaseSpec, /) -> str:
    """A digest of everything the spec says."""
    return hashlib.sha256(repr(spec).encode()).hexdigest()


def _first_budget(plan: Plan, /) -> PrivacyBudget:
    """What a population may spend that the ledger has not met before: the spec may say; else the default, which is a stop."""
    spec = plan.spec
    epsilon = spec.budget.epsilon if spec.budget is not None else None
    delta = spec.budget.delta if spec.budget is not None else None
    return PrivacyBudget(
        epsilon=DEFAULT_EPSILON if epsilon is None else epsilon,
        delta=DEFAULT_DELTA if delta is None else delta,
        unit=spec.privacy.unit,
        source="default" if epsilon is None and delta is None else "spec",
    )
