"""A ledger in one SQLite file.

Rollback journal (`journal_mode=DELETE`) with `synchronous=EXTRA`: a commit has reached the disk,
directory entry included, before the release goes on. The write-ahead log would let readers
and a writer overlap, which a ledger written once per release does not need, and would leave
recent entries in a second file that a copy of the first one loses. `BEGIN IMMEDIATE` takes the
write lock before anything is read, so two releases cannot both see the same money.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from noisegate.errors import DataError, InternalError, NoisegateError, OutputError
from noisegate.ledger._entry import COLUMNS, OLD_COLUMNS, RESERVED, Entry
from noisegate.ledger._store import (
    BUSY_S,
    ENTRY_TABLE,
    FORMAT,
    INDEXES,
    LEDGER_TABLE,
    OLD_FORMAT,
    SELECT_LAST,
    NoStore,
    Store,
    as_entries,
    as_row,
    damaged,
    id_range,
    insert_entry,
    other_format,
    select_entries,
)

APPLICATION_ID: Final = 0x4E474C47  # "NGLG" in the file's header: how a foreign database is told apart

_TRIGGERS: Final = {
    f"{table}_no_{verb.lower()}": f"""
    CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}
    BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END
    """
    for table in ("noisegate_ledger", "noisegate_entry")
    for verb in ("UPDATE", "DELETE")
}
#: Where the header of an SQLite file counts the transactions that changed it.
_COUNTER: Final = slice(24, 28)

_DAMAGED: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT})
_CLOSED: Final = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY}
)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})


def open_sqlite(path: Path, /, *, read_only: bool = False) -> Store:
    """The ledger in the file `path`, made if need be; nothing is made when it is only to be read."""
    try:
        if path.is_dir():
            raise OutputError(f"The ledger {path} is a directory. Name a file in it.")
        if read_only and not path.exists():
            return NoStore(str(path), key=_key(path))
        if not read_only:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The directory of the ledger {path} cannot be used ({error.strerror}). "
            "Name another place with --ledger or NOISEGATE_LEDGER."
        ) from error
    store = SqliteStore(path, read_only=read_only)
    if store.exists:
        return store
    store.close()
    return NoStore(str(path), key=_key(path))


class SqliteStore:
    """Entries in one SQLite file; see `Store` for what it guarantees.

    For one thread and one process at a time: open another one after a fork.
    """

    def __init__(self, path: Path, /, *, read_only: bool = False, busy_s: float = BUSY_S) -> None:
        self.place = str(path)
        self._old, self.key = False, _key(path)
        with self._mapped():
            mode = "rw" if read_only else "rwc"
            if not read_only:
                _make_private(path)
            self._connection = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}", uri=True, timeout=busy_s, isolation_level=None
            )
            # Bytes that are no text any more are looked at all the same; the chain of digests tells where.
            self._connection.text_factory = lambda octets: octets.decode(errors="replace")
        try:
            self._start(read_only=read_only)
        except BaseException:
            self._connection.close()
            raise

    def _start(self, *, read_only: bool) -> None:
        """Recognise the file, or make it a ledger if it is new; then set how it is written."""
        with self._mapped():
            self._connection.execute("PRAGMA synchronous = EXTRA")
            self.exists = self._recognised()
            if not self.exists and not read_only:
                with self.exclusive():
                    if not self._recognised():  # another process may have been faster
                        self._create()
                self.exists = True
            if self._old and not read_only:
                self._take_over()
            self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.execute(f"PRAGMA query_only = {int(read_only)}")

    def _recognised(self) -> bool:
        """Whether the file is a ledger; False if it is empty, `DataError` if it is something else."""
        found = self._number("PRAGMA application_id")
        tables = self._number("SELECT count(*) FROM sqlite_master")
        if found == 0 and tables == 0:
            return False
        if found != APPLICATION_ID:
            raise DataError(
                f"{self.place} is a database, but not a ledger of noisegate. Name another file with --ledger."
            )
        columns = [row[1] for row in self._connection.execute("PRAGMA table_info(noisegate_entry)")]
        if sorted(columns) not in (sorted(COLUMNS), sorted(OLD_COLUMNS)) or not self._one_row():
            raise DataError(f"The ledger {self.place} lacks some of its tables. Restore it from a backup.")
        version = self._number("SELECT format FROM noisegate_ledger")
        if version not in (FORMAT, OLD_FORMAT):
            raise other_format(self.place, version)
        self._old = "facts" not in columns
        return True

    def _one_row(self) -> bool:
        return self._number("SELECT count(*) FROM noisegate_ledger") == 1

    def _take_over(self) -> None:
        """Make a ledger of the first format one of this: a column more, indexes, and the number of the format."""
        with self.exclusive():
            if not self._recognised() or not self._old:  # another process was faster
                return
            self._connection.execute("ALTER TABLE noisegate_entry ADD COLUMN facts TEXT")
            for index in INDEXES:
                self._connection.execute(index)
            self._connection.execute("DROP TRIGGER IF EXISTS noisegate_ledger_no_update")
            self._connection.execute("UPDATE noisegate_ledger SET format = ?", [FORMAT])
            self._connection.execute(_TRIGGERS["noisegate_ledger_no_update"])
        self._old = False

    def _create(self) -> None:
        self._connection.execute(LEDGER_TABLE)
        self._connection.execute(ENTRY_TABLE)
        for statement in (*INDEXES, *_TRIGGERS.values()):
            self._connection.execute(statement)
        row = (1, FORMAT, secrets.token_hex(32))
        self._connection.execute("INSERT INTO noisegate_ledger VALUES (?, ?, ?)", row)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _number(self, query: str) -> int:
        found = self._connection.execute(query).fetchone()
        if not found or not isinstance(found[0], int):
            raise damaged(self.place, "where a number was written there is none")
        return found[0]

    def origin(self) -> str:
        """See `Store`."""
        with self._mapped():
            row = self._connection.execute("SELECT origin FROM noisegate_ledger").fetchone()
        if not row or not isinstance(row[0], str):
            raise damaged(self.place, "its origin is gone")
        return row[0]

    def entries(self, *, after: int = 0) -> list[Entry]:
        """See `Store`."""
        return self._selected("seq > ?", after)

    def digest(self, seq: int, /) -> str | None:
        """See `Store`."""
        found = self._selected("seq = ?", seq)
        return found[0].digest if found else None

    def about(self, reservation: str, /) -> list[Entry]:
        """See `Store`."""
        low, high = id_range(reservation)
        made = self._selected("digest BETWEEN ? AND ?", low, high)
        return [one for one in made if one.kind == RESERVED] + self._selected("reservation = ?", reservation)

    def claims(self, output: str, /) -> list[Entry]:
        """See `Store`."""
        return [one for one in self._selected("output = ?", output) if one.kind == RESERVED]

    def mark(self) -> str:
        """See `Store`: the counter of changes in the header, which this transaction raises by one."""
        changes = self._changes()
        return str(changes + 1) if changes >= 0 else ""

    def now(self) -> str:
        """See `Store`."""
        changes = self._changes()
        return str(changes) if changes >= 0 else ""

    def unchanged(self, mark: str, /, *, seq: int) -> bool:
        """See `Store`."""
        del seq  # the counter is that of the whole file
        return bool(mark) and mark == str(self._changes())

    def _changes(self) -> int:
        """The counter of changes, read by the handle that SQLite has; -1 where that cannot be found.

        The file must not be opened once more: closing it again would drop the locks that SQLite holds on it.
        """
        try:
            for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers, not paths
                with suppress(OSError):
                    if os.readlink(f"/proc/self/fd/{name}") == self.key:  # noqa: PTH115 - may name no file
                        return int.from_bytes(os.pread(int(name), _COUNTER.stop, 0)[_COUNTER], "big")
        except OSError:
            return -1
        return -1

    def _selected(self, where: str, *values: object) -> list[Entry]:
        with self._mapped():
            rows = self._connection.execute(select_entries(where, old=self._old), values).fetchall()
            return as_entries(rows, place=self.place)

    def last(self) -> tuple[int, str] | None:
        """See `Store`."""
        with self._mapped():
            row = self._connection.execute(SELECT_LAST).fetchone()
        if row and not (isinstance(row[0], int) and isinstance(row[1], str)):
            raise damaged(self.place, "its last line holds something else than text")
        return (row[0], row[1]) if row else None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """See `Store`."""
        with self._mapped():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def append(self, entry: Entry, /) -> None:
        """See `Store`."""
        with self._mapped():
            self._connection.execute(insert_entry("?"), as_row(entry))

    def damage(self) -> list[str]:
        """See `Store`."""
        with self._mapped():
            rows = self._connection.execute("PRAGMA integrity_check(5)").fetchall()
        return [f"SQLite finds the file damaged: {row[0]}." for row in rows if row[0] != "ok"]

    def close(self) -> None:
        """See `Store`."""
        self._connection.close()

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Whatever SQLite raises, as an error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _as_ours(error, place=self.place) from error
        except UnicodeDecodeError as error:  # SQLite wants to say what is wrong, and quotes it
            raise damaged(self.place, "it holds bytes that are no text") from error


def _as_ours(error: sqlite3.Error, *, place: str) -> NoisegateError:
    """The error of ours that says what `error` means for the person who asked."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
    if code in _DAMAGED:
        return DataError(
            f"{place} is not a ledger of noisegate, or it is damaged. Name another file with --ledger, or restore a backup."
        )
    if code in _BUSY:
        return OutputError(f"The ledger {place} is in use by another process. Try again when it has ended.")
    if code == sqlite3.SQLITE_FULL:
        return OutputError(f"The ledger {place} cannot grow: the disk is full.")
    if code in _CLOSED:
        return OutputError(
            f"The ledger {place} cannot be opened or written. "
            "Check the rights on it and its directory, or name another place with --ledger or NOISEGATE_LEDGER."
        )
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return InternalError(
            f"SQLite refused what noisegate asked of the ledger {place}: {error}. Please report this."
        )
    return damaged(place, "SQLite cannot make sense of it")


def _key(path: Path, /) -> str:
    """The file itself, whatever links lead to it."""
    return os.path.realpath(path)


def _make_private(path: Path, /) -> None:
    """Make the file of a new ledger, for its owner alone; one that is there stays as it is."""
    with suppress(OSError):  # it is there already, or SQLite says what is wrong with the place
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
