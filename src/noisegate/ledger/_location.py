"""Which ledger is meant, and opening it."""

from __future__ import annotations

import os
from pathlib import Path

from noisegate.errors import SpecError
from noisegate.ledger._ledger import Ledger
from noisegate.ledger._sqlite import open_sqlite
from noisegate.ledger._store import Store

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
