"""Whether a ledger is sound, and agrees with the cards of the releases it speaks of.

Two kinds of result. A *fault* means that the ledger cannot be trusted, or that something was
released that it does not know: the gate says no. A *note* is what a killed or running release
leaves behind; the ledger is sound all the same, since every such release is charged.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self

from noisegate import limits
from noisegate.errors import DataError
from noisegate.ledger._account import Reservation
from noisegate.ledger._book import SIMULATED, Balances, Book
from noisegate.ledger._entry import BUDGET, PUBLISHED, RESERVED, Entry, broken_links

if TYPE_CHECKING:
    from noisegate.tables import StatedPayment

Kind = Literal[
    "restored",
    "storage",
    "chain",
    "entry",
    "overspent",
    "card",
    "uncharged",
    "unmarked",
    "unpublished",
    "staging",
    "unreadable",
    "temporary",
]
NOTES: Final[frozenset[Kind]] = frozenset({"unmarked", "unpublished", "staging", "unreadable", "temporary"})

CARD: Final = "card.json"
_STAGING = re.compile(r"\..+\.(?P<reservation>[0-9a-f]{32})\.staging", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrepancy:
    """One thing that `check` found.

    kind: `restored` the ledger is an older copy of itself, or a new one; `storage` the file is damaged; `chain` history was altered; `entry` an entry makes no
    sense; `overspent` a reservation is over its budget; `card` a release and its entry differ;
    `uncharged` a release that the ledger does not know. Notes: `unmarked` a release in place
    whose reservation was not marked; `unpublished` spent, nothing published; `staging` a
    leftover directory; `unreadable` a place that could not be looked at; `temporary` what a stopped
    count left on the disk.
    """

    kind: Kind
    message: str
    dataset: str = ""
    reservation: str = ""
    path: Path | None = None
    card_digest: str = ""

    @property
    def fault(self) -> bool:
        """Whether it makes the ledger inconsistent; otherwise it is a note."""
        return self.kind not in NOTES


def find_problems(
    entries: Sequence[Entry], /, *, origin: str, damage: Iterable[str] = ()
) -> Iterator[Discrepancy]:
    """All problems: of the storage, of the chain, of the arithmetic, of the released directories."""
    for sentence in damage:
        yield Discrepancy(kind="storage", message=sentence)
    for _, sentence in broken_links(entries, origin=origin):
        yield Discrepancy(kind="chain", message=sentence)
    replay = _Replay()
    for entry in entries:
        yield from replay.add(entry)
    yield from replay.finish()
    yield from _Places(replay.book).problems()


class _Replay:
    """The entries taken into a book as they were written, and whether each reservation was allowed.

    What was lost only grows between two budgets, so it is compared with them once, at the end of each such stretch; only where it
    is too much, the first entry that went too far is looked for.
    """

    def __init__(self) -> None:
        self.book = Book()
        self._entries: list[Entry] = []
        self._last: dict[str, Entry] = {}

    def add(self, entry: Entry, /) -> Iterator[Discrepancy]:
        """Take one more entry, and see what it closes."""
        name = self.book.balances.account_of(entry.dataset)
        if entry.kind == BUDGET:
            yield from self._judged(name)
        try:
            self.book.add(entry)
        except DataError as error:
            yield Discrepancy(kind="entry", message=str(error), dataset=entry.dataset)
            return
        self._entries.append(entry)
        if entry.kind != RESERVED:
            return
        if not self.book.balances.of(name).budgets and name != SIMULATED:
            message = f"Entry {entry.seq} charges population {entry.dataset!r}, which had no budget."
            yield _overspent(message, entry)
        self._last[name] = entry

    def finish(self) -> Iterator[Discrepancy]:
        """See to what is still open."""
        for name in list(self._last):
            yield from self._judged(name)

    def _judged(self, name: str, /) -> Iterator[Discrepancy]:
        """Whether what a population has lost fits the budgets that it had until now."""
        last = self._last.pop(name, None)
        if last is None or not _over(self.book.balances, name):
            return
        mine = [n for n, one in enumerate(self._entries) if one.kind == RESERVED]
        mine = [n for n in mine if self.book.balances.account_of(self._entries[n].dataset) == name]
        low, high = -1, len(mine) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._over_after(mine[middle], name) else (middle, high)
        entry = self._entries[mine[high]]
        yield _overspent(
            f"Entry {entry.seq} charges population {entry.dataset!r} beyond the budget it had then.", entry
        )

    def _over_after(self, place: int, name: str, /) -> bool:
        """Whether a population was over the budgets of today after the entry at `place`."""
        then = Balances()
        for entry in self._entries[: place + 1]:
            then.add(entry)
        then.of(name).budgets = dict(self.book.balances.of(name).budgets)
        return _over(then, name)


def _over(balances: Balances, name: str, /) -> bool:
    """Whether a population has lost more than its budgets allow."""
    balance = balances.of(name)
    for unit, budget in balance.budgets.items():
        spending, chosen = balance.spending[unit], budget.source != "default"
        if chosen and (spending.unbounded or spending.unknown):
            return True
        if spending.over(budget, least=not chosen) is not None:
            return True
    return False


def _overspent(message: str, entry: Entry, /) -> Discrepancy:
    return Discrepancy(
        kind="overspent", message=message, dataset=entry.dataset, reservation=entry.reservation_id
    )


def cards_nobody_paid(
    folder: Path, population: str, /, *, known: Callable[[str], bool], most: int = 8
) -> Iterator[Path]:
    """The latest releases in `folder` whose cards name this population and a reservation that is not known."""
    for directory in _latest(folder, most):
        try:
            card = _InPlace.read(directory)
        except OSError:
            continue
        if card is None or card.payment.reservation is None or card.payment.dataset != population:
            continue
        if card.payment.simulated:
            continue
        if not known(card.payment.reservation):
            yield directory


WeekState = Literal["published", "running", "lost"]


def week_state(one: Reservation, /, *, running: bool) -> WeekState:
    """What became of a week of a series: published, also if nobody could mark it; being made; or lost with its noise."""
    if one.state == PUBLISHED:
        return "published"
    try:
        card = _InPlace.read(one.output)
    except OSError:
        return "published"  # something is there that cannot be looked at: never measure twice by mistake
    if card is not None and card.payment.reservation == one.id:
        return "published"
    return "running" if running and one.state == RESERVED else "lost"


def _latest(folder: Path, most: int, /) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat().st_mtime_ns, entry.path)
                for entry in entries
                if entry.is_dir() and not entry.name.startswith(".")
            ]
    except OSError:
        return []
    return [Path(path) for _, path in sorted(found, reverse=True)[:most]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _InPlace:
    """A card in a directory: what it says about the ledger, and the digest of its bytes."""

    directory: Path
    payment: StatedPayment
    digest: str

    @classmethod
    def read(cls, directory: Path, /) -> Self | None:
        """The card in `directory`; None if there is none. One that is no card names no reservation."""
        # A ledger loads no table unless it is checked.
        from noisegate.tables import stated_payment

        path = directory / CARD
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > limits.current().card_bytes:
                raise OSError(errno.EINVAL, "it is no file, or too long for a card")
            octets = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        digest = hashlib.sha256(octets).hexdigest()
        return cls(directory=directory, payment=stated_payment(octets), digest=digest)


class _Places:
    """The directories that a ledger speaks of, compared with its reservations."""

    def __init__(self, book: Book) -> None:
        self._known = {one.id: one for one in book.reservations()}
        self._latest = {one.output: one for one in book.reservations()}
        self._in_place: dict[str, _InPlace] = {}
        self._unseen: set[Path] = set()

    def problems(self) -> Iterator[Discrepancy]:
        """What does not fit."""
        parents = sorted({output.parent for output in self._latest})
        for output in self._latest:
            yield from self._judged(output)
        for parent in parents:
            yield from self._around(parent)
        for one in self._known.values():
            if one.state == RESERVED and one.output not in self._unseen:
                yield self._open(one)

    def _around(self, parent: Path) -> Iterator[Discrepancy]:
        """Problems of the directories in `parent`: releases nobody charged, staging left over."""
        try:
            children = sorted(child for child in parent.iterdir() if child.is_dir())
        except FileNotFoundError:
            return
        except OSError as error:
            yield Discrepancy(
                kind="unreadable", message=f"{parent} cannot be looked at ({error.strerror}).", path=parent
            )
            return
        for child in children:
            staging = _STAGING.fullmatch(child.name)
            if staging:
                yield Discrepancy(
                    kind="staging",
                    message=f"{child} was left by a release that was stopped, or belongs to one that is running. "
                    "If none is running, delete it: it was never published.",
                    reservation=staging["reservation"],
                    path=child,
                )
            elif child not in self._latest and not child.name.startswith("."):
                yield from self._judged(child)

    def _judged(self, directory: Path) -> Iterator[Discrepancy]:
        """Problems of one directory that may hold a release."""
        recorded = self._latest.get(directory)
        try:
            there = directory.is_dir()
            card = _InPlace.read(directory)
        except OSError as error:
            self._unseen.add(directory)
            message = f"{directory / CARD} cannot be read ({error.strerror})."
            yield Discrepancy(kind="unreadable", message=message, path=directory)
            return
        if card is None or card.payment.reservation is None:
            if there and recorded is not None and recorded.state == PUBLISHED:
                message = f"{directory} was published, but has no {CARD} that names its reservation."
                yield _card_problem(message, recorded, directory)
            return
        paid = self._known.get(card.payment.reservation)
        if paid is None:
            message = f"{directory} holds a release paid with reservation {card.payment.reservation}, which this ledger does not know."
            yield Discrepancy(
                kind="uncharged", message=message, reservation=card.payment.reservation, path=directory
            )
        elif card.payment.dataset not in {
            None,
            paid.dataset,
        }:  # a card may keep the name of its dataset to itself
            yield _card_problem(
                f"The card of {directory} names another population than its reservation.", paid, directory
            )
        elif paid.state == PUBLISHED and card.digest != paid.card_digest:
            yield _card_problem(
                f"The card of {directory} was altered after it was published.", paid, directory
            )
        else:
            self._in_place[paid.id] = card

    def _open(self, one: Reservation) -> Discrepancy:
        """The note on a reservation that was never marked."""
        card = self._in_place.get(one.id)
        if card is None:
            message = f"Release {one.release!r} of population {one.dataset!r}: spent, nothing published."
            return Discrepancy(
                kind="unpublished", message=message, dataset=one.dataset, reservation=one.id, path=one.output
            )
        message = f"Release {one.release!r} of population {one.dataset!r} is in place and charged, but not marked published."
        return Discrepancy(
            kind="unmarked",
            message=message,
            dataset=one.dataset,
            reservation=one.id,
            path=card.directory,
            card_digest=card.digest,
        )


def _card_problem(message: str, one: Reservation, directory: Path) -> Discrepancy:
    return Discrepancy(kind="card", message=message, dataset=one.dataset, reservation=one.id, path=directory)
