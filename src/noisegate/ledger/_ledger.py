"""The ledger: what each dataset may spend, has spent, and on what.

The order of a release, which nothing here lets you turn round:

1. `reserve` charges the loss, durably, *before* any noise is drawn;
2. the release is put together in `Reservation.staging` and renamed to `Reservation.output`;
3. `publish` marks the reservation, with the digest of the card.

Killed before 1, nothing happened. Killed after it, the loss stays charged for good: nobody can
know what was seen of the noise. So a release that exists was always paid for.

`open_ledger` says which ledger is meant: one that is named, one in the environment, or the custodian's own file.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from noisegate.errors import DataError, GateError, SpecError
from noisegate.ledger._account import (
    Account,
    Exact,
    Loss,
    PrivacyBudget,
    Reservation,
    as_delta,
    as_epsilon,
    as_unit,
    default_budget,
)
from noisegate.ledger._book import (
    Book,
    as_digest,
    as_name,
    refuse_other_unit,
    refuse_overspending,
    reservation_of,
)
from noisegate.ledger._check import Discrepancy, find_problems
from noisegate.ledger._entry import ABANDONED, BUDGET, PUBLISHED, RESERVED, Entry, broken_links
from noisegate.ledger._sqlite import open_sqlite
from noisegate.ledger._store import Store


class Ledger:
    """An open ledger; made by `open_ledger`. Use it in a `with` statement, from one thread."""

    def __init__(self, store: Store, /) -> None:
        self._store = store

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
        """Every entry, or every entry of one dataset, oldest first."""
        return tuple(one for one in self._store.entries() if dataset in (None, one.dataset))

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name of the dataset."""
        return Book.of(self._store.entries()).accounts()

    def account(self, dataset: str, /) -> Account:
        """The account of one dataset; an empty one if the ledger does not know it."""
        return Book.of(self.history(dataset)).account(dataset)

    def budget(self, dataset: str, /) -> PrivacyBudget | None:
        """The budget in force, or None if there is none yet."""
        return self.account(dataset).budget

    def check(self) -> tuple[Discrepancy, ...]:
        """Whether the ledger is sound, and agrees with the releases it speaks of; see `find_problems`."""
        entries = self._store.entries()
        return tuple(find_problems(entries, origin=self._store.origin(), damage=self._store.damage()))

    # Writing.

    def set_budget(
        self, dataset: str, /, *, epsilon: Exact, delta: Exact | None = None, unit: str | None = None
    ) -> PrivacyBudget:
        """Set, raise or lower the budget of a dataset; what it was before stays in the history.

        Parameters
        ----------
        dataset
            Its name.
        epsilon, delta
            The most that all releases together may cost. Without `delta`, it stays what it was
            (0 for a new dataset).
        unit
            The privacy unit both are counted in: `event`, `person-day` or `person`. Without it,
            it stays what it was. It cannot change once something was spent: a loss per event is
            not a loss per person, and no ledger can convert them.

        Raises
        ------
        SpecError
            A value is out of range, a unit is missing, or the unit would change after a release.
        """
        dataset = as_name(dataset, what="the dataset")
        with self._store.exclusive():
            account = self._sound_account(dataset)
            old = account.budget
            if unit is None and old is None:
                raise SpecError(
                    f"Dataset {dataset!r} has no budget yet, so its privacy unit must be given: "
                    "event, person-day or person."
                )
            budget = PrivacyBudget(
                epsilon=as_epsilon(epsilon),
                delta=as_delta(delta) if delta is not None else old.delta if old else as_delta(0),
                unit=as_unit(unit) if unit is not None else old.unit if old else "",
            )
            if old and budget.unit != old.unit and account.reservations:
                raise SpecError(
                    f"Dataset {dataset!r} has spent budget per {old.unit}, so its unit cannot become {budget.unit}. "
                    "Keep the unit, or use another name for the dataset."
                )
            self._write_budget(dataset, budget)
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
    ) -> Reservation:
        """Charge a loss to a dataset, durably; call it before any noise is drawn.

        Parameters
        ----------
        dataset
            The data that the release is made from.
        epsilon, delta
            The loss of the whole release, all tables together, in `unit`.
        unit
            The privacy unit of the release; must be the one the dataset's budget is counted in.
        release
            The name of the release.
        spec_digest
            SHA-256 of the spec, 64 hex digits.
        output
            The directory that the release will appear as; kept as an absolute path.
        first_budget
            The budget that the dataset starts with if it has none. Without one it is
            `default_budget`. A budget that exists is never touched.

        Returns
        -------
        Reservation
            Its `id` goes on the card; its `staging` is where to put the release together.

        Raises
        ------
        BudgetExceeded
            The dataset has too little left. Nothing was written.
        GateError
            The ledger was altered from outside. Nothing was written.
        SpecError
            A value is out of range, or the unit is not that of the budget.
        """
        loss = Loss(epsilon=as_epsilon(epsilon), delta=as_delta(delta))
        if loss == Loss():
            raise SpecError("A release must cost something: epsilon and delta are both 0.")
        facts = {
            "unit": as_unit(unit),
            "epsilon": str(loss.epsilon),
            "delta": str(loss.delta),
            "release": as_name(release, what="the name of the release"),
            "spec_digest": as_digest(spec_digest, what="spec_digest"),
            "output": as_name(os.path.abspath(output), what="the output directory"),  # noqa: PTH100 - resolve() would follow links
        }
        dataset = as_name(dataset, what="the dataset")
        with self._store.exclusive():
            account = self._sound_account(dataset)
            budget = account.budget or first_budget or default_budget(unit=facts["unit"])
            refuse_other_unit(dataset, unit=facts["unit"], budget=budget)
            refuse_overspending(account, loss=loss, budget=budget)
            if account.budget is None:
                self._write_budget(dataset, budget)
            entry = self._write(RESERVED, dataset, **facts)
        return reservation_of(entry)

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
            self._write(PUBLISHED, known.dataset, reservation=known.id, card_digest=card_digest)
        return self._reservation(reservation_id)

    def settle(self) -> tuple[Reservation, ...]:
        """Mark what killed releases left open; returns the reservations that were marked.

        A reservation whose release is in place becomes `published`; one whose release is not
        becomes `abandoned`. No loss changes. A release that is running meanwhile is not harmed:
        an abandoned reservation can still be published.
        """
        marked = []
        for problem in self.check():
            if problem.kind not in ("unmarked", "unpublished"):
                continue
            with self._store.exclusive():
                known = self._reservation(problem.reservation)
                if known.state != RESERVED:  # somebody was faster
                    continue
                if problem.kind == "unmarked":
                    self._write(
                        PUBLISHED, known.dataset, reservation=known.id, card_digest=problem.card_digest
                    )
                else:
                    self._write(ABANDONED, known.dataset, reservation=known.id)
            marked.append(self._reservation(known.id))
        return tuple(marked)

    def _sound_account(self, dataset: str) -> Account:
        """The account of `dataset`, once the chain of entries is known to hold."""
        entries = self._store.entries()
        broken = broken_links(entries, origin=self._store.origin())
        if broken:
            raise GateError(
                f"The ledger {self.place} was altered from outside: {broken[0][1]} "
                "See 'noisegate ledger check', and restore a backup."
            )
        return Book.of(one for one in entries if one.dataset == dataset).account(dataset)

    def _reservation(self, reservation_id: str) -> Reservation:
        entries = (one for one in self._store.entries() if one.reservation_id == reservation_id)
        known = Book.of(entries).reservation(reservation_id)
        if known is None:
            raise DataError(f"The ledger {self.place} has no reservation {reservation_id!r}.")
        return known

    def _write_budget(self, dataset: str, budget: PrivacyBudget) -> None:
        self._write(
            BUDGET,
            dataset,
            unit=budget.unit,
            epsilon=str(budget.epsilon),
            delta=str(budget.delta),
            source=budget.source,
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
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return str(base / "noisegate" / "ledger.sqlite")


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
