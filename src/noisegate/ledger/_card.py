"""The cards of releases, as far as the ledger cares: which reservation paid for them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CARD: Final = "card.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardStub:
    """What a card says about the ledger, and the digest of its bytes."""

    directory: Path
    dataset: str | None
    reservation: str | None
    digest: str


def read_card(directory: Path, /) -> CardStub | None:
    """The card in `directory`; None if there is none. A card that is no JSON names no reservation.

    Raises
    ------
    OSError
        The card is there and cannot be read.
    """
    try:
        octets = (directory / CARD).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        card = json.loads(octets)
    except (ValueError, RecursionError):
        card = None
    about = card.get("ledger") if isinstance(card, dict) else None
    facts = about if isinstance(about, dict) else {}
    dataset, reservation = facts.get("dataset"), facts.get("reservation")
    return CardStub(
        directory=directory,
        dataset=dataset if isinstance(dataset, str) else None,
        reservation=reservation if isinstance(reservation, str) else None,
        digest=hashlib.sha256(octets).hexdigest(),
    )
