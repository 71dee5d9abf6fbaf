"""Where entries are kept: what a store must do, and the tables that both kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from noisegate.errors import DataError, InternalError
from noisegate.ledger._entry import COLUMNS, ID_DIGITS, KINDS, Entry

FORMAT: Final = 2
"""Version of the tables. Those of the first are taken over, with what they do not say left unknown; others are refused."""
OLD_FORMAT: Final = 1

BUSY_S: Final = 60
"""How long a writer waits for another one before it gives up."""


class Store(Protocol):
    """A durable list of entries that several processes may read and extend.

    A store knows nothing of budgets. It guarantees three things: what `append` wrote is on disk
    once `exclusive` is left without an error, and not there at all if it is left with one;
    while one process is inside `exclusive`, no other is, and `entries` there sees everything
    committed before; entries are never changed or removed. Whatever its driver raises comes out as an error
    of `noisegate.errors`.
    """

    @property
    def place(self) -> str:
        """Where it is, fit to be shown: without a password."""

    @property
    def key(self) -> str:
        """What tells it from every other one, however it was named; not to be shown."""

    @property
    def exists(self) -> bool:
        """Whether there is anything at that place yet."""

    def origin(self) -> str:
        """The random number at which the chain of digests starts."""

    def entries(self, *, after: int = 0) -> list[Entry]:
        """All entries, or those after entry `after`, oldest first, as of one moment."""

    def digest(self, seq: int, /) -> str | None:
        """The digest of entry `seq`; None if there is no such entry."""

    def about(self, reservation: str, /) -> list[Entry]:
        """The entries that make a reservation or speak of it, oldest first."""

    def claims(self, output: str, /) -> list[Entry]:
        """The reservations for an output directory, oldest first."""

    def mark(self) -> str:
        """The state of the storage once the current `exclusive` is left; only inside it, after the last `append`."""

    def now(self) -> str:
        """The state of the storage as it is: what `mark` is to a transaction that has just ended."""

    def unchanged(self, mark: str, /, *, seq: int) -> bool:
        """Whether nothing but `append` touched the entries up to `seq` since `mark`; False if that cannot be told."""

    def last(self) -> tuple[int, str] | None:
        """Number and digest of the latest entry; None if there is none."""

    def exclusive(self) -> AbstractContextManager[None]:
        """A transaction that no other writer shares."""

    def append(self, entry: Entry, /) -> None:
        """Add `entry`; only inside `exclusive`."""

    def damage(self) -> list[str]:
        """What the storage itself finds wrong with its file, as sentences."""

    def close(self) -> None:
        """Let go of the storage."""


class NoStore:
    """The store of a ledger that does not exist yet: it can be read, and is empty."""

    exists = False

    def __init__(self, place: str, /, *, key: str) -> None:
        self.place, self.key = place, key

    def origin(self) -> str:
        """No chain has started."""
        return ""

    def entries(self, *, after: int = 0) -> list[Entry]:
        """None."""
        del after
        return []

    def digest(self, seq: int, /) -> str | None:
        """None."""
        del seq
        return None

    def about(self, reservation: str, /) -> list[Entry]:
        """None."""
        del reservation
        return []

    def claims(self, output: str, /) -> list[Entry]:
        """None."""
        del output
        return []

    def mark(self) -> str:
        """Nothing is there that could be marked."""
        return ""

    def now(self) -> str:
        """Nothing is there that could be marked."""
        return ""

    def unchanged(self, mark: str, /, *, seq: int) -> bool:
        """Nothing is there."""
        del mark, seq
        return False

    def last(self) -> tuple[int, str] | None:
        """None."""
        return None

    def exclusive(self) -> AbstractContextManager[None]:
        """Not possible: the ledger was opened to be read."""
        raise InternalError(f"The ledger {self.place} was opened for reading only. Please report this.")

    def append(self, entry: Entry, /) -> None:
        """Not possible: the ledger was opened to be read."""
        raise InternalError(
            f"The ledger {self.place} cannot take a {entry.kind} entry: it is open for reading. Please report this."
        )

    def damage(self) -> list[str]:
        """Nothing is there that could be damaged."""
        return []

    def close(self) -> None:
        """Nothing is open."""


LEDGER_TABLE: Final = """
CREATE TABLE noisegate_ledger (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    format INTEGER NOT NULL,
    origin TEXT NOT NULL
)"""

ENTRY_TABLE: Final = f"""
CREATE TABLE noisegate_entry (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ({", ".join(f"'{kind}'" for kind in KINDS)})),
    dataset TEXT NOT NULL,
    unit TEXT,
    epsilon TEXT,
    delta TEXT,
    source TEXT,
    release TEXT,
    spec_digest TEXT,
    output TEXT,
    reservation TEXT,
    card_digest TEXT,
    facts TEXT,
    previous TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE
)"""

#: So that one release need not read all others.
INDEXES: Final = (
    "CREATE INDEX noisegate_entry_output ON noisegate_entry (output)",
    "CREATE INDEX noisegate_entry_reservation ON noisegate_entry (reservation)",
)

#: What every entry has; the other columns are for some kinds only.
_TOLD: Final = ("at", "kind", "dataset", "previous", "digest")


def select_entries(where: str, /, *, old: bool = False) -> str:
    """The statement that reads the entries for which a condition holds; `old` tables have no facts."""
    columns = ", ".join("NULL AS facts" if old and one == "facts" else one for one in COLUMNS)
    return f"SELECT {columns} FROM noisegate_entry WHERE {where} ORDER BY seq"  # noqa: S608 - constants only


def id_range(reservation: str, /) -> tuple[str, str]:
    """The least and the greatest digest that begins with the id of a reservation."""
    short = reservation if len(reservation) == ID_DIGITS else "x" * ID_DIGITS
    return short + "0" * (64 - ID_DIGITS), short + "f" * (64 - ID_DIGITS)


SELECT_LAST: Final = "SELECT seq, digest FROM noisegate_entry ORDER BY seq DESC LIMIT 1"


def insert_entry(mark: str, /) -> str:
    """The statement that adds an entry, with the driver's own placeholder `mark`."""
    marks = ", ".join([mark] * len(COLUMNS))
    return f"INSERT INTO noisegate_entry ({', '.join(COLUMNS)}) VALUES ({marks})"  # noqa: S608 - constants only


def as_row(entry: Entry, /) -> list[Any]:
    """The values of `entry`, in the order of its columns."""
    return [getattr(entry, column) for column in COLUMNS]


def as_entries(rows: Sequence[Sequence[Any]], /, *, place: str) -> list[Entry]:
    """The entries that the rows of `select_entries` hold; `DataError` if a value is of no kind that we write."""
    for number, row in enumerate(rows, start=1):
        facts = dict(zip(COLUMNS, row, strict=True))
        seq, told = facts.pop("seq"), [facts[name] for name in _TOLD]
        odd = not isinstance(seq, int) or not all(isinstance(value, str) for value in told)
        if odd or not all(value is None or isinstance(value, str) for value in facts.values()):
            raise damaged(place, f"line {number} holds something else than text")
    return [Entry(**dict(zip(COLUMNS, row, strict=True))) for row in rows]


def damaged(place: str, what: str, /) -> DataError:
    """The error for a ledger that is one, but can no longer be read as it was written."""
    return DataError(
        f"The ledger {place} is damaged: {what}. Restore it from a backup; nothing can be charged to it before."
    )


def other_format(place: str, version: object, /) -> DataError:
    """The error for a ledger of a version that is not known here."""
    return DataError(
        f"The ledger {place} has format {version}; this version of noisegate reads formats {OLD_FORMAT} and {FORMAT}. "
        "Use the version that wrote it, or a newer one."
    )
