"""A ledger in a PostgreSQL database, for releases made on several machines.

Writers queue on the one row of `noisegate_ledger` (`SELECT … FOR UPDATE`) and read only after
they have it; commits are synchronous whatever the server's default. The role that releases
needs SELECT and UPDATE on `noisegate_ledger` (UPDATE only for the lock: the row never changes)
and SELECT and INSERT on `noisegate_entry`; one that only looks needs SELECT. The tables are
made in the first schema of the search path.

Needs psycopg, which is an optional dependency: import this module only when it is asked for.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from psycopg import conninfo
from psycopg import errors as pg

from noisegate.errors import DataError, InternalError, NoisegateError, OutputError, SpecError
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
    id_range,
    insert_entry,
    other_format,
    select_entries,
)

_CREATION_LOCK: Final = 0x4E474C47  # one process at a time makes the tables

_GROWS: Final = """
CREATE FUNCTION noisegate_only_grows() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the ledger only grows'; END $$"""

_TRIGGERS: Final = tuple(
    f"CREATE TRIGGER {table}_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION noisegate_only_grows()"
    for table in ("noisegate_ledger", "noisegate_entry")
)

_COLUMNS: Final = """
SELECT attname FROM pg_attribute
WHERE attrelid = to_regclass('noisegate_entry') AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""


def open_postgres(url: str, /, *, read_only: bool = False) -> Store:
    """The ledger in the database at `url`, made if need be; nothing is made when it is only to be read."""
    store = PostgresStore(url, read_only=read_only)
    if store.exists:
        return store
    store.close()
    return NoStore(store.place, key=store.key)


class PostgresStore:
    """Entries in two tables of a PostgreSQL database; see `Store` for what it guarantees."""

    def __init__(self, url: str, /, *, read_only: bool = False, busy_s: float = BUSY_S) -> None:
        self.place = without_password(url)
        self._old = False
        self._connection = self._connected(url)
        try:
            with self._mapped():
                self.key = f"{_without_secrets(url)} {self._value('SELECT current_schema()')}"
                self._connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
                self._connection.execute(f"SET lock_timeout = {int(busy_s * 1000)}".encode())
                self._connection.execute("SET synchronous_commit = on")
                self.exists = self._recognised()
                if not self.exists and not read_only:
                    self._create()
                    self.exists = True
                if self._old and not read_only:
                    self._take_over()
                self._connection.read_only = read_only
        except BaseException:
            self._connection.close()
            raise

    def _connected(self, url: str) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            return psycopg.connect(url, autocommit=True, connect_timeout=20, application_name="noisegate")
        except psycopg.OperationalError:
            # The driver's own words are left out: they can hold parts of the URL.
            raise DataError(
                f"The database of the ledger {self.place} cannot be reached or does not let us in. "
                "Check its address, user and password."
            ) from None
        except psycopg.Error:
            raise SpecError(
                f"The ledger {self.place} is not an address that PostgreSQL understands. "
                "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
            ) from None

    def _recognised(self) -> bool:
        """Whether the tables are there; `DataError` if they are not ours or of another format."""
        if self._value("SELECT to_regclass('noisegate_ledger')") is None:
            return False
        columns = [row[0] for row in self._connection.execute(_COLUMNS)]
        known = sorted(columns) in (sorted(COLUMNS), sorted(OLD_COLUMNS))
        if not known or self._value("SELECT count(*) FROM noisegate_ledger") != 1:
            raise DataError(f"The ledger {self.place} lacks some of its tables. Restore it from a backup.")
        version = self._value("SELECT format FROM noisegate_ledger")
        if version not in (FORMAT, OLD_FORMAT):
            raise other_format(self.place, version)
        self._old = "facts" not in columns
        return True

    def _take_over(self) -> None:
        """Make a ledger of the first format one of this; only who owns the tables may."""
        try:
            with self._connection.transaction():
                self._connection.execute("LOCK TABLE noisegate_entry IN ACCESS EXCLUSIVE MODE")
                if not self._recognised() or not self._old:  # another process was faster
                    return
                self._connection.execute("ALTER TABLE noisegate_entry ADD COLUMN facts TEXT")
                for index in INDEXES:
                    self._connection.execute(index.encode())
                self._connection.execute("ALTER TABLE noisegate_ledger DISABLE TRIGGER USER")
                self._connection.execute("UPDATE noisegate_ledger SET format = %s", [FORMAT])
                self._connection.execute("ALTER TABLE noisegate_ledger ENABLE TRIGGER USER")
        except pg.InsufficientPrivilege:
            raise OutputError(
                f"The ledger {self.place} was made by an older version of noisegate. Let the owner of its tables open it once, "
                "such as with 'noisegate ledger check --settle'."
            ) from None
        self._old = False

    def _create(self) -> None:
        # The lock is taken before the transaction starts: one that has already started may go on
        # believing that the tables are missing after another process has made them.
        self._connection.execute("SELECT pg_advisory_lock(%s)", [_CREATION_LOCK])
        try:
            with self._connection.transaction():
                if not self._recognised():
                    self._create_tables()
        finally:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [_CREATION_LOCK])

    def _create_tables(self) -> None:
        for statement in (LEDGER_TABLE, ENTRY_TABLE, *INDEXES, _GROWS, *_TRIGGERS):
            self._connection.execute(statement.encode())
        row = [1, FORMAT, secrets.token_hex(32)]
        self._connection.execute("INSERT INTO noisegate_ledger VALUES (%s, %s, %s)", row)

    def _value(self, query: str) -> Any:
        row = self._connection.execute(query.encode()).fetchone()
        return row[0] if row else None

    def origin(self) -> str:
        """See `Store`."""
        with self._mapped():
            return str(self._value("SELECT origin FROM noisegate_ledger"))

    def entries(self, *, after: int = 0) -> list[Entry]:
        """See `Store`."""
        return self._selected("seq > %s", after)

    def digest(self, seq: int, /) -> str | None:
        """See `Store`."""
        found = self._selected("seq = %s", seq)
        return found[0].digest if found else None

    def about(self, reservation: str, /) -> list[Entry]:
        """See `Store`."""
        low, high = id_range(reservation)
        made = self._selected("digest BETWEEN %s AND %s", low, high)
        return [one for one in made if one.kind == RESERVED] + self._selected("reservation = %s", reservation)

    def claims(self, output: str, /) -> list[Entry]:
        """See `Store`."""
        return [one for one in self._selected("output = %s", output) if one.kind == RESERVED]

    def mark(self) -> str:
        """See `Store`: the number of this transaction."""
        with self._mapped():
            return str(self._value("SELECT txid_current()"))

    def now(self) -> str:
        """See `Store`: the number of a transaction that has written nothing."""
        return self.mark()

    def unchanged(self, mark: str, /, *, seq: int) -> bool:
        """See `Store`: whether all entries are there, and none was written after the transaction `mark`."""
        if not mark.isascii() or not mark.isdigit():
            return False
        with self._mapped():
            since = int(self._value("SELECT txid_current()")) - int(mark)
            if not 0 <= since < 2**30:
                return False
            query = (
                "SELECT count(*), count(*) FILTER (WHERE age(xmin) < %s) FROM noisegate_entry WHERE seq <= %s"
            )
            row = self._connection.execute(query, [since, seq]).fetchone()
        return row is not None and (int(row[0]), int(row[1])) == (seq, 0)

    def _selected(self, where: str, *values: Any) -> list[Entry]:
        with self._mapped():
            query = select_entries(where, old=self._old).encode()
            return as_entries(self._connection.execute(query, values).fetchall(), place=self.place)

    def last(self) -> tuple[int, str] | None:
        """See `Store`."""
        with self._mapped():
            row = self._connection.execute(SELECT_LAST.encode()).fetchone()
        return (int(row[0]), str(row[1])) if row else None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """See `Store`."""
        with self._mapped(), self._connection.transaction():
            self._connection.execute("SELECT format FROM noisegate_ledger FOR UPDATE")
            yield

    def append(self, entry: Entry, /) -> None:
        """See `Store`."""
        with self._mapped():
            self._connection.execute(insert_entry("%s").encode(), as_row(entry))

    def damage(self) -> list[str]:
        """See `Store`: the server looks after its own files."""
        return []

    def close(self) -> None:
        """See `Store`."""
        self._connection.close()

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Whatever the driver raises, as an error of ours."""
        try:
            yield
        except psycopg.Error as error:
            raise _as_ours(error, place=self.place) from error


def without_password(url: str, /) -> str:
    """`url` fit to be shown: scheme, user, host and database, nothing that can hold a secret."""
    try:
        parts = urlsplit(url)
        user, _, host = parts.netloc.rpartition("@")
    except ValueError:
        return "postgresql://…"
    name = user.partition(":")[0]
    return f"{parts.scheme}://{name}{'@' if name else ''}{host}{parts.path}"


def _without_secrets(url: str, /) -> str:
    """Which server and database is meant, in a fixed order, without what opens it."""
    facts = conninfo.conninfo_to_dict(url)
    wanted = ("host", "hostaddr", "port", "dbname", "service")
    return " ".join(f"{name}={facts[name]}" for name in wanted if facts.get(name))


def _as_ours(error: psycopg.Error, *, place: str) -> NoisegateError:
    """The error of ours that says what `error` means for the person who asked."""
    match error:
        case pg.LockNotAvailable() | pg.DeadlockDetected():
            return OutputError(
                f"The ledger {place} is in use by another process. Try again when it has ended."
            )
        case pg.InsufficientPrivilege() | pg.ReadOnlySqlTransaction():
            return OutputError(
                f"The ledger {place} cannot be opened or written. "
                "Check the rights of the database's user, or name another place with --ledger or NOISEGATE_LEDGER."
            )
        case pg.DiskFull():
            return OutputError(f"The ledger {place} cannot grow: the disk is full.")
        case pg.UndefinedTable() | pg.UndefinedColumn():
            return DataError(f"The ledger {place} lacks some of its tables. Restore it from a backup.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return OutputError(
                f"The connection to the ledger {place} was lost. Try again when the database is back."
            )
    return InternalError(
        f"PostgreSQL refused what noisegate asked of the ledger {place}: {error}. Please report this."
    )
