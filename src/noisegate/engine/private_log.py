"""What an engine says in its own words: kept for the custodian, in a file that nobody else can read.

An engine's message may quote rows, persons and passwords, so none of it is shown. It is not thrown away either: it goes to a new
file under the user's state directory (mode 0600), and the sentence that is shown names the file.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from pathlib import Path

#: As many logs are kept as this; older ones are removed when a new one is made.
_KEPT = 20


def new_log() -> Path | None:
    """An empty file for an engine's own words, readable by this user alone; None if there is no place for one."""
    name = f"engine-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.log"
    for folder in (_state_folder(), Path(tempfile.gettempdir()) / f"noisegate-logs-{os.geteuid()}"):
        try:
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            path = folder / name
            os.close(
                os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            )
        except OSError:
            continue
        _remove_old(folder)
        return path
    return None


def keep_words(error: BaseException, /) -> str:
    """Keep what an engine said, and say where; empty if it could not be kept."""
    path = new_log()
    if path is None:
        return ""
    try:
        path.write_text(f"{type(error).__module__}.{type(error).__qualname__}\n{error}\n", encoding="utf-8")
    except OSError:
        return ""
    return f" Its own words, which may quote the data, are in {path}, for you alone."


def _state_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if state else Path.home() / ".local" / "state") / "noisegate" / "engine-logs"


def _remove_old(folder: Path, /) -> None:
    for path in sorted(folder.glob("engine-*.log"))[:-_KEPT]:
        path.unlink(missing_ok=True)
