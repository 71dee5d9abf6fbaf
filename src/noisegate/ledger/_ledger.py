"""The ledger: what each population may spend, has spent, and on what.

The order of a release, which nothing here lets you turn round:

1. `reserve` charges the loss, durably, *before* any noise is drawn, and claims the output directory;
2. the release is put together in `Reservation.staging` and renamed to `Reservation.output`;
3. `publish` marks the reservation, with the digest of the card.

Killed before 1, nothing happened. Killed after it, the loss stays charged for good: nobody can
know what was seen of the noise. So a release that exists was always paid for.

`open_ledger` says which ledger is meant: one that is named, one in the environment, or the custodian's own file.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from noisegate.errors import DataError, GateError, OutputError, SpecError
from noisegate.ledger._account import (
    Exact,
    Loss,
    PrivacyBudget,
    Reservation,
    as_delta,
    as_epsilon,
    as_unit,
    default_budget,
)
from noisegate.ledger._admission import refuse_overspending
from noisegate.ledger._balance import Balance
from noisegate.ledger._book import (
    SIMULATED,
    Balances,
    Book,
    as_digest,
    as_name,
    budgets_in_force,
    marked,
    reservation_of,
)
from noisegate.ledger._charge import Charge, signatures
from noisegate.ledger._check import Discrepancy, cards_nobody_paid, find_problems, week_state
from noisegate.ledger._entry import ABANDONED, BUDGET, PUBLISHED, RESERVED, Entry, broken_links
from noisegate.ledger._head import Head, forget_head, remembered, state_folder, written_balances
from noisegate.ledger._population import Account
from noisegate.ledger._sqlite import open_sqlite
from noisegate.ledger._store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A loss that is asked for."""

    population: str
    loss: Loss
    unit: str
    charge: Charge
    first: PrivacyBudget

    @classmethod
    def of(
        cls,
        population: str,
        /,
        *,
        epsilon: Exact,
        delta: Exact,
        unit: str,
        charge: Charge | None,
        first_budget: PrivacyBudget | None,
    ) -> Self:
        """What `Ledger.reserve` was given, checked."""
        loss = Loss(epsilon=as_epsilon(epsilon), delta=as_delta(delta))
        if loss == Loss():  # of a series: the whole of it
            raise SpecError("A release must cost something: epsilon and delta are both 0.")
        unit = as_unit(unit)
        return cls(
            population=as_name(population, what="the dataset"),
            loss=loss,
            unit=unit,
            charge=replace(charge or Charge(), claim=(socket.gethostname(), os.getpid())),
            first=first_budget or default_budget(unit=unit),
        )

    @property
    def facts(self) -> dict[str, str]:
        """As an entry has it."""
        return {
            "unit": self.unit,
            "epsilon": str(self.loss.epsilon),
            "delta": str(self.loss.delta),
            "facts": self.charge.to_json(),
        }


class Ledger:
    """An open ledger; made by `open_ledger`. Use it in a `with` statement, from one thread."""

    def __init__(self, store: Store, /) -> None:
        self._store = store
        self._fresh: Head | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file or the connection."""
        self._store.close()

    @property
    def place(self) -> str:
        """Where the ledger is, fit to be shown."""
        return self._store.place

    @property
    def exists(self) -> bool:
        """False if it was opened for reading and nothing is there."""
        return self._store.exists

    # Reading.

    def history(self, dataset: str | None = None, /) -> tuple[Entry, ...]:
        """Every entry, or every entry of one population, oldest first."""
        entries = self._store.entries()
        if dataset is None:
            return tuple(entries)
        names = {dataset, *Book.of(entries).account(dataset).adopted}
        return tuple(one for one in entries if one.dataset in names)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name of the population."""
        return Book.of(self._store.entries()).accounts()

    def account(self, dataset: str, /) -> Account:
        """The account of one population; an empty one if the ledger does not know it."""
        return Book.of(self._store.entries()).account(dataset)

    def populations(self) -> list[str]:
        """The names of all populations that the ledger knows."""
        return self._balances().populations()

    def bound_to(self, digests: Sequence[str], /) -> set[str]:
        """The populations that were counted from some content before, by the digests of files."""
        return self._balances().counted_from(digests)

    def has_other_content(self, population: str, name: str, digest: str | None, /) -> bool:
        """Whether a population was last counted from a file or table of this name when it had another digest."""
        known = self._balances().digest_of(population, name)
        return known is not None and known != (digest,)

    def budget(self, dataset: str, /) -> PrivacyBudget | None:
        """The budget in force, or None if there is none yet."""
        return self.account(dataset).budget

    def check(self) -> tuple[Discrepancy, ...]:
        """Whether the ledger is sound, and agrees with the releases it speaks of; see `find_problems`."""
        entries = self._store.entries()
        problems = tuple(find_problems(entries, origin=self._store.origin(), damage=self._store.damage()))
        missing = self._missing_head()
        return (*((Discrepancy(kind="restored", message=missing),) if missing else ()), *problems)

    # Writing.

    def set_budget(
        self,
        dataset: str,
        /,
        *,
        epsilon: Exact,
        delta: Exact | None = None,
        unit: str | None = None,
        by: Sequence[str] = (),
    ) -> PrivacyBudget:
        """Set, raise or lower a budget of a population; what it was before stays in the history.

        Parameters
        ----------
        dataset
            The name of the population.
        epsilon, delta
            The most that all releases together may cost. Without `delta`, it stays what it was
            (0 if there was none).
        unit
            The privacy unit both are counted in: `event`, `person-day` or `person`. A population may have a budget for each;
            without it, the one that there is changes.
        by
            Who decided: one person, or two.

        Raises
        ------
        SpecError
            A value is out of range, or a unit is missing.
        """
        dataset = as_name(dataset, what="the dataset")
        with self._store.exclusive():
            balances = self._sound_balances()
            budgets = balances.of(dataset).budgets
            if unit is None and len(budgets) != 1:
                found = f"budgets per {' and per '.join(budgets)}" if budgets else "no budget yet"
                raise SpecError(
                    f"Population {dataset!r} has {found}, so its privacy unit must be given: "
                    "event, person-day or person."
                )
            unit = as_unit(unit) if unit is not None else next(iter(budgets))
            old = budgets.get(unit)
            budget = PrivacyBudget(
                epsilon=as_epsilon(epsilon),
                delta=as_delta(delta) if delta is not None else old.delta if old else as_delta(0),
                unit=unit,
            )
            entry = self._write_budget(dataset, budget, by=signatures(by))
            balances.add(entry)
            self._note(entry, balances)
        self._keep_head()
        return budget

    def reserve(
        self,
        dataset: str,
        /,
        *,
        epsilon: Exact,
        delta: Exact = 0,
        unit: str,
        release: str,
        spec_digest: str,
        output: str | Path,
        first_budget: PrivacyBudget | None = None,
        charge: Charge | None = None,
    ) -> Reservation:
        """Charge a loss to a population, durably; call it before any noise is drawn.

        Parameters
        ----------
        dataset
            The population that the release is about.
        epsilon, delta
            The loss of the whole release, all tables together, in `unit`.
        unit
            The privacy unit of the release.
        release
            The name of the release.
        spec_digest
            SHA-256 of the spec, 64 hex digits.
        output
            The directory that the release will appear as; kept as an absolute path. Nobody else can reserve for it as long as
            this release runs.
        first_budget
            The budget that the population starts with if it has none. Without one it is
            `default_budget`. A budget that exists is never touched.
        charge
            What the release costs in the other units, its dates, what it was counted from and who approved. What it does not
            say is unknown.

        Returns
        -------
        Reservation
            Its `id` goes on the card; its `staging` is where to put the release together.

        Raises
        ------
        BudgetExceeded
            The population has too little left in one of the units. Nothing was written.
        GateError
            The ledger was altered from outside, restored or emptied. Nothing was written.
        OutputError
            The output directory exists, or another release has claimed it. Nothing was written.
        SpecError
            A value is out of range.
        """
        asked = _Asked.of(
            dataset, epsilon=epsilon, delta=delta, unit=unit, charge=charge, first_budget=first_budget
        )
        names = {
            "release": as_name(release, what="the name of the release"),
            "spec_digest": as_digest(spec_digest, what="spec_digest"),
            "output": as_name(os.path.abspath(output), what="the output directory"),  # noqa: PTH100 - resolve() would follow links
        }
        with self._store.exclusive():
            balances, added, due = self._admit(asked, names["output"])
            for budget in added:
                self._write_budget(asked.population, budget)
            entry = self._write(RESERVED, asked.population, **due.facts, **names)
            if due.charge.series is not None:
                balances.of(asked.population).note_week(due.charge.series, entry.reservation_id)
            self._note(entry, balances)
        self._keep_head()
        return reservation_of(entry)

    def examine(
        self,
        dataset: str,
        /,
        *,
        epsilon: Exact,
        delta: Exact = 0,
        unit: str,
        output: str | Path,
        first_budget: PrivacyBudget | None = None,
        charge: Charge | None = None,
    ) -> None:
        """Refuse what `reserve` would refuse now; nothing is written. See `reserve` for the parameters and errors."""
        asked = _Asked.of(
            dataset, epsilon=epsilon, delta=delta, unit=unit, charge=charge, first_budget=first_budget
        )
        self._admit(asked, os.path.abspath(output))  # noqa: PTH100 - as in reserve

    def _admit(self, asked: _Asked, output: str) -> tuple[Balances, list[PrivacyBudget], _Asked]:
        """The balances with what is asked for, the budgets that it brings, and what is due; an error if it is not let in."""
        balances = self._sound_balances()
        self._refuse_claimed(output)
        self._refuse_unpaid(Path(output).parent, asked.population)
        balances.adopt(asked.charge.adopts, asked.population)
        before = balances.of(asked.population)
        asked = self._due(asked, before)
        budgets = budgets_in_force(before, asked.unit, asked.first)
        added = [one for name, one in budgets.items() if name not in before.budgets]
        if asked.population == SIMULATED:
            budgets, added = {}, []
        balances.charge(asked.population, unit=asked.unit, loss=asked.loss, charge=asked.charge)
        after = balances.of(asked.population)
        if asked.loss != Loss():
            refuse_overspending(
                after,
                population=asked.population,
                unit=asked.unit,
                loss=asked.loss,
                charge=asked.charge,
                budgets=budgets,
            )
        after.budgets.update({one.unit: one for one in added})
        return balances, added, asked

    def _due(self, asked: _Asked, balance: Balance) -> _Asked:
        """What is asked for with what it costs now: a series is paid for once, and a week of it that was lost once more."""
        week = asked.charge.series
        known = None if week is None else balance.series.get(week.name)
        if week is None or known is None or asked.population == SIMULATED:
            return asked
        if (known.digest, known.weeks) != (week.digest, week.weeks):
            raise SpecError(
                f"The ledger holds a series {week.name!r} of population {asked.population!r} with another spec. Go on with the spec that it "
                "began with, or give this one another name: then it is a new series and is paid for anew."
            )
        reserved = known.reserved.get(week.week, [])
        for one in map(self._reservation, reserved):
            state = week_state(one, running=_is_running(one))
            if state != "lost":
                raise GateError.for_week(week.name, week=week.week, state=state, place=str(one.output))
        if not reserved:
            return replace(asked, loss=Loss(), charge=asked.charge.paid())
        lost = asked.charge.again.get(asked.unit)
        if lost is None:
            raise SpecError(f"What week {week.week} of the series costs once more is not known.")
        return replace(asked, loss=lost.loss, charge=asked.charge.once_more())

    def weeks(self, population: str, series: str, /) -> dict[int, Reservation]:
        """The weeks of a series whose release is in place, with their reservations."""
        known = self._balances().of(population).series.get(series)
        found = {}
        for week, ids in ({} if known is None else known.reserved).items():
            for one in map(self._reservation, ids):
                if week_state(one, running=False) == "published":
                    found[week] = one
        return dict(sorted(found.items()))

    def publish(self, reservation_id: str, /, *, card_digest: str) -> Reservation:
        """Mark a reservation as published; call it after the release was renamed into place.

        `card_digest` is the SHA-256 of the bytes of `card.json`, 64 hex digits. `DataError` if
        the ledger has no such reservation, or if it is published already.
        """
        card_digest = as_digest(card_digest, what="card_digest")
        with self._store.exclusive():
            known = self._reservation(reservation_id)
            if known.state == PUBLISHED:
                raise DataError(f"Reservation {known.id} of the ledger {self.place} is published already.")
            entry = self._write(PUBLISHED, known.dataset, reservation=known.id, card_digest=card_digest)
            self._go_on(entry)
        self._keep_head()
        return marked(known, entry)

    def settle(self) -> tuple[Reservation, ...]:
        """Mark what killed releases left open; returns the reservations that were marked.

        A reservation whose release is in place becomes `published`; one whose release is not
        becomes `abandoned`. No loss changes. A release that is running meanwhile is not harmed:
        an abandoned reservation can still be published.
        """
        closed = []
        for problem in self.check():
            if problem.kind not in ("unmarked", "unpublished"):
                continue
            with self._store.exclusive():
                known = self._reservation(problem.reservation)
                if known.state != RESERVED:  # somebody was faster
                    continue
                if problem.kind == "unmarked":
                    entry = self._write(
                        PUBLISHED, known.dataset, reservation=known.id, card_digest=problem.card_digest
                    )
                else:
                    entry = self._write(ABANDONED, known.dataset, reservation=known.id)
            closed.append(marked(known, entry))
        return tuple(closed)

    def forget(self) -> None:
        """Take the ledger as it is: an older copy that was restored on purpose, or a new one."""
        forget_head(self._store.key)

    def _balances(self) -> Balances:
        """What all populations have spent, without a look at the chain of entries."""
        for head in (remembered.get(self._store.key), Head.read(self._store.key)):
            if head is not None and head.balances is not None and self._store.digest(head.seq) == head.digest:
                found = self._of_head(head)
                for entry in self._store.entries(after=head.seq):
                    found.add(entry)
                return found
        return self._replayed(strict=False)

    def _of_head(self, head: Head) -> Balances:
        try:
            return Balances.of_json(head.balances or {}, head.bound.copy())
        except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
            raise DataError(
                f"What was kept about the ledger {self.place} beside it is damaged. "
                "Let 'noisegate ledger check --accept' write it anew."
            ) from None

    def _sound_balances(self) -> Balances:
        """What all populations have spent, once the ledger is known to be whole and no older copy of itself."""
        missing = self._missing_head()
        if missing:
            raise GateError(missing)
        for head in (remembered.get(self._store.key), Head.read(self._store.key)):
            if head is None or head.balances is None or self._store.digest(head.seq) != head.digest:
                continue
            if self._store.unchanged(head.mark, seq=head.seq):
                entries = self._store.entries(after=head.seq)
                self._refuse_altered(broken_links(entries, origin=head.digest, after=head.seq))
                found = self._of_head(head)
                for entry in entries:
                    found.add(entry)
                return found
        return self._replayed(strict=True)

    def _replayed(self, *, strict: bool) -> Balances:
        """What all populations have spent, from the whole history; remembered as long as nobody touches it."""
        mark, found = self._store.now(), Balances()
        entries = self._store.entries()
        broken = broken_links(entries, origin=self._store.origin())
        if strict:
            self._refuse_altered(broken)
        for entry in entries:
            found.add(entry)
        if entries and not broken:
            last, kept = entries[-1], found.to_json()
            remembered.clear()
            remembered[self._store.key] = Head(
                seq=last.seq, digest=last.digest, mark=mark, balances=kept, bound=found.bound.copy()
            )
        return found

    def _refuse_altered(self, broken: Sequence[tuple[int, str]]) -> None:
        if broken:
            raise GateError(
                f"The ledger {self.place} was altered from outside: {broken[0][1]} "
                "See 'noisegate ledger check', and restore a backup."
            )

    def _missing_head(self) -> str:
        """The sentence about a ledger that lacks the entry it ended with when it was last written from here; else empty."""
        head = Head.read(self._store.key)
        if head is None or self._store.digest(head.seq) == head.digest:
            return ""
        last = self._store.last()
        return (
            f"The ledger {self.place} was restored from a backup, emptied or replaced: when it was last written from here it had "
            f"{head.seq} entries, now it has {last[0] if last else 0} and lacks the last of those. What was spent since is not in "
            "it: restore the newer one; or, if this is meant, say so with 'noisegate ledger check --accept'."
        )

    def _note(self, entry: Entry, balances: Balances) -> None:
        """Note that the ledger ends with `entry`, and what was spent then; only inside `exclusive`."""
        kept = balances.to_json()
        self._fresh = Head(
            seq=entry.seq,
            digest=entry.digest,
            mark=self._store.mark(),
            balances=kept,
            bound=balances.bound,
            text=written_balances(kept),
        )

    def _go_on(self, entry: Entry) -> None:
        """Note where the ledger ends after an entry that changes no balance, if nobody else wrote since the last note."""
        if self._fresh is not None and self._fresh.seq == entry.seq - 1:
            self._fresh = replace(self._fresh, seq=entry.seq, digest=entry.digest, mark=self._store.mark())

    def _keep_head(self) -> None:
        """Keep where the ledger ends, apart from it."""
        if self._fresh is not None:
            self._fresh.write(self._store.key)
            return
        last = self._store.last()
        if last is not None:
            Head(seq=last[0], digest=last[1], mark="", balances=None).write(self._store.key)

    def _refuse_claimed(self, output: str) -> None:
        """`OutputError` if a release is there, or one that is running will be."""
        if os.path.lexists(output):
            raise OutputError(
                f"The output directory {output} exists already; choose a new one, a release is never changed."
            )
        for entry in self._store.claims(output):
            one = self._reservation(entry.reservation_id)
            if one.state == RESERVED and _is_running(one):
                raise OutputError(
                    f"The output directory {output} is claimed by reservation {one.id}, whose release is running or was stopped on "
                    "another machine. Choose another directory, or wait; 'noisegate ledger check --settle' frees what was stopped."
                )

    def _refuse_unpaid(self, folder: Path, population: str) -> None:
        """`GateError` if a release of the same population, beside which a new one is to lie, is not in this ledger."""
        for found in cards_nobody_paid(folder, population, known=lambda one: bool(self._store.about(one))):
            raise GateError(
                f"{found} holds a release about population {population!r} that this ledger does not know: the ledger {self.place} "
                "was restored from a backup or emptied, or another ledger paid. Use the ledger that paid, or move that release away."
            )

    def _reservation(self, reservation_id: str) -> Reservation:
        known = Book.of(self._store.about(reservation_id)).reservation(reservation_id)
        if known is None:
            raise DataError(f"The ledger {self.place} has no reservation {reservation_id!r}.")
        return known

    def _write_budget(self, dataset: str, budget: PrivacyBudget, *, by: Sequence[str] = ()) -> Entry:
        return self._write(
            BUDGET,
            dataset,
            unit=budget.unit,
            epsilon=str(budget.epsilon),
            delta=str(budget.delta),
            source=budget.source,
            facts=json.dumps({"by": list(by)}, separators=(",", ":")),
        )

    def _write(self, kind: str, dataset: str, **facts: str) -> Entry:
        """Append an entry to the chain; only inside `exclusive`."""
        seq, digest = self._store.last() or (0, self._store.origin())
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        entry = Entry.following(seq, digest, at=now, kind=kind, dataset=dataset, **facts)
        self._store.append(entry)
        return entry


VARIABLE = "NOISEGATE_LEDGER"


def default_target() -> str:
    """The ledger used when none is named.

    `$NOISEGATE_LEDGER` if set; else `noisegate/ledger.sqlite` in the state directory of the user
    (`$XDG_STATE_HOME`, or `~/.local/state`).
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return named
    return str(state_folder() / "noisegate" / "ledger.sqlite")


def _is_running(one: Reservation) -> bool:
    """Whether a release that was reserved may still run: not if its process was on this machine and is gone."""
    claim = one.charge.claim if one.charge is not None else None
    if claim is None or claim[0] != socket.gethostname():
        return True
    if claim[1] == os.getpid():
        return False  # what this process reserved before it asks again has failed
    try:
        os.kill(claim[1], 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def open_ledger(target: str | Path | None = None, /, *, read_only: bool = False) -> Ledger:
    """The ledger at `target`, ready for use in a `with` statement.

    Parameters
    ----------
    target
        The path of an SQLite file, or the `postgresql://` address of a database; without one,
        the default (see `default_target`). A ledger that does not exist is made.
    read_only
        Only look: nothing is made or changed, and a ledger that does not exist reads as empty.

    Raises
    ------
    DataError
        The file is something else, damaged, or of another format; the server cannot be reached.
    OutputError
        The place cannot be opened or written.
    SpecError
        `target` is neither a path nor an address of PostgreSQL, or psycopg is missing.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "ledger.sqlite"
    >>> with open_ledger(place) as ledger:
    ...     budget = ledger.set_budget("taps", epsilon="10", unit="person-day")
    ...     paid = ledger.reserve(
    ...         "taps", epsilon="0.1", unit="person-day", release="week", spec_digest="0" * 64, output="week"
    ...     )
    ...     str(ledger.account("taps").left.epsilon)
    '99/10'
    """
    return Ledger(_store(str(target) if target is not None else default_target(), read_only=read_only))


def _store(target: str, *, read_only: bool) -> Store:
    scheme, found, _ = target.partition("://")
    if not found:
        return open_sqlite(Path(os.path.abspath(Path(target).expanduser())), read_only=read_only)  # noqa: PTH100 - resolve() would follow links
    if scheme not in ("postgresql", "postgres"):
        raise SpecError.for_value(
            "the ledger", found=f"{scheme}://…", allowed="the path of a file or an address postgresql://…"
        )
    try:
        from noisegate.ledger._postgres import open_postgres
    except ImportError as error:
        raise SpecError(
            "A ledger in PostgreSQL needs the package psycopg, which is not installed. "
            "Install it with: pip install 'noisegate[postgres]'."
        ) from error
    return open_postgres(target, read_only=read_only)
