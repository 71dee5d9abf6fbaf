"""Where a ledger ended when it was last written from here, kept apart from it.

A ledger can tell that its entries were altered, but not that it is an old copy of itself, or a new one in its place. So the number
and the digest of its last entry are kept in another place (`$NOISEGATE_HEADS`, else `noisegate/heads` in the state directory): a
ledger that lacks that entry was restored from a backup, emptied or replaced, and nothing is charged to it until somebody has said
that this is meant.

Beside them lie the balances after that entry, so that a release need not read the whole history: they are used only if the
storage says that the history was not touched since, else all is read and checked again. What populations were counted from is in a
file of its own that only grows (`noisegate.ledger._bound`).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from noisegate.ledger._bound import Bound

VARIABLE = "NOISEGATE_HEADS"


def state_folder() -> Path:
    """The state directory of the user: `$XDG_STATE_HOME`, or `~/.local/state`."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    return Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last entry of a ledger that was seen from here, the state of its storage then, and its balances."""

    seq: int
    digest: str
    mark: str
    balances: dict[str, Any] | None
    bound: Bound = field(default_factory=Bound, repr=False, compare=False)
    #: The balances as they are written, if they were written before.
    text: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def read(cls, key: str, /) -> Self | None:
        """The head of the ledger with the key `key`; None if none was kept, or what was kept cannot be read."""
        try:
            value = _content(_file(key))
            balances = value["balances"]
            bound = Bound.read(_bound_file(key), least=int(value.get("bound", 0)))
            return cls(
                seq=int(value["seq"]),
                digest=str(value["digest"]),
                mark=str(value["mark"]),
                balances=balances if isinstance(balances, dict) and bound is not None else None,
                bound=bound or Bound(),
            )
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def write(self, key: str, /) -> bool:
        """Keep it; whether that could be done. Whole or not at all, for its owner alone."""
        file, size = _file(key), self.bound.append_to(_bound_file(key))
        if size is None:
            return False
        content = {
            "ledger": key,
            "seq": self.seq,
            "digest": self.digest,
            "mark": self.mark,
            "bound": size,
        }
        start = json.dumps(content, separators=(",", ":"))[:-1]
        balances = self.text or written_balances(self.balances)
        aside = file.with_name(f"{file.name}.{secrets.token_hex(6)}")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(f'{start},"balances":{balances}}}')
            aside.replace(file)
        except OSError:
            with suppress(OSError):
                aside.unlink()
            return False
        return True


def written_balances(balances: dict[str, Any] | None, /) -> str:
    """Balances as they are kept."""
    return json.dumps(balances, separators=(",", ":"))


#: What was read last, and the file as it was then: a release looks several times, and a file that is replaced is another one.
_seen: dict[Path, tuple[tuple[int, ...], Any]] = {}


def _content(file: Path, /) -> Any:
    """What a file holds; from memory if it is the same as when it was last read here. Nobody may change what comes back."""
    found = file.stat()
    state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if file not in _seen or _seen[file][0] != state:
        _seen.clear()
        _seen[file] = state, json.loads(file.read_bytes())
    return _seen[file][1]


def forget_head(key: str, /) -> None:
    """Forget where the ledger with the key `key` ended."""
    remembered.pop(key, None)
    for file in (_file(key), _bound_file(key)):
        with suppress(OSError):
            file.unlink()


#: Ledgers whose whole history was read in this process, as it was then: a release looks several times.
remembered: dict[str, Head] = {}


def _bound_file(key: str, /) -> Path:
    return _file(key).with_suffix(".bound")


def _file(key: str, /) -> Path:
    named = os.environ.get(VARIABLE, "").strip()
    folder = Path(named) if named else state_folder() / "noisegate" / "heads"
    return folder / f"{hashlib.sha256(key.encode(errors='surrogateescape')).hexdigest()[:32]}.json"
