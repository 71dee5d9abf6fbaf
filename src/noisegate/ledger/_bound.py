"""What populations were counted from: files with the digest of their content, and tables, one line each.

There is one for every release, so they are not kept with the balances but in a file that only grows, beside them: a release adds
its own lines and looks for the few names and digests that it has itself. A line may be there twice, or before the balances know of
it; none that they know of is missing, or the file is shorter than they say and all is read again from the ledger.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

#: Account, name and digest.
Line: TypeAlias = tuple[str, str, str | None]


@dataclass(slots=True)
class Bound:
    """Lines in a file, as they were when it was read, and lines that are not in it yet, in the order in which they came."""

    kept: bytes = b""
    added: dict[Line, None] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path, /, *, least: int) -> Bound | None:
        """What a file holds; None if that is less than `least` bytes."""
        if not least:
            return cls()
        try:
            found = file.stat()
            state = (
                str(file),
                found.st_dev,
                found.st_ino,
                found.st_size,
                found.st_mtime_ns,
                found.st_ctime_ns,
            )
            if state not in _seen:
                kept = file.read_bytes()
                _seen.clear()
                _seen[state] = kept
        except OSError:
            return None
        return cls(_seen[state]) if len(_seen[state]) >= least else None

    def copy(self) -> Bound:
        """Another one with the same lines."""
        return Bound(self.kept, dict(self.added))

    def add(self, one: Line, /) -> None:
        """Add a line, unless it is there already."""
        if one not in self.added and _line(one) not in self.kept:
            self.added[one] = None

    def with_digests(self, digests: Iterable[str], /) -> Iterator[str]:
        """The accounts that were counted from content with one of these digests."""
        wanted = set(digests)
        for digest in wanted:
            yield from (account for account, _, found in self._found(digest) if found == digest)
        yield from (account for account, _, found in self.added if found in wanted)

    def digest_of(self, name: str, /, *, own: Callable[[str], bool]) -> Line | None:
        """The last line about a name in an account that is `own`; None if there is none."""
        last = None
        for one in (*self._found(name), *self.added):
            if one[1] == name and own(one[0]):
                last = one
        return last

    def append_to(self, file: Path, /) -> int | None:
        """Write what is not in the file yet; its size then, or None if that could not be done.

        Where nothing was read from it, all that there is was read from the ledger: the file is made anew.
        """
        if not self.added:
            return len(self.kept)
        # A line of its own, even if a process was stopped in the middle of one.
        text = b"\n" + b"".join(map(_line, self.added))
        place = file if self.kept else file.with_name(f"{file.name}.{secrets.token_hex(6)}")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(place, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            with os.fdopen(handle, "ab") as stream:
                stream.write(text)
                stream.flush()
                size = stream.tell()
            if place != file:
                place.replace(file)
        except OSError:
            if place != file:
                with suppress(OSError):
                    place.unlink()
            return None
        self.kept, self.added = self.kept + text, {}
        return size

    def _found(self, text: str, /) -> Iterator[Line]:
        """The lines of the file in which a text stands."""
        wanted, place = json.dumps(text).encode(), 0
        while (hit := self.kept.find(wanted, place)) >= 0:
            start, end = self.kept.rfind(b"\n", 0, hit) + 1, self.kept.find(b"\n", hit)
            place = end if end >= 0 else len(self.kept)
            try:
                account, name, digest = json.loads(self.kept[start:place])
            except ValueError:  # cut off: whoever came next has written it again
                continue
            yield account, name, digest


#: What was read last, by the file as it was then: a release looks several times.
_seen: dict[tuple[object, ...], bytes] = {}


def _line(one: Line, /) -> bytes:
    return json.dumps(one, separators=(",", ":")).encode() + b"\n"
