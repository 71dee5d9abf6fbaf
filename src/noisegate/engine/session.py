"""A connection of DuckDB that is ours: what it believes, and where it puts what does not fit into memory.

It believes no statistics: those of a Parquet file were written by whoever wrote the file, and an optimiser that trusts them
leaves out the very comparisons that keep events inside the domain. What does not fit into memory, ids of persons among it, goes
to a directory of its own that only this user can enter. It is removed at the end; one that a killed process left is known by
its lock, which died with the process, and removed at the next start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from noisegate import limits
from noisegate.errors import OutputError, is_interrupt

_SPILL, _NEW, _LOCK = "noisegate-spill-", "noisegate-new-", "lock"
#: Seconds after which a directory without a lock was certainly left behind.
_ABANDONED_S = 3600
_UNTRUSTED = "statistics_propagation"


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Let Ctrl-C be Ctrl-C: DuckDB makes an error of its own of it, wherever it is asked something."""
    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise


@contextmanager
def own_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of our own, in memory; it ends with its temporary files."""
    remove_leftovers()
    with private_folder() as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": str(folder),
            "autoinstall_known_extensions": False,
            "disabled_optimizers": _UNTRUSTED,
            "memory_limit": f"{limits.current().engine_megabytes}MB",
        }
        with heeding_interrupts(), duckdb.connect(config=config) as connection:
            connection.execute("SET preserve_insertion_order = false; SET enable_progress_bar = false")
            yield connection


@contextmanager
def believing_no_statistics(connection: duckdb.DuckDBPyConnection, /) -> Iterator[None]:
    """Let a connection compare every value, as long as the context; then it is as it was."""
    ((before,),) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
    disabled = sorted({*filter(None, str(before or "").split(",")), _UNTRUSTED})
    connection.execute(f"SET disabled_optimizers = '{','.join(disabled)}'")
    try:
        yield
    finally:
        connection.execute(f"SET disabled_optimizers = '{before or ''}'")


@contextmanager
def writing_temporary() -> Iterator[None]:
    """Say in a sentence that temporary files cannot be written, such as on a full disk."""
    try:
        yield
    except OSError as problem:
        raise OutputError(
            f"Temporary files cannot be written to {tempfile.gettempdir()} ({problem.strerror or 'unknown reason'}); make room there, or name "
            "another place with TMPDIR."
        ) from None


def leftovers() -> tuple[Path, ...]:
    """Temporary directories of this user that counts which were stopped left behind; they may hold ids of persons."""
    try:
        found = sorted(Path(tempfile.gettempdir()).iterdir())
    except OSError:
        return ()
    return tuple(path for path in found if _is_ours(path) and _is_abandoned(path))


def remove_leftovers() -> None:
    """Remove what `leftovers` finds."""
    for path in leftovers():
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new directory for this user alone, locked as long as this process lives."""
    try:
        made = Path(tempfile.mkdtemp(prefix=_NEW))
        # Locked before it gets the name by which it is found, so that nobody takes it for one that was left.
        lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = made.with_name(_SPILL + made.name.removeprefix(_NEW))
        made.rename(folder)
    except OSError as problem:
        raise OutputError(
            f"There is no place for temporary files ({problem.strerror}); name another one with TMPDIR."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _is_ours(path: Path, /) -> bool:
    if not path.name.startswith((_SPILL, _NEW)):
        return False
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_abandoned(path: Path, /) -> bool:
    """Whether nobody holds the lock of a directory."""
    if path.name.startswith(_NEW):
        try:
            made = path.lstat().st_mtime
        except OSError:
            # Whoever made it has given it its name, or has removed it, since it was seen.
            return False
        return time.time() - made > _ABANDONED_S
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
