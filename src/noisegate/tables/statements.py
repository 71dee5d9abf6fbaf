"""What a release says of itself beside its card: one list of the files, written together and held against the card together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from noisegate.errors import DataError
from noisegate.tables.agreement import Agreement
from noisegate.tables.card import CARD, Card
from noisegate.tables.crate import CRATE, crate_against, crate_of, read_crate, write_crate
from noisegate.tables.hazards import HAZARDS, hazards_against, hazards_statement, read_hazards, write_hazards
from noisegate.tables.registry import REGISTRY, read_record, record_against, registry_record, write_record

#: The protocol of a motivated-intruder test, which an assessment writes and a publisher may put beside the tables.
PROTOCOL: Final = "motivated-intruder.json"
#: What a release holds beside its tables.
RELEASE_FILES: Final = frozenset([CARD, "CARD.md", REGISTRY, HAZARDS, CRATE, PROTOCOL])
#: Files that people complete, so that their digests would not stay.
_OPEN: Final = (REGISTRY, HAZARDS, PROTOCOL)


class BesideCard(NamedTuple):
    """A file beside the tables: the id of what is found when it is held against the card, what it is called, and how."""

    id: str
    name: str
    file: str
    against: Callable[[Path, Card], Agreement]


def write_statements(folder: Path, card: Card, /, *, said: Mapping[str, Any]) -> None:
    """Write all statements of a release whose tables and card lie in `folder`; `said` is what only people know of it."""
    write_record(folder / REGISTRY, registry_record(card, said=said))
    write_hazards(folder / HAZARDS, hazards_statement(card))
    write_crate(folder / CRATE, crate_of(card, folder, said=said, undigested=_OPEN))


STATEMENTS: Final = (
    BesideCard("registry", "registry record", REGISTRY, lambda path, card: record_against(read_record(path), card)),
    BesideCard("hazards", "statement on hazards", HAZARDS, lambda path, card: hazards_against(read_hazards(path), card)),
    BesideCard("crate", "RO-Crate", CRATE, lambda path, card: crate_against(read_crate(path), card, path.parent)),
)  # fmt: skip


def statements_against(card: Card, /) -> list[tuple[BesideCard, Agreement]]:
    """Each statement that lies beside a card, and in which points it says what the card says."""
    if card.path is None:
        return []
    found = []
    for one in STATEMENTS:
        path = card.path.parent / one.file
        if not path.exists():
            continue
        try:
            agreement = one.against(path, card)
        except DataError as problem:
            agreement = Agreement([], [str(problem)])
        found.append((one, agreement))
    return found
