"""The accounts, worked out from the entries, and what is let in.

There is no stored balance that could drift from the history: what a dataset has spent is
always the sum over its reservations, worked out anew. Nothing an entry can say makes that sum
smaller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Self

from noisegate.errors import BudgetExceeded, DataError, InputError, SpecError
from noisegate.ledger._account import (
    Account,
    Loss,
    PrivacyBudget,
    Reservation,
    as_delta,
    as_epsilon,
    as_unit,
    shown_down,
    shown_up,
)
from noisegate.ledger._entry import ABANDONED, BUDGET, PUBLISHED, RESERVED, Entry

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LONGEST = 4096


def as_name(value: str, /, *, what: str) -> str:
    """`value` as a name or path: text that fits on one line."""
    if not 0 < len(value) <= _LONGEST or not value.isprintable() or not value.strip():
        raise SpecError.for_value(what, found=value[:60], allowed=f"1 to {_LONGEST} printable characters")
    return value


def as_digest(value: str, /, *, what: str) -> str:
    """`value` as a SHA-256 digest."""
    if not _DIGEST.fullmatch(value):
        raise SpecError.for_value(what, found=value[:70], allowed="a SHA-256 digest of 64 hex digits")
    return value


def refuse_other_unit(dataset: str, /, *, unit: str, budget: PrivacyBudget) -> None:
    """`SpecError` if a loss per `unit` cannot be charged to `budget`.

    A loss per event says nothing about a person with many events, and the neighbours of one
    unit are not neighbours of another; so units are never converted.
    """
    if unit != budget.unit:
        raise SpecError(
            f"The release is counted per {unit}, but the budget of dataset {dataset!r} is kept per {budget.unit}. "
            f"Use unit {budget.unit} in the spec, or keep this release under another dataset."
        )


def refuse_overspending(account: Account, /, *, loss: Loss, budget: PrivacyBudget) -> None:
    """`BudgetExceeded` if `loss` on top of what `account` has spent is over `budget`."""
    after = account.spent + loss
    if after.fits(budget):
        return
    remark = " (the default: nobody has set a budget)" if budget.source == "default" else ""
    left = Account(dataset=account.dataset, budget=budget, spent=account.spent).left
    if after.epsilon > budget.epsilon:
        raise BudgetExceeded.for_request(
            dataset=account.dataset, asked=shown_up(loss.epsilon), left=shown_down(left.epsilon) + remark
        )
    raise BudgetExceeded(
        f"The release asks for delta {shown_up(loss.delta)} of dataset {account.dataset!r}; "
        f"the ledger holds {shown_down(left.delta)}{remark}. "
        "Choose a mechanism with a smaller delta, or raise the budget with 'noisegate ledger set'."
    )


class Book:
    """All accounts after the entries added so far."""

    def __init__(self) -> None:
        self._budgets: dict[str, PrivacyBudget] = {}
        self._spent: dict[str, Loss] = {}
        self._reservations: dict[str, Reservation] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry], /) -> Self:
        """The book after `entries`; `DataError` at the first one that makes no sense."""
        book = cls()
        for entry in entries:
            book.add(entry)
        return book

    def add(self, entry: Entry, /) -> None:
        """Take one more entry into account; `DataError`, and no change, if it makes no sense."""
        try:
            self._add(entry)
        except InputError as error:
            raise DataError(
                f"Entry {entry.seq} of the ledger makes no sense: {error} The ledger is damaged; restore it from a backup."
            ) from error

    def _add(self, entry: Entry) -> None:
        if entry.kind == BUDGET:
            self._budgets[entry.dataset] = PrivacyBudget(
                epsilon=as_epsilon(entry.epsilon or ""),
                delta=as_delta(entry.delta or ""),
                unit=entry.unit or "",
                source=entry.source or "",
            )
        elif entry.kind == RESERVED:
            one = reservation_of(entry)
            self._reservations[one.id] = one
            self._spent[entry.dataset] = self.spent(entry.dataset) + one.loss
        elif entry.kind in (PUBLISHED, ABANDONED):
            self._mark(entry)
        else:
            raise DataError(f"{entry.kind!r} is no kind of entry.")

    def _mark(self, entry: Entry) -> None:
        """Note that a reservation was published, or that it never will be."""
        known = self._reservations.get(entry.reservation_id)
        if known is None or known.dataset != entry.dataset:
            raise DataError(
                f"dataset {entry.dataset!r} has no reservation {entry.reservation_id!r} before it."
            )
        if known.state == PUBLISHED:
            raise DataError(f"reservation {known.id} is published already.")
        if entry.kind == ABANDONED:
            marked = replace(known, state="abandoned")
        else:
            marked = replace(known, state="published", card_digest=entry.card_digest, published_at=entry.at)
        self._reservations[known.id] = marked

    def budget(self, dataset: str, /) -> PrivacyBudget | None:
        """The budget in force."""
        return self._budgets.get(dataset)

    def spent(self, dataset: str, /) -> Loss:
        """What `dataset` has spent."""
        return self._spent.get(dataset, Loss())

    def reservation(self, reservation_id: str, /) -> Reservation | None:
        """The reservation with that id, if there is one."""
        return self._reservations.get(reservation_id)

    def reservations(self) -> tuple[Reservation, ...]:
        """All reservations, oldest first."""
        return tuple(self._reservations.values())

    def account(self, dataset: str, /) -> Account:
        """The account of `dataset`; an empty one if the ledger has never heard of it."""
        return Account(
            dataset=dataset,
            budget=self.budget(dataset),
            spent=self.spent(dataset),
            reservations=tuple(one for one in self._reservations.values() if one.dataset == dataset),
        )

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name."""
        return tuple(self.account(name) for name in sorted(self._budgets.keys() | self._spent.keys()))


def reservation_of(entry: Entry, /) -> Reservation:
    """The reservation that an entry of kind `reserved` makes."""
    loss = Loss(epsilon=as_epsilon(entry.epsilon or ""), delta=as_delta(entry.delta or ""))
    return Reservation(
        id=entry.reservation_id,
        dataset=entry.dataset,
        unit=as_unit(entry.unit or ""),
        loss=loss,
        release=entry.release or "",
        spec_digest=entry.spec_digest or "",
        output=Path(entry.output or ""),
        reserved_at=entry.at,
    )
