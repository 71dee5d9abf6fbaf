"""A second connection to a PostgreSQL server that sees what the first one sees, or none.

Both are in a transaction on one exported snapshot, so that together they count every event once, whoever writes meanwhile. A second
session is set up like the first, and may still see other things: temporary tables, or rows that a policy shows to some. Where any of that
could matter there is no second connection, and the first counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Whether every session sees the rows of a table alike (it is ordinary or partitioned, not temporary, and has no policy), and which table it is.
_ALIKE = (
    "SELECT c.relkind IN ('r', 'p', 'm') AND c.relpersistence <> 't' AND NOT c.relrowsecurity, c.oid, current_user::text "
    "FROM pg_class AS c WHERE c.oid = to_regclass(%s)"
)
#: What was set in a session, such as a role or where tables are looked for.
_SET = "SELECT name, setting FROM pg_settings WHERE source = 'session' ORDER BY name"
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@contextmanager
def paired_session(connection: Any, table: str, /) -> Iterator[Any]:
    """A second connection, both in a transaction on one snapshot as long as the context; None if there can be none."""
    import psycopg

    if not connection.autocommit or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        yield None
        return
    other = None
    try:
        other = _second(psycopg, connection, table)
        if other is None:
            yield None
        else:
            try:
                yield other
            finally:
                _leave(psycopg, connection)
    finally:
        if other is not None:
            other.close()


def _leave(psycopg: Any, connection: Any, /) -> None:
    """End the transaction, in which nothing was changed; a connection that cannot even do that, in the middle of an answer, is closed."""
    try:
        if not connection.closed:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def _second(psycopg: Any, connection: Any, table: str, /) -> Any:
    """A connection on the snapshot that `connection` has exported; None, and no transaction, if the server or the table does not allow it."""
    first = connection.execute(_ALIKE, [table]).fetchone()
    if first is None or not first[0]:
        return None
    settings = connection.execute(_SET).fetchall()
    info = connection.info
    other = None
    try:
        other = psycopg.connect(**info.get_parameters(), password=info.password or None, autocommit=True)
        for name, setting in settings:
            other.execute("SELECT set_config(%s, %s, false)", [name, setting])
        same = other.execute(_SET).fetchall() == settings
        if same and other.execute(_ALIKE, [table]).fetchone() == first:
            connection.execute(_BEGIN)
            (snapshot,) = connection.execute("SELECT pg_export_snapshot()").fetchone()
            other.execute(_BEGIN)
            other.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            return other
    except psycopg.Error:
        # No room for a second connection, or none that reaches the same server.
        if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    if other is not None:
        other.close()
    return None
