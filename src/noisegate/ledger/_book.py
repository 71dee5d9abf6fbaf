"""The accounts, worked out from the entries, and what is let in.

There is no stored balance that could drift from the history: what a population has spent follows from its reservations.
Nothing an entry can say makes it less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from noisegate.errors import DataError, InputError, SpecError
from noisegate.ledger._account import (
    UNITS,
    Loss,
    PrivacyBudget,
    Reservation,
    as_delta,
    as_epsilon,
    as_unit,
)
from noisegate.ledger._balance import Balance
from noisegate.ledger._bound import Bound
from noisegate.ledger._charge import Charge, UnitLoss
from noisegate.ledger._entry import ABANDONED, BUDGET, PUBLISHED, RESERVED, Entry
from noisegate.ledger._population import Account

#: The account of releases whose noise is repeatable and whose spec names nobody: they protect nobody, and nothing stops them.
SIMULATED = "simulated"

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


class Balances:
    """What every population may spend and has spent, after the entries added so far; nothing about single releases."""

    def __init__(self) -> None:
        self.bound = Bound()
        # As it was kept, until somebody asks for it.
        self._known: dict[str, Balance | Mapping[str, Any]] = {}
        self._adopted: dict[str, str] = {}

    def add(self, entry: Entry, /) -> None:
        """Take one more entry into account; `DataError`, and no change, if it makes no sense."""
        try:
            if entry.kind == BUDGET:
                self._budget(entry)
            elif entry.kind == RESERVED:
                charge = _charge(entry)
                self.charge(entry.dataset, unit=as_unit(entry.unit or ""), loss=_loss(entry), charge=charge)
                if charge.series is not None:
                    self._balance(entry.dataset).note_week(charge.series, entry.reservation_id)
        except InputError as error:
            raise senseless(entry, str(error)) from error

    def _budget(self, entry: Entry, /) -> None:
        budget = PrivacyBudget(
            epsilon=as_epsilon(entry.epsilon or ""),
            delta=as_delta(entry.delta or ""),
            unit=entry.unit or "",
            source=entry.source or "",
        )
        balance = self._balance(entry.dataset)
        if entry.facts is None:  # in the first format a population had one budget
            balance.budgets.clear()
        balance.budgets[budget.unit] = budget

    def charge(self, population: str, /, *, unit: str, loss: Loss, charge: Charge) -> None:
        """Charge a release to a population; what its charge does not say of `unit` is `loss`."""
        self.adopt(charge.adopts, population)
        balance = self._balance(population)
        losses: Mapping[str, UnitLoss | None] = {unit: UnitLoss(loss=loss), **charge.losses}
        balance.charge(losses, charge.days)
        for one in charge.bindings:
            self.bound.add((population, one.name, one.digest))

    def adopt(self, names: Sequence[str], population: str, /) -> None:
        """Let a population take over accounts of an older version: what they spent, and their budgets where it has none."""
        for name in names:
            self._adopt(name, population, self._balance(population))

    def _adopt(self, name: str, population: str, balance: Balance, /) -> None:
        if name not in self._known or name == population:
            return
        old = self._balance(name)
        del self._known[name]
        self._adopted[name] = population
        for unit, budget in old.budgets.items():
            balance.budgets.setdefault(unit, budget)
        for unit, spending in old.spending.items():
            own = balance.spending[unit]
            own.always = own.always.plus(
                spending.always, *(one.above_all() for one in spending.dated.values())
            )
            own.least = own.least.plus(spending.least)
            own.unbounded += spending.unbounded
            own.unknown += spending.unknown
        balance.releases += old.releases
        balance.series = {**old.series, **balance.series}

    def _balance(self, name: str, /) -> Balance:
        name = self.account_of(name)
        found = self._known.get(name)
        if not isinstance(found, Balance):
            found = Balance() if found is None else Balance.of_json(found)
            self._known[name] = found
        return found

    def account_of(self, name: str, /) -> str:
        """The population that an account belongs to now."""
        return self._adopted.get(name, name)

    def of(self, population: str, /) -> Balance:
        """The balance of a population; an empty one if it is not known."""
        return self._balance(population) if self.account_of(population) in self._known else Balance()

    def counted_from(self, digests: Iterable[str], /) -> set[str]:
        """The populations that were counted from content with one of these digests."""
        return {self.account_of(one) for one in self.bound.with_digests(digests)}

    def digest_of(self, population: str, name: str, /) -> tuple[str | None] | None:
        """The digest that a file or table had when a population was last counted from it; None if it never was."""
        own = self.account_of(population)
        found = self.bound.digest_of(name, own=lambda one: self.account_of(one) == own)
        return None if found is None else (found[2],)

    def populations(self) -> list[str]:
        """All that are known, by name."""
        return sorted(self._known)

    def adopted_by(self, population: str, /) -> tuple[str, ...]:
        """The accounts of an older version that belong to a population."""
        return tuple(old for old, new in self._adopted.items() if new == population)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "known": {
                name: one.to_json() if isinstance(one, Balance) else one for name, one in self._known.items()
            },
            "adopted": dict(self._adopted),
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any], bound: Bound, /) -> Self:
        """What `to_json` wrote, and what was kept beside it."""
        made = cls()
        made.bound = bound
        made._known = dict(value["known"])
        made._adopted = {str(old): str(new) for old, new in value["adopted"].items()}
        for population, one in value["known"].items():
            for name, digest in one.get("bindings", ()):  # an older version kept them here
                made.bound.add((population, str(name), digest))
        return made


class Book:
    """All accounts after the entries added so far, with every reservation."""

    def __init__(self) -> None:
        self.balances = Balances()
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
        if entry.kind in (BUDGET, RESERVED):
            self.balances.add(entry)
            if entry.kind == RESERVED:
                one = reservation_of(entry)
                self._reservations[one.id] = one
        elif entry.kind in (PUBLISHED, ABANDONED):
            self._mark(entry)
        else:
            raise senseless(entry, f"{entry.kind!r} is no kind of entry.")

    def _mark(self, entry: Entry) -> None:
        """Note that a reservation was published, or that it never will be."""
        known = self._reservations.get(entry.reservation_id)
        if known is None or known.dataset != entry.dataset:
            what = f"dataset {entry.dataset!r} has no reservation {entry.reservation_id!r} before it."
            raise senseless(entry, what)
        if known.state == PUBLISHED:
            raise senseless(entry, f"reservation {known.id} is published already.")
        self._reservations[known.id] = marked(known, entry)

    def reservation(self, reservation_id: str, /) -> Reservation | None:
        """The reservation with that id, if there is one."""
        return self._reservations.get(reservation_id)

    def reservations(self) -> tuple[Reservation, ...]:
        """All reservations, oldest first."""
        return tuple(self._reservations.values())

    def account(self, population: str, /) -> Account:
        """The account of `population`; an empty one if the ledger has never heard of it."""
        return next(
            (one for one in self.accounts() if one.dataset == population), Account(dataset=population)
        )

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name."""
        own: dict[str, list[Reservation]] = {}
        bound: dict[str, set[tuple[str, str | None]]] = {}
        for account, name, digest in self.balances.bound.added:
            bound.setdefault(self.balances.account_of(account), set()).add((name, digest))
        for one in self._reservations.values():
            own.setdefault(self.balances.account_of(one.dataset), []).append(one)
        return tuple(
            Account.of(
                name,
                self.balances.of(name),
                reservations=tuple(own.get(name, ())),
                adopted=self.balances.adopted_by(name),
                bindings=bound.get(name, ()),
            )
            for name in self.balances.populations()
        )


def senseless(entry: Entry, what: str, /) -> DataError:
    """The error for an entry that makes no sense."""
    return DataError(
        f"Entry {entry.seq} of the ledger makes no sense: {what} The ledger is damaged; restore it from a backup."
    )


def _loss(entry: Entry, /) -> Loss:
    return Loss(epsilon=as_epsilon(entry.epsilon or ""), delta=as_delta(entry.delta or ""))


def _charge(entry: Entry, /) -> Charge:
    return Charge() if entry.facts is None else _read_charge(entry.facts)


@lru_cache(maxsize=16)  # an entry is read for its balance, and at once for its reservation
def _read_charge(facts: str, /) -> Charge:
    return Charge.of_json(facts)


def reservation_of(entry: Entry, /) -> Reservation:
    """The reservation that an entry of kind `reserved` makes."""
    return Reservation(
        id=entry.reservation_id,
        dataset=entry.dataset,
        unit=as_unit(entry.unit or ""),
        loss=_loss(entry),
        release=entry.release or "",
        spec_digest=entry.spec_digest or "",
        output=Path(entry.output or ""),
        reserved_at=entry.at,
        charge=_charge(entry),
    )


def marked(known: Reservation, entry: Entry, /) -> Reservation:
    """A reservation after an entry that marks it."""
    if entry.kind == ABANDONED:
        return replace(known, state="abandoned")
    return replace(known, state="published", card_digest=entry.card_digest, published_at=entry.at)


def budgets_in_force(balance: Balance, unit: str, first: PrivacyBudget, /) -> dict[str, PrivacyBudget]:
    """The budgets that a release in `unit` must fit: those of the population, and `first` where nobody has chosen any.

    What nobody chose holds for every unit that a release promises something to; a budget that somebody chose is all there is.
    """
    budgets: dict[str, PrivacyBudget] = {
        name: balance.budgets[name] for name in UNITS if name in balance.budgets
    }
    chosen = any(one.source != "default" for one in budgets.values())
    if unit not in budgets and not chosen:
        budgets[unit] = first
    return budgets
