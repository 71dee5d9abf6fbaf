"""One line of the ledger, and the chain that ties the lines together.

Entries are only ever added. Each carries the digest of the one before it, so a line that is
altered, removed from the middle or slipped in later breaks the chain from there on. The chain
starts at a random number drawn when the ledger is made (its *origin*), so a digest tells
nothing about what the ledger holds. The id of a reservation is the beginning of its entry's
digest; as the card of a release carries that id, every card handed out pins the history of
the ledger up to it, outside the ledger's reach.

An `Entry` is a record of text as it was stored. It is made by `Entry.following`, which seals
it; reading one back checks nothing, so that a damaged ledger can still be looked at. What the
entries *mean* is worked out, and checked, in `_account` and `_check`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

BUDGET: Final = "budget"
RESERVED: Final = "reserved"
PUBLISHED: Final = "published"
ABANDONED: Final = "abandoned"
KINDS: Final = (BUDGET, RESERVED, PUBLISHED, ABANDONED)

ID_DIGITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: a budget that was set, a loss reserved, a reservation published or abandoned.

    `dataset` is the population. `facts` is a charge as JSON (`Charge`), or who set a budget; the first format had none.
    """

    seq: int
    at: str
    kind: str
    dataset: str
    unit: str | None = None
    epsilon: str | None = None
    delta: str | None = None
    source: str | None = None
    release: str | None = None
    spec_digest: str | None = None
    output: str | None = None
    reservation: str | None = None
    card_digest: str | None = None
    facts: str | None = None
    previous: str
    digest: str = ""

    @classmethod
    def following(
        cls, seq: int, previous: str, /, *, at: str, kind: str, dataset: str, **facts: str
    ) -> Entry:
        """The entry after entry `seq` with digest `previous`, sealed with its own digest."""
        bare = cls(seq=seq + 1, previous=previous, at=at, kind=kind, dataset=dataset, **facts)
        return replace(bare, digest=bare.seal())

    def seal(self) -> str:
        """SHA-256 of everything in this entry, the previous digest included, as 64 hex digits.

        Entries of the first format had no `facts`; one without them is sealed as it was then.
        """
        left_out = {"digest"} if self.facts is not None else {"digest", "facts"}
        facts = [getattr(self, column) for column in COLUMNS if column not in left_out]
        return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()

    @property
    def reservation_id(self) -> str:
        """The reservation that this entry makes or speaks of; empty for a budget."""
        return self.digest[:ID_DIGITS] if self.kind == RESERVED else self.reservation or ""


COLUMNS: Final = tuple(field.name for field in fields(Entry))
#: What entries of the first format had.
OLD_COLUMNS: Final = tuple(name for name in COLUMNS if name != "facts")


def broken_links(entries: Sequence[Entry], /, *, origin: str, after: int = 0) -> list[tuple[int, str]]:
    """Where the chain does not hold: entry number and a sentence about it; empty if it holds.

    The chain starts at `origin`; or, if these are the entries after entry `after`, at its digest.
    """
    broken = []
    previous = origin
    for place, entry in enumerate(entries, start=after + 1):
        if entry.seq != place:
            broken.append((entry.seq, f"Entry {place} is missing; entry {entry.seq} stands in its place."))
            break
        if entry.previous != previous:
            broken.append((entry.seq, f"Entry {entry.seq} does not follow the entry before it."))
        if entry.digest != entry.seal():
            broken.append((entry.seq, f"Entry {entry.seq} was altered after it was written."))
        previous = entry.digest
    return broken
